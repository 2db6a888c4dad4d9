"""What an error of the database means: it cannot be reached or written now, or one value cannot be stored.

Rules: Django gives every driver's errors its own classes (PEP 249). A DataError is about a value and an
IntegrityError about a
rule between rows: trying again changes nothing. All others (locked, full, shut down, connection lost,
read-only, damaged) are
about the database itself: trying again later is right, and no visitor sees the driver's words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import db

from visualizer.live.wire import Refused

AWAY = "The database cannot be reached; try again in a few seconds."
"""All that a visitor sees; the log has the driver's words."""


def is_trouble(error: BaseException) -> bool:
    """Whether the database itself could not do it now."""
    return isinstance(error, db.Error) and not isinstance(error, db.DataError | db.IntegrityError)


def is_bad_value(error: BaseException) -> bool:
    """Whether a value cannot be stored: NUL in PostgreSQL's text, half a surrogate pair, an integer beyond
    64 bits.
    """
    return isinstance(error, db.DataError | UnicodeEncodeError | OverflowError)


def no_database() -> Refused:
    """The refusal of whatever needs the database now."""
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
    """The function, in a thread that no request ends: without this a connection that broke once would stay
    broken.
    """

    def called(*arguments: Any, **named: Any) -> Any:
        db.close_old_connections()
        return function(*arguments, **named)

    return called
