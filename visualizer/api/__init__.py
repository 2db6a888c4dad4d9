"""The HTTP API for scripts: its description, and the list of scenarios."""
