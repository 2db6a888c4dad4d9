"""The first message on a socket: the facts about the lab that no frame repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse

from simulator import ENGINE_VERSION, Scenario, live_rows_of, names_of, recordings, sites_of, tables_of
from simulator.scenarios.editing import written_options
from simulator.scenarios.settings import profile_of
from visualizer.labs.definitions import read_scenario
from visualizer.live.wire import WIRE_VERSION

if TYPE_CHECKING:
    from visualizer.models import Lab


def welcome(lab: Lab, is_owner: bool) -> dict[str, Any]:
    """The welcome message of a lab.

    The scenario has been read before (`definitions.scenario_of`), so this is quick.
    """
    scenario = read_scenario(lab.scenario_text, lab.seed)
    return {
        "type": "welcome",
        "wire": WIRE_VERSION,
        "lab": lab.pk,
        "title": lab.title,
        "scenario": lab.scenario_name,
        "family": scenario.family,
        "protocol": scenario.protocol,
        "about": scenario.about,
        "watch": scenario.watch,
        "options": options_facts(scenario),
        "tour": tour_facts(scenario),
        "seed": lab.seed,
        "owner": is_owner,
        "engine_version": ENGINE_VERSION,
        "made_with": lab.engine_version,
        "until_us": scenario.until_us,
        "lanes": sites_of(scenario),
        "names": names_of(scenario),
        "rows": rows_held(scenario),
        "tables": tables_of(scenario),
        "link_latency_us": {
            f"{source} -> {target}": link.latency.nominal_us
            for (source, target), link in sorted(scenario.links.items())
        },
        "recorded": recorded_facts(scenario),
        "commands": [
            {"at_us": command.at_us, "do": command.do, **command.arguments} for command in scenario.commands
        ],
    }


def options_facts(scenario: Scenario) -> dict[str, Any]:
    """The profile in force, "" in a protocol without profiles, and the options that the scenario names."""
    named = {name: value for name, value in written_options(scenario).items() if name != scenario.protocol}
    return {
        "profile": profile_of(scenario.protocol, scenario.options),
        "named": named,
    }


def tour_facts(scenario: Scenario) -> dict[str, Any] | None:
    """Name, duration and length of the scenario's tour; None without one."""
    tour = scenario.tour
    return None if tour is None else {"title": tour.title, "minutes": tour.minutes, "steps": len(tour.steps)}


def recorded_facts(scenario: Scenario) -> dict[str, Any] | None:
    """Where and when a recorded run was recorded, and which rows were measured; None for a simulated run.

    `beside` is the address of its comparison with the simulator. The texts are empty when its file is
    missing, which the lab reports itself.
    """
    try:
        found = recordings.recorded_file(scenario)
    except recordings.RecordingError:
        return {"system": "", "date": "", "measured": [], "inferred": [], "beside": ""}
    if found is None:
        return None
    return {
        "system": found.system,
        "date": found.date,
        "measured": list(found.measured),
        "inferred": list(found.inferred),
        "beside": reverse("visualizer:recorded-comparison", args=[found.digest]),
    }


def rows_held(scenario: Scenario) -> dict[str, Any]:
    """The rows that the page holds and those that its time slider marks.

    Returns `{kept, landmarks}`: classes of rows, and event types.
    """
    live = live_rows_of(scenario)
    kept = {name: {"types": types, "most": most} for name, (types, most) in live.all_kept().items()}
    return {"kept": kept, "landmarks": [*live.all_faults(), *live.stops]}
