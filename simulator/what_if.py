"""What would have helped: the same seed and failure, run again with one thing changed at a time.

Rules: the first variant is the run as it was; the others are described by their differences to it. `answer`
is the whole result for page and report: a report of a lab takes the outcomes that the page has already. Each
protocol declares what is changed and compared (`changes.py` and `changes.py` in its folder). Only a setting
that an operator could have changed before the run is recommended, and only when every variant has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from simulator.protocols.table import protocol_of
from simulator.scenarios.canonical import NO_SETTING, CommandLog, Variant, canonical_text
from simulator.scenarios.model import Scenario
from simulator.system.measured import price_of, price_words
from simulator.world import World

ROWS_MOST = 1_000_000
"""Most rows of a run that is run again with changes, about twenty seconds a variant in half of a process."""

SAME = "no difference"
"""The difference of a change without effect, in words."""


def variants(
    scenario: Scenario, commands: CommandLog, seed: int | None = None, until_us: int | None = None
) -> list[Variant]:
    """The run as it was, then every change that applies to it, in an order for reading.

    Whether a change applies is decided from these inputs, never from the outcome.
    """
    found = [Variant("as-it-was", "as it was", scenario, commands, seed=seed, until_us=until_us)]
    for change in protocol_of(scenario).changes:
        made = change(scenario, commands)
        if made is not None:
            changed = replace(made.scenario, tour=None, pair={})  # they describe the run as it was
            changed = replace(changed, canonical_text=canonical_text(changed))
            found.append(replace(made, scenario=changed, seed=seed, until_us=until_us))
    return found


def outcome(variant: Variant, world: World) -> dict[str, Any]:
    """The outcome of a variant's run so far.

    Returns {"key", "name", "settings", "no_setting", "cases", "digest"}; `cases` are the figures of each
    failover or group, as in the summary.
    """
    return {
        "key": variant.key,
        "name": variant.name,
        "settings": [asdict(one) for one in variant.settings],
        "no_setting": variant.no_setting,
        "cases": protocol_of(variant.scenario).compared.cases(world),
        "digest": world.digest(),
    }


def looks(scenario: Scenario) -> dict[str, Any]:
    """The layout of the table of reruns.

    Returns `noun`, what is compared, `columns` in order (name, title, unit `count` or `us`), and `nothing`,
    the text when there is nothing to compare.
    """
    compared = protocol_of(scenario).compared
    return {
        "noun": compared.noun,
        "columns": [figure.column() for figure in compared.figures],
        "nothing": compared.nothing,
    }


def lower_bounds(scenario: Scenario, case: dict[str, Any] | None) -> list[str]:
    """The figures of a case that may still rise, because it still delivered at the end of its run."""
    if case is None or not case.get("pending_repeats"):
        return []
    return [one.name for one in protocol_of(scenario).compared.figures if one.grows]


def beside(scenario: Scenario, outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes as differences to the real one, which is the first, with cases in its order.

    Each has the `settings` that an operator would paste. Each case has its `label` and `at_us`, `figures`
    (null where the case did not happen), and the effect of the change: `difference` in words, `harm` (a list
    of integers, small is good; null where it cannot be judged), `helps`, `price` (additional costs, null
    without figures), `price_words`, and `assumes`: why it is no advice, such as an assumption that was not so
    in the real run (null for a setting that could have been changed). `at_least` names
    the figures that are lower bounds, because the case still delivered at the end of its run.
    """
    compared = protocol_of(scenario).compared
    names = [figure.name for figure in compared.figures]

    def described(
        outcome: dict[str, Any], real: dict[str, Any], other: dict[str, Any] | None
    ) -> dict[str, Any]:
        assumes = compared.assumes(real, outcome["key"]) or NO_SETTING.get(outcome["no_setting"])
        place: dict[str, Any] = {**{name: real[name] for name in ("label", "at_us")}, "assumes": assumes}
        place["at_least"] = lower_bounds(scenario, other)
        if other is None:
            missing = {"figures": None, "difference": compared.missing, "harm": None, "helps": False}
            return {**place, **missing, "price": None, "price_words": ""}
        harm = compared.harm(real, other)
        price = price_of(compared.prices, real, other)
        return {
            **place,
            "figures": {name: other[name] for name in names},
            "difference": compared.difference(real, other),
            "harm": list(harm),
            "helps": harm < compared.harm(real, real),
            "price": price,
            "price_words": price_words(compared.prices, price),
        }

    real_cases = outcomes[0]["cases"] if outcomes else []
    return [
        {
            **{name: outcome[name] for name in ("key", "name", "settings", "no_setting", "digest")},
            "cases": [
                described(outcome, real, outcome["cases"][place] if place < len(outcome["cases"]) else None)
                for place, real in enumerate(real_cases)
            ],
        }
        for outcome in outcomes
    ]


def answer(scenario: Scenario, outcomes: Sequence[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    """The result for page and report: the table's layout, the variants so far, and their order.

    `order` has an entry for each case: `rows`, each variant's `key` with its `group` in the order of the
    table, and `best`, the key of the setting to recommend. Groups are `real`, `changed` (a setting with an
    effect, the most helpful first), `same` (a setting without), and `assumed` (no setting, or impossible).
    `best` is null until all variants have run (`done`), and when no setting helps.
    """
    found = beside(scenario, outcomes)
    cases = range(len(found[0]["cases"]) if found else 0)
    return {
        **looks(scenario),
        "done": done,
        "variants": found,
        "order": [_order(found, place, done) for place in cases],
    }


def _order(found: list[dict[str, Any]], place: int, done: bool) -> dict[str, Any]:
    """The variants of one case in the order of the table, and the setting to recommend."""
    real, *others = [{"key": one["key"], **one["cases"][place]} for one in found]
    by_harm = sorted(others, key=lambda one: (one["harm"] is None, one["harm"] or []))
    groups = {
        "real": [real],
        "changed": [one for one in by_harm if not one["assumes"] and one["difference"] != SAME],
        "same": [one for one in others if not one["assumes"] and one["difference"] == SAME],
        "assumed": [one for one in by_harm if one["assumes"]],
    }
    first = groups["changed"][0] if groups["changed"] else None
    return {
        "rows": [{"key": one["key"], "group": group} for group, its in groups.items() for one in its],
        "best": first["key"] if done and first is not None and first["helps"] else None,
    }
