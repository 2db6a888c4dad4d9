"""What a scenario file may say about Pulsar; nothing here imports the engine."""
