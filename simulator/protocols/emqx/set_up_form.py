"""The form of a set-up of a shared group: clients share streams, and a node, leader or client fails."""

from __future__ import annotations

import json

from simulator.protocols.emqx.commands.declared import LIVE_SETTINGS
from simulator.protocols.emqx.scenario.model import EMQX
from simulator.protocols.emqx.scenario.settings import PROPOSAL, SHIPPED
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.units import format_duration
from simulator.system.set_up_form import (
    ARRIVALS,
    NAMES,
    PROCESSING,
    Beside,
    Field,
    Form,
    Group,
    Values,
    Writer,
    halves,
    number,
    processing,
    span_us,
    summed,
)

GROUP, PUBLISHER = "meters", "devices"
FILTER = f"{GROUP}/#"

NODES_READ = 17
"""Most nodes that are written: one more than a scenario may have, so that the loader reports it."""

CLIENTS_READ = 1001
"""Most clients that are written: one more than the loader accepts, so that it reports it."""

COMMITS = 2
"""Commits of the leader before the failure, so that the group has settled and its progress is stored."""

RECOVERY = (
    "leader_claim_ttl",
    "leader_borrower_timeout",
    "session_ping_leader_interval",
    "session_ping_leader_timeout",
    "session_find_leader_timeout",
    "leader_renew_streams_interval",
)
"""The timers that a group may wait for, one after the other, until every stream has a reader again."""

DRAINING_US = 15_000_000
"""How long a run goes on after that at least, so that what waited meanwhile is delivered."""

DRAINING_MOST_US = 120_000_000
"""How long it goes on at most; a run that still delivers then says so."""

REACHABLE = "reachable"

OF_NODE = ("node-crash", "node-stop", "node-evacuate", "node-cut")
OF_CLIENT = ("session-kill", "session-disconnect")
LASTING = (*OF_NODE, "store-fail", "rolling")


def _setting(name: str, kept: str = "") -> Field:
    """The field of a setting of EMQX, named as in its configuration; `kept` is its place, if no timer."""
    default = SETTINGS[name].default
    words = format_duration(default) if SETTINGS[name].kind == "duration" else str(default)
    return Field(name, name, hint=kept or SETTINGS[name].says, empty=words)


GROUPS = (
    Group(
        "Cluster",
        "cluster",
        (
            Field("nodes", "Nodes", "3", counted="nodes"),
            Field("rtt", "Round trip between nodes", "1ms", "such as 1ms"),
            Field(
                "release",
                "Behaviour",
                SHIPPED,
                "of leaders and sessions",
                ((SHIPPED, "5.10, as shipped"), (PROPOSAL, "known faults repaired")),
            ),
            Field(
                "remote",
                "Messages to other nodes",
                hint="from a session to its leader (emqx#18143)",
                choices=(
                    ("", "as in that release"),
                    (REACHABLE, "arrive, as in 6.0.4"),
                    ("unreachable", "never, as in 5.10"),
                ),
            ),
        ),
    ),
    Group(
        "Messages",
        "messages",
        (
            Field("streams", "Streams", "32", "one for each topic, each in one shard"),
            Field("rate", "Rate", "100/s", "of all topics together"),
            ARRIVALS,
            _setting("n_shards", "durable_storage.messages"),
        ),
    ),
    Group(
        "Clients of the group",
        "clients",
        (
            Field("clients", "Number of clients", "6", "spread over the nodes", counted="sessions"),
            *PROCESSING,
            Field("qos", "QoS", "1", choices=(("0", "0"), ("1", "1"), ("2", "2"))),
            Field("reconnect", "Reconnect after", "2s", "empty: not at all"),
            _setting("batch_size", "durable_sessions; the largest chunk"),
            _setting("max_inflight", "mqtt; unacked messages"),
        ),
    ),
    Group(
        "Timers",
        "timers",
        tuple(_setting(name) for name in LIVE_SETTINGS),
        "Settings under durable_queues in EMQX's configuration; empty: as shipped.",
        long=True,
    ),
    Group(
        "Failure",
        "failure",
        (
            Field(
                "fault",
                "What happens",
                "node-crash",
                choices=(
                    ("node-crash", "a node crashes"),
                    ("node-stop", "a node is stopped"),
                    ("node-evacuate", "a node is evacuated, then stopped"),
                    ("node-cut", "a node is cut off from the others"),
                    ("rolling", "nodes are restarted one by one"),
                    ("leader-crash", "the leader crashes"),
                    ("leader-stop", "the leader stops"),
                    ("session-kill", "a client's session is killed"),
                    ("session-disconnect", "a client disconnects"),
                    ("store-fail", "the leaders' store fails"),
                ),
            ),
            Field(
                "node",
                "Node",
                "n1",
                "or that of the client; n1 has the leader",
                NAMES,
                when=("fault", (*OF_NODE, *OF_CLIENT)),
            ),
            Field("lasts", "Lasts", "60s", "empty: until the end", when=("fault", LASTING)),
            Field("at", "Instant", hint="empty: after two commits of the leader"),
            Field("end", "Continue for", hint="empty: until a leader and the backlog are done"),
        ),
    ),
)


def nodes_of(values: Values) -> list[str]:
    """The names of the nodes."""
    return [f"n{place}" for place in range(1, min(number(values["nodes"]) or 0, NODES_READ) + 1)]


def _write(writer: Writer) -> None:
    values = writer.values
    writer.text("format: 1")
    writer.text("name: my-set-up")
    fault = dict(next(one.choices or () for one in GROUPS[-1].fields if one.name == "fault"))
    writer.key(0, "title", f"A shared group: {fault.get(values['fault'], values['fault'])}")
    writer.text("family: durable-shared-subscriptions")
    instants = {**values, "at": at_of(values), "end": _end_of(values)}
    text, field = summed(instants, "at", "end")
    writer.key(0, "until", text, field)
    names = [one.name for group in GROUPS for one in group.fields if one.name in SETTINGS]
    writer.keys("settings", [pair for name in names for pair in writer.given(name, name)])
    writer.text("options:")
    writer.text(f"  emqx: {json.dumps(values['release'].strip(), ensure_ascii=False)}", "release")
    for key, value, named in writer.given("remoteLeaders", "remote"):
        writer.key(1, key, value, named)
    _cluster(writer)
    _traffic(writer)
    _sessions(writer)
    _failure(writer, instants)


def _cluster(writer: Writer) -> None:
    if writer.count("nodes", "nodes", NODES_READ) is None:
        return
    nodes = nodes_of(writer.values)
    writer.text("nodes:", "nodes")
    for node in nodes:
        writer.text(f"  {node}: {{}}", "nodes")
    if len(nodes) > 1:
        latency = halves(writer.values["rtt"])[1]
        writer.text("links:")
        writer.flow("  default: ", [("latency", latency, "rtt")], "rtt")


def _traffic(writer: Writer) -> None:
    streams = writer.values["streams"].strip()
    writer.text("groups:")
    writer.text(f'  {GROUP}: {{filter: "{FILTER}"}}')
    writer.text("publishers:")
    pairs = [
        ("topic", GROUP, ""),
        ("topics", streams, "streams"),
        ("clients", streams, "streams"),
        ("rate", writer.values["rate"].strip(), "rate"),
        *writer.given("arrivals", "arrivals"),
        *writer.given("qos", "qos"),
    ]
    writer.flow(f"  {PUBLISHER}: ", pairs)


def _sessions(writer: Writer) -> None:
    count = writer.count("clients", "sessions", CLIENTS_READ)
    if count is None:
        return
    nodes = nodes_of(writer.values)
    writer.text("sessions:", "clients")
    for place in range(count):
        pairs = [
            ("node", nodes[place % len(nodes)] if nodes else "n1", "nodes"),
            *([("start", "100ms", "")] if place else []),  # the first client's node has the leader
            *writer.given("qos", "qos"),
            *writer.given("reconnect", "reconnect"),
        ]
        subscriptions = f', subscriptions: ["$share/{GROUP}/{FILTER}"]'
        more = [*processing(writer), (subscriptions, "")]
        writer.flow(f"  c{place + 1}: ", pairs, "clients", more)


def _failure(writer: Writer, values: dict[str, str]) -> None:
    writer.text("commands:")
    fault, nodes = values["fault"].strip(), nodes_of(values)
    node = [("node", values["node"].strip(), "node")]
    if fault == "rolling":
        for place, each in enumerate(nodes):
            _command(writer, values, "node.stop", [("node", each, "nodes")], 2 * place)
            _command(writer, values, "node.restart", [("node", each, "nodes")], 2 * place + 1)
    elif fault == "node-cut":
        links = [
            f"{values['node'].strip()} <-> {other}" for other in nodes if other != values["node"].strip()
        ]
        for do, times in (("link.cut", 0), ("link.heal", 1)):
            for link in links:
                _command(writer, values, do, [("link", link, "node")], times)
    elif fault in OF_NODE:
        do = "node.crash" if fault == "node-crash" else "node.stop"
        evacuated = [("evacuate", "true", "fault")] if fault == "node-evacuate" else []
        _command(writer, values, do, [*node, *evacuated])
        _command(writer, values, "node.restart", node, 1)
    elif fault in OF_CLIENT:
        client = values["node"].strip().replace("n", "c", 1)
        _command(writer, values, fault.replace("-", "."), [("session", client, "node")])
    elif fault == "store-fail":
        _command(writer, values, "store.fail", [("for", values["lasts"].strip(), "lasts")])
    else:
        _command(writer, values, fault.replace("-", "."), [("group", GROUP, "")])


def _command(writer: Writer, values: dict[str, str], do: str, pairs: list, times: int = 0) -> None:
    """Write a command `times` lasts after the failure; one that ends it only where it ends."""
    lasts = values["lasts"].strip()
    if times and not lasts:
        return
    text, field = summed(values, "at", *["lasts"] * times)
    piece = ("do", do, "fault")
    writer.flow("  - ", [("at", text, field), piece, *pairs])


def at_of(values: Values) -> str:
    """The instant of the failure: as typed, or after two commits of the leader."""
    commit_us = SETTINGS["leader_heartbeat_interval"].default
    return values["at"].strip() or format_duration(COMMITS * commit_us)


def _end_of(values: Values) -> str:
    """How long a run goes on after the failure: as typed, or until all timers and the backlog are over."""
    if values["end"].strip():
        return values["end"].strip()
    recovery_us = sum(span_us(values.get(one, ""), SETTINGS[one].default) for one in RECOVERY)
    fault, lasts_us = values["fault"], span_us(values["lasts"])
    if fault == "rolling":  # a node returns before the next one stops
        return format_duration((2 * len(nodes_of(values)) - 1) * lasts_us + 2 * recovery_us)
    silent_us = recovery_us + (lasts_us if fault in ("node-cut", "store-fail") else 0)
    drained_us = silent_us + min(DRAINING_MOST_US, max(DRAINING_US, silent_us))
    return format_duration(max(drained_us, lasts_us + DRAINING_US if fault in LASTING else 0))


def _beside(values: Values) -> Beside | None:
    """The same group with sessions that reach a leader at another node, where they do not."""
    unreachable = values["remote"].strip() != REACHABLE and (
        values["release"].strip() == SHIPPED or values["remote"].strip()
    )
    if not unreachable or len(nodes_of(values)) < 2:
        return None
    words = "If sessions reached a leader at another node, as since EMQX 6.0.4"
    return Beside("with-remote-leaders", {**values, "remote": REACHABLE}, words)


VALIDITY = (
    "Not compared with running EMQX brokers so far. The rules are those of the code of EMQX 5.10, and EMQX's "
    "own test cases were repeated. Leaders and sessions take no time for their work, and stored messages are "
    "at every node at once."
)

FORM = Form(
    name=EMQX,
    title="EMQX: shared group",
    groups=GROUPS,
    write=_write,
    names=nodes_of,
    at_of=at_of,
    validity=VALIDITY,
    compared=False,
    beside=_beside,
)
