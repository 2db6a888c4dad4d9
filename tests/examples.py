"""How many random examples a test draws.

A few, the same ones in every run of the suite, and more new ones on request.

`SWARM_EXAMPLES=500 pytest tests/simulator/test_random_traffic.py` draws 500 new ones of each test that is
declared here.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

REQUESTED = os.environ.get("SWARM_EXAMPLES")


def examples(few: int, **options: Any) -> settings:
    """Draws `few` examples in a run of the suite: enough for the mutations that the test must find, at a
    cost of a few seconds.
    """
    return settings(
        max_examples=int(REQUESTED or few), derandomize=REQUESTED is None, deadline=None, **options
    )
