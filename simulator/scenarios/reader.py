"""Reads nodes into values and collects all problems with their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.scenarios.compound import KINDS
from simulator.scenarios.key import Key, belongs
from simulator.scenarios.kinds import BAD, Kind
from simulator.scenarios.known_names import KnownNames
from simulator.scenarios.problems import Problem, Problems, Suggestion, Wrong, suggestion
from simulator.scenarios.tree import Node


class Reader:
    """One reading of one scenario or command.

    `problems` grows; `names` are those that references may use.
    """

    def __init__(self, names: KnownNames, protocol: str = "") -> None:
        self.names = names
        self.protocol = protocol  # the scenario's; "" while it is not known
        self.problems = Problems()

    def fail(
        self,
        node: Node,
        path: str,
        what: str,
        right: str | Suggestion,
        code: str = "bad-value",
        at_key: bool = False,
    ) -> None:
        """Report a problem at a node; when enough are listed, only count it."""
        if self.problems.full:
            self.problems.more += 1
            return
        words = str(right)
        problem = node.problem(path, what, words, at_key)
        self.problems.append(Problem(problem.source, problem.line, problem.column, path, what, words, code))

    def attempt(self, kind: Kind, node: Node, key: Key, path: str) -> Any:
        """The value, or BAD after its problem was reported."""
        try:
            return kind.read(node, key, path, self)
        except Wrong as wrong:
            self.fail(node, path, wrong.what, wrong.right, wrong.code)
            return BAD

    def members(self, node: Node, keys: Sequence[Key], path: str, noun: str = "key") -> Any:
        """The values of a mapping's keys by the model's field; BAD when any of them is wrong or missing.

        A mapping that is left empty (`us-west:`) counts as one without keys.
        """
        if node.value is not None and not isinstance(node.value, dict):
            self.fail(node, path, f'"{node.plain()}" is not a mapping', "write {key: value, …}")
            return BAD
        keys = [key for key in keys if belongs(key.protocol, self.protocol)]
        members: dict[str, Node] = node.value or {}
        good = self._known(members, keys, path, noun)
        values: dict[str, Any] = {}
        for key in keys:
            inner = f"{path}.{key.name}" if path else key.name
            if key.name not in members:
                if key.required:
                    self.fail(
                        node, inner, "is missing", f"give it: {key.says}", "missing-argument", at_key=True
                    )
                    good = False
                continue
            value = self.attempt(KINDS[key.kind], members[key.name], key, inner)
            if value is BAD:
                good = False
            elif key.field in values:
                other = next(entry.name for entry in keys if entry.field == key.field)
                self.fail(
                    members[key.name], inner, f"means the same as {other}", "keep one of them", at_key=True
                )
                good = False
            else:
                values[key.field] = value
        return values if good else BAD

    def _known(self, members: dict[str, Node], keys: Sequence[Key], path: str, noun: str) -> bool:
        known = [key.name for key in keys]
        unknown = [name for name in members if name not in known]
        for name in unknown:
            inner = f"{path}.{name}" if path else name
            self.fail(
                members[name],
                inner,
                f"unknown {noun}",
                suggestion(name, known),
                "unknown-argument",
                at_key=True,
            )
        return not unknown
