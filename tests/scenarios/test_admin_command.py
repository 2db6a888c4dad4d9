"""`manage.py admin` as used by a script: the answer's own bytes, notes on request, exit codes."""

import io
import json

import pytest

from simulator import TOOLS, World, headless
from tests.scenarios.test_headless import manage


def printed(scenario, tool, **options):
    out, err = io.StringIO(), io.StringIO()
    code = headless.print_admin(scenario, tool, out, err, **options)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("tool", TOOLS)
def test_the_command_prints_the_answers_text(tool):
    world = World.open("region-down")
    world.seek(at_us=5_100_000)
    assert printed("region-down", tool, cluster="us-west", at="5100ms") == (
        0,
        world.admin(tool, "us-west")["text"],
        "",
    )


def test_the_command_works_as_a_script_calls_it():
    done = manage("admin", "region-down", "--at", "5.1s", "--cluster", "us-east", "stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed("region-down", "stats", cluster="us-east", at="5.1s")[1]
    assert json.loads(done.stdout)["replication"]["us-west"]["connected"] is True


def test_notes_are_printed_under_their_fields():
    _code, plain, _err = printed("region-down", "stats", cluster="us-west", at="5s")
    _code, noted, _err = printed("region-down", "stats", cluster="us-west", at="5s", notes=True)
    lines = noted.splitlines()
    assert [line for line in lines if not line.lstrip().startswith("^ ")] == plain.splitlines()
    under = next(number for number, line in enumerate(lines) if '"msgBacklog"' in line) + 1
    assert lines[under].lstrip().startswith("^ ") and "markers" in lines[under]


def test_seed_overrides_and_the_end_of_the_run_are_applied():
    code, text, _err = printed(
        "two-regions", "stats", cluster="us-west", seed=7, sets=["producers.shop.count=3"]
    )
    assert code == 0 and json.loads(text)["msgOutCounter"] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster": "mars"}, "Clusters are eu-central, us-east, us-west"),
        ({"cluster": "us-west", "topic": "bills"}, "Topics there are orders"),
        ({"cluster": "us-west", "at": "soon"}, "--at"),
        ({"cluster": "us-west", "at": "8s"}, "us-west is down"),
    ],
)
def test_an_impossible_request_is_refused_with_exit_code_2(options, words):
    code, text, err = printed("region-down", "stats", **options)
    assert (code, text) == (2, "") and words in err
