"""The texts that the editor can start from: built-in scenarios, minimal examples, and labs.

Rules: a start is named by its kind and name, such as `scenario/two-regions`. A lab's text contains the
commands that were given by hand on its branch, so that the text plans what the lab did.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from simulator import scenario_names
from simulator.scenarios.editing import (
    builtin_text,
    example_families,
    minimal_example,
    text_with_commands,
)
from visualizer.labs.definitions import builtin_scenario, builtin_scenarios, read_scenario
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.pages.scenario_reading import read_in_turn

FIRST = f"minimal/{example_families()[0]}"
"""The start of an editor that was opened without one."""


@dataclass(frozen=True, slots=True)
class Start:
    """A text, its name in addresses, and in words what it is."""

    start: str
    title: str
    text: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def start_of(name: str) -> Start:
    """The start of this name. Raises Refused."""
    kind, _, rest = name.partition("/")
    found = _KINDS[kind](rest) if kind in _KINDS else None
    if found is None:
        raise Refused(
            "not-found",
            f"There is no text {name[:80]!r} to start from.",
            "Give scenario/NAME, minimal/FAMILY or lab/ID.",
        )
    return Start(name, *found)


def starts() -> list[dict[str, Any]]:
    """The starts that the page lists, in groups."""
    minimal = [{"start": f"minimal/{family}", "title": _words(family)} for family in example_families()]
    groups = [{"title": "Minimal examples", "starts": minimal}]
    for family in example_families():
        members = sorted(
            (one for one in builtin_scenarios() if one.family == family), key=lambda one: one.title.lower()
        )
        listed = [{"start": f"scenario/{one.name}", "title": one.title} for one in members]
        groups.append({"title": f"Built-in: {_words(family)}", "starts": listed})
    return groups


def _words(family: str) -> str:
    return family.replace("-", " ").capitalize()


def _builtin(name: str) -> tuple[str, str] | None:
    return (builtin_scenario(name).title, builtin_text(name)) if name in scenario_names() else None


def _minimal(family: str) -> tuple[str, str] | None:
    if family not in example_families():
        return None
    return f"Minimal example: {_words(family).lower()}", minimal_example(family)


def _lab(lab_id: str) -> tuple[str, str] | None:
    lab = Lab.objects.filter(pk=lab_id).first()
    if lab is None:
        return None
    commands = lab.command_log or []
    if not commands and _is_as_built_in(lab):
        return lab.title, builtin_text(lab.scenario_name)
    if not commands:
        return lab.title, lab.scenario_text
    return lab.title, text_with_commands(read_in_turn(read_scenario, lab.scenario_text, lab.seed), commands)


def _is_as_built_in(lab: Lab) -> bool:
    """Whether the file of a built-in scenario gives the lab's scenario, seed included."""
    return (
        lab.scenario_name in scenario_names()
        and builtin_scenario(lab.scenario_name).canonical_text == lab.scenario_text
    )


_KINDS = {"scenario": _builtin, "minimal": _minimal, "lab": _lab}
