"""`script/server`: sets the checkout up, then serves the lab and runs the report worker until stopped.

Rules: uvicorn serves the site, a second process runs small experiments and the answers of My set-up, and a
third one report tasks. A worker is restarted when it dies; the
end of the site ends everything. Ctrl-C, SIGTERM and a closed terminal leave no process behind. Spark and Java
are only for reports: they are installed while the site serves. The worker starts when Spark is installed;
until then report tasks wait in their queue. Without Java the lab runs, and this command prints what to
install.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping

from script.support import system
from script.support.environment import PYTHON, REPORTS, SITE, SetUpFailed, ensure_environment, run_command
from script.support.processes import POLL_SECONDS, Supervisor, say
from script.support.report_tools import Status

START_LIMIT_SECONDS = 120
"""The time after which a site that has not answered counts as failed."""

HEAD_BYTES = 65_536
"""The most bytes of a request's first line and headers.

A larger request is answered 400 and its connection closed.
"""

MESSAGE_BYTES = 2_097_152
"""The most bytes of a websocket message.

A lab's page sends a few kilobytes. Beyond it the socket is closed with code 1009.
"""

EVERY_ADDRESS = "0.0.0.0"
OWN_ADDRESSES = ("127.0.0.1", "localhost", "::1")

RULES = "FAILOVER_LAB_RULES"
"""The variable in which the site and its workers get the path of a rule's file."""
LOAD_RULES = """
import sys
import simulator
try:
    print("The rule", simulator.loaded_rules().value, "is offered beside the built-in one.", flush=True)
except simulator.RuleError as error:
    sys.exit(str(error))
"""
LOCAL_HOSTS = "localhost,127.0.0.1,[::1]"

SHUTDOWN_SECONDS = 2
"""The time that open requests and sockets have after SIGTERM, well under the supervisor's grace."""

WORKER_PAUSE_SECONDS = 2.0
"""The pause before a dead worker is restarted, so that one that cannot start does not fill the terminal."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="script/server", description="Serves Failover Lab, its report worker included. Ctrl-C stops it."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: this machine only)"
    )
    where.add_argument(
        "--lan",
        action="store_true",
        help="serve this network too: listens at every address of this machine, allows each as host, and "
        "prints the one to open with its QR code",
    )
    parser.add_argument("--port", type=_port, default=8000, help="port to listen at (default: 8000)")
    parser.add_argument(
        "--rules",
        metavar="FILE.py",
        help="offer a rule of your own for replicated subscriptions (docs/rules.md), at this machine only",
    )
    parser.add_argument(
        "--no-worker", action="store_true", help="serve the site only; another process works off report tasks"
    )
    parser.add_argument(
        "--no-install", action="store_true", help="never ask Debian's apt for Java, even as root"
    )
    arguments = parser.parse_args()
    return run_command(lambda supervisor: serve(supervisor, arguments))


def _port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return number


def serve(supervisor: Supervisor, arguments: argparse.Namespace) -> int:
    if arguments.rules is not None and (arguments.lan or arguments.host not in OWN_ADDRESSES):
        raise SetUpFailed(
            "A rule's file is code that runs with your rights, so a site that others can reach takes none. "
            "Leave out --lan and --host, or leave out --rules."
        )
    lan = Lan(arguments.port) if arguments.lan else None
    if lan is not None:
        arguments.host = EVERY_ADDRESS
    _refuse_taken_port(arguments.host, arguments.port)
    ensure_environment(supervisor, SITE)
    has_spark = REPORTS.is_current()
    if not system.has("java") and (has_spark or arguments.no_install):
        say(f"The lab runs; reports do not. {system.HOW_TO_INSTALL['java']}")
    if has_spark:
        Status().clear()
    else:
        Status().say("waiting for the site to answer")
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        **(_allowed_hosts(arguments.host) if lan is None else lan.settings(os.environ)),
        **({} if arguments.rules is None else {RULES: os.path.abspath(arguments.rules)}),
    }
    if arguments.rules is not None and supervisor.run([str(PYTHON), "-c", LOAD_RULES], environment) != 0:
        raise SetUpFailed("The rule cannot be used; its error is above.")
    if (
        supervisor.run([str(PYTHON), "manage.py", "migrate", "--noinput", "--verbosity", "0"], environment)
        != 0
    ):
        raise SetUpFailed("The database could not be brought up to date; Django's message is above.")
    site = supervisor.start(site_command(arguments.host, arguments.port), environment)
    wait_until_it_answers(supervisor, site, arguments.host, arguments.port)
    reports = Reports(supervisor, arguments, environment, has_spark)
    engine = Engine(supervisor, environment) if not arguments.no_worker else None
    say(f"Failover Lab is at http://{_reachable(arguments.host)}:{arguments.port}/   (Ctrl-C stops it)")
    if lan is not None:
        lan.show(supervisor)
    while site.poll() is None:
        reports.look_after()
        if engine is not None:
            engine.look_after()
        supervisor.sleep(POLL_SECONDS)
    say(f"The site ended by itself with code {site.returncode}; stopping.")
    return site.returncode or 1


def site_command(
    host: str, port: int, python: str = str(PYTHON), application: str = "labsite.asgi:application"
) -> list[str]:
    """The command that serves the site.

    Every limit that uvicorn offers is stated. Django, not the server, handles a proxy's headers.
    """
    options = {
        "--host": host,
        "--port": port,
        "--loop": "uvloop",
        "--http": "labsite.turns:Http",
        "--h11-max-incomplete-event-size": HEAD_BYTES,
        "--ws": "labsite.turns:Sockets",
        "--ws-max-size": MESSAGE_BYTES,
        "--ws-per-message-deflate": "false",  # a frame would be compressed again for each viewer
        "--timeout-graceful-shutdown": SHUTDOWN_SECONDS,
        "--lifespan": "off",
        "--log-level": "warning",
    }
    words = [str(word) for option in options.items() for word in option]
    return [
        python,
        "-m",
        "uvicorn",
        application,
        *words,
        "--no-access-log",
        "--no-server-header",
        "--no-proxy-headers",
    ]


def tools_command(no_install: bool) -> list[str]:
    """The command that installs report tools.

    It is run by the Python that makes the environment, not by the environment's own.
    """
    return [sys.executable, "-m", "script.support.report_tools", *(["--no-install"] if no_install else [])]


def worker_command() -> list[str]:
    return [str(PYTHON), "manage.py", "db_worker", "--exclude-queues", "engine"]


def engine_worker_command() -> list[str]:
    return [str(PYTHON), "manage.py", "db_worker", "--queue-name", "engine"]


class Engine:
    """The worker of small experiments and of My set-up, which needs no Spark; restarted when it dies."""

    def __init__(self, supervisor: Supervisor, environment: dict[str, str]) -> None:
        self._supervisor, self._environment = supervisor, environment
        self._worker = supervisor.start(engine_worker_command(), environment)

    def look_after(self) -> None:
        """Restart the worker if it has died."""
        if self._worker.poll() is not None:
            say(f"The engine worker ended with code {self._worker.returncode}; starting it again.")
            self._supervisor.forget(self._worker)
            self._supervisor.sleep(WORKER_PAUSE_SECONDS)
            self._worker = self._supervisor.start(engine_worker_command(), self._environment)


class Reports:
    """The installation of Spark and Java, then the report worker, restarted when it dies."""

    def __init__(
        self,
        supervisor: Supervisor,
        arguments: argparse.Namespace,
        environment: dict[str, str],
        has_spark: bool,
    ) -> None:
        self._supervisor, self._environment = supervisor, environment
        self._with_worker = not arguments.no_worker
        self._installing: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        if has_spark:
            self._start_worker()
        else:
            self._installing = supervisor.start(tools_command(arguments.no_install), environment)

    def look_after(self) -> None:
        """Start the worker after the installation, and restart a worker that has died."""
        if self._installing is not None and self._installing.poll() is not None:
            self._supervisor.forget(self._installing)
            if self._installing.returncode == 0:
                self._start_worker()
            else:
                say(
                    "Spark could not be installed, so reports wait in their queue. The site goes on; the "
                    "next start tries again."
                )
            self._installing = None
        if self._worker is not None and self._worker.poll() is not None:
            say(f"The report worker ended with code {self._worker.returncode}; starting it again.")
            self._supervisor.forget(self._worker)
            self._supervisor.sleep(WORKER_PAUSE_SECONDS)
            self._start_worker()

    def _start_worker(self) -> None:
        if self._with_worker:
            self._worker = self._supervisor.start(worker_command(), self._environment)


class Lan:
    """The addresses under which other computers of this network reach the site.

    Raises SetUpFailed when this machine has none.
    """

    def __init__(self, port: int) -> None:
        self._addresses = system.lan_addresses()
        if not self._addresses:
            raise SetUpFailed(
                "This computer has no address on a network. Connect it to one, or leave out --lan."
            )
        self.address = f"http://{self._addresses[0]}:{port}"

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """ALLOWED_HOSTS with every address and name of this machine, and SHARED_ADDRESS unless it is set."""
        name = socket.gethostname().lower()
        allowed = given.get("ALLOWED_HOSTS") or LOCAL_HOSTS
        hosts = [*allowed.split(","), *self._addresses, name, f"{name}.local"]
        return {
            "ALLOWED_HOSTS": ",".join(dict.fromkeys(host.strip() for host in hosts if host.strip())),
            "SHARED_ADDRESS": given.get("SHARED_ADDRESS") or self.address,
        }

    def show(self, supervisor: Supervisor) -> None:
        """Print the address for other computers with its QR code, and the further ones."""
        say(f"On this network it is at {self.address}/   Anyone on the network can open it.")
        supervisor.run([str(PYTHON), "-m", "segno.cli", "--compact", "--border", "2", f"{self.address}/"])
        if len(self._addresses) > 1:
            say(f"This machine's other addresses: {', '.join(self._addresses[1:])}")


def _allowed_hosts(host: str) -> dict[str, str]:
    """The ALLOWED_HOSTS of a site that listens beyond this machine; a value that is set is kept."""
    if "ALLOWED_HOSTS" in os.environ or host in OWN_ADDRESSES:
        return {}
    if host in ("0.0.0.0", "::", ""):
        say(
            "Listening at every address. Browsers elsewhere are refused until ALLOWED_HOSTS names this "
            "machine, such as ALLOWED_HOSTS=lab.example.org. --lan finds this machine's addresses itself."
        )
        return {}
    return {"ALLOWED_HOSTS": f"{LOCAL_HOSTS},{f'[{host}]' if ':' in host else host}"}


def _refuse_taken_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SetUpFailed(
                f"Cannot listen at {host} port {port}: {error.strerror}. Another --port or --host may be "
                f"free."
            ) from error


def wait_until_it_answers(
    supervisor: Supervisor, site: subprocess.Popen[bytes], host: str, port: int
) -> None:
    end = time.monotonic() + START_LIMIT_SECONDS
    while time.monotonic() < end:
        if site.poll() is not None:
            raise SetUpFailed(
                f"The site ended with code {site.returncode} before it answered; its message is above."
            )
        try:
            socket.create_connection((_reachable(host), port), timeout=1).close()
            return
        except OSError:
            supervisor.sleep(0.1)
    raise SetUpFailed(f"The site did not answer within {START_LIMIT_SECONDS} s.")


def _reachable(host: str) -> str:
    """The address that a browser on this machine uses for a server that listens at `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


if __name__ == "__main__":
    raise SystemExit(main())
