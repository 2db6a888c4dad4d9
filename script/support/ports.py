"""Chooses a port for a process that has not started yet.

Port 0 does not work here: the kernel also assigns its ports to outgoing connections, so any browser or client
on this machine may get the same port before the process listens. So ports are chosen from below that range.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST_PORT = 20_000
USUAL_RANGE_BEGINS = 32_768
_KERNELS_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port without a listener, chosen at random so that concurrent processes choose different ones."""
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
