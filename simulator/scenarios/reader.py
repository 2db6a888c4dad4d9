"""Reads nodes into values by the complete table of kinds, and collects all problems with their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios import settings, units
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.declarations import Key, belongs
from simulator.scenarios.kinds import BAD, DURATION, KINDS, MESSAGE, SHARE, Kind, reference
from simulator.scenarios.limits import EXPONENTIAL_TAIL, LONGEST_US, NORMAL_TAIL, PAIR_NAME_CHARACTERS
from simulator.scenarios.model import Distribution, Selection
from simulator.scenarios.shape import PAIR_KEYS, KnownNames, sections
from simulator.scenarios.tree import Node, Problem, Problems, Suggestion, Wrong, suggestion

# --- the complete table of kinds, with compound kinds, references and the protocols' own kinds
#
# Compound kinds have several keys: distributions, selections of messages, settings, options. References are
# to the names of each section. All are added to the table of `kinds.py`, whose rules apply.


DISTRIBUTIONS: dict[str, tuple[Key, ...]] = {
    "constant": (Key("value", "duration", "the span", required=True, attribute="value_us"),),
    "uniform": (
        Key("low", "duration", "the shortest", required=True, attribute="low_us"),
        Key("high", "duration", "the longest", required=True, attribute="high_us"),
    ),
    "lognormal": (
        Key("median", "duration", "half of all draws are shorter", required=True, attribute="value_us"),
        Key(
            "sigma",
            "decimal",
            "shape: 0 is constant, 0.3 mild, 1 wild",
            required=True,
            attribute="sigma_millionths",
        ),
    ),
    "exponential": (Key("mean", "duration", "the mean", required=True, attribute="value_us"),),
}

_MESSAGES = Key("messages", "messages", "these very messages")
_SHARE = Key(
    "share", "share", "this share of all, drawn by each message's own identity", attribute="share_millionths"
)
TIMES_MOST = 1000
"""How often a selection negatively acknowledges a message at most."""
SELECTIONS: dict[str, tuple[Key, ...]] = {
    "hold": (
        _MESSAGES,
        _SHARE,
        Key("for", "duration", "for how long; without it until released", attribute="for_us"),
    ),
    "delay": (_MESSAGES, _SHARE, Key("for", "duration", "for how long", required=True, attribute="for_us")),
    "nack": (
        _MESSAGES,
        _SHARE,
        Key(
            "times",
            "integer",
            "on how many of its deliveries to this consumer; without it on the first one",
            minimum=1,
            maximum=TIMES_MOST,
        ),
    ),
}
_SELECTION_WORDS = {
    "hold": "which messages are held: {messages: [web/5], share: 1%, for: 10s}",
    "delay": "which messages are delayed: {messages: [web/5], share: 1%, for: 10s}",
    "nack": "which messages: {messages: [web/5], share: 1%, times: 3}",
}


def _read_distribution(node: Node, key: Key, path: str, reader: Reader) -> Any:
    if not isinstance(node.value, dict):
        return Distribution(value_us=units.parse_duration(node.plain()))
    if "kind" in node.value:
        return _normalised_distribution(node)
    kind = node.value.get("distribution")
    if kind is None or kind.text not in DISTRIBUTIONS:
        shown = "no distribution is named" if kind is None else f'there is no distribution "{kind.plain()}"'
        raise Wrong(shown, suggestion(None if kind is None else kind.plain(), DISTRIBUTIONS))
    rest = Node(
        {name: member for name, member in node.value.items() if name != "distribution"},
        node.source,
        node.line,
        node.column,
        node.key_line,
        node.key_column,
    )
    members = reader.members(rest, DISTRIBUTIONS[kind.text], path)
    if members is BAD:
        return BAD
    return _possible(Distribution(kind=kind.text, **members))


def _possible(made: Distribution) -> Distribution:
    """A distribution of which no draw is longer than LONGEST_US. Raises Wrong."""
    if made.low_us > made.high_us:
        raise Wrong("low is above high", "write the shorter span as low")
    longest = f"{LONGEST_US // 3_600_000_000}h"
    if made.kind == "exponential" and made.value_us * EXPONENTIAL_TAIL > LONGEST_US:
        raise Wrong(
            f"its longest draws, {EXPONENTIAL_TAIL} times the mean, are longer than {longest}",
            "write a shorter mean",
        )
    if (
        made.kind == "lognormal"
        and made.value_us * (NORMAL_TAIL * made.sigma_millionths / 1_000_000).exp() > LONGEST_US
    ):
        raise Wrong(
            f"its longest draws are longer than {longest}", "write a shorter median or a smaller sigma"
        )
    return made


def _normalised_distribution(node: Node) -> Distribution:
    """The distribution of a command log's entry, which has the model's own fields."""
    plain = node.plain()
    fields = asdict(Distribution())
    numbers = [value for name, value in plain.items() if name != "kind"]
    if (
        node.value["kind"].text not in DISTRIBUTIONS
        or not set(plain) <= set(fields)
        or any(type(value) is not int or not 0 <= value <= LONGEST_US for value in numbers)
        or plain.get("sigma_millionths", 0) > units.SIGMA_MILLIONTHS_MAX
    ):
        raise Wrong("not a distribution as a command log holds it", "write a duration or {distribution: …}")
    return _possible(Distribution(**plain))


def _write_distribution(value: Distribution) -> Any:
    if value.kind == "constant":
        return units.format_duration(value.value_us)
    keys = DISTRIBUTIONS[value.kind]
    return {
        "distribution": value.kind,
        **{key.name: KINDS[key.kind].write(getattr(value, key.field)) for key in keys},
    }


def _selection(name: str) -> Kind:
    keys = SELECTIONS[name]

    def read(node: Node, key: Key, path: str, reader: Reader) -> Any:
        members = reader.members(node, keys, path)
        if members is BAD:
            return BAD
        if not members.get("messages") and not members.get("share_millionths"):
            raise Wrong("selects nothing", "name messages, a share, or both")
        return Selection(**members)

    def write(value: Selection) -> dict[str, Any]:
        written: dict[str, Any] = {}
        if value.messages:
            written["messages"] = [MESSAGE.write(message) for message in value.messages]
        if value.share_millionths:
            written["share"] = SHARE.write(value.share_millionths)
        if value.times != 1:
            written["times"] = value.times
        return written if value.for_us is None else {**written, "for": DURATION.write(value.for_us)}

    return Kind(_SELECTION_WORDS[name], lambda key: {"$ref": f"#/$defs/{name}"}, read, write)


def _settings(table: dict[str, settings.Setting], noun: str) -> Kind:
    def read(node: Node, key: Key, path: str, reader: Reader) -> Any:
        keys = tuple(key_of(setting) for setting in table.values())
        return reader.members(node, keys, path, noun=noun)

    def write(value: dict[str, Any]) -> dict[str, Any]:
        return {name: KINDS[table[name].kind].write(entry) for name, entry in value.items()}

    return Kind(f"{noun}s by name", lambda key: {"$ref": f"#/$defs/{noun.replace(' ', '-')}s"}, read, write)


def key_of(setting: settings.Setting) -> Key:
    """The key under which a setting's value is read."""
    return Key(
        setting.name,
        setting.kind,
        setting.says,
        choices=setting.choices,
        minimum=setting.minimum,
        maximum=setting.maximum,
        protocol=setting.protocol,
    )


def _read_setting_name(node: Node, key: Key, path: str, reader: Reader) -> str:
    if node.text not in settings.SETTINGS:
        raise Wrong(
            f'there is no broker setting "{node.plain()}"',
            suggestion(node.plain(), settings.SETTINGS),
            "unknown-name",
        )
    return node.text


def _pair_options() -> list[str]:
    """What the scenarios of a pair may differ in: an option, or a choice in the arguments of a command."""
    arguments = [key for command in COMMANDS.values() for key in command.arguments if key.kind == "choice"]
    return list(dict.fromkeys([*settings.OPTIONS, *(key.name for key in arguments)]))


def _read_pair_option(node: Node, key: Key, path: str, reader: Reader) -> str:
    if node.text not in _pair_options():
        raise Wrong(
            f'there is no option "{node.plain()}"',
            suggestion(node.plain(), _pair_options()),
            "unknown-name",
        )
    return node.text


def _read_pair(node: Node, key: Key, path: str, reader: Reader) -> Any:
    members = reader.members(node, PAIR_KEYS, path)
    if members is BAD:
        return BAD
    if long := next((name for name in ("name", "other") if len(members[name]) > PAIR_NAME_CHARACTERS), None):
        raise Wrong(f"{long} has {len(members[long])} characters", f"at most {PAIR_NAME_CHARACTERS}")
    return members


def _read_setting_value(node: Node, key: Key, path: str, reader: Reader) -> Any:
    if not isinstance(node.value, (bool, int, str)):
        raise Wrong(f'"{node.plain()}" is not a setting\'s value', "write a number, true, false or a word")
    return node.value


def read_setting_value(name: str, node: Node, path: str, reader: Reader) -> Any:
    """The value of one broker setting; BAD when its problem was reported."""
    key = key_of(settings.SETTINGS[name])
    return reader.attempt(KINDS[key.kind], node, key, path)


KINDS |= {
    **{section.noun: reference(section.noun, section.name) for section in sections()},
    "distribution": Kind(
        (
            "duration, or {distribution: uniform, low, high}, {distribution: lognormal, median, sigma}, "
            "{distribution: exponential, mean}"
        ),
        lambda key: {"$ref": "#/$defs/distribution"},
        _read_distribution,
        _write_distribution,
        asdict,
    ),
    **{name: _selection(name) for name in SELECTIONS},
    "settings": _settings(settings.SETTINGS, "broker setting"),
    "options": _settings(settings.OPTIONS, "option"),
    "setting-name": Kind(
        "name of a broker setting", lambda key: {"enum": list(settings.SETTINGS)}, _read_setting_name
    ),
    "pair-option": Kind(
        "name of an option, or of a command's choice",
        lambda key: {"enum": _pair_options()},
        _read_pair_option,
    ),
    "pair": Kind("{with, option, name, other}", lambda key: {"$ref": "#/$defs/pair"}, _read_pair),
    "setting-value": Kind(
        "value of that setting", lambda key: {"type": ["integer", "boolean", "string"]}, _read_setting_value
    ),
}
for _declared in DECLARED.values():
    KINDS |= _declared.kinds


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
