"""The stories of a shared group's messages: what happened to one message, step by step, in words."""
