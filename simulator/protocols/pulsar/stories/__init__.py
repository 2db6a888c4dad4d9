"""What happened to one message of a failover, step by step, in words."""
