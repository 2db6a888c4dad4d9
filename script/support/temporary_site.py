"""A temporary lab server on a free port, with its own data, for screenshots and benchmarks."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from script.support.environment import PYTHON
from script.support.processes import Supervisor
from script.support.serve import site_command, wait_until_it_answers
from script.support.system import free_port

ANSWER_LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Site:
    address: str  # http://127.0.0.1:port
    port: int
    pid: int
    environment: Mapping[str, str]
    """The environment for other processes on its data, such as a report worker.

    The site lists the recordings of its folder LAB_RECORDINGS_DIR.
    """

    def open_lab(self, **fields: object) -> dict[str, str]:
        """Make a lab from `scenario="name"` or `yaml="text"`; returns id, token and url."""
        body = json.dumps(fields).encode()
        request = urllib.request.Request(
            f"{self.address}/labs/", body, {"Content-Type": "application/json", "Origin": self.address}
        )
        with urllib.request.urlopen(request, timeout=ANSWER_LIMIT_SECONDS) as answer:
            return json.loads(answer.read())

    def memory_bytes(self) -> int:
        """The memory that the server process holds now, bytes (Linux)."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def temporary_site(
    supervisor: Supervisor, command: Callable[[str, int], list[str]] = site_command
) -> Iterator[Site]:
    """Run the site until the block is left.

    Call it inside the supervisor's own block: leaving that block ends the server, too.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as data:
        environment = {**os.environ, "FAILOVER_LAB_DATA": data, "ALLOWED_HOSTS": "127.0.0.1"}
        environment["LAB_RECORDINGS_DIR"] = str(recordings := Path(data) / "recordings")
        recordings.mkdir()
        for name in ("DATABASE_URL", "REDIS_URL"):
            environment.pop(name, None)
        if (
            supervisor.run(
                [str(PYTHON), "manage.py", "migrate", "--noinput", "--verbosity", "0"], environment
            )
            != 0
        ):
            raise RuntimeError("the database could not be made; Django's message is above")
        server = supervisor.start(command("127.0.0.1", port), environment)
        wait_until_it_answers(supervisor, server, "127.0.0.1", port)
        yield Site(f"http://127.0.0.1:{port}", port, server.pid, environment)
        supervisor.stop(server)
