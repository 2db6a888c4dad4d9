"""The sections of a report about Pulsar."""
