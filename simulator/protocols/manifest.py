"""The manifest of a protocol: what the world, the checks, the summary and the reports need of it.

Rules: each protocol has one `MANIFEST` in `simulator/protocols/<name>/manifest.py`, listed in
`simulator/protocols/table.py`. Generic code takes the manifest of the scenario's protocol and names no
protocol (`tests/test_protocol_folders.py`). An optional field has as default the answer of a protocol without
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.story import NO_STORIES, Stories
from simulator.system.admin_tools import AdminError
from simulator.system.live_rows import LiveRows
from simulator.system.measured import Measured
from simulator.system.set_up_form import Form

if TYPE_CHECKING:
    from simulator.checks.check import Check
    from simulator.counting import CountedRun
    from simulator.protocols.terms import TermSection
    from simulator.scenarios.canonical import Change
    from simulator.scenarios.model import Scenario
    from simulator.system.measured import Compared
    from simulator.system.system import System
    from simulator.trace.trace import Trace
    from simulator.world import World


class NotOffered(ValueError):
    """The scenario's protocol does not have the requested part; the text names what it lacks."""


# --- the defaults of optional parts


def _no_failovers(run: World) -> list[dict]:
    return []


def _command_results(run: World) -> list[dict]:
    return run.command_results


def _no_source(runtime: Any, subscription: str) -> str | None:
    return None


def _no_forecast(runtime: Any, subscription: str, source: str | None) -> dict[str, dict[str, int]]:
    return {}


def _no_lag(runtime: Any, subscription: str) -> dict[str, int]:
    return {}


def _half_way(run: Any) -> dict[str, Any]:
    run.run(run.scenario.until_us // 2)
    return _instant_alone(run)


def _instant_alone(run: Any) -> dict[str, Any]:
    return {"at_us": run.now_us, "lanes": []}


def _no_audiences(scenario: Any) -> tuple[str, ...]:
    return ()


def _none_movable(scenario: Any) -> list[str]:
    return []


def _no_rules(runtime: Any, topic: str) -> dict[str, dict]:
    return {}


def _no_cells(runtime: Any, cluster: str, topic: str, first: int, count: int) -> dict:
    raise NotOffered("This protocol has no logs that the page shows as cells.")


def _no_marker(run: World, number: int) -> dict:
    raise NotOffered(f"There is no marker {number}: this protocol writes none.")


def _no_broker_load(run: World) -> dict:
    raise NotOffered("This protocol has no brokers whose load is recorded.")


def _no_creation(run: World) -> dict:
    raise NotOffered("This protocol creates no topics by replication.")


def _no_replicator_starts(run: World, source: str, target: str, topic: str) -> dict:
    raise NotOffered("This protocol has no replicators.")


def _no_admin(runtime: Any, tool: str, cluster: str, topic: str | None) -> Iterator[None]:
    raise AdminError(
        f"There is no tool {tool} in a scenario of this protocol.",
        "Ask in a scenario whose clusters hold topics.",
    )


# --- the parts of a manifest


@dataclass(frozen=True, slots=True)
class CountCheck:
    """A claim about the counted failovers; `broken` returns (instant, reason) of each violation."""

    claim: str
    broken: Callable[[Sequence[dict[str, Any]]], Iterable[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class CheckList:
    """The checks of a protocol in order.

    `knowledge()` makes the state that they share, read once for all of them. `audiences(scenario)` are names
    that stand for many subscriptions; only checks made for them read their rows.
    """

    knowledge: Callable[[], Any]
    of_rows: tuple[type[Check], ...]
    of_counts: tuple[CountCheck, ...] = ()
    audiences: Callable[[Any], tuple[str, ...]] = _no_audiences


@dataclass(frozen=True, slots=True)
class Forecasts:
    """The forecasts of failovers.

    - `source_of`: the cluster where a subscription's consumers are.
    - `to_targets`: the forecast for each cluster that they could move to if the source failed now.
    - `sync_lag`: by remote the age of the oldest message that it lacks, us.
    - `movable(scenario)`: the subscriptions that could move, sorted.
    """

    source_of: Callable[[Any, str], str | None] = _no_source
    to_targets: Callable[[Any, str, str | None], dict[str, dict[str, int]]] = _no_forecast
    sync_lag: Callable[[Any, str], dict[str, int]] = _no_lag
    movable: Callable[[Any], list[str]] = _none_movable


@dataclass(frozen=True, slots=True)
class Inspection:
    """Details for the page.

    They are log cells, markers, snapshot rules, broker load, topic creation and replicator starts. A protocol
    without one raises `NotOffered` (`snapshot_rules` is empty).
    """

    cells: Callable[[Any, str, str, int, int], dict] = _no_cells
    marker: Callable[[World, int], dict] = _no_marker
    snapshot_rules: Callable[[Any, str], dict[str, dict]] = _no_rules
    broker_load: Callable[[World], dict] = _no_broker_load
    creation: Callable[[World], dict] = _no_creation
    replicator_starts: Callable[[World, str, str, str], dict] = _no_replicator_starts


@dataclass(frozen=True, slots=True)
class Pictures:
    """Small pictures for cards, which the protocol's part of the page paints.

    `telling(world)` runs a new world to the most informative instant and draws it, `now(world)` draws the
    present one. Without them a picture is empty.
    """

    telling: Callable[[Any], dict[str, Any]] = _half_way
    now: Callable[[Any], dict[str, Any]] = _instant_alone


@dataclass(frozen=True, slots=True)
class AdminTools:
    """The operator's tools by name, and what they print, in pieces.

    A protocol without them raises AdminError.
    """

    tools: tuple[str, ...] = ()
    ask: Callable[[Any, str, str, str | None], Iterator[None]] = _no_admin


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What a column of a comparison shows of a run: under a strategy, or beside the real run.

    `figures` are parts of its summary, `costs` the cost of synchronising, and `followed` each failover,
    message by message.
    """

    figures: tuple[str, ...]
    costs: Callable[[World], dict[str, int]]
    followed: Callable[[World], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The engine, views, checks and comparisons of one protocol.

    Required:

    - `build(scenario, seed, trace)`: a system at instant 0, its calendar filled.
    - `count(trace, scenario, upto_seq)`: what happened, from rows only.
    - `view(run)`: its part of the live state.
    - `flights(system, limit)`: the messages on the links, and how many are on each link.
    - `sections`: its sections of the summary, in their order.
    - `checks`: what must hold in every run.
    - `changes`: tried one at a time to see what would have helped; `compared`: how those runs are compared.

    Optional:

    - `failovers(run)`, `commands(run)`: `failovers[]` (default: none) and `commands[]` of the summary.
    - `tables()`: fixed tables of the code that a page draws, such as state machines.
    - `swarm_settings`: by setting, the values that a swarm may choose, as written in a file.
    - `live`, `forecasts`, `inspection`, `pictures`, `admin`, `comparison`, `measured`, `stories`: see each;
      default: none.
    - `terms` of the glossary, and its `causes` of duplicates and losses: heading and meaning.
    - `form`: how a visitor describes a set-up of their own, and the scenario that it makes.
    - `recorded`: the same for runs that were recorded on real brokers.
    """

    name: str
    build: Callable[[Scenario, int, Trace], System]
    count: Callable[[Trace, Scenario, int | None], CountedRun]
    view: Callable[[World], dict[str, Any]]
    flights: Callable[[Any, int], tuple[list[dict], dict[str, int]]]
    sections: Mapping[str, Callable[[World], Any]]
    checks: CheckList
    changes: tuple[Change, ...]
    compared: Compared
    failovers: Callable[[World], list[dict]] = _no_failovers
    commands: Callable[[World], list[dict]] = _command_results
    tables: Callable[[], dict[str, Any]] = dict
    live: LiveRows = LiveRows()
    forecasts: Forecasts = Forecasts()
    inspection: Inspection = Inspection()
    pictures: Pictures = Pictures()
    admin: AdminTools = AdminTools()
    comparison: RunComparison | None = None
    measured: Measured = Measured()
    swarm_settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    stories: Stories = NO_STORIES
    terms: tuple[TermSection, ...] = ()
    causes: tuple[tuple[str, str], ...] = ()
    form: Form | None = None
    recorded: Manifest | None = None
