"""What a broker's limits do to delivery: brokers with a service time and a bandwidth, and fan-out to very
many subscriptions.
"""
