"""Turns whole corpora into files of ids: documents in, shards out. Independent of terminals."""
