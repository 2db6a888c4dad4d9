"""`script/bench [PART…] [--json] [--write FILE]`: measures the parts and prints the figures.

Each figure is printed with its alternative's. The exit code is 0 whatever the figures are: a missed target is
printed as missed. A part that cannot be measured (a run that did not do its work) is reported, the other
parts are measured, and the exit code is 1. With `--write` the figures replace the older ones in a document
(`script.benchmarks.measure`), normally docs/performance.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

from script.benchmarks import measure
from script.benchmarks.measure import conditions_now, missing_parts, write_figures

PARTS = (
    "engine",
    "groups",
    "seek",
    "live",
    "page",
    "group_lab",
    "hour",
    "cursor",
    "filter",
    "broadcast",
    "sweep",
    "sweep_command",
    "spark",
    "audit",
)


def main(words: list[str] | None = None) -> int:
    arguments = _read(words)
    measure.REPEATS = arguments.repeats  # the parts, imported below, read it
    figures, failures = [], []
    for part in arguments.parts or PARTS:
        print(f"measuring {part}…", file=sys.stderr, flush=True)
        conditions = conditions_now(arguments.repeats, os.getloadavg()[0])
        measured: list[measure.Figure] = []
        try:
            for figure in importlib.import_module(f"script.benchmarks.{part}").measure():
                measured.append(figure)
                if not arguments.json:
                    print(figure.line(), flush=True)
            if arguments.write:
                write_figures(arguments.write, part, measured, conditions)
        except (AssertionError, RuntimeError) as error:
            failures.append(f"{part} could not be measured to its end: {error}")
            print(failures[-1], file=sys.stderr, flush=True)
        figures += measured
    if arguments.json:
        machine = {"python": platform.python_version(), "system": platform.platform()}
        print(
            json.dumps(
                {
                    "machine": machine,
                    "figures": [figure.as_dict() for figure in figures],
                    "failures": failures,
                },
                indent=2,
            )
        )
    return 1 if failures else 0


def _read(words: list[str] | None) -> argparse.Namespace:
    """The options.

    A document without markers for a part is refused here, before anything is measured.
    """
    parser = argparse.ArgumentParser(
        prog="script/bench", description="Measures the speed of the lab; medians of five."
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"parts to measure, all of them by default: {', '.join(PARTS)}",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="also replace the parts' figures in this document, normally docs/performance.md",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=measure.REPEATS,
        help="rounds that a median is taken of (default: %(default)s); fewer for a quick look",
    )
    arguments = parser.parse_args(words)
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(
            f"no such part: {', '.join(unknown)} (choose from {', '.join(PARTS)}). Nothing was measured."
        )
    if arguments.write:
        if not arguments.write.is_file():
            parser.error(f"{arguments.write} is no file. Nothing was measured.")
        if missing := missing_parts(arguments.write, arguments.parts or list(PARTS)):
            parser.error(
                f"{arguments.write} has no place for {', '.join(missing)}: it needs the lines <!-- "
                f"figures: PART --> and <!-- end: PART -->. Nothing was measured."
            )
    return arguments


if __name__ == "__main__":
    raise SystemExit(main())
