"""Tests of `script/mutate`.

Its table names existing modules and tests, and it reads the survivors from the tool's dump.
"""

from __future__ import annotations

import json

from script.support.mutate import ROOT, TABLE, Target, survivors_of, targets_of, unused_lines


def test_the_table_names_existing_modules_and_tests():
    targets = targets_of(TABLE.read_text(encoding="utf-8"))
    assert targets
    for target in targets:
        assert all((ROOT / name).is_file() for name in (target.module, *target.tests)), target


def mutant(outcome: str | None, line: str) -> str:
    result = {"test_outcome": outcome, "diff": f"--- a\n+++ b\n-    x = 1\n+    {line}\n"}
    return json.dumps([{"job_id": "1"}, result if outcome else None])


def test_a_survivor_is_listed_unless_the_table_explains_it():
    dump = "\n".join(
        [
            mutant("killed", "x = 2"),
            mutant("survived", "x = 3"),
            mutant("survived", "x = 4"),
            mutant(None, "x = 5"),
        ]
    )
    left = list(survivors_of(dump, Target("m.py", ("t.py",), {"x = 4": "never read"})))
    assert len(left) == 1 and "x = 3" in left[0]


def test_a_line_of_the_table_that_no_mutant_has_is_listed():
    excluded = json.dumps(
        [{"job_id": "1"}, {"worker_outcome": "skipped", "test_outcome": None, "diff": None}]
    )
    dump = "\n".join([mutant("killed", "x = 2"), excluded, mutant("survived", "x = 3")])
    explained = {"x = 2": "killed, but a mutant", "x = 3": "never read", "y = 3": "of an earlier module"}
    assert unused_lines(dump, Target("m.py", ("t.py",), explained)) == ["y = 3"]
