"""Reads and writes of a running lab in the database, off the event loop.

Rules: a process takes a lab by raising its `run_number`. Every write carries that number, so a process that
lost the lab without noticing gets `LabTaken` and overwrites nothing. A command's row is written before it
takes effect. Writes are functions for the thread of `visualizer.labs.saving`. Each is one idempotent
transaction, since a connection that breaks in a commit leaves open whether it was committed. Reads have
threads of their own, because a request's thread ends with the request. They raise Refused while the database
cannot be reached.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django import db
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from visualizer.labs.trouble import is_trouble, no_database, with_fresh_connection
from visualizer.models import Lab, LabCommand, Presentation

READERS = 4
"""Threads, and so connections, that read for this process's labs. Opening one takes a millisecond."""

_readers = ThreadPoolExecutor(READERS, thread_name_prefix="reading")


class LabTaken(Exception):
    """Another server process runs this lab now."""


class TakenBack(Exception):
    """This command was taken back and is not stored."""


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
    presentation: dict[str, Any] | None = None  # `Presentation.facts`, while the lab is presented


# --- reads


def _reads(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    in_thread = sync_to_async(with_fresh_connection(function), thread_sensitive=False, executor=_readers)

    @wraps(function)
    async def read(*arguments: Any) -> Any:
        try:
            return await in_thread(*arguments)
        except db.Error as error:
            if is_trouble(error):
                raise no_database() from error
            raise

    return read


@_reads
def find(lab_id: str) -> Lab | None:
    """The lab's row, or None."""
    return Lab.objects.filter(pk=lab_id).first()


@_reads
def exists(lab_id: str) -> bool:
    """Whether the lab exists, so was not deleted."""
    return Lab.objects.filter(pk=lab_id).exists()


# --- writes, for the saving thread


def take(lab_id: str) -> StoredLab:
    """Take the lab for this process. The caller holds its lease."""
    with transaction.atomic():
        Lab.objects.filter(pk=lab_id).update(run_number=F("run_number") + 1)
        lab = Lab.objects.get(pk=lab_id)
        commands = list(
            lab.commands.order_by("number").values(
                "number", "branch", "at_us", "furthest_us", "command", "ok"
            )
        )
        presentation = Presentation.objects.filter(lab=lab, ends_at__gt=timezone.now()).first()
    return StoredLab(
        lab.pk,
        lab.run_number,
        lab.scenario_text,
        lab.seed,
        lab.branch,
        lab.position_us,
        lab.furthest_us,
        commands,
        None if presentation is None else presentation.facts(),
    )


def _write(stored: StoredLab, **fields: Any) -> None:
    if not Lab.objects.filter(pk=stored.lab_id, run_number=stored.run_number).update(
        used_at=timezone.now(), **fields
    ):
        raise LabTaken(f"lab {stored.lab_id} is run by another process since run {stored.run_number}")


def keep_position(stored: StoredLab, position: dict[str, Any]) -> None:
    _write(stored, **position)


def keep_failure(stored: StoredLab, failure: dict[str, Any]) -> None:
    _write(stored, state=Lab.State.FAILED, failure=failure)


def keep_command(stored: StoredLab, number: int, may_commit: Callable[[], bool], **given: Any) -> None:
    """Store a command that is about to take effect, unless it was taken back.

    If it is stored already, nothing is written. `may_commit` is called last. Once it returns true, an error
    leaves open whether the command is stored.
    """
    with transaction.atomic():
        _write(stored, branch=given["branch"], position_us=given["at_us"], furthest_us=given["furthest_us"])
        LabCommand.objects.bulk_create(
            [LabCommand(lab_id=stored.lab_id, number=number, **given)], ignore_conflicts=True
        )
        if not may_commit():
            raise TakenBack


def forget_command(stored: StoredLab, number: int) -> None:
    """Remove a command that was taken back; it may or may not be stored.

    The lab's row is locked first, because PostgreSQL may still be executing a commit whose connection broke.
    If the command is not stored nothing is written, so a full disk does not delay the refusal.
    """
    with transaction.atomic():
        if not list(
            Lab.objects.select_for_update()
            .filter(pk=stored.lab_id, run_number=stored.run_number)
            .values_list("pk")
        ):
            raise LabTaken(f"lab {stored.lab_id} is run by another process since run {stored.run_number}")
        LabCommand.objects.filter(lab_id=stored.lab_id, number=number).delete()


def command_took_effect(
    stored: StoredLab,
    number: int,
    ok: bool,
    code: str,
    position: dict[str, Any],
    command_log: list[dict[str, Any]],
) -> None:
    with transaction.atomic():
        _write(stored, command_log=command_log, **position)
        LabCommand.objects.filter(lab_id=stored.lab_id, number=number).update(ok=ok, code=code)
