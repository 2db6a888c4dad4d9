"""The lab's views of a past failover, for `script/screenshots`.

They are the list, a story, changed runs and the forecast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from script.support.browsing import open_at, wait_until

END_US = 20_000_000
HOLE_END_US = 8_000_000


def _panel(page: Any, site: Any, scenario: str, name: str, to_us: int) -> None:
    lab = site.open_lab(scenario=scenario)
    open_at(page, f"{site.address}{lab['url']}?panel={name}#token={lab['token']}", to_us)
    page.locator(f"#panel-{name}").wait_for()


def why_duplicates(page: Any, site: Any) -> None:
    _panel(page, site, "ack-hole-delayed-message", "why-duplicates", HOLE_END_US)
    page.locator("button.message").first.wait_for()
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")


def story(page: Any, site: Any) -> None:
    """A story at the step that gives the cause."""
    _panel(page, site, "ack-hole-delayed-message", "why-duplicates", HOLE_END_US)
    page.locator("button.message").first.click()
    page.locator("[data-part=story-pips] .hole button").click()
    page.wait_for_timeout(600)


def what_helped(page: Any, site: Any) -> None:
    _panel(page, site, "slow-consumer-spread", "what-if", 45_000_000)
    wait_until(
        page,
        (
            "() => document.querySelector('.what-if table') && document.querySelector('.what-if "
            "[role=status]').hidden"
        ),
    )
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")


def forecast(page: Any, site: Any) -> None:
    """The forecast of a run played to its end, at an instant without a snapshot request.

    Playing draws the whole curve.
    """
    _panel(page, site, "region-down-twice", "forecast", 0)
    page.evaluate("() => failoverLab.link.play(20)")
    wait_until(page, "end_us => failoverLab.getState().at_us >= end_us", END_US)
    page.evaluate("() => failoverLab.link.seek(8000000)")
    wait_until(page, "() => failoverLab.getState().at_us === 8000000")
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")
    page.wait_for_timeout(900)


def _brokers(scenario: str, at_us: int) -> Callable[[Any, Any], None]:
    def room(page: Any, site: Any) -> None:
        _panel(page, site, scenario, "brokers", at_us)
        page.locator("#panel-brokers .figures").first.wait_for()
        page.locator("#panel-brokers .js-plotly-plot").first.wait_for()
        page.locator(".lower").evaluate("panels => panels.scrollIntoView()")
        page.wait_for_timeout(900)

    return room


STORY_ROOMS: dict[str, Callable[[Any, Any], None]] = {
    "why-duplicates": why_duplicates,
    "story": story,
    "what-helped": what_helped,
    "forecast": forecast,
    "brokers-starved": _brokers("starved-subscription", 8_000_000),
    "brokers-broadcast": _brokers("broadcast", 20_000_000),
}
