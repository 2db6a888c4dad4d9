"""A scenario's text as a tree of values with their line and column.

Rules: only plain YAML 1.2 is read: mappings, lists, text, whole numbers, decimals, true, false, nothing.
Anchors, merges, tags and repeated keys are problems, so that the text is read as it is written and a small
file cannot unfold into a large one. An anchor is one problem, however often it is used. Its value is still
read, so that nothing else seems to be missing. Overrides (`--set a.b.c=value`) change the tree before
anything is checked.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

# --- the problems of a scenario, all at once, each with its place and what would be right
#
# Rules: reading never stops at the first problem. A problem states what is wrong and, after it, what would
# be right. The first `MOST_PROBLEMS` are kept with their texts, the others are counted. Counting is cheap,
# so the answer for a text with thousands of problems is as fast and as short as any other.


LISTED_CHOICES = 40
"""The most names printed in "one of …"; with more, only the closest is suggested."""

MOST_PROBLEMS = 100
"""The most problems listed: more than one fixes at once."""

LONGEST_WHAT, LONGEST_RIGHT = 300, 1_200
"""The most characters of each text of a problem; what would be right may list forty names.

A quoted value is cut off.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    `line` and `column` count from 1; both are None for what was not read from a file (`--set`).
    """

    source: str
    line: int | None
    column: int | None
    path: str  # dotted path into the scenario, "" for the whole of it
    what: str
    right: str
    # bad-value | unknown-name | unknown-argument | missing-argument | unknown-command
    code: str = "bad-value"

    def __post_init__(self) -> None:
        for name, most in (
            ("source", LONGEST_WHAT),
            ("path", LONGEST_WHAT),
            ("what", LONGEST_WHAT),
            ("right", LONGEST_RIGHT),
        ):
            text = str(getattr(self, name))
            object.__setattr__(self, name, text if len(text) <= most else f"{text[: most - 1]}…")

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"
        subject = f"{self.path}: " if self.path else ""
        right = f"; {self.right}" if self.right else ""
        return f"{place}: {subject}{self.what}{right}"


class Problems:
    """The problems of one reading, in the order in which they were found.

    Its length counts all of them, also those that are not kept.
    """

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.kept: list[Problem] = []
        self.more = 0
        self.extend(problems)

    def __len__(self) -> int:
        return len(self.kept) + self.more

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.kept)

    @property
    def full(self) -> bool:
        """Whether the next problem is only counted."""
        return len(self.kept) >= MOST_PROBLEMS

    def append(self, problem: Problem) -> None:
        if self.full:
            self.more += 1
        else:
            self.kept.append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)
        self.more += getattr(problems, "more", 0)


class ScenarioError(ValueError):
    """The scenario cannot be used, and nothing was run.

    `problems` are the first `MOST_PROBLEMS` in the order of the file. When there are more, a last one gives
    the number of the others. `count` is the number of all.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = problems if isinstance(problems, Problems) else Problems(problems)
        assert found.kept, "a ScenarioError needs at least one problem"
        self.count, self.more, self.kept = len(found), found.more, tuple(found)
        last = (
            (
                Problem(
                    found.kept[0].source,
                    None,
                    None,
                    "",
                    f"and {found.more:,} more problems",
                    "fix those above first",
                ),
            )
            if found.more
            else ()
        )
        self.problems: tuple[Problem, ...] = (*found, *last)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Wrong(Exception):
    """Raised inside the reader for one value; a caller that has its place turns it into a Problem."""

    def __init__(self, what: str, right: str | Suggestion, code: str = "bad-value") -> None:
        super().__init__(what)
        self.what, self.right, self.code = what, right, code


class Suggestion:
    """The names that would be right instead of a word.

    They are searched for only when printed: with thousands of problems most never are.
    """

    __slots__ = ("_known", "_word")

    def __init__(self, word: object, known: Iterable[str]) -> None:
        self._word, self._known = word, tuple(known)

    def __str__(self) -> str:
        names = sorted(self._known)
        if not names:
            return "none is declared"
        close = difflib.get_close_matches(str(self._word)[:LONGEST_WHAT], names, n=1, cutoff=0.6)
        if close:
            return f"did you mean {close[0]}?"
        if len(names) == 1:
            return f"the only one is {names[0]}"
        return (
            "one of " + ", ".join(names)
            if len(names) <= LISTED_CHOICES
            else f"{len(names)} names are known, none is close"
        )


def suggestion(word: object, known: Iterable[str]) -> Suggestion:
    """The suggestion for `word`: the closest known name, or all of them when they are few."""
    return Suggestion(word, known)


def read_all(*readers: Callable[[], Any]) -> list[Any]:
    """The results of all readers, in order; raises ScenarioError with the problems of all of them."""
    given: list[Any] = []
    problems = Problems()
    for read in readers:
        try:
            given.append(read())
        except ScenarioError as error:
            problems.extend(error.kept)
            problems.more += error.more
    if problems:
        raise ScenarioError(problems)
    return given


def read_text_file(path: Path) -> str:
    """The text of a file. Raises ScenarioError."""
    if path.is_dir():
        raise _unreadable(path, "is a folder", "name a built-in scenario or a .yaml file")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path, "is not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}", "name a readable file") from None


def _unreadable(path: Path, what: str, right: str) -> ScenarioError:
    return ScenarioError([Problem(str(path), None, None, "", what, right)])


LARGEST_TEXT_CHARACTERS = 393_216
"""The most characters of a scenario file: a thousand consumers with every default have 340,000."""
DEEPEST_NESTING = 12
"""The most levels of mappings and lists; the format itself needs six."""
MOST_VALUES = 50_000
"""The most keys and values of a file, counted while it is read.

Reading one takes about 50 us. A scenario of a thousand consumers has 40,000.
"""
MOST_MEMBERS = 10_000
"""The most entries of one mapping or list: as many as a client's `at`, the longest list of the format."""
MOST_OPEN_BRACKETS = 64
"""The most brackets open at once anywhere in the text, quoted or not.

The time of the YAML library grows with the square of it.
"""
LONGEST_KEY_CHARACTERS = 200
"""The most characters of a key: a name has 64, the longest path of an expectation under 100."""
LONGEST_NUMBER_CHARACTERS = 18
"""The most digits of a whole number: no integer column would hold a longer one."""

_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "float": float,
    "timestamp": str,
}
NOTHING = object()
"""The value of an override that removes its key."""
EVERY = "*"
"""The step of an override's path that stands for every member of a mapping."""
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d{1,9}\])*)")


@dataclass(slots=True)
class Node:
    """A value with its place in the text.

    `value` is a scalar, a list of nodes or a dict of nodes. A member of a mapping also has its key's place.
    Places count from 1; they are None when the value came from the command line.
    """

    value: Any
    source: str
    line: int | None = None
    column: int | None = None
    key_line: int | None = None
    key_column: int | None = None
    text: str | None = None  # a scalar as it is written: the name 001 is not the number 1

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value

    def problem(self, path: str, what: str, right: str, at_key: bool = False) -> Problem:
        if at_key and self.key_line is not None:
            return Problem(self.source, self.key_line, self.key_column, path, what, right)
        return Problem(self.source, self.line, self.column, path, what, right)


def node_of(value: Any, source: str, depth: int = 0) -> Node:
    """A tree of plain values that were not read from a file.

    Levels that are too deep are cut off, and refused later.
    """
    if depth > DEEPEST_NESTING:
        return Node(None, source)
    if isinstance(value, dict):
        return Node({str(key): node_of(item, source, depth + 1) for key, item in value.items()}, source)
    if isinstance(value, (list, tuple)):
        return Node([node_of(item, source, depth + 1) for item in value], source)
    return Node(value, source, text=str(value))


def read_tree(text: str, source: str) -> tuple[Node, list[Problem]]:
    """The tree of a YAML text, and its problems as YAML.

    Raises ScenarioError when there is no tree at all.
    """
    if len(text) > LARGEST_TEXT_CHARACTERS:
        raise _no_tree(
            source,
            None,
            f"the text has {len(text)} characters",
            f"at most {LARGEST_TEXT_CHARACTERS} are read",
        )
    if _most_open_brackets(text) > MOST_OPEN_BRACKETS:
        raise _no_tree(
            source,
            None,
            f"nested too deeply: more than {MOST_OPEN_BRACKETS} brackets are open at once",
            f"at most {DEEPEST_NESTING} levels are read",
        )
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth, yaml.Composer = DEEPEST_NESTING, _BoundedComposer
    try:
        root = yaml.compose(text)
    except _TooMuch as error:
        raise _no_tree(source, error.problem_mark, error.problem, f"at most {error.most} are read") from None
    except MaxDepthExceededError as error:
        raise _no_tree(
            source, error.problem_mark, "nested too deeply", f"at most {DEEPEST_NESTING} levels are read"
        ) from None
    except MarkedYAMLError as error:
        words = " ".join(part for part in (error.context, error.problem) if part)
        raise _no_tree(source, error.problem_mark or error.context_mark, f"not YAML: {words}", "") from None
    except YAMLError as error:
        raise _no_tree(source, None, f"not YAML: {str(error).splitlines()[0]}", "") from None
    if root is None:
        raise _no_tree(source, None, "the text is empty", "a scenario begins with `format: 1`")
    problems: list[Problem] = []
    return _convert(root, source, "", _Converting([], problems, {}, [0, 0])), problems


class _TooMuch(MarkedYAMLError):
    """The text has more than the limit `most`."""

    def __init__(self, words: str, mark: Any, most: int) -> None:
        super().__init__(problem=words, problem_mark=mark)
        self.most = most


class _BoundedComposer(Composer):
    """Composes nodes up to a limit, so that a large text is refused before it has been read."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False  # an anchor is a problem in any case
        self._count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._count += 1
        if self._count > MOST_VALUES:
            raise _TooMuch("too many keys and values", self.parser.peek_event().start_mark, MOST_VALUES)
        if parent is not None and len(parent.value) >= MOST_MEMBERS:
            raise _TooMuch(
                "too many entries in one mapping or list", self.parser.peek_event().start_mark, MOST_MEMBERS
            )
        return super().compose_node(parent, index)


def _most_open_brackets(text: str) -> int:
    """The greatest number of brackets open at once, counted up to just above the limit."""
    depth = most = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        most = max(most, depth)
        if most > MOST_OPEN_BRACKETS:
            break
    return most


def apply_overrides(root: Node, overrides: Sequence[tuple[str, str]]) -> list[Problem]:
    """Set each `path=value` in the tree and return the problems.

    The value is read as YAML; an empty value removes the key. A step `*` stands for every member of a
    mapping.
    """
    problems: list[Problem] = []
    for path, text in overrides:
        source = f"--set {path}={text}"
        try:
            value, found = read_tree(text, source) if text.strip() else (Node(NOTHING, source), [])
        except ScenarioError as error:
            problems.extend(error.kept)
            continue
        problems.extend(found)
        _forget_places(value)
        steps = _steps(path)
        places = _without_wildcards(root, steps)
        if steps and not places:
            problems.append(value.problem(path, "nothing is there", "* stands for the members of a mapping"))
        for place in places:
            own = value if value.value is NOTHING else deepcopy(value)
            problem = _put(root, path, place, own)
            if problem is not None:
                problems.append(problem)
    return problems


def _without_wildcards(root: Node, steps: list[str | int]) -> list[list[str | int]]:
    """The paths that a path with steps `*` stands for, in the order of the file."""
    found: list[tuple[list[str | int], Node | None]] = [([], root)]
    for step in steps:
        longer: list[tuple[list[str | int], Node | None]] = []
        for path, node in found:
            members = node.value if node is not None else None
            if isinstance(members, list):
                item = members[step] if isinstance(step, int) and step < len(members) else None
                longer.append(([*path, step], item))
                continue
            members = members if isinstance(members, dict) else {}
            names = list(members) if step == EVERY else [step]
            longer += [([*path, name], members.get(name)) for name in names]
        found = longer
    return [path for path, _ in found]


def _no_tree(source: str, mark: Any, what: str, right: str) -> ScenarioError:
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    return ScenarioError([Problem(source, line, column, "", what, right)])


class _Converting(NamedTuple):
    """The state of a conversion: enclosing nodes, problems so far, reported anchors, amount read."""

    above: list[Any]
    problems: list[Problem]
    reported: dict[str, bool]
    read: list[int]  # nodes, and characters of scalars

    def inside(self, node: Any) -> _Converting:
        return self._replace(above=[*self.above, node])


def _convert(node: Any, source: str, path: str, under_way: _Converting) -> Node:
    made = Node(None, source, node.start_mark.line + 1, node.start_mark.column + 1)
    under_way.read[0] += 1
    under_way.read[1] += len(node.value) if node.id == "scalar" else 0
    if under_way.read[0] > MOST_VALUES or under_way.read[1] > LARGEST_TEXT_CHARACTERS:
        raise _no_tree(
            source, node.start_mark, "aliases unfold into too much", "write plain YAML, without anchors"
        )
    if node.anchor is not None and node.anchor not in under_way.reported:
        under_way.reported[node.anchor] = True
        under_way.problems.append(
            made.problem(path, f"anchor &{node.anchor}", "write the value out where it is needed")
        )
    if len(under_way.above) >= DEEPEST_NESTING:
        if node.anchor is None:
            under_way.problems.append(
                made.problem(path, "nested too deeply", f"at most {DEEPEST_NESTING} levels are read")
            )
    elif node.id == "mapping":
        made.value = _convert_mapping(node, source, path, under_way)
    elif node.id == "sequence":
        made.value = [
            _convert(item, source, f"{path}[{index}]", under_way.inside(node))
            for index, item in enumerate(node.value)
        ]
    else:
        made.text = node.value
        made.value = _convert_scalar(node, made, path, under_way.problems)
    return made


def _convert_mapping(node: Any, source: str, path: str, under_way: _Converting) -> dict[str, Node]:
    members: dict[str, Node] = {}
    merged: list[Any] = []
    for key_node, value_node in node.value:
        line, column = key_node.start_mark.line + 1, key_node.start_mark.column + 1
        key = key_node.value if key_node.id == "scalar" else None
        if key is not None and len(key) > LONGEST_KEY_CHARACTERS:
            under_way.problems.append(
                Problem(
                    source,
                    line,
                    column,
                    path,
                    f'the key "{key[:40]}…" has {len(key)} characters',
                    f"at most {LONGEST_KEY_CHARACTERS}",
                )
            )
            continue
        inner = f"{path}.{key}" if path else str(key)
        if key is None or key == "<<":
            under_way.problems.append(
                Problem(source, line, column, path, "a key is plain text", "write each key out")
            )
            merged += [] if key is None else value_node.value if value_node.id == "sequence" else [value_node]
            continue
        if key in members:
            under_way.problems.append(
                Problem(source, line, column, inner, "is given twice", "keep one of them")
            )
            continue
        member = _convert(value_node, source, inner, under_way.inside(node))
        member.key_line, member.key_column = line, column
        members[key] = member
    for other in merged:
        found = _convert(other, source, path, under_way.inside(node)).value
        for key, member in found.items() if isinstance(found, dict) else ():
            members.setdefault(key, member)
    return members


def _convert_scalar(node: Any, made: Node, path: str, problems: list[Problem]) -> Any:
    """The scalar's value, or its text where the value is a problem, so that other problems quote the text."""
    tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
    if tag == "int":
        text = node.value.replace("_", "")
        if len(text) > LONGEST_NUMBER_CHARACTERS:
            problems.append(made.problem(path, "a number this long", "write fewer digits"))
            return f"{text[:LONGEST_NUMBER_CHARACTERS]}…"
        return _value(
            lambda _: int(text) if re.fullmatch(r"[-+]?\d+", text) else int(text, 0),
            node,
            made,
            path,
            problems,
        )
    if tag == "float" and not re.search(r"\d", node.value):
        problems.append(made.problem(path, f"{node.value} is not a number here", "write a finite number"))
        return node.value
    if tag not in _SCALARS:
        problems.append(made.problem(path, f"tag {node.tag}", "write a plain value"))
        return node.value
    return _value(_SCALARS[tag], node, made, path, problems)


def _value(read: Callable[[str], Any], node: Any, made: Node, path: str, problems: list[Problem]) -> Any:
    """The result of `read` for a scalar; its tag may not fit its text (`!!int 0xZZ`)."""
    try:
        return read(node.value)
    except ValueError:
        problems.append(
            made.problem(
                path, f'"{node.value[:40]}" is not a value of its tag {node.tag}', "write a plain value"
            )
        )
        return node.value


def _forget_places(node: Node) -> None:
    node.line = node.column = node.key_line = node.key_column = None
    members = (
        node.value.values()
        if isinstance(node.value, dict)
        else node.value
        if isinstance(node.value, list)
        else ()
    )
    for member in members:
        _forget_places(member)


def _put(root: Node, path: str, steps: list[str | int], value: Node) -> Problem | None:
    """Set the value at the steps of `path`, creating missing mappings on the way."""
    if not steps:
        right = "write the path with dots, such as clusters.us-east.settings.x, and [0] for an item of a list"
        return value.problem(path, "is not a path", right)
    place = root
    for depth, step in enumerate(steps):
        last = depth == len(steps) - 1
        if place.value is None and isinstance(step, str):
            place.value = {}
        if isinstance(step, str) and isinstance(place.value, dict):
            if last and value.value is NOTHING:
                place.value.pop(step, None)
            elif last:
                place.value[step] = value
            else:
                place = place.value.setdefault(step, Node(None, value.source))
        elif isinstance(step, int) and isinstance(place.value, list) and step < len(place.value):
            if last and value.value is NOTHING:
                del place.value[step]
            elif last:
                place.value[step] = value
            else:
                place = place.value[step]
        else:
            return value.problem(
                path, f"nothing to set at step {step!r}", "only mappings have keys, only lists have [numbers]"
            )
    return None


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    for part in path.split("."):
        match = _STEP.fullmatch(part.strip())
        if match is None:
            return []
        steps.append(match[1].strip())
        steps.extend(int(number) for number in re.findall(r"\d+", match[2]))
    return steps if len(steps) <= DEEPEST_NESTING else []
