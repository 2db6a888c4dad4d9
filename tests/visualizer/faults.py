"""Faults of the database for tests.

Exceptions of drivers, at statements or at the commit, and real locks, limits and kills.

Rules: an injected fault is an error of the driver, mapped by Django as a real one is; nothing here depends on
how the site handles it.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django import db
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from script.support.system import free_port
from tests.visualizer.pages import PATIENCE_S

SECRET = "connection to server at db-7.internal (10.1.2.3), user lab, file /srv/secret/lab.sqlite3"
"""What drivers report about the server; no visitor may ever see it."""

KINDS = {
    "locked": sqlite3.OperationalError(f"database is locked: {SECRET}"),
    "full": sqlite3.OperationalError(f"database or disk is full: {SECRET}"),
    "damaged": sqlite3.DatabaseError(f"database disk image is malformed: {SECRET}"),
    "shut down": psycopg.errors.AdminShutdown(
        f"terminating connection due to administrator command: {SECRET}"
    ),
    "read only": psycopg.errors.ReadOnlySqlTransaction(
        f"cannot execute UPDATE in a read-only transaction: {SECRET}"
    ),
    "closed": psycopg.InterfaceError(f"the connection is closed: {SECRET}"),
}
"""The exceptions of drivers when the database cannot be reached or written."""


def raise_as_django_does(kind: str) -> None:
    """Django's class of the driver's error, as `django.db.utils.DatabaseErrorWrapper` finds it."""
    error = KINDS[kind]
    driver = sqlite3 if type(error).__module__.startswith("sqlite3") else psycopg
    for found in (
        db.DataError,
        db.OperationalError,
        db.IntegrityError,
        db.InternalError,
        db.ProgrammingError,
        db.NotSupportedError,
        db.DatabaseError,
        db.InterfaceError,
    ):
        if isinstance(error, getattr(driver, found.__name__)):
            raise found(*error.args) from error
    raise AssertionError(f"{error!r} is no driver's error")


class Faults:
    """While `kind` is set: makes every statement fail, or every commit after it has happened, or every
    commit of changes instead of it.
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self.at_commit = False  # the commit happens, and its answer is lost
        self.instead_of_commit = False  # of changes; reading works, as on a full disk
        self.filled = False  # SQLite itself has no space for a write

    def begin(self, kind: str, at_commit: bool = False, instead_of_commit: bool = False) -> None:
        self.kind, self.at_commit, self.instead_of_commit = kind, at_commit, instead_of_commit

    def end(self) -> None:
        self.kind, self.filled = None, False

    def statement(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """For `connection.execute_wrappers`."""
        if self.filled and sql.startswith(("INSERT", "UPDATE", "DELETE")):
            need_more_than_there_is(context["connection"])
        if self.kind is not None and not self.at_commit and not self.instead_of_commit:
            raise_as_django_does(self.kind)
        done = execute(sql, params, many, context)
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and context["cursor"].rowcount:
            context["connection"].has_changes = True
        return done

    def commit(self, commit: Any, wrapper: BaseDatabaseWrapper) -> Any:
        """Replaces the driver's commit."""
        changes, wrapper.has_changes = getattr(wrapper, "has_changes", False), False  # type: ignore[attr-defined]
        if self.kind is not None and self.instead_of_commit and changes:
            raise_as_django_does(self.kind)
        done = commit(wrapper)
        if self.kind is not None and self.at_commit:
            raise_as_django_does(self.kind)
        return done


def need_more_than_there_is(connection: BaseDatabaseWrapper) -> None:
    """Makes SQLite itself fail as on a full disk: the file may not grow, and more is written than it has
    free.
    """
    with connection.wrap_database_errors:
        cursor = connection.connection.cursor()
        most = cursor.execute("PRAGMA max_page_count").fetchone()[0]
        cursor.execute("PRAGMA max_page_count = 1")  # below its present size: it may not grow
        try:
            cursor.execute("CREATE TABLE more_than_there_is AS SELECT zeroblob(64 * 1024 * 1024)")
        finally:
            cursor.execute(f"PRAGMA max_page_count = {most}")


@contextmanager
def injected_faults() -> Iterator[Faults]:
    """Faults in every connection of this process that is opened or used from now on."""
    faults, commit, ensure = Faults(), BaseDatabaseWrapper._commit, BaseDatabaseWrapper.ensure_connection

    def watched(wrapper: Any) -> None:
        if faults.statement not in wrapper.execute_wrappers:
            wrapper.execute_wrappers.append(faults.statement)
        ensure(wrapper)

    BaseDatabaseWrapper.ensure_connection, BaseDatabaseWrapper._commit = (
        watched,
        lambda wrapper: faults.commit(commit, wrapper),
    )
    try:
        yield faults
    finally:
        faults.end()
        BaseDatabaseWrapper.ensure_connection, BaseDatabaseWrapper._commit = ensure, commit


@contextmanager
def sqlite_waits(seconds: float) -> Iterator[None]:
    """How long connections opened from now on wait for other writers: shorter than on a site, so that
    tests are short.
    """

    def shorten(connection: Any, **_: Any) -> None:
        connection.connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")

    connection_created.connect(shorten)
    try:
        yield
    finally:
        connection_created.disconnect(shorten)


class SqliteLock:
    """Another program that writes to the same file and does not finish."""

    def __init__(self, file: str | Path) -> None:
        self._connection = sqlite3.connect(
            str(file), isolation_level=None, timeout=PATIENCE_S, check_same_thread=False
        )

    def take(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self.release()
        self._connection.close()


def database_file() -> str:
    """The tests' own database."""
    return str(connections["default"].settings_dict["NAME"])


@contextmanager
def full_disk(pid: int) -> Iterator[None]:
    """A process that cannot write a byte to any file, as on a full disk.

    Linux refuses it, and SQLite gets the refusal.
    """
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


class PostgresServer:
    """A real PostgreSQL on a free port, from the programs of this machine; its data outlives its process."""

    def __init__(self) -> None:
        programs = shutil.which("postgres") or next(
            iter(sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")))), None
        )
        assert programs is not None, (
            "PostgreSQL is needed for this test. Debian: apt-get install postgresql. Then start again."
        )
        self._programs = Path(programs).resolve().parent
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="failover-lab-postgres-"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self.port = free_port()
        self.url = f"postgres://lab@127.0.0.1:{self.port}/postgres"
        self._run(
            "initdb",
            "--pgdata",
            "data",
            "--username",
            "lab",
            "--auth",
            "trust",
            "--no-sync",
            "--encoding",
            "UTF8",
            "--no-locale",
        )
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self.folder,
            user=self._user,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def start(self) -> None:
        """Returns when it answers."""
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": 60,
        }
        flags = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        end_s = time.monotonic() + PATIENCE_S
        self.process: subprocess.Popen[bytes] | None = None
        while time.monotonic() < end_s:
            # the first attempt may find child processes of the killed server
            if self.process is None or self.process.poll() is not None:
                command = [str(self._programs / "postgres"), "-D", "data", *flags]
                self.process = subprocess.Popen(
                    command,
                    cwd=self.folder,
                    user=self._user,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise AssertionError("PostgreSQL does not answer")

    def end_connections(self) -> None:
        """Like an operator or a failover: every connection of the others ends, whatever it is doing."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND "
                "backend_type = 'client backend'"
            )

    def kill(self) -> None:
        """Immediately, by its process id; its connections end with it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=PATIENCE_S)

    def remove(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
