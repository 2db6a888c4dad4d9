"""The input of a protocol's rules about a whole scenario: the scenario and the place of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.scenarios.model import Scenario
from simulator.scenarios.problems import Suggestion
from simulator.scenarios.tree import Node

if TYPE_CHECKING:
    from simulator.scenarios.reader import Reader


class Check:
    """The scenario with the tree it was read from, so that a problem has its place in the file."""

    def __init__(self, scenario: Scenario, root: Node, reader: Reader) -> None:
        self.scenario, self.root, self.reader = scenario, root, reader

    def fail(self, keys: tuple[str | int, ...], what: str, right: str | Suggestion) -> None:
        """Report a problem at the value under these keys, or at the deepest one that exists."""
        node, path = self.root, ""
        for key in keys:
            inside = node.value if isinstance(node.value, dict) and isinstance(key, str) else {}
            if isinstance(node.value, list) and isinstance(key, int):
                node = node.value[key]
            elif key in inside:
                node = inside[key]
            path = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
        self.reader.fail(node, path, what, right)
