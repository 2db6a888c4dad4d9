"""Moving a tenant to another cluster: the article's five steps, and Pulsar's blue-green migration.

Both are described in docs/pulsar.md.
"""
