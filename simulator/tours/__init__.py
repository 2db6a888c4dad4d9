"""Tours of scenarios: where each step stops in the run, and its texts with the run's figures.

Rules: a tour is resolved from a finished run and changes nothing in it. A number in a text is either written
in the scenario or filled in here. No protocol is named: events, columns and figures are looked up by name.
"""

from simulator.tours.resolving import ResolvedStep, TourError, resolve, tour_answer, tour_run

__all__ = ["ResolvedStep", "TourError", "resolve", "tour_answer", "tour_run"]
