"""Whole pre-tokens to ids."""
