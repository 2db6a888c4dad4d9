"""`script/package`: makes dist/failover_lab.zip for `spark-submit --py-files`."""

from __future__ import annotations

import sys
from pathlib import Path

from spark_reports.packaging import ROOT, make_package, package_files

__all__ = ["ROOT", "make_package", "package_files"]


def main() -> int:
    target = make_package(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "failover_lab.zip")
    print(target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
