"""What an operator may do to a simulated Pulsar.

`declared` lists the commands, `effects` implements them. Both are divided by subject, and a subject's two
modules have the same name.
"""
