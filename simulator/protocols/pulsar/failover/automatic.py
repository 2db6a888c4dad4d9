"""When clients move by themselves: probes of services, as Pulsar's two failover providers make them.

With `probe: connect` a probe is a TCP connect (`AutoClusterFailover.probeAvailable`, PIP-121), with
`probe: lookup` the lookup of a topic (`SameAuthParamsLookupAutoClusterFailover.probeAvailable`, #23129). Both
move the clients by `PulsarClientImpl.updateServiceUrl`. `course` holds what they decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.cluster import HOST
from simulator.protocols.pulsar.failover.failover import (
    AUTO,
    PRIMARY,
    SECONDARY,
    Failover,
    LookupProbing,
    Probe,
    Probing,
    SwitchTo,
)
from simulator.protocols.pulsar.ranks import FAILOVER, rank
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar

CONNECT, LOOKUP = "connect", "lookup"
"""Kinds of probe."""

PROBE_TIMEOUT_US = {CONNECT: 30_000_000, LOOKUP: 3_000_000}
"""How long a probe waits (AutoClusterFailover.TIMEOUT; `get(3, TimeUnit.SECONDS)` of the lookup)."""

SYN_AGAIN_US: tuple[int, ...] = (1_000_000, 3_000_000, 7_000_000, 15_000_000)
"""When TCP repeats an unanswered SYN after a probe began: a second later, then doubled (RFC 6298, Linux)."""

LOOKUP_CONNECT_TIMEOUT_US = 10_000_000
"""How long a client, or a proxy, waits for a connection (ClientConfigurationData.connectionTimeoutMs)."""

RESENT_US = tuple(200_000 * ((1 << count) - 1) for count in range(1, 9))
"""When TCP repeats an unanswered request on an open connection: 200 ms later, then doubled (Linux)."""

KEEP_ALIVE_US = 30_000_000
"""Interval of a client's or a proxy's keep-alive pings (ClientConfigurationData.keepAliveIntervalSeconds)."""

REGISTERED_US = 30_000_000
"""How long a crashed broker stays registered (metadataStoreSessionTimeoutMillis)."""

CHECK_HEALTHY_INTERVAL_MS, THRESHOLD = 1000, 5
"""Defaults of SameAuthParamsLookupAutoClusterFailover."""

ANSWERED, NOT_READY, BROKEN = "answered", "not ready", "broken"
"""Ends of a lookup.

NOT_READY: a proxy without a broker answers ServiceNotReady (`LookupProxyHandler.getServerError`), which the
client reads as a LookupException, as it does when a tenant or a namespace is missing.
"""


@dataclass(slots=True)
class _Lookup:
    """A lookup that waits for its answer, at these instants from its beginning; the last one ends it."""

    begun_us: int
    connecting: bool
    after_us: tuple[int, ...]
    done: int = 0

    def next_us(self) -> int:
        """The next instant at which an answer is possible."""
        return self.begun_us + self.after_us[self.done]


class AutomaticFailover:
    """Checks the services, and moves the subscription when the client's provider decides.

    Checks run in one thread, one probe after the other. AutoClusterFailover plans them at a fixed rate, so
    one that is overdue begins when the one before it has ended. SameAuthParamsLookupAutoClusterFailover
    begins one a fixed delay after the one before it has ended (4.2.4), or at a fixed rate (4.0.7).
    """

    def __init__(self, runtime: Pulsar, arguments: dict) -> None:
        self.runtime = runtime
        self.arguments = arguments
        self.kind: str = arguments.get("probe", CONNECT)
        source, target = arguments["from"], arguments["to"]
        release = runtime.option("lookupFailoverRelease")
        self.fixed_delay = self.kind == LOOKUP and release == "4.2.4"
        self.probing: Probing | LookupProbing
        if self.kind == LOOKUP:
            services = arguments.get("pulsarServiceUrlArray") or (source, target)
            self.clusters = {name: name for name in services}
            self.interval_us = arguments.get("checkHealthyIntervalMs", CHECK_HEALTHY_INTERVAL_MS) * 1000
            self.probing = LookupProbing(
                tuple(services),
                arguments.get("failoverThreshold", THRESHOLD),
                arguments.get("recoverThreshold", THRESHOLD),
                stale=release != "4.2.4",
                ends_without=release == "4.0.5",
            )
        else:
            self.clusters = {PRIMARY: source, SECONDARY: target}
            self.interval_us = arguments["probeInterval_us"]
            self.probing = Probing(
                arguments["failoverDelay_us"], arguments["switchBackDelay_us"], arguments["switchBack"]
            )
        self.lookups = Lookups(self)
        self.probes = 0  # begun so far: a timeout names its probe
        self.waits = False
        self.asked = self.left = ""
        self.rank = rank(FAILOVER, sorted(runtime.subscriptions).index(arguments["subscription"]), 1)
        self.due_us = runtime.now_us
        self._plan()

    def _plan(self) -> None:
        """Plan the next check."""
        self.due_us = (self.runtime.now_us if self.fixed_delay else self.due_us) + self.interval_us
        self.runtime.schedule(max(self.due_us, self.runtime.now_us), self.rank, self.check)

    def check(self, _argument: None) -> None:
        """Begin a check, and the overdue ones after it that end at this instant.

        Those that find and decide nothing new are left out.
        """
        now_us = self.runtime.now_us
        while True:
            before = replace(self.probing)
            if not self._go_on(self.probing.check(now_us)):
                return  # a probe waits for its answer, or there are no more checks
            if self.fixed_delay or self.due_us + self.interval_us > now_us or self.probing == before:
                break
            self.due_us += self.interval_us
        if not self.fixed_delay:
            self.due_us += (now_us - self.due_us) // self.interval_us * self.interval_us
        self._plan()

    def _go_on(self, step: Probe | SwitchTo | None) -> bool:
        """Perform the steps of a check; True when another may follow, False while a probe waits."""
        while step is not None:
            if isinstance(step, SwitchTo):
                self._move(step.service)
                return True
            cluster = self.runtime.clusters[self.clusters[step.service]]
            up = self._probe(step.service, cluster)
            if up is None:
                self.waits = True
                return False
            step = self._answered(up)
        return not (isinstance(self.probing, LookupProbing) and self.probing.ended)

    def _answered(self, up: bool) -> Probe | SwitchTo | None:
        self.left = self.clusters[self.probing.in_use]
        return self.probing.answered(up, self.runtime.now_us)

    def _probe(self, service: str, cluster: Cluster) -> bool | None:
        """Whether a service is available, None when its probe has to wait."""
        self.probes += 1
        now_us = self.runtime.now_us
        if self.kind == CONNECT:
            if not is_silent(cluster):
                return cluster.accepts_connections
            self._wait(service, now_us, 0)
            return None
        ended = self.lookups.begin(cluster)
        if ended is not None:
            return self._is_available(ended)
        self.asked = service
        self.runtime.schedule(now_us + PROBE_TIMEOUT_US[LOOKUP], self.rank, self.timed_out, self.probes)
        return None

    def _is_available(self, ended: str) -> bool:
        marks = self.arguments.get("markTopicNotFoundAsAvailable", True)
        return ended == ANSWERED or (ended == NOT_READY and marks)

    def _continue(self, up: bool) -> None:
        """The probe that waited has its result."""
        self.waits = False
        if self._go_on(self._answered(up)):
            self._plan()

    # --- connect

    def _wait(self, service: str, begun_us: int, syns: int) -> None:
        """Wait for the next SYN of a probe that began at `begun_us`, or for its timeout."""
        after_us = SYN_AGAIN_US[syns] if syns < len(SYN_AGAIN_US) else PROBE_TIMEOUT_US[CONNECT]
        self.runtime.schedule(begun_us + after_us, self.rank, self.waited, (service, begun_us, syns + 1))

    def waited(self, argument: tuple[str, int, int]) -> None:
        """A SYN is sent again, or the probe's timeout is over."""
        service, begun_us, syns = argument
        cluster = self.runtime.clusters[self.clusters[service]]
        times_out = syns > len(SYN_AGAIN_US)
        if is_silent(cluster) and not times_out:
            self._wait(service, begun_us, syns)
        else:
            self._continue(cluster.accepts_connections and not times_out)

    # --- lookup

    def timed_out(self, probe: int) -> None:
        """A probe has waited its three seconds for a lookup, which goes on."""
        if self.waits and probe == self.probes:
            self._continue(False)

    def lookup_ended(self, cluster: str, ended: str) -> None:
        """A lookup that took time has ended, perhaps after its probe."""
        if self.waits and self.clusters[self.asked] == cluster:
            self._continue(self._is_available(ended))

    # --- both

    def _move(self, service: str) -> None:
        arguments = {**self.arguments, "from": self.left, "to": self.clusters[service]}
        self.lookups.close_connections()
        Failover(self.runtime, arguments, AUTO).begin(NULL)


def is_silent(cluster: Cluster) -> bool:
    """Whether nothing answers a SYN: neither broker nor proxy, nor the kernel of a machine."""
    return not cluster.accepts_connections and cluster.fault == HOST


class Lookups:
    """The lookups of one client: at most one at a time per service URL.

    A probe that finds one in progress waits for that one (`InProgressDeduplicationDecoratorLookupService`). A
    lookup uses an open connection if there is one. A dead process closes it, a machine without power does
    not: its peer, the client or the proxy in front of the brokers, gives it up at the second keep-alive ping,
    and connects anew. A proxy does not try when no broker is registered any more.
    """

    def __init__(self, client: AutomaticFailover) -> None:
        self.client = client
        self.opened_us: dict[str, int] = {}
        self.waiting: dict[str, _Lookup] = {}

    def begin(self, cluster: Cluster) -> str | None:
        """Look the test topic up; returns how that ends at once, None when it takes time."""
        name, now_us, crashed_us = cluster.name, self.client.runtime.now_us, cluster.crashed_at_us
        if name in self.waiting:
            return None
        if crashed_us is not None and self._is_closed(cluster, crashed_us):
            self.opened_us.pop(name, None)
        stale = crashed_us is not None and self.opened_us.get(name, crashed_us + 1) <= crashed_us
        if cluster.up and not stale:
            self.opened_us.setdefault(name, now_us)
            return ANSWERED
        if cluster.up or cluster.fault != HOST:  # a reset by the kernel, or a refused connection
            self.opened_us.pop(name, None)
            return self._broken(cluster)
        assert crashed_us is not None, "a cluster that is down has crashed"
        if cluster.proxy_up and now_us >= crashed_us + REGISTERED_US:
            return NOT_READY
        again_us, most_us = SYN_AGAIN_US, LOOKUP_CONNECT_TIMEOUT_US
        if stale:
            again_us, most_us = RESENT_US, self._given_up_us(name, crashed_us) - now_us
        after_us = (*(one for one in again_us if one < most_us), most_us)
        self._wait(name, _Lookup(now_us, not stale, after_us))
        return None

    def close_connections(self) -> None:
        """The client moves: it closes all connections, also those of other lookups."""
        self.opened_us.clear()
        self.waiting = {name: lookup for name, lookup in self.waiting.items() if lookup.connecting}

    def _is_closed(self, cluster: Cluster, crashed_us: int) -> bool:
        """Whether the connection from before the crash is closed on this side, too."""
        opened_us = self.opened_us.get(cluster.name)
        if opened_us is None or opened_us > crashed_us:
            return False
        return cluster.fault != HOST or self.client.runtime.now_us >= self._given_up_us(
            cluster.name, crashed_us
        )

    def _given_up_us(self, name: str, crashed_us: int) -> int:
        """The second keep-alive ping after a crash, at which the first has no answer."""
        opened_us = self.opened_us[name]
        return opened_us + ((crashed_us - opened_us) // KEEP_ALIVE_US + 2) * KEEP_ALIVE_US

    @staticmethod
    def _broken(cluster: Cluster) -> str:
        """What a client gets for a broken or refused connection to a broker: by itself, or from a proxy."""
        return NOT_READY if cluster.proxy_up else BROKEN

    def _wait(self, name: str, lookup: _Lookup) -> None:
        self.waiting[name] = lookup
        self.client.runtime.schedule(lookup.next_us(), self.client.rank, self.sent_again, (name, lookup))

    def sent_again(self, argument: tuple[str, _Lookup]) -> None:
        """TCP repeats a SYN or the request, or the connection is given up."""
        name, lookup = argument
        if self.waiting.get(name) is not lookup:
            return  # its connection was closed by a move
        del self.waiting[name]
        lookup.done += 1
        cluster, is_last = self.client.runtime.clusters[name], lookup.done == len(lookup.after_us)
        if not cluster.up and cluster.fault == HOST and not is_last:
            self._wait(name, lookup)
            return
        self.opened_us.pop(name, None)
        ended = self._broken(cluster)
        if cluster.up and lookup.connecting and not is_last:
            self.opened_us[name] = self.client.runtime.now_us
            ended = ANSWERED
        self.client.lookup_ended(name, ended)
