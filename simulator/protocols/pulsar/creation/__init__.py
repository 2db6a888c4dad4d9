"""Namespaces, policies, topics and schemas of each cluster, and how replication creates them.

docs/pulsar.md describes the model. Its sources are PIP-370, PIP-433 and their pull requests. Other
modules of the protocol use `policies`, `catalogue` and `schema_registry`. All functions operate on the
Runtime.
"""
