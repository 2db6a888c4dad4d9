"""What Spark counts of Pulsar: pure frame functions."""
