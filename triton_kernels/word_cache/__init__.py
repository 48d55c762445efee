"""Words that are no entry, remembered from batch to batch."""
