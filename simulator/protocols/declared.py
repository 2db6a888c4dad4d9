"""The table of what each protocol declares without its engine, for traces and scenario files.

Rules: nothing behind it imports an engine. What runs a protocol is in `simulator.protocols.table`.
"""

from __future__ import annotations

from simulator.protocols.declaration import Declared
from simulator.protocols.emqx.scenario.declared import EMQX_DECLARED
from simulator.protocols.emqx.scenario.families import EMQX
from simulator.protocols.pulsar.scenario.declared import PULSAR_DECLARED
from simulator.protocols.pulsar.scenario.families import PULSAR

DECLARED: dict[str, Declared] = {PULSAR: PULSAR_DECLARED, EMQX: EMQX_DECLARED}
"""In this order sections, settings and commands stand in documents; the first is that of a file whose family
is not known.
"""
