"""The declaration of a command for scenario files and the page: a name, arguments and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simulator.scenarios.consequence import Text
from simulator.scenarios.key import Key


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
