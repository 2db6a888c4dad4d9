"""The page's view of a live Pulsar: read from the simulated system, never written."""
