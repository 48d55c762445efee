"""BPE merges: in each pass, all that are certain."""
