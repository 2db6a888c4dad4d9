"""Room codes: letters that are hard to confuse, and limits on wrong ones for addresses and networks.

Rules: a code only finds a lab, as its viewing link does; it gives no right to control it. Wrong codes are
counted in this process, in windows that begin with the first wrong code. An owner of an IPv6 /48 has 65,536
networks that count as addresses, so wider networks are counted, too.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from visualizer.labs.clients import WIDTHS, network_of
from visualizer.live.wire import Refused

CODE_LETTERS = "BCDFGHJKMPQRTVWXYZ"
"""Letters of a code.

It has no vowels, so that no words arise, and none of I, L, N, O, S and U, which are confused with 1, M, 0, 5
and V. There are no digits.
"""

CODE_LENGTH = 6
"""Letters of a code. There are 18^6 codes, 34 million."""

WRONG_CODES = 60
"""Wrong codes of one address in a window: two for each pupil of a class behind one address."""

WRONG_CODES_S = 600.0
"""Length of a window. At 60 codes in 10 minutes, trying a thousandth of all codes takes four days."""

WRONG_CODES_OF_NETWORKS = (WRONG_CODES, 4 * WRONG_CODES, 10 * WRONG_CODES)
"""Wrong codes of an address, of its IPv4 /24 or IPv6 /56, and of its IPv6 /48: some classes of one school."""

ADDRESSES = 10_000
"""Addresses and networks whose wrong codes are counted; beyond them the oldest window is forgotten."""


def new_code() -> str:
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def code_of(typed: str) -> str:
    """The code that was typed, in any case, with or without spaces and hyphens. Raises Refused."""
    code = "".join(typed.split()).replace("-", "").upper()
    if len(code) != CODE_LENGTH or not set(code) <= set(CODE_LETTERS):
        raise Refused(
            "bad-code",
            "This is no room code.",
            f"A code has {CODE_LENGTH} of the letters {CODE_LETTERS}, such as {spoken(CODE_LETTERS[:6])}.",
        )
    return code


def spoken(code: str) -> str:
    """The code in two groups of letters, as it is shown."""
    return f"{code[: CODE_LENGTH // 2]} {code[CODE_LENGTH // 2 :]}"


class WrongCodes:
    """The wrong codes of each address, and of the networks around it, in its present window."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        # address or network: (beginning of its window, wrong codes)
        self._counted: dict[str, tuple[float, int]] = {}

    def check(self, name: str) -> None:
        """Raise Refused when this address has given too many wrong codes."""
        for network, most in _networks(name):
            began_s, count = self._counted.get(network, (0.0, 0))
            left_s = began_s + WRONG_CODES_S - self._now()
            if count >= most and left_s > 0:
                whose = "address" if most == WRONG_CODES else "network"
                minutes = max(1, round(left_s / 60))
                raise Refused(
                    "wrong-codes",
                    f"{most} wrong codes came from your {whose}.",
                    f"Try again in {minutes} minutes, or open the viewer's link of the lab.",
                )

    def add(self, name: str) -> None:
        """Count a wrong code of this address."""
        for network, _most in _networks(name):
            self._add(network)

    def _add(self, name: str) -> None:
        began_s, count = self._counted.pop(name, (self._now(), 0))
        if self._now() >= began_s + WRONG_CODES_S:
            began_s, count = self._now(), 0
        while len(self._counted) >= ADDRESSES:
            del self._counted[next(iter(self._counted))]
        self._counted[name] = (began_s, count + 1)


def _networks(name: str) -> list[tuple[str, int]]:
    """The counted address and the networks around it, each with its limit; none without an address."""
    if not name:
        return []
    found: dict[str, int] = {}
    for width, most in zip(WIDTHS, WRONG_CODES_OF_NETWORKS, strict=True):
        found.setdefault(network_of(name, width), most)
    return list(found.items())


wrong_codes = WrongCodes()
"""The wrong codes that this process was given."""
