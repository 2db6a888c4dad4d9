"""One scenario in two forms, and what both must agree on.

One form has audiences, the other writes out every member as a consumer of the ordinary engine.
"""

from __future__ import annotations

import re

import numpy as np

from simulator import World, load_scenario_text
from simulator.protocols.registry import CODE, EVENT_TYPES, VOCABULARY
from simulator.trace.registry import NAME_COLUMNS, NULL
from simulator.trace.trace import Trace

HEAD = "format: 1\nname: audience-test\ntitle: Audience test\nfamily: replicated-subscriptions\nuntil: 10s\n"
COMPARED = (
    "message.published",
    "message.stored",
    "message.receipted",
    "message.dispatched",
    "message.delivered",
    "message.acknowledged",
    "message.registered",
)
_MEMBER = re.compile(r"(.+)-m(\d+)(-c)?")


def finished_world(text: str, **more) -> World:
    """A world at the end of its scenario, without a bound on rows."""
    world = World.from_scenario(load_scenario_text(HEAD + text), rows_max=None, **more)
    world.run()
    return world


def scenario_text(body: str, audiences: dict[str, dict], written_out: bool) -> str:
    """The scenario with its audiences, or with a subscription and a consumer for each member.

    Their names sort in the order of the members' numbers.
    """
    if not written_out:
        entries = [f"  {name}: {{cluster: a, {_keys(spec)}}}" for name, spec in audiences.items()]
        return body + "\n".join(["audiences:", *entries]) + "\n"
    subscriptions, consumers = [], []
    for name, spec in audiences.items():
        rest = {key: value for key, value in spec.items() if key in ("topic", "initialPosition")}
        when = {key: value for key, value in spec.items() if key in ("start", "stop")}
        for member in range(spec["subscriptions"]):
            one = f"{name}-m{member:03d}"
            subscriptions.append(f"  {one}: {{{_keys(rest)}}}")
            consumers.append(
                f"  {one}-c: {{subscription: {one}, cluster: a, acknowledgmentGroupTime: "
                f"0s{''.join(f', {key}: {value}' for key, value in when.items())}}}"
            )
    return _added(_added(body, "subscriptions", subscriptions), "consumers", consumers)


def _keys(spec: dict) -> str:
    return ", ".join(f"{key}: {value}" for key, value in spec.items())


def _added(body: str, section: str, lines: list[str]) -> str:
    """The lines in a section, which the body may have begun already."""
    head = f"{section}:\n"
    return (
        body.replace(head, head + "\n".join(lines) + "\n")
        if head in body
        else body + head + "\n".join(lines) + "\n"
    )


def messages_of(world: World) -> Trace:
    """The rows about messages as a separate trace: members named alike, ledgers and causes renumbered.

    Ledgers are renumbered because cursors take ledger numbers too.
    """
    columns = world.trace.columns(0, world.seq)
    kept = np.flatnonzero(np.isin(columns["type"], [CODE[name] for name in COMPARED])).tolist()
    ledgers = {
        ledger: number
        for number, ledger in enumerate(sorted({int(columns["ledger"][seq]) for seq in kept} - {NULL}))
    }
    trace, number_of = Trace(VOCABULARY), {NULL: NULL}
    for seq in kept:
        event = EVENT_TYPES[int(columns["type"][seq])]
        fields = [_alike_field(world, trace, ledgers, name, int(columns[name][seq])) for name in event.fields]
        # -1: a row that is not compared, such as a connection
        cause = number_of.get(int(columns["cause_seq"][seq]), -1)
        number_of[seq] = len(trace)
        if "evidence_seq" in event.fields:
            fields[event.fields.index("evidence_seq")] = number_of[int(columns["evidence_seq"][seq])]
        trace.append((event.code, int(columns["at_us"][seq]), cause, *fields))
    return trace


def _alike_field(world: World, trace: Trace, ledgers: dict[int, int], name: str, value: int) -> int:
    if value == NULL:
        return NULL
    if name == "ledger":
        return ledgers[value]
    if name in NAME_COLUMNS:
        word = world.trace.names[value]
        return trace.intern(
            _alike(word).rpartition("/")[0]
            if name == "subscription" and _MEMBER.fullmatch(word)
            else _alike(word)
        )
    return value


def _alike(name: str) -> str:
    """`readers-m007` and `readers-m007-c` as `readers/8`; `readers-8` of an audience as the same."""
    written = _MEMBER.fullmatch(name)
    if written:
        return f"{written[1]}/{int(written[2]) + 1}"
    member = re.fullmatch(r"(.+)-(\d+)", name)
    return f"{member[1]}/{member[2]}" if member else name


def assert_same_rows(body: str, audiences: dict[str, dict]) -> World:
    """Run both forms, assert that every row about a message is the same, and return the run with
    audiences.
    """
    columns, plain = (
        finished_world(scenario_text(body, audiences, written_out)) for written_out in (False, True)
    )
    ours, theirs = messages_of(columns), messages_of(plain)
    if ours.digest() != theirs.digest():  # show where
        for seq in range(max(len(ours), len(theirs))):
            rows = [trace.row(seq) if seq < len(trace) else None for trace in (ours, theirs)]
            assert rows[0] == rows[1], f"row {seq} of the messages"
        assert ours.names == theirs.names
    assert ours.digest() == theirs.digest()
    return columns
