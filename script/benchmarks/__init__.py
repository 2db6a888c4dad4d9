"""The benchmarks of `script/bench`, one module for each part.

Each gives `Figure`s together with those of an alternative. There are no tests, because figures depend on the
machine.
"""
