"""Geo-replication: the replicator of one topic from one cluster to another."""
