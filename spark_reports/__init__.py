"""Reports over trace files, made by Spark on any master.

Rules: reads trace files and the simulator's Python API, never Django; transforms are pure frame functions on
the DataFrame API, so that the same code runs on classic Spark and on Spark Connect; only small aggregates
reach the driver.
"""
