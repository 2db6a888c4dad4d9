"""No marker reaches a client."""

from simulator.checks.checks import CLAIMS, Checks
from simulator.trace.registry import NULL
from tests.simulator.written_trace import WrittenTrace, scenario


def violations(written):
    return Checks(scenario()).read(written.trace)


def test_messages_around_a_marker_may_be_delivered():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.marker("a", 1)
    written.marker("a", 2, peer="b")
    written.stored("a", 1, 3)
    written.about("message.delivered", "a", 0, 0)
    written.about("message.delivered", "a", 1, 3)
    assert violations(written) == []


def test_delivery_from_a_markers_position_is_a_violation():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.marker("a", 1)
    seq = written.about("message.delivered", "a", 1, 1)
    (broken,) = violations(written)
    assert (broken.claim, broken.seq) == (CLAIMS[2], seq)
    assert broken.reason == "a consumer of billing at a was handed 1:1 of orders, which is a marker"


def test_delivery_without_a_producer_is_a_violation():
    written = WrittenTrace()
    written.marker("a", 0, peer="b")
    written.about("message.delivered", "a", NULL, 0, producer=NULL)
    assert len(violations(written)) == 1


def test_a_marker_at_the_same_position_of_another_log_does_not_matter():
    written = WrittenTrace()
    written.marker("b", 0)
    written.stored("a", 0, 0)
    written.about("message.delivered", "a", 0, 0)
    assert violations(written) == []
