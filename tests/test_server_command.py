"""`script/server` as a person starts it.

It serves, keeps its worker alive, reports what is missing, and ends without leftovers.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from script.support.system import free_port, lan_addresses

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S, STOP_LIMIT_S = 240, 10


@pytest.fixture
def bare_environment(tmp_path):
    """Only Python and what a shell script needs: no Java, no Node, no Redis, no setting."""
    programs = tmp_path / "bin"
    programs.mkdir()
    base = Path(sys._base_executable).resolve()
    (programs / "python3").symlink_to(base)
    (programs / "dirname").symlink_to(shutil.which("dirname"))
    return {"HOME": str(tmp_path), "PATH": str(programs), "FAILOVER_LAB_DATA": str(tmp_path / "data")}


class Server:
    """A running `script/server`, leader of its own process group, as in a terminal."""

    def __init__(self, environment: dict[str, str], log: Path, *options: str) -> None:
        self.port = free_port()
        self.log = log
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [str(ROOT / "script" / "server"), "--no-install", "--port", str(self.port), *options],
                env=environment,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    def wait_for(self, pattern: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.log.read_text()):
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()
            time.sleep(0.1)

    def children(self) -> dict[int, str]:
        """Command lines of the processes that the server's own process started."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    if parent == self.process.pid:
                        found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it ended during the search
        return found

    def wait_for_worker(self, other_than: int = 0) -> int:
        """The report worker's process: it starts once Spark is installed, immediately where it is already."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = [
                pid
                for pid, command in self.children().items()
                if "--exclude-queues" in command and pid != other_than
            ]
            if found:
                return found[0]
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()
            time.sleep(0.1)

    def stop(self, number: int) -> float:
        """Seconds until the process has ended; raises when it takes longer than promised."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=STOP_LIMIT_S)
        return time.monotonic() - started


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_the_server_serves_and_leaves_nothing_behind(bare_environment, tmp_path, number):
    server = Server(bare_environment, tmp_path / "log")
    try:
        server.wait_for(r"Failover Lab is at http://127\.0\.0\.1:\d+/")
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        server.wait_for_worker()
        children = server.children()
        assert sorted("db_worker" in command for command in children.values()) == [False, True, True], (
            children
        )
    finally:
        server.stop(number)
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []
    assert "openjdk-17-jre-headless" in server.log.read_text(), "it did not say what to install for reports"


def test_lan_prints_the_address_of_this_machine_with_its_qr_code_and_allows_it(bare_environment, tmp_path):
    addresses = lan_addresses()
    assert addresses, "this machine has no address on a network"
    server = Server(bare_environment, tmp_path / "log", "--lan", "--no-worker")
    try:
        server.wait_for(rf"On this network it is at http://{re.escape(addresses[0])}:{server.port}/")
        server.wait_for(r"(?s)On this network .*\n(█+\n){1,3}██ ▄▄▄▄▄ ")  # the finder pattern of a QR code
        for host in addresses:
            with urllib.request.urlopen(f"http://{host}:{server.port}/", timeout=PATIENCE_S) as answer:
                assert answer.status == 200
        elsewhere = urllib.request.Request(f"http://127.0.0.1:{server.port}/", headers={"Host": "lab.test"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(elsewhere, timeout=PATIENCE_S)
        page = refused.value.read().decode()
        assert refused.value.code == 400 and "script/server --lan" in page and "ALLOWED_HOSTS=" in page
    finally:
        server.stop(signal.SIGTERM)
    refusals = [
        line for line in server.log.read_text().splitlines() if "lab.test" in line or "Bad Req" in line
    ]
    assert len(refusals) == 1 and "WARNING" in refusals[0]
    assert "Traceback" not in server.log.read_text()


def test_addresses_of_this_computer_only_are_not_offered_to_others():
    assert [one for one in lan_addresses() if one.startswith(("127.", "169.254.", "0."))] == []


def test_a_dead_worker_is_restarted(bare_environment, tmp_path):
    server = Server(bare_environment, tmp_path / "log")
    try:
        server.wait_for("Failover Lab is at")
        worker = server.wait_for_worker()
        os.kill(worker, signal.SIGKILL)
        server.wait_for("starting it again")
        server.wait_for_worker(other_than=worker)
    finally:
        server.stop(signal.SIGTERM)


def test_a_taken_port_is_reported_with_a_reason(bare_environment):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = subprocess.run(
            [str(ROOT / "script" / "server"), "--port", str(port)],
            env=bare_environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert answer.returncode == 2
    assert f"Cannot listen at 127.0.0.1 port {port}" in answer.stderr
