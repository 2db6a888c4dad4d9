"""Names of topics and partitions by the rules of Pulsar's `TopicName`.

Rules: `orders` is `persistent://public/default/orders`, and `tenant/namespace/topic` is persistent. The
number after `-partition-` is the partition. A topic has the shortest name that `TopicName` takes, so names of
Kafka and EMQX stay as they are. Tasks get this module by value: it imports the standard library only.
"""

from __future__ import annotations

import re

DOMAINS = ("persistent", "non-persistent")
LARGEST_PARTITION = 2**31 - 1
"""`Integer.MAX_VALUE`: a larger number after `-partition-` belongs to the topic's name."""
_NAME = re.compile(r"(persistent|non-persistent)(://|/)(.+)", re.DOTALL)
_LEDGER = re.compile(r"([^/]+)/([^/]+)/(persistent|non-persistent)/([^/]+)")
_SUFFIX = re.compile(r"(.+)-partition-(0|[1-9][0-9]{0,9})", re.DOTALL)
_PARTITION = re.compile(r"(?:.*-)?partition-(0|[1-9][0-9]{0,9})|([0-9]{1,10})\.0+", re.DOTALL)

Place = tuple[str, str]
"""Topic and partition; "" for what the log does not have."""


def place_of(topic: str, partition: str) -> Place:
    """The topic and partition that a row's two labels name.

    A suffix that contradicts the partition stays in the topic's name.
    """
    name, own = short_name(topic), _number(partition)
    suffix = _SUFFIX.fullmatch(name)
    if suffix and int(suffix[2]) <= LARGEST_PARTITION and own in ("", suffix[2]):
        return suffix[1], suffix[2]
    return name, own


def contradicts(topic: str, partition: str) -> bool:
    """Whether both labels name a partition, and not the same one."""
    suffix = _SUFFIX.fullmatch(topic)
    return bool(suffix and partition not in ("", suffix[2]))


def short_name(topic: str) -> str:
    """The shortest name of a topic, from its full name, its path in the admin API, or its ledger's name."""
    ledger = _LEDGER.fullmatch(topic)
    if ledger:
        topic = f"{ledger[3]}://{ledger[1]}/{ledger[2]}/{ledger[4]}"
    full = _NAME.fullmatch(topic)
    if full:
        parts = full[3].split("/", 3)
        if len(parts) != 3 or not all(parts):  # with a cluster, as names had it before Pulsar 2, or invalid
            return f"{full[1]}://{full[3]}" if len(parts) == 4 else topic
        if full[1] != DOMAINS[0]:
            return f"{full[1]}://{full[3]}"
        topic = full[3]
    return topic.removeprefix("public/default/") if topic.count("/") == 2 else topic


def _number(partition: str) -> str:
    """The number of a partition. -1 is what `TopicName.getPartitionIndex` has for a topic without one."""
    found = _PARTITION.fullmatch(partition)
    number = (found[1] or found[2]) if found else partition
    return "" if number == "-1" else number
