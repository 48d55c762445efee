"""A real engine server with a tiny model and a long prompt: compares its ids and times with Hugging Face's."""
