"""The gallery: every built-in scenario by family, with a picture from a real run.

Rules: pictures and outcomes come from real runs, computed once. Outcomes are shown only for scenarios that
were played. Which ones were played, and the reader's prediction, is kept in the browser and never sent. The
page requests the outcomes that it may show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from simulator import FAMILY_MECHANISMS, recordings, scenario_names
from visualizer.labs.definitions import builtin_scenario, builtin_scenarios
from visualizer.live.wire import Refused
from visualizer.pages.pictures import known_pictures, outcome_of, picture_of
from visualizer.questions.answers import refusal

FIRST = ("two-regions", "three-regions", "region-down", "periodic-snapshots")
"""The scenarios recommended first; the others follow by title."""

FIRST_TOUR = "periodic-snapshots"
"""The scenario of the first tour for newcomers; the `next` of each tour names the one that builds on it."""


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    scenarios = sorted(builtin_scenarios(), key=_place)
    pictures = known_pictures(scenarios)
    shown = [_shown(scenario, pictures.get(scenario.name)) for scenario in scenarios]
    families: dict[str, list[dict[str, Any]]] = {}
    for one in shown:
        families.setdefault(one["family"], []).append(one)
    sections = [
        {
            "name": name,
            "title": name.replace("-", " ").capitalize(),
            "count": len(members),
            "words": FAMILY_MECHANISMS.get(name, ""),
            "cards": _cards(members),
        }
        for name, members in families.items()
    ]
    return render(
        request,
        "visualizer/gallery.html",
        {
            "scenarios": shown,
            "families": sections,
            "start_here": start_here(),
            **recordings_shown(),
        },
    )


def _cards(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards of a family: one for each scenario, and one for both of a pair.

    The card of a pair has the place of the scenario that it shows first. `option` is where the two differ.
    """
    seconds = {one["pair"]["with"]: one for one in shown if one["pair"]}
    cards = []
    for one in shown:
        second = seconds.get(one["name"])
        if second is not None:
            pair = second["pair"]
            sides = [{**one, "side": pair["other"]}, {**second, "side": pair["name"]}]
            cards.append({"sides": sides, "option": pair["option"]})
        elif not one["pair"]:
            cards.append({"sides": [one], "option": ""})
    return cards


def recordings_shown() -> dict[str, list[dict[str, Any]]]:
    """The recorded runs as cards, and the files that cannot be opened, each with the reason."""
    cards, unusable = [], []
    for one in recordings.listed():
        if one.path.parent == recordings.COMPARED:
            continue
        if isinstance(one, recordings.UnusableFile):
            unusable.append({"name": one.path.name, "reason": one.reason})
            continue
        try:
            scenario = recordings.scenario_of(one)
        except recordings.RecordingError as error:
            unusable.append({"name": one.path.name, "reason": str(error)})
            continue
        cards.append(
            {
                "digest": one.digest,
                "file": one.path.name,
                "title": scenario.title,
                "about": paragraphs(scenario.about),
                "system": one.system,
                "date": one.date,
                "until_s": f"{scenario.until_us / 1e6:g}",
                "failovers": sum(command.do == "subscription.fail-over" for command in scenario.commands),
            }
        )
    return {"recordings": cards, "unusable": unusable}


def start_here() -> list[dict[str, Any]]:
    """The tours for newcomers, in the order in which they build on each other."""
    found: dict[str, dict[str, Any]] = {}
    name = FIRST_TOUR
    while name and name not in found:
        scenario = builtin_scenario(name)
        found[name] = _tour_shown(scenario)
        name = scenario.tour.next
    return list(found.values())


def _tour_shown(scenario: Any) -> dict[str, Any]:
    """What the list of tours shows of a scenario's tour."""
    tour = scenario.tour
    return {
        "scenario": scenario.name,
        "title": tour.title,
        "minutes": tour.minutes,
        "steps": len(tour.steps),
    }


def _place(scenario: Any) -> tuple[int, str, int, str]:
    """The sort key of a scenario: by family, then the recommended ones, then by title.

    Families are in the order of `FAMILY_MECHANISMS`, the others after them by name.
    """
    families = list(FAMILY_MECHANISMS)
    family = families.index(scenario.family) if scenario.family in families else len(families)
    return (
        family,
        scenario.family,
        FIRST.index(scenario.name) if scenario.name in FIRST else len(FIRST),
        scenario.title.lower(),
    )


def paragraphs(text: str) -> str:
    """A text without the line breaks of its file. Paragraphs are kept, with an empty line between two."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def _shown(scenario: Any, picture: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of a card, without a picture until one was requested."""
    return {
        "name": scenario.name,
        "title": scenario.title,
        "family": scenario.family,
        "about": paragraphs(scenario.about),
        "watch": scenario.watch,
        "until_us": scenario.until_us,
        "seed": scenario.seed,
        "compared": bool(scenario.compare),
        "fails_over": any(command.do == "subscription.fail-over" for command in scenario.commands),
        "pair": scenario.pair,
        "picture": picture,
    }


@require_safe
def pictures(request: HttpRequest) -> HttpResponse:
    """Pictures of scenarios: ?names=a,b → {a: picture, …}.

    Each scenario is run now unless its picture was computed before.
    """
    return _of_each(request, picture_of)


@require_safe
def outcomes(request: HttpRequest) -> HttpResponse:
    """Outcomes of scenarios: ?names=a,b → {a: {failovers: […]}, …}.

    Each failover is {duplicates, redeliveries, lost, stranded}.
    """
    return _of_each(request, outcome_of)


def _of_each(request: HttpRequest, compute: Callable[[Any], dict[str, Any]]) -> HttpResponse:
    names = list(dict.fromkeys(name for name in request.GET.get("names", "").split(",") if name))
    unknown = [name for name in names if name not in scenario_names()]
    if unknown:
        return refusal(
            Refused(
                "not-found",
                f"There is no built-in scenario {unknown[0][:60]!r}.",
                "The gallery's cards show the names.",
            )
        )
    return JsonResponse({name: compute(builtin_scenario(name)) for name in names})
