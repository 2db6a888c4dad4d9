"""What a page asks about failovers that happened, and about shared groups: their messages by cause, one
message's story, and what would have helped.

A *case* is a failover or a group, numbered through: failovers in their order, then groups by name (a lab has
the ones or the others).
Rules: each answer is about all that the lab's present branch has run, wherever it stands, so it stays while
somebody steps through a story; counting a long run takes seconds, so it happens in a thread while the lab
stands still. Arguments were checked by the view, what is not there is refused in words.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from simulator.stories import (
    groups,
    page,
    shared_groups,
    shared_page,
    shared_place_of,
    shared_story,
    story_of,
)
from simulator.what_if import beside, looks
from visualizer.labs.session import Session
from visualizer.labs.work import Work, in_thread
from visualizer.live.wire import Refused
from visualizer.questions.curve import FIGURES as RISKS

FIGURES = ("duplicates", "redeliveries", "stranded", "lost")
SHARED_FIGURES = ("duplicates", "redeliveries", "lost")


def why_twice(session: Session) -> Work:
    """Every failover of the branch with its figures, what was foretold, and its messages in groups; every
    shared group likewise.
    """
    world = session.world

    def told(number: int, one: Any) -> dict[str, Any]:
        names = {
            "number": number,
            "subscription": one.subscription,
            "from": one.source,
            "to": one.target,
            "mode": one.mode,
            "at_us": one.at_us,
            "seq": one.opened_seq,
        }
        figures = {
            name: getattr(one, name)
            for name in (*FIGURES, "stranded_returned", "outage_us", "caught_up_us", "drained_us")
        }
        return {**names, **figures, "forecast": world.foretold(one.opened_seq), "groups": groups(one)}

    def shared(number: int, name: str, one: Any) -> dict[str, Any]:
        return {
            "number": number,
            "group": name,
            "at_us": 0,
            **{figure: getattr(one, figure) for figure in SHARED_FIGURES},
            "groups": shared_groups(one),
        }

    failovers = yield in_thread(
        lambda: [told(number, one) for number, one in enumerate(world.counted_whole().failovers)]
    )
    of_groups = [
        shared(number, name, one)
        for number, (name, one) in enumerate(sorted(world.counted_whole().groups.items()), len(failovers))
    ]
    return {
        "branch": world.branch,
        "rows": world.counted_whole().upto_seq,
        "counted_to_us": world.furthest_us,
        "failovers": failovers,
        "shared": of_groups,
    }


def messages(session: Session, failover: int, kind: str, cause: str, first: int, limit: int) -> Work:
    """A page of messages of one kind and cause."""
    counted = yield from _case(session, failover)
    if isinstance(counted, tuple):
        _require_shared_kind(kind)
        return (yield in_thread(lambda: shared_page(counted[1], cause, first, limit)))
    _require_kind(counted, kind)
    return (yield in_thread(lambda: page(counted, kind, cause, first, limit)))


def story(
    session: Session, failover: int, kind: str, place: int | None, producer: str | None, number: int | None
) -> Work:
    """One message's story, named by its place in the list of its kind or by itself."""
    world = session.world
    counted = yield from _case(session, failover)
    if isinstance(counted, tuple):
        _require_shared_kind(kind)
        name, group = counted
        listed = group.duplicates_list
        if place is None and producer is not None and number is not None:
            place = shared_place_of(group, producer, number)
    else:
        listed = _require_kind(counted, kind)
        if place is None:
            place = yield in_thread(lambda: listed.place_of(producer=producer, sequence_id=number))
    if place is None or place >= len(listed):
        which = f"{producer}/{number}" if place is None else f"number {place}"
        raise Refused(
            "not-found",
            f"Message {which} is not among the {len(listed)} of this kind.",
            "Choose one from the list.",
        )
    if isinstance(counted, tuple):
        case = listed[place]
        beats = yield in_thread(lambda: shared_story(world.trace, name, case))
    else:
        case, beats = yield in_thread(
            lambda: story_of(world.trace, counted, kind, place, world.counted_whole().upto_seq)
        )
    told = [asdict(beat) for beat in beats]
    return {
        "failover": failover,
        "kind": kind,
        "place": place,
        "of": len(listed),
        "producer": case.producer,
        "sequence_id": case.sequence_id,
        "cause": case.cause,
        "beats": told,
    }


def _case(session: Session, number: int) -> Work:
    """A counted failover, or (name, counted group)."""
    counted = yield in_thread(session.world.counted_whole)
    cases = [*counted.failovers, *sorted(counted.groups.items())]
    if number >= len(cases):
        noun = "group" if counted.groups else "failover"
        raise Refused(
            "not-found",
            f"There is no {noun} {number}.",
            f"So far there have been {len(cases)} on this branch, counted from 0.",
        )
    return cases[number]


def _require_shared_kind(kind: str) -> None:
    if kind != "duplicates":
        raise Refused(
            "bad-argument",
            f"There is no kind {kind[:40]!r} of a group's messages.",
            "There are stories of duplicates.",
        )


def _require_kind(counted: Any, kind: str) -> Any:
    lists = {
        "duplicates": counted.duplicates_list,
        "redeliveries": counted.redelivered_list,
        "stranded": counted.stranded_list,
        "lost": counted.lost_list,
    }
    if kind not in lists:
        raise Refused(
            "bad-argument", f"There is no kind {kind[:40]!r} of messages.", f"Kinds are {', '.join(lists)}."
        )
    return lists[kind]


def forecast(session: Session, subscription: str, topic: str, after_us: int) -> Work:
    """The forecast now and its curve after an instant, the remotes' lag, and why each region asks for no
    snapshot now.
    """
    world = session.world
    if subscription not in world.subscriptions:
        raise Refused(
            "not-found",
            f"There is no subscription {subscription[:60]!r}.",
            f"Subscriptions are {', '.join(world.subscriptions)}.",
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


def what_if(session: Session) -> Work:
    """What would have helped, as far as it has been run: asking begins it, asking again tells how far it
    is.
    """
    yield None
    assert session.reruns is not None, "the hub gives each session its reruns"
    found = session.reruns.of(session.world)
    scenario = session.world.scenario
    told = {**looks(scenario), "variants": beside(scenario, found.outcomes)}
    return {
        "state": found.state,
        "words": found.words,
        "running": found.running,
        "of": found.of,
        "until_us": found.until_us,
        **told,
    }
