"""The section `tour` of a scenario: steps with a text, an instant or an event, and what to highlight.

Rules: a tour is no input of the engine and changes no run. A text has placeholders in braces, which
`simulator.tours` fills from the run. Whether an event happens is known only after the run, so a missing one
is reported there. Everything else is checked here, with its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.scenarios import limits
from simulator.scenarios.builtin import scenario_names
from simulator.scenarios.declarations import Key
from simulator.scenarios.kinds import BAD, KINDS
from simulator.scenarios.model import Tour, TourCondition, TourNote, TourQuestion, TourStep
from simulator.scenarios.names import MESSAGE
from simulator.scenarios.tree import Node, Suggestion, suggestion

if TYPE_CHECKING:
    from simulator.scenarios.reader import Reader

TOUR_KEYS = (
    Key("title", "text", "name of the tour", required=True),
    Key("minutes", "integer", "how long it takes", required=True, minimum=1, maximum=limits.TOUR_MINUTES_MAX),
    Key("next", "name", "the built-in scenario whose tour the last step offers"),
)
PAGE_PARTS = ("forecast", "overview", "legend", "side", "time", "tabs", "controls")
"""The parts of the lab page that a tour may show step by step."""

STEP_KEYS = (
    Key("title", "text", "heading of the step", required=True),
    Key("text", "text", "one to three sentences, with placeholders", required=True),
    Key("at", "duration", "the instant at which playback stops", attribute="at_us"),
    Key("highlight", "text", "a message (`shop/15`), or `none`; by default the event of `when`"),
    Key("panel", "name", "the panel under the logs that is shown, as in `?panel=name`"),
    Key("show", "choices", "parts of the page that are shown from this step on", choices=PAGE_PARTS),
)
WHEN_KEYS = (
    Key("type", "text", "event type (`docs/trace.md`)", required=True),
    Key(
        "number",
        "integer",
        "which of the matching events after the step before, from 1",
        default=1,
        minimum=1,
        maximum=limits.TOUR_NUMBER_MAX,
    ),
)
NOTE_KEYS = (
    Key("text", "text", "a short sentence, with placeholders", required=True),
    Key("cluster", "name", "the cluster in whose log the position lies", required=True),
    Key("position", "text", "a placeholder without braces, such as `row.to_position`", required=True),
)
ASK_KEYS = (
    Key("question", "text", "what the learner predicts before playback continues", required=True),
    Key(
        "answer", "text", "a placeholder without braces, such as `end.failovers[0].duplicates`", required=True
    ),
    Key("kind", "choice", "what is entered", choices=("number", "position"), default="number"),
    Key("unit", "text", "what the number counts, such as `duplicates`"),
    Key("cluster", "name", "the cluster in whose log a position lies, where it can be clicked"),
)

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_STEP = r"[A-Za-z0-9_-]+(?:\[\d{1,9}\])*"
PATHS = {
    "at": re.compile(r"at"),
    "row": re.compile(r"row\.[a-z_]+"),
    "now": re.compile(rf"now(?:\.{_STEP})+"),
    "end": re.compile(rf"end(?:\.{_STEP})+"),
    "forecast": re.compile(r"forecast(?:\.[a-z0-9_-]+){3}"),
    "setting": re.compile(r"setting\.[A-Za-z0-9_]+"),
}
"""The syntax of placeholders, by their first word."""

POSITIONS = {"position": ("ledger", "entry"), "to_position": ("to_ledger", "to_entry")}
MESSAGE_FIELDS = ("producer", "sequence_id")
ROW_EXTRAS = {**POSITIONS, "message": MESSAGE_FIELDS}
"""Placeholders of a row that join two of its columns."""

_OPTIONS = (
    "write at, row.COLUMN, now.PATH or end.PATH into the summary, forecast.SUBSCRIPTION.CLUSTER.FIGURE, "
    "or setting.NAME"
)


@dataclass(frozen=True, slots=True)
class Events:
    """The events that a condition may name: their columns by type, and the columns that hold a number."""

    columns: dict[str, tuple[str, ...]]
    numbers: frozenset[str]


def read_tour(node: Node | None, reader: Reader, events: Events, settings: Iterable[str]) -> Tour | None:
    """The tour of a file; None when it has none or when a problem was reported."""
    if node is None or node.value is None:
        return None
    if not isinstance(node.value, dict):
        reader.fail(node, "tour", "is not a mapping", "write title, minutes and steps")
        return None
    head = reader.members(_without(node, ("steps",)), TOUR_KEYS, "tour")
    steps = node.value.get("steps")
    low, high = limits.TOUR_STEPS_MIN, limits.TOUR_STEPS_MAX
    if steps is None or not isinstance(steps.value, list) or not low <= len(steps.value) <= high:
        found = len(steps.value) if steps is not None and isinstance(steps.value, list) else 0
        reader.fail(steps or node, "tour.steps", f"has {found} steps", f"write {low} to {high}", at_key=True)
        return None
    reading = _Steps(reader, events, frozenset(settings))
    read = [reading.step(entry, f"tour.steps[{at}]") for at, entry in enumerate(steps.value)]
    found_steps = [step for step in read if step is not None]
    if head is BAD or len(found_steps) < len(read):
        return None
    if found_steps[-1].ask is not None:
        path = f"tour.steps[{len(found_steps) - 1}].ask"
        reader.fail(
            steps.value[-1].value["ask"],
            path,
            "is in the last step",
            "ask in an earlier step: the next step shows the answer",
            at_key=True,
        )
    _check_length(reader, node.value["title"], "tour.title", limits.TOUR_TITLE_CHARACTERS)
    following = head.get("next", "")
    if following and following not in scenario_names():
        what, right = f'there is no built-in scenario "{following}"', suggestion(following, scenario_names())
        reader.fail(node.value["next"], "tour.next", what, right, "unknown-name")
        return None
    return Tour(head["title"], head["minutes"], tuple(found_steps), following)


class _Steps:
    """Reads steps; each problem is reported at its line."""

    def __init__(self, reader: Reader, events: Events, settings: frozenset[str]) -> None:
        self.reader, self.events, self.settings = reader, events, settings
        self._last_us = 0

    def step(self, node: Node, path: str) -> TourStep | None:
        values = self.reader.members(_without(node, ("when", "ask", "note")), STEP_KEYS, path)
        if values is BAD:
            return None
        members = node.value or {}
        when = self._when(members["when"], f"{path}.when") if "when" in members else None
        if ("when" in members) == ("at" in members):
            what = "has two instants" if "at" in members else "has no instant"
            self.reader.fail(node, path, what, "give one of at: 12s and when: {type: …}")
            return None
        ask = self._ask(members["ask"], f"{path}.ask", when) if "ask" in members else None
        note = self._note(members["note"], f"{path}.note", when) if "note" in members else None
        read = {"when": when, "ask": ask, "note": note}
        if any(name in members and found is None for name, found in read.items()):
            return None
        if "at" in members:
            self._check_order(members["at"], f"{path}.at", values["at_us"])
        self._check_highlight(members.get("highlight"), f"{path}.highlight", values.get("highlight"))
        _check_length(self.reader, members["title"], f"{path}.title", limits.TOUR_TITLE_CHARACTERS)
        _check_length(self.reader, members["text"], f"{path}.text", limits.TOUR_TEXT_CHARACTERS)
        self._check_text(members["text"], f"{path}.text", f"{values['title']} {values['text']}", when)
        return TourStep(**values, when=when, ask=ask, note=note)

    def _when(self, node: Node, path: str) -> TourCondition | None:
        own = [key.name for key in WHEN_KEYS]
        kind = node.value.get("type") if isinstance(node.value, dict) else None
        if kind is not None and kind.text not in self.events.columns:
            right = suggestion(kind.plain(), self.events.columns)
            self.reader.fail(kind, f"{path}.type", "there is no such event", right, "unknown-name")
            return None
        columns = self.events.columns[kind.text] if kind is not None and kind.text is not None else ()
        values = self.reader.members(_without(node, columns), WHEN_KEYS, path)
        if values is BAD:
            return None
        fields: dict[str, str | int] = {}
        for name, member in node.value.items():
            if name in own:
                continue
            value = member.plain() if name in self.events.numbers else member.text
            if not isinstance(value, int if name in self.events.numbers else str) or isinstance(value, bool):
                wanted = "write a whole number" if name in self.events.numbers else "write a name"
                self.reader.fail(member, f"{path}.{name}", f'"{member.plain()}" does not fit', wanted)
                return None
            fields[name] = value
        return TourCondition(values["type"], fields, values.get("number", 1))

    def _ask(self, node: Node, path: str, when: TourCondition | None) -> TourQuestion | None:
        values = self.reader.members(node, ASK_KEYS, path)
        if values is BAD:
            return None
        self._check_placeholder(node.value["answer"], f"{path}.answer", values["answer"], when)
        self._check_cluster(node, path, values)
        for placeholder in placeholders(values["question"]):
            self._check_placeholder(node.value["question"], f"{path}.question", placeholder, when)
        for name in ("question", "unit"):
            if name in node.value:
                most = limits.TOUR_QUESTION_CHARACTERS
                _check_length(self.reader, node.value[name], f"{path}.{name}", most)
        return TourQuestion(**values)

    def _check_text(self, node: Node, path: str, text: str, when: TourCondition | None) -> None:
        for placeholder in placeholders(text):
            self._check_placeholder(node, path, placeholder, when)
        if re.search(r"[{}]", PLACEHOLDER.sub("", text)):
            self.reader.fail(node, path, "has a single brace", "write {placeholder}")

    def _note(self, node: Node, path: str, when: TourCondition | None) -> TourNote | None:
        values = self.reader.members(node, NOTE_KEYS, path)
        if values is BAD:
            return None
        self._check_placeholder(node.value["position"], f"{path}.position", values["position"], when)
        self._check_site(node, path, values["cluster"])
        self._check_text(node.value["text"], f"{path}.text", values["text"], when)
        _check_length(self.reader, node.value["text"], f"{path}.text", limits.TOUR_NOTE_CHARACTERS)
        return TourNote(**values)

    def _check_cluster(self, node: Node, path: str, values: dict[str, Any]) -> None:
        cluster = values.get("cluster")
        if (values.get("kind") == "position") != (cluster is not None):
            what = "asks for a position" if cluster is None else "asks for a number"
            right = "name the cluster in whose log it lies" if cluster is None else "leave cluster out"
            self.reader.fail(node, path, what, right, at_key=True)
        elif cluster is not None:
            self._check_site(node, path, cluster)

    def _check_site(self, node: Node, path: str, cluster: str) -> None:
        sites = self.reader.names.sites
        if cluster not in sites:
            self.reader.fail(
                node.value["cluster"],
                f"{path}.cluster",
                f'there is no cluster "{cluster}"',
                suggestion(cluster, sites),
                "unknown-name",
            )

    def _check_order(self, node: Node, path: str, at_us: int) -> None:
        if at_us < self._last_us:
            self.reader.fail(node, path, "is before an earlier step", "order the steps by instant")
        self._last_us = max(self._last_us, at_us)

    def _check_highlight(self, node: Node | None, path: str, value: str | None) -> None:
        if node is None or value == "none":
            return
        message = MESSAGE.fullmatch(value or "")
        known = self.reader.names.of_section("producers") or self.reader.names.of_section("publishers")
        if message is None:
            self.reader.fail(node, path, f'"{value}" is no message', "write producer/number, or none")
        elif message[1] not in known:
            right = suggestion(message[1], known)
            self.reader.fail(node, path, f'there is no producer "{message[1]}"', right, "unknown-name")

    def _check_placeholder(self, node: Node, path: str, text: str, when: TourCondition | None) -> None:
        problem = self._placeholder_problem(text, when)
        if problem is not None:
            self.reader.fail(node, path, *problem)

    def _placeholder_problem(
        self, text: str, when: TourCondition | None
    ) -> tuple[str, str | Suggestion] | None:
        root, _dot, rest = text.partition(".")
        if root not in PATHS or not PATHS[root].fullmatch(text):
            return f"{{{text[:60]}}} is no placeholder", _OPTIONS
        if root == "row" and when is None:
            return f"{{{text}}} needs an event", "give the step a when instead of at"
        if root == "row" and when is not None:
            columns = self.events.columns[when.type]
            known = [*columns, *(name for name, two in ROW_EXTRAS.items() if set(two) <= set(columns))]
            if rest not in known:
                return f"{when.type} has no {rest}", suggestion(rest, known)
        if root == "setting" and rest not in self.settings:
            return f"there is no setting {rest}", suggestion(rest, self.settings)
        return None


def placeholders(text: str) -> list[str]:
    """The placeholders of a text, without their braces, in order."""
    return PLACEHOLDER.findall(text)


def write_tour(tour: Tour) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The tour as written in a file: its own keys, and the steps."""
    return _written(TOUR_KEYS, tour), [_written_step(step) for step in tour.steps]


def _written_step(step: TourStep) -> dict[str, Any]:
    written = _written(STEP_KEYS, step)
    if step.when is not None:
        number = {} if step.when.number == 1 else {"number": step.when.number}
        written["when"] = {"type": step.when.type, **step.when.fields, **number}
    if step.note is not None:
        written["note"] = _written(NOTE_KEYS, step.note)
    if step.ask is not None:
        written["ask"] = _written(ASK_KEYS, step.ask)
    return written


def _written(keys: Sequence[Key], thing: Any) -> dict[str, Any]:
    found = {key.name: (key, getattr(thing, key.field)) for key in keys}
    return {
        name: KINDS[key.kind].write(value)
        for name, (key, value) in found.items()
        if value not in (None, "", ())
    }


def _without(node: Node, names: Sequence[str]) -> Node:
    """The node without the members that are read apart."""
    if not isinstance(node.value, dict):
        return node
    kept = {name: member for name, member in node.value.items() if name not in names}
    return Node(kept, node.source, node.line, node.column, node.key_line, node.key_column)


def _check_length(reader: Reader, node: Node, path: str, most: int) -> None:
    length = len(str(node.plain()))
    if length > most:
        reader.fail(node, path, f"has {length} characters", f"at most {most}")
