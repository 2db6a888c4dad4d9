"""What a scenario file may say about EMQX; nothing here imports the engine."""
