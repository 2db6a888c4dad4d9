"""Tests of the page's modules.

The shell names no protocol, protocols import neither each other nor the shell's readers of the table, and no
import cycle spans two folders.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from simulator.protocols.declared import DECLARED
from simulator.protocols.registry import EVENT_TYPES
from simulator.scenarios import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "static" / "js"
PROTOCOLS = sorted(path.name for path in (PAGE / "protocols").iterdir() if path.is_dir())
FAMILIES = (
    "replicated-subscriptions",
    "acknowledgement-sync",
    "tenant-migration",
    "shadow-topics",
    "topic-creation",
    "durable-shared-subscriptions",
)
"""Families of scenarios that belong to one protocol."""

NAME_COMMANDS = {
    "model/marks.js": "words for planned commands on time axes",
    "protocols/emqx/manifest.js": "the form's first command",
    "protocols/emqx/model/live_consequences.js": "consequences that depend on the state",
    "protocols/emqx/transport/fault_menus.js": "menus of things, with arguments filled in",
    "protocols/pulsar/manifest.js": "the form's first command, the planned failover",
    "protocols/pulsar/model/live_consequences.js": "consequences that depend on the state",
    "protocols/pulsar/model/row_words.js": "words for planned commands on time axes",
    "protocols/pulsar/pages/migration_panel.js": "buttons of the panel",
    "protocols/pulsar/transport/failover_dialog.js": "the failover dialog",
    "protocols/pulsar/transport/fault_menus.js": "menus of things, with arguments filled in",
    "transport/menu.js": "the menu of a link",
}
"""The modules that name commands, and why. Labels, forms and consequences come with the declaration."""

LIVE_CONSEQUENCES = {
    "emqx": {"session.connect", "session.kill", "leader.crash", "node.crash", "node.stop"},
    "pulsar": {
        "cluster.crash",
        "cluster.lose",
        "link.cut",
        "client.kill",
        "subscription.fail-over",
        "subscription.clear",
        "replication.clear",
        "migration.advance",
        "migration.switch",
        "namespace.set-clusters",
    },
}
"""Commands whose consequence the page derives from the state, or by comparing two of their arguments."""

Graph = dict[str, list[str]]


def modules() -> dict[str, str]:
    """Text of each module, by its path below static/js."""
    return {path.relative_to(PAGE).as_posix(): path.read_text() for path in sorted(PAGE.rglob("*.js"))}


def imports_of(texts: dict[str, str]) -> Graph:
    statement = re.compile(r"^(?:import|export)\b[^;'\"]*?from \"(\.[^\"]+)\"", re.MULTILINE)
    return {
        name: [
            posixpath.normpath(posixpath.join(posixpath.dirname(name), to)) for to in statement.findall(text)
        ]
        for name, text in texts.items()
    }


def of_protocol(name: str) -> str | None:
    """The protocol in whose folder a module is; None for the shell and for the tables."""
    parts = name.split("/")
    return parts[1] if parts[0] == "protocols" and len(parts) > 2 else None


def naming_offences(texts: dict[str, str]) -> list[str]:
    """Modules of the shell that name a protocol or a family of its scenarios, in code or comment."""
    named = re.compile(
        "|".join([*PROTOCOLS, r"isGroupLab", *(f'"{family}"' for family in FAMILIES)]), re.IGNORECASE
    )
    return [
        f"{name}:{number} {line.strip()[:100]}"
        for name, text in texts.items()
        if not name.startswith("protocols/")
        for number, line in enumerate(text.splitlines(), 1)
        if named.search(line)
    ]


def event_offences(texts: dict[str, str]) -> list[str]:
    """Modules of the shell whose code or comments name an event type that only one protocol declares."""
    events = sorted((event.name for one in DECLARED.values() for event in one.events), key=len, reverse=True)
    named = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, events))})(?![\w-]|\.\w)")
    return [
        f"{name}:{number} {found.group()}"
        for name, text in texts.items()
        if of_protocol(name) is None
        for number, line in enumerate(text.splitlines(), 1)
        for found in named.finditer(line)
    ]


def import_offences(graph: Graph) -> list[str]:
    """Imports into a protocol's folder from outside it; only the tables may have them."""
    return [
        f"{name} imports {to}"
        for name, targets in graph.items()
        for to in targets
        if of_protocol(to) not in (None, of_protocol(name)) and posixpath.dirname(name) != "protocols"
    ]


def cycles_between_folders(graph: Graph) -> list[list[str]]:
    """Groups of modules that import each other, directly or not, and are in more than one folder."""
    reached = {name: _reached(graph, name) for name in graph}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other]) | {name}
        for name in graph
        if name in reached[name]
    }
    return [sorted(group) for group in groups if len({posixpath.dirname(name) for name in group}) > 1]


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph.get(name, [])
    return found


def test_the_page_has_its_protocols_in_folders_of_their_own() -> None:
    assert PROTOCOLS == ["emqx", "pulsar"]
    assert all((PAGE / "protocols" / name / "manifest.js").exists() for name in PROTOCOLS)


def test_the_shell_names_no_protocol() -> None:
    assert naming_offences(modules()) == []


def test_the_shell_names_no_event_of_one_protocol() -> None:
    assert event_offences(modules()) == []


def test_only_the_tables_import_from_a_protocols_folder() -> None:
    assert import_offences(imports_of(modules())) == []


def test_no_import_cycle_spans_two_folders() -> None:
    assert cycles_between_folders(imports_of(modules())) == []


def commands_named(text: str) -> set[str]:
    """Commands that a module names in code; an event's name is no command's."""
    names = set(COMMANDS) - {event.name for event in EVENT_TYPES}
    return names & set(re.findall(r"""["'`]([a-z]+\.[a-z-]+)["'`]""", text))


def test_a_new_command_needs_no_module_of_the_page() -> None:
    naming = {name for name, text in modules().items() if commands_named(text)}
    assert naming == set(NAME_COMMANDS)


def test_only_consequences_that_depend_on_the_state_are_on_the_page() -> None:
    for protocol, allowed in LIVE_CONSEQUENCES.items():
        text = modules()[f"protocols/{protocol}/model/live_consequences.js"]
        assert set(re.findall(r"""^  "([a-z.-]+)": """, text, re.MULTILINE)) == allowed


def test_these_checks_detect_offences() -> None:
    """Each check fails for a module that breaks its rule."""
    texts = {
        "pages/picker.js": 'import { EMQX } from "../protocols/emqx/manifest.js";\n',
        "protocols/emqx/manifest.js": 'import { picker } from "../../pages/picker.js";\n',
        "protocols/pulsar/model/cells.js": 'import { groups } from "../../emqx/model/groups.js";\n',
        "protocols/emqx/model/groups.js": "",
        "protocols/table.js": 'import { EMQX } from "./emqx/manifest.js";\n',
        "model/possible.js": 'const FAMILY = "replicated-subscriptions";\n',
    }
    graph = imports_of(texts)
    assert commands_named('{ do: "cluster.crash" }, "cluster.crashed"') == {"cluster.crash"}
    assert [line.split(" ")[0] for line in naming_offences(texts)] == [
        "pages/picker.js:1",
        "model/possible.js:1",
    ]
    rows = {"pages/footer.js": 'row.type === "snapshot.completed"', "model/marks.js": '"link.cut": () => ""'}
    assert event_offences(rows) == ["pages/footer.js:1 snapshot.completed"]
    assert import_offences(graph) == [
        "pages/picker.js imports protocols/emqx/manifest.js",
        "protocols/pulsar/model/cells.js imports protocols/emqx/model/groups.js",
    ]
    assert cycles_between_folders(graph) == [["pages/picker.js", "protocols/emqx/manifest.js"]]
