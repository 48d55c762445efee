"""Long texts in overlapping chunks for the reference tokenizer, joined without loss (LoPT)."""
