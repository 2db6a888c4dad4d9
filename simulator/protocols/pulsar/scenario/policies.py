"""Policies of a namespace in scenario files, with the texts and bounds that commands use, too."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.scenarios.declarations import Key
from simulator.scenarios.units import format_size

TOPIC_TYPES = ("non-partitioned", "partitioned")

SCHEMA_STRATEGIES = (
    "FULL",
    "BACKWARD",
    "FORWARD",
    "FULL_TRANSITIVE",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "ALWAYS_COMPATIBLE",
    "ALWAYS_INCOMPATIBLE",
)

SCHEMA_TYPES = (
    "AVRO",
    "JSON",
    "STRING",
    "BOOLEAN",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "FLOAT",
    "DOUBLE",
    "BYTES",
)

PARTITIONS_MOST = 256

SIZE, MESSAGE_AGE = QUOTA_TYPES = ("destination_storage", "message_age")
HOLD, EXCEPTION, EVICTION = QUOTA_POLICIES = (
    "producer_request_hold",
    "producer_exception",
    "consumer_backlog_eviction",
)


@dataclass(frozen=True, slots=True)
class BacklogQuota:
    """A limit of a topic's backlog, and what the broker does when it is reached; -1 is no limit."""

    policy: str
    limit_bytes: int = -1
    limit_s: int = -1

    def __str__(self) -> str:
        """As in the row of a changed policy."""
        size = [f"limit {format_size(self.limit_bytes)}"] if self.limit_bytes >= 0 else []
        age = [f"limitTime {self.limit_s}s"] if self.limit_s >= 0 else []
        return ", ".join((*size, *age, f"policy {self.policy}"))


QUOTA_KEYS = (
    Key(
        "limit",
        "size",
        "size of the backlog at which it applies; destination_storage needs it",
        attribute="limit_bytes",
    ),
    Key(
        "limitTime",
        "duration",
        "age of the oldest message at which it applies, in whole seconds; message_age needs it",
        attribute="limit_us",
    ),
    Key(
        "policy",
        "choice",
        "hold or refuse producers, or drop the oldest messages of the slowest cursors",
        required=True,
        choices=QUOTA_POLICIES,
    ),
)
"""The keys of a backlog quota, as of `pulsar-admin namespaces set-backlog-quota`."""
