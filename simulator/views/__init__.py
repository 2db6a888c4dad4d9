"""What is shown of a live state: read from the simulated system, never written; lists are bounded."""
