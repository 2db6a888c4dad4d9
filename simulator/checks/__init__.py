"""Claims that must hold in every run, checked live over the trace (`docs/checks.md`)."""

from simulator.checks.checks import CLAIMS, Checks
from simulator.checks.violation import Violation

__all__ = ["CLAIMS", "Checks", "Violation"]
