"""Split patterns on ASCII tiles."""
