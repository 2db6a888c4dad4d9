"""What every simulated system is, whatever its protocol: a clock, a writer of the trace, links, commands
that a person may give.
"""
