"""`script/bench [PART] [--json]`: measures the parts asked for and prints each figure beside its alternative's.

Exit code 0 whatever the figures are: a target that is missed is said, and belongs in docs/claims.md as open.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys

PARTS = ("engine", "seek", "live", "page", "cursor", "spark")


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/bench", description="Measures the speed claims; medians of five.")
    parser.add_argument("part", nargs="?", choices=PARTS, help="one part; all of them without")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    figures = []
    for part in [arguments.part] if arguments.part else PARTS:
        print(f"measuring {part}…", file=sys.stderr, flush=True)
        for figure in importlib.import_module(f"script.benchmarks.{part}").measure():
            figures.append(figure)
            if not arguments.json:
                print(figure.line(), flush=True)
    if arguments.json:
        machine = {"python": platform.python_version(), "system": platform.platform()}
        print(json.dumps({"machine": machine, "figures": [figure.as_dict() for figure in figures]}, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
