"""The suite distributed over two processes.

Tests of a group run in one process, in order, and both have work.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.conftest import group_of

FILES = (
    "browser/test_a",
    "browser/test_reports",
    "spark_reports/test_b",
    "spark_reports/test_c",
    "test_d",
    "test_e",
    "test_f",
)
MODULE = "import time\n" + "".join(f"def test_{number}(): time.sleep(0.02)\n" for number in range(4))


def test_a_group_runs_in_one_process_and_the_long_groups_start(tmp_path: Path) -> None:
    """A suite with the same folders, run as `script/test` runs this one: xdist once stopped grouping
    without an error.
    """
    tests = tmp_path / "tests"
    for file in FILES:
        (tests / file).parent.mkdir(parents=True, exist_ok=True)
        (tests / file).with_suffix(".py").write_text(MODULE)
    (tests / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\naddopts = "
        "--import-mode=importlib\nasyncio_default_fixture_loop_scope = function\n"
    )
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "-p", "no:django", "-p", "no:cacheprovider"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    ran = re.findall(r"\[(gw\d)\].*PASSED (\S+)", said.stdout)
    assert len(ran) == 4 * len(FILES), said.stdout + said.stderr
    processes, first = defaultdict(set), {}
    for process, name in ran:
        processes[group_of(name)].add(process)
        first.setdefault(process, group_of(name))
    assert {group: len(those) for group, those in processes.items()} == dict.fromkeys(
        ("spark", "browser", "tests/test_d.py", "tests/test_e.py", "tests/test_f.py"), 1
    )
    assert sorted(first.values()) == ["browser", "spark"]
