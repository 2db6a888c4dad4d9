"""Broker limits and their effect on delivery: service time, bandwidth, and fan-out to audiences.

An audience is a very large number of subscriptions.
"""
