"""Moving a tenant from one cluster to another: the article's five steps, and Pulsar's own blue-green way
(docs/tenant-migration.md).
"""
