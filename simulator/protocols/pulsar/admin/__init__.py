"""Output of operators' tools at an instant of a run: pulsar-admin statistics and broker metrics.

The scope is in docs/command-line.md.

Rules: reads, never writes. The same instant of the same run gives the same bytes. Long work is done in
pieces, and texts that grow with the run are cut at the limits in docs/command-line.md. Each text has
notes beside it: facts that the simulator has and the tool does not show.
"""

from simulator.protocols.pulsar.admin.answer import TOOLS, ask

__all__ = ["TOOLS", "ask"]
