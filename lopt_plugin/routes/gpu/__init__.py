"""Large batches on the GPU, with the Triton kernels."""
