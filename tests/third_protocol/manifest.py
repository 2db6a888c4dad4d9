"""What the protocol declares to the rest of the lab."""

from __future__ import annotations

from simulator.checks.check import NoKnowledge
from simulator.protocols.manifest import CheckList, Manifest
from tests.third_protocol import reading
from tests.third_protocol.declared import NAME
from tests.third_protocol.engine import build

MANIFEST = Manifest(
    name=NAME,
    build=build,
    count=reading.count,
    view=reading.view,
    flights=reading.flights,
    sections={"servers": reading.servers},
    checks=CheckList(NoKnowledge, (reading.DeliveredFromTheLog,)),
    changes=(reading.persist_each_position,),
    compared=reading.COMPARED,
    measured=reading.MEASURED,
)
