"""The results of counting, whatever the protocol."""
