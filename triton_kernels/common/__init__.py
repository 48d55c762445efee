"""Used by all families: character kinds, limits, grids, hashing, and eight-byte loads."""
