"""Reports over trace files, made by Spark on any master.

Rules: the package uses trace files and the simulator's Python API, never Django. Transforms are pure frame
functions on the DataFrame API, so that the same code runs on classic Spark and on Spark Connect. Only small
aggregates reach the driver.
"""
