"""Derives the tables from the installed `tokenizers`, for all code points."""
