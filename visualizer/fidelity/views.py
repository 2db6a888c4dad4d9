"""The page `/fidelity/`: the committed comparison of real brokers with the simulator.

Rules: it shows `measured.json` and computes nothing; `python -m spark_reports fidelity … --site` writes that
file. A run is opened as a lab by a POST of its scenario, like every scenario text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

MEASURED = Path(__file__).with_name("measured.json")
"""The content of the page; null while nothing has been measured with this version."""


@require_safe
def fidelity(request: HttpRequest) -> HttpResponse:
    """The page."""
    return render(request, "visualizer/fidelity.html", {"content": measured(), "headings": PAIR_HEADINGS})


PAIR_HEADINGS = (
    "run",
    "real",
    "simulated",
    "difference",
    "completed snapshots",
    "duplicates by cause",
    "open",
)


def measured() -> dict[str, Any] | None:
    """The committed content."""
    content: dict[str, Any] | None = json.loads(MEASURED.read_text(encoding="utf-8"))
    return content
