"""Named tuples of messages, built and restored without the Python frame of their constructor.

The constructor that `NamedTuple` generates is a Python function. `tuple.__new__` takes less than half of its
time, and unpickling calls one of them for each object of a checkpoint.
"""

from __future__ import annotations

from typing import Any

new_tuple = tuple.__new__
"""`new_tuple(Kind, fields)` is `Kind(*fields)`."""


def reduce_tuple(item: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `__reduce__` of such a named tuple returns."""
    return new_tuple, (type(item), tuple(item))
