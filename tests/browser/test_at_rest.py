"""What the tests here rest on: a page counts as at rest only when all that follows from a press is done,
whatever it is made of.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from script.support.browsing import wait_until_at_rest

A_CHAIN = """() => {
  globalThis.done = [];
  setTimeout(async () => {
    done.push("timer");
    await (await fetch("/labs/")).text();
    done.push("request");
    requestAnimationFrame(() => {
      done.push("frame");
      requestIdleCallback(() => {
        done.push("idle call");
        document.body.animate([{ opacity: 0.5 }, { opacity: 1 }], 200).finished.then(() => done.push("move"));
      });
    });
  }, 300);
  setTimeout(() => done.push("a notice goes"), 600_000);
  return unrest.whole();
}"""


def test_rest_comes_after_the_last_of_what_follows_and_does_not_wait_for_long_timers(open_page):
    page = open_page("/labs/")
    assert page.evaluate(A_CHAIN) == ["timers: 1"]
    wait_until_at_rest(page)
    assert page.evaluate("done") == ["timer", "request", "frame", "idle call", "move"]


def drawing_processes() -> list[int]:
    """Chromium's GPU processes among what this process has started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    found = []
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        try:
            if above == os.getpid() and b"--type=gpu-process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_the_browser_outlives_its_drawing_process(open_page):
    """Chromium ends with the sixth one that dies, unless told otherwise: a busy machine was enough for
    that.
    """
    page, died = open_page("/labs/"), 0
    while died < 8:
        for pid in drawing_processes():
            os.kill(pid, signal.SIGKILL)
            died += 1
        wait_until_at_rest(page)  # painted, so by a new one
    assert page.screenshot()
