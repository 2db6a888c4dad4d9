"""The glossary page: terms, causes, events and columns, each with its own address on the page."""

from __future__ import annotations

from typing import Any

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


def terms_of_labels() -> dict[str, Any]:
    """The anchor and definition of each term, by its label in lower case.

    A script links headings with it.
    """
    return {label: [term.anchor, term.plain] for label, term in source.catalogue().by_label.items()}
