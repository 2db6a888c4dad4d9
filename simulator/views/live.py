"""The live state as one JSON-able value, for the page (docs/http-api.md).

It has the parts of every protocol and the protocol's own part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.protocols.manifest import Manifest
    from simulator.world import World


NEVER_LEFT_OUT: dict[str, Callable[[], Any]] = {"clusters": dict, "forecast": dict, "failovers": list}
"""Parts that frames and pictures read in every protocol.

They are empty where the protocol's view has none.
"""


def view(run: World, protocol: Manifest, judged_us: int | None = None) -> dict[str, Any]:
    """Everything that the diagram shows at this instant.

    Violated claims are shown up to `judged_us` where that is given.
    """
    runtime = run.runtime
    violations = run.violations if judged_us is None else run.violations_until(judged_us)
    shown = {
        "at_us": runtime.now_us,
        "seq": runtime.seq,
        "branch": run.branch,
        "furthest_us": run.furthest_us,
        "limit_reached": run.limit_reached,
        "violations": [asdict(violation) for violation in violations],
        **protocol.view(run),
    }
    for part, empty in NEVER_LEFT_OUT.items():
        shown.setdefault(part, empty())
    return shown
