"""The settings of the site's database, and the answers while it cannot be reached.

Rules: a database operation waits for `WRITER_WAIT_S` at most. A request that cannot be answered without the
database gets 503 with a message, and the driver's error is logged. `visualizer.labs.saving` decides what an
error means.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import dj_database_url
from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

WRITER_WAIT_S = 5
"""How long a write waits for another writer. After that labs retry, and requests are answered 503."""

CONNECT_WAIT_S, SILENT_WAIT_MS = 5, 10_000
"""How long PostgreSQL may take to answer a connection, and to acknowledge sent data (TCP)."""

log = logging.getLogger("labsite.database")


def settings_of(url: str) -> dict[str, Any]:
    """Django's settings of the database at this URL. Options in the URL take precedence."""
    found: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    if found["ENGINE"] == "django.db.backends.sqlite3":
        # Writers wait for each other instead of failing: the site, the report worker and a second process
        # share the file.
        options = {
            "transaction_mode": "IMMEDIATE",
            "timeout": WRITER_WAIT_S,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    else:
        options = {
            "connect_timeout": CONNECT_WAIT_S,
            "tcp_user_timeout": SILENT_WAIT_MS,
            "options": f"-c lock_timeout={WRITER_WAIT_S}s",
        }
    found["OPTIONS"] = {**options, **found.get("OPTIONS", {})}
    return found


class DatabaseErrors:
    """Answers 503 when a view cannot reach the database, 400 when a value cannot be stored."""

    async_capable = True
    sync_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return await self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer an exception of a view; called by Django."""
        from visualizer.labs.saving import bad_value, is_bad_value, is_trouble, no_database

        if is_trouble(error):
            log.error("The database failed a request to %s", request.path, exc_info=error)
            return _answer(request, no_database(), 503, {"Retry-After": str(WRITER_WAIT_S)})
        if is_bad_value(error):
            log.warning("A request to %s holds what cannot be stored: %s", request.path, type(error).__name__)
            return _answer(request, bad_value(), 400, {})
        return None


def _answer(request: HttpRequest, refused: Any, status: int, headers: dict[str, str]) -> HttpResponse:
    """Answer with JSON for a script, plain text for a page.

    Templates and sessions may need the database.
    """
    headers = {**headers, "Cache-Control": "no-store"}
    if "text/html" in request.headers.get("Accept", ""):
        return HttpResponse(
            f"{refused.error} {refused.hint}",
            status=status,
            content_type="text/plain; charset=utf-8",
            headers=headers,
        )
    return JsonResponse(
        {"code": refused.code, "error": refused.error, "hint": refused.hint}, status=status, headers=headers
    )
