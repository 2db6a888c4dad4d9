"""Pulsar's brokers, clients, geo-replication and replicated subscriptions, after the brokers' source
(docs/evidence.md).
"""
