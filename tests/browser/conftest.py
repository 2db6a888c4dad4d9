"""A real server and a real headless Chromium for the page's tests.

One of each for all of them, a new browser context per test.

Rules: what a test creates (labs, reports) stays on the server, so no test may expect to be alone there; what
a user's browser stores is in its context. No test waits for a length of time, and none reads a page that
still changes: the result of a press or click arrives over a socket and is drawn a frame later. A single thing
is read by `expect`, which polls until it is so; several, or a picture, once the page is `at_rest()`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from script.support.browsing import (
    ARGUMENTS,
    NOTES_OF_UNREST,
    WAIT_LIMIT_SECONDS,
    chromium,
    wait_until,
    wait_until_at_rest,
    wait_until_drawn,
)
from script.support.processes import Supervisor
from script.support.serve import engine_worker_command, worker_command
from script.support.temporary_site import Site, temporary_site

MADE_WITHIN_MS = 1_200_000
"""A minute on an idle machine, which may become ten on a busy one.

Java starts, and the first report compiles its queries. A step of a warm one may be shorter than a poll.
"""

WIDE = {"width": 1440, "height": 900}
# a busy machine is no reason to fail; what is ready immediately is not waited for
expect.set_options(timeout=1000 * WAIT_LIMIT_SECONDS)


def fresh_context(browser: Browser, **options: Any) -> BrowserContext:
    """A user's browser with nothing stored in it; its pages can be waited for until they are at rest."""
    context = browser.new_context(**{"viewport": WIDE, **options})
    context.set_default_timeout(1000 * WAIT_LIMIT_SECONDS)
    context.add_init_script(path=NOTES_OF_UNREST)
    return context


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with Supervisor() as supervisor, temporary_site(supervisor) as running:
        yield running


@pytest.fixture(scope="module")
def engine_worker(site: Site) -> Iterator[None]:
    """The worker of My set-up's answers and of small experiments; it needs neither Spark nor Java."""
    with Supervisor() as supervisor:
        supervisor.start(engine_worker_command(), {**site.environment})
        yield


@pytest.fixture
def start_worker(site: Site) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a worker with Spark; it ends with the test."""
    with Supervisor() as supervisor:
        yield lambda: supervisor.start(worker_command(), site.environment)


class Chromium:
    """The browser of this folder's tests: started on first use and, should it have crashed in a test, for
    the next one.
    """

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._launched()

    def _launched(self) -> Browser:
        return self._playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or chromium(),
            args=ARGUMENTS,
            timeout=1000 * WAIT_LIMIT_SECONDS,
        )

    def browser(self) -> Browser:
        if not self._browser.is_connected():
            self._browser = self._launched()
        return self._browser

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()


CHROMIUM = pytest.StashKey[Chromium]()


@pytest.fixture
def browser(pytestconfig: pytest.Config) -> Browser:
    if CHROMIUM not in pytestconfig.stash:
        pytestconfig.stash[CHROMIUM] = Chromium()
    return pytestconfig.stash[CHROMIUM].browser()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The browser ends with this folder's last test.

    Playwright holds an event loop, which no other test could share.
    """
    if (nextitem is None or nextitem.path.parent != item.path.parent) and CHROMIUM in item.config.stash:
        item.config.stash[CHROMIUM].close()
        del item.config.stash[CHROMIUM]


def note_troubles(page: Page, address: str, troubles: list[str]) -> None:
    """Every problem on a page is added to the list: console, exceptions, requests to other hosts,
    responses of 400 and more.
    """
    page.on(
        "console",
        lambda message: (
            troubles.append(f"console: {message.text}") if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "data:", "blob:"))
            else troubles.append(f"another address: {request.url}")
        ),
    )
    page.on(
        "response",
        lambda response: (
            troubles.append(f"{response.status}: {response.url}") if response.status >= 400 else None
        ),
    )


class Lab:
    """A lab's page as its owner sees it, and every problem on it."""

    def __init__(self, page: Page, site: Site, made: dict[str, str]) -> None:
        """`troubles` are recorded from now on."""
        self.page, self.site, self.made = page, site, made
        self.troubles: list[str] = []
        note_troubles(page, site.address, self.troubles)

    def open(self, query: str = "", owner: bool = True) -> Lab:
        token = f"#token={self.made['token']}" if owner else ""
        self.page.goto(f"{self.site.address}{self.made['url']}{query}{token}")
        wait_until(self.page, "() => Boolean(globalThis.failoverLab?.getState().view)")
        return self

    def state(self, expression: str) -> Any:
        return self.page.evaluate(
            f"() => {{ const state = globalThis.failoverLab.getState(); return {expression}; }}"
        )

    def until(self, expression: str) -> None:
        wait_until(
            self.page, f"() => {{ const state = globalThis.failoverLab.getState(); return {expression}; }}"
        )

    def seek(self, at_us: int) -> None:
        """Goes to an instant and waits until it is drawn."""
        self.page.evaluate("at_us => globalThis.failoverLab.link.seek(at_us)", at_us)
        self.until(f"state.at_us === {at_us}")
        wait_until_drawn(self.page)

    def at_rest(self) -> Lab:
        """Waits until the page has nothing left to do: what it shows now does not change any more."""
        wait_until_at_rest(self.page)
        return self


@pytest.fixture
def make_lab(browser: Browser, site: Site) -> Iterator[Callable[..., Lab]]:
    contexts: list[BrowserContext] = []

    def make(
        scenario: str = "",
        yaml: str = "",
        viewport: dict[str, int] | None = None,
        of: Lab | None = None,
        **options: Any,
    ) -> Lab:
        context = fresh_context(browser, viewport=viewport or WIDE, **options)
        contexts.append(context)
        return Lab(
            context.new_page(),
            site,
            of.made if of else site.open_lab(**({"yaml": yaml} if yaml else {"scenario": scenario})),
        )

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def open_lab(make_lab: Callable[..., Lab]) -> Iterator[Callable[..., Lab]]:
    """Opens labs of scenarios, on whose pages no problem may occur."""
    opened: list[Lab] = []

    def open_one(scenario: str, query: str = "") -> Lab:
        opened.append(make_lab(scenario).open(query))
        return opened[-1]

    yield open_one
    assert [lab.troubles for lab in opened] == [[]] * len(opened)


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Opens a page of the site in a context of its own, and waits until it is `ready`, a function in
    JavaScript, and at rest; no problem may occur on it.
    """
    troubles: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(path: str, ready: str = "() => true", **options: Any) -> Page:
        contexts.append(fresh_context(browser, **options))
        page = contexts[-1].new_page()
        note_troubles(page, site.address, troubles)
        page.goto(f"{site.address}{path}")
        wait_until(page, ready)
        wait_until_at_rest(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
