"""The client address that quotas count for, and the quotas per address.

Rules: it is the address of the socket's peer. When that is one of TRUSTED_PROXIES, it is the last address in
X-Forwarded-For that is not one of them. Without the setting the header is ignored, since any client can set
it. A visitor with IPv6 usually has a /64 network, so the network is counted.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from visualizer.live.wire import Refused

SOCKETS_PER_CLIENT = 600
"""Open sockets of one address: a lab's 500 viewers in one building, and some more."""

OPEN_LABS_PER_CLIENT = 60
"""Labs that one address has open in one process, which holds 200.

It is enough for two classes of 30 in one building.
"""

FAIR_LABS = 10
"""Labs that one address, or one network of addresses, keeps open in a full process.

Beyond them one of its labs is closed for an address with fewer. So it takes 20 networks, not four addresses
or the many of one network, to shut others out.
"""

LABS_PER_HOUR = 600
"""Labs that one address makes in an hour: a class of 60 with ten each."""

LABS_PER_CLIENT = 2_000
"""Labs of one address that are kept."""

REPORTS_PER_CLIENT = 30
"""Reports of one address that are queued or made at once; the queue takes turns among addresses."""

EXPERIMENTS_PER_CLIENT = 5
"""Experiments of one address that are queued or run at once; the queue takes turns among addresses."""

EXPERIMENTS_KEPT_PER_CLIENT = 200
"""Experiments of one address that are kept, up to a few megabytes each."""

AUDITS_PER_CLIENT = 3
"""Audits of one address that are queued or made at once, each with the files of its upload."""

AUDITS_KEPT_PER_CLIENT = 50
"""Audits of one address that are kept, up to a few megabytes each."""

STUDIES_PER_CLIENT, COMPARISONS_PER_CLIENT = 3, 2
"""Set-ups of one address that are studied at once, and comparisons that run for it.

The process queues about twenty set-ups and runs four comparisons.
"""

RERUNS_PER_CLIENT = 2
"""Runs of "what would have helped" in progress at once for one address.

The process has eight (`visualizer.labs.background`).
"""

INEVITABLES_PER_CLIENT = 1
"""Sets of re-runs with fresh draws in progress at once for one address: hundreds of runs each."""

IPV6_NETWORK_BITS = 64
"""Prefix length of an IPv6 address that is counted: what a provider assigns to one household."""

WIDER_NETWORK_BITS = {4: (24,), 6: (56, 48)}
"""Prefix lengths, by IP version, of the networks that are also counted in a full process.

A provider assigns up to an IPv6 /48 to one customer (RFC 6177), with 65,536 networks that count as addresses.
"""

KEY_LENGTH = 16
"""Characters of a stored address's keyed hash."""

client: ContextVar[str] = ContextVar("client", default="")
"""The address of the current request or socket; empty where there is none (a Unix socket, a test).

Without an address no quota applies.
"""

sockets: Counter[str] = Counter()
"""Open sockets in this process, by address."""


def client_key() -> str:
    """The keyed hash stored for the current address: enough to count by, not the address itself."""
    name = client.get()
    return salted_hmac("failover-lab.client", name).hexdigest()[:KEY_LENGTH] if name else ""


def client_of(scope: dict[str, Any]) -> str:
    """The address that a request or socket counts for."""
    peer = (scope.get("client") or ("",))[0]
    if not is_trusted_proxy(peer):
        return _counted(peer)
    forwarded = b",".join(
        value for name, value in scope.get("headers", []) if name == b"x-forwarded-for"
    ).decode("latin1")
    for hop in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        if not is_trusted_proxy(hop):
            return _counted(hop)
    return _counted(peer)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_trusted_proxy(text: str) -> bool:
    """Whether an address is in TRUSTED_PROXIES."""
    address = _address(text)
    return address is not None and any(
        address in network for network in map(ipaddress.ip_network, settings.TRUSTED_PROXIES)
    )


def _counted(text: str) -> str:
    address = _address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, IPV6_NETWORK_BITS), strict=False))
    return "" if address is None else str(address)


class Bound:
    """A number of events that may come at once, refilled evenly. The clock is passed in."""

    __slots__ = ("_left", "_most", "_per_s", "_seen_s")

    def __init__(self, most: int, per_s: float, now_s: float) -> None:
        self._most, self._per_s, self._left, self._seen_s = most, per_s, float(most), now_s

    def take(self, now_s: float, cost: int = 1) -> bool:
        """Count an event of this cost if the bound allows it. Returns whether it does."""
        self._left = min(self._most, self._left + (now_s - self._seen_s) * self._per_s)
        self._seen_s = now_s
        if self._left < cost:
            return False
        self._left -= cost
        return True


WIDTHS = range(1 + max(map(len, WIDER_NETWORK_BITS.values())))
"""From the counted address itself to the widest network around it."""


def network_of(name: str, width: int) -> str:
    """The counted address (width 0), or the network of a width around it, at most the widest."""
    network = ipaddress.ip_network(name)
    bits = (network.prefixlen, *WIDER_NETWORK_BITS[network.version])
    return str(network.supernet(new_prefix=bits[min(width, len(bits) - 1)]))


class KnownClients:
    """ASGI: keeps the client address for all work of a request or socket, and limits open sockets."""

    def __init__(self, application: Callable[..., Awaitable[Any]]) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        name = client_of(scope)
        client.set(name)
        if scope["type"] != "websocket":
            return await self.application(scope, receive, send)
        if name and sockets[name] >= SOCKETS_PER_CLIENT:
            return await send({"type": "websocket.close", "code": 1013})
        sockets[name] += 1
        try:
            return await self.application(scope, receive, send)
        finally:
            sockets[name] -= 1
            if not sockets[name]:
                del sockets[name]


def check_open_labs(opened: int) -> None:
    """Raise Refused when this client has too many labs open."""
    if client.get() and opened >= OPEN_LABS_PER_CLIENT:
        raise Refused(
            "too-many",
            f"{OPEN_LABS_PER_CLIENT} labs are open from your address already.",
            "Close the pages of some; a lab is put away a minute after its last page.",
        )


def check_at_once(running: list[str], most: int, what: str, name: str | None = None) -> None:
    """Raise Refused when this client already has the allowed number of `running` entries, by address.

    `name` is the client where it is not the current one.
    """
    name = client.get() if name is None else name
    if name and running.count(name) >= most:
        raise Refused(
            "too-many", f"{most} {what} for your address are under way already.", "Wait until one is done."
        )
