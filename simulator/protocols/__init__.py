"""The simulated protocols, one folder each, and the table of them (`simulator.protocols.table`)."""
