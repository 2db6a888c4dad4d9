"""The options for time inside a cluster: `timing`, and what it stands for.

Rules: by default nothing inside a cluster takes time, and figures can be derived by hand. `measured` are the
values of Pulsar 4.2.4's brokers and Java client (docs/fidelity.md). A broker setting with a measured value
has it in its own declaration.
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.scenarios.model import Distribution
from simulator.scenarios.setting import MEASURED, NOMINAL, TIMING, Setting

_own = partial(Setting, protocol=PULSAR)

TIMING_OPTIONS: tuple[Setting, ...] = (
    _own(
        TIMING,
        NOMINAL,
        "choice",
        (
            "the defaults of the settings and options that have a measured value: nominal, no time inside "
            "a cluster and one phase for all, so that figures can be derived by hand, or as measured "
            "beside Pulsar 4.2.4"
        ),
        (NOMINAL, MEASURED),
    ),
    _own(
        "ackGroupPhase",
        "aligned",
        "choice",
        (
            "when a client's timer of ack groups starts: when it connects, or up to one period earlier, "
            "drawn (the Java client's constructor starts it before the subscribe reaches the broker)"
        ),
        ("aligned", "drawn"),
        measured="drawn",
    ),
    _own(
        "ackGroupDrift",
        0,
        "duration",
        (
            "by how much each period of that timer is longer than acknowledgmentGroupTime: a flush is late "
            "by this, and the next period begins when it has ended (scheduleWithFixedDelay)"
        ),
        measured=100,
    ),
    _own(
        "appendTime",
        Distribution(),
        "distribution",
        (
            "how long the append of an entry takes, drawn per entry, first in, first out: from its end on "
            "the entry is confirmed, and dispatchers and replicators can read it"
        ),
        measured=Distribution("lognormal", value_us=3_500, sigma_millionths=400_000),
    ),
    _own(
        "processingOverhead",
        0,
        "duration",
        (
            "what a client needs for each message beside the application's processing: to wake up, ack "
            "and take the next one; not for audiences"
        ),
        measured=60,
    ),
    _own(
        "topicLoadTime",
        Distribution(),
        "distribution",
        (
            "from an operator's unload of a topic until a broker has loaded it again, drawn per topic and "
            "load; clients that wait for it are connected then"
        ),
        measured=Distribution("uniform", low_us=150_000, high_us=450_000),
    ),
    _own(
        "subscribeTime",
        Distribution(),
        "distribution",
        (
            "from a client's subscribe until the broker has its consumer, drawn each time; consumers that "
            "start at 0 are connected then; not for audiences"
        ),
        measured=Distribution("uniform", low_us=10_000, high_us=40_000),
    ),
    _own(
        "deliveryTime",
        Distribution(),
        "distribution",
        (
            "from a message's dispatch until it is in the consumer's receiver queue, drawn per entry, first "
            "in, first out; not for audiences"
        ),
        measured=Distribution("lognormal", value_us=230, sigma_millionths=500_000),
    ),
    _own(
        "newEntriesCheckLateness",
        Distribution(),
        "distribution",
        (
            "by how much a cursor at the end of a log looks for new entries later than "
            "managedLedgerNewEntriesCheckDelayInMillis, because of the read before it and of the timer, "
            "drawn each time; without that delay it has no effect"
        ),
        measured=Distribution("uniform", low_us=100, high_us=500),
    ),
)
