"""How long appends took in a run on real brokers: the engine's run draws from the same distribution.

Rules: the broker stamps an entry at the beginning of its append, and the producer has its receipt when the
append is complete and the client's threads have handled it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from script.real_brokers.process import Event


def appends_ns(events: Sequence[Event], entries: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """What each append took; `entries` are those of all logs."""
    receipts = {
        (event["producer"], event["sequence"], event["ledger"], event["entry"]): event["t"]
        for event in events
        if event["e"] == "receipted"
    }
    for entry in entries:
        place = (entry.get("producer"), entry.get("sequence"), entry["ledger"], entry["entry"])
        if not entry.get("replicated_from") and place in receipts:
            yield receipts[place] - entry["stored_ns"]
