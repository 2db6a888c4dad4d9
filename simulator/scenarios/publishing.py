"""The keys for when a client publishes and how many messages, in any protocol."""

from __future__ import annotations

from simulator.scenarios.key import Key
from simulator.scenarios.limits import LONGEST_MEAN_US

PUBLISHING = (
    Key("start", "duration", "instant of its first message", attribute="start_us"),
    Key(
        "stop", "duration", "it publishes nothing from this instant on; without it never", attribute="stop_us"
    ),
    Key(
        "every",
        "duration",
        "one message each; not together with `rate`",
        attribute="every_us",
        minimum=1,
        maximum=LONGEST_MEAN_US,
    ),
    Key(
        "rate",
        "rate",
        "messages per second, instead of `every`",
        attribute="every_us",
        maximum=LONGEST_MEAN_US,
    ),
    Key(
        "arrivals",
        "choice",
        "at regular instants, or as a Poisson process with `every` as mean",
        choices=("regular", "poisson"),
    ),
    Key("at", "instants", "the very instants, instead of `start` and `every`", attribute="at_us"),
    Key(
        "count",
        "integer",
        "number of messages; without it until `stop` or the end",
        minimum=0,
        maximum=100_000_000,
    ),
    Key("size", "size", "bytes of each message", attribute="size_bytes", maximum=5 * 2**20),
)
