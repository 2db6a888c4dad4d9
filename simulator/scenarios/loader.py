"""Loads a `Scenario` from text: reads every section, checks references, fills in defaults.

Rules: all problems are reported at once, in the order of the file. A scenario is returned only without any
problem. It contains its own canonical text, from which an equal scenario loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.protocols.declaration import NUMBER_COLUMNS, Declared
from simulator.protocols.declared import DECLARED
from simulator.scenarios import shape
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.canonical import STRATEGY_NAMES, canonical_text
from simulator.scenarios.commands import read_command
from simulator.scenarios.declarations import Check, Key, Section, belongs
from simulator.scenarios.kinds import BAD
from simulator.scenarios.model import CommandSpec, Distribution, LinkSpec, Scenario
from simulator.scenarios.names import check_name, check_namespace, parse_link
from simulator.scenarios.reader import Reader
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.shape import PROTOCOL_OF, KnownNames
from simulator.scenarios.tour import Events, read_tour
from simulator.scenarios.tree import (
    LARGEST_TEXT_CHARACTERS,
    MOST_VALUES,
    Node,
    Problem,
    Problems,
    ScenarioError,
    Wrong,
    apply_overrides,
    node_of,
    read_text_file,
    read_tree,
    suggestion,
)
from simulator.scenarios.units import format_duration, parse_duration

DEFAULT = "default"


def read_links(node: Node | None, reader: Reader) -> dict[tuple[str, str], LinkSpec]:
    """The LinkSpec of every ordered pair of clusters, without the patterns that are wrong.

    Rules: `default` applies to every pair, `a <-> b` to two, `a -> b` to one. The more specific pattern wins
    key by key, and of two equally specific ones the later. A pair without a pattern has `DEFAULT_LATENCY_US`
    and unlimited bandwidth.
    """
    if node is not None and node.value is not None and not isinstance(node.value, dict):
        reader.fail(node, "links", "is not a mapping", "write links: {default: {latency: 40ms}}")
        return {}
    keys = shape.link_keys()
    patterns = {} if node is None or node.value is None else node.value
    layers: tuple[list[tuple[Any, dict[str, Any]]], ...] = ([], [], [])  # default, both ways, one way
    for pattern, member in patterns.items():
        pairs = _pairs(pattern, member, reader)
        values = reader.members(member, keys, f"links.{pattern}")
        if pairs is not BAD and values is not BAD:
            layers[0 if pairs is None else 3 - len(pairs)].append((pairs, values))
    return _every_pair(reader.names.sites, layers)


def _pairs(pattern: str, member: Node, reader: Reader) -> Any:
    """The ordered pairs of a pattern, None for `default`."""
    if pattern == DEFAULT:
        return None
    path = f"links.{pattern}"
    try:
        pairs = parse_link(pattern)
    except Wrong as wrong:
        reader.fail(member, path, wrong.what, f"{wrong.right}, or default", at_key=True)
        return BAD
    unknown = [cluster for cluster in pairs[0] if cluster not in reader.names.sites]
    for cluster in unknown:
        right = suggestion(cluster, reader.names.sites)
        reader.fail(member, path, f'there is no cluster "{cluster}"', right, "unknown-name", at_key=True)
    return BAD if unknown else pairs


def _every_pair(clusters: tuple[str, ...], layers: Any) -> dict[tuple[str, str], LinkSpec]:
    links = {}
    for source in clusters:
        for target in clusters:
            if source == target:
                continue
            values: dict[str, Any] = {"latency": Distribution(value_us=shape.DEFAULT_LATENCY_US)}
            for layer in layers:
                for pairs, given in layer:
                    if pairs is None or (source, target) in pairs:
                        values |= given
            links[source, target] = LinkSpec(source, target, **values)
    return links


# --- the `expect` block: paths into the summary and their expected values
#
# Rules: an expectation is met when the values are equal, or when a number is inside a range [low, high],
# ends included. A list that is not two numbers must be equal as a list. A path that does not exist is a
# broken expectation, never a met one.


_STEP = r"[A-Za-z0-9_-]+(?:\[\d{1,9}\])*"
PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")
MOST_EXPECTATIONS = 1000


def read_comparison(node: Node | None, reader: Reader) -> dict[str, dict[str, Any]]:
    """The block `compare`: expectations by strategy, in the order of the file."""
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict):
        reader.fail(node, "compare", "is not a mapping", "write strategy: {path: value}")
        return {}
    found = {}
    for name, member in node.value.items():
        if name not in STRATEGY_NAMES:
            reader.fail(
                member,
                f"compare.{name}",
                "there is no such strategy",
                suggestion(name, STRATEGY_NAMES),
                at_key=True,
            )
        found[name] = read_expectations(member, reader, f"compare.{name}")
    return found


def read_expectations(node: Node | None, reader: Reader, block: str = "expect") -> dict[str, Any]:
    """The block as written, with its paths and ranges checked."""
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict) or len(node.value) > MOST_EXPECTATIONS:
        reader.fail(
            node,
            block,
            "is not a mapping of this size",
            f"write path: value, at most {MOST_EXPECTATIONS} times",
        )
        return {}
    for path, member in node.value.items():
        if not PATH.fullmatch(path):
            right = "write a path into the summary, such as failovers[0].duplicates"
            reader.fail(member, f"{block}.{path}", "is not a path", right, at_key=True)
        if isinstance(member.value, dict):
            reader.fail(member, f"{block}.{path}", "is a mapping", "name a path for each value")
        if _is_range(member.plain()) and member.plain()[0] > member.plain()[1]:
            reader.fail(member, f"{block}.{path}", "the range is empty", "write [low, high]")
    return node.plain()


def broken_expectations(expect: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    """One sentence for each expectation that the summary does not meet."""
    broken = []
    for path, wanted in expect.items():
        try:
            seen = value_at(summary, path)
        except LookupError as error:
            broken.append(f"{path}: expected {wanted!r}, but {error.args[0]}")
            continue
        if not meets(seen, wanted):
            broken.append(f"{path}: expected {wanted!r}, saw {seen!r}")
    return broken


def meets(seen: Any, wanted: Any) -> bool:
    if _is_range(wanted) and _is_number(seen):
        return wanted[0] <= seen <= wanted[1]
    return seen == wanted and isinstance(seen, bool) is isinstance(wanted, bool)


def value_at(summary: Mapping[str, Any], path: str) -> Any:
    """The value at a path. Raises LookupError with a sentence when there is none."""
    value: Any = summary
    walked = ""
    for part in path.split("."):
        name, *indexes = re.findall(r"[^\[\]]+", part)
        if not isinstance(value, Mapping) or name not in value:
            raise LookupError(f"there is no {name} in {walked or 'the summary'}")
        value, walked = value[name], f"{walked}.{name}" if walked else name
        for index in indexes:
            if not isinstance(value, list) or int(index) >= len(value):
                raise LookupError(f"there is no [{index}] in {walked}")
            value, walked = value[int(index)], f"{walked}[{index}]"
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_number(end) for end in value)


Override = tuple[str, str]


def load_scenario(
    name_or_path_or_text: str | Path,
    *,
    seed: int | None = None,
    until_us: int | None = None,
    overrides: Sequence[Override] = (),
) -> Scenario:
    """A built-in scenario by name, a file by path, or a text (anything with a line break).

    `overrides` are ("dotted.path", "value") and change the file before it is checked. Raises ScenarioError.
    """
    given = str(name_or_path_or_text)
    if "\n" in given:
        return load_scenario_text(given, seed=seed, until_us=until_us, overrides=overrides)
    if isinstance(name_or_path_or_text, str) and given in scenario_names():
        return load_scenario_text(
            builtin_text(given), f"{given}.yaml", seed=seed, until_us=until_us, overrides=overrides
        )
    return load_scenario_text(
        _file_text(Path(given)), given, seed=seed, until_us=until_us, overrides=overrides
    )


def load_scenario_text(
    text: str,
    source: str = "scenario",
    *,
    seed: int | None = None,
    until_us: int | None = None,
    overrides: Sequence[Override] = (),
) -> Scenario:
    """A scenario from its text; `source` names it in problems.

    Never opens a file. Raises ScenarioError.
    """
    root, found = read_tree(text, source)
    problems = Problems(found)
    problems.extend(apply_overrides(root, overrides))
    for key, value in (("seed", seed), ("until", None if until_us is None else format_duration(until_us))):
        if value is not None and isinstance(root.value, dict):
            root.value[key] = node_of(value, key)
    if not isinstance(root.value, dict):
        problems.append(root.problem("", "a scenario is a mapping", "begin with `format: 1`"))
        raise ScenarioError(problems)
    if oversized := list(_oversized(root)):
        raise ScenarioError(oversized)
    protocol = _protocol(root)
    names = KnownNames(**{section.name: _member_names(root, section.name) for section in shape.sections()})
    reader = Reader(names, protocol)
    declared = DECLARED[protocol or next(iter(DECLARED))]
    scenario = _read(root, reader, declared)
    if scenario.recording and not declared.recordings:
        reader.fail(
            root.value["recording"],
            "recording",
            f"is no key of {scenario.family}: such runs cannot be recorded",
            "leave it out",
            at_key=True,
        )
    declared.consistency(Check(scenario, root, reader))
    problems.extend(reader.problems)
    if problems:
        raise ScenarioError(_in_order(problems))
    if overrides:  # tour and pair describe the file as it is written
        scenario = replace(scenario, tour=None, pair={})
    written = canonical_text(scenario)
    # otherwise the lab made from it could not be opened again
    if len(written) > LARGEST_TEXT_CHARACTERS or sum(map(written.count, ",:\n[{")) > MOST_VALUES:
        raise ScenarioError(
            [root.problem("", "is too large once every default is written out", "leave some of it out")]
        )
    return replace(scenario, canonical_text=written)


def parse_overrides(texts: Iterable[str]) -> list[Override]:
    """Each "a.b=c" as ("a.b", "c"); raises ScenarioError."""
    pairs, problems = [], []
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            what = "has no =" if path.strip() else "has no path before ="
            problems.append(Problem(f"--set {text}", None, None, "", what, "write dotted.path=value"))
        pairs.append((path.strip(), value))
    if problems:
        raise ScenarioError(problems)
    return pairs


def _file_text(path: Path) -> str:
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        right = f"name a .yaml file or a built-in one: {suggestion(path.name, scenario_names())}"
        raise ScenarioError([Problem(str(path), None, None, "", "no built-in scenario has this name", right)])
    return read_text_file(path)


def _member_names(root: Node, section: str) -> tuple[str, ...]:
    node = root.value.get(section)
    return tuple(node.value) if node is not None and isinstance(node.value, dict) else ()


def _protocol(root: Node) -> str:
    """The protocol of the file's family, "" when there is no such family."""
    node = root.value.get("family")
    return PROTOCOL_OF.get(node.text or "", "") if node is not None else ""


def _oversized(root: Node) -> Iterator[Problem]:
    """A problem for each section with more entries than allowed.

    Nothing else is read then, since the number of references grows with the square of the entries.
    """
    most = {section.name: section.most for section in shape.sections()} | {
        "links": shape.MOST_LINK_PATTERNS,
        "commands": shape.MOST_COMMANDS,
    }
    for name, limit in most.items():
        node = root.value.get(name)
        if node is not None and isinstance(node.value, (dict, list)) and len(node.value) > limit:
            yield node.problem(name, f"holds {len(node.value)} entries", f"at most {limit}")


def _in_order(problems: Problems) -> Problems:
    """The problems without repetitions, by place in the file, those without a place first."""
    ordered = Problems(
        sorted(dict.fromkeys(problems), key=lambda problem: (problem.line or 0, problem.column or 0))
    )
    ordered.more = problems.more
    return ordered


_UNREADABLE_HEAD = {"name": "", "title": "", "family": "", "until_us": 1}
"""Placeholder with which the rest is checked; a scenario with it is never returned."""


def _read(root: Node, reader: Reader, declared: Declared) -> Scenario:
    """The parts that could be read, as a scenario of the protocol; incomplete when there are problems."""
    order, keys = shape.order(), shape.head()
    known = [key for key in root.value if key in order]
    for key in root.value:
        if key not in known:
            reader.fail(root.value[key], key, "unknown key", suggestion(key, order), at_key=True)
    head_names = [key.name for key in keys]
    head = Node(
        {key: root.value[key] for key in known if key in head_names}, root.source, root.line, root.column
    )
    values = reader.members(head, keys, "")
    sections = {section.name: _section(root, section, reader, declared) for section in shape.sections()}
    links = read_links(root.value.get("links"), reader)
    commands = _commands(root.value.get("commands"), reader)
    expect = read_expectations(root.value.get("expect"), reader)
    compare = read_comparison(root.value.get("compare"), reader)
    tour = read_tour(
        root.value.get("tour"), reader, Events(declared.columns_of_events(), NUMBER_COLUMNS), SETTINGS
    )
    values = dict(_UNREADABLE_HEAD) if values is BAD else values
    values.pop("format", None)
    own: dict[str, Any] = {section.name: sections[section.name] for section in declared.sections}
    return declared.scenario(
        **values, **own, links=links, commands=commands, expect=expect, compare=compare, tour=tour
    )


_NAMING = {"name": check_name, "namespace": check_namespace}


def _section(root: Node, section: Section, reader: Reader, declared: Declared) -> dict[str, Any]:
    """The objects of a section that could be read."""
    node = root.value.get(section.name)
    if not belongs(section.protocol, reader.protocol):
        if node is not None:
            reader.fail(
                node,
                section.name,
                f"is no section of {root.value['family'].text}",
                "leave it out, or choose another family",
                at_key=True,
            )
        return {}
    if node is None or node.value is None or node.value == {}:
        if section.required and section in declared.sections:
            where = root if node is None else node
            reader.fail(
                where, section.name, "is missing", f"declare at least one {section.noun}", at_key=True
            )
        return {}
    if not isinstance(node.value, dict):
        reader.fail(node, section.name, "is not a mapping", f"write {section.name}: {{name: {{…}}}}")
        return {}
    found: dict[str, Any] = {}
    for name, member in node.value.items():
        path = f"{section.name}.{name}"
        try:
            _NAMING[section.naming](name)
        except Wrong as wrong:
            reader.fail(member, path, wrong.what, wrong.right, at_key=True)
        values = reader.members(member, section.keys, path)
        if values is not BAD:
            found[name] = section.model(name=name, **values)
    return found


_AT = Key("at", "duration", "the instant at which it takes effect")


def _commands(node: Node | None, reader: Reader) -> tuple[CommandSpec, ...]:
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, list):
        reader.fail(node, "commands", "is not a list", "write - {at: 3s, do: link.cut, link: a -> b}")
        return ()
    found = []
    for index, entry in enumerate(node.value):
        path = f"commands[{index}]"
        command = read_command(entry, path, reader)
        at_us = _instant(entry, path, reader)
        if command is not BAD and at_us is not None:
            found.append(CommandSpec(at_us, command.pop("do"), command))
    return tuple(found)


def _instant(entry: Node, path: str, reader: Reader) -> int | None:
    if not isinstance(entry.value, dict):
        return None
    node = entry.value.get("at")
    if node is None:
        reader.fail(entry, f"{path}.at", "is missing", f"give {_AT.says}, such as at: 3s")
        return None
    try:
        return parse_duration(node.plain())
    except Wrong as wrong:
        reader.fail(node, f"{path}.at", wrong.what, wrong.right)
        return None
