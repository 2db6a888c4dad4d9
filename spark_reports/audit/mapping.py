"""The mapping file: which column of a log is which canonical column, constants, and time unit.

Rules: YAML, read completely before anything runs; every problem is reported at once with line and column.
Without `columns` they have their canonical names, or those of the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from simulator.scenarios import Node, Problem, Problems, ScenarioError, read_tree, suggestion
from spark_reports.audit.columns import COLUMNS, KIND_NAMES, KINDS, UNITS
from spark_reports.audit.patterns import groups_of, path_problem_of, problem_of

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
