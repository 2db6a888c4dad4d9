"""One run under every strategy, drawn in columns on one clock."""
