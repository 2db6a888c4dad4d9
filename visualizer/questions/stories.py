"""Answers about failovers that happened and about shared groups: messages by cause, stories, what-if.

A *case* is what the protocol counts, such as a failover or a group, numbered from 0. Rules: each answer
covers all that the lab's current branch has run, whatever instant is shown, so it does not change while a
reader steps through a story. Counting a long run takes seconds, so it happens in a thread while the lab is
paused. A case that does not exist is refused with a reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from simulator.story import StoryCase, bursts_of
from simulator.what_if import ROWS_MOST, answer, outcome, variants
from visualizer.labs.background import CHANGED
from visualizer.labs.work import Work, in_thread
from visualizer.live.wire import Refused
from visualizer.questions.curve import FIGURES as RISKS
from visualizer.questions.question import MESSAGES_LIMIT, Argument, Number, Text, Whole, question

if TYPE_CHECKING:
    from simulator.scenarios.canonical import CommandLog
    from visualizer.labs.session import Session

RECORDED_ONLY = "This run was recorded on real brokers: it cannot be run again with a change."
"""Why a recorded run has no forecast and no what-if."""


@question("why-duplicates.json", counts=True)
def why_duplicates(session: Session) -> Work:
    """Every case of the branch with its figures, its forecast, and its messages in groups."""
    world = session.world
    stories = world.protocol.stories

    def described(number: int, case: StoryCase) -> dict[str, Any]:
        forecast_seq = stories.forecast_seq(case)
        forecast = {} if forecast_seq is None else {"forecast": world.forecast_at(forecast_seq)}
        # parts of the whole run, so that it does not matter how far it had run when the page asked
        end_us = max(world.scenario.until_us, world.furthest_us)
        bursts = bursts_of(stories.lists(case).get("duplicates", ()), end_us)
        return {"number": number, **stories.shown(case), **forecast, "bursts": bursts}

    cases = yield in_thread(
        lambda: [described(number, case) for number, case in enumerate(stories.cases(world.counted_whole()))]
    )
    return {
        "branch": world.branch,
        "rows": world.counted_whole().upto_seq,
        "counted_to_us": world.furthest_us,
        "failovers": [],
        "shared": [],
        stories.part: cases,
    }


@question("failovers/<whole:failover>/<slug:kind>.json", counts=True)
def messages(
    session: Session,
    failover: Number,
    kind: Text,
    cause: Text = "",
    first: Whole = 0,
    limit: Annotated[int, Argument(int, MESSAGES_LIMIT, low=1)] = 50,
) -> Work:
    """A page of a failover's messages of one kind and cause."""
    stories = session.world.protocol.stories
    case = yield from _case(session, failover)
    _listed(session, case, kind)
    return (yield in_thread(lambda: stories.page(case, kind, cause, first, limit)))


@question("failovers/<whole:failover>/<slug:kind>/story.json", counts=True)
def story(
    session: Session,
    failover: Number,
    kind: Text,
    place: Whole | None = None,
    producer: Text | None = None,
    number: Whole | None = None,
) -> Work:
    """The story of one message, named by its place in the list of its kind, or by producer and number."""
    if (place is None) == (producer is None or number is None):
        raise Refused(
            "bad-argument",
            "A story is asked for without a message, or with two.",
            "Give place, or producer and number.",
        )
    world = session.world
    stories = world.protocol.stories
    case = yield from _case(session, failover)
    listed = _listed(session, case, kind)
    if place is None and producer is not None and number is not None:
        place = yield in_thread(lambda: stories.place_of(case, kind, producer, number))
    if place is None or place >= len(listed):
        which = f"{producer}/{number}" if place is None else f"number {place}"
        raise Refused(
            "not-found",
            f"Message {which} is not among the {len(listed)} of this kind.",
            "Choose one from the list.",
        )
    found = yield in_thread(
        lambda: stories.story(world.trace, case, kind, place, world.counted_whole().upto_seq)
    )
    return {
        "failover": failover,
        "kind": kind,
        "place": place,
        "of": len(listed),
        "producer": found.producer,
        "sequence_id": found.sequence_id,
        "cause": found.cause,
        "harm": found.harm,
        "steps": [asdict(step) for step in found.steps],
    }


def _case(session: Session, number: int) -> Work:
    """A case of the branch by its number."""
    stories = session.world.protocol.stories
    counted = yield in_thread(session.world.counted_whole)
    cases = stories.cases(counted)
    if number >= len(cases):
        raise Refused(
            "not-found",
            f"There is no {stories.noun} {number}.",
            f"So far there have been {len(cases)} on this branch, counted from 0.",
        )
    return cases[number]


def _listed(session: Session, case: StoryCase, kind: str) -> Sequence[Any]:
    """The messages of a kind. Raises Refused for a kind that does not exist."""
    stories = session.world.protocol.stories
    lists = stories.lists(case)
    if kind not in lists:
        raise Refused("bad-argument", stories.unknown_kind.format(kind=kind[:40]), stories.known_kinds)
    return lists[kind]


@question("forecast/<str:subscription>/<str:topic>.json")
def forecast(session: Session, subscription: Text, topic: Text, after_us: Whole = 0) -> Work:
    """The forecast now and its curve after an instant, the remotes' lag, and the snapshot rules.

    With `after_us` a page omits the points that it has. The rules show why each region skips a snapshot now.
    """
    world = session.world
    if subscription not in world.subscriptions:
        raise Refused(
            "not-found",
            f"There is no subscription {subscription[:60]!r}.",
            f"Subscriptions are {', '.join(world.subscriptions)}.",
        )
    if world.scenario.recording:
        raise Refused(
            "not-offered", RECORDED_ONLY, "Open the scenario itself for forecasts of the simulator."
        )
    rules = world.snapshot_rules(topic)
    if not rules:
        raise Refused(
            "not-found",
            f"There is no topic {topic[:60]!r}.",
            "A topic, or one partition of it, is named as the logs are.",
        )
    yield None
    lag_us = world.sync_lag(subscription)
    now = {
        peer: {**{name: figures[name] for name in RISKS}, "lag_us": lag_us[peer]}
        for peer, figures in world.forecast(subscription).items()
    }
    return {
        "at_us": world.now_us,
        "branch": world.branch,
        "now": now,
        "curve": session.risk_curves.columns(subscription, after_us),
        "rules": rules,
    }


@question("what-if.json")
def what_if(session: Session) -> Work:
    """What would have helped: the first request starts the runs, later ones return their progress."""
    yield None
    if session.world.scenario.recording:
        raise Refused(
            "not-offered", RECORDED_ONLY, "Open the scenario itself to try changes on the simulator."
        )
    assert session.background is not None, "the hub gives each session its background work"
    world = session.world
    scenario, rows = world.scenario, len(world.trace)
    until_us = max(scenario.until_us, world.furthest_us)
    words = f"The run has {rows:,} rows; runs of more than {ROWS_MOST:,} are not run again here."
    study = session.background.of(
        CHANGED,
        what_if_key(world.command_log, until_us),
        lambda runs: runs.each(
            variants(scenario, world.command_log, world.seed, until_us), outcome, lambda first: first["cases"]
        ),
        lab_id=session.lab_id,
        asker=session.asker,
        unfit=words if rows > ROWS_MOST else "",
    )
    found = answer(scenario, study.runs.outcomes, done=study.state == "done")
    return {**found, **study.progress(), "until_us": until_us}


def what_if_key(commands: CommandLog, until_us: int) -> str:
    """Identifies the run that is changed among those of a lab. Its branches may have equal ones."""
    return json.dumps([commands, until_us], sort_keys=True)
