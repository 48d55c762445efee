"""Registration with inference engines, one engine a module. Nothing is tokenized here."""
