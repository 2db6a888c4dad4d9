"""Invariants of durable shared subscriptions, checked in every run."""
