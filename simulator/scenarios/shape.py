"""All keys of a scenario file: those common to all, and those that each protocol declares.

Rules: loader, canonical text, JSON Schema and `docs/scenarios.md` come from these tables. Defaults are in the
models only. The tables are functions, so that a change of the table of protocols takes effect.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.declarations import Key, Section
from simulator.scenarios.limits import LARGEST_INTEGER
from simulator.scenarios.model import Scenario

# --- the names that a scenario declares, by kind


def names_of(scenario: Scenario) -> dict[str, list[str]]:
    """The names that a scenario declares, by section, each list sorted.

    The protocol may add further names.
    """
    declared = DECLARED[scenario.protocol]
    of_sections = {section.name: getattr(scenario, section.name) for section in declared.sections}
    return {what: sorted(names) for what, names in {**of_sections, **declared.names(scenario)}.items()}


def sites_of(scenario: Scenario) -> list[str]:
    """The ends of links, such as clusters or nodes, in the order of the scenario file."""
    sections = (section.name for section in DECLARED[scenario.protocol].sections if section.sites)
    return [name for section in sections for name in getattr(scenario, section)]


# --- the families of scenarios, and the protocol that each one shows
#
# A family has its own causes of a duplicate; a test compares them. Keys, sections, settings and commands
# may name one protocol; those that name none belong to all.


PROTOCOL_OF: dict[str, str] = {
    family: name for name, declared in DECLARED.items() for family in declared.families
}

FAMILY_MECHANISMS: dict[str, str] = {
    family: words for declared in DECLARED.values() for family, words in declared.mechanisms.items()
}
"""What each family shows, in one or two sentences; in the gallery's order."""


MOST_COMMANDS = 2_000
"""The most commands of a scenario: reading so many takes a second.

A lab's own commands are not counted here.
"""
MOST_LINK_PATTERNS = 1000
DEFAULT_LATENCY_US = 40_000
"""Latency of a link that the scenario does not configure."""


def head() -> tuple[Key, ...]:
    """The keys at the top level that are not sections."""
    return (
        Key("format", "integer", "version of the format; this is 1", required=True, minimum=1, maximum=1),
        Key("name", "name", "name of the scenario", required=True),
        Key("title", "text", "one line for lists and headings", required=True),
        Key("family", "choice", "which protocol it shows", required=True, choices=tuple(PROTOCOL_OF)),
        Key("about", "text", "what happens, for a reader who has not run it"),
        Key("watch", "text", "what to look at while it runs"),
        Key(
            "seed", "integer", "the number that seeds all random streams", minimum=0, maximum=LARGEST_INTEGER
        ),
        Key(
            "until",
            "duration",
            "simulated time after which the run ends",
            required=True,
            attribute="until_us",
            minimum=1,
        ),
        Key(
            "recording",
            "digest",
            "digest of a recorded run (docs/labs.md): its rows are played, and nothing is simulated",
        ),
        Key("settings", "settings", "broker settings under the broker's own names, for every cluster"),
        Key("options", "options", "the lab's own switches for version-dependent or hypothetical behaviour"),
        Key(
            "pair",
            "pair",
            "the scenario from which this one differs in one option; the gallery shows both on one card",
        ),
    )


PAIR_KEYS = (
    Key("with", "name", "name of the other scenario, which the card shows first", required=True),
    Key(
        "option",
        "pair-option",
        "the option in which they differ, or the argument of a command, such as `probe`",
        required=True,
    ),
    Key(
        "name",
        "text",
        "what the switch on the card calls this scenario, such as `as released`",
        required=True,
    ),
    Key("other", "text", "what it calls the other one, such as `fixed`", required=True),
)
"""The keys of `pair`."""


_LINK = (
    Key("latency", "distribution", "how long one thing takes from end to end"),
    Key("bandwidth", "bandwidth", "bytes a second; without it unlimited", attribute="bandwidth_bytes_per_s"),
)


def link_keys() -> tuple[Key, ...]:
    """The keys of a link."""
    return (*_LINK, *(key for declared in DECLARED.values() for key in declared.link_keys))


def sections() -> tuple[Section, ...]:
    """The sections of all protocols."""
    return tuple(section for declared in DECLARED.values() for section in declared.sections)


def order() -> tuple[str, ...]:
    """The keys of the file in the order of the canonical text."""
    of_protocols = dict.fromkeys(name for declared in DECLARED.values() for name in declared.order)
    return (*(key.name for key in head()), *of_protocols, "commands", "expect", "compare", "tour")


class KnownNames:
    """The names that commands and references may use, by section."""

    def __init__(self, **names: tuple[str, ...]) -> None:
        self._names = names
        of_sites = [names.get(section.name, ()) for section in sections() if section.sites]
        self.sites: tuple[str, ...] = next((found for found in of_sites if found), ())
        """The ends of links, such as clusters or nodes."""

    def of_section(self, section: str) -> tuple[str, ...]:
        """The names in a section of the file."""
        return self._names.get(section, ())

    @classmethod
    def of(cls, scenario: Scenario) -> KnownNames:
        """The names that a scenario declares."""
        return cls(**{section.name: tuple(getattr(scenario, section.name)) for section in sections()})
