"""Pure frame functions: frames in, a frame out, each beginning and ending with the columns it needs and
gives.
"""
