"""What a session keeps of its streams while its client is away, and sends again when it returns.

Rules: a session has one record for each subscription and stream (`#srs{}` of emqx_persistent_session_ds). A
new lease of a stream replaces the record, so the chunk of the lease before is not sent again by the session
(`add_stream_to_session` of emqx_persistent_session_ds_shared_subs). Chunks are sent again in the order in
which they were fetched (`find_replay_streams` of emqx_persistent_session_ds_stream_scheduler). Private
subscriptions with QoS 0 do not read what was published while the client was away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.emqx.reading import Reading

if TYPE_CHECKING:
    from simulator.protocols.emqx.cluster_state import ClusterState
    from simulator.protocols.emqx.scenario.model import SessionSpec
    from simulator.protocols.emqx.session import Session


def note_record(session: Session, reading: Reading) -> None:
    """Make a new reading the session's record of its stream, in place of the one before."""
    key = reading.subscription, reading.stream
    before = session.readings.get(session.records.get(key, -1))
    if before is not None:
        before.replaced = True
    session.records[key] = reading.number


def forget_record(session: Session, reading: Reading) -> None:
    """Forget the record of a reading that the session removes."""
    key = reading.subscription, reading.stream
    if session.records.get(key) == reading.number:
        del session.records[key]


def drop_replaced(session: Session) -> None:
    """Remove the readings whose records were replaced: with the connection their chunks are gone."""
    for reading in [one for one in session.readings.values() if one.replaced]:
        session.remove(reading)


def resume(session: Session, cause: int) -> None:
    """Send every chunk in flight again, and continue to read the private streams."""
    for reading in sorted(session.readings.values(), key=lambda one: one.chunk_seq):
        _send_again(session, reading, cause)
    for reading in list(session.readings.values()):
        if reading.borrower is not None:
            reading.released = reading.forgotten = True  # a borrowed stream must be granted again
            session.let_go(reading)
        elif not reading.busy:
            if session.direct and session.spec.durable:
                reading.skip_to(session.system.storage.streams[reading.stream])
            session.wake(reading.number)


def _send_again(session: Session, reading: Reading, cause: int) -> None:
    """Put the unacknowledged messages of a chunk into the queue again."""
    again = sorted(reading.unacked)
    reading.unacked = {}
    reading.unsent = reading.heavy = len(again)
    if again:
        session.note_chunk(reading, cause, again[0], again[-1] + 1, "again")
        session.outgoing.extend((reading, offset) for offset in again)


def forget(session: Session) -> None:
    """Delete a session with its subscriptions and all messages that its client has not acknowledged.

    A group's position in a stream is kept by its leader. For its next session the client subscribes again.
    """
    for subscription in session.subscriptions.values():
        if subscription.group is None:
            session.system.storage.remove_route(subscription.filter, session.direct)
    session.subscriptions.clear()
    session.readings.clear()
    session.lent.clear()
    session.records.clear()
    session.begun = False


def is_direct(system: ClusterState, spec: SessionSpec) -> bool:
    """Whether private subscriptions use the broker's routes, not storage (`desired_subscription_mode`)."""
    return not spec.durable or (spec.qos == 0 and system.option("qos0Subscriptions") == "direct")
