"""Words that are not in the vocabulary, cached with their ids from batch to batch."""
