"""The glossary page: terms, causes, events and columns, each with its own address on the page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from simulator import glossary as source


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "visualizer/glossary.html",
        {
            "sections": source.catalogue().sections,
            "causes": source.causes(),
            "events": source.events(),
            "columns": source.columns(),
        },
    )
