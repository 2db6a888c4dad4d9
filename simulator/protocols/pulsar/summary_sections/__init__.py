"""Sections of the summary: each a function of the run, listed in the protocol's manifest."""
