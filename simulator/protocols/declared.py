"""The table of what each protocol declares without its engine, for traces and scenario files.

Rules: nothing that it imports imports an engine. The engines are in `simulator.protocols.table`.
"""

from __future__ import annotations

from simulator.protocols.declaration import Declared
from simulator.protocols.emqx.scenario.declared import EMQX_DECLARED
from simulator.protocols.emqx.scenario.model import EMQX
from simulator.protocols.pulsar.scenario.declared import PULSAR_DECLARED
from simulator.protocols.pulsar.scenario.model import PULSAR

DECLARED: dict[str, Declared] = {PULSAR: PULSAR_DECLARED, EMQX: EMQX_DECLARED}
"""The protocols in the order of their sections, settings and commands in documents.

The first applies to a file whose family is not known.
"""
