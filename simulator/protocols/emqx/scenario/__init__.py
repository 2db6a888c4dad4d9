"""The EMQX part of a scenario file; no module here imports the engine."""
