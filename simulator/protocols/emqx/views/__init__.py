"""What a page shows of a live EMQX: read from the simulated system, never written."""
