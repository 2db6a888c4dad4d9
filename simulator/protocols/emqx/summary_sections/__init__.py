"""Sections of the summary that belong to durable shared subscriptions."""
