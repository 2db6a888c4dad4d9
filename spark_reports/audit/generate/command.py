"""The command `generate`: logs of so many rows, and the truth about them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from spark_reports.protocols.manifest import Command

NAME = "generate"
HELP = "make consumption logs from a simulated failover, with the truth that an audit must find"
ROWS_MOST = 1_000_000_000
"""The most rows: about 5 GB of Parquet."""
LOGS, TRUTH = "logs", "truth.json"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    from spark_reports.audit.generate.writing import WRITERS

    command.add_argument("--rows", type=int, required=True, metavar="N", help="at least so many rows")
    command.add_argument("--format", choices=tuple(WRITERS), default="parquet", help="format of the files")
    command.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the simulated run")
    command.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help=f"new folder for {LOGS}/ and {TRUTH}"
    )


def run(given: argparse.Namespace) -> int:
    """Generate; returns the exit code, 2 for bad input."""
    if not 1 <= given.rows <= ROWS_MOST:
        print(f"--rows {given.rows}: write a number from 1 to {ROWS_MOST:,}", file=sys.stderr)
        return 2
    if given.out.exists() and any(given.out.iterdir()):
        print(f"--out {given.out}: is not empty; name a new folder", file=sys.stderr)
        return 2
    rows = generate(given.rows, given.out, given.format, given.seed)
    print(f"{rows:,} rows: {given.out / LOGS}, {given.out / TRUTH}")
    return 0


def generate(rows: int, out: Path, kind: str = "parquet", seed: int = 1) -> int:
    """Write logs of at least `rows` rows and their truth; returns the number of rows."""
    from spark_reports.audit.generate.logs import run_log
    from spark_reports.audit.generate.writing import truth_of, write_copies

    log = run_log(rows, seed)
    copies = max(1, -(-rows // log.rows))
    aside = out.with_name(f".{out.name}.partial-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    (aside / LOGS).mkdir(parents=True)
    try:
        write_copies(log, copies, kind, aside / LOGS)
        truth = truth_of(log, copies, log.rows * copies)
        (aside / TRUTH).write_text(f"{json.dumps(truth, indent=1)}\n", encoding="utf-8")
        if out.exists():
            out.rmdir()
        os.replace(aside, out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return log.rows * copies


GENERATE = Command(NAME, HELP, add_arguments, run)
