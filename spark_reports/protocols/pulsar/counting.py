"""The counting of failovers in Spark, by the definitions that docs/reports.md repeats.

Frames are computed in order, figures are plain values. Rules: this code is independent of
`simulator.protocols.pulsar.verdicts`, and a test compares every figure of both. Frames of one row per
failover or party are made local once, so that later plans are short. Frames of one row per message stay in
Spark and are kept on disk when memory is short.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_reports import tuning
from spark_reports.protocols.pulsar.facts import Facts
from spark_reports.protocols.pulsar.scans import acknowledgements, judging, logs, tallies, unsettled
from spark_reports.protocols.pulsar.transforms import (
    causes,
    cursors,
    dedup,
    deliveries,
    draining,
    failovers,
    fates,
    parties,
    subscriptions,
    sync,
)
from spark_reports.scans import control
from spark_reports.scans.tasks import Scans
from spark_reports.steps import Steps

COUNTS = (
    "duplicates",
    "extra_deliveries",
    "redeliveries",
    "lost",
    "lost_recovered",
    "stranded",
    "stranded_unprocessed",
    "stranded_returned",
    "stranded_missing",
    "expired",
    "skipped",
    "reordered",
)
"""Figures of a failover that are numbers of messages or deliveries."""


class Counting(Steps):
    """One counting over the rows of any number of runs, of at most `longest_run` rows each.

    Call the steps in the order in which they are defined.
    """

    def __init__(
        self, spark: SparkSession, rows: DataFrame, scans: Scans, facts: Facts, longest_run: int
    ) -> None:
        super().__init__(spark)
        self.scans = scans
        self.longest_run = longest_run
        self.rows = rows
        self.facts = facts

    # --- steps

    def find_failovers(self) -> None:
        """Find the failovers' windows, ends of clusters, topics, and the mark-deletes over time."""
        self.control = self.settle(self.scans.frame(control.SCAN), quick_most=tuning.QUICK_ROWS_MOST)
        self.marks = cursors.marks(self.control)
        with self.quick(self.control):
            self.failovers = self.local(failovers.failovers(self.control))
            self.failover_rows = self.failovers.collect()
            self.side_by_side(self._find_places, self._find_losses)
        self.limits = self.local(sync.limits(self.rows, self.lost_acks))

    def _find_places(self) -> None:
        self.ends = self.local(failovers.cluster_ends(self.control, self.failovers))
        topics = self.local(failovers.failover_topics(self.control, self.failovers))
        self.scopes = self.local(fates.scopes(self.failovers, topics, self.ends))
        self.topic_ends = self.local(failovers.topic_ends(self.control, self.failovers, self.ends, topics))

    def _find_losses(self) -> None:
        self.lost_acks = self.local(sync.lost_acks(self.control))
        self.backward_steps = self.local(cursors.backward_steps(self.marks))
        self.lost_clusters = self.local(fates.lost_clusters(self.control))

    def judge_deliveries(self) -> None:
        """Classify every delivery."""
        self.windows = judging.windows_of(self.failover_rows)
        self.notable = self.settle(self.scans.frame(judging.NOTABLE, windows=self.windows))
        self.judged = deliveries.judged(self.notable)
        with self.quick(self.notable):
            self.repeated = self.settle(deliveries.repeated(self.notable))
            self.reordered = self.settle(deliveries.reordered(self.judged))
            self.delivery_figures = deliveries.delivery_figures(self.judged, self.reordered).collect()
            self.duplicates = self.settle(
                causes.duplicates(self.judged, self.topic_ends),
                sum(row.duplicates for row in self.delivery_figures),
            )

    def deliveries(self, runs: list[int]) -> DataFrame:
        """All deliveries of some runs with their verdicts, computed when they are read."""
        return self.scans.of(runs).frame(judging.DELIVERIES, windows=self.windows)

    def find_causes(self) -> None:
        """Assign a cause to every duplicate, and count the ids that a consumer would have to remember."""
        self.side_by_side(self._follow_duplicates, self._measure_dedup_windows)
        with self.quick(self.control, self.duplicates, self._held):
            copies = causes.copies(self._held, self.lost_acks, self.marks)
            went_back = causes.went_back(self.duplicates, self.backward_steps)
            self.explained = self.settle(
                causes.explained(self.duplicates, copies, went_back, self._synced, self._known)
            )
            self.cause_figures = causes.cause_counts(self.explained).collect()
            self.origin_figures = causes.origin_counts(self.explained).collect()

    def _follow_duplicates(self) -> None:
        self._known = self._parties()
        self._held = self.settle(
            causes.held(self.near(self.rows, self.duplicates, "sequence_id"), self.duplicates)
        )
        self._synced = self._reported(self._known)

    def _measure_dedup_windows(self) -> None:
        block_rows = dedup.block_rows(self.longest_run)
        with self.quick(self.duplicates):
            ends = self.settle(dedup.ends(self.duplicates, block_rows))
        near = self.near(self.rows, ends, "seq", margin=block_rows)
        blocks = self.settle(self.scans.frame(acknowledgements.SCAN, block_rows=block_rows))
        counted = self.settle(dedup.counted(ends, blocks, near, block_rows))
        with self.quick(self.duplicates, self.repeated, counted):
            self.dedup_figures = dedup.dedup_windows(
                self.duplicates, counted, self.repeated, block_rows
            ).collect()

    def _reported(self, known: DataFrame) -> DataFrame:
        if not self.facts.synchronised:
            return sync.nothing_reported(self.duplicates)
        with self.quick(self.control):
            found = self.local(sync.sync_requests(self.control, known, self.marks))
        rows = self.near(self.rows, self.duplicates, "sequence_id")
        return self.settle(sync.reported_acks(rows, self.duplicates, found, self.lost_acks, self.limits))

    def _parties(self) -> DataFrame:
        rows, facts, key = self.control, self.facts, parties.PARTY
        with self.quick(rows, self.duplicates):
            met = self.local(parties.parties(self.duplicates, self.failovers, self.topic_ends))
        with self.quick(rows):
            met = self.local(parties.with_marks(met, self.marks))
            remotes = self.local(parties.remotes(rows, met, facts.sites))
            replication = self.local(parties.replication(rows, met, facts.sites, remotes, facts.links))
            synced = (
                sync.synced(rows, met, self.marks, facts.subscriptions)
                if facts.synchronised
                else sync.nothing_synced(met)
            )
            thresholds = [
                replication,
                *(self.local(frame) for frame in (parties.updates(rows, met), parties.snapshots(rows, met))),
                self.local(synced),
            ]
            parts = parties.parts(met.collect())
        begun = self.local(self.scans.frame(logs.FIRST_PAST, parts=parts))
        with self.quick(rows):
            past = self.local(parties.past(met, begun))
            thresholds.append(self.local(parties.attempts(rows, met, replication, past)))
            for frame in thresholds:
                met = met.join(frame, key, "left")
            return self.local(met)

    def settle_messages(self) -> None:
        """Count what happened to every message."""
        scopes = unsettled.scopes_of(self.scopes.collect())
        messages = self.settle(self.scans.frame(unsettled.SCAN, scopes=scopes))
        with self.quick(self.control):
            opened = self.local(fates.opened(self.marks, self.scopes))
            replicators = self.local(fates.replicators(self.control, self.scopes))
        of_failovers = self.settle(
            fates.fates(self.near(self.rows, messages, "sequence_id"), self.scopes, opened, messages)
        )
        with self.quick(self.control, of_failovers):
            covered = fates.covered(of_failovers, self.marks, self.scopes)
            settled = fates.settled(of_failovers, covered, replicators, self.lost_clusters)
            self.fate_figures = fates.fate_figures(settled, self.failovers).collect()
        self._follow_backlogs()

    def _follow_backlogs(self) -> None:
        """When the target's cursor covered all that its log held at each failover, and what it did not."""
        with self.quick(self.control):
            stretches = self.local(
                draining.stretches(self.scopes, self.marks, self.lost_acks, self.backward_steps)
            )
        copies = self.scans.frame(logs.COPIES_ABOVE, parts=draining.parts(stretches.collect()))
        held = self.settle(draining.held(copies, stretches, self.lost_clusters))
        near = self.near(self.rows, held, "sequence_id")
        taken = self.settle(draining.taken(near, held, stretches, self.lost_acks, self.limits))
        with self.quick(self.control, held, taken):
            stretches_covered = draining.covered_stretches(held, taken, stretches, self.marks)
            self.drained = draining.drained(stretches_covered.collect())
        self.pending_figures = self._count_pending_repeats()

    def _count_pending_repeats(self) -> list[Any]:
        """Count what the target of each failover may still deliver again when the run ends."""
        with self.quick(self.control):
            ends = self.local(draining.ends(self.scopes, self.marks))
        copies = self.scans.frame(logs.COPIES_ABOVE, parts=draining.parts(ends.collect()))
        left = self.settle(draining.left(copies, ends, self.lost_clusters))
        near = self.near(self.rows, left, "sequence_id")
        taken = self.settle(draining.taken(near, left, ends, self.lost_acks, self.limits))
        with self.quick(self.control, left, taken):
            return draining.pending_repeats(near, left, taken, ends).collect()

    def count_subscriptions(self) -> None:
        """Count the rows of each subscription, cluster and partition."""
        self.tallies = self.local(self.scans.frame(tallies.SCAN))
        with self.quick(self.notable):
            self.partition_figures = subscriptions.partition_counts(self.tallies, self.judged).collect()

    def run_all(self) -> Counting:
        """Run all steps."""
        for step in (
            self.find_failovers,
            self.judge_deliveries,
            self.find_causes,
            self.settle_messages,
            self.count_subscriptions,
        ):
            step()
        return self

    # --- figures

    def figures(self) -> dict[int, list[dict[str, Any]]]:
        """The failovers of each run in order, under the names of `simulate --json`.

        They have `failover_seq`, and no forecast.
        """
        counted = [
            _by_failover(frame)
            for frame in (self.delivery_figures, self.fate_figures, self.dedup_figures, self.pending_figures)
        ]
        ended = {(row.run, row.failover_seq, row.cluster): row.ended_us for row in self.ends.collect()}
        by_cause: dict[tuple[int, int], dict[str, int]] = {}
        for row in self.cause_figures:
            by_cause.setdefault((row.run, row.failover_seq), {})[row.cause] = row.duplicates
        found: dict[int, list[dict[str, Any]]] = {}
        for row in sorted(self.failover_rows, key=lambda row: (row.run, row.failover_seq)):
            key = (row.run, row.failover_seq)
            figures = {name: value for frame in counted for name, value in frame.get(key, {}).items()}
            family = self.facts.families[row.run]
            figures["drained_us"] = self.drained.get(key)
            found.setdefault(row.run, []).append(
                _figure(
                    row,
                    figures,
                    causes.causes_of(family),
                    by_cause.get(key, {}),
                    ended.get((*key, row.source), row.failover_us),
                )
            )
        return found

    def subscription_figures(self) -> dict[int, dict[str, dict[str, dict[str, Any]]]]:
        """The sums by run, subscription and cluster, with `partitions`."""
        names = ("delivered", "acknowledged", "repeated", "expired", "skipped")
        found: dict[int, dict[str, dict[str, dict[str, Any]]]] = {}
        for row in sorted(
            self.partition_figures, key=lambda row: (row.run, row.subscription, row.cluster, row.topic)
        ):
            here = found.setdefault(row.run, {}).setdefault(row.subscription, {})
            total = here.setdefault(row.cluster, {**dict.fromkeys(names, 0), "partitions": {}})
            for name in names:
                total[name] += row[name]
            total["partitions"][row.topic] = {name: row[name] for name in names}
        return found


def _by_failover(rows: list[Any]) -> dict[tuple[int, int], dict[str, Any]]:
    return {(row.run, row.failover_seq): row.asDict() for row in rows}


def _figure(
    row: Any, found: dict[str, Any], names: tuple[str, ...], by_cause: dict[str, int], source_ended_us: int
) -> dict[str, Any]:
    first_us = found.get("first_delivery_us")
    return {
        "failover_seq": row.failover_seq,
        "subscription": row.subscription,
        "from": row.source,
        "to": row.target,
        "mode": row.mode,
        "at_us": row.failover_us,
        "end_us": row.end_us,
        "source_ended_us": source_ended_us,
        **{name: found.get(name) or 0 for name in COUNTS},
        "lost_by_cause": {name: found.get(f"lost_{name}") or 0 for name in fates.LOST_CAUSES},
        "by_cause": {name: by_cause.get(name, 0) for name in names},
        "dedup_window": {"messages": found.get("dedup_messages") or 0, "us": found.get("dedup_us") or 0},
        "outage_us": None if first_us is None else first_us - source_ended_us,
        "first_delivery_us": first_us,
        "caught_up_us": found.get("caught_up_us"),
        "drained_us": found["drained_us"],
        "pending_repeats": None if row.end_us is not None else found.get("pending_repeats") or 0,
    }
