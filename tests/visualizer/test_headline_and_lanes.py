"""The headline, the lanes and the table of figures show one number of duplicates, at any instant.

Frames of the server pass through the page's modules, as in a browser. The number in the headline is compared
with what the labels of the target's lane add up to, and with the entries that are marked there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from simulator import World, load_scenario, scenario_names
from simulator.protocols.pulsar.views.picture import movable
from visualizer.labs.definitions import new_lab
from visualizer.live.frames import FrameMaker, Playing
from visualizer.live.welcome import welcome
from visualizer.questions.curve import RiskCurves

ROOT = Path(__file__).resolve().parents[2]
INSTANTS = 211
"""Instants of each run, evenly spaced; a prime, so that they fall on all phases of publishing and acking."""

SHOWN = """
import { readFileSync } from "node:fs";
const at = (module) => import(`PAGE/${module}`);
const { decode } = await at("wire/decode.js");
const { emptyLab } = await at("model/state.js");
const { reduce, whatIsWatched } = await at("model/reduce.js");
const { sentenceOf, plainSentence } = await at("render/sentence.js");
const { requireProtocol } = await at("protocols/table.js");
const { makeScene, followingWindow } = await at("protocols/pulsar/layout/scene.js");
const { labelRequests } = await at("protocols/pulsar/render/label_requests.js");
const { DUPLICATE } = await at("protocols/pulsar/model/entry_flags.js");
const found = [];
let state = emptyLab();
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  state = reduce(state, decode(text));
  if (!state.view) continue;
  requireProtocol(state.welcome.protocol);
  const watched = whatIsWatched(state, {});
  if (!watched.target || !watched.subscription) continue;
  const scene = makeScene(state, watched, { width: 4000, room: 900, scale: 1, window: followingWindow() });
  const lane = scene.plane.lanes.find(({ name }) => name === watched.target);
  const alone = { ...scene, threads: [], plane: { ...scene.plane, lanes: lane ? [lane] : [] } };
  const measure = (runs) => 6 * runs.map(({ text }) => text).join("").length;
  const labels = labelRequests(alone, state, measure, 14, null).map(({ forms }) => forms[0].label.map(({ text }) => text).join(""));
  const over = (state.view.failovers ?? []).filter((one) => one.subscription === watched.subscription).at(-1) ?? null;
  const bits = over ? (scene.lanes[over.to]?.bits ?? []) : [];
  found.push({
    at_us: state.at_us,
    sentence: plainSentence(sentenceOf(state, watched)),
    labels,
    target: watched.target,
    over: over && { duplicates: over.duplicates, marked: bits.filter((one) => one & DUPLICATE).length },
  });
}
console.log(JSON.stringify(found));
"""

COUNTED = re.compile(r"(?P<shown>[\d,]+)(?: of (?P<of>[\d,]+))? duplicates?(?:$|:)")
COMING = re.compile(r"(?P<shown>[\d,]+) more: on the way to ")
HEADLINE = re.compile(r" would deliver (?P<count>[\d,]+|no) duplicates?\.")


def scenarios() -> list[str]:
    """The built-in scenarios with a forecast of failovers and few enough rows for many instants."""
    names = []
    for name in scenario_names():
        scenario = load_scenario(name)
        # a scenario of topic creation has another headline
        if scenario.protocol == "pulsar" and scenario.family != "topic-creation" and movable(scenario):
            names.append(name)
    return names


def shown_of(name: str) -> list[dict]:
    """What the page shows of a built-in scenario at many instants."""
    lab = new_lab({"scenario": name}).lab
    world = World.open(name)
    frames = FrameMaker(world, RiskCurves(world, world.scenario))
    frames.begin_epoch(1)
    texts = [json.dumps(welcome(lab, is_owner=True))]
    for step in range(INSTANTS + 1):
        world.run(world.scenario.until_us * step // INSTANTS)
        texts.append(frames.next(Playing(False, 1.0), False)[0].text)
    node = shutil.which("node")
    assert node, "Node 18 or newer is needed for the tests of the page's modules: apt-get install nodejs."
    answer = subprocess.run(
        [node, "--input-type=module", "-e", SHOWN.replace("PAGE", (ROOT / "static" / "js").as_uri())],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def number(text: str) -> int:
    return 0 if text == "no" else int(text.replace(",", ""))


@pytest.mark.django_db
@pytest.mark.parametrize("name", scenarios())
def test_the_labels_of_the_lane_add_up_to_the_headline(name: str) -> None:
    compared = 0
    for shown in shown_of(name):
        headline = HEADLINE.search(shown["sentence"])
        if headline is None:
            if shown["over"]:
                assert shown["over"]["marked"] <= shown["over"]["duplicates"], shown
            continue
        wanted = number(headline["count"])
        counted = [found for label in shown["labels"] if (found := COUNTED.match(label))]
        coming = sum(number(found["shown"]) for label in shown["labels"] if (found := COMING.match(label)))
        total = sum(number(found["shown"]) for found in counted) + coming
        of = [number(found["of"]) for found in counted if found["of"]]
        assert all(one == wanted for one in of), shown
        # a label for which there is no room is dropped, so each names the headline's number
        assert all(found["of"] or number(found["shown"]) == wanted for found in counted), shown
        assert total == wanted or of, shown
        assert total <= wanted, shown
        compared += 1
    assert compared or "failed" in shown["sentence"] or shown["over"], "no instant was compared"
