"""The scenario editor: its page, texts to start from, the schema, and the check of a text."""
