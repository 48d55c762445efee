"""A whole batch: its buffers, and the kernels of all families in order, from text to ids."""
