"""UTF-8 bytes to character kinds."""
