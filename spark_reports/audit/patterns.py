"""Regular expressions of a mapping, matched by RE2 in linear time.

Rules: no expression of a visitor reaches Java's or Python's own engine, which try combinations one after the
other and so may never end. Arrow has RE2 built in (`pyarrow.compute`), so that every worker with pyarrow can
match. Length, groups, characters of a line and processor time have limits. A file's path is matched in the
driver. Of this package a worker needs nothing: this module is sent to it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

PATTERN_CHARACTERS_MOST = 2_000
"""The longest expression. The longest ready one has a third of that."""
GROUPS_MOST = 30
"""The most named groups: the canonical columns, and as many again that `columns` puts together."""
LINE_CHARACTERS_MOST = 16_384
"""The longest line that is matched. A longer one is unreadable; loggers cut lines at 8 to 16 KiB."""
PATH_CHARACTERS_MOST = 4_096
"""The longest path that is matched, Linux's PATH_MAX."""
SECONDS_FREE, SECONDS_PER_MIB = 5, 2
"""Processor time of a task for matching. Usual expressions need 0.02 to 0.1 s per MiB."""
BYTE_ORDER_MARK = "\ufeff"
SLICE_BYTES = 1 << 17
"""Bytes of lines between two looks at the processor time."""
LONG_LINE = f"its line has more than {LINE_CHARACTERS_MOST:,} characters"
OTHER_LINE = "its line does not match the pattern"
"""The problem of a row that is no row of the log; those are counted apart, not as unreadable."""
TOO_SLOW_MARK = "audit pattern that takes too long"

_ADVICE = {
    "invalid perl operator: (?=": "RE2 has no look-ahead; match the text itself, outside of the group",
    "invalid perl operator: (?!": "RE2 has no look-ahead; list the characters that are allowed instead",
    "invalid perl operator: (?<": "RE2 has no look-behind; match the text itself, outside of the group",
    "invalid perl operator: (?>": "RE2 needs no atomic groups, it never goes back; write (?:…)",
    "invalid perl operator: (?(": "RE2 has no conditions; write alternatives with |",
    "invalid escape sequence: \\": "RE2 has no back references, and no \\Z, \\K or \\R; write the text again",
    "bad repetition operator": "RE2 needs no possessive repetitions, it never goes back; write one of * + ?",
    "invalid repetition size": "at most 1,000 repetitions are allowed, of nested ones the product",
    "pattern too large": "it compiles to more than RE2's 8 MiB; repeat fewer, or narrower classes",
    "unnamed groups": "name each group, (?P<ts>…), or write (?:…)",
}


def problem_of(pattern: str) -> tuple[str, str] | None:
    """What is wrong with an expression of lines, and what would be right; None for a good one."""
    wrong = _too_long(pattern) or _not_known(pattern)
    if wrong:
        return wrong
    names = groups_of(pattern)
    if not names:
        return "has no named group", "name what it finds: (?P<ts>…), (?P<kind>…), (?P<message_id>…)"
    if len(names) > GROUPS_MOST:
        return f"has {len(names)} groups", f"at most {GROUPS_MOST} are allowed"
    twice = sorted({name for name in names if names.count(name) > 1})
    return (f"has the group {twice[0]} twice", "give each group its own name") if twice else None


def path_problem_of(pattern: str) -> tuple[str, str] | None:
    """The same for an expression of paths, which has one group, with or without a name."""
    wrong = _too_long(pattern)
    if wrong:
        return wrong
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return _wrong(error)
    if not _has_groups(pattern, 1):
        return "has no group", "write one group in parentheses"
    return (
        ("has several groups", "write one group, and (?:…) for the others")
        if _has_groups(pattern, 2)
        else None
    )


def groups_of(pattern: str) -> list[str]:
    """The names of an expression's groups, in order."""
    return [field.name for field in pc.extract_regex(pa.array([], pa.string()), pattern).type]


def of_paths(pattern: str, paths: Sequence[str]) -> list[str | None]:
    """What the group of an expression finds in each path; None where it finds nothing."""
    texts = pa.array([path[-PATH_CHARACTERS_MOST:] for path in paths], pa.string())
    found = pc.match_substring_regex(texts, pattern)
    made = pc.replace_substring_regex(texts, pattern=_around(pattern), replacement=r"\1")
    return [text or None if yes else None for text, yes in zip(made.to_pylist(), found.to_pylist())]


def _around(pattern: str) -> str:
    """The expression of a whole text in which the first match of `pattern` is."""
    return f"(?s)^.*?(?:{pattern}).*$"


def _has_groups(pattern: str, count: int) -> bool:
    try:
        pc.replace_substring_regex(pa.array([""]), pattern=_around(pattern), replacement=rf"\{count}")
    except pa.ArrowInvalid:
        return False
    return True


def _too_long(pattern: str) -> tuple[str, str] | None:
    if len(pattern) <= PATTERN_CHARACTERS_MOST:
        return None
    return f"has {len(pattern):,} characters", f"at most {PATTERN_CHARACTERS_MOST:,} are allowed"


def _not_known(pattern: str) -> tuple[str, str] | None:
    try:
        groups_of(pattern)
    except pa.ArrowInvalid as error:
        return _wrong(error)
    return None


def _wrong(error: pa.ArrowInvalid) -> tuple[str, str]:
    reason = str(error).removeprefix("Invalid regular expression: ").removeprefix("Regular expression ")
    advice = next((words for mark, words in _ADVICE.items() if mark in reason), "write one that RE2 knows")
    return f"is no regular expression of RE2: {reason}", advice


class LineScan:
    """Matches lines inside a task: pass it to `mapInArrow` of a frame with `value` and `file`.

    It adds `problem`, and a column for each group, null where a group found nothing. A line that the pattern
    does not match is tried once more without what `before` matches, and is left out if it matches `left_out`:
    what tools such as kubectl print is no line of the log.
    """

    def __init__(self, pattern: str, before: str = "", left_out: str = "") -> None:
        self.pattern, self.before, self.left_out = pattern, before, left_out
        self.groups = groups_of(pattern)

    @property
    def schema(self) -> str:
        """The columns of the result, as Spark's DDL."""
        return ", ".join(f"`{name}` string" for name in ("value", "file", "problem", *self.columns))

    @property
    def columns(self) -> list[str]:
        """The column of each group; the prefix keeps it apart from the others."""
        return [f"group_{name}" for name in self.groups]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        used, allowed = 0.0, float(SECONDS_FREE)
        for batch in batches:
            lines = max(1, SLICE_BYTES * batch.num_rows // max(1, batch.nbytes))
            for start in range(0, batch.num_rows, lines):
                piece = batch.slice(start, lines)
                began = time.thread_time()  # of the processor: a busy machine makes no expression slow
                made = self._matched(piece)
                used += time.thread_time() - began
                allowed += SECONDS_PER_MIB * piece.nbytes / (1 << 20)
                if used > allowed:
                    raise ValueError(
                        f"{TOO_SLOW_MARK}: {used:.0f} s of processor time for a few lines; repeat narrower "
                        f"classes, and fewer times"
                    )
                yield made

    def _matched(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        value = batch.column("value").cast(pa.string())
        value = pc.if_else(pc.starts_with(value, BYTE_ORDER_MARK), pc.utf8_slice_codeunits(value, 1), value)
        long = pc.greater(pc.utf8_length(value), LINE_CHARACTERS_MOST)
        found = self._extracted(value, pc.invert(long))
        other = pc.and_(pc.is_null(found), pc.invert(long))
        if self.before and pc.any(other).as_py():
            bare = pc.replace_substring_regex(value, pattern=self.before, replacement="")
            found = pc.if_else(other, self._extracted(bare, pc.and_(other, pc.not_equal(bare, value))), found)
            other = pc.and_(pc.is_null(found), pc.invert(long))
        problem = pc.if_else(long, LONG_LINE, pc.if_else(other, OTHER_LINE, None))
        parts = [pc.struct_field(found, [number]) for number in range(len(self.groups))]
        texts = [pc.if_else(pc.equal(part, ""), pa.scalar(None, pa.string()), part) for part in parts]
        names = ["value", "file", "problem", *self.columns]
        columns = [value, batch.column("file").cast(pa.string()), problem.cast(pa.string()), *texts]
        made = pa.RecordBatch.from_arrays(columns, names=names)
        if not self.left_out or not pc.any(other).as_py():
            return made
        return made.filter(pc.invert(pc.and_(other, pc.match_substring_regex(value, self.left_out))))

    def _extracted(self, value: pa.Array, wanted: pa.Array) -> pa.Array:
        """The groups of the wanted lines, null for the others."""
        return pc.extract_regex(pc.if_else(wanted, value, pa.scalar(None, pa.string())), self.pattern)


cloudpickle.register_pickle_by_value(sys.modules[__name__])
