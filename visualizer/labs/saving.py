"""Database writes of running labs: in order, one at a time, retried while the database is unreachable."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from asgiref.sync import sync_to_async
from django import db
from django.db import connections, transaction
from django.db.models import F
from django.utils import timezone

from visualizer.live.wire import Refused
from visualizer.models import Lab, LabCommand, Presentation

# --- classifies database errors: the database cannot be used now, or a value cannot be stored
#
# Rules: Django maps every driver's errors to its own classes (PEP 249). A DataError is about a value and an
# IntegrityError about a rule between rows, so a retry does not help. All others (locked, full, shut down,
# connection lost, read-only, damaged) are about the database itself. A later retry may succeed, and
# visitors do not see the driver's message.


AWAY = "The database cannot be reached; try again in a few seconds."
"""The message for visitors. The log has the driver's message."""


def is_trouble(error: BaseException) -> bool:
    """Whether the error is about the database itself, so that a later retry may succeed."""
    return isinstance(error, db.Error) and not isinstance(error, db.DataError | db.IntegrityError)


def is_bad_value(error: BaseException) -> bool:
    """Whether the error is about a value that cannot be stored.

    Examples are NUL in PostgreSQL's text, half a surrogate pair, and an integer beyond 64 bits.
    """
    return isinstance(error, db.DataError | UnicodeEncodeError | OverflowError)


def no_database() -> Refused:
    """The refusal of a request that needs the database now."""
    return Refused(
        "no-database", AWAY, "Nothing that was acknowledged is lost. A lab's page tries again by itself."
    )


def bad_value() -> Refused:
    """The refusal of a value that cannot be stored."""
    return Refused(
        "bad-value",
        "A text or number in this cannot be stored.",
        "Use text without NUL or half characters, and whole numbers below 2^63. Nothing was changed.",
    )


def with_fresh_connection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function for a thread in which no request ends.

    Old connections are closed before each call. Without that, a connection that broke once would stay broken.
    """

    def called(*arguments: Any, **named: Any) -> Any:
        db.close_old_connections()
        return function(*arguments, **named)

    return called


# --- reads and writes of a running lab in the database, off the event loop
#
# Rules: a process takes a lab by raising its `run_number`. Every write carries that number, so a process
# that lost the lab without noticing gets `LabTaken` and overwrites nothing. A command's row is written
# before it takes effect. Writes are functions for the thread of `visualizer.labs.saving`. Each is one
# idempotent transaction, since a connection that breaks in a commit leaves open whether it was committed.
# Reads have threads of their own, because a request's thread ends with the request. They raise Refused
# while the database cannot be reached.


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


# --- database writes of running labs: in order, one at a time, retried while the database is unreachable
#
# Rules: every lab has a queue of writes (a `Line`). A line whose write failed waits longer each time, up to
# `LONGEST_PAUSE_S`, and the other lines continue, so that one failing write does not delay other labs. A
# command waits for its write and is refused when it takes too long. Before its commit has begun the write
# can be cancelled. After that it may have been committed. Then it is undone in the same place of the line,
# and the refusal is sent only when that is done, since the process may end before. A line is short: only
# the newest position waits, and a lab accepts its next command after the previous one is stored. The writes
# have a thread of their own, since SQLite blocks it while other writers hold the lock.


logger = logging.getLogger(__name__)

PATIENCE_S = 5.0
"""How long a command waits to be stored, from the first failed or slow write on.

Then it is refused, so that the lab goes on.
"""

SLOW_S = 2.0
"""A write that waits longer counts as trouble, although nothing has failed yet."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
"""Pauses before a failed write is retried. Each is twice the previous one."""

NOT_SAVED = "not-saved"
"""Code of the notice, and of the refusal of a command that was not saved."""

UNDECIDED = "undecided"
"""Code of the notice to the sender of a command that was taken back and may still be stored."""

UNDECIDED_NOTICE = (
    "The database may have saved the last command although it did not answer. The lab "
    "continues without it; it is removed as soon as the database answers, and its result "
    "follows then."
)

NOTICE = (
    "Cannot save, retrying. The lab continues; what it does now is lost if the server stops before this "
    "notice ends. Commands are refused meanwhile."
)


def not_saved() -> Refused:
    """The refusal of a command that could not be stored in time."""
    return Refused(
        NOT_SAVED,
        "The command was not carried out, because it could not be saved.",
        'Give it again when "Cannot save, retrying" is gone.',
    )


def no_answer() -> Refused:
    """The answer to a command when this process cannot determine whether it was stored."""
    return Refused(
        "no-answer",
        "The lab moved to another server process before the result arrived.",
        "Look at the lab's commands once it is shown again: this one may or may not be among them.",
    )


@dataclass(eq=False, slots=True)
class Write:
    """One write of a lab; `work` runs in the saving thread until it succeeds, so it must be idempotent.

    A write that can be undone calls `may_commit` as the last step before its commit, and does not commit when
    that returns False.
    """

    work: Callable[[], Any]
    done: asyncio.Future[Any]
    since_s: float
    replaceable: bool = False  # only the newest of these needs to be done
    once: bool = False  # not retried, since a caller waits for it
    undo: Callable[[], Any] | None = None
    undoing: Write | None = None  # replaces a taken-back write that may have been committed
    _taken_back: bool = False
    _commit_begun: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_commit(self) -> bool:
        """Whether the write is still wanted. Once this has returned True, it may be committed."""
        with self._lock:
            self._commit_begun |= not self._taken_back
            return not self._taken_back

    def take_back(self) -> bool:
        """Mark the write as not wanted. Returns True when it may have been committed nevertheless."""
        with self._lock:
            self._taken_back = True
            return self._commit_begun

    @property
    def taken_back(self) -> bool:
        return self._taken_back

    @property
    def stored(self) -> bool:
        """Whether the write is known to have succeeded."""
        return self.done.done() and not self.done.cancelled() and self.done.exception() is None


@dataclass(eq=False, slots=True)
class Line:
    """The queued writes of one lab, the oldest first."""

    writes: deque[Write] = field(default_factory=deque)
    failures: int = 0  # in a row
    failing_since_s: float = 0.0
    next_try_s: float = 0.0
    busy: bool = False  # the first write is in the thread


class Saver:
    """Runs the queued writes of one process. The hub supervises `run`."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, Line] = OrderedDict()
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="saving")
        self._in_thread = sync_to_async(
            with_fresh_connection(lambda work: work()), thread_sensitive=False, executor=self._thread
        )

    # --- called by labs

    def put(self, lab_id: str, work: Callable[[], Any], replaceable: bool = False) -> asyncio.Future[Any]:
        """Queue a write after the lab's earlier writes.

        Awaiting the returned future is optional. The caller handles its error.
        """
        return self._add(lab_id, work, replaceable=replaceable).done

    def begin(self, lab_id: str, work: Callable[[Write], Any], undo: Callable[[], Any] | None) -> Write:
        """Queue a write whose caller then awaits `wait`.

        Without `undo` it is tried only once.
        """
        write = self._add(lab_id, lambda: work(write), undo=undo, once=undo is None)
        return write

    async def wait(self, lab_id: str, write: Write) -> Any:
        """Wait for the result of a write.

        Raises Refused when that takes too long. The write is then taken back.
        """
        late = not_saved() if write.undo else no_database()
        patience_s = PATIENCE_S - self._troubled_for_s(lab_id)
        try:
            if patience_s <= 0:
                raise TimeoutError
            async with asyncio.timeout(patience_s):
                return await asyncio.shield(write.done)
        except TimeoutError:
            self.take_back(lab_id, write)
            raise late from None
        except asyncio.CancelledError:
            self.take_back(lab_id, write)
            raise

    def take_back(self, lab_id: str, write: Write) -> asyncio.Future[Any] | None:
        """Cancel a write that its caller no longer waits for.

        Returns None when it is certain that it is not committed, else a future that completes when it is
        undone.
        """
        if write.undoing is not None:
            return write.undoing.done
        line = self._lines.get(lab_id)
        may_have_happened = write.take_back()
        if line is None or write not in line.writes:
            return None
        in_thread = line.busy and line.writes[0] is write
        if may_have_happened and write.undo is not None:
            write.undoing = Write(write.undo, asyncio.get_running_loop().create_future(), write.since_s)
            write.undoing.done.add_done_callback(_looked_at)
            if not in_thread:
                self._undo_instead(line, write)
            return write.undoing.done
        if not in_thread:
            line.writes.remove(write)
            self._drop_if_empty(lab_id, line)
        return None

    def in_trouble(self, lab_id: str) -> bool:
        """Whether something of this lab could not be saved for a while."""
        return self._troubled_for_s(lab_id) > 0

    def pending(self, lab_id: str) -> bool:
        """Whether something of this lab is still to be saved."""
        return lab_id in self._lines

    async def flushed(self, lab_id: str, limit_s: float) -> None:
        """Wait until the lab's queued writes are saved, or until the limit; return at once in trouble."""
        line = self._lines.get(lab_id)
        if line is not None and line.writes and not self.in_trouble(lab_id):
            await asyncio.wait([line.writes[-1].done], timeout=limit_s)

    def stop(self) -> None:
        """Cancel queued writes: the process ends or the hub restarts."""
        self._lines.clear()
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=False)

    # --- lines

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _troubled_for_s(self, lab_id: str) -> float:
        line = self._lines.get(lab_id)
        if line is None or not line.writes:
            return 0.0
        since_s = line.failing_since_s if line.failures else line.writes[0].since_s + SLOW_S
        return max(0.0, self._now_s() - since_s)

    def _add(self, lab_id: str, work: Callable[[], Any], replaceable: bool = False, **how: Any) -> Write:
        line = self._lines.setdefault(lab_id, Line())
        write = Write(work, asyncio.get_running_loop().create_future(), self._now_s(), replaceable, **how)
        write.done.add_done_callback(_looked_at)
        if replaceable:
            self._replace(line, write)
        line.writes.append(write)
        self._wake.set()
        return write

    def _replace(self, line: Line, newer: Write) -> None:
        """Remove an older write that the newer one replaces. Its caller waits for the newer one."""
        for place, older in enumerate(line.writes):
            if older.replaceable and not (place == 0 and line.busy):
                del line.writes[place]
                newer.since_s = older.since_s
                newer.done.add_done_callback(partial(_settle, older.done))
                return

    def _undo_instead(self, line: Line, write: Write) -> None:
        assert write.undoing is not None and line.writes[0] is write, "only the first of a line is ever tried"
        line.writes[0] = write.undoing

    def _drop_if_empty(self, lab_id: str, line: Line) -> None:
        if not line.writes:
            self._lines.pop(lab_id, None)

    # --- the thread's work

    async def run(self) -> None:
        """Run the queued writes until the process ends. The hub supervises this task."""
        while True:
            self._wake.clear()
            due = self._due()
            if due is not None:
                await self._try(*due)
                continue
            pauses_s = [line.next_try_s - self._now_s() for line in self._lines.values() if line.writes]
            try:
                async with asyncio.timeout(max(0.0, min(pauses_s)) if pauses_s else None):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _due(self) -> tuple[str, Line] | None:
        """The next line in turn whose first write may be tried now."""
        now_s = self._now_s()
        for lab_id, line in self._lines.items():
            if line.writes and line.next_try_s <= now_s:
                self._lines.move_to_end(lab_id)
                return lab_id, line
        return None

    async def _try(self, lab_id: str, line: Line) -> None:
        write = line.writes[0]
        line.busy = True
        try:
            result = await self._in_thread(write.work)
        except Exception as error:
            line.busy = False
            if is_trouble(error):
                self._failed(lab_id, line, error)
                if not write.once and not write.taken_back:
                    return
            self._finish(lab_id, line, write, None, error)
        else:
            line.busy = False
            if line.failures:
                logger.warning("Lab %s can be saved again", lab_id)
                self._recovered(line)
            self._finish(lab_id, line, write, result, None)

    def _finish(self, lab_id: str, line: Line, write: Write, result: Any, error: Exception | None) -> None:
        if line.writes and line.writes[0] is write:
            if write.undoing is not None:
                self._undo_instead(line, write)
            else:
                line.writes.popleft()
        self._drop_if_empty(lab_id, line)
        if write.done.done():
            return
        if error is None:
            write.done.set_result(result)
        else:
            write.done.set_exception(error)

    def _failed(self, lab_id: str, line: Line, error: Exception) -> None:
        now_s = self._now_s()
        if not line.failures:
            line.failing_since_s = now_s
            logger.warning(
                "Lab %s cannot be saved, trying again: %s: %s", lab_id, type(error).__name__, error
            )
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(line.failures, 10))
        line.failures += 1
        line.next_try_s = now_s + pause_s

    def _recovered(self, line: Line) -> None:
        """Retry all waiting writes now, since the database works again."""
        line.failures = 0
        for other in self._lines.values():
            other.next_try_s = 0.0


def _looked_at(done: asyncio.Future[Any]) -> None:
    """Retrieve the error of a future that no caller may await, so that it is not reported as unhandled."""
    if not done.cancelled():
        done.exception()


def _settle(waiter: asyncio.Future[Any], _done: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)
