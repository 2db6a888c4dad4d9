"""The parts of an experiment's file, read one by one: grid, seeds, phases, wanted bound, limits."""

from __future__ import annotations

from typing import Any

from simulator.experiments.experiment import BY_SEED, Axis, Wanted
from simulator.experiments.fields import Fields
from simulator.scenarios.limits import LARGEST_INTEGER
from simulator.scenarios.problems import suggestion
from simulator.scenarios.rule_files import loaded_rules
from simulator.scenarios.settings import RULE
from simulator.scenarios.tree import Node
from simulator.scenarios.units import MILLIONTHS, parse_duration, parse_share

RUNS_MAX = 10_000
"""The most runs of an experiment whose file does not raise the limit: minutes on two cores."""
RAISED_RUNS_MAX = 10_000_000
"""The highest limit that a file may set: a day on a hundred cores."""
SEEDS_MAX = 100_000
"""The most seeds: many times what a 99th percentile needs."""
PHASES_MAX = 10_000
"""The most phases: at this number, those of a one-second period are 100 us apart."""

ENDS = ("larger", "smaller")
OWN_KEYS = {"seed": "seeds", "until": "until", "scenario": "scenario"}
"""Paths of the scenario for which an experiment has a key of its own."""


def axes(fields: Fields, root: Node) -> tuple[Axis, ...]:
    """The axes of the grid, in the order of the file."""
    grid = fields.member(root, "grid", dict)
    found = []
    for path, node in (grid.value if grid is not None else {}).items():
        name = f"grid.{path}"
        if path in OWN_KEYS:
            fields.add(node, name, "is no axis of a grid", f"write `{OWN_KEYS[path]}:` outside of the grid")
            continue
        values = node.value if isinstance(node.value, list) else []
        if not values or any(isinstance(one.value, (dict, list)) for one in values):
            fields.add(node, name, "is not a list of values", "write a list, such as [250, 500, 1000]")
            continue
        written = [_with_digest(path, written_value(one)) for one in values]
        for value, one in zip(written, values, strict=True):
            if written.index(value) < values.index(one):
                fields.add(one, name, f"{value} is given twice", "keep one of them")
        found.append(Axis(path, tuple(written)))
    return tuple(found)


def _with_digest(path: str, value: str) -> str:
    """A value as it is run: the rule of a file of one's own is named with the digest of its text."""
    found = loaded_rules() if path == f"options.{RULE}" else None
    return found.value if found is not None and value == found.name else value


def written_value(node: Node) -> str:
    """A value as it is written in the file."""
    return node.text if node.text is not None else str(node.value)


def seeds(fields: Fields, root: Node) -> tuple[int, ...]:
    """The seeds: 1 to a number, or a list."""
    value = fields.value(root, "seeds", 1)
    right = f"write a number of seeds, 1 to {SEEDS_MAX:,}, or a list of seeds"
    if type(value) is int and 1 <= value <= SEEDS_MAX:
        return tuple(range(1, value + 1))
    if isinstance(value, list) and 1 <= len(value) <= SEEDS_MAX:
        if all(type(one) is int and 0 <= one <= LARGEST_INTEGER for one in value):
            if len(dict.fromkeys(value)) == len(value):
                return tuple(value)
            right = "give each seed once"
    fields.fail(root, "seeds", "are not seeds", right)
    return (1,)


def phases(fields: Fields, root: Node) -> tuple[int | None, bool, bool]:
    """The number of phases, None where the file gives none; whether they are drawn; whether by seed."""
    node = fields.member(root, "phases", None)
    if node is None:
        return None, False, False
    value: Any = node.plain()
    if value == BY_SEED:
        return 1, False, True
    drawn = isinstance(value, dict) and list(value) == ["drawn"]
    count = value["drawn"] if drawn else value
    if type(count) is int and 1 <= count <= PHASES_MAX:
        return count, drawn, False
    right = f"write a number, 1 to {PHASES_MAX:,}, {{drawn: 20}} for random phases, or {BY_SEED}"
    fields.fail(root, "phases", "is not a number of phases", right)
    return 1, False, False


def wanted(fields: Fields, root: Node) -> Wanted | None:
    """The bound that a setting has to meet; `at_most` is a number, or a duration for a measure of time."""
    node = fields.member(root, "wanted", dict)
    if node is None:
        return None
    fields.known(node, "wanted", ("measure", "at_most", "share", "confidence"))
    at_most = fields.value(node, "at_most", None)
    if isinstance(at_most, str):
        at_most = fields.read(node, "at_most", parse_duration, 0, "wanted")
    elif type(at_most) is not int or not 0 <= at_most <= LARGEST_INTEGER:
        right = "write the largest acceptable value, such as 50, or 2s for a measure of time"
        fields.fail(node, "at_most", "is not a whole number or a duration", right, "wanted")
        at_most = 0
    shares = {}
    for key, otherwise in (("share", "99%"), ("confidence", "95%")):
        shares[key] = fields.read(node, key, parse_share, parse_share(otherwise), "wanted")
        if not 0 < shares[key] < MILLIONTHS:
            right = f"write a share such as {otherwise}"
            fields.fail(node, key, "is not between 0% and 100%", right, "wanted")
    return Wanted(fields.text(node, "measure", "", "wanted"), at_most, shares["share"], shares["confidence"])


def measures(fields: Fields, root: Node) -> tuple[str, ...]:
    """The names of the measures that the experiment needs; none: all."""
    node = root.value.get("measures")
    if node is None or node.value is None:
        return ()
    names = node.plain()
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return tuple(names)
    fields.add(node, "measures", "is not a list of measures", "write a list, such as [duplicates, outage_us]")
    return ()


def cheaper(fields: Fields, root: Node) -> tuple[tuple[str, str], ...]:
    """By path of the grid, whether its larger or its smaller values are cheaper."""
    node, grid = fields.member(root, "cheaper", dict), fields.member(root, "grid", dict)
    if node is None:
        return ()
    paths = list(grid.value) if grid is not None else []
    for path, end in node.value.items():
        if path not in paths:
            fields.add(end, f"cheaper.{path}", "is no path of the grid", suggestion(path, paths))
        elif end.value not in ENDS:
            fields.add(end, f"cheaper.{path}", "is not a direction", "write larger or smaller")
    return tuple((path, str(end.value)) for path, end in node.value.items())


def runs_max(fields: Fields, root: Node) -> int:
    """The most runs of this experiment."""
    limits = fields.member(root, "limits", dict)
    if limits is None:
        return RUNS_MAX
    fields.known(limits, "limits", ("runs",))
    most = fields.value(limits, "runs", RUNS_MAX)
    if type(most) is int and 1 <= most <= RAISED_RUNS_MAX:
        return most
    fields.fail(
        limits, "runs", "is not a limit", f"write a number of runs, 1 to {RAISED_RUNS_MAX:,}", "limits"
    )
    return RAISED_RUNS_MAX
