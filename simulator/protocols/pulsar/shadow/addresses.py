"""Topic names in admin requests: `orders` or `persistent://tenant/namespace/orders`.

Rules: a bare name is persistent and in the namespace that the scenario gives it. Whether such a topic exists
is checked separately.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster

_PART = "[a-z0-9][a-z0-9-]*"
_FULL = re.compile(rf"(?:(persistent|non-persistent)://({_PART}/{_PART})/)?({_PART})")


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed topic name; with `namespace` None it is in that of the scenario's topic of this name."""

    name: str
    persistent: bool = True
    namespace: str | None = None

    def names_in(self, cluster: Cluster) -> bool:
        """Whether the cluster has a topic of this address."""
        spec = cluster.runtime.scenario.topics.get(self.name)
        if not self.persistent or spec is None or self.namespace not in (None, spec.namespace):
            return False
        return cluster.shape(self.name) is not None


def parse(text: str) -> Address | None:
    """The address in a text; None when it is not one."""
    match = _FULL.fullmatch(text)
    if match is None:
        return None
    domain, namespace, name = match.groups()
    return Address(name, domain != "non-persistent", namespace)
