"""A batched stretch: all events before its horizon, and none after it.

Rules: `order` determines their order.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.fast_path.flow import Flow
from simulator.protocols.pulsar.fast_path.groups import Group, Groups
from simulator.protocols.pulsar.fast_path.survey import REDELIVERY_REQUESTED, Survey
from simulator.protocols.pulsar.fast_path.wire import Wire
from simulator.trace.registry import NULL

_NONE = np.empty(0, dtype=np.int64)


class Stretch:
    """The events of a flow before `horizon_us`.

    It publishes at `published_us` `messages` with `sequence_ids` and `keys`, as `entries` of a `ledger`.
    `own` are the survey's events, `peer_events` those of peers, `outcomes` the results of the own ones.
    Places among the arrivals: `published_places` of published messages, `redelivered_places` of redelivered
    ones (at the events `returned`), `begun` of dispatched ones, `done` of processed ones.
    """

    def __init__(self, flow: Flow, survey: Survey, wires: list[Wire], horizon_us: int) -> None:
        self.flow = flow
        self.survey = survey
        self.wires = wires
        self.horizon_us = horizon_us
        self.published_us = flow.published_us[: int(flow.published_us.searchsorted(horizon_us))]
        self.peer_events = [one for one in survey.peer_events if one.at_us < horizon_us]
        self.own = [event for event in survey.own if event.at_us < horizon_us]
        self.groups: list[Group] = flow.groups.sent if flow.sessions else []
        self.outcomes = (
            [outcome for outcome in flow.work.outcomes if outcome.at_us < horizon_us] if flow.sessions else []
        )
        self.returned = [
            place for place, event in enumerate(self.own) if event.method == REDELIVERY_REQUESTED
        ]
        self.begun = self.done = self.redelivered_places = _NONE
        self.published_places: np.ndarray | slice = _NONE
        if flow.sessions:
            work = flow.work
            self.begun, self.done = (
                (instants_us < horizon_us).nonzero()[0] for instants_us in (work.begun_us, work.done_us)
            )
            self.redelivered_places = work.redelivered_places[: len(self.returned)]
            self.published_places = (
                work.published_places[: len(self.published_us)]
                if self.returned
                else slice(0, len(self.published_us))
            )
        topic, ordinals, keys = flow.topic, np.arange(len(self.published_us)), flow.producer.spec.keys
        self.messages = flow.producer.runtime.message_count + ordinals
        self.sequence_ids = flow.producer.next_sequence_id + ordinals
        self.keys = self.sequence_ids % keys if keys else NULL
        self.ledger, self.entries = topic.log.ledgers[-1].id, topic.log.ledgers[-1].entries + ordinals

    def until(self, horizon_us: int) -> Stretch:
        """The same stretch with an earlier horizon, after the peers' events have run."""
        flow, count = self.flow, int(self.published_us.searchsorted(horizon_us))
        if flow.sessions:
            flow.groups = Groups(flow.work)
            flow.groups.plan(horizon_us)
        for wire in self.wires:
            wire.cut(horizon_us, count)
        return Stretch(flow, self.survey, self.wires, horizon_us)
