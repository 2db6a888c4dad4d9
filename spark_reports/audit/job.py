"""The audit: logs in, a folder with page, figures and duplicates out.

Question: which messages did each subscription receive more than once, when, and in which clusters? The unit
is messages and deliveries. A recount of the same rows in plain Python would falsify it
(`tests/oracle/audit.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_reports.audit import counting, detect, findings, labels, publish
from spark_reports.audit.columns import ACK, DELIVER, GROUP, PUBLISH
from spark_reports.audit.errors import GROUPS_MOST, TOO_MANY_GROUPS, AuditError
from spark_reports.audit.formats import spans, tables
from spark_reports.audit.formats.statistics import incomplete, positions, read_statistics
from spark_reports.audit.formats.verifiable import check_records
from spark_reports.audit.inputs import EXPANDED_MIB_MOST, list_files
from spark_reports.audit.mapping import OTHER_LINE, POSITION, SHARED, Mapping
from spark_reports.audit.numbered.scans import Numbered, not_delivered, repeated_keys
from spark_reports.audit.page import page
from spark_reports.audit.readers import read
from spark_reports.audit.rows import canonical, of_kinds
from spark_reports.audit.scenario import scenario_text
from spark_reports.progress import NullProgress, Watch
from spark_reports.tuning import tuned

_NOTHING: dict[str, Any] = {
    "scenario": False,
    "rows": {"total": 0, "readable": 0, "unreadable": 0, "by_kind": {}},
    "unreadable": {"reasons": {}, "sample": []},
    "span": None,
    "clusters": [],
    "measured_share": 1,
    **{
        name: [] for name in ("groups", "worst", "losses", "latencies", "processing", "findings", "positions")
    },
}
"""The report of an input without logs."""
Totals = dict[tuple[str, ...], dict[str, int]]
"""Messages with one row of a delivery, and rows of deliveries, of each group."""
LOSS_ROWS_MOST = 20_000_000
"""The most rows whose losses are counted although the log is not declared complete."""
WORST_MOST = 20
"""Messages listed in the page."""
ROW_BYTES_LEAST = 20
"""Bytes of a row, few as in a compressed log: they bound the rows for the settings of `tuning.tuned`."""


class Audit:
    """One audit in progress. `listener` receives progress, with the methods of `progress.NullProgress`."""

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        out: str | Path,
        mapping: Mapping | None = None,
        wanted: str = detect.AUTO,
        listener: Any = None,
        expanded_mib: int = EXPANDED_MIB_MOST,
        records_most: int | None = None,
    ) -> None:
        """`records_most` bounds what ranges of offsets stand for, a few bytes each; None is no bound."""
        self.spark = spark
        self.paths = [str(path) for path in paths]
        self.out = Path(out)
        self.mapping = mapping or Mapping()
        self.wanted = wanted
        self.listener = listener or NullProgress()
        self.expanded_mib = expanded_mib
        self.records_most = records_most
        self.report: dict[str, Any] = {"format": 1}
        self._kept: list[DataFrame] = []
        self.unreadable = 0
        self.seen: list[dict[str, Any]] = []

    def make(self) -> dict[str, Any]:
        """Make the audit and return the content of audit.json.

        Raises AuditError and Cancelled; errors of Spark about the input are in `errors.input_problem`.
        """
        began = time.monotonic()
        group = f"audit-{id(self)}-{time.monotonic_ns()}"
        try:
            with ExitStack() as self._settings, Watch(self.spark, self.listener, group) as watch:
                watch.run(
                    [
                        ("finding and recognising the files", self._find),
                        *((name, partial(self._of_logs, step)) for name, step in self._log_steps()),
                        ("writing the results", lambda: self._write(began)),
                    ]
                )
        finally:
            for frame in self._kept:
                frame.unpersist()
        return self.report

    def _find(self) -> None:
        files = list_files(self.spark, self.paths)
        rows_most = sum(file.size_bytes for file in files) // ROW_BYTES_LEAST
        self._settings.enter_context(tuned(self.spark, rows_most))
        self.found = detect.sorted_by_format(self.spark, files, self.wanted, self.mapping)
        self.report |= dict(_NOTHING)
        self.report["input"] = {
            "paths": self.paths,
            "files": len(files),
            "size_bytes": sum(file.size_bytes for file in files),
            "formats": {name: len(own) for name, own in self.found.items()},
        }

        statistics = self.found.pop(detect.STATS_INTERNAL, [])
        if statistics:
            pairs = positions(read_statistics(self.spark, statistics, self.mapping))
            self.report["positions"] = pairs
            self.report["findings"] = [asdict(one) for one in incomplete(pairs)]
            if not self.report["positions"] and not self.found:
                raise AuditError(
                    "stats-internal of one cluster only; add the output of the other cluster for the same "
                    "topic"
                )

    def _of_logs(self, step: Callable[[], None]) -> None:
        """The step, unless the input has no log but only statistics of topics."""
        if self.found:
            step()

    def _log_steps(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("reading the rows", self._read),
            ("counting deliveries", self._count),
            ("counting losses and times", self._measure),
        ]

    def _read(self) -> None:
        self.scans: Numbered | None = None
        if set(self.found) == {detect.PARQUET}:  # it is read faster than a kept frame
            files = self.found[detect.PARQUET]
            raw = tables.read_parquet(self.spark, files, self.mapping)
            self.rows = canonical(raw, self.mapping, files)
            key = tables.key_column(raw, self.mapping)
            if key:
                self._scan(Numbered(raw, key, self.mapping, files, GROUPS_MOST))
        else:  # text is parsed once
            ranged = self.found.get(detect.VERIFIABLE, ())
            if ranged and self.records_most is not None:
                check_records(self.spark, ranged, self.expanded_mib, self.records_most)
            self.rows = self._keep(read(self.spark, self.found, self.mapping, self.expanded_mib))
        if self.scans:
            seen = self.scans.overview(self.counted)
        else:
            overview = counting.overview(self.rows).limit(GROUPS_MOST + 1)
            seen = [row.asDict() for row in overview.collect()]
        if len(seen) > GROUPS_MOST:
            raise AuditError(TOO_MANY_GROUPS)
        self.other_lines = sum(one["rows"] for one in seen if one["problem"] == OTHER_LINE)
        seen = [one for one in seen if one["problem"] != OTHER_LINE]
        good = [one for one in seen if one["problem"] is None]
        if not good:
            found = detect.columns_of(self.spark, self.found, self.mapping)
            raise AuditError(_nothing_read(seen, self.other_lines, found))
        self.seen, self.good = seen, good
        self._match_labels()
        self._tell_rows()

    def _scan(self, scans: Numbered) -> None:
        """Make the first scan, unless it shows that some rows have to be identified by another column."""
        counted = self._keep(scans.first())
        only_key = self.mapping.identity or not {"message_id", "position"} <= set(scans.raw.columns)
        if only_key or scans.all_have_keys(counted):
            self.scans, self.counted = scans, counted

    def _match_labels(self) -> None:
        """Give the same topic and partition to rows whose labels name the same one."""
        self._rename(labels.renamed(self.seen))
        partly = labels.partly_labelled(self.good, self._positions_only())
        several = labels.in_several_partitions(self.rows, partly) if partly else {}
        whole = frozenset(partly) - frozenset(several)
        self._rename(labels.without_partition(self.seen, whole))
        if self.scans and whole:
            self.scans.whole = whole
            self.counted = self._keep(self.scans.first())
        shared = labels.shared_ids(self.rows, self.good)
        self.label_findings = labels.findings_of(self.good, partly, several, shared)

    def _rename(self, places: dict[labels.Place, labels.Place]) -> None:
        self.rows = labels.relabelled(self.rows, places)
        self.seen = labels.regrouped(self.seen, places)
        self.good = [one for one in self.seen if one["problem"] is None]

    def _tell_rows(self) -> None:
        by_kind: dict[str, int] = {}
        problems: dict[str, int] = {}
        for one in self.seen:
            target, name = (by_kind, one["kind"]) if one["problem"] is None else (problems, one["problem"])
            target[name] = target.get(name, 0) + one["rows"]
        self.by_kind = dict(sorted(by_kind.items()))
        self.unreadable = sum(problems.values())
        self.report |= {
            "rows": {
                "total": sum(one["rows"] for one in self.seen),
                "readable": sum(by_kind.values()),
                "unreadable": self.unreadable,
                "by_kind": self.by_kind,
            },
            "unreadable": {"reasons": dict(sorted(problems.items())), "sample": []},
            "span": {
                "first_us": min(one["first_us"] for one in self.good),
                "last_us": max(one["last_us"] for one in self.good),
            },
            "clusters": sorted({one["cluster"] for one in self.good if one["cluster"]}),
        }

    def _count(self) -> None:
        acks = counting.acks_of(self.good)
        self.report["measured_share"] = share = counting.share_of(self.report["rows"]["readable"])
        self.measured = counting.measured(self.rows, share)
        by_scans = self._by_scans(self.scans, acks, share) if self.scans else None
        totals, messages = by_scans or self._by_keys(acks)
        self.messages = self._keep(messages)
        rolled = {_group(row): row.asDict() for row in counting.rolled_up(self.messages).collect()}
        self.report["groups"] = [
            _complete(dict(zip(GROUP, name)), totals[name], rolled.get(name, {}), name[0] in acks)
            for name in sorted(totals)
        ]
        self.report["worst"] = counting.worst(self.messages, WORST_MOST)
        self._tell_timeline()

    def _by_keys(self, acks: dict[str, int]) -> tuple[Totals, DataFrame]:
        """Totals of each group, and the messages with several rows, by grouping the rows."""
        keys = counting.delivered_keys(self.rows)
        totals = {_group(row): row.asDict() for row in counting.totals(keys).collect()}
        return totals, counting.repeated(self.rows, keys.filter(F.col("lines") > 1), acks)

    def _by_scans(self, scans: Numbered, acks: dict[str, int], share: int) -> tuple[Totals, DataFrame] | None:
        """The same by the second scan, or None if too many hashes are repeated for it."""
        found = scans.second(self.counted, share)
        if found is not None:
            chosen = self._keep(found)
            self.measured = chosen.filter("measured")
            messages = counting.described(chosen.filter("again"), acks)
        elif not scans.hashed:
            messages = counting.repeated(self.rows, repeated_keys(self.counted), acks)
        else:
            return None
        return scans.totals(self.counted), messages

    def _tell_timeline(self) -> None:
        first_us, last_us = self.report["span"]["first_us"], self.report["span"]["last_us"]
        width_us = max(1, -(-(last_us - first_us + 1) // counting.BINS))
        across, within = [0] * counting.BINS, [0] * counting.BINS
        for row in counting.timeline(self.messages, first_us, width_us).collect():
            (across if row["across"] else within)[min(row["bin"], counting.BINS - 1)] += row["messages"]
        self.report["timeline"] = {
            "first_us": first_us,
            "bin_us": width_us,
            "across_clusters": across,
            "within_one_cluster": within,
        }

    def _measure(self) -> None:
        by_position = self._by_position()
        published = PUBLISH in self.by_kind and DELIVER in self.by_kind
        self.report["losses"], self.report["latencies"], self.report["processing"] = [], [], []
        big = self.report["rows"]["readable"] > LOSS_ROWS_MOST and not self.mapping.complete
        if published and not big:
            missing = (
                self.scans.not_delivered()
                if self.scans
                else not_delivered(self.rows, by_position, GROUPS_MOST)
            )
            self.report["losses"] = [
                counting.judged(row.asDict(), self.mapping.complete, self._sampled(), self.unreadable)
                for row in missing.orderBy(*counting.OF_SUBSCRIPTION).collect()
            ]
        if published:
            self.report["latencies"] = _rows(counting.latencies(self.measured, by_position))
        if ACK in self.by_kind and DELIVER in self.by_kind:
            self.report["processing"] = _rows(counting.processing(self.measured))
        repeated = sum(one["repeated_rows"] for one in self.report["groups"])
        found = [
            *findings.of_rows(self.unreadable, repeated, self.report["rows"]["total"]),
            *findings.of_lines(self.other_lines, self.report["rows"]["total"]),
            *findings.of_overview(self.seen),
            *self.label_findings,
            *findings.of_contexts(self._unconnected()),
            *findings.of_clocks(self.report["latencies"]),
            *findings.not_counted(published and big),
            *findings.absent_kinds(self.by_kind, ACK in self.by_kind),
        ]
        self.report["findings"] = [*self.report["findings"], *(asdict(one) for one in found)]

    def _unconnected(self) -> int:
        """Deliveries by trace context, if neither a repeat nor a publish connects those of all clusters."""
        delivered = {one["cluster"] or "" for one in self.good if one["kind"] == DELIVER}
        reached = {one["to"] for one in self.report["latencies"]}
        repeated = sum(one["in_several_clusters"] for one in self.report["groups"])
        if detect.SPANS not in self.found or len(delivered) < 2 or repeated or delivered <= reached:
            return 0
        return of_kinds(self.rows, DELIVER).filter(F.col("key").rlike(spans.CONTEXT)).count()

    def _by_position(self) -> bool:
        """Whether messages are identified by their position, whose partition belongs to it."""
        return self._positions_only() or any(one["scoped"] for one in self.good)

    def _positions_only(self) -> bool:
        """Whether the mapping has no other identity than positions."""
        own = self.mapping
        return own.identity == POSITION or (own.positions == SHARED and "message_id" not in own.columns)

    def _sampled(self) -> bool:
        """Whether rows may be missing: traces are sampled unless the mapping declares them complete."""
        return self.mapping.sampled or (detect.SPANS in self.found and not self.mapping.complete)

    def _scenario(self) -> str | None:
        """The scenario that the log's figures make; whether there is one is in the report."""
        text = scenario_text(self.report, self.seen)
        self.report["scenario"] = text is not None
        return text

    def _write(self, began: float) -> None:
        self.report["made_at"] = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
        repeated = sum(one["repeated_messages"] for one in self.report["groups"])
        with publish.written_aside(self.out) as folder:
            if self.found:
                publish.write_messages(folder, self.messages, repeated)
            if self.unreadable:
                self.report["unreadable"]["sample"] = publish.write_unreadable(folder, self.rows)
            text = self._scenario()
            if text is not None:
                (folder / publish.SCENARIO).write_text(text, encoding="utf-8")
            publish.write_table(folder, self.report["groups"])
            self.report["made_by"] = {
                "spark": self.spark.version,
                "master": self.spark.conf.get("spark.master", "Spark Connect"),
                "seconds": time.monotonic() - began,
            }
            (folder / publish.PAGE).write_text(page(self.report), encoding="utf-8")
            publish.write_json(folder, self.report)

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: [str(row[name]) for name in row])


def _group(row: Any) -> tuple[str, ...]:
    return tuple(row[name] for name in GROUP)


def _nothing_read(seen: list[dict[str, Any]], other_lines: int, found: str) -> str:
    """The text about an input without any readable row; `found` says which columns it has."""
    if other_lines and not seen:
        return f"none of the {other_lines:,} lines matches the pattern of the mapping.{found}"
    if not seen:
        return "the input has no rows, so there is nothing to audit"
    reasons = sorted(((one["rows"], one["problem"]) for one in seen), reverse=True)
    rows = sum(count for count, _ in reasons)
    return (
        f"none of the {rows:,} rows can be used, so this is no log in the format that was named or "
        f"recognised. "
        f"The most frequent reason: {reasons[0][1]}. Name the format with --format and the columns with "
        f"--mapping{f'.{found}' if found else ''}"
    )


_ROLLED = (
    "repeated_messages",
    "in_several_clusters",
    "in_one_cluster",
    "cluster_unknown",
    "extra_deliveries",
    "repeated_rows",
)
_ACKED = ("duplicates", "extra_after_ack")
_INSTANTS = ("first_us", "last_us", "p50", "p99", "gap_most")


def _complete(
    group: dict[str, str], total: dict[str, int], figures: dict[str, Any], acks: bool
) -> dict[str, Any]:
    """The figures of one group. What its acknowledgements would show is None where the log has none."""
    return {
        **group,
        "messages": total["messages"] + (figures.get("with_several_rows") or 0),
        "deliveries": total["delivery_rows"] - (figures.get("repeated_rows") or 0),
        **{name: figures.get(name) or 0 for name in _ROLLED},
        "deliveries_most": figures.get("deliveries_most") or 1,
        **{name: (figures.get(name) or 0) if acks else None for name in _ACKED},
        **{name: figures.get(name) for name in _INSTANTS},
    }
