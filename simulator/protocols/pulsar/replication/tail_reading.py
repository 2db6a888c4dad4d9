"""How a replicator passes messages of other clusters while its read waits (`storage.tail_read`).

Rules: such messages need no event, because a replicator only skips them. They count as read at their instant
or at the check, and the cursor passes them with the next read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.replication import entry_rules
from simulator.protocols.pulsar.replication.connecting import STARTED

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


def skip_others(replicator: Replicator) -> None:
    """Skip the messages of other clusters at the read position, without a read."""
    log, messages = replicator.topic.log, replicator.runtime.messages
    if replicator.connecting.state != STARTED or replicator.stalled or replicator.schemas.waiting:
        return
    while replicator.read_to <= (index := replicator.read_index) < log.length:
        record = log.records.values[index]
        if record < 0 or messages.origin[record] == replicator.origin_index:
            break
        replicator.read_index = index + 1
        replicator.receipts.acknowledge(index)
        entry_rules.pass_over_others(replicator, index)
        replicator.read_to = replicator.read_index
