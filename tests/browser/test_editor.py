"""The scenario editor in a real browser.

Completion, problems, Run, Share and drafts by keyboard; without the component's scripts; and files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from script.support.browsing import wait_until
from script.support.temporary_site import Site
from tests.browser.conftest import fresh_context, note_troubles

OPENED = "() => Boolean(globalThis.failoverEditor?.schema())"
CHECKED = "() => failoverEditor.checked()?.text === failoverEditor.value()"


@pytest.fixture
def open_editor(open_page: Callable[..., Page]) -> Callable[..., Page]:
    def opened(query: str = "", **options: Any) -> Page:
        return open_page(f"/editor/{query}", OPENED, **options)

    return opened


def into_the_text(page: Page) -> None:
    """Moves the focus into the text by keyboard, to its end."""
    page.get_by_role("group", name=re.compile("Scenario as YAML")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name=re.compile("Scenario as YAML"))).to_be_focused()
    page.keyboard.press("Control+End")


def text_of(page: Page) -> str:
    return page.evaluate("() => failoverEditor.value()")


def test_a_scenario_is_completed_corrected_run_and_shared_by_keyboard(browser: Browser, site: Site):
    context = fresh_context(browser, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    troubles: list[str] = []
    note_troubles(page, site.address, troubles)
    page.goto(site.address)
    page.get_by_role("link", name=re.compile("^Edit “Two regions: ")).click()
    wait_until(page, OPENED)
    expect(page.get_by_role("heading", name="No problems")).to_be_visible()
    expect(page.get_by_label("Start from")).to_have_value("scenario/two-regions")

    into_the_text(page)
    popup = page.locator(".ace_autocomplete")
    for typed, offered in (
        ("comm", "commands"),
        ("at: 3s, do: cluster.cr", "cluster.crash"),
        ("", "us-west"),
    ):
        page.keyboard.type(typed)
        page.keyboard.press("Control+Space")
        expect(popup).to_contain_text(offered)
        if offered == "cluster.crash":
            expect(page.locator(".ace_doc-tooltip")).to_contain_text("cluster: ")
        page.keyboard.press("Enter")
        expect(page.locator(".ace_editor:not(.ace_autocomplete)")).to_contain_text(offered)
    assert text_of(page).endswith("commands:\n  - {at: 3s, do: cluster.crash, cluster: us-west}")
    expect(page.get_by_role("region", name="At the cursor")).to_contain_text("commands[0].cluster")

    page.keyboard.press("Control+Home")
    page.keyboard.type("wrong: 1\nuntil: 5\n")
    expect(page.get_by_role("heading", name="3 problems")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="3 problems.")).to_contain_text("Line 1: wrong: ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name=re.compile("Scenario as YAML"))).not_to_be_focused()
    problem = page.get_by_role("button", name=re.compile("^line 1, column 1 wrong: unknown key"))
    problem.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name=re.compile("Scenario as YAML"))).to_be_focused()
    assert page.locator(".ace_gutter-cell.ace_error").first.is_visible()
    wrong = text_of(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("The scenario cannot be used: 3 problems")
    assert text_of(page) == wrong, "nothing is lost"
    page.reload()
    wait_until(page, OPENED)
    assert text_of(page) == wrong, "a changed text survives a reload"
    assert [trouble for trouble in troubles if "400" not in trouble] == []

    into_the_text(page)
    for key in ("Control+Home", "Shift+ArrowDown", "Shift+ArrowDown", "Delete"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="No problems")).to_be_visible()
    page.get_by_role("button", name="Share").press("Enter")
    link = page.get_by_label("Link to a run of this scenario")
    expect(link).to_have_value(re.compile("/run/#run="))
    address = link.input_value()
    page.get_by_role("button", name="Run").press("Enter")
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.get_by_role("link", name="Edit", exact=True).click()
    wait_until(page, OPENED)
    assert "cluster.crash" in text_of(page) and "lab/" in page.get_by_label("Start from").input_value()

    page.goto(address)
    page.get_by_role("link", name="Edit its scenario").click()
    wait_until(page, OPENED)
    assert text_of(page).endswith("cluster: us-west}"), "the text of the link"
    context.close()


def test_a_file_is_opened_and_texts_of_other_starts_are_kept(open_editor, tmp_path: Path):
    page = open_editor("?start=minimal/topic-creation")
    into_the_text(page)
    page.keyboard.type("# mine")
    expect(page.get_by_text("Your changed text is shown.")).to_be_visible()
    file = tmp_path / "own.yaml"
    file.write_text("format: 1\r\nname: own\r\n")
    page.get_by_label("Open file").set_input_files(file)
    wait_until(page, "() => failoverEditor.value() === 'format: 1\\nname: own\\n'")
    expect(page.get_by_role("heading", name="problems")).to_be_visible()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save as YAML").click()
    assert Path(downloading.value.path()).read_text() == "format: 1\nname: own\n"
    assert downloading.value.suggested_filename == "own.yaml"
    page.reload()
    wait_until(page, OPENED)
    assert text_of(page) == "format: 1\nname: own\n", "the newest text, without an address"
    page.get_by_label("Start from").select_option("minimal/topic-creation")
    wait_until(page, "() => failoverEditor.value().endsWith('# mine')")
    page.get_by_role("button", name="Discard my changes").click()
    wait_until(page, "() => !failoverEditor.value().includes('# mine')")
    expect(page.get_by_text("Your changed text is shown.")).to_be_hidden()


def test_without_the_component_a_plain_field_checks_and_runs(browser: Browser, site: Site):
    context = fresh_context(browser)
    page = context.new_page()
    page.route("**/vendor/ace/*", lambda route: route.abort())
    page.goto(f"{site.address}/editor/")
    wait_until(page, OPENED)
    expect(page.get_by_text("The editor component could not be loaded.")).to_be_visible()
    text = page.get_by_label("Scenario as YAML")
    text.fill(f"{text.input_value()}wrong: 1\n")
    page.get_by_role("button", name=re.compile("wrong: unknown key")).click()
    expect(text).to_be_focused()
    assert text.evaluate("area => area.value.slice(area.selectionStart).startsWith('wrong')")
    page.get_by_role("button", name="Discard my changes").click()
    expect(page.get_by_role("heading", name="No problems")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    context.close()


def test_a_proposed_name_is_taken_with_a_click(open_editor):
    page = open_editor("?start=minimal/replicated-subscriptions")
    into_the_text(page)
    page.evaluate(
        "() => { const editor = ace.edit(document.querySelector('.ace_editor'));"
        " editor.setValue(editor.getValue().replace('topic: orders', 'topic: order'), -1); }"
    )
    page.get_by_role("button", name="Use orders").click()
    wait_until(page, CHECKED)
    expect(page.locator("[data-part=problems-title]")).to_have_text("No problems")
    assert "topic: orders, cluster" in text_of(page)


def test_picture_and_outcome_follow_the_text(open_editor):
    page = open_editor("?start=scenario/region-down")
    outcome = page.get_by_role("region", name="Outcome", exact=True)
    picture = outcome.get_by_role("img", name="The logs of us-west, us-east, eu-central at 6.000 s")
    expect(picture).to_be_visible()
    expect(outcome).to_contain_text("7 duplicates")
    change = "([from, to]) => { const c = document.querySelector('.ace_editor'); const e = ace.edit(c); e.setValue(e.getValue().replace(from, to)); }"
    page.evaluate(change, ["every: 100ms}", "every: 50ms}"])
    expect(outcome).to_have_class("older")
    expect(outcome).to_contain_text("13 duplicates")
    expect(outcome).not_to_have_class("older")
    page.evaluate(change, ["do: cluster.crash", "do: cluster.cr"])
    expect(page.get_by_role("heading", name="1 problem")).to_be_visible()
    expect(outcome).to_have_class("older")
