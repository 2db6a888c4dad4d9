"""The types in which protocols declare the keys, settings, commands and strategies of a scenario file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, get_type_hints

from simulator.scenarios.limits import LARGEST_COUNT, LONGEST_MEAN_US, LONGEST_SETTING_US
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import Node, Suggestion

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


# --- the types in which protocols declare the keys and sections of a scenario file
#
# Rules: `kind` names an entry of the table of kinds (`simulator.scenarios.reader.KINDS`). The keys of a
# section are declared by its model: `start_us: Annotated[int, Key("start", "duration", "…")] = 0`.


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping.

    `default` is for commands, as written in a file; sections take theirs from the model, and `attribute`, the
    model's field when its name differs, and `required`. `begin` is the
    initial value in a command's form; without it, a boolean's `default` when true, else nothing.
    """

    name: str
    kind: str
    says: str
    required: bool = False
    attribute: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    protocol: str = ""  # the protocol that has it; "" is all
    begin: Any = None

    @property
    def field(self) -> str:
        return self.attribute or self.name


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of names to objects of one type.

    `most` is the greatest number of them. `sites` is true for the ends of links, such as clusters or nodes.
    """

    name: str
    noun: str
    model: type
    says: str
    most: int
    required: bool = False
    naming: str = "name"  # the kind of its names: name | namespace
    protocol: str = ""  # the protocol that has it; "" is all
    sites: bool = False

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of an object."""
        return keys_of(self.model)


@cache
def keys_of(model: type) -> tuple[Key, ...]:
    """The keys of a mapping in a file, in the order of the model's fields, whose annotations declare them.

    A key sets the field that it annotates, and is required if that has no default. A field may have two keys,
    such as an interval that is also written as a rate, or none.
    """
    hints = get_type_hints(model, include_extras=True)
    return tuple(
        replace(key, attribute="" if key.name == one.name else one.name, required=_is_required(one))
        for one in fields(model)
        for key in getattr(hints[one.name], "__metadata__", ())
    )


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def default_of(section_model: type, key: Key) -> Any:
    """The model's default of a key, None when it has none."""
    for entry in fields(section_model):
        if entry.name == key.field:
            if entry.default is not MISSING:
                return entry.default
            return entry.default_factory() if entry.default_factory is not MISSING else None
    raise KeyError(f"{section_model.__name__} has no field {key.field}")


def belongs(protocol: str, to: str) -> bool:
    """Whether a declaration for `protocol` ("" is all) applies to a scenario of `to` ("" is unknown)."""
    return not protocol or not to or protocol == to


# --- the declaration of a setting or option: a name, a default, a kind of value, a sentence
#
# A protocol may declare profiles: named sets of option values, such as those of a release. Its scenarios
# choose one by the option that has the protocol's name; single options override it.


_UNITS_US = (("Millis", 1_000), ("Mills", 1_000), ("Seconds", 1_000_000), ("Minutes", 60_000_000))
"""Units in the brokers' names of settings that are a time."""

TIMING, NOMINAL, MEASURED = "timing", "nominal", "measured"
"""The option that stands for several settings at once, and its values."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of values for a protocol's options.

    A protocol's first profile is the default. Its values are the defaults of the options, so it has none
    here; any other lists the values that differ from them.
    """

    name: str
    says: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: Any
    kind: str  # integer | boolean | choice | duration | distribution | rule
    says: str
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    protocol: str = ""  # the protocol that has it
    dynamic: bool = True  # false: changing it needs a topic unload or cluster restart to take effect
    most: int | None = None  # the largest value, where it is not that of its unit
    measured: Any = None  # its default under the option `timing: measured`, where it is another one
    profiles: Mapping[str, Any] = field(default_factory=dict)  # its value in profiles that have another one

    def default_under(self, options: Mapping[str, Any]) -> Any:
        """Its value in a scenario with these options that does not give it."""
        if self.measured is not None and options.get(TIMING) == MEASURED:
            return self.measured
        return self.profiles.get(options.get(self.protocol, ""), self.default)

    def value_under(self, options: Mapping[str, Any]) -> Any:
        """The value of an option in a scenario with these options."""
        return options[self.name] if self.name in options else self.default_under(options)

    @property
    def maximum(self) -> int | None:
        """The largest whole number that it takes.

        It is `most`, else LONGEST_SETTING_US in the unit of its name, else LARGEST_COUNT.
        """
        if self.kind != "integer" or self.most is not None:
            return self.most
        return next(
            (LONGEST_SETTING_US // unit_us for unit, unit_us in _UNITS_US if unit in self.name), LARGEST_COUNT
        )


# --- the texts of what a command will do, which a visitor reads before the click
#
# Rules: `{name}` stands for an argument, `{name|the words}` gives the words for an argument that is not
# chosen yet (by default "the" and its name). A function of the page adds what depends on the state of the
# run (`live_consequences` of the protocol).


@dataclass(frozen=True, slots=True)
class When:
    """A part that depends on an argument.

    `texts` are keyed by its value as JSON writes it ("true", "2"), and by "" while it is not chosen.
    `otherwise` is for every other value.
    """

    argument: str
    texts: Mapping[str, Text] = field(hash=False)
    otherwise: Text = ""


Text: TypeAlias = "str | When | tuple[Text, ...]"
"""A text; a tuple is joined without spaces."""


def as_json(text: Text) -> Any:
    """The form in which a page receives a text."""
    if isinstance(text, When):
        texts = {value: as_json(part) for value, part in text.texts.items()}
        return {"when": text.argument, "texts": texts, "otherwise": as_json(text.otherwise)}
    return text if isinstance(text, str) else [as_json(part) for part in text]


# --- the declaration of a command for scenario files and the page: a name, arguments and texts


class Objection(NamedTuple):
    """A problem of arguments that are each valid, and what would be right.

    `argument` is the one to change, "" for the command as a whole.
    """

    argument: str
    what: str
    right: str
    code: str = "bad-value"


@dataclass(frozen=True, slots=True)
class Command:
    """The declaration of one command.

    `label` is its name in menus and lists (by default `says`), `consequence` what it will do. Exactly one of
    the arguments `one_of` must be given. `check` is called when every argument is valid by itself. `refusals`
    are the codes with which a running system can refuse the command; `simulator.protocols.declared` has their
    meaning.
    """

    name: str
    says: str
    arguments: tuple[Key, ...]
    one_of: tuple[str, ...] = ()
    protocol: str = ""  # the protocol that has it; "" is all
    check: Callable[[Mapping[str, Any]], Objection | None] | None = None
    refusals: tuple[str, ...] = ()
    label: str = ""
    consequence: Text = field(kw_only=True)


# --- A strategy: one way of replicating progress, under which a whole scenario can be run


@dataclass(frozen=True, slots=True)
class Strategy:
    """One strategy: `name` is for commands and links, `title` for headings, `says` is one sentence."""

    name: str
    title: str
    says: str


@dataclass(frozen=True, slots=True)
class StrategyRules:
    """The strategies of a protocol, and what each changes.

    `change` returns the scenario under a strategy, `arguments` a command's arguments, and `obeyed` whether a
    command makes sense under it.
    """

    strategies: tuple[Strategy, ...]
    change: Callable[[Scenario, Any], Scenario]
    arguments: Callable[[str, dict[str, Any], Any], dict[str, Any]]
    obeyed: Callable[[str, Any], bool]


# --- the keys for when a client publishes and how many messages, in any protocol


Start = Annotated[int, Key("start", "duration", "instant of its first message")]
Stop = Annotated[
    int | None, Key("stop", "duration", "it publishes nothing from this instant on; without it never")
]
Every = Annotated[
    int | None,
    Key(
        "every", "duration", "one message each; not together with `rate`", minimum=1, maximum=LONGEST_MEAN_US
    ),
    Key("rate", "rate", "messages per second, instead of `every`", maximum=LONGEST_MEAN_US),
]
Arrivals = Annotated[
    str,
    Key(
        "arrivals",
        "choice",
        "at regular instants, or as a Poisson process with `every` as mean",
        choices=("regular", "poisson"),
    ),
]
Instants = Annotated[
    tuple[int, ...] | None, Key("at", "instants", "the very instants, instead of `start` and `every`")
]
Count = Annotated[
    int | None,
    Key(
        "count",
        "integer",
        "number of messages; without it until `stop` or the end",
        minimum=0,
        maximum=100_000_000,
    ),
]
SizeBytes = Annotated[int, Key("size", "size", "bytes of each message", maximum=5 * 2**20)]
