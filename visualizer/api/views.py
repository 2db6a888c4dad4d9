"""Answers of the API that no page needs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from visualizer.api.description import description
from visualizer.labs.definitions import builtin_scenarios
from visualizer.pages.gallery import paragraphs


@require_safe
def scenarios(request: HttpRequest) -> HttpResponse:
    """The built-in scenarios."""
    listed = [
        {
            "name": one.name,
            "title": one.title,
            "family": one.family,
            "about": paragraphs(one.about),
            "watch": one.watch,
            "until_us": one.until_us,
            "seed": one.seed,
        }
        for one in builtin_scenarios()
    ]
    return JsonResponse(listed, safe=False)


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The description of the API (OpenAPI 3.1)."""
    return JsonResponse(description())
