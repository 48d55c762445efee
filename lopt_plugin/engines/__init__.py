"""Registration with inference engines, one room per engine. Nothing is tokenized here."""
