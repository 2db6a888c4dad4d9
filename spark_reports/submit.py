"""For spark-submit, which runs a file and not a package's `__main__`:

`spark-submit --py-files dist/failover_lab.zip spark_reports/submit.py failover --trace PATH… --out DIR`
"""

from spark_reports.cli import main

if __name__ == "__main__":
    code = main()
    if code:
        raise SystemExit(code)
