"""Commands that compile the kernels and report what they use; no GPU needed."""
