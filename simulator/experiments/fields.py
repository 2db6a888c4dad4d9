"""Fields of a small YAML file with the places of their problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from simulator.scenarios.problems import Problem, Problems, ScenarioError, Suggestion, Wrong, suggestion
from simulator.scenarios.tree import Node

Value = TypeVar("Value")


class Fields:
    """The reading of one file: `problems` grows until `stop_if_any` raises them together."""

    def __init__(self, root: Node, source: str, problems: Iterable[Problem] = ()) -> None:
        self.source = source
        self.problems = Problems(problems)
        if not isinstance(root.value, dict):
            raise ScenarioError([root.problem("", "an experiment is a mapping", "begin with `format: 1`")])

    def stop_if_any(self) -> None:
        """Raise ScenarioError with all problems so far."""
        if self.problems:
            raise ScenarioError(self.problems)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that have their places."""
        self.problems.extend(problems)

    def add(self, node: Node, path: str, what: str, right: str | Suggestion) -> None:
        """Add a problem at a node."""
        self.problems.append(node.problem(path, what, str(right)))

    def fail(self, parent: Node, key: str, what: str, right: str | Suggestion, above: str = "") -> None:
        """Add a problem at a member, or at its mapping where it is missing."""
        node = parent.value.get(key)
        self.add(node or parent, f"{above}.{key}" if above else key, what, right)

    def known(self, node: Node, above: str, keys: Sequence[str]) -> None:
        """Add a problem for each unknown key."""
        for key, member in node.value.items():
            if key not in keys:
                path = f"{above}.{key}" if above else key
                problem = member.problem(
                    path, "is no key of an experiment", str(suggestion(key, keys)), at_key=True
                )
                self.problems.append(problem)

    def member(self, node: Node, key: str, kind: type | None) -> Node | None:
        """A member of this kind, None where it is absent or null."""
        found = node.value.get(key)
        if found is None or found.value is None:
            return None
        if kind is not None and not isinstance(found.value, kind):
            right = "write a mapping" if kind is dict else "write a list"
            self.add(found, key, f"is no {'mapping' if kind is dict else 'list'}", right)
            return None
        return found

    def value(self, node: Node, key: str, otherwise: Any) -> Any:
        """The plain value of a member."""
        found = node.value.get(key)
        return otherwise if found is None or found.value is None else found.plain()

    def text(self, node: Node, key: str, otherwise: str, above: str = "") -> str:
        """The text of a member."""
        found = node.value.get(key)
        if found is None:
            return otherwise
        if isinstance(found.value, str):
            return found.value
        self.fail(node, key, "is no text", "write a text", above)
        return otherwise

    def read(
        self, node: Node, key: str, parse: Callable[[object], Value], otherwise: Value, above: str = ""
    ) -> Value:
        """A member read by a parser that raises `Wrong`."""
        found = node.value.get(key)
        if found is None or found.value is None:
            return otherwise
        try:
            return parse(found.value)
        except Wrong as wrong:
            self.fail(node, key, wrong.what, wrong.right, above)
            return otherwise
