"""Tools and addresses of the machine: Java for reports; Chromium, Node, npm and PostgreSQL for tests.

Rules: check first. Install only Debian's own packages, and only as root. Never raise an error here: functions
return whether the tool is present, and `HOW_TO_INSTALL` has the instructions for the user. Standard library
only.
"""

from __future__ import annotations

import ipaddress
import os
import random
import re
import shutil
import socket
import struct
import subprocess
from pathlib import Path

from script.support.processes import Supervisor, say

FIRST_PORT = 20_000
USUAL_RANGE_BEGINS = 32_768
_KERNELS_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port without a listener, chosen at random so that concurrent processes choose different ones.

    Port 0 does not work here: the kernel also assigns its ports to outgoing connections, so any browser or
    client on this machine may get the same port before the process listens. So ports are chosen from below
    that range.
    """
    chosen = random.SystemRandom()
    while True:
        port = chosen.randrange(FIRST_PORT, _kernels_first_port())
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue  # in use: try another one
        return port


def _kernels_first_port() -> int:
    """The first port of the range from which the kernel takes ports for outgoing connections."""
    try:
        begins = int(_KERNELS_RANGE.read_text().split()[0])
    except OSError:
        begins = USUAL_RANGE_BEGINS
    return max(begins, FIRST_PORT + 1000)


JAVA_LEAST, NODE_LEAST = 17, 18
"""Spark 4 needs Java 17; `node --test` and the module features used need Node 18."""

HOW_TO_INSTALL = {
    "java": f"Java {JAVA_LEAST} or newer is needed for reports. Debian, Ubuntu: apt-get install "
    f"openjdk-17-jre-headless. "
    "Fedora: dnf install java-17-openjdk-headless. macOS: brew install openjdk@17. Then start again.",
    "chromium": "Chromium is needed for the browser tests. Debian: apt-get install chromium.",
    "postgres": (
        "PostgreSQL's server is needed for the tests that kill it. Debian: apt-get install postgresql."
    ),
    "node": (
        f"Node {NODE_LEAST} or newer is needed for the tests of the page's modules. Debian: apt-get "
        f"install nodejs."
    ),
    "npm": "npm is needed to install the tools that check the page's modules. Debian: apt-get install npm.",
}

_DEBIAN_PACKAGES = {
    # the second is for releases without 17
    "java": ("openjdk-17-jre-headless", "openjdk-21-jre-headless"),
    "chromium": ("chromium",),
    "node": ("nodejs",),
    "npm": ("npm",),
    "postgres": ("postgresql",),
}


def has(thing: str) -> bool:
    """Whether `thing` (java, chromium, node, npm, postgres) is installed and new enough."""
    if thing == "chromium":
        return any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    if thing == "npm":
        return shutil.which("npm") is not None
    if thing == "postgres":
        return bool(shutil.which("postgres") or list(Path("/usr/lib/postgresql").glob("*/bin/postgres")))
    if thing == "java":
        home = os.environ.get("JAVA_HOME")
        program = str(Path(home) / "bin" / "java") if home else "java"
        return _major([program, "-version"], r'version "(\d+)') >= JAVA_LEAST
    return _major(["node", "--version"], r"v(\d+)") >= NODE_LEAST


def ensure(supervisor: Supervisor, thing: str) -> bool:
    """Install `thing` where that is allowed; returns whether it is present now.

    When it is not, the instructions are printed.
    """
    if has(thing):
        return True
    for package in _DEBIAN_PACKAGES[thing]:
        if install_debian_package(supervisor, package) and has(thing):
            return True
    say(HOW_TO_INSTALL[thing])
    return False


def install_debian_package(supervisor: Supervisor, package: str) -> bool:
    """Install one Debian package as root; False when this is not Debian, not root, or apt fails."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    say(f"Installing Debian's {package}…")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    supervisor.run(["apt-get", "update", "-qq"], environment)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    return supervisor.run(command, environment) == 0


def _major(command: list[str], pattern: str) -> int:
    """The major version that `command` prints, 0 when it is absent or prints something else."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except (FileNotFoundError, PermissionError):
        return 0
    found = re.search(pattern, answer.stdout + answer.stderr)
    return int(found.group(1)) if found else 0


ELSEWHERE = ("192.0.2.1", 9)
"""An address of another network (RFC 5737), to which nothing is sent."""

SIOCGIFADDR = 0x8915
"""Linux's request for the IPv4 address of an interface (netdevice(7))."""


def lan_addresses() -> list[str]:
    """The IPv4 addresses at which other computers reach this machine; that of the default route first."""
    found = [_address_of_default_route(), *_addresses_of_interfaces(), *_addresses_of_host_name()]
    return [address for address in dict.fromkeys(found) if address is not None and _is_reachable(address)]


def _is_reachable(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified)


def _address_of_default_route() -> str | None:
    """The address that a packet to another network would leave from. UDP's connect sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:  # no route
            return None
        return str(probe.getsockname()[0])


def _addresses_of_interfaces() -> list[str]:
    """The first address of each interface, where the system is Linux."""
    if not Path("/proc/net/dev").exists():
        return []
    from fcntl import ioctl  # absent on Windows

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:  # an interface without an IPv4 address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return found


def _addresses_of_host_name() -> list[str]:
    """The addresses that the machine's own name resolves to."""
    try:
        known = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return []
    return [str(entry[4][0]) for entry in known]
