"""What happened to one message of a shared group, step by step, in words."""
