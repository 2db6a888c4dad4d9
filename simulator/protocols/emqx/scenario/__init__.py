"""The EMQX part of a scenario file; nothing here imports the engine."""
