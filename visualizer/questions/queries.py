"""Answers to requests of a page beside the socket: rows, causes, markers, summary, statistics, inputs.

Rules: each answer is a job of the lab, so the world does not move meanwhile. It is a generator that may yield
between pieces, and work that cannot be cut happens in a thread. A request for something that does not exist
is refused with a reason. The bounds of every argument are in `visualizer.questions.arguments`. Only `ANSWERS`
may be requested. An internal error in an answer ends only that answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator import ENGINE_VERSION, AdminError, NotOffered
from simulator.headless import meta_of_trace
from visualizer.labs.work import Work, in_thread
from visualizer.live.frames import latest
from visualizer.live.wire import Refused, encode
from visualizer.questions import stories
from visualizer.questions.arguments import check_arguments
from visualizer.questions.curve import curve
from visualizer.questions.rows import (
    SEARCHED_ROWS,
    causes_of,
    cone,
    events,
    landmarks,
    node_messages,
    passages,
    rows_at,
)
from visualizer.questions.tiles import absent_tile, tile
from visualizer.questions.tours import tour

if TYPE_CHECKING:
    from visualizer.labs.session import Session


Question = tuple[str, str, str]
"""A request: (tool, cluster, topic)."""


class Printouts:
    """Answers at the current instant.

    Many viewers request the same output. Rules: an answer belongs to one instant of one branch. When the
    world has moved all are dropped, so at most one per tool, cluster and topic is held.
    """

    def __init__(self) -> None:
        self._instant: tuple[int, int, int] | None = None
        self._answers: dict[Question, dict[str, Any]] = {}

    def ask(self, world: Any, question: Question) -> Work:
        """The answer of `World.admin`, computed in slices when it is not kept. Raises Refused."""
        instant = (world.branch, world.seq, world.now_us)
        if instant != self._instant:
            self._instant, self._answers = instant, {}
        if question not in self._answers:
            try:
                answer = yield from world.begin_admin(*question)
            except AdminError as error:
                raise Refused("not-found", str(error), error.hint) from None
            self._answers[question] = answer
        return self._answers[question]


CAUSES_SHOWN = 200
"""Most links of a chain of causes. Longer ones end in `more`."""


def rows(session: Session, first: int, last: int | None, control: bool, limit: int) -> Work:
    """Rows first <= seq < last up to the instant shown, from the oldest on.

    At most `limit` rows are returned. `next` is where the next page begins.
    """
    world = session.world
    end = world.seq if last is None else min(last, world.seq)
    found: list[dict[str, Any]] = []
    at = first
    while at < end and len(found) < limit:
        until = min(end, at + SEARCHED_ROWS)
        seqs = world.trace.seqs(at, until, control_only=control, limit=limit - len(found))
        found += yield from rows_at(world.trace, seqs)
        at = until
        yield None
    more = len(found) == limit and found[-1]["seq"] + 1 < end
    return {
        "rows": found,
        "first": first,
        "last": end,
        "length": world.seq,
        "branch": world.branch,
        "next": found[-1]["seq"] + 1 if more else None,
    }


def row(session: Session, seq: int) -> Work:
    """A row, the chain of its causes back to the root, and the row of its `evidence_seq`."""
    trace = session.world.trace
    if seq >= len(trace):
        raise Refused("not-found", f"Row {seq} has not happened.", f"Rows so far are 0 to {len(trace) - 1}.")
    asked = trace.row(seq)
    causes = yield from causes_of(trace, asked, CAUSES_SHOWN)
    evidence = trace.row(asked["evidence_seq"]) if "evidence_seq" in asked else None
    return {
        "row": asked,
        "causes": causes,
        "evidence": evidence,
        "more": "cause_seq" in (causes[-1] if causes else asked),
    }


def marker(session: Session, number: int) -> Work:
    require_logs(session)
    found = yield in_thread(lambda: _marker(session.world, number))
    if found is None:
        raise Refused(
            "not-found", f"No marker {number} has been written so far.", "Markers count from 1 in the run."
        )
    return found


def _marker(world: Any, number: int) -> dict[str, Any] | None:
    try:
        return world.marker(number)
    except ValueError:
        return None


def summary(session: Session) -> Work:
    return (yield in_thread(session.world.summary))


def admin(session: Session, tool: str, cluster: str, topic: str) -> Work:
    """The output of an admin tool at the instant shown (docs/admin.md)."""
    require_logs(session)
    return (yield from session.printouts.ask(session.world, (tool, cluster, topic)))


def inputs(session: Session) -> Work:
    """The inputs that reproduce this run, up to the instant shown."""
    world = session.world
    digest = yield in_thread(world.digest)
    return {
        "engine_version": ENGINE_VERSION,
        "commands": world.command_log,
        "until_us": world.now_us,
        "branch": world.branch,
        "digest": digest,
    }


def branches(session: Session) -> Work:
    """The inputs of every branch, and the number of the one that is shown."""
    world = session.world
    yield None
    return {"branch": world.branch, "branches": world.branch_inputs()}


def trace_head(session: Session) -> Work:
    """The metadata of the trace up to the instant shown, as a trace file has it (docs/trace.md)."""
    world = session.world
    head = yield in_thread(lambda: meta_of_trace(world))
    return {**head, "branch": world.branch}


def brokers(session: Session) -> Work:
    """The load of the declared brokers over time, and the latency of what they send."""
    require_logs(session)
    return (yield in_thread(session.world.broker_load))


def tile_of(session: Session, branch: int, cluster: str, topic: str, level: int, index: int) -> Work:
    if branch != session.world.branch:
        raise Refused(
            "other-branch",
            f"The lab shows branch {session.world.branch}, not {branch}.",
            "Switch to that branch first.",
        )
    require_logs(session)
    held = session.world.topics.get(cluster)
    if held is None:
        known = ", ".join(session.world.topics)
        raise Refused("not-found", f"There is no cluster {cluster[:80]!r}.", f"Clusters are {known}.")
    if topic not in held:
        return absent_tile(level, index)
    return (yield from tile(session, cluster, topic, level, index))


def require_logs(session: Session) -> None:
    """Raise Refused unless the lab's protocol has logs."""
    if not session.world.topics:
        raise Refused("no-logs", "This lab has no clusters with logs.", "See the event list and the summary.")


COUNTED = frozenset({"summary", "inputs", "trace-head", "why-duplicates", "messages", "story"})
"""Requests that may take seconds in a long run. The page shows that one is running."""


def creation(session: Session, of: str | None) -> Work:
    """Each cluster's namespaces and topics, and the start of every replicator.

    With `of` (`from/to/topic`) the answer also has how the starts of that replicator went so far.
    """
    require_logs(session)
    world = session.world
    found = world.creation()
    yield None
    if of is None:
        return {**found, "starts": None}
    known = {f"{one['from']}/{one['to']}/{one['topic']}": one for one in found["replicators"]}
    if of not in known:
        raise Refused(
            "not-found",
            f"There is no replicator {of[:80]!r}.",
            f"Replicators are {', '.join(known) or 'none'}; write from/to/topic.",
        )
    one = known[of]
    return {
        **found,
        "starts": {
            "of": of,
            **(yield in_thread(lambda: world.replicator_starts(one["from"], one["to"], one["topic"]))),
        },
    }


ANSWERS: dict[str, Callable[..., Work]] = {
    "rows": rows,
    "row": row,
    "events": events,
    "cone": cone,
    "curve": curve,
    "passages": passages,
    "node-messages": node_messages,
    "latest": latest,
    "landmarks": landmarks,
    "marker": marker,
    "summary": summary,
    "admin": admin,
    "inputs": inputs,
    "branches": branches,
    "trace-head": trace_head,
    "tile": tile_of,
    "why-duplicates": stories.why_duplicates,
    "messages": stories.messages,
    "story": stories.story,
    "what-if": stories.what_if,
    "tour": tour,
    "forecast": stories.forecast,
    "creation": creation,
    "brokers": brokers,
}


def answer(session: Session, what: str, arguments: dict[str, Any]) -> Work:
    """The answer to a question as JSON text. Raises Refused for arguments out of bounds."""
    check_arguments(what, arguments)
    try:
        found = yield from ANSWERS[what](session, **arguments)
    except NotOffered as error:
        raise Refused(
            "not-offered", str(error), "Ask in a simulated run, or in a lab of another protocol."
        ) from None
    yield None
    return encode(found)
