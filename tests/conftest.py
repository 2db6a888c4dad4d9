"""How the suite is shared out when two processes run it (`-n 2 --dist loadgroup --no-loadscope-reorder`, as `script/test` does).

Rules: a file's tests stay together, so that what a module prepares is prepared once; all tests of one Spark session stay
together, as do those of one browser. The long groups come first, so that neither process waits for the other at the end.
Hypothesis has no deadline: nothing here is a timed test, and two processes on two cores are slow now and then.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("failover-lab", deadline=None)
settings.load_profile("failover-lab")

TOGETHER = {"tests/spark_reports/": "spark", "tests/browser/": "browser"}
"""Folders whose tests share something dear, a Spark session or a browser, and their group; in the order in which they start."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            file = item.nodeid.split("::")[0]
            item.add_marker(pytest.mark.xdist_group(next((group for folder, group in TOGETHER.items() if file.startswith(folder)), file)))
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    places = [place for place, folder in enumerate(TOGETHER) if item.nodeid.startswith(folder)]
    return places[0] if places else len(TOGETHER)
