"""A lab of the protocol that exists only in the tests opens over the socket.

Welcome, frames, commands, seeking; and the page's modules show it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from simulator import World, load_scenario_text
from tests.third_protocol import registered
from tests.third_protocol.declared import NAME
from tests.visualizer.pages import Page
from visualizer.labs.definitions import new_lab
from visualizer.live.frames import FrameMaker, Playing
from visualizer.live.welcome import welcome
from visualizer.questions.curve import RiskCurves

ROOT = Path(__file__).resolve().parents[2]

TEXT = """\
format: 1
name: one-crash
title: One crash
family: single-log
until: 20s
servers:
  alpha: {every: 500ms, count: 20, persistEach: 4}
"""


@pytest.fixture
async def owner(monkeypatch: pytest.MonkeyPatch, hub: Any) -> Any:
    registered.register(monkeypatch)
    made = await sync_to_async(new_lab)({"yaml": TEXT})
    page = Page(made.lab.pk, made.token)
    page.welcome = await page.open()
    await page.frame()
    yield page
    await page.close()


async def test_a_lab_of_the_third_protocol_takes_a_crash_and_a_seek(
    owner: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert owner.welcome["scenario"] == "one-crash"
    assert owner.welcome["protocol"] == NAME
    assert owner.welcome["tables"]["commands"]["server.crash"] == {
        "label": "crash a server",
        "consequence": "{server} stops at once.",
        "arguments": [{"name": "server", "kind": "server", "required": True}],
    }
    await owner.seek(3_200_000)
    await owner.send({"type": "command", "command": {"do": "server.crash", "server": "alpha"}})
    frame = await owner.frame(lambda frame: frame["view"]["servers"]["alpha"]["up"] is False)
    assert "server.crashed" in [row["type"] for row in frame["rows"]]
    await owner.seek(5_000_000)
    alpha = owner.frames[-1]["view"]["servers"]["alpha"]
    assert alpha["up"] is True and alpha["stored"] > alpha["persisted"]
    assert "Internal error" not in caplog.text


SHOWN_BY_THE_PAGE = """
import { readFileSync } from "node:fs";
const at = (module) => import(`PAGE/${module}`);
const { PROTOCOLS, protocolOf, requireProtocol } = await at("protocols/table.js");
const { LIGHT_PROTOCOLS } = await at("protocols/light_table.js");
const own = (module) => import(`OWN/${module}.js`);
PROTOCOLS.push((await own("manifest")).SINGLE_LOG);
LIGHT_PROTOCOLS.push((await own("light")).SINGLE_LOG_LIGHT);
const { decode } = await at("wire/decode.js");
const { emptyLab } = await at("model/state.js");
const { reduce, whatIsWatched } = await at("model/reduce.js");
const { sentenceOf, plainSentence, mirrorOf } = await at("render/sentence.js");
const { plainWordsOf } = await at("model/event_rows.js");
const { consequencesOf, choicesOf } = await at("pages/faults.js");
const { commandOf } = await at("model/commands.js");
const { marksOf } = await at("model/marks.js");
const state = JSON.parse(readFileSync(0, "utf8")).map(decode).reduce(reduce, emptyLab());
requireProtocol(state.welcome.protocol);
const watched = whatIsWatched(state, {});
const crash = commandOf(state, "server.crash", { server: "alpha" });
console.log(JSON.stringify({
  sentence: plainSentence(sentenceOf(state, watched)),
  mirror: mirrorOf(state, watched).at(-1),
  rows: state.rows.map((row) => plainWordsOf(row, state)),
  crash: consequencesOf(crash, state, watched),
  servers: choicesOf({ kind: "server" }, state, watched),
  marks: marksOf(state, state.rows, protocolOf(state).marks).map(({ text, kind }) => [text, kind]),
}));
"""


@pytest.mark.django_db
def test_the_page_shows_the_frames_of_the_third_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's messages of such a lab pass through the page's modules, with its manifest in their
    table.
    """
    registered.register(monkeypatch)
    lab = new_lab({"yaml": TEXT}).lab
    world = World.from_scenario(load_scenario_text(TEXT))
    frames = FrameMaker(world, RiskCurves(world, world.scenario))
    frames.begin_epoch(1)
    texts = [json.dumps(welcome(lab, is_owner=True)), frames.next(Playing(True, 1.0), False)[0].text]
    world.run(3_200_000)
    assert world.apply({"do": "server.crash", "server": "alpha"}).ok
    texts.append(frames.next(Playing(True, 1.0), False)[0].text)

    node = shutil.which("node")
    assert node, "Node 18 or newer is needed for the tests of the page's modules: apt-get install nodejs."
    script = SHOWN_BY_THE_PAGE.replace("PAGE", (ROOT / "static" / "js").as_uri())
    script = script.replace("OWN", (ROOT / "tests" / "third_protocol" / "page").as_uri())
    answer = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    shown = json.loads(answer.stdout)
    assert shown["sentence"] == "0 servers are up."
    assert shown["mirror"] == {
        "title": "Servers",
        "lines": ["alpha is down: 6 stored, read up to 5, persisted up to 3."],
    }
    assert "alpha crashed" in shown["rows"] and "crash a server: alpha" in shown["rows"]
    assert shown["crash"] == "alpha stops at once. It goes back to entry 3 when it is up again."
    assert shown["servers"] == ["alpha"]
    assert shown["marks"] == [["alpha crashed", "fault"]]
