"""The system's Chromium driven by Playwright, for pages whose policy forbids `eval`.

Rules: waits have no fixed length. The page's pending work (requests to the server, drawing, moves, delayed
writes) is counted by `unrest.js` as it begins and ends. A page without pending work is at rest. Only then is
it read in several steps or a picture taken. Waiting polls from outside the page.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from script.support import system
from script.support.environment import (
    PYTHON,
    REPORTS,
    ROOT,
    SITE,
    TESTS,
    SetUpFailed,
    ensure_environment,
    run_command,
)
from script.support.processes import Supervisor

WAIT_LIMIT_SECONDS, ASK_EVERY_MS = 120, 50
"""The limit of a wait and the time between two polls.

The limit is long because a busy machine takes a multiple of a quiet one's time.
"""

FEATURES_OFF = (
    # two pages of the address field's popup, drawn again in each context: a third of the processor time
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # features that Playwright turns off; only one such switch is used, so its own list would be lost
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
)

ARGUMENTS = [
    f"--disable-features={','.join(FEATURES_OFF)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu-watchdog",
    "--disable-gpu-process-crash-limit",
]
"""Chromium's arguments.

Without the last two switches it ends its drawing process when that is not served for some seconds, as on a
busy machine, and ends itself when that has happened six times.
"""

NOTES_OF_UNREST = Path(__file__).with_name("unrest.js")
"""The script for `add_init_script(path=…)`."""


def chromium() -> str:
    """The path of the system's Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise SetUpFailed(system.HOW_TO_INSTALL["chromium"])


def wait_until(page: Any, function: str, argument: Any = None) -> None:
    """Wait until a JavaScript function returns a true value.

    Playwright's own wait evaluates text in the page, which the policy refuses.
    """
    _ask_until(page, function, argument, bool, lambda _answer: f"to this: {function}")


def wait_until_at_rest(page: Any) -> None:
    """Wait until a page with `NOTES_OF_UNREST` has no pending work."""
    _ask_until(
        page,
        "async () => { await unrest.painted(); return unrest.whole(); }",
        None,
        lambda answer: answer == [],
        lambda answer: f"to rest: {answer}",
    )


def wait_until_drawn(page: Any) -> None:
    """Wait until a page with `NOTES_OF_UNREST` shows all that it holds.

    It may still request more from the server.
    """
    _ask_until(
        page,
        "async () => { await unrest.painted(); return unrest.ofDrawing(); }",
        None,
        lambda answer: answer == [],
        lambda answer: f"to an end of drawing: {answer}",
    )


def _ask_until(
    page: Any, function: str, argument: Any, good: Callable[[Any], bool], words: Callable[[Any], str]
) -> None:
    end = time.monotonic() + WAIT_LIMIT_SECONDS
    while not good(answer := _asked(page, function, argument)):
        if time.monotonic() > end:
            raise SetUpFailed(f"The page did not come within {WAIT_LIMIT_SECONDS} s {words(answer)}")
        page.wait_for_timeout(ASK_EVERY_MS)


def _asked(page: Any, function: str, argument: Any) -> Any:
    """The page's answer; None from a page that is being left for another."""
    from playwright.sync_api import Error  # the commands import this module before anything is installed

    try:
        return page.evaluate(function, argument)
    except Error as reason:
        if "Execution context was destroyed" not in reason.message:
            raise
        return None


def open_at(page: Any, address: str, at_us: int) -> None:
    """Open a lab's page as its owner (the token is in the address) and seek to an instant."""
    page.goto(address)
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.evaluate("at_us => globalThis.failoverLab.link.seek(at_us)", at_us)
    wait_until(page, "at_us => globalThis.failoverLab.getState().at_us >= at_us", at_us)


def run_in_environment(module: str, take: Callable[[Supervisor], int]) -> int:
    """Run `take(supervisor)` if this process uses the environment's Python.

    Otherwise run the same command there as `python -m module`.

    They first make the environment and the browser, then run themselves again in the environment.
    """
    inside = sys.prefix == str(ROOT / ".venv")
    return run_command(take if inside else lambda supervisor: _enter(supervisor, module))


def _enter(supervisor: Supervisor, module: str) -> int:
    ensure_environment(supervisor, SITE, REPORTS, TESTS)
    if not system.ensure(supervisor, "chromium"):
        return 2
    return supervisor.run([str(PYTHON), "-m", module, *sys.argv[1:]], {**os.environ, "PYTHONUNBUFFERED": "1"})
