"""Character kinds to the starts of pre-tokens."""
