"""Classifies database errors: the database cannot be used now, or a value cannot be stored.

Rules: Django maps every driver's errors to its own classes (PEP 249). A DataError is about a value and an
IntegrityError about a rule between rows, so a retry does not help. All others (locked, full, shut down,
connection lost, read-only, damaged) are about the database itself. A later retry may succeed, and visitors do
not see the driver's message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import db

from visualizer.live.wire import Refused

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
