"""What a failed Spark job means for a sweep, in words."""

from __future__ import annotations

import re

EXECUTORS_NEED = ("numpy", "pyroaring", "protobuf", "ruamel.yaml", "avro", "pyarrow")
"""Packages that the Python of the executors must have; docs/sweeps.md names them, a test compares them."""
LONGEST = 600


class SweepFailed(Exception):
    """A round failed. `environment` says whether cluster or set-up is the cause, not this program."""

    def __init__(self, message: str, environment: bool) -> None:
        super().__init__(message)
        self.environment = environment


def explained(error: Exception) -> SweepFailed:
    """The failure of a round, from what Spark raised."""
    text = str(error)
    missing = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if missing:
        return SweepFailed(
            f"the Python of the executors has no module {missing[1]}; install there: "
            f"{', '.join(EXECUTORS_NEED)} (PYSPARK_PYTHON names the Python)",
            True,
        )
    version = re.search(r"\[PYTHON_VERSION_MISMATCH\].*", text)
    differs = re.search(r"EngineDiffers: (.*)", text)
    if version or differs:
        return SweepFailed((version[0] if version else differs[1])[:LONGEST], True)  # type: ignore[index]
    if "Python worker exited unexpectedly" in text:
        return SweepFailed(
            "a Python process of an executor ended, most likely out of memory: give the executors more "
            "memory, or fewer cores",
            True,
        )
    if isinstance(error, (ConnectionError, EOFError)) or re.search("Py4JNetworkError|UNAVAILABLE", text):
        return SweepFailed(f"the connection to Spark was lost ({type(error).__name__})", True)
    lost = re.search(
        r"(ExecutorLostFailure|Job aborted due to stage failure|SparkContext was shut down)[^\n]*", text
    )
    if lost:
        return SweepFailed(f"Spark gave up: {lost[0]}"[:LONGEST], "stage failure" not in lost[1])
    return SweepFailed(f"{type(error).__name__}: {text}"[:LONGEST], False)
