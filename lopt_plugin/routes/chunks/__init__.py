"""LoPT over any Hugging Face fast tokenizer: where chunks may begin, how they are tokenized, how they are joined."""
