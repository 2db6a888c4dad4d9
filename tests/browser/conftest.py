"""A real server and a real headless Chromium for the page's tests: one server for all of them, a Chromium per module, a fresh browser context per test.

Rules: what a test makes (labs, reports) stays on the server, so none may expect to be alone there; what a person's browser keeps is in its context.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from script.support.browsing import chromium, wait_until
from script.support.processes import Supervisor
from script.support.temporary_site import Site, temporary_site

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
WIDE = {"width": 1440, "height": 900}


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with Supervisor() as supervisor, temporary_site(supervisor) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM") or chromium(), args=ARGUMENTS)
        yield started
        started.close()


def note_troubles(page: Page, address: str, troubles: list[str]) -> None:
    """Whatever goes wrong on a page is put in the list: console, exceptions, requests elsewhere, answers of 400 and more."""
    page.on("console", lambda message: troubles.append(f"console: {message.text}") if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("request", lambda request: None if request.url.startswith((address, "data:", "blob:")) else troubles.append(f"another address: {request.url}"))
    page.on("response", lambda response: troubles.append(f"{response.status}: {response.url}") if response.status >= 400 else None)


class Lab:
    """A lab's page as its owner sees it, and all that went wrong on it."""

    def __init__(self, page: Page, site: Site, made: dict[str, str], troubles: list[str] | None = None) -> None:
        """`troubles` are those of a page that showed other labs before; a new page's are noted from now on."""
        self.page, self.site, self.made = page, site, made
        self.troubles: list[str] = [] if troubles is None else troubles
        if troubles is None:
            note_troubles(page, site.address, self.troubles)

    def open(self, query: str = "", owner: bool = True) -> Lab:
        token = f"#token={self.made['token']}" if owner else ""
        self.page.goto(f"{self.site.address}{self.made['url']}{query}{token}")
        wait_until(self.page, "() => Boolean(globalThis.failoverLab?.getState().view)")
        return self

    def state(self, expression: str) -> Any:
        return self.page.evaluate(f"() => {{ const state = globalThis.failoverLab.getState(); return {expression}; }}")

    def until(self, expression: str) -> None:
        wait_until(self.page, f"() => {{ const state = globalThis.failoverLab.getState(); return {expression}; }}")

    def seek(self, at_us: int) -> None:
        self.page.evaluate("at_us => globalThis.failoverLab.link.seek(at_us)", at_us)
        self.until(f"state.at_us === {at_us}")


@pytest.fixture
def make_lab(browser: Browser, site: Site) -> Iterator[Callable[..., Lab]]:
    contexts: list[BrowserContext] = []

    def make(scenario: str = "", yaml: str = "", viewport: dict[str, int] | None = None, of: Lab | None = None, **options: Any) -> Lab:
        context = browser.new_context(viewport=viewport or WIDE, **options)
        contexts.append(context)
        return Lab(context.new_page(), site, of.made if of else site.open_lab(**({"yaml": yaml} if yaml else {"scenario": scenario})))

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def open_lab(make_lab: Callable[..., Lab]) -> Iterator[Callable[..., Lab]]:
    """Opens labs of scenarios, on whose pages nothing may go wrong."""
    opened: list[Lab] = []

    def open_one(scenario: str, query: str = "") -> Lab:
        opened.append(make_lab(scenario).open(query))
        return opened[-1]

    yield open_one
    assert [lab.troubles for lab in opened] == [[]] * len(opened)


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Opens a page of the site in a context of its own, and waits until it is `ready`, a function in JavaScript; nothing may go wrong on it."""
    troubles: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(path: str, ready: str = "() => true", **options: Any) -> Page:
        contexts.append(browser.new_context(**{"viewport": WIDE, **options}))
        page = contexts[-1].new_page()
        note_troubles(page, site.address, troubles)
        page.goto(f"{site.address}{path}")
        wait_until(page, ready)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
