"""Whole corpora to files of ids: documents in, shards out. It knows nothing of terminals."""
