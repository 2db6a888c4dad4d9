"""A message that an application has received."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.kernel.named_tuples import reduce_tuple

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import ReceivedMessage
    from simulator.protocols.pulsar.client.message_keys import About, MessageKey


class Delivery(NamedTuple):
    """A message delivered to the application.

    `seq` is the seq of its `message.delivered` row. `about` has the columns that all rows about it share.
    """

    received: ReceivedMessage
    seq: int
    key: MessageKey
    about: About

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_tuple(self)
