"""Character kinds to the starts of pre-tokens, for each split pattern."""
