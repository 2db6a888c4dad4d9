"""Makes logs with a known truth from the simulator's own runs, to test audits."""
