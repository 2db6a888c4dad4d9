"""Comparison of real brokers with the simulator: statistics of paired runs, report, JSON and table.

The input is what `script/real-brokers` writes: a folder of jobs, each with `pairs.jsonl`. Nothing here
starts Spark or Java.
"""
