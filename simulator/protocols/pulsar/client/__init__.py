"""The client library: producers, consumers, acks, negative acks, reconnecting."""
