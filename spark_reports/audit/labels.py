"""Labels that differ between logs: which topics are the same, and what is not matched.

Rules: names that are the same to Pulsar are one topic (`topics.place_of`). Where some rows of a topic have a
partition and others none, the ids decide: if none of them occurs in several partitions, messages of the topic
are identified without the partition. Everything else stays as it is, with a finding that says why.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from spark_reports.audit.columns import ACK, DELIVER, PUBLISH
from spark_reports.audit.findings import Finding
from spark_reports.audit.rows import of_kinds
from spark_reports.html.numbers import plural
from spark_reports.local import from_rows

# --- names of topics and partitions by the rules of Pulsar's `TopicName`
#
# Rules: `orders` is `persistent://public/default/orders`, and `tenant/namespace/topic` is persistent. The
# number after `-partition-` is the partition. A topic has the shortest name that `TopicName` takes, so
# names of Kafka and EMQX stay as they are. Tasks get this module by value: it imports the standard library
# only.


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


NAMED_MOST = 5
"""Topics that a finding names."""
SETS_MOST = 1_000
"""Different sets of clusters that are compared with each other; a log has a few."""
Overview = list[dict[str, Any]]
"""Rows of `counting.overview`."""


def _texts(*names: str) -> StructType:
    return StructType([StructField(name, StringType()) for name in names])


_PLACES = _texts("old_topic", "old_partition", "new_topic", "new_partition")
_TOPICS = _texts("topic")
_ALIKE = _texts("subscription", "topic", "alike")


def _place(row: Mapping[str, Any]) -> Place:
    return row["topic"] or "", row["partition"] or ""


def renamed(seen: Overview) -> dict[Place, Place]:
    """The places whose labels change by the rules of names."""
    found = {_place(one): place_of(*_place(one)) for one in seen}
    return {old: new for old, new in found.items() if old != new}


def without_partition(seen: Overview, topics: Iterable[str]) -> dict[Place, Place]:
    """The places of these topics, without their partitions."""
    chosen = set(topics)
    places = {_place(one) for one in seen}
    return {place: (place[0], "") for place in places if place[0] in chosen and place[1]}


def relabelled(rows: DataFrame, places: Mapping[Place, Place]) -> DataFrame:
    """Canonical rows with other topics and partitions."""
    if not places:
        return rows
    known = from_rows(rows.sparkSession, [(*old, *new) for old, new in sorted(places.items())], _PLACES)
    own = F.coalesce("topic", F.lit("")), F.coalesce("partition", F.lit(""))
    same = (own[0] == F.col("old_topic")) & (own[1] == F.col("old_partition"))
    joined = rows.join(F.broadcast(known), same, "left")
    changed = {
        name: F.when(F.col("old_topic").isNull(), F.col(name)).otherwise(
            F.nullif(F.col(f"new_{name}"), F.lit(""))
        )
        for name in ("topic", "partition")
    }
    return joined.withColumns(changed).select(*rows.columns)


def regrouped(seen: Overview, places: Mapping[Place, Place]) -> Overview:
    """The overview of the relabelled rows."""
    if not places:
        return seen
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in seen:
        topic, partition = places.get(_place(one), _place(one))
        own = {**one, "topic": topic or None, "partition": partition or None}
        names = ("kind", "cluster", "subscription", "topic", "partition", "unit", "problem")
        known = groups.setdefault(tuple(own[name] for name in names), own)
        if known is own:
            continue
        for name, joined in (("rows", sum), ("scoped", sum), ("first_us", min), ("last_us", max)):
            both = [each[name] for each in (known, own) if each[name] is not None]
            known[name] = joined(both) if both else None
    return list(groups.values())


def partly_labelled(good: Overview, by_position: bool) -> dict[str, int]:
    """Topics of which some rows have a partition and others none, and how many have none.

    A producer that assigns ids often does not know the partition, so publishes count only where positions
    identify messages: everywhere, or in the groups that are `scoped`.
    """
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in good:
        counts = one["kind"] in (DELIVER, ACK) or (one["kind"] == PUBLISH and (by_position or one["scoped"]))
        if counts and one["topic"]:
            rows[one["topic"]][one["partition"] is None] += one["rows"]
    return {topic: without for topic, (labelled, without) in sorted(rows.items()) if labelled and without}


def in_several_partitions(rows: DataFrame, topics: Iterable[str]) -> dict[str, int]:
    """How many ids of these topics occur in several partitions; topics without any are left out."""
    known = from_rows(rows.sparkSession, [(topic,) for topic in topics], _TOPICS)
    labelled = of_kinds(rows, DELIVER, ACK).filter(F.col("partition") != "")
    messages = (
        labelled.join(F.broadcast(known), "topic", "left_semi")
        .groupBy("topic", "scope", "key")
        .agg((F.min("partition") != F.max("partition")).alias("several"))
    )
    counted = messages.filter("several").groupBy("topic").count()
    return {row["topic"]: row["count"] for row in counted.collect()}


def shared_ids(rows: DataFrame, good: Overview) -> dict[str, int]:
    """Topics that are named alike, and how many ids a subscription received from both in two clusters.

    Only topics are compared of which a subscription received one in some clusters and another in others.
    """
    alike = _alike(good)
    if not alike:
        return {}
    known = from_rows(rows.sparkSession, [(*place, name) for place, name in sorted(alike.items())], _ALIKE)
    place = F.concat_ws("\0", "topic", "partition")
    messages = (
        of_kinds(rows, DELIVER)
        .filter(F.col("scope") == "")
        .join(F.broadcast(known), ["subscription", "topic"])
        .groupBy("subscription", "alike", "key")
        .agg(F.count_distinct(place).alias("places"), F.count_distinct("cluster").alias("clusters"))
    )
    counted = messages.filter("places > 1 and clusters > 1").groupBy("alike").count()
    names: dict[str, set[str]] = defaultdict(set)
    for (_, topic), name in alike.items():
        names[name].add(topic or "(no topic)")
    return {_listed(sorted(names[row["alike"]])): row["count"] for row in counted.orderBy("alike").collect()}


def _alike(good: Overview) -> dict[tuple[str, str], str]:
    """Subscription and topic, and a text that topics with similar names share."""
    clusters: dict[str, dict[Place, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in good:
        if one["kind"] == DELIVER and one["cluster"]:
            clusters[one["subscription"] or ""][_place(one)].add(one["cluster"])
    found = {}
    for subscription, places in clusters.items():
        groups: dict[str, list[Place]] = defaultdict(list)
        whole = any(not topic for topic, _ in places)
        for topic, partition in places:
            groups["" if whole else _last_part(topic)].append((topic, partition))
        for name, own in groups.items():
            if _apart(own, places):
                found.update({(subscription, topic): name for topic, _ in own})
    return found


def _last_part(topic: str) -> str:
    return re.split(r"[/.:]", topic.lower())[-1]


def _apart(own: Sequence[Place], clusters: Mapping[Place, set[str]]) -> bool:
    """Whether two labels that may be the same place were never seen in the same cluster."""
    seen: dict[str, set[str]] = defaultdict(set)
    numbered = all(partition.isdigit() or not partition for _, partition in own)
    by_topic = numbered or len({topic for topic, _ in own}) > 1
    for place in own:
        seen[place[0 if by_topic else 1]] |= clusters[place]
    sets = sorted({tuple(sorted(one)) for one in seen.values()})[:SETS_MOST]
    return any(not set(one) & set(other) for one in sets for other in sets)


def findings_of(
    good: Overview, without: Mapping[str, int], several: Mapping[str, int], shared: Mapping[str, int]
) -> list[Finding]:
    """Findings about labels; the arguments are the results of the functions above."""
    return [
        *_of_partitions(without, several),
        *_contradictions(good),
        *_of_names(shared),
        *_unmatched(good, PUBLISH, "publishes_not_matched", "so no publish was compared with a delivery"),
        *_unmatched(good, ACK, "acks_not_matched", "so no delivery was found to be acknowledged"),
    ]


def _of_partitions(without: Mapping[str, int], several: Mapping[str, int]) -> list[Finding]:
    merged = {topic: rows for topic, rows in without.items() if topic not in several}
    found = []
    if merged:
        text = (
            f"{plural(sum(merged.values()), 'row', 'rows')} of {_listed(list(merged))} without a partition, "
            f"while others have one. No id occurs in several partitions, so messages are identified without "
            f"the partition, and all partitions are counted together."
        )
        found.append(Finding("partitions_missing", text, sum(merged.values())))
    for topic, count in sorted(several.items())[:NAMED_MOST]:
        text = (
            f"{plural(without[topic], 'row', 'rows')} of {topic} without a partition were not matched with "
            f"those that have one, because {plural(count, 'id occurs', 'ids occur')} in several partitions. "
            f"Log the partition in every row, or leave it out of `columns`."
        )
        found.append(Finding("partitions_not_matched", text, without[topic]))
    return found


def _contradictions(good: Overview) -> list[Finding]:
    bad = [one for one in good if contradicts(*_place(one))]
    rows = sum(one["rows"] for one in bad)
    names = sorted({f"{one['topic']} with partition {one['partition']}" for one in bad})
    text = (
        f"In {plural(rows, 'row', 'rows')} the topic's name ends in another partition than the row's: "
        f"{_listed(names)}. Both were kept as they are."
    )
    return [Finding("partitions_differ", text, rows)] if bad else []


def _of_names(shared: Mapping[str, int]) -> list[Finding]:
    return [
        Finding(
            "topics_not_matched",
            f"{plural(count, 'id was', 'ids were')} received in two clusters under different names of "
            f"topic or partition ({names}), which are not the same by Pulsar's rules, so they are counted as "
            f"different messages. If they are one topic, log the same name, or set "
            f"`constants: {{topic: …}}` in the mapping.",
            count,
        )
        for names, count in list(shared.items())[:NAMED_MOST]
    ]


def _unmatched(good: Overview, kind: str, code: str, effect: str) -> list[Finding]:
    """A finding if rows of this kind and deliveries have different topics, or topics and subscriptions.

    If some are the same, the others count only where their names are alike.
    """
    per = ("topic", "subscription") if kind == ACK else ("topic",)
    own, delivered = (
        {tuple(one[name] or "" for name in per) for one in good if one["kind"] == wanted}
        for wanted in (kind, DELIVER)
    )
    common = own & delivered
    own, delivered = own - common, delivered - common
    if common:
        alike = {_last_part(place[0]) for place in own} & {_last_part(place[0]) for place in delivered}
        own, delivered = ({one for one in each if _last_part(one[0]) in alike} for each in (own, delivered))
    if not own or not delivered:
        return []
    rows = sum(
        one["rows"] for one in good if one["kind"] == kind and tuple(one[name] or "" for name in per) in own
    )
    names, others = (_listed(sorted({place[0] or "no topic" for place in one})) for one in (own, delivered))
    what = {PUBLISH: ("publish is", "publishes are"), ACK: ("acknowledgement is", "acknowledgements are")}
    text = (
        f"{plural(rows, *what[kind])} of {names}, and deliveries are of {others}, {effect}. If they are the "
        f"same, log the same topic{' and subscription' if kind == ACK else ''} in both."
    )
    return [Finding(code, text, rows)]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MOST} more" if len(names) > NAMED_MOST else ""
    return ", ".join(names[:NAMED_MOST]) + more
