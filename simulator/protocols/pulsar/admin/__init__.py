"""What an operator's own tools print at an instant of a run: pulsar-admin's statistics and the brokers'
metrics (docs/admin.md).

Rules: reads, never writes; the same instant of the same run gives the same bytes; whatever is long is done in
pieces, and whatever grows is cut where docs/admin.md says. Beside each text go notes: what the lab knows and
the tool does not say.
"""

from simulator.protocols.pulsar.admin.answer import TOOLS, ask

__all__ = ["TOOLS", "ask"]
