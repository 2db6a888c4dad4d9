"""Pulsar's brokers, clients, geo-replication and replicated subscriptions.

They are modelled after the brokers' source (docs/evidence.md).
"""
