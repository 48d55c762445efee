"""Registration with inference engines, one folder per engine. Nothing is tokenized here."""
