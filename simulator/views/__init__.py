"""Views of a live state: they never change the simulated system, and their lists are bounded."""
