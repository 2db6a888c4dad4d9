"""The HTML pages and their pictures."""
