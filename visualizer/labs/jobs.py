"""The jobs of a lab: rebuild, seek, step, change branch, carry out a command, answer a question.

Rules: each is a generator that works in slices and leaves the world consistent between them. A command is
stored in the database before the engine applies it. A request that cannot be carried out raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

from simulator import World
from visualizer.labs.saving import StoredLab
from visualizer.labs.session import Session
from visualizer.labs.work import Wait, Work, in_thread
from visualizer.live.wire import Refused

FARTHEST_FACTOR, FARTHEST_US = 10, 3_600_000_000
"""How far beyond its scenario's end a lab may seek: ten times its length, or an hour if longer."""

SEARCH_US = 60_000_000
"""How far beyond the furthest instant run so far a step searches for its row."""

INSTANT_EVENTS = 200
"""Queue events of one instant that a step runs in one slice, which takes a millisecond or two."""

SEARCH_INSTANTS = 40
"""Instants that a step runs in one slice, which takes about a millisecond."""

SEARCH_ROWS = 16_384
"""Rows that a step searches in one slice, which takes a millisecond or two."""


def rebuild(session: Session, stored: StoredLab, scenario_of: Callable[[], Awaitable[Any]]) -> Work:
    """Rebuild the world of a stored lab: run every command again in order, then seek to the position."""
    scenario = yield Wait(scenario_of)
    world = yield in_thread(lambda: World.from_scenario(scenario, begun=False))
    while not world.whole:
        world.advance(0, session.slice_events())
        yield None
    session.start_with(world, scenario)
    yield None
    for given in stored.commands:
        yield from _stand_in(session, given["branch"])
        # The branch must have run as far as it had, or the command would not start a new branch where it did.
        yield from _run_to(session, max(given["furthest_us"], given["at_us"]))
        yield from _go_to(session, given["at_us"])
        result = yield from _apply(session, given["command"])
        if given["ok"] is not None and bool(result.ok) != given["ok"]:
            raise AssertionError(
                f"command {given['number']} ({given['command']['do']}) was {_outcome(given['ok'])} when it "
                f"was given and is {_outcome(result.ok)} in the replay"
            )
        yield from session.risk_curves.settle()
        yield None
    yield from _stand_in(session, stored.branch)
    yield from _run_to(session, stored.furthest_us)
    yield from _go_to(session, stored.position_us)
    session.new_epoch()


def _outcome(ok: bool) -> str:
    return "accepted" if ok else "refused"


def seek(session: Session, at_us: int | None, seq: int | None) -> Work:
    """Seek to the end of an instant, or of a row's instant. Exactly one of the two is given."""
    world = session.world
    farthest_us = max(FARTHEST_FACTOR * session.until_us, FARTHEST_US)
    if seq is not None:
        if seq >= len(world.trace):
            raise Refused(
                "not-found",
                f"Row {seq} has not happened yet.",
                f"Rows so far are 0 to {len(world.trace) - 1}.",
            )
        at_us = world.trace.at_us(seq)
    assert at_us is not None
    if at_us > farthest_us:
        raise Refused(
            "too-far",
            f"{at_us / 1e6:.1f} s is too far ahead.",
            f"This lab runs to {farthest_us / 1e6:.0f} s at most.",
        )
    yield from _run_to(session, at_us, lambda: session.out_of_memory is not None)
    yield from _go_to(session, min(at_us, world.furthest_us) if session.out_of_memory else at_us)
    session.new_epoch()
    session.listener.position_changed()


def _go_to(session: Session, at_us: int) -> Work:
    """Seek to an instant that has already been run."""
    if session.world.now_us != at_us:
        seeking = session.world.begin_seek(at_us=at_us)
        yield None
        while seeking.step(session.slice_events()):
            yield None


def _run_to(session: Session, at_us: int, stopped: Callable[[], bool] = lambda: False) -> Work:
    """Run forward to an instant that may lie beyond what has been run.

    A rebuilt lab is not stopped by the memory limit, since what it has run before fits again.
    """
    world = session.world
    if at_us <= world.furthest_us:
        return
    yield from _go_to(session, world.furthest_us)
    while not stopped() and session.advance(at_us):
        yield None


def step(session: Session, back: bool, which: Any) -> Work:
    """Step to the end of the instant of the next (or previous) row that passes the filter.

    It does what `World.step` does, in slices.
    """
    world = session.world
    session.playback.pause()
    from_us = world.now_us
    at_us = yield from (_passing_before(world, which) if back else _passing_after(session, which))
    yield from _go_to(session, from_us if at_us is None else at_us)
    if back:
        session.new_epoch()
    session.looking.want()
    session.listener.position_changed()
    if at_us is None:
        towards = "before" if back else f"within {SEARCH_US // 1_000_000} s after"
        raise Refused(
            "nothing-there",
            f"There is no such row {towards} {from_us / 1e6:.6f} s.",
            "Choose another filter, or everything.",
        )


def _passing_before(world: Any, which: Any) -> Work:
    """The instant of the last row that passes the filter and is earlier than the current instant."""
    end = world.seq
    while end > 0:
        first = max(0, end - SEARCH_ROWS)
        for seq in reversed(_passing(world, first, end, which)):
            at_us = world.trace.at_us(seq)
            if at_us < world.now_us:
                return at_us
        end = first
        yield None
    return None


def _passing_after(session: Session, which: Any) -> Work:
    """The instant of the next row that passes the filter, running forward when needed.

    Returns None when no row passes within `SEARCH_US`. The run goes forward one instant at a time: if a
    branch ran further than the row, the next command would be one in the past.
    """
    world = session.world
    seen, end_us = world.seq, world.furthest_us + SEARCH_US
    for turn in count(1):
        while seen < len(world.trace):
            until = min(len(world.trace), seen + SEARCH_ROWS)
            seqs = _passing(world, seen, until, which)
            if seqs:
                return world.trace.at_us(seqs[0])
            seen = until
            if seen < len(world.trace):
                yield None
        yield from _go_to(session, world.furthest_us)
        if world.now_us >= end_us or world.limit_reached:
            return None
        session.risk_curves.advance(end_us, 1)
        while not world.whole:
            if world.advance(world.now_us, INSTANT_EVENTS):
                yield None
        yield from session.risk_curves.settle()
        if turn % SEARCH_INSTANTS == 0:
            yield None


def _passing(world: Any, first: int, last: int, which: Any) -> list[int]:
    """Seqs of the rows first <= seq < last that pass a filter."""
    if isinstance(which, str):
        return world.trace.seqs(first, last, control_only=which == "control", limit=None)
    if "message" in which:
        producer, number = which["message"]
        wanted = {"producer": world.trace.number(producer), "sequence_id": number}
    else:
        wanted = {"subscription": world.trace.number(which["subscription"])}
    if None in wanted.values():
        return []
    columns = world.trace.columns(first, last, names=tuple(wanted))
    passes = [columns[name] == value for name, value in wanted.items()]
    return [
        first + place
        for place in (passes[0] if len(passes) == 1 else passes[0] & passes[1]).nonzero()[0].tolist()
    ]


def switch_branch(session: Session, number: int) -> Work:
    """Show another branch, at the same instant or as far as it has run."""
    world = session.world
    numbers = [branch["number"] for branch in world.branches]
    if number not in numbers:
        raise Refused(
            "not-found", f"There is no branch {number}.", f"Branches are {', '.join(map(str, numbers))}."
        )
    yield from _stand_in(session, number)
    session.new_epoch()
    session.listener.position_changed()


def _stand_in(session: Session, number: int) -> Work:
    """Switch to a branch, at the same instant or as far as it has run."""
    if session.world.branch == number:
        return
    seeking = session.world.begin_switch(number)
    yield None
    while seeking.step(session.slice_events()):
        yield None


def _apply(session: Session, command: dict[str, Any]) -> Work:
    """Apply a command in slices of its instant, and return its result."""
    applying = session.world.begin_apply(dict(command))
    while applying.step(session.slice_events()):
        yield None
    return applying.result


def carry_out(
    session: Session,
    command: dict[str, Any],
    apart: bool,
    keep: Callable[..., Awaitable[int | Refused]],
    kept: Callable[..., None],
    at_us: int | None = None,
) -> Work:
    """Store the command, apply it, then queue the result to be stored.

    With `at_us` the lab seeks to that instant first. The world does not move between storing and applying.
    `keep` returns the command's number once it is stored, or why it could not be stored in time. In that case
    it is not applied. With `apart` the command starts a branch even at the front of the run, so that
    switching back to the earlier branch undoes it. The engine creates a branch only where the run continues
    past the command's instant, so the run goes on for one more instant first.
    """
    world = session.world
    if at_us is not None:
        yield from seek(session, at_us, None)
    if apart and world.now_us == world.furthest_us:
        here_us = world.now_us
        while session.risk_curves.advance(here_us + 1, session.slice_events()):
            yield None
        yield from _go_to(session, here_us)
    number = yield Wait(
        partial(
            keep,
            command=command,
            at_us=world.now_us,
            furthest_us=world.furthest_us,
            branch=world.branch,
        )
    )
    if isinstance(number, Refused):
        raise number
    branch = world.branch
    result = yield from _apply(session, command)
    yield from session.risk_curves.settle()
    if world.branch != branch:
        session.new_epoch()
    session.looking.want()
    kept(
        number=number,
        ok=bool(result.ok),
        code=result.code or "",
        position=session.position(),
        command_log=[dict(entry) for entry in world.command_log],
    )
    return result
