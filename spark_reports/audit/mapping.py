"""The mapping file: which column of a log is which canonical column, constants, and time unit.

Rules: YAML, read completely before anything runs; every problem is reported at once with line and column.
Without `columns` they have their canonical names, or those of the format.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from simulator.scenarios import Node, Problem, Problems, ScenarioError, read_tree, suggestion
from spark_reports.audit.columns import COLUMNS, KIND_NAMES, KINDS, UNITS

# --- regular expressions of a mapping, matched by RE2 in linear time
#
# Rules: no expression of a visitor reaches Java's or Python's own engine, which try combinations one after
# the other and so may never end. Arrow has RE2 built in (`pyarrow.compute`), so that every worker with
# pyarrow can match. Length, groups, characters of a line and processor time have limits. A file's path is
# matched in the driver. Of this package a worker needs nothing: this module is sent to it.


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


AUTO, TEXT = "auto", "text"
IGNORE = "ignore"
"""In `kinds`: rows that are left out."""
MESSAGE_ID, POSITION = "message_id", "position"
PER_CLUSTER, SHARED = "per-cluster", "shared"
SEPARATORS = {MESSAGE_ID: "/", POSITION: ":"}
"""What joins the columns of a value that is made of several."""
PARTS_MOST = 8
FORMAT_LETTERS = tuple("yMdDHhmsSaXxZzV")
"""Letters of a time's format: those that Spark reads of Java's `DateTimeFormatter`."""
FORMAT_CHARS_MOST = 100
FILE_BYTES_MOST = 1_000_000
"""The largest mapping file; one has a few hundred bytes."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """How a log's columns become canonical ones.

    `positions` says whether a position is the same message in every cluster. `complete` declares that the log
    has every delivery from its first to its last instant, `sampled` that it has only some. `parts` are the
    columns of a value that is made of several; `columns` then has their list as text. With a `pattern` the
    columns of a log are the expression's groups; it is matched with each line, or with the values of `fields`
    in the line's JSON, separated by tabs.
    """

    columns: dict[str, str] = field(default_factory=lambda: {name: name for name in COLUMNS})
    constants: dict[str, str] = field(default_factory=dict)
    from_path: dict[str, str] = field(default_factory=dict)
    pattern: str = ""
    fields: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    time_unit: str = AUTO
    identity: str = ""
    positions: str = PER_CLUSTER
    complete: bool = False
    sampled: bool = False
    delimiter: str = ","
    time_format: str = ""
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    given: bool = False

    def sources(self, known: str) -> tuple[str, ...]:
        """The columns of the log that make a canonical one."""
        return self.parts.get(known) or (self.columns[known],)


_CHOICES = {
    "time_unit": (AUTO, TEXT, *UNITS),
    "identity": (MESSAGE_ID, POSITION),
    "positions": (PER_CLUSTER, SHARED),
}
_FLAGS = ("complete", "sampled")
_TABLES = ("columns", "constants", "from_path", "kinds")
_KEYS = ("format", "mapping", *_TABLES, "pattern", "fields", *_CHOICES, *_FLAGS, "delimiter", "time_format")
READY = (
    "pulsar-client-consume",
    "kafka-console-consumer",
    "log4j",
    "logback",
    "emqx-trace",
    "emqx-trace-json",
)
"""The ready mappings: files of `ready/`, whose first line says what each is for."""


def ready_text(name: str) -> str:
    """A ready mapping as YAML."""
    return files("spark_reports.audit").joinpath("ready", f"{name}.yaml").read_text(encoding="utf-8")


def ready_words(name: str) -> str:
    """What a ready mapping is for."""
    return ready_text(name).partition("\n")[0].removeprefix("# ")


def read_mapping(path: Path) -> Mapping:
    """The mapping of a file. Raises ScenarioError with every problem, OSError when it cannot be read."""
    if path.stat().st_size > FILE_BYTES_MOST:
        raise _problem(
            str(path), f"the file has {path.stat().st_size:,} bytes", f"at most {FILE_BYTES_MOST:,} are read"
        )
    return mapping_of(path.read_text(encoding="utf-8", errors="replace"), str(path))


def mapping_of(text: str, source: str) -> Mapping:
    """The mapping of a YAML text; `source` names it in problems. Raises ScenarioError."""
    if not text.strip():
        raise _problem(source, "the mapping is empty", "it begins with `format: 1`")
    root, found = read_tree(text, source)
    reading = _Reading(Problems(found))
    mapping = reading.mapping(root)
    if reading.problems:
        raise ScenarioError(reading.problems)
    return mapping


def _problem(source: str, what: str, right: str) -> ScenarioError:
    return ScenarioError([Problem(source, None, None, "", what, right)])


class _Reading:
    """One reading of one mapping; `problems` grows."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.parts: dict[str, tuple[str, ...]] = {}

    def mapping(self, root: Node) -> Mapping:
        if not isinstance(root.value, dict):
            self._fail(root, "", "is not a mapping", "write `format: 1` and `columns:`")
            return Mapping()
        members: dict[str, Node] = root.value
        self._known(members, _KEYS, "")
        if "format" not in members:
            self._fail(root, "format", "is missing", "write `format: 1`")
        elif members["format"].value != 1:
            self._fail(members["format"], "format", f'"{members["format"].plain()}"', "the only format is 1")
        base = self._base(members)
        values: dict[str, Any] = {name: self._table(members, name) for name in _TABLES if name in members}
        for name, choices in _CHOICES.items():
            if name in members:
                values[name] = self._choice(members[name], name, choices)
        for name in _FLAGS:
            if name in members:
                values[name] = self._flag(members[name], name)
        if "delimiter" in members:
            values["delimiter"] = self._delimiter(members["delimiter"])
        if "time_format" in members:
            values["time_format"] = self._time_format(members["time_format"], members)
        if "pattern" in members:
            values["pattern"] = self._pattern(members["pattern"])
        if "fields" in members:
            values["fields"] = self._fields(members["fields"])
        if base:
            values = _upon(base, values)
        pattern = values.get("pattern", "")
        if "columns" not in values:
            others = {*values.get("constants", {}), *values.get("from_path", {})}
            known = groups_of(pattern) if pattern else COLUMNS
            values["columns"] = {name: name for name in COLUMNS if name in known and name not in others}
        mapping = Mapping(given="columns" in members or bool(pattern), **values)
        mapping.parts.update(self.parts)
        self._together(root, members, mapping)
        return mapping

    def _base(self, members: dict[str, Node]) -> Mapping | None:
        """The ready mapping that is named, if any."""
        if "mapping" not in members:
            return None
        name = self._choice(members["mapping"], "mapping", READY)
        return mapping_of(ready_text(name), name) if name in READY else None

    def _pattern(self, node: Node) -> str:
        pattern = (node.text or "").strip()
        wrong = problem_of(pattern)
        if wrong:
            self._fail(node, "pattern", *wrong)
        return "" if wrong else pattern

    def _fields(self, node: Node) -> tuple[str, ...]:
        """The names of the fields whose values a pattern is matched with."""
        names = tuple(item.text or "" for item in node.value) if isinstance(node.value, list) else ()
        if not 1 <= len(names) <= PARTS_MOST or not all(name.strip() for name in names):
            self._fail(node, "fields", "is no list of fields", f"write 1 to {PARTS_MOST} names")
        return names

    def _table(self, members: dict[str, Node], name: str) -> dict[str, str]:
        """The entries of one of the tables; values are texts."""
        node, checks = members[name], _CHECKS.get(name)
        if not isinstance(node.value, dict):
            self._fail(node, name, "is not a mapping", "write {name: value, …}")
            return {}
        if name != "kinds":
            self._known(node.value, COLUMNS, name)
        entries = {}
        for key, member in node.value.items():
            text = member.text if member.text is not None else ""
            if name == "columns" and isinstance(member.value, list):
                text = self._list(key, member)
            if not text.strip():
                self._fail(member, f"{name}.{key}", "is empty", "write one text")
            else:
                entries[key] = text
                wrong = checks(key, text) if checks else None
                if wrong:
                    self._fail(member, f"{name}.{key}", *wrong)
        return {key.lower(): text for key, text in entries.items()} if name == "kinds" else entries

    def _list(self, key: str, node: Node) -> str:
        """A value made of several columns, as text; the columns are in `parts`."""
        names = tuple(item.text or "" for item in node.value)
        if key not in SEPARATORS:
            self._fail(node, f"columns.{key}", "is a list", f"only {' and '.join(SEPARATORS)} may be one")
        elif not 1 <= len(names) <= PARTS_MOST or not all(name.strip() for name in names):
            self._fail(node, f"columns.{key}", "is no list of columns", f"write 1 to {PARTS_MOST} names")
        self.parts[key] = names
        return f"[{', '.join(names)}]"

    def _together(self, root: Node, members: dict[str, Node], mapping: Mapping) -> None:
        """Problems of several keys together."""
        sources = ("columns", "constants", "from_path")
        given = {name for source in sources for name in getattr(mapping, source)}
        if "pattern" in members and not mapping.pattern:
            return
        if "ts" not in mapping.columns and mapping.given:
            place = members.get("columns", members.get("pattern", root))
            self._fail(place, "columns.ts", "is missing", f"give it: {COLUMNS['ts']}")
        if mapping.pattern:
            self._groups(root, members, mapping)
        elif mapping.fields:
            right = "write a `pattern` for their values, or name them under columns"
            self._fail(members.get("fields", root), "fields", "need a pattern", right)
        if "kind" not in given:
            self._fail(
                root, "columns.kind", "is missing", "name its column, or write `constants: {kind: deliver}`"
            )
        if not {MESSAGE_ID, POSITION} & given:
            self._fail(root, "columns.message_id", "is missing", "name its column, or the one of position")
        if mapping.identity and mapping.identity not in given:
            self._fail(
                members["identity"], "identity", f"{mapping.identity} has no column", "name it under columns"
            )
        for name in COLUMNS:
            twice = [source for source in sources if name in getattr(mapping, source)]
            if len(twice) > 1:
                node = members[twice[-1]].value[name]
                self._fail(node, f"{twice[-1]}.{name}", f"is also in {twice[0]}", "keep one of them")

    def _groups(self, root: Node, members: dict[str, Node], mapping: Mapping) -> None:
        """Problems of columns that are no group of the pattern."""
        groups = groups_of(mapping.pattern)
        for name, column in ((known, one) for known in mapping.columns for one in mapping.sources(known)):
            if column not in groups:
                node = members["columns"].value[name] if "columns" in members else root
                right = f"its groups are {', '.join(groups)}"
                self._fail(node, f"columns.{name}", f'"{column}" is no group of the pattern', right)

    def _choice(self, node: Node, name: str, choices: tuple[str, ...]) -> str:
        if node.text not in choices:
            self._fail(
                node, name, f'"{node.plain()}" is not one of the choices', suggestion(node.text, choices)
            )
        return str(node.text)

    def _flag(self, node: Node, name: str) -> bool:
        if not isinstance(node.value, bool):
            self._fail(node, name, f'"{node.plain()}" is not true or false', "write true or false")
        return bool(node.value)

    def _delimiter(self, node: Node) -> str:
        text = {"\\t": "\t", "tab": "\t"}.get(str(node.value), str(node.value))
        if len(text) != 1:
            self._fail(node, "delimiter", f'"{node.value}" is not one character', 'write one, or "tab"')
        return text

    def _time_format(self, node: Node, members: dict[str, Node]) -> str:
        text = node.text or ""
        problem = format_problem(text)
        if problem:
            self._fail(node, "time_format", *problem)
        elif "time_unit" in members and members["time_unit"].text not in (AUTO, TEXT):
            self._fail(node, "time_format", "is for text, and time_unit names numbers", "keep one of them")
        return text

    def _known(self, members: dict[str, Node], known: Iterable[str], path: str) -> None:
        for name, node in members.items():
            if name not in known:
                inner = f"{path}.{name}" if path else name
                self._fail(node, inner, "unknown key", suggestion(name, known), at_key=True)

    def _fail(self, node: Node, path: str, what: str, right: object, at_key: bool = False) -> None:
        self.problems.append(node.problem(path, what, str(right), at_key))


def format_problem(text: str) -> tuple[str, str] | None:
    """What is wrong with the format of a time, and what would be right."""
    right = "write letters as log4j does, such as `yyyy-MM-dd HH:mm:ss,SSS`, with other text in single quotes"
    if "%" in text:
        return f'"{text}" has a %', right
    if len(text) > FORMAT_CHARS_MOST:
        return f"has {len(text):,} characters", f"at most {FORMAT_CHARS_MOST} are read"
    bare = re.sub(r"'[^']*'", "", text)
    wrong = sorted(set(re.findall(r"[A-Za-z'\[\]{}#]", bare)) - set(FORMAT_LETTERS))
    if wrong:
        return f'"{text}" has {", ".join(wrong)}', f"{right}; letters are {' '.join(FORMAT_LETTERS)}"
    runs = [found[0] for found in re.finditer(r"([A-Za-z])\1*", bare)]
    longest = {"y": 4, "M": 4, "S": 9, "D": 3, "z": 4, "Z": 5}
    if any(len(run) > longest.get(run[0], 3 if run[0] in "Xx" else 2) for run in runs):
        return f'"{text}" repeats a letter too often', right
    needed = ("y", "M" if "d" in bare else "D", "d" if "M" in bare else "D", "h" if "a" in bare else "H")
    absent = [letter for letter in needed if letter not in bare]
    return (f'"{text}" has no {absent[0]}', right) if absent else None


def _check_constant(name: str, text: str) -> tuple[str, object] | None:
    if name == "ts":
        return "an instant cannot be constant", "name its column"
    if name == "kind" and text.lower() not in KIND_NAMES:
        return f'"{text}" is no kind', suggestion(text, KINDS)
    return None


def _check_kind(_name: str, text: str) -> tuple[str, object] | None:
    known = (*KINDS, IGNORE)
    return None if text in known else (f'"{text}" is no kind', suggestion(text, known))


def _check_path(_name: str, text: str) -> tuple[str, object] | None:
    return path_problem_of(text)


def _upon(base: Mapping, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a mapping file upon those of a ready mapping; a column has its source from the file."""
    own = {name for table in ("columns", "constants", "from_path") for name in values.get(table, {})}
    made = {
        name: getattr(base, name)
        for name in (*_CHOICES, *_FLAGS, "delimiter", "time_format", "pattern", "fields")
    } | values
    for table in _TABLES:
        kept = {
            name: text for name, text in getattr(base, table).items() if name not in own or table == "kinds"
        }
        made[table] = kept | values.get(table, {})
    return made


_CHECKS: dict[str, Callable[[str, str], tuple[str, object] | None]] = {
    "constants": _check_constant,
    "kinds": _check_kind,
    "from_path": _check_path,
}
