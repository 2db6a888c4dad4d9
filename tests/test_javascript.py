"""The page's modules under Node's own test runner, one pytest test for each file, so that one summary
counts all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in (ROOT / "tests" / "js").rglob("*.test.*js"))


def test_module_tests_exist():
    assert FILES, "tests/js holds no *.test.js or *.test.mjs"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_page_module(file):
    node = shutil.which("node")
    assert node, (
        "Node 18 or newer is needed for the tests of the page's modules. Debian: apt-get install nodejs."
    )
    # the runner marks its child processes by this variable; inherited, it would make the inner run report
    # nothing
    environment = {name: value for name, value in os.environ.items() if name != "NODE_TEST_CONTEXT"}
    answer = subprocess.run(
        [node, "--test", str(file)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
