"""Shadow topics (PIP-180): other topics on a source topic's ledgers. See docs/pulsar.md."""
