"""Canonical columns of a log, kinds of rows, and the schemas of the frames made from them.

Rules: a reader returns every raw column as text, or as integers where the file has integers. `rows.py` makes
canonical rows of them. Instants are microseconds since 1970 in UTC.
"""

from __future__ import annotations

from pyspark.sql.types import LongType, StringType, StructField, StructType

COLUMNS: dict[str, str] = {
    "ts": "instant: epoch seconds, ms, us or ns, or ISO 8601 text",
    "kind": "publish, publish_failed, publish_unknown, deliver or ack",
    "cluster": "cluster or region in which it happened",
    "topic": "topic",
    "partition": "partition of the topic",
    "position": "offset, or ledger:entry",
    "message_id": "id that the producer assigned, the same in every cluster",
    "subscription": "subscription or consumer group",
    "consumer": "consumer",
    "delivery_count": "number of the delivery, where the broker counts",
}
"""The canonical columns and what each holds."""

PUBLISH, PUBLISH_FAILED, PUBLISH_UNKNOWN, DELIVER, ACK = KINDS = (
    "publish",
    "publish_failed",
    "publish_unknown",
    "deliver",
    "ack",
)
KIND_NAMES: dict[str, str] = {
    **{kind: kind for kind in KINDS},
    "produce_ok": PUBLISH,
    "produce_fail": PUBLISH_FAILED,
    "produce_unknown": PUBLISH_UNKNOWN,
    "published": PUBLISH,
    "send": PUBLISH,
    "delivered": DELIVER,
    "receive": DELIVER,
    "process": DELIVER,
    "acked": ACK,
    "acknowledged": ACK,
    "settle": ACK,
}
"""Words that a column `kind` may hold, in any case, and the kind that each one is."""

TEXTS = ("cluster", "topic", "partition", "position", "subscription", "consumer")
"""Canonical columns that stay text."""

UNITS: dict[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Time units and their nanoseconds."""

ROWS = StructType(
    [
        StructField("at_us", LongType()),
        StructField("kind", StringType()),
        *(StructField(name, StringType()) for name in TEXTS),
        StructField("key", StringType()),
        StructField("scope", StringType()),
        StructField("delivery_count", LongType()),
        StructField("unit", StringType()),
        StructField("problem", StringType()),
        StructField("text", StringType()),
        StructField("file", StringType()),
    ]
)
"""Canonical rows.

`key` identifies the message within topic and partition, and within the cluster `scope` unless that is null.
`unit` is the time unit that was recognised.
`problem` says why a row is unreadable, and `text` is then the row as it is in the log.
"""

GROUP = ("subscription", "topic", "partition")
"""The columns by which duplicates are counted; "" where the log does not have one."""
IDENTITY = (*GROUP, "scope", "key")
"""The columns that identify a message of a subscription."""
