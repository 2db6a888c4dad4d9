"""A swarm on Spark: random settings and faults on built-in scenarios, and the checks of every run.

`simulator.experiments.swarm_run` decides what a seed runs; docs/experiments.md describes command and files.
"""
