"""The published documents about the format are current, valid, and agree with the loader."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from simulator import load_scenario, load_scenario_text, scenario_names
from simulator.scenarios import COMMANDS, ScenarioError, builtin_text, shape
from simulator.scenarios.document import scenarios_document
from simulator.scenarios.json_schema import scenario_schema, schema_text
from simulator.scenarios.settings import OPTIONS, SETTINGS

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = (DOCS / "scenario-example.yaml").read_text(encoding="utf-8")

VALIDATOR = jsonschema.Draft202012Validator(scenario_schema())


def plain(text: str):
    return YAML(typ="safe", pure=True).load(text)


def test_the_page_is_current():
    assert (DOCS / "scenarios.md").read_text(encoding="utf-8") == scenarios_document(), (
        "python -m simulator.scenarios.document > docs/scenarios.md"
    )


def test_the_schema_is_current_and_a_valid_schema():
    assert (DOCS / "scenario.schema.json").read_text(encoding="utf-8") == schema_text(), (
        "python -m simulator.scenarios.json_schema > docs/scenario.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_the_page_names_every_key():
    page = scenarios_document()
    keys = [key.name for section in shape.sections() for key in section.keys] + [
        key.name for key in shape.head()
    ]
    for name in [*keys, *COMMANDS, *SETTINGS, *OPTIONS, *scenario_names()]:
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("name", scenario_names())
def test_the_schema_accepts_the_library_as_written_and_canonical(name):
    for text in (builtin_text(name), load_scenario(name).canonical_text):
        assert [error.message for error in VALIDATOR.iter_errors(plain(text))] == []


def test_the_schema_accepts_the_example():
    assert [error.message for error in VALIDATOR.iter_errors(plain(EXAMPLE))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("until: 20s", "until: 20"),
        ("seed: 42", "seed: -1"),
        ("title: One", "titel: One"),
        ("name: fail-over-under-load", "name: Fail Over"),
        ("snapshotCacheRule: spread", "snapshotCacheRule: newest"),
        (
            "replicatedSubscriptionsSnapshotFrequencyMillis: 1000",
            "replicatedSubscriptionsSnapshotFrequencyMillis: often",
        ),
        ("default: {latency: 40ms}", "default: {latncy: 40ms}"),
        ("us-west -> us-east: {", "us-west => us-east: {"),
        ("sigma: 0.3", "sigma: wide"),
        ("distribution: lognormal, median: 40ms, sigma: 0.3", "distribution: lognormal, median: 40ms"),
        ("rate: 5/s", "rate: 5"),
        ("type: Shared", "type: Sharde"),
        ("share: 1%", "share: 0.01"),
        ("messages: [web/5, web/7]", "messages: [web-5]"),
        ("do: link.slow", "do: link.slwo"),
        ("latency: 300ms}", "latency: 300ms, by: 3s}"),
        ("mode: crash", "mode: crashed"),
        ("cluster: us-west}\nexpect", "cluster: us-west, force: true}\nexpect"),
    ],
)
def test_what_the_schema_refuses_the_loader_refuses_too(old, new):
    assert old in EXAMPLE
    text = EXAMPLE.replace(old, new)
    assert list(VALIDATOR.iter_errors(plain(text)))
    with pytest.raises(ScenarioError):
        load_scenario_text(text)
