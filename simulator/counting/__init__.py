"""What counting yields, whatever the protocol."""
