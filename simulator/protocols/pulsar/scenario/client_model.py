"""The clients of a Pulsar scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.scenarios.model import Distribution, Selection

SHORTEST_REDELIVERY_DELAY_US = 100_000


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """A producer, which publishes `count` messages (None: until `stop_us`).

    It publishes one each `every_us`, or at Poisson instants with that mean. `at_us`, when given, lists the
    instants instead. With `cluster` None it uses the LookupService. An entry holds `batch` messages.
    `send_timeout_us` 0 is never. `replicate_to` None is every cluster. `delay` is delayed delivery: message
    numbers and the time.
    """

    name: str
    topic: str
    cluster: str | None = None
    start_us: int = 0
    stop_us: int | None = None
    every_us: int | None = None
    arrivals: str = "regular"  # regular | poisson
    at_us: tuple[int, ...] | None = None
    count: int | None = None
    size_bytes: int = 1000
    keys: int | None = None  # number of keys, used in turn; None is no key
    batch: int = 1
    send_timeout_us: int = 30_000_000
    replicate_to: tuple[str, ...] | None = None
    delay: Selection | None = None
    paused: bool = False
    schema: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    name: str
    topic: str
    type: str = "Exclusive"  # Exclusive | Failover | Shared | Key_Shared
    replicate_subscription_state: bool = False
    initial_position: str = "Latest"  # Latest | Earliest
    acknowledgement_sync: str = "none"  # none | once (on command) | periodic
    ack_sync_period_us: int = 1_000_000


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A consumer; with `cluster` None it uses the LookupService.

    `acknowledge`: individual | cumulative | never. `hold` delays the ack of some messages,
    `negative_acknowledge` nacks some on their first delivery. `acknowledgment_group_time_us` 0 sends every
    ack at once. `acknowledgment_group_phase_us` is an instant at which its first process sends groups; with
    None the option `ackGroupPhase` decides. `ack_timeout_us` 0 is off.
    """

    name: str
    subscription: str
    cluster: str | None = None
    start_us: int = 0
    stop_us: int | None = None
    receiver_queue_size: int = 1000
    processing: Distribution = Distribution()
    acknowledge: str = "individual"
    acknowledgment_group_time_us: int = 100_000
    acknowledgment_group_phase_us: int | None = None
    negative_ack_redelivery_delay_us: int = 60_000_000
    negative_ack_precision_bits: int = 8
    ack_timeout_us: int = 0
    hold: Selection | None = None
    negative_acknowledge: Selection | None = None
    batch_index_acknowledgment: bool = True
    paused: bool = False
    schema: str | None = None
    role: str | None = None

    @property
    def redelivery_delay_us(self) -> int:
        """Time from a negative ack to the redelivery request.

        The Java client waits at least 100 ms (NegativeAcksTracker.MIN_NACK_DELAY).
        """
        return max(self.negative_ack_redelivery_delay_us, SHORTEST_REDELIVERY_DELAY_US)


@dataclass(frozen=True, slots=True)
class AudienceSpec:
    """Many similar Exclusive subscriptions of a topic in one cluster.

    There are `subscriptions` of them, each with one consumer that receives and acknowledges at once.
    """

    name: str
    topic: str
    cluster: str
    subscriptions: int
    initial_position: str = "Latest"  # Latest | Earliest
    start_us: int = 0
    stop_us: int | None = None
