"""What a page shows depends on the instant and the branch only, not on how the viewer came there.

Each way to an instant feeds its messages to the page's own reducer (in Node); the resulting state and drawing
input are compared as JSON. Only what concerns the connection and playback itself is left out.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulator import World, load_scenario, names_of, sites_of
from visualizer.labs import jobs
from visualizer.labs.saving import StoredLab
from visualizer.labs.session import Session
from visualizer.labs.work import Job
from visualizer.live.frames import Frame
from visualizer.live.welcome import rows_held
from visualizer.questions.rows import events

PAGE = Path(__file__).resolve().parents[2] / "static" / "js"

CELLS = 400
"""Entries of each log that every page holds; earlier ones are fetched as tiles."""

CASES = {
    "region-down": [3_900_000, 9_900_000],
    "three-regions": [6_100_000],
    "ack-hole-delayed-message": [9_950_000],
    "producers-everywhere": [8_000_000],
    "strategies-delayed-message": [6_000_000],
    "drifted-partitions": [9_000_000],
    "tenant-moves": [8_000_000],
    "groups-killed": [16_000_000],
}
"""Built-in scenarios of each family, and instants at which they are compared."""


class Viewer:
    """Listens to a session, as a room does, and keeps what a page would be sent."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def publish(self, frame: Frame, snapshot: Frame | None) -> None:
        self.texts.append(frame.text)
        self.snapshot = snapshot

    def say(self, message: dict[str, Any]) -> None: ...

    def watched(self) -> bool:
        return True

    def position_changed(self) -> None: ...

    def failed(self, error: BaseException) -> None:
        raise error


async def _given(value: Any) -> Any:
    return value


async def _result(awaitable: Any) -> Any:
    return await awaitable


class Lab:
    """A session with its own clock: a turn takes 10 ms."""

    def __init__(self, name: str, stored: StoredLab | None = None) -> None:
        self.scenario = load_scenario(name)
        self.viewer = Viewer()
        self.session = Session(name, 0, self.viewer)
        self.commands: list[dict[str, Any]] = []  # as the database keeps them
        self.now_s = 0.0
        if stored is not None:
            self.do(jobs.rebuild(self.session, stored, lambda: _result(_given(self.scenario))))
        else:
            self.session.start_with(World.from_scenario(self.scenario), self.scenario)
            self.run()

    def run(self) -> None:
        """Until nothing is left to do."""
        while self.session.due_s(self.now_s) is not None or self.session.blocked_on is not None:
            if self.session.blocked_on is not None:
                self.session.resumed(asyncio.run(_result(self.session.blocked_on())))
                continue
            self.now_s = max(self.now_s + 0.01, self.session.due_s(self.now_s))
            self.session.turn(self.now_s)
            self.session.took(0.001)

    def play_to(self, at_us: int, speed: float) -> None:
        """Frame by frame, as in playback, to exactly that instant."""
        until_us, self.session.until_us = self.session.until_us, at_us
        self.session.play(speed)
        self.run()
        self.session.until_us = until_us
        assert self.session.world.now_us == at_us

    def do(self, work: Any) -> Any:
        answers: list[Any] = []
        self.session.submit(Job(work, answers.append, answers.append))
        self.run()
        return answers[0]

    def seek(self, at_us: int) -> None:
        self.do(jobs.seek(self.session, at_us, None))

    def command(self, **command: Any) -> None:
        async def keep(**given: Any) -> int:
            self.commands.append({**given, "number": len(self.commands), "ok": True})
            return len(self.commands) - 1

        result = self.do(jobs.carry_out(self.session, command, False, keep, lambda **_: None))
        assert result.ok, result.error

    def restarted(self) -> Lab:
        """The lab as another process builds it from the database."""
        position = self.session.position()
        return Lab(
            self.scenario.name,
            StoredLab(
                "l",
                1,
                "",
                self.scenario.seed,
                position["branch"],
                position["position_us"],
                position["furthest_us"],
                self.commands,
            ),
        )

    def reload(self) -> list[str]:
        """The messages to a page that opens the lab now."""
        self.session.looking.want(snapshot=True)
        self.run()
        assert self.viewer.snapshot is not None
        return [self.viewer.snapshot.text]


SHOWN = """
import { readFileSync } from "node:fs";
import { decode } from "PAGE/wire/decode.js";
import { reduce, whatIsWatched } from "PAGE/model/reduce.js";
import { emptyLab } from "PAGE/model/state.js";
import { makeEntryFlags } from "PAGE/protocols/pulsar/model/entry_flags.js";
import { threadsOf } from "PAGE/protocols/pulsar/layout/scene.js";
import { sentenceOf, mirrorOf } from "PAGE/render/sentence.js";
import { protocolOf } from "PAGE/protocols/table.js";
import { listedOf } from "PAGE/pages/event_panel.js";
const plain = (key, value) => (value instanceof Map ? [...value] : value);
const { welcome, pages, around } = JSON.parse(readFileSync(0, "utf8"));
const shown = pages.map((texts) => {
  const state = texts.map(decode).reduce(reduce, reduce(emptyLab(), welcome));
  const watched = whatIsWatched(state, {});
  const { welcome: _w, epoch, number, playing, speed, reached, sampled, viewers, missed, gaps, older, names, markers, cells, owners, view: { furthest_us, ...view }, branches, ...held } = state;
  const flags_of = protocolOf(state).name === "pulsar" ? makeEntryFlags(state, watched) : null;
  const logs = Object.entries(cells ?? {}).map(([where, { first, count, length }]) => {
    const from = Math.max(first, length - CELLS);
    const [cluster, topic] = where.split("/");
    return [where, length, count - (from - first), flags_of && topic === watched.topic ? [...flags_of(cluster, from, length)] : null];
  });
  const key = [view.branch, view.seq, furthest_us].join("|");
  const { rows } = around ? listedOf(state, { ...around, key }, key) : { rows: [] };
  return { ...held, view, watched, logs, threads: protocolOf(state).name === "pulsar" ? threadsOf(state, watched) : null, sentence: sentenceOf(state, watched), words: mirrorOf(state, watched), events: rows };
});
console.log(JSON.stringify(shown, plain));
"""


def shown_by(lab: Lab, pages: list[list[str]], around: dict[str, Any]) -> list[dict[str, Any]]:
    """The result of the page's code for each list of messages."""
    node = shutil.which("node")
    assert node, (
        "Node 18 or newer is needed for the tests of the page's modules. Debian: apt-get install nodejs."
    )
    scenario = lab.scenario
    welcome = {
        "type": "welcome",
        "wire": 2,
        "lab": "l",
        "protocol": scenario.protocol,
        "owner": True,
        "names": names_of(scenario),
        "lanes": sites_of(scenario),
        "rows": rows_held(scenario),
        "until_us": scenario.until_us,
        "commands": [],
    }
    script = SHOWN.replace("PAGE", PAGE.as_uri()).replace("CELLS", str(CELLS))
    given = json.dumps({"welcome": welcome, "pages": pages, "around": around})
    answer = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("name", CASES)
def test_every_way_to_an_instant_shows_the_same(name):
    for at_us in CASES[name]:
        played = Lab(name)
        played.play_to(at_us, 1.0)
        around = played.do(events(played.session))
        ways = {"played": list(played.viewer.texts), "a second viewer, or a reload": played.reload()}
        fast = Lab(name)
        fast.play_to(at_us, 400.0)
        ways["played fast"] = list(fast.viewer.texts)
        sought = Lab(name)
        sought.seek(at_us)
        ways["sought"] = list(sought.viewer.texts)
        sought.seek(at_us + 2_000_000)
        sought.seek(at_us // 3)
        sought.seek(at_us)
        ways["sought forward and back"] = list(sought.viewer.texts)
        sought.seek(at_us // 2)
        sought.play_to(at_us, 2.0)
        ways["played again from an earlier instant"] = list(sought.viewer.texts)
        again = sought.do(events(sought.session))
        assert {**again, "ahead": None} == {**around, "ahead": None} and len(again["ahead"]) >= len(
            around["ahead"]
        )
        shown = dict(zip(ways, shown_by(played, list(ways.values()), around), strict=True))
        for way, seen in shown.items():
            differing = [key for key in seen if seen[key] != shown["played"][key]]
            assert not differing, f"{name} at {at_us} us, {way}: " + "; ".join(
                f"{key}: {str(shown['played'][key])[:600]} / {str(seen[key])[:600]}" for key in differing
            )


def test_a_restarted_server_shows_the_same_on_every_branch():
    lab = Lab("region-down")
    lab.play_to(3_210_000, 1.0)
    lab.command(do="link.slow", link="us-west <-> us-east", latency="150ms")
    lab.play_to(5_600_000, 1.0)
    lab.seek(4_444_000)
    lab.command(do="cluster.crash", cluster="us-west")
    lab.command(
        do="subscription.fail-over", subscription="billing", **{"from": "us-west"}, to="us-east", mode="crash"
    )
    lab.play_to(6_050_000, 3.0)
    for branch in (1, 0):
        lab.do(jobs.switch_branch(lab.session, branch))
        before = list(lab.viewer.texts)
        again = lab.restarted()
        around = lab.do(events(lab.session))
        assert again.do(events(again.session)) == around
        one, other = shown_by(lab, [before, again.reload()], around)
        assert one == other and one["view"]["branch"] == branch
