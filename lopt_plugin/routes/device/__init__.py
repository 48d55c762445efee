"""What the GPU route needs beside the kernels: which pipelines and texts it takes, tables, and packing on the host."""
