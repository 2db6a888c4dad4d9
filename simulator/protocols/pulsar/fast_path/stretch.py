"""A batched stretch: what happens in it.

Rules: everything before the horizon is part of it, nothing after it. `order` determines the order.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.fast_path.groups import Group, Groups
from simulator.protocols.pulsar.fast_path.lane import Lane
from simulator.protocols.pulsar.fast_path.survey import REDELIVERY_REQUESTED, Survey
from simulator.protocols.pulsar.fast_path.wire import Wire
from simulator.trace.registry import NULL

_NOBODY = np.empty(0, dtype=np.int64)


class Stretch:
    """What a lane does before `horizon_us`.

    It publishes at `published_us` `messages` with `sequence_ids` and `keys`, as `entries` of a `ledger`.
    `own` are the survey's events, `passing` those of peers, `acts` what is done at those. By their places
    among the arrivals: `fresh` and `again`, what was published and what is redelivered (at the events
    `returned`); `begun`, dispatched, and `done`, worked on.
    """

    def __init__(self, lane: Lane, survey: Survey, wires: list[Wire], horizon_us: int) -> None:
        self.lane = lane
        self.survey = survey
        self.wires = wires
        self.horizon_us = horizon_us
        self.published_us = lane.published_us[: int(lane.published_us.searchsorted(horizon_us))]
        self.passing = [one for one in survey.passing if one.at_us < horizon_us]
        self.own = [event for event in survey.own if event.at_us < horizon_us]
        self.groups: list[Group] = lane.groups.sent if lane.sessions else []
        self.acts = [act for act in lane.work.acts if act.at_us < horizon_us] if lane.sessions else []
        self.returned = [
            place for place, event in enumerate(self.own) if event.method == REDELIVERY_REQUESTED
        ]
        self.begun = self.done = self.again = _NOBODY
        self.fresh: np.ndarray | slice = _NOBODY
        if lane.sessions:
            work = lane.work
            self.begun, self.done = (
                (instants_us < horizon_us).nonzero()[0] for instants_us in (work.begun_us, work.done_us)
            )
            self.again = work.again[: len(self.returned)]
            self.fresh = (
                work.fresh[: len(self.published_us)] if self.returned else slice(0, len(self.published_us))
            )
        topic, ordinals, keys = lane.topic, np.arange(len(self.published_us)), lane.producer.spec.keys
        self.messages = lane.producer.runtime.message_count + ordinals
        self.sequence_ids = lane.producer.next_sequence_id + ordinals
        self.keys = self.sequence_ids % keys if keys else NULL
        self.ledger, self.entries = topic.log.ledgers[-1].id, topic.log.ledgers[-1].entries + ordinals

    def until(self, horizon_us: int) -> Stretch:
        """The same up to an earlier instant, after what has passed."""
        lane, count = self.lane, int(self.published_us.searchsorted(horizon_us))
        if lane.sessions:
            lane.groups = Groups(lane.work)
            lane.groups.foresee(horizon_us)
        for wire in self.wires:
            wire.cut(horizon_us, count)
        return Stretch(lane, self.survey, self.wires, horizon_us)
