"""The rows of a protocol that a live page holds, marks and shows in windows, by event type.

Rules: a protocol declares them once, here. The server finds rows by these tables, and `welcome` sends the
page what it needs of them. Events that all protocols share are added by `SHARED_KEPT` and `SHARED_LANDMARKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Kept = Mapping[str, tuple[tuple[str, ...], int]]
"""The event types of each class of rows, and how many of the newest rows a page holds."""

SHARED_KEPT: Kept = {"commands": (("command.applied",), 10)}

SHARED_LANDMARKS = ("link.cut", "link.healed", "link.slowed")


def _no_state(latest: dict[tuple, int], row: StateRow) -> None:
    return None


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row by which something begins, changes or ends.

    Names are numbers of the trace, except `reason`.
    """

    seq: int
    type: str
    reason: str
    client: int
    count: int
    topic: int


@dataclass(frozen=True, slots=True)
class Passages:
    """The rows about messages between clusters.

    `listed` are the rows of a window; `sent` and `lost` are those counted where they are many.
    """

    listed: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Messages:
    """The rows about messages between the clients of a group and its leaders.

    - `listed`: the rows of a window; `sent` and `lost`: those counted where they are many.
    - `resent`: reasons of `sent` that are sent again when no reply arrives.
    - `states`: rows by which something begins, changes or ends. `fold(latest, row)` keeps in `latest` the
      newest row of each subject that still exists.
    - `of_client`, `of_connection`, `of_stream`, `of_leader`: rows about one client of the group, about its
      connection, about one stream and about the group's leader.
    """

    listed: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    resent: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    fold: Callable[[dict[tuple, int], StateRow], None] = _no_state
    of_client: tuple[str, ...] = ()
    of_connection: tuple[str, ...] = ()
    of_stream: tuple[str, ...] = ()
    of_leader: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveRows:
    """A protocol's rows on a live page; every part is optional.

    - `kept`: classes of rows that a page always holds.
    - `faults`: rows that the time slider marks; `stops`: further ones, of which more are listed.
    - `jumps`: rows after which the forecast of their subscription jumps; `jumps_of_all`: every forecast.
    """

    kept: Kept = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    jumps_of_all: tuple[str, ...] = ()
    passages: Passages = Passages()
    messages: Messages = Messages()

    def all_kept(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """The classes of rows of this protocol and of every protocol."""
        return {**self.kept, **SHARED_KEPT}

    def all_faults(self) -> tuple[str, ...]:
        """The rows that the time slider marks, of this protocol and of every protocol."""
        return (*self.faults, *SHARED_LANDMARKS)
