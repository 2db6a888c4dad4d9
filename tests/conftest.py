"""How the suite is distributed when two processes run it (`-n 2`, as `script/test` does).

Rules: a file's tests stay together, so that what a module prepares is prepared once; all tests of one Spark
session stay together, as do those of one browser. The long groups come first, so that neither process waits
for the other at the end. Hypothesis has no deadline: nothing here is a timed test, and two processes on two
cores are slow at times. It draws the same examples each time, so that a failing run fails repeatedly;
`--hypothesis-profile search` draws new ones.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("failover-lab", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("failover-lab")


@pytest.fixture(autouse=True)
def no_rule_of_another_test() -> Iterator[None]:
    """A rule's file that a test loads is this process's rule until it is forgotten."""
    yield
    if "FAILOVER_LAB_RULES" in os.environ:
        from simulator.scenarios.rule_files import forget_rules

        forget_rules()


TOGETHER = {
    "tests/browser/test_reports.py": "spark",
    "tests/spark_reports/": "spark",
    "tests/browser/": "browser",
}
"""The beginning of the names of tests that share an expensive resource, a Spark session or a browser, and
their group; in the order in which they start.
"""


def group_of(name: str) -> str:
    """The group of a test with this name (`file::test`): all tests of a group run in one process, in
    order.
    """
    return next((group for begin, group in TOGETHER.items() if name.startswith(begin)), name.split("::")[0])


class Sharing(LoadScopeScheduling):
    """One unit of work per group.

    Not by xdist's own `--dist loadgroup`: with pytest 9.2 that distributes single tests without an error
    (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    # which would put files of many tests first, not those of long ones
    config.option.loadscopereorder = False
    return Sharing(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    """The order of `TOGETHER`, then everything else as found."""
    return next(
        (place for place, begin in enumerate(TOGETHER) if item.nodeid.startswith(begin)), len(TOGETHER)
    )


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays: modules, and all tests of the suite.

    The young generation is larger, too: most runs of a scenario fit in one. The collector had a tenth of the
    processor time of the simulator's tests, and has half of that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file as on a site.

    SQLite's shared memory has other locks, and labs are saved from a separate thread.
    """
    from django.db import connections

    if connections["default"].vendor == "sqlite":
        connections["default"].settings_dict["TEST"]["NAME"] = str(
            tmp_path_factory.mktemp("database") / "test.sqlite3"
        )
