"""Invariants of durable shared subscriptions that every run is checked against."""
