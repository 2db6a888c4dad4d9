"""What a page shows of a live Pulsar: read from the simulated system, never written."""
