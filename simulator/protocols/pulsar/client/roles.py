"""What a consumer needs of a declared broker, as protocols by role."""

from __future__ import annotations

from typing import Any, Protocol


class AdmissionsOfConsumer(Protocol):
    """The queue of clients that wait to be connected (`broadcast.admissions.Admissions`)."""

    def forget_client(self, client: Any) -> None:
        """The client does not wait any more."""


class BrokerOfConsumer(Protocol):
    """A broker that connects one client after another (`broadcast.broker.Broker`)."""

    @property
    def admissions(self) -> AdmissionsOfConsumer:
        """Its queue of clients."""
