"""Namespaces, policies, topics and schemas of each cluster, and how replication creates them.

docs/topic-creation.md describes what is modelled. Its sources are PIP-370, PIP-433 and their pull requests.
Other modules of the protocol use `policies`, `catalogue` and `schema_registry`. Everything here works on the
Runtime.
"""
