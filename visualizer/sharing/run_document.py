"""The document of a run: everything that another server of this version needs to repeat it.

Rules: scenario, seed and commands decide every byte, so they are the whole document; the digest lets its
reader check that. A built-in scenario is named, any other is included as text. The document has the commands
of the branch that is shown, up to the instant that is shown.
"""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import sync_to_async

from simulator import ENGINE_VERSION, CommandError, normalise_command, scenario_names
from visualizer.labs.definitions import (
    NewLab,
    builtin_scenario,
    check_recording,
    check_seed,
    requested_scenario,
    run_again,
)
from visualizer.labs.hub import current_hub
from visualizer.live.wire import LATEST_US, Refused
from visualizer.models import Lab

FORMAT = 1

COMMANDS_MAX = 2_000
"""Most commands of a document, as many as a scenario may have."""

FIELDS = (
    *("format", "engine_version", "title", "scenario", "yaml", "seed"),
    *("commands", "until_us", "branch", "digest"),
)


async def document_of(lab_id: str) -> dict[str, Any]:
    """The document of a lab's run up to the instant shown. Raises Refused."""
    inputs = json.loads(await current_hub().ask(lab_id, "inputs"))
    lab = await Lab.objects.aget(pk=lab_id)
    builtin = await sync_to_async(_is_builtin, thread_sensitive=False)(lab)
    return {
        "format": FORMAT,
        "engine_version": inputs["engine_version"],
        "title": lab.title,
        **({"scenario": lab.scenario_name} if builtin else {"yaml": lab.scenario_text}),
        "seed": lab.seed,
        "commands": inputs["commands"],
        "until_us": inputs["until_us"],
        "branch": inputs["branch"],
        "digest": inputs["digest"],
    }


def _is_builtin(lab: Lab) -> bool:
    return (
        lab.scenario_name in scenario_names()
        and builtin_scenario(lab.scenario_name, lab.seed).canonical_text == lab.scenario_text
    )


def lab_of(document: dict[str, Any]) -> NewLab:
    """A new lab that shows the document's run at its instant.

    Raises Refused, or ScenarioError for a text with problems. `engine_version` and `digest` are not compared
    here: the page states a difference.
    """
    for name in document:
        if name not in FIELDS:
            raise Refused(
                "bad-field", f"A run has no field {name[:60]!r}.", f"Its fields: {', '.join(FIELDS)}."
            )
    if document.get("format") != FORMAT:
        raise Refused(
            "other-format",
            f"The run has format {str(document.get('format'))[:20]}; this server reads format {FORMAT}.",
            f"Open it on a server of its version; this one has version {ENGINE_VERSION}.",
        )
    check_seed(document.get("seed"))
    given = {name: document.get(name) for name in ("scenario", "yaml")}
    scenario = requested_scenario(given, document.get("seed"))
    check_recording(scenario)
    commands = _commands(document.get("commands", []), scenario)
    until_us = _instant("until_us", document.get("until_us", 0))
    if commands and commands[-1]["at_us"] > until_us:
        raise Refused(
            "bad-field",
            f"The last command is given at {commands[-1]['at_us']} µs, after the run's end at {until_us} µs.",
            "Give an until_us that is not before it.",
        )
    title = document.get("title", scenario.title)
    if not isinstance(title, str):
        raise Refused("bad-field", "The title is not a text.", "Leave it out, or give a text.")
    return run_again(title or scenario.title, scenario, commands, until_us, until_us)


def _instant(name: str, given: Any) -> int:
    if type(given) is not int or not 0 <= given <= LATEST_US:
        raise Refused(
            "bad-field", f"{name} is no instant.", f"Give microseconds, a whole number from 0 to {LATEST_US}."
        )
    return given


def _commands(given: Any, scenario: Any) -> list[dict[str, Any]]:
    """The command log, each command in its normal form and not before the previous one."""
    if not isinstance(given, list) or len(given) > COMMANDS_MAX:
        raise Refused(
            "bad-field",
            "commands is no list that can be taken.",
            f'Give at most {COMMANDS_MAX:,}, each {{"at_us": …, "do": …}}.',
        )
    commands: list[dict[str, Any]] = []
    for number, entry in enumerate(given):
        if not isinstance(entry, dict):
            raise Refused("bad-field", f"commands[{number}] is no command.", 'Give {"at_us": …, "do": …}.')
        at_us = _instant(f"commands[{number}].at_us", entry.get("at_us"))
        if commands and at_us < commands[-1]["at_us"]:
            raise Refused(
                "bad-field",
                f"commands[{number}] is given before the previous one.",
                "List commands in the order in which they are given.",
            )
        rest = {name: value for name, value in entry.items() if name not in ("at_us", "number")}
        try:
            normal = normalise_command(rest, scenario)
        except CommandError as error:
            raise Refused("bad-field", f"commands[{number}]: {error}", error.hint) from None
        commands.append({"at_us": at_us, "number": number, **normal})
    return commands
