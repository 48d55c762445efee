"""Split patterns on tiles with any UTF-8."""
