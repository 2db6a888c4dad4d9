"""A foundation of these tests.

A page counts as at rest only when every consequence of a press is done, of whatever kind it is.
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


def test_a_page_is_at_rest_after_the_last_consequence_and_without_waiting_for_long_timers(open_page):
    page = open_page("/labs/")
    assert page.evaluate(A_CHAIN) == ["timers: 1"]
    wait_until_at_rest(page)
    assert page.evaluate("done") == ["timer", "request", "frame", "idle call", "move"]


def drawing_processes() -> list[int]:
    """Chromium's GPU processes among the child processes of this one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended during the search
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


def test_the_browser_survives_the_end_of_its_gpu_process(open_page):
    """Chromium ends with the sixth one that dies, unless configured otherwise: a busy machine was enough
    for that.
    """
    page, died = open_page("/labs/"), 0
    while died < 8:
        for pid in drawing_processes():
            os.kill(pid, signal.SIGKILL)
            died += 1
        wait_until_at_rest(page)  # painted, so by a new one
    assert page.screenshot()
