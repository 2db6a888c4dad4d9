"""The changed runs that show what would have helped: the changes, one at a time, and the comparison."""
