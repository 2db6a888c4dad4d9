"""What the machine must have for real brokers: memory, and ports (Java and Maven: `install.py`)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from script.real_brokers.install import InstallationError
from script.support.ports import free_port

CLUSTER_MB = 750
CLIENTS_MB = 500
"""Memory of a cluster's process and of the clients' process after hundreds of runs."""

MEMORY = Path("/proc/meminfo")


def check_memory(clusters: int, memory: Path = MEMORY) -> None:
    """Raise `InstallationError` if less memory is available than the processes will use."""
    available = available_mb(memory)
    needed = clusters * CLUSTER_MB + CLIENTS_MB
    if available is not None and available < needed:
        raise InstallationError(
            f"{clusters} real clusters and their clients need about {needed} MB of memory, and "
            f"{available} MB are available. End other programs, or play a scenario with fewer clusters."
        )


def available_mb(memory: Path = MEMORY) -> int | None:
    """Megabytes that are available, None where the system does not say."""
    try:
        lines = memory.read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def load_average() -> float:
    """The processes that wanted to run during the last minute, on average."""
    return round(os.getloadavg()[0], 1)


def busy(load: float, cores: int | None = None) -> str | None:
    """A warning when the machine has more to do than it can, which makes brokers and clients late."""
    cores = cores or os.cpu_count() or 1
    if load <= cores:
        return None
    return (
        f"The machine is busy: a load of {load} on {cores} cores. Brokers and clients will be late, so that "
        "snapshots take longer than the links alone explain. End other programs, or lower --at-once."
    )


def take_ports(count: int) -> list[int]:
    """So many different free ports; raises `InstallationError` if this machine gives none."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
    except OSError as error:
        raise InstallationError(
            f"No port of 127.0.0.1 can be opened ({error.strerror}); the brokers listen there. Allow it."
        ) from None
    chosen: list[int] = []
    while len(chosen) < count:
        port = free_port()
        if port not in chosen:
            chosen.append(port)
    return chosen
