"""BPE merges: each pass makes all merges that are certain."""
