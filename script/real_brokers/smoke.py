"""`python -m script.real_brokers.smoke [VERSION]`: one failover between two real clusters.

It prints duplicates and logs, and so shows that the rig works on this machine. 50 messages are published in
the cluster west. The only consumer of a replicated subscription moves to the cluster east meanwhile.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from script.real_brokers.install import InstallationError, installed
from script.real_brokers.rig import NAMES, WAIT_S, Pair

MESSAGES, EVERY_MS, FAILOVER_AFTER = 50, 100, 25


def main(words: list[str] | None = None) -> int:
    """Run once and print what happened; the exit code is 1 if the rig's own data contradict each other."""
    arguments = sys.argv[1:] if words is None else words
    try:
        installation = installed(arguments[0] if arguments else "4.2.4", _say)
    except InstallationError as missing:
        _say(str(missing))
        return 1
    with tempfile.TemporaryDirectory(prefix="real-brokers-") as temporary:
        pair = Pair(Path(temporary), installation)
        try:
            begin = time.monotonic()
            pair.start()
            _say(f"two clusters are ready after {time.monotonic() - begin:.1f} s")
            _fail_over(pair)
            return 0 if _report(pair) else 1
        finally:
            pair.close()


def _fail_over(pair: Pair) -> None:
    """Publish, and move the consumer to the other cluster meanwhile."""
    pair.consume("west-1", "west")
    pair.publish(MESSAGES, EVERY_MS)
    pair.until(lambda: len(pair.delivered()) >= FAILOVER_AFTER, "deliveries in west")
    pair.clients.request("consumer.close", name="west-1")
    pair.consume("east-1", "east")
    pair.until(lambda: len(set(pair.delivered())) == MESSAGES, "all messages")


def _report(pair: Pair) -> bool:
    """Print what happened; False if a message or an instant is missing or wrong."""
    times = Counter(pair.delivered())
    again = sorted(sequence for sequence, count in times.items() if count > 1)
    _say(f"{times.total()} deliveries of {len(times)} messages; {len(again)} duplicates: {again}")
    for kind, count in sorted(Counter(one["e"] for one in pair.seen).items()):
        _say(f"  {count} events {kind}")
    complete = len(times) == MESSAGES
    for cluster in NAMES:
        entries = pair.dump(cluster)
        types = Counter(one["marker"]["type"] if one["marker"] else "message" for one in entries)
        _say(f"{cluster}: {len(entries)} entries stored: {dict(sorted(types.items()))}")
        complete = complete and types["message"] == MESSAGES and _instants_follow(cluster, entries, pair)
    return complete


def _instants_follow(cluster: str, entries: list[dict[str, Any]], pair: Pair) -> bool:
    """Whether each message was stored after it was published, by the one clock of all processes."""
    published = {one["sequence"]: one["t"] for one in pair.seen if one["e"] == "published"}
    delays_ms = [
        (one["stored_ns"] - published[one["sequence"]]) / 1e6 for one in entries if not one["marker"]
    ]
    low, high = min(delays_ms), max(delays_ms)
    _say(f"{cluster}: stored {low:.1f} to {high:.1f} ms after the call of send")
    return low >= 0 and high < WAIT_S * 1000


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
