"""No request of a page delays the other labs.

On a large lab every job and question handles few rows in one turn.

What is measured is work, not time: rows searched or read on the event loop's thread, and queue events, by
turn. What cannot be cut must happen in a thread, during which the lab pauses and the loop does not.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from script.benchmarks import scenarios
from simulator import World, load_scenario, load_scenario_text
from simulator.checks.checks import Checks
from simulator.kernel.clock import Clock
from simulator.trace.trace import BLOCK_ROWS, Trace
from visualizer.labs import jobs
from visualizer.labs.background import Background
from visualizer.labs.session import Session
from visualizer.labs.work import MOST_EVENTS, Job
from visualizer.live.frame_scheduler import CHECK_ROWS
from visualizer.live.wire import Refused
from visualizer.questions.question import QUESTIONS
from visualizer.questions.rows import READ_ROWS, SEARCHED_ROWS

MESSAGES = 24_000
END_US = 39_000_000

MOST = {
    "searched": 2 * SEARCHED_ROWS,
    "read": 2 * READ_ROWS + 5,
    "checked": 4 * CHECK_ROWS,
    "events": MOST_EVENTS,
    "counted": 0,
    "hashed": 0,
}
"""Per turn.

Searched: rows whose types or columns were requested; read: rows made whole; hashed: rows included in a
digest.
"""


class Audience:
    """A viewer; its frames are discarded."""

    def __init__(self) -> None:
        self.frames = 0

    def publish(self, frame: Any, snapshot: Any) -> None:
        self.frames += 1

    def say(self, message: dict[str, Any]) -> None: ...

    def watched(self) -> bool:
        return True

    def position_changed(self) -> None: ...

    def failed(self, error: BaseException) -> None:
        raise error


class NoPump:
    """Studies beside the lab are pump participants of their own: none runs here."""

    def add(self, study: Any) -> None: ...

    def remove(self, study: Any) -> None: ...


TOUR = """\
tour:
  title: A large run
  minutes: 1
  steps:
    - {title: One, at: 1s, text: "At {at}."}
    - {title: Two, at: 20s, text: "At {at}."}
    - {title: Three, at: 39s, text: "At {at}."}
"""


@pytest.fixture(scope="module")
def lab() -> Session:
    """A lab with some 200,000 rows and a failover half-way, at its end."""
    scenario = load_scenario_text(scenarios.fail_over(MESSAGES) + TOUR)
    world = World.from_scenario(scenario)
    world.run(END_US)
    assert world.seq > 2.5 * BLOCK_ROWS
    session = Session("large", 0, Audience())
    session.background = Background(NoPump())
    session.start_with(world, scenario)
    return session


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Work of the current turn so far on this thread."""
    done: Counter[str] = Counter()
    here = threading.get_ident()

    def counts(owner: type, name: str, kind: str, amount: Any) -> None:
        real = getattr(owner, name)

        def counting(self: Any, *given: Any, **named: Any) -> Any:
            if threading.get_ident() == here:
                done[kind] += amount(self, *given, **named)
            return real(self, *given, **named)

        monkeypatch.setattr(owner, name, counting)

    def span(trace: Trace, first: int = 0, last: int | None = None, *_: Any, **__: Any) -> int:
        return (len(trace) if last is None else last) - first

    counts(Trace, "columns", "searched", span)
    counts(Trace, "seqs", "searched", span)
    counts(Trace, "row", "read", lambda *_: 1)
    counts(Trace, "digest", "hashed", lambda trace, upto=None: len(trace) if upto is None else upto)
    counts(
        Checks,
        "read",
        "checked",
        lambda checks, trace, upto=None: max(0, (len(trace) if upto is None else upto) - checks.position),
    )
    counts(Clock, "run_instants", "events", lambda clock, until_us, events, *_: events)
    counts(World, "counted", "counted", lambda world: world.seq)
    yield done


async def done(session: Session, job: Any, work: Counter[str], **named: Any) -> tuple[Any, int, Counter[str]]:
    """(The job's result, its turns, the most of each kind of work in one turn)."""
    result: list[Any] = []
    session.submit(Job(job, result.append, result.append, **named))
    turns, most = 0, Counter()
    while not result:
        work.clear()
        assert session.turn(float(turns)) or session.blocked_on is not None
        session.took(0.004)
        turns += 1
        most |= work
        if session.blocked_on is not None:
            session.resumed(await session.blocked_on())
        assert turns < 100_000
    return result[0], turns, most


def within_bounds(most: Counter[str], what: str) -> None:
    assert {kind: number for kind, number in most.items() if number > MOST[kind]} == {}, what


ASKED: dict[str, dict[str, Any]] = {
    "rows": {"first": 0, "last": None, "control": False, "limit": 2000},
    "row": {"seq": 150_000},
    "events": {},
    "cone": {"seq": 1000},
    "curve": {"from_us": 0, "to_us": END_US},
    "passages": {"from_us": 0, "to_us": END_US},
    "node-messages": {"group": "billing", "client": [], "from_us": 0, "to_us": END_US},
    "latest": {"group": "billing", "client": "web", "stream": "", "after": 0},
    "landmarks": {},
    "marker": {"number": 5},
    "summary": {},
    "admin": {"tool": "stats-internal", "cluster": "a", "topic": "orders"},
    "inputs": {},
    "branches": {},
    "trace-head": {},
    "tile": {"branch": 0, "cluster": "a", "topic": "orders", "level": 6, "index": 0},
    "why-duplicates": {},
    "messages": {"failover": 0, "kind": "stranded", "cause": "", "first": 0, "limit": 50},
    "story": {"failover": 0, "kind": "stranded", "place": 0, "producer": None, "number": None},
    "what-if": {},
    "tour": {},
    "forecast": {"subscription": "billing", "topic": "orders", "after_us": 0},
    "creation": {"of": "a/b/orders"},
    "brokers": {},
}


def test_every_question_is_covered():
    assert set(ASKED) == set(QUESTIONS)


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("at_us", [END_US, END_US // 2])
async def test_a_question_about_a_large_lab_is_bounded_in_every_turn(lab, work, what, at_us):
    await done(lab, jobs.seek(lab, at_us, None), work)
    answer, _turns, most = await done(lab, QUESTIONS[what].answer(lab, **ASKED[what]), work)
    assert not isinstance(answer, Refused), (answer.code, answer.error)
    within_bounds(most, what)


async def test_a_question_for_rare_rows_searches_a_piece_per_turn(lab, work):
    await done(lab, jobs.seek(lab, END_US, None), work)
    never = {"message": ["web", 10**9]}
    for job in (jobs.step(lab, True, never), jobs.step(lab, True, {"subscription": "none"})):
        answer, turns, most = await done(lab, job, work)
        assert isinstance(answer, Refused)
        within_bounds(most, "step back")
    assert turns > 2


@pytest.mark.parametrize("to_us", [END_US // 2, 1, END_US, END_US + 2_000_000])
async def test_seeks_steps_and_branches_are_cut_into_turns(lab, work, to_us):
    _, turns, most = await done(lab, jobs.seek(lab, to_us, None), work)
    within_bounds(most, f"seek to {to_us}")
    for job in (
        jobs.step(lab, False, "control"),
        jobs.step(lab, True, "control"),
        jobs.switch_branch(lab, 0),
    ):
        within_bounds((await done(lab, job, work))[2], "step")


async def test_the_frame_after_a_branch_checks_a_piece_per_turn(work):
    """A branch's checks begin up to a block of rows behind it: the first frame shows their findings, and
    reads all of it.
    """
    scenario = load_scenario_text(scenarios.fail_over(12_000))
    world = World.from_scenario(scenario)
    world.run(END_US)
    session = Session("branching", 0, Audience())
    session.start_with(world, scenario)
    await done(session, jobs.seek(session, None, BLOCK_ROWS - 5_000), work)
    assert BLOCK_ROWS > world.seq > 10 * CHECK_ROWS
    assert world.apply({"do": "cluster.crash", "cluster": "b"}).ok and world.branch == 1
    assert world.unchecked_rows > 10 * CHECK_ROWS
    session.looking.want()
    turns, most = 0, Counter()
    while session.turn(100.0):
        turns, most = turns + 1, most | work
        work.clear()
    within_bounds(most, "the frame")
    assert turns > 10 and world.unchecked_rows == 0


async def test_a_forward_run_of_a_large_lab_takes_many_turns(work):
    scenario = load_scenario_text(scenarios.fail_over(4000))
    session = Session("fresh", 0, Audience())
    session.start_with(World.from_scenario(scenario), scenario)
    _, turns, most = await done(session, jobs.seek(session, 6_000_000, None), work)
    within_bounds(most, "forward")
    assert turns > 50


async def test_the_loop_continues_while_a_run_is_counted(lab, work):
    """Counting waits in a thread: the turn that requests it returns at once."""
    lab.looking.want()
    while lab.turn(0.0):
        pass
    lab.submit(Job(QUESTIONS["summary"].answer(lab), lambda _: None, lambda _: None, "count"))
    assert lab.turn(1.0) and lab.blocked_on is not None
    assert not lab.turn(1.1), "the lab stands still meanwhile"
    before = lab.listener.frames
    lab.remind()
    assert lab.listener.frames == before + 1, "and says so"
    lab.resumed(await lab.blocked_on())
    assert lab.turn(1.2)


@pytest.mark.parametrize(
    "what",
    sorted(
        set(QUESTIONS)
        - {
            "rows",
            "row",
            "events",
            "cone",
            "curve",
            "passages",
            "node-messages",
            "latest",
            "landmarks",
            "summary",
            "inputs",
            "branches",
            "trace-head",
            "tour",
            "why-duplicates",
            "what-if",
        }
    ),
)
async def test_a_lab_without_logs_refuses_questions_about_logs_with_a_reason(what: str) -> None:
    session = Session("groups", 1, Audience())
    scenario = load_scenario("groups-leave")
    world = World.from_scenario(scenario)
    world.run(1_000_000)
    session.start_with(world, scenario)
    result: list[Any] = []
    session.submit(Job(QUESTIONS[what].answer(session, **ASKED[what]), result.append, result.append))
    for turn in range(100):
        session.turn(float(turn))
        if session.blocked_on is not None:
            session.resumed(await session.blocked_on())
    assert isinstance(result[0], Refused) and result[0].error and result[0].hint
