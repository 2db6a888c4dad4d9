"""The protocols of reports: the list of their manifests, in the order of the page.

To add one: a folder beside the others with a `manifest.py`, and one entry here (CONTRIBUTING.md, "A
protocol").
"""

from __future__ import annotations

from typing import Any

from spark_reports.protocols.emqx.manifest import MANIFEST as EMQX
from spark_reports.protocols.manifest import Manifest
from spark_reports.protocols.pulsar.manifest import MANIFEST as PULSAR

PROTOCOLS: dict[str, Manifest] = {manifest.name: manifest for manifest in (PULSAR, EMQX)}


def with_runs(runs: list[dict[str, Any]]) -> list[tuple[Manifest, list[dict[str, Any]]]]:
    """Each protocol that has runs among these, with its runs."""
    by_protocol = [
        (protocol, [run for run in runs if run["protocol"] == protocol.name])
        for protocol in PROTOCOLS.values()
    ]
    return [(protocol, own) for protocol, own in by_protocol if own]
