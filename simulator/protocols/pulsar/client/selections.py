"""Selections of the messages that an application holds or negatively acks: by name, or by a share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from simulator.kernel.random import Shares, stream_key
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from pyroaring import BitMap

    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.client_model import ConsumerSpec

ACKNOWLEDGED = CODE["message.acknowledged"]
HELD, NEGATIVE = CODE["message.held"], CODE["message.negatively-acknowledged"]
EVERY_MESSAGE = range(1 << 62)
"""Every message is a candidate when messages are selected by name."""


class Selected(NamedTuple):
    """Messages to hold or to negatively ack: by name (producer, sequence id), and by a share of all.

    `for_us`: how long they are held (None: until released).
    """

    named: frozenset[tuple[str, int]]
    shares: Shares
    for_us: int | None


class Selections:
    """The messages that a consumer's application does not acknowledge at once.

    `candidates`: the messages that a selection may contain, for one look-up each. None: there is no
    selection.
    """

    __slots__ = ("candidates", "_negatively_acknowledged", "_runtime", "_spec", "holds", "negatives")

    def __init__(self, runtime: Pulsar, spec: ConsumerSpec, negatively_acknowledged: BitMap) -> None:
        """`negatively_acknowledged`: numbers of messages, kept up to date by their owner."""
        self._runtime = runtime
        self._spec = spec
        self._negatively_acknowledged = negatively_acknowledged
        self.candidates: Shares | range | None = None
        self.holds: list[Selected] = []
        self.negatives: list[Selected] = []
        if spec.hold:
            self.hold(spec.hold.messages, spec.hold.share_millionths, spec.hold.for_us)
        if spec.negative_acknowledge:
            chosen = spec.negative_acknowledge
            self.negatives.append(self._selected("negative", chosen.messages, chosen.share_millionths, None))
            self._note_candidates()

    def hold(self, messages: Iterable[tuple[str, int]], share_millionths: int, for_us: int | None) -> None:
        """From now on hold these messages, and a share of all, for a time (None: until released)."""
        self.holds.append(self._selected("hold", messages, share_millionths, for_us))
        self._note_candidates()

    def hold_no_more(self) -> None:
        """Hold no further messages."""
        self.holds = []
        self._note_candidates()

    def choice(self, message: int) -> tuple[int, int]:
        """How a processed message is treated: the type of its row, and for how long it is held.

        NULL: until an operator releases it, or not at all. A message is negatively acked once.
        """
        if self.candidates is not None and message in self.candidates:
            if self._first(self.negatives, message) and message not in self._negatively_acknowledged:
                return NEGATIVE, NULL
            if hold := self._first(self.holds, message):
                return HELD, NULL if hold.for_us is None else hold.for_us
        return ACKNOWLEDGED, NULL

    def _selected(
        self, stream: str, messages: Iterable[tuple[str, int]], share_millionths: int, for_us: int | None
    ) -> Selected:
        key = stream_key(self._runtime.seed, f"{stream}/{self._spec.subscription}")
        return Selected(frozenset(messages), Shares((key, share_millionths)), for_us)

    def _first(self, selections: list[Selected], message: int) -> Selected | None:
        """The first selection that the message is in, by its own draw or by name."""
        runtime = self._runtime
        for selection in selections:
            if message in selection.shares:
                return selection
            if selection.named:
                messages = runtime.messages
                producer = runtime.trace.names[messages.producer[message]]
                if (producer, messages.sequence_id[message]) in selection.named:
                    return selection
        return None

    def _note_candidates(self) -> None:
        selections = [*self.negatives, *self.holds]
        if not selections:
            self.candidates = None
        elif any(selection.named for selection in selections):
            self.candidates = EVERY_MESSAGE
        else:
            self.candidates = Shares.any_of(selection.shares for selection in selections)
