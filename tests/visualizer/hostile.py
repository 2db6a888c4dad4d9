"""Hostile values for every input of the site, shared by the generated tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

HOSTILE_TEXTS = (
    "",
    "\0",
    "\ud800",
    "a\udfffb",
    "=1+1",
    "../../etc/passwd",
    "<script>",
    "٣",
    "-1",
    "1e9",
    "9" * 4_300,
    "9" * 4_301,
    "x" * 100_000,
    "a/b/c",
    "%00",
    "{}",
    "'; --",
)
HOSTILE_NUMBERS = (
    -1,
    0,
    1,
    7,
    8,
    9,
    511,
    512,
    2**24,
    2**31,
    2**32 - 1,
    2**52,
    2**53,
    2**63,
    2**64,
    10**100,
    10**4_299,
)

texts = st.sampled_from(HOSTILE_TEXTS) | st.text(max_size=30)
numbers = st.sampled_from(HOSTILE_NUMBERS) | st.integers(0, 200) | st.integers()
values = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)


def arguments_of(known: dict[str, Any], names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of a question (`visualizer.questions.question`): mostly of the right type, so that they
    get far; in and out of bounds, existing and missing.
    """
    by_type = {int: numbers, bool: st.booleans(), str: st.sampled_from(names) | texts}

    def of(argument: Any) -> st.SearchStrategy[Any]:
        right = by_type[argument.kind]
        if argument.many:
            right = st.lists(right, max_size=argument.many + 1)
        elif argument.kind is int:
            right = right | st.integers(argument.low, argument.high)
        return right | st.none() | values if argument.optional else right | right | right | values

    return st.fixed_dictionaries({name: of(argument) for name, argument in known.items()})
