"""What the tests here rest on: a page counts as at rest only when all that follows from a press is done, whatever it is made of."""

from __future__ import annotations

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
