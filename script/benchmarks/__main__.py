"""`script/bench [PART] [--json]`: measures the parts asked for and prints each figure beside its alternative's.

Exit code 0 whatever the figures are: a target that is missed is said, and belongs in docs/claims.md as open. A part that
cannot be measured (a run that did not do its work) is said too, the others go on, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys

from script.benchmarks import measure

PARTS = ("engine", "groups", "seek", "live", "page", "group_lab", "hour", "cursor", "filter", "broadcast", "spark")


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/bench", description="Measures the speed claims; medians of five.")
    parser.add_argument("part", nargs="?", choices=PARTS, help="one part; all of them without")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--repeats", type=int, default=measure.REPEATS, help="rounds that a median is taken of (default: %(default)s); fewer for a quick look")
    arguments = parser.parse_args()
    measure.REPEATS = arguments.repeats  # the parts, imported below, take it from there
    figures, failures = [], []
    for part in [arguments.part] if arguments.part else PARTS:
        print(f"measuring {part}…", file=sys.stderr, flush=True)
        try:
            for figure in importlib.import_module(f"script.benchmarks.{part}").measure():
                figures.append(figure)
                if not arguments.json:
                    print(figure.line(), flush=True)
        except (AssertionError, RuntimeError) as error:
            failures.append(f"{part} could not be measured to its end: {error}")
            print(failures[-1], file=sys.stderr, flush=True)
    if arguments.json:
        machine = {"python": platform.python_version(), "system": platform.platform()}
        print(json.dumps({"machine": machine, "figures": [figure.as_dict() for figure in figures], "failures": failures}, indent=2))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
