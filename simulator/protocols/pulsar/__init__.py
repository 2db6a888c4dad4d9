"""Pulsar's brokers, clients, geo-replication and replicated subscriptions, as the fact sheets describe
them.
"""
