"""BPE merges, all that may be done at once."""
