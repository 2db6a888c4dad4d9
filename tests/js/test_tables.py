"""The page's own tables agree with the simulator's.

Texts for every event, consequences of every command, shapes of frames.

Each test reads the page's table through Node and compares it with the Python one, so that neither can change
alone.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import load_scenario
from simulator.protocols.declared import DECLARED
from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.registry import EVENT_TYPES
from simulator.protocols.table import PROTOCOLS
from simulator.scenarios.command_table import command_forms
from simulator.scenarios.declarations import Command
from spark_reports.html.charts import hues_of
from visualizer.live.frames import SNAPSHOT_ROWS
from visualizer.live.welcome import rows_held
from visualizer.live.wire import FASTEST, INBOUND, SLOWEST, WIRE_VERSION

PAGE = Path(__file__).resolve().parents[2] / "static" / "js"


def of_the_page(module: str, expression: str) -> Any:
    node = shutil.which("node")
    assert node, (
        "Node 18 or newer is needed for the tests of the page's modules. Debian: apt-get install nodejs."
    )
    script = (
        f"import * as page from {json.dumps((PAGE / module).as_uri())}; "
        f"console.log(JSON.stringify({expression}));"
    )
    answer = subprocess.run(
        [node, "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_the_fixtures_of_module_tests_have_the_rows_that_welcome_names():
    named = json.loads(json.dumps(rows_held(load_scenario("two-regions"))))
    assert of_the_page("../../tests/js/fixtures/lab.js", "page.ROWS") == named
    assert of_the_page("model/reduce.js", "page.ROWS_KEPT") == SNAPSHOT_ROWS


def test_the_page_has_each_protocol_under_its_name_in_welcome():
    assert set(of_the_page("protocols/table.js", "page.PROTOCOLS.map(({ name }) => name)")) == set(PROTOCOLS)
    chosen = of_the_page(
        "protocols/table.js",
        "page.PROTOCOLS.map(({ name }) => page.protocolOf({ welcome: { protocol: name }, view: {} }).name)",
    )
    assert set(chosen) == set(PROTOCOLS)


def test_every_event_has_a_text():
    assert set(of_the_page("model/event_rows.js", "Object.keys(page.ROW_WORDS)")) == {
        event.name for event in EVENT_TYPES
    }


def test_the_texts_use_only_fields_of_their_event():
    """A row with every declared field filled gives a text without a gap."""
    names = {"integer": 7, "name": "word"}
    from simulator.trace.registry import COLUMNS

    rows = [
        {
            "type": event.name,
            "seq": 1,
            "at_us": 5,
            **{field: names[COLUMNS[field][0]] for field in event.fields},
        }
        for event in EVENT_TYPES
    ]
    next(row for row in rows if row["type"] == "command.applied")["detail"] = "{}"  # the arguments, as JSON
    said = of_the_page(
        "model/event_rows.js",
        f"{json.dumps(rows)}.map((row) => [row.type, JSON.stringify(page.wordsOfRow(row, {{ welcome: null }}))])",
    )
    holes = [
        (name, words) for name, words in said if "undefined" in words or "NaN" in words or "null" in words
    ]
    assert holes == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_page_describes_the_consequence_of_each_command(protocol: str):
    """With nothing chosen, and with every value of every choice: whole sentences without a gap."""
    commands = [
        given
        for command in DECLARED[protocol].commands
        for given in ({"do": command.name}, *_chosen(command))
    ]
    welcome = {"protocol": protocol, "tables": {"commands": command_forms(protocol)}}
    state = {"welcome": welcome, "view": {"clusters": {}}}
    watched = {"clusters": [], "topic": "orders", "subscription": "billing", "target": None}
    said = of_the_page(
        "pages/faults.js",
        f"{json.dumps(commands)}.map((one) => page.consequencesOf(one, ...{json.dumps([state, watched])}))",
    )
    wrong = [
        (command, words)
        for command, words in zip(commands, said, strict=True)
        if not re.fullmatch(r"\S.*\.", words) or re.search(r"undefined|null|object|[{}|]|  ", words)
    ]
    assert wrong == []


def _chosen(command: Command) -> Iterator[dict[str, Any]]:
    """Commands with every argument given: as many as the argument with the most values has."""
    samples: dict[str, list[Any]] = {"boolean": [True, False], "integer": [0, 1, 2], "names": [["a", "b"]]}
    values = {key.name: list(key.choices) or samples.get(key.kind, ["x"]) for key in command.arguments}
    for at in range(max(map(len, values.values()), default=0)):
        yield {"do": command.name, **{name: some[at % len(some)] for name, some in values.items()}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consequence_that_depends_on_the_state_belongs_to_a_declared_command(protocol: str):
    live = of_the_page(
        "protocols/table.js",
        "page.PROTOCOLS.map(({ name, live_consequences }) => [name, Object.keys(live_consequences ?? {})])",
    )
    assert set(dict(live)[protocol]) <= {command.name for command in DECLARED[protocol].commands}


def test_marker_types_and_wire_version_agree():
    assert of_the_page("render/glyphs.js", "page.MARKER_WORDS") == {
        str(100 + number): word for word, number in MARKER_TYPES.items()
    }
    assert of_the_page("wire/decode.js", "page.WIRE_VERSION") == WIRE_VERSION


def test_every_speed_of_the_slider_is_accepted_by_the_server():
    speeds = of_the_page("transport/clock.js", "page.SPEEDS")
    assert speeds == sorted(speeds)
    assert speeds[0] >= SLOWEST and speeds[-1] <= FASTEST


def test_messages_sent_by_the_page_are_accepted_by_the_server():
    sent = of_the_page(
        "transport/lab_link.js",
        """(() => {
          const sent = [];
          const link = page.makeLabLink({ send: (message) => sent.push(message), isOwner: () => true, say: () => {} });
          link.play(1); link.pause(); link.speed(2); link.seek(1.6); link.seekSeq(4); link.step("control"); link.stepBack({ message: ["web", 5] });
          link.branch(1); link.command({ do: "cluster.crash", cluster: "a" });
          return sent;
        })()""",
    )
    from visualizer.live.wire import decode

    assert [decode(json.dumps(message))["type"] for message in sent] == [message["type"] for message in sent]
    others = {"hello", "seen", "present", "predict"}  # of the connection, and of a class
    assert {message["type"] for message in sent} | others == set(INBOUND)


def test_page_and_report_give_a_cluster_the_same_hue():
    cases = [
        ["a", "b"],
        ["blue", "green"],
        ["amber", "blue"],
        ["eu", "green"],
        ["green-1", "green-2"],
        ["east", "us-blue", "us-green", "west", "yellow"],
    ]
    assert of_the_page("render/theme.js", f"{json.dumps(cases)}.map(page.huesOf)") == [
        hues_of(names) for names in cases
    ]
    assert hues_of(["blue", "green"])[:2] == [0, 2]  # blue is blue, green is green
    assert all(sorted(hues_of(names)) == [0, 1, 2, 3] for names in cases)
