"""Pure frame functions that count Pulsar."""
