"""Invariants of Pulsar that every run is checked against (docs/checks.md)."""
