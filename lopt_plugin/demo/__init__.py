"""A real engine server with a tiny model, a long prompt, and the ids and times beside Hugging Face's."""
