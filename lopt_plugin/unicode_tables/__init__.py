"""Tables of how the installed `tokenizers` treats each character: shipped, cached or derived; see `load`."""
