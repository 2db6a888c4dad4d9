"""Changes of a scenario, one at a time, that could have helped, and the comparison of their reruns."""
