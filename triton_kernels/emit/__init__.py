"""Ids of words to the ids of the batch."""
