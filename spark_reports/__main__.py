"""`python -m spark_reports failover --trace PATH… --out DIR [--master URL]`."""

from spark_reports.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
