"""Every code block of the documents works: Python runs, commands are accepted, YAML and JSON have their schema.

The blocks are read from the documents. A block of a language that no test here knows fails.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from django.core.management import call_command
from ruamel.yaml import YAML

from script.benchmarks.__main__ import _read as bench_arguments
from script.real_brokers.arguments import parse as real_broker_arguments
from script.support.processes import Supervisor
from script.support.temporary_site import Site, temporary_site
from simulator import World
from simulator.experiments import read_experiment
from simulator.scenarios.tree import ScenarioError
from simulator.trace.recorded_files import BUILT_IN, Folders, RecordedFile
from spark_reports.audit.mapping import mapping_of
from spark_reports.cli import parser as report_arguments

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "docs" / "scenario.schema.json").read_text())
LANGUAGES = {"python", "sh", "yaml", "json", "text", "mermaid"}


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.document.name}:{self.line}"


def blocks() -> Iterator[Block]:
    for document in sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]):
        text = document.read_text()
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield Block(document, text[: found.start()].count("\n") + 1, found[1], found[2])


BLOCKS = list(blocks())


def of(language: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language == language]
    assert chosen
    return pytest.mark.parametrize("block", chosen, ids=lambda block: block.name)


def test_every_block_has_a_language_that_is_tested_here():
    assert [(block.name, block.language) for block in BLOCKS if block.language not in LANGUAGES] == []
    fences = sum(document.read_text().count("\n```") for document in {block.document for block in BLOCKS})
    assert fences == 2 * len(BLOCKS), "a fence has no other end, or is indented"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Supervisor() as supervisor, temporary_site(supervisor) as running:
        yield running


@pytest.fixture(scope="module")
def ran(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What each document's Python blocks printed, or the error, by document and block.

    The blocks of one document share their names, as a reader's session does.
    """
    folder = tmp_path_factory.mktemp("python")
    (folder / "snapshot-period.yaml").write_text(experiment_block().text)
    found: dict[str, dict[str, str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(ROOT / "static" / "python")
        for document in {block.document: None for block in BLOCKS}:
            names: dict[str, object] = {}
            for block in BLOCKS:
                if block.document == document and block.language == "python":
                    found.setdefault(document.name, {})[block.name] = printed(block, names, site)
    sys.modules.pop("failover_lab", None)
    return found


def printed(block: Block, names: dict[str, object], site: Site) -> str:
    written = io.StringIO()
    text = block.text.replace("http://127.0.0.1:8000", site.address)
    try:
        with redirect_stdout(written):
            exec(compile(text, block.name, "exec"), names)  # noqa: S102 - a document of this repository
    except Exception as error:  # noqa: BLE001 - the test below reports it with the block's name
        return f"raised {error!r}"
    return written.getvalue()


@of("python")
def test_a_python_block_runs(block, ran):
    output = ran[block.document.name][block.name]
    assert not output.startswith("raised"), output
    assert bool(output.strip()) == ("print(" in block.text)


def test_the_examples_of_the_http_api_print_the_duplicates_of_their_failover(ran):
    first, second = ran["http-api.md"].values()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/labs/\w+/ [1-9]\d*\n", first), first
    assert re.fullmatch(r"\{'at_us': 12000000, 'branch': 0\} [1-9]\d*\n", second), second


@of("sh")
def test_the_commands_of_a_shell_block_are_accepted(block, tmp_path, monkeypatch, capsys):
    (tmp_path / "my.yaml").write_text((ROOT / "docs" / "scenario-example.yaml").read_text())
    (tmp_path / "calibration.json").write_text("{}")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line, comments=True) for line in block.text.splitlines()]
    assert lines
    for words in filter(None, lines):
        accept(words)
    assert "error" not in capsys.readouterr().err


def accept(words: list[str]) -> None:
    """Run a command of `manage.py`, and let another's own parser read its arguments."""
    while "=" in words[0]:  # a variable of the environment
        words = words[1:]
    program, *rest = words
    if program == "spark-submit":
        program, rest = "python", ["-m", "spark_reports", *rest[rest.index("spark_reports/submit.py") + 1 :]]
    if program in (".venv/bin/python", "python"):
        assert rest[0] in ("manage.py", "-m"), words
        run_python(rest[0], rest[1], rest[2:])
        return
    assert (ROOT / program).stat().st_mode & 0o100, f"{program} is not a command of this repository"
    {
        "script/bench": bench_arguments,
        "script/real-brokers": real_broker_arguments,
    }.get(program, without_arguments)(rest)


def run_python(how: str, name: str, rest: list[str]) -> None:
    if how == "manage.py":
        with pytest.raises(SystemExit) as ended:
            call_command(name, *rest)
            sys.exit(0)  # a command that ends without a code
        assert ended.value.code == 0, rest
    elif name == "spark_reports":
        report_arguments().parse_args(rest)
    else:
        assert name == "script.real_brokers.calibration"
        assert rest[1:2] == ["--out"], rest


def without_arguments(rest: list[str]) -> None:
    assert rest == [], "name the parser of this command here"


def experiment_block() -> Block:
    return next(
        block for block in BLOCKS if block.document.name == "experiments.md" and block.language == "yaml"
    )


def plain(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


@of("yaml")
def test_a_yaml_block_is_valid(block, tmp_path):
    keys = plain(block.text).keys()
    if "grid" in keys:
        (tmp_path / "experiment.yaml").write_text(block.text)
        assert read_experiment(tmp_path / "experiment.yaml").runs > 0
    elif "columns" in keys or "pattern" in keys:
        mapping_of(block.text, block.name)
    else:  # some sections of a scenario
        part = {name: value for name, value in SCHEMA.items() if name not in ("required", "allOf")}
        errors = jsonschema.Draft202012Validator(part).iter_errors(plain(block.text))
        assert [error.message for error in errors] == []


def test_the_error_in_the_document_of_experiments_is_what_its_file_gives(tmp_path, monkeypatch):
    [shown] = [
        block.text for block in BLOCKS if (block.document.name, block.language) == ("experiments.md", "text")
    ]
    monkeypatch.chdir(tmp_path)
    Path("snapshot-period.yaml").write_text(experiment_block().text.replace("[250,", "[often,"))
    with pytest.raises(ScenarioError) as caught:
        read_experiment("snapshot-period.yaml")
    assert str(caught.value) == shown.strip()


@of("json")
def test_a_json_block_is_what_the_program_reads(block, tmp_path):
    assert block.document.name == "labs.md", "name what reads this block here"
    head, *rows = next(BUILT_IN.glob("*.jsonl")).read_text().splitlines()
    meta = {"failover-lab": {**json.loads(head)["failover-lab"], **json.loads(block.text)}}
    (tmp_path / "own.jsonl").write_text("\n".join([json.dumps(meta), *rows]))
    [one] = Folders(tmp_path).listed()
    assert isinstance(one, RecordedFile), one
    assert one.system == "Pulsar 4.2.4" and one.date == "2026-11-23" and one.measured and one.inferred


def test_every_attribute_in_the_reference_of_a_world_exists():
    [text] = [block.text for block in BLOCKS if block.text.startswith("world = World.from_scenario")]
    world = World.open("two-regions")
    for name in sorted(set(re.findall(r"\bworld\.(\w+)", text))):
        assert hasattr(world, name), name
    for name in set(re.findall(r"\bWorld\.(\w+)", text)):
        assert hasattr(World, name), name


def test_the_outlines_of_a_view_name_every_key():
    [of_logs, of_groups] = [
        next(block.text for block in BLOCKS if block.text.startswith(begins))
        for begins in ("{at_us", "{spans_us")
    ]
    views = {}
    for scenario in ("two-regions", "groups-join"):
        world = World.open(scenario)
        world.run(until_us=3_000_000)
        views[scenario] = world.view().keys()
    added = views["groups-join"] - views["two-regions"]
    for text, keys in ((of_logs, views["two-regions"]), (of_groups, added)):
        assert keys
        assert [key for key in keys if not re.search(rf"[{{ ]{key}[:,}}]", text)] == []
