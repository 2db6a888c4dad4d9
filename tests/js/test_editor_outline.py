"""The editor's outline of a text has the keys that the loader's tree has, for every built-in scenario."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from simulator import load_scenario, scenario_names
from simulator.scenarios import Node, builtin_text, read_tree
from simulator.scenarios.editing import example_families, minimal_example

OUTLINE = Path(__file__).resolve().parents[2] / "static" / "js" / "editor" / "outline.js"

SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ pathOf, readOutline }} from {json.dumps(OUTLINE.as_uri())};
const texts = JSON.parse(readFileSync(0, "utf8"));
const told = ({{ entries, open }}) => [open.length, entries.map((entry) => [pathOf(entry), entry.row + 1, entry.value.kind])];
console.log(JSON.stringify(texts.map((text) => told(readOutline(text)))));
"""


def entries_of(node: Node, path: tuple[str | int, ...] = ()) -> list[Any]:
    """The path, line and kind of every key and item below a node of the loader, in the order of the text."""
    found: list[Any] = []
    members = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
    for key, member in members:
        inner = (*path, key)
        nested = isinstance(member.value, (dict, list))
        found.append([list(inner), member.key_line or member.line, nested])
        if nested:
            found += entries_of(member, inner)
    return found


def test_the_outline_of_every_scenario_is_that_of_the_loader():
    texts = [builtin_text(name) for name in scenario_names()]
    texts += [load_scenario(name).canonical_text for name in scenario_names()[:20]]
    texts += [minimal_example(family) for family in example_families()]
    node = shutil.which("node")
    assert node, "Node 18 or newer is needed for the tests of the page's modules."
    answer = subprocess.run(
        [node, "--input-type=module", "-e", SCRIPT],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    for text, (still_open, entries) in zip(texts, json.loads(answer.stdout), strict=True):
        root, problems = read_tree(text, "scenario")
        # the loader gives the place of an item's value, the outline that of its hyphen: the same line
        seen = [[path, line, kind in ("map", "list")] for path, line, kind in entries]
        assert not problems and still_open == 0
        assert seen == entries_of(root), text[:60]
