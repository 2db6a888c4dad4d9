"""Namespaces, policies, topics and schemas of each cluster, and how replication meets their creation
(PIP-370, PIP-433).

docs/topic-creation.md says what is modelled; its sources are PIP-370, PIP-433 and their pull requests. Other
modules of the protocol use `policies`, `catalogue` and `schema_registry`; everything here works on the
Runtime.
"""
