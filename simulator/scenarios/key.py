"""The types in which protocols declare the keys and sections of a scenario file.

Rules: `kind` names an entry of the table of kinds (`simulator.scenarios.compound.KINDS`). Defaults of
sections are in their models only. `attribute` is the field of the model when its name differs.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping.

    `default` is for commands, as written in a file; sections take theirs from the model. `begin` is the
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
    keys: tuple[Key, ...]
    most: int
    required: bool = False
    naming: str = "name"  # the kind of its names: name | namespace
    protocol: str = ""  # the protocol that has it; "" is all
    sites: bool = False


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
