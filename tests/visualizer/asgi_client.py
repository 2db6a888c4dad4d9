"""Requests to the site's ASGI application as a server passes them on.

Raw paths, headers, and bodies in pieces.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from labsite.asgi import application


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    taken: int
    """Pieces of the request's body that were read."""

    def json(self) -> Any:
        return json.loads(self.body)


async def request(
    method: str, path: str, query: str = "", chunks: Sequence[bytes] = (b"",), **headers: str
) -> Answer:
    """One request; without a content-length header its body is chunked."""
    raw = quote(path, safe="/%", errors="surrogatepass").encode()
    listed = {"host": "testserver", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(raw).decode("utf-8", "replace"),
        "raw_path": raw,
        "query_string": quote(query, safe="&=%", errors="surrogatepass").encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin1")) for name, value in listed.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("testserver", 80),
    }
    sent: list[dict[str, Any]] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        if taken >= len(chunks):
            await asyncio.Event().wait()  # the client stays connected until it has its answer
        taken += 1
        return {"type": "http.request", "body": chunks[taken - 1], "more_body": taken < len(chunks)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    start = sent[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(
        start["status"],
        {name.decode().lower(): value.decode("latin1") for name, value in start["headers"]},
        body,
        taken,
    )
