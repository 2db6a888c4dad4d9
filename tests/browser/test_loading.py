"""While a page's entries load, nothing false is shown: entries are hatched, and no part of them is counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from script.support.browsing import wait_until
from tests.browser.conftest import Lab

MOVED = """
format: 1
name: moved
title: Twelve hundred messages, then a failover
family: replicated-subscriptions
seed: 1
until: 8s
clusters: {a: {}, b: {}}
links: {default: {latency: 20ms}}
topics: {orders: {clusters: [a, b]}}
producers:
  web: {topic: orders, cluster: a, rate: 400/s, count: 1200}
subscriptions:
  billing: {topic: orders, type: Shared, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: a, processing: 1ms}
commands:
  - {at: 4s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: crash}
"""
"""Progress is not replicated: every message of b, to which consumers move at 4 s, has been acknowledged in a."""

JUST_MOVED_US = 4_100_000

NOTE_PAINTED = """() => {
  globalThis.painted = { marks: {}, words: [] };
  const of = (context) => context.canvas.dataset.part === "still";
  for (const name of ["fillRect", "fill", "stroke", "fillText"]) {
    const plain = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      if (of(this)) {
        painted.marks[this.mark] = (painted.marks[this.mark] ?? 0) + 1;
        if (name === "fillText") painted.words.push(given[0]);
      }
      return plain.apply(this, given);
    };
  }
}"""
"""From now on `painted` has the marks and the texts of the lanes."""


def redrawn(lab: Lab) -> dict[str, Any]:
    """What the lanes show now: their next complete drawing."""
    return lab.page.evaluate(
        """() => new Promise((resolve) => {
          painted.marks = {};
          painted.words = [];
          dispatchEvent(new Event("resize"));
          document.querySelector("[data-act=theme]").click();
          const wait = () => (painted.words.length ? resolve(painted) : requestAnimationFrame(wait));
          wait();
        })"""
    )


def opened_late(make_lab: Callable[..., Lab], query: str = "") -> tuple[Lab, list[str], Callable[[], None]]:
    """A page opened just after the failover, whose requests for older entries are not answered yet."""
    first = make_lab(yaml=MOVED).open()
    first.seek(JUST_MOVED_US)
    late, held, studies, released = make_lab(of=first), [], [], []
    late.page.add_init_script(f"({NOTE_PAINTED})()")
    late.page.route("**/tiles/**", lambda route: route.continue_() if released else held.append(route))
    late.page.on(
        "request", lambda request: studies.append(request.url) if "what-if.json" in request.url else None
    )
    late.open(query)
    late.until(f"state.at_us === {JUST_MOVED_US}")
    wait_until(late.page, "() => document.querySelector('.lab').classList.contains('drawn')")

    def release() -> None:
        assert held, "nothing was requested"
        released.append(True)
        for route in held:
            route.continue_()

    return late, studies, release


def test_entries_that_load_are_hatched_and_not_counted(make_lab: Callable[..., Lab]) -> None:
    lab, _, release = opened_late(make_lab)
    wait_until(lab.page, "() => (painted.marks['entry-not-loaded'] ?? 0) > 0")
    shown = redrawn(lab)
    assert shown["marks"]["entry-not-loaded"] > 0
    assert not any(re.match(r"\d.* (duplicates?|lost|not replicated)", words) for words in shown["words"])
    assert "message" not in shown["marks"], "no entry of the two logs is drawn as not acknowledged"
    release()
    lab.until("Object.values(state.cells).every((cells) => cells.first === 0)")
    lab.at_rest()
    shown = redrawn(lab)
    assert "entry-not-loaded" not in shown["marks"]
    other = make_lab(of=lab)
    other.page.add_init_script(f"({NOTE_PAINTED})()")
    other.open()
    other.until("Object.values(state.cells).every((cells) => cells.first === 0)")
    other.at_rest()
    assert shown["words"] == redrawn(other)["words"], "as on a page whose entries came at once"


def test_entries_are_requested_before_the_re_runs_of_a_panel(make_lab: Callable[..., Lab]) -> None:
    lab, studies, release = opened_late(make_lab, "?panel=what-if")
    wait_until(lab.page, "() => (painted.marks['entry-not-loaded'] ?? 0) > 0")
    redrawn(lab)
    assert studies == []
    release()
    expect(
        lab.page.get_by_role("tabpanel", name="What would have helped").locator("tbody tr").first
    ).to_be_visible()
    assert studies and lab.troubles == []
