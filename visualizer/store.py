"""What a running lab reads from and writes to the database, off the event loop.

Rules: a process takes a lab by raising its `run_number`; every write names the number it was taken with, so a process
that lost the lab without noticing is told (`LabTaken`) instead of overwriting. A command's row is written before it
takes effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from visualizer.models import Lab, LabCommand


class LabTaken(Exception):
    """Another server process runs this lab now."""


@dataclass(frozen=True, slots=True)
class StoredLab:
    """A lab's rows at the moment this process took it."""

    lab_id: str
    run_number: int
    scenario_text: str
    seed: int
    branch: int
    position_us: int
    furthest_us: int
    commands: list[dict[str, Any]]


@sync_to_async
def take(lab_id: str) -> StoredLab:
    """Become the process that runs this lab. The caller holds its lease."""
    with transaction.atomic():
        Lab.objects.filter(pk=lab_id).update(run_number=F("run_number") + 1)
        lab = Lab.objects.get(pk=lab_id)
        commands = list(lab.commands.order_by("number").values("number", "branch", "at_us", "furthest_us", "command", "ok"))
    return StoredLab(lab.pk, lab.run_number, lab.scenario_text, lab.seed, lab.branch, lab.position_us, lab.furthest_us, commands)


def _write(stored: StoredLab, **fields: Any) -> None:
    if not Lab.objects.filter(pk=stored.lab_id, run_number=stored.run_number).update(used_at=timezone.now(), **fields):
        raise LabTaken(f"lab {stored.lab_id} is run by another process since run {stored.run_number}")


@sync_to_async
def keep_position(stored: StoredLab, position: dict[str, Any]) -> None:
    _write(stored, **position)


@sync_to_async
def keep_failure(stored: StoredLab, failure: dict[str, Any]) -> None:
    _write(stored, state=Lab.State.FAILED, failure=failure)


@sync_to_async
def keep_command(stored: StoredLab, **given: Any) -> int:
    """Store a command that is about to take effect; returns its number."""
    with transaction.atomic():
        _write(stored, branch=given["branch"], position_us=given["at_us"], furthest_us=given["furthest_us"])
        number = LabCommand.objects.filter(lab_id=stored.lab_id).count() + 1
        LabCommand.objects.create(lab_id=stored.lab_id, number=number, **given)
    return number


@sync_to_async
def command_took_effect(stored: StoredLab, number: int, ok: bool, code: str, position: dict[str, Any], command_log: list[dict[str, Any]]) -> None:
    with transaction.atomic():
        _write(stored, command_log=command_log, **position)
        LabCommand.objects.filter(lab_id=stored.lab_id, number=number).update(ok=ok, code=code)
