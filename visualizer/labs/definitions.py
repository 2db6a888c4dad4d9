"""Creates labs from a scenario or a text, and returns the scenario of a stored lab.

Rules: clients send a built-in name or a text, never a path. A scenario is read once per text and seed and
shared, since it is frozen. Reading a text takes tens of milliseconds, so it happens in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from asgiref.sync import sync_to_async
from django.utils import timezone

from simulator import ENGINE_VERSION, load_scenario, load_scenario_text, recordings, scenario_names
from simulator.what_if import variants
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.live.wire import Refused
from visualizer.models import Lab, LabCommand, hash_of, new_token
from visualizer.pages.scenario_reading import read_in_turn

YAML_LIMIT = 393_216
"""Characters of a scenario's text: a thousand consumers with every default have 340,000."""

SEED_LIMIT = 1 << 53
"""The largest seed that JavaScript represents exactly, 2^53."""

OVERRIDES_LIMIT = 2_001
"""Changes given with a lab: one for each command that a scenario may have, and one for its end."""

LABS_KEPT = 100_000
"""Most rows of labs. Beyond that the site asks its operator to delete old ones."""


@lru_cache(maxsize=256)
def read_scenario(text: str, seed: int | None) -> Any:
    """Read the scenario of a text, with another seed when one is given.

    Raises ScenarioError with every problem.
    """
    return load_scenario_text(text, seed=seed)


scenario_of = sync_to_async(read_scenario, thread_sensitive=False)
"""`read_scenario` in a thread, off the event loop."""


@lru_cache(maxsize=256)
def builtin_scenario(name: str, seed: int | None = None) -> Any:
    return load_scenario(name, seed=seed)


def builtin_scenarios() -> list[Any]:
    """All built-in scenarios, in order of their names."""
    return [builtin_scenario(name) for name in scenario_names()]


@dataclass(frozen=True, slots=True)
class NewLab:
    lab: Lab
    token: str


def new_lab(given: dict[str, Any]) -> NewLab:
    """Store a new lab as requested.

    `given` holds {"scenario": name}, {"yaml": text} or {"recording": digest}. Optional fields are "seed",
    "set" (as `--set` of the command line) and "at_us", the instant that the lab shows first; a recorded run
    takes only the last. Raises Refused or ScenarioError.
    """
    for name in given:
        if name not in ("scenario", "yaml", "recording", "seed", "set", "at_us"):
            raise Refused(
                "bad-field",
                f"A lab has no field {name[:60]!r}.",
                "Give scenario, yaml or recording, and perhaps seed, set or at_us.",
            )
    seed = given.get("seed")
    check_seed(seed)
    _room_for_one_more()
    scenario = requested_scenario(given, seed)
    check_recording(scenario)
    return _store(scenario, _instant(given.get("at_us"), scenario))


def check_seed(seed: Any) -> None:
    """Raise Refused unless it is a seed, or None for the scenario's own."""
    if seed is not None and (type(seed) is not int or not 0 <= seed <= SEED_LIMIT):
        raise Refused(
            "bad-seed",
            "The seed is not a whole number that JavaScript can represent.",
            f"Give one from 0 to {SEED_LIMIT}.",
        )


def check_recording(scenario: Any) -> None:
    """Raise Refused when the recording that a scenario plays is missing, damaged or too large."""
    try:
        recordings.check(scenario)
    except recordings.RecordingError as error:
        raise Refused("bad-recording", str(error), error.hint) from None


def _recorded_scenario(given: dict[str, Any]) -> Any:
    """The scenario of a recorded run, named by the digest of its rows."""
    if given.get("seed") is not None or given.get("set") is not None:
        raise Refused(
            "bad-field",
            "A recorded run cannot be changed.",
            "Give recording alone, or open its scenario to run it on the simulator.",
        )
    for one in recordings.listed():
        if isinstance(one, recordings.RecordedFile) and one.digest == given["recording"]:
            try:
                return recordings.scenario_of(one)
            except recordings.RecordingError as error:
                raise Refused("bad-recording", str(error), error.hint) from None
    raise Refused(
        "unknown-recording",
        f"There is no recording {str(given['recording'])[:64]!r}.",
        "The gallery lists the recordings of this server.",
    )


def _instant(at_us: Any, scenario: Any) -> int:
    """The instant that a new lab shows first, within its scenario."""
    if at_us is None:
        return 0
    if type(at_us) is not int or not 0 <= at_us <= scenario.until_us:
        raise Refused(
            "bad-field",
            "at_us is no instant of this scenario.",
            f"Give a whole number from 0 to {scenario.until_us}.",
        )
    return at_us


def _overrides(given: Any) -> tuple[tuple[str, str], ...]:
    """The [[path, value], …] of a request as pairs, which the scenario loader interprets."""
    pairs = [] if given is None else given
    if (
        not isinstance(pairs, list)
        or len(pairs) > OVERRIDES_LIMIT
        or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
            for pair in pairs
        )
    ):
        raise Refused(
            "bad-field",
            "set is no list of changes.",
            f'Give at most {OVERRIDES_LIMIT:,} pairs, such as [["until", "30s"]].',
        )
    return tuple((path, value) for path, value in pairs)


def _room_for_one_more() -> None:
    if Lab.objects.count() >= LABS_KEPT:
        raise Refused(
            "full",
            f"This site holds {LABS_KEPT:,} labs.",
            "Delete those that you no longer need; its operator may delete old ones.",
        )
    _room_for_this_client()


def _room_for_this_client() -> None:
    """Raise Refused when this client has made too many labs."""
    own = client_key()
    if not own:
        return
    labs = Lab.objects.filter(client=own)
    if labs.count() >= clients.LABS_PER_CLIENT:
        raise Refused(
            "full",
            f"{clients.LABS_PER_CLIENT:,} labs from your address are kept.",
            "Delete those that you no longer need: My labs, the menu of a lab, Delete.",
        )
    if labs.filter(created_at__gt=timezone.now() - timedelta(hours=1)).count() >= clients.LABS_PER_HOUR:
        raise Refused(
            "too-many",
            f"{clients.LABS_PER_HOUR} labs were made from your address within an hour.",
            "Use one of them (My labs lists them), or try again later.",
        )


def copy_of(lab: Lab, at_us: int = 0) -> NewLab:
    """Make a copy of a lab: the same scenario, seed and commands, on the branch that the lab shows.

    The copy shows the instant `at_us`. A lab's replay link makes a copy at the beginning, "take a copy" one
    at the instant shown. Raises Refused when the site is full.
    """
    _room_for_one_more()
    copy = _store(read_scenario(lab.scenario_text, lab.seed), at_us)
    Lab.objects.filter(pk=copy.lab.pk).update(
        title=lab.title,
        branch=lab.branch,
        furthest_us=max(at_us, lab.furthest_us) if at_us else 0,
        command_log=lab.command_log,
    )
    rows = list(lab.commands.all())
    for row in rows:
        row.pk, row.lab = None, copy.lab
    LabCommand.objects.bulk_create(rows)
    return copy


def variant_of(lab: Lab, commands: list[dict[str, Any]], key: str, at_us: int) -> NewLab:
    """Make a lab with one change (`simulator.what_if`), at an instant.

    Raises Refused.
    """
    listed = variants(read_scenario(lab.scenario_text, lab.seed), commands)
    chosen = next((variant for variant in listed if variant.key == key), None)
    if chosen is None:
        raise Refused(
            "not-found",
            f"This run has no variant {key[:40]!r}.",
            f"Variants are {', '.join(variant.key for variant in listed)}.",
        )
    return run_again(f"{lab.title}: {chosen.name}", chosen.scenario, chosen.commands, at_us, at_us)


def run_again(
    title: str, scenario: Any, commands: list[dict[str, Any]], until_us: int, at_us: int = 0
) -> NewLab:
    """Make a lab whose only branch is the run of a command log up to `until_us`.

    It shows the instant `at_us`. A report's replay link and a variant use it. Raises Refused when the site is
    full.
    """
    _room_for_one_more()
    made = _store(scenario)
    rows = [
        LabCommand(
            lab=made.lab,
            number=number,
            branch=0,
            at_us=entry["at_us"],
            furthest_us=entry["at_us"],
            command={name: value for name, value in entry.items() if name not in ("at_us", "number")},
        )
        for number, entry in enumerate(commands, 1)
    ]
    LabCommand.objects.bulk_create(rows)
    furthest_us = max([until_us, at_us, *(row.at_us for row in rows)])
    Lab.objects.filter(pk=made.lab.pk).update(
        title=title[:200], position_us=at_us, furthest_us=furthest_us, command_log=commands
    )
    return made


def requested_scenario(given: dict[str, Any], seed: int | None) -> Any:
    """The scenario of {"scenario": name}, {"yaml": text} or {"recording": digest}, with "set" applied.

    Raises Refused or ScenarioError.
    """
    name, text, overrides = given.get("scenario"), given.get("yaml"), _overrides(given.get("set"))
    if sum(one is not None for one in (name, text, given.get("recording"))) != 1:
        raise Refused(
            "bad-field",
            "A lab is made from a built-in scenario, from a text or from a recording.",
            "Give exactly one of scenario, yaml and recording.",
        )
    if given.get("recording") is not None:
        return _recorded_scenario(given)
    if name is not None:
        if name not in scenario_names():
            raise Refused(
                "unknown-scenario",
                f"There is no built-in scenario {str(name)[:60]!r}.",
                f"One of {', '.join(scenario_names())}.",
            )
        return (
            read_in_turn(load_scenario, name, seed=seed, overrides=overrides)
            if overrides
            else builtin_scenario(name, seed)
        )
    if not isinstance(text, str) or len(text) > YAML_LIMIT:
        raise Refused(
            "bad-field", "yaml is not a text that can be taken.", f"Give at most {YAML_LIMIT:,} characters."
        )
    return (
        read_in_turn(load_scenario_text, text, seed=seed, overrides=overrides)
        if overrides
        else read_in_turn(read_scenario, text, seed)
    )


def _store(scenario: Any, at_us: int = 0) -> NewLab:
    token = new_token()
    lab = Lab.objects.create(
        title=scenario.title[:200],
        scenario_name=scenario.name[:100],
        scenario_text=scenario.canonical_text,
        seed=scenario.seed,
        engine_version=ENGINE_VERSION,
        client=client_key(),
        token_hash=hash_of(token),
        position_us=at_us,
        furthest_us=at_us,
    )
    return NewLab(lab, token)
