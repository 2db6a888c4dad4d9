"""The parts of a scenario file that are Pulsar's; the modules import no engine."""
