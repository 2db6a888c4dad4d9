"""Entry point for spark-submit, which runs a file and not a package's `__main__`.

`spark-submit --py-files dist/failover_lab.zip spark_reports/submit.py failover --trace PATH… --out DIR`
"""

import sys
from pathlib import Path

# A script's own folder is first on the path, so this package's `html` would shadow Python's.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]

from spark_reports.cli import main  # noqa: E402

if __name__ == "__main__":
    code = main()
    if code:
        raise SystemExit(code)
