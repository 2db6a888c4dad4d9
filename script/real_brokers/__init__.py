"""Real Pulsar brokers beside the engine: plays a scenario on both and writes both results.

Nothing outside this folder needs it, and it is the only part of the project that needs Pulsar's own jars.
Python drives (standard library, and the simulator's public API for the engine's side). The two programs in
`java/lab/` contain the brokers and the clients, and speak JSON lines with the driver.
"""
