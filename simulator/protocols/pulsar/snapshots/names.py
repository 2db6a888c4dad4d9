"""The names of snapshots: numbered from 1 within the region that requested them.

The rows of a trace have one number for all regions. A region's own S1, S2, S3 are the first, second and third
snapshots that it requested, on any topic. Names are for display and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CHUNK = 256
"""Snapshots per part of `SnapshotNames.parts`, so that a frame repeats only the newest part."""

_NOBODY = 255


class SnapshotNames:
    """The region of each snapshot of a run, by its index among the sorted regions."""

    def __init__(self) -> None:
        self._regions = bytearray()

    def note(self, snapshot: int, region: int) -> None:
        """Snapshot `snapshot`, a number from 1, was requested by the region with this index."""
        missing = snapshot - len(self._regions)
        if missing > 0:
            self._regions.extend([_NOBODY] * missing)
        self._regions[snapshot - 1] = region

    def name(self, snapshot: int) -> str:
        """`S3` for the third snapshot that its region requested."""
        return f"S{self._regions.count(self._regions[snapshot - 1], 0, snapshot)}"

    def parts(self) -> dict[str, str]:
        """The regions of all snapshots, a letter each, in parts of `CHUNK`: a is the first region."""
        return {
            str(first): "".join(
                "-" if region == _NOBODY else chr(97 + region)
                for region in self._regions[first : first + CHUNK]
            )
            for first in range(0, len(self._regions), CHUNK)
        }


def names_of(requests: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """The name of each snapshot by its number, from the rows `snapshot.requested` of a run in order."""
    counts: dict[str, int] = {}
    names: dict[int, str] = {}
    for row in requests:
        if row["snapshot"] not in names:  # a second round is requested with the same number
            counts[row["cluster"]] = counts.get(row["cluster"], 0) + 1
            names[row["snapshot"]] = f"S{counts[row['cluster']]}"
    return names
