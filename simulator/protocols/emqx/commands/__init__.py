"""What a person may do to a simulated EMQX.

`declared` says which commands there are, `effects` what they do.
"""
