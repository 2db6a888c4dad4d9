"""Experiments on Spark: tasks simulate the runs, and their figures are kept as Parquet.

Rules: `task` and `results` are what executors import, so they import nothing but the simulator and pyarrow.
Every other module belongs to the driver. docs/experiments.md describes command and files.
"""
