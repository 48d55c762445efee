"""A real engine server with a tiny model and a long prompt: its ids and times beside Hugging Face's."""
