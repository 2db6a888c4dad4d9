"""The commands that an operator may give to a simulated Pulsar.

`declared` lists the commands, `effects` implements them. Both are divided by subject, and a subject's two
modules have the same name.
"""
