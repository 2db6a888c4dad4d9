"""Quiet stretches: what producers, replicators and consumers do between two events of anything else,
computed as columns.
"""
