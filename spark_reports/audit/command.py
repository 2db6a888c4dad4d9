"""The command `audit`: arguments, messages about bad input, and the result's lines."""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import Any

from simulator import ScenarioError
from spark_reports.audit import publish
from spark_reports.audit.detect import AUTO, FORMATS
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.inputs import EXPANDED_MIB_MOST
from spark_reports.protocols.manifest import Command

NAME = "audit"
QUICK_BYTES_MOST, QUICK_PARQUET_BYTES_MOST = 20_000_000, 100_000_000
"""Bytes of local input up to which Java does not optimise its code, which takes longer than the audit.

Tasks read Parquet themselves, so that Java has little to do.
"""
HELP = "duplicates per subscription and partition in consumption logs of real systems"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    command.add_argument(
        "--input",
        required=True,
        nargs="+",
        metavar="PATH",
        help="log files, directories or patterns, also hdfs:// and s3a:// where Spark has the connector",
    )
    command.add_argument(
        "--format", choices=(AUTO, *FORMATS), default=AUTO, help="format of all files (default: recognised)"
    )
    command.add_argument(
        "--mapping",
        metavar="FILE",
        help="which column of the log is which (docs/reports.md), or the name of a ready mapping",
    )
    command.add_argument("--mappings", action=_List, nargs=0, help="list the ready mappings and end")
    command.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help=f"folder for {', '.join(publish.RESULTS)}",
    )
    command.add_argument(
        "--expanded-mib",
        type=int,
        default=EXPANDED_MIB_MOST,
        metavar="N",
        help=f"the most MiB that one compressed file may expand to (default {EXPANDED_MIB_MOST:,})",
    )
    command.add_argument("--master", metavar="URL", help="Spark master, as for failover")
    command.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(given: argparse.Namespace) -> int:
    """Audit; returns the exit code, 2 for bad input."""
    from spark_reports.audit.mapping import Mapping
    from spark_reports.session import QUICK, JavaMissing, open_session

    try:
        mapping = _mapping(given.mapping) if given.mapping else Mapping()
    except OSError as error:
        print(f"--mapping {given.mapping}: {error.strerror}; name a readable file", file=sys.stderr)
        return 2
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        spark = open_session(given.master, "Failover Lab audit", QUICK if quick(given.input) else None)
    except JavaMissing as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        print(f"Spark did not start on {given.master or 'its default master'}: {reason}", file=sys.stderr)
        return 2
    try:
        return _audit(spark, given, mapping)
    finally:
        spark.stop()


class _List(argparse.Action):
    """Prints the ready mappings and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from spark_reports.audit.mapping import READY, ready_text

        print("\n".join(f"--mapping {name}\n{ready_text(name)}" for name in READY))
        parser.exit()


def _mapping(given: str) -> Any:
    """The mapping of a file, or a ready one where there is no such file."""
    from spark_reports.audit.mapping import READY, mapping_of, read_mapping, ready_text

    if given in READY and not Path(given).exists():
        return mapping_of(ready_text(given), given)
    return read_mapping(Path(given))


def quick(paths: list[str]) -> bool:
    """Whether the audit of these paths is over before Java has optimised its code."""
    sizes = {True: 0, False: 0}
    for path in map(Path, paths):
        if not path.exists():  # it is not on this machine, or a pattern
            return False
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file():
                sizes[file.suffix.lower() == ".parquet"] += file.stat().st_size
    return sizes[False] <= QUICK_BYTES_MOST and sum(sizes.values()) <= QUICK_PARQUET_BYTES_MOST


def _audit(spark: object, given: argparse.Namespace, mapping: object) -> int:
    from spark_reports.audit.job import Audit
    from spark_reports.progress import Spoken

    try:
        report = Audit(
            spark,  # type: ignore[arg-type]
            given.input,
            given.out,
            mapping,  # type: ignore[arg-type]
            given.format,
            Spoken(given.quiet),
            given.expanded_mib,
        ).make()
    except AuditError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:
        message = input_problem(error)
        print(
            message or f"A bug in Failover Lab, please report it with this:\n{traceback.format_exc()}",
            file=sys.stderr,
        )
        return 2 if message else 3
    for one in report["groups"]:
        place = " ".join(part for part in (one["subscription"], one["topic"], one["partition"]) if part)
        duplicates = "unknown" if one["duplicates"] is None else f"{one['duplicates']:,}"
        print(
            f"{place}: {one['deliveries']:,} deliveries of {one['messages']:,} messages; repeated in several "
            f"clusters: {one['in_several_clusters']:,}, in one: {one['in_one_cluster']:,}; "
            f"duplicates (acknowledged before): {duplicates}"
        )
    for one in report["positions"]:
        most = one["repeated_most"]
        print(
            f"{one['subscription']} {one['topic']}, {one['from']} to {one['to']}: a failover would repeat "
            f"{'an unknown number of' if most is None else f'at most {most:,}'} entries"
        )
    print(given.out / publish.PAGE)
    return 0


AUDIT = Command(NAME, HELP, add_arguments, run)
