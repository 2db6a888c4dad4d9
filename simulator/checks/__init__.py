"""Claims that must hold in every run, checked live over the trace (`docs/checks.md`)."""
