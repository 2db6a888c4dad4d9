"""Files of finished tasks as the ASGI server sends them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application

from visualizer.tasks import files
from visualizer.tasks.files import Download, file_response
from visualizer.tasks.uploads import EXAMPLE

PATH = "/audits/example-log.jsonl.gz"


@pytest.mark.django_db
async def test_a_file_is_sent_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 500)
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": PATH,
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Django warns before it reads the whole file
        server = ApplicationCommunicator(get_asgi_application(), scope)
        await server.send_input({"type": "http.request", "body": b"", "more_body": False})
        begin: dict[str, Any] = await server.receive_output()
        parts = []
        while (message := await server.receive_output()).get("more_body"):
            parts.append(message["body"])
    content = EXAMPLE.read_bytes()
    assert (begin["status"], b"".join(parts)) == (200, content)
    assert dict(begin["headers"])[b"Content-Length"] == str(len(content)).encode()
    assert len(parts) > 1 and max(map(len, parts)) <= 500


@pytest.mark.parametrize("size", [0, 1, files.PART_BYTES, 2 * files.PART_BYTES + 1])
async def test_every_byte_of_a_file_is_sent(tmp_path: Path, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    (tmp_path / "figures.csv").write_bytes(content)
    table = [Download("csv", "figures.csv", "text/csv", "figures")]
    answer = file_response(tmp_path, table, "csv", "report-1")
    parts = [part async for part in answer]
    answer.close()
    assert b"".join(parts) == content and all(len(part) <= files.PART_BYTES for part in parts)
