"""The parts of every simulated system: clock, trace writer, links, commands."""
