"""Fields of a small YAML file with the places of their problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from simulator.experiments.experiment import SCENARIO
from simulator.scenarios.problems import Problem, Problems, ScenarioError, Suggestion, Wrong, suggestion
from simulator.scenarios.tree import Node

Value = TypeVar("Value")


class Fields:
    """The reading of one file: `problems` grows until `stop_if_any` raises them together."""

    def __init__(self, root: Node, text: str, problems: Iterable[Problem] = ()) -> None:
        self._lines, self._source = text.splitlines(), root.source
        self.problems = Problems(problems)
        if not isinstance(root.value, dict):
            raise ScenarioError([root.problem("", "an experiment is a mapping", "begin with `format: 1`")])

    def stop_if_any(self) -> None:
        """Raise ScenarioError with all problems so far, in the order of the file."""
        if self.problems:
            in_order = Problems(sorted(self.problems, key=self._place))
            in_order.more = self.problems.more
            raise ScenarioError(in_order)

    def _place(self, problem: Problem) -> tuple[bool, int, int]:
        """Where a problem is; problems of another file come last."""
        return problem.source != self._source, problem.line or 0, problem.column or 0

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that have their places."""
        self.problems.extend(problems)

    def has_problem_at(self, path: str) -> bool:
        """Whether a problem of this path, or of a path in it, was added."""
        return any(one.path == path or one.path.startswith(f"{path}.") for one in self.problems)

    def placed_in_block(self, root: Node, problem: Problem) -> Problem:
        """A problem of a scenario that is a literal block (`scenario: |`), with its place in this file."""
        source, _, name = problem.source.partition(".")
        node = root.value[SCENARIO]
        node = node.value.get(name) if isinstance(node.value, dict) else node
        if source != SCENARIO or problem.line is None or node is None:
            return problem
        head = self._lines[node.line - 1].split("#")[0].rstrip()
        if not head.endswith(("|", "|-", "|+")):
            return problem
        written = self._lines[node.line]
        indent = len(written) - len(written.lstrip())
        line, column = node.line + problem.line, (problem.column or 1) + indent
        return replace(problem, source=node.source, line=line, column=column)

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
                problem = member.problem(path, "unknown key", str(suggestion(key, keys)), at_key=True)
                self.problems.append(problem)

    def member(self, node: Node, key: str, kind: type | None) -> Node | None:
        """A member of this kind, None where it is absent or null."""
        found = node.value.get(key)
        if found is None or found.value is None:
            return None
        if kind is not None and not isinstance(found.value, kind):
            self.add(found, key, "is not a mapping", f"write {key}: {{name: value}}")
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
        self.fail(node, key, "is not text", "write it in quotes", above)
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
