"""What a person may do to a simulated Pulsar.

`declared` says which commands there are, `effects` what they do. Both are divided by subject, and a subject's
two modules have the same name.
"""
