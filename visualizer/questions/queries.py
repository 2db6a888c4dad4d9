"""Answers to requests of a page beside the socket: rows, markers, summary, statistics, inputs, tour.

Rules: each answer is a job of the lab, so the world does not move meanwhile. It is a generator that may yield
between pieces, and work that cannot be cut happens in a thread. A request for something that does not exist
is refused with a reason. An internal error in an answer ends only that answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from simulator import ENGINE_VERSION, AdminError, NotOffered
from simulator.headless import meta_of_trace
from simulator.tours import tour_answer, tour_run
from simulator.what_if import ROWS_MOST
from visualizer.labs.background import CHANGED
from visualizer.labs.definitions import builtin_scenario
from visualizer.labs.work import Work, in_thread
from visualizer.live.wire import Refused, encode
from visualizer.questions import stories, tiles  # noqa: F401 stories declares questions
from visualizer.questions.question import (
    HIGHEST_LEVEL,
    HIGHEST_TILE,
    QUESTIONS,
    ROWS_LIMIT,
    Argument,
    Flag,
    Number,
    Text,
    Whole,
    check_arguments,
    question,
)
from visualizer.questions.rows import SEARCHED_ROWS, causes_of, rows_at

if TYPE_CHECKING:
    from visualizer.labs.session import Session


Printed = tuple[str, str, str]
"""What is printed: (tool, cluster, topic)."""


class Printouts:
    """Answers at the current instant.

    Many viewers request the same output. Rules: an answer belongs to one instant of one branch. When the
    world has moved all are dropped, so at most one per tool, cluster and topic is held.
    """

    def __init__(self) -> None:
        self._instant: tuple[int, int, int] | None = None
        self._answers: dict[Printed, dict[str, Any]] = {}

    def ask(self, world: Any, printed: Printed) -> Work:
        """The answer of `World.admin`, computed in slices when it is not kept. Raises Refused."""
        instant = (world.branch, world.seq, world.now_us)
        if instant != self._instant:
            self._instant, self._answers = instant, {}
        if printed not in self._answers:
            try:
                answer = yield from world.begin_admin(*printed)
            except AdminError as error:
                raise Refused("not-found", str(error), error.hint) from None
            self._answers[printed] = answer
        return self._answers[printed]


CAUSES_SHOWN = 200
"""Most links of a chain of causes. Longer ones end in `more`."""


@question("rows.json")
def rows(
    session: Session,
    first: Whole = 0,
    last: Whole | None = None,
    control: Flag = False,
    limit: Annotated[int, Argument(int, ROWS_LIMIT, low=1)] = 500,
) -> Work:
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


@question("row/<whole:seq>.json")
def row(session: Session, seq: Whole) -> Work:
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


@question("marker/<whole:number>.json")
def marker(session: Session, number: Whole) -> Work:
    """A marker, counted from 1 in the run, and where it has arrived so far."""
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


@question("summary.json", counts=True)
def summary(session: Session) -> Work:
    """Figures of the run up to the instant shown (docs/counting.md)."""
    return (yield in_thread(session.world.summary))


@question("admin/<str:tool>/<str:cluster>/<str:topic>.json")
def admin(session: Session, tool: Text, cluster: Text, topic: Text) -> Work:
    """The output of an admin tool at the instant shown (docs/command-line.md)."""
    require_logs(session)
    return (yield from session.printouts.ask(session.world, (tool, cluster, topic)))


@question("inputs.json", counts=True)
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


@question("")
def branches(session: Session) -> Work:
    """The inputs of every branch, and the number of the one that is shown."""
    world = session.world
    yield None
    return {"branch": world.branch, "branches": world.branch_inputs()}


@question("", counts=True)
def trace_head(session: Session) -> Work:
    """The metadata of the trace up to the instant shown, as a trace file has it (docs/trace.md)."""
    world = session.world
    head = yield in_thread(lambda: meta_of_trace(world))
    return {**head, "branch": world.branch}


@question("brokers.json")
def brokers(session: Session) -> Work:
    """The load of the declared brokers over time, and the latency of what they send."""
    require_logs(session)
    return (yield in_thread(session.world.broker_load))


@question(
    "tiles/<whole:branch>/<str:cluster>/<str:topic>/<whole:level>/<whole:index>.json",
    full='"full":true',  # names hold no quotes, so this is the field
)
def tile(
    session: Session,
    branch: Number,
    cluster: Text,
    topic: Text,
    level: Annotated[int, Argument(int, HIGHEST_LEVEL)],
    index: Annotated[int, Argument(int, HIGHEST_TILE)],
) -> Work:
    """A tile of a topic's log. A full one never changes, so browsers cache it."""
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
        return tiles.absent_tile(level, index)
    return (yield from tiles.tile(session, cluster, topic, level, index))


def require_logs(session: Session) -> None:
    """Raise Refused unless the lab's protocol has logs."""
    if not session.world.topics:
        raise Refused("no-logs", "This lab has no clusters with logs.", "See the event list and the summary.")


@question("creation.json")
def creation(session: Session, of: Text | None = None) -> Work:
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


def _next(name: str) -> dict[str, Any] | None:
    """The tour that the last step offers."""
    if not name:
        return None
    following = builtin_scenario(name).tour
    return None if following is None else {"scenario": name, "title": following.title}


@question("tour.json")
def tour(session: Session) -> Work:
    """The tour of the lab's scenario: the first request starts its run, later ones return its state.

    The run has the lab's scenario and seed and no command given by hand. It is run once per lab, whatever the
    lab itself shows. The answers to its questions are included: they are no secret. `branch` is the lab's
    branch that has the same run, None when commands were given by hand in all of them.
    """
    yield None
    world = session.world
    told = world.scenario.tour
    if told is None:
        raise Refused(
            "not-found", "This scenario has no tour.", "Open a scenario of the gallery that has one."
        )
    assert session.background is not None, "the hub gives each session its background work"
    study = session.background.of(
        CHANGED,
        "tour",
        lambda runs: runs.each([tour_run(world.scenario, world.seed)], tour_answer),
        lab_id=session.lab_id,
        asker=session.asker,
        rows_max=ROWS_MOST,
    )
    outcome: dict[str, Any] = study.runs.outcomes[0] if study.runs.outcomes else {"steps": [], "words": ""}
    failed = {"state": "failed", "words": outcome["words"]} if outcome["words"] else {}
    return {
        **study.progress(),
        **failed,
        "title": told.title,
        "minutes": told.minutes,
        "branch": world.branch_without_commands,
        "steps": outcome["steps"],
        "next": _next(told.next),
    }


def answer(session: Session, what: str, arguments: dict[str, Any]) -> Work:
    """The answer to a question as JSON text. Raises Refused for arguments out of bounds."""
    check_arguments(what, arguments)
    try:
        found = yield from QUESTIONS[what].answer(session, **arguments)
    except NotOffered as error:
        raise Refused(
            "not-offered", str(error), "Ask in a simulated run, or in a lab of another protocol."
        ) from None
    yield None
    return encode(found)
