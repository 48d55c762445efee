"""Flags of pre-token starts to the positions of the starts."""
