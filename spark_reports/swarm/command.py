"""The command `swarm --family F --seeds N --out DIR`: arguments, printed lines, exit codes.

Exit codes: 0 every claim held, 1 one was broken, 2 bad input, 3 an internal error, 130 cancelled.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from simulator import RuleError, loaded_rules
from simulator.experiments import swarm_families
from spark_reports.experiments.command import CANCELLED, Printed
from spark_reports.experiments.job import SweepFailed
from spark_reports.progress import Cancelled
from spark_reports.protocols.manifest import Command
from spark_reports.session import QUICK, JavaMissing, MasterUnreachable, open_session
from spark_reports.swarm.job import Swarm
from spark_reports.swarm.results import Results, SwarmFolderError

SEEDS_MAX = 1_000_000
"""The most seeds of a family: a day on two cores."""
BROKEN_SHOWN = 20
"""Violations that are printed; the folder has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    families = swarm_families()
    parser.add_argument(
        "--family", nargs="+", choices=families, default=families, help="families (default: all)"
    )
    parser.add_argument("--seeds", type=_seeds, required=True, metavar="N", help="seeds of each family")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed (default 1)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of swarm.jsonl; seeds in it are kept"
    )
    parser.add_argument("--master", metavar="URL", help="a Spark master, as for failover")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(given: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    families = swarm_families(with_rule=loaded_rules() is not None)
    chosen_families = [family for family in given.family if family in families]
    if not chosen_families:
        print(f"--family: the rule is for {', '.join(families)}", file=sys.stderr)
        return 2
    keys = [(family, given.first + number) for family in chosen_families for number in range(given.seeds)]
    listener = Printed(given.quiet, "broke a claim")
    try:
        results = Results(given.out)
        spark = open_session(given.master, "Failover Lab swarm", QUICK)
    except (SwarmFolderError, JavaMissing, MasterUnreachable, RuleError) as error:
        print(error, file=sys.stderr)
        return 2
    listener.catch_interrupts()
    try:
        standing = Swarm(spark, keys, results, listener).run()
    except Cancelled:
        print(f"Cancelled. The same command runs the seeds that {given.out} does not have.", file=sys.stderr)
        return CANCELLED
    except SweepFailed as error:
        print(error, file=sys.stderr)
        return 2 if error.environment else 3
    except SwarmFolderError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        with suppress(Exception):  # a session that has failed may not stop
            spark.stop()
    print(f"{standing.finished:,} seeds were run, {standing.failed:,} broke a claim")
    chosen = dict.fromkeys(keys)
    rules = "" if given.rules is None else f" --rules {given.rules}"
    broken = [row for row in results.broken() if (row["family"], row["seed"]) in chosen]
    for row in broken[:BROKEN_SHOWN]:
        print(f"{row['family']}, seed {row['seed']} ({row['built_in']}): {row['claim']}: {row['reason']}")
        print(f"  {row['commands']} commands; python manage.py simulate {results.scenario_of(row)}{rules}")
    return 1 if broken else 0


def _seeds(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= SEEDS_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seeds; write 1 to {SEEDS_MAX:,}")
    return int(text)


SWARM = Command("swarm", "random settings and faults, with the checks of every run", add_arguments, run)
