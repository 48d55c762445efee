"""How the installed `tokenizers` treats each character: tables that are shipped, cached or derived; see `load`."""
