"""The pages `/fidelity/` and `/fidelity/JOB/`: real brokers compared with the simulator.

Rules: it shows `measured.json` and computes nothing; `python -m spark_reports fidelity … --site` writes that
file. A simulated run is opened as a lab by a POST of its scenario, like every scenario text. A real one is
opened by the digest of its recording, where the server has the file (docs/labs.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from simulator import recordings

MEASURED = Path(__file__).with_name("measured.json")
"""The content of the page; null while nothing has been measured with this version."""


@require_safe
def fidelity(request: HttpRequest) -> HttpResponse:
    """The summary: every job in one table, with a link to its page."""
    return render(request, "visualizer/fidelity.html", {"content": measured()})


@require_safe
def fidelity_job(request: HttpRequest, anchor: str) -> HttpResponse:
    """The page of one job: its figures, charts, and the pairs that differ most."""
    content = measured() or {"jobs": []}
    job = next((one for one in content["jobs"] if one["anchor"] == anchor), None)
    if job is None:
        raise Http404(f"No job {anchor[:40]} was measured; /fidelity/ lists them.")
    digests = [one.digest for one in recordings.listed() if isinstance(one, recordings.RecordedFile)]
    shown = {"content": content, "job": job, "headings": PAIR_HEADINGS, "recordings": digests}
    return render(request, "visualizer/fidelity.html", shown)


PAIR_HEADINGS = (
    "run",
    "real",
    "simulated",
    "difference",
    "completed snapshots",
    "duplicates by cause",
    "explanation",
    "open",
)


def measured() -> dict[str, Any] | None:
    """The committed content."""
    content: dict[str, Any] | None = json.loads(MEASURED.read_text(encoding="utf-8"))
    return content
