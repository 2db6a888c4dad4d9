"""The link to a run, driven in a browser: it opens the same run, at the same instant, with the same view."""

from __future__ import annotations

import json
from base64 import b64encode
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Lab, fresh_context

SVG = "{http://www.w3.org/2000/svg}"


def inputs_of(page: Page) -> dict:
    """The inputs of the run that a lab's page shows."""
    base = page.evaluate("document.querySelector('[data-lab-id]').dataset.apiBase")
    return json.loads(page.evaluate("async (path) => (await fetch(path)).text()", f"{base}inputs.json"))


def cut_and_play_on(lab: Lab) -> Page:
    lab.seek(2_000_000)
    lab.page.evaluate("globalThis.failoverLab.link.command({ do: 'link.cut', link: 'us-east -> us-west' })")
    lab.until("Object.values(state.view.links).some((link) => link.state === 'cut')")
    lab.seek(5_000_000)
    return lab.page


def test_the_link_to_a_run_opens_the_same_run(open_lab, open_page):
    page = cut_and_play_on(open_lab("two-regions"))
    page.get_by_role("tab", name="Admin").click()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link to this run")
    expect(link).not_to_have_value("")

    _scheme, _host, path = link.input_value().split("/", 3)[1:]
    other = open_page(f"/{path}")
    expect(other.get_by_role("heading", level=1)).to_contain_text("Open “")
    expect(other.locator("[data-part=words]")).to_contain_text("1 command given by hand, at 5.000 s")
    other.get_by_role("button", name="Open the run").click()
    other.wait_for_url("**/labs/**")
    expect(other.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    same = ("digest", "until_us", "commands")
    assert [inputs_of(other)[name] for name in same] == [inputs_of(page)[name] for name in same]


def test_a_link_that_was_cut_off_says_so(open_page):
    page = open_page("/run/#run=abc")
    expect(page.get_by_role("heading", level=1)).to_have_text("This link holds no run")
    expect(page.get_by_role("button", name="Open the run")).to_be_hidden()


def saved_by(lab: Lab, button: str) -> tuple[str, bytes]:
    """Name and content of the file that a button of the open dialog saves."""
    with lab.page.expect_download() as saved:
        lab.page.get_by_role("button", name=button).click()
    return saved.value.suggested_filename, saved.value.path().read_bytes()


COMPARED = """async ([png, svg]) => {
  const [first, second] = await Promise.all([`data:image/png;base64,${png}`, `data:image/svg+xml;base64,${svg}`].map(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    return image;
  }));
  const pixels = [first, second].map((image) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [first.width, first.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  });
  const far = (at, other) => Math.max(...[0, 1, 2].map((channel) => Math.abs(pixels[0][at + channel] - pixels[1][other + channel])));
  let [painted, different] = [0, 0];
  for (let at = 0; at < pixels[0].length; at += 4) {
    if (far(at, at) > 60) different += 1;
    if (Math.max(...[0, 1, 2].map((channel) => Math.abs(pixels[0][at + channel] - pixels[0][channel]))) > 60) painted += 1;
  }
  return { sizes: [first.width, first.height, second.width, second.height], painted, different };
}"""
"""Sizes of two pictures, pixels of the first that are not background, and pixels in which they differ."""


@pytest.mark.parametrize(
    ("scenario", "at_us", "mark", "text"),
    [("three-regions", 5_020_000, "flight-message", "us-west"), ("groups-join", 6_000_000, "node", "ada")],
)
def test_the_diagram_as_svg_is_the_picture_of_the_png(open_lab, scenario, at_us, mark, text):
    lab = open_lab(scenario)
    lab.seek(at_us)
    lab.at_rest()
    loaded = "() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/scripts/pictures.js'))"
    assert lab.page.evaluate(loaded) is False
    lab.page.get_by_role("button", name="Share", exact=True).click()
    name, png = saved_by(lab, "picture (PNG)")
    assert name == f"{scenario}.png" and lab.page.evaluate(loaded) is True
    name, svg = saved_by(lab, "picture (SVG)")
    assert name == f"{scenario}.svg"
    root = ElementTree.fromstring(svg)
    parts = {found.tag.partition("}")[2] for found in root.iter()}
    assert "image" not in parts and b"NaN" not in svg and b"undefined" not in svg
    texts = {found.text for found in root.iter(f"{SVG}text")}
    assert text in texts
    assert {found.get("font-family", "").rpartition(", ")[2] for found in root.iter(f"{SVG}text")} == {
        "sans-serif"
    }
    assert mark in {found.get("class") for found in root.iter(f"{SVG}g")}
    assert f"at {at_us / 1e6:.3f} s" in root.findtext(f"{SVG}title")
    assert lab.state("state.welcome.title") in texts, "the title is in the picture"
    assert any(words and words.startswith(f"{at_us / 1e6:.3f} s · seed ") for words in texts)
    assert f"Scenario {scenario}, seed" in root.findtext(f"{SVG}desc")
    compared = lab.page.evaluate(COMPARED, [b64encode(png).decode(), b64encode(svg).decode()])
    assert compared["sizes"][:2] == compared["sizes"][2:]
    assert compared["painted"] > 5_000
    assert compared["different"] < 0.02 * compared["painted"], compared
    lab.page.keyboard.press("Escape")
    lab.at_rest()
    lab.page.get_by_role("button", name="Share", exact=True).click()
    assert saved_by(lab, "picture (PNG)")[1] == png, "making an SVG leaves the diagram as it was"


DECODED = """async (gif) => {
  const data = Uint8Array.from(atob(gif), (sign) => sign.charCodeAt(0));
  const decoder = new ImageDecoder({ data, type: "image/gif" });
  await Promise.all([decoder.completed, decoder.tracks.ready]);
  const track = decoder.tracks.selectedTrack;
  const frames = [];
  for (let frameIndex = 0; frameIndex < track.frameCount; frameIndex++) {
    const { image } = await decoder.decode({ frameIndex });
    frames.push([image.displayWidth, image.displayHeight, image.duration / 1000]);
  }
  return { repeats: track.repetitionCount, frames };
}"""


def make_animation(page: Page, from_s: str, to_s: str, **chosen: str) -> None:
    """Fills the form and starts; the dialog closes."""
    page.get_by_role("button", name="Share", exact=True).click()
    form = page.locator("[data-part=animation]")
    if form.get_attribute("open") is None:
        form.get_by_text("Animation of a range").click()
    form.get_by_label("from (s)").fill(from_s)
    form.get_by_label("to (s)").fill(to_s)
    for label, value in chosen.items():
        form.get_by_role("combobox", name=label, exact=True).select_option(value)
    form.get_by_role("button", name="Make the animation").click()


def test_a_range_becomes_the_same_gif_each_time(open_lab):
    lab = open_lab("two-regions")
    lab.seek(5_000_000)
    page = lab.page
    made = []
    for _ in range(2):
        with page.expect_download() as saved:
            make_animation(page, "4.9", "5.1", speed="0.2", width="640")
        made.append(saved.value.path().read_bytes())
        assert saved.value.suggested_filename == "two-regions.gif"
        lab.until("state.at_us === 5000000 && !state.playing")
        expect(page.get_by_role("alert")).to_contain_text("The animation is saved: 11 frames, 1.1 s")
        page.reload()
        lab.until("state.view !== null && state.at_us === 5000000")
        lab.at_rest()
    assert made[0] == made[1]
    decoded = page.evaluate(DECODED, b64encode(made[0]).decode())
    assert decoded["repeats"] == "Infinity" or decoded["repeats"] == float("inf")
    widths, heights, times_ms = (list(column) for column in zip(*decoded["frames"], strict=True))
    assert set(widths) == {640} and len(set(heights)) == 1 and heights[0] > 150
    assert sum(times_ms) == 10 * 100 + 2000 and times_ms[-1] == 2000 and len(times_ms) > 5


def test_an_animation_is_cancelled_interrupted_and_bounded(open_lab):
    lab = open_lab("two-regions")
    lab.seek(5_000_000)
    page = lab.page
    make_animation(page, "1", "5")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("progressbar")).to_be_hidden()
    lab.until("state.at_us === 5000000")
    make_animation(page, "1", "5")
    lab.until("state.at_us < 5000000")
    page.evaluate("globalThis.failoverLab.link.play(1)")
    expect(page.get_by_role("alert")).to_contain_text("No animation was made. The lab was played, moved")
    page.get_by_role("button", name="Share", exact=True).click()
    page.locator("[data-part=animation-speed]").select_option("0.01")
    expect(page.locator("[data-part=animation-size]")).to_contain_text("at most 400 are made")
    expect(page.get_by_role("button", name="Make the animation")).to_be_disabled()


PLAYED = """async (webm) => {
  const video = document.createElement("video");
  video.src = `data:video/webm;base64,${webm}`;
  await new Promise((done, failed) => Object.assign(video, { onloadeddata: done, onerror: () => failed(video.error) }));
  return [video.videoWidth, video.duration];
}"""


def test_a_range_becomes_a_video_that_the_browser_plays(open_lab, browser):
    lab = open_lab("two-regions")
    lab.seek(5_000_000)
    with lab.page.expect_download() as saved:
        make_animation(lab.page, "4.9", "5", speed="0.2", width="640", format="webm")
    assert saved.value.suggested_filename == "two-regions.webm"
    context = fresh_context(browser)  # the lab's policy allows no video
    played = context.new_page().evaluate(PLAYED, b64encode(saved.value.path().read_bytes()).decode())
    assert played == [640, 0.5 + 2]
    context.close()
