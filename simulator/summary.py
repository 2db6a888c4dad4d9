"""The summary of a run up to now, which `simulate --json` prints (docs/counting.md).

Names are only ever added. Each protocol's own sections are in its manifest.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.protocols.table import section_names
from simulator.scenarios.settings import own_rule
from simulator.version import ENGINE_VERSION

if TYPE_CHECKING:
    from simulator.protocols.manifest import Manifest
    from simulator.world import World


def summarise(run: World, protocol: Manifest) -> dict[str, Any]:
    """The whole object. The sections of other protocols than the run's are empty."""
    failovers = protocol.failovers(run)
    sections = protocol.sections
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        "engine_version": ENGINE_VERSION,
        **({"rule": rule} if (rule := own_rule(run.scenario.options)) else {}),
        "trace_sha256": run.digest(),
        "simulated_us": run.now_us,
        "events": run.seq,
        "failovers": failovers,
        "commands": protocol.commands(run),
        "violations": [asdict(violation) for violation in run.all_violations(failovers)],
        **{name: sections[name](run) if name in sections else {} for name in section_names()},
    }
