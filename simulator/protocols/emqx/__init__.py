"""EMQX's durable shared subscriptions, lineage B (5.9/5.10): leader, borrowers, streams.

Described in docs/durable-shared-subscriptions.md.
"""
