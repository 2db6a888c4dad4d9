"""Acknowledgement-state sync between clusters, and the filter at the receiving broker."""
