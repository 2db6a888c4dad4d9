"""The system's Chromium driven by Playwright, for pages whose policy forbids `eval`: waiting asks from outside, again and again."""

from __future__ import annotations

import shutil
import time
from typing import Any

from script.support import system
from script.support.environment import SetUpFailed

WAIT_LIMIT_SECONDS, ASK_EVERY_MS = 60, 50


def chromium() -> str:
    """The path of the system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise SetUpFailed(system.HOW_TO_INSTALL["chromium"])


def wait_until(page: Any, function: str, argument: Any = None) -> None:
    """Waits until a JavaScript function gives something true. Playwright's own wait evaluates text in the page, which the policy refuses."""
    end = time.monotonic() + WAIT_LIMIT_SECONDS
    while not page.evaluate(function, argument):
        if time.monotonic() > end:
            raise SetUpFailed(f"The page did not come to this within {WAIT_LIMIT_SECONDS} s: {function}")
        page.wait_for_timeout(ASK_EVERY_MS)


def open_at(page: Any, address: str, at_us: int) -> None:
    """Opens a lab's page as its owner (the token is in the address) and goes to an instant."""
    page.goto(address)
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.evaluate("at_us => globalThis.failoverLab.link.seek(at_us)", at_us)
    wait_until(page, "at_us => globalThis.failoverLab.getState().at_us >= at_us", at_us)
