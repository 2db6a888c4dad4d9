"""Sections of the summary: each is a function of the run, listed in the protocol's manifest."""
