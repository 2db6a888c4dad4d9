"""Message schemas apart from any broker: what they are, and whether one may follow others.

Engine and checks both ask here.
"""
