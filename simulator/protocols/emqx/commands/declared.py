"""Declarations of the commands of a simulated EMQX.

They are about sessions, leaders, groups, nodes, storage and the messages between them
(docs/durable-shared-subscriptions.md).
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.emqx.scenario.model import EMQX
from simulator.scenarios.declarations import Command, Key, When
from simulator.scenarios.limits import PUBLISHED_AT_ONCE_MAX
from simulator.scenarios.shared_commands import DRAWS, LINKS
from simulator.scenarios.shared_commands import REFUSALS as LINK_REFUSALS

PROTOCOL_MESSAGES = (
    "leader-wanted",
    "ping",
    "update-progress",
    "revoke-finished",
    "disconnect",
    "leader-connect-response",
    "ping-response",
    "grant",
    "revoke",
    "revoked",
    "invalidate",
)
"""The messages of borrowers and leaders, as `simulator.protocols.emqx.protocol` names them (tested)."""

LIVE_SETTINGS = (
    "session_find_leader_timeout",
    "session_ping_leader_interval",
    "session_ping_leader_timeout",
    "session_unsubscribe_timeout",
    "leader_renew_streams_interval",
    "leader_periodical_actions_interval",
    "leader_borrower_timeout",
)
"""Settings under `durable_queues` in EMQX's configuration.

The commit interval and the claim's time to live are constants of its code.
"""

REFUSALS: dict[str, str] = {
    **LINK_REFUSALS,
    "already-declared": "the group is declared already",
    "already-paused": "it is paused already",
    "bad-topic": "this is not a topic filter or shared subscription",
    "no-change": "the setting has this value already",
    "no-leader": "the group has no leader",
    "node-down": "the node is down",
    "not-connected": "the client is not connected",
    "not-declared": "the group is not declared",
    "not-down": "the node is up",
    "not-durable": "a session kept in memory cannot join a group",
    "not-paused": "it is not paused",
    "not-subscribed": "the session has no such subscription",
    "not-up": "the node is down",
    "too-many": "more shards than are possible",
    "unknown-name": "there is no such group",
}
"""The codes with which a running EMQX refuses commands, and what each means."""

_SESSION = Key("session", "session", "which session", required=True)
_GROUP = Key("group", "text", "which group", required=True)
_NODE = Key("node", "node", "which node", required=True)
_PUBLISHER = Key("publisher", "publisher", "which publisher", required=True)
_TOPIC = Key(
    "topic", "subscription-filter", "a topic filter, $share/GROUP/FILTER or $queue/FILTER", required=True
)
_NEXT = (
    Key("type", "choice", "type of message", required=True, choices=PROTOCOL_MESSAGES),
    Key("session", "session", "only to or from this session"),
    Key("group", "text", "only about this group"),
    Key("stream", "text", "only about this stream, named shard/generation/topic"),
    Key("skip", "integer", "so many that fit are let pass first", minimum=0, maximum=1_000_000),
)

_CHOSEN = (
    "The next {type|message of this kind}",
    When("session", {"": ""}, " to or from {session}"),
    When("stream", {"": ""}, " about {stream}"),
    When("skip", {"": "", "0": "", "1": ", after 1 other,"}, ", after {skip} others,"),
)

_command = partial(Command, protocol=EMQX)

DECLARED: tuple[Command, ...] = (
    *LINKS,
    _command(
        "session.connect",
        "connect a client; its session resumes; an open connection is closed (takeover)",
        (
            _SESSION,
            Key("node", "node", "to this node; without it where it was last"),
            Key(
                "clean",
                "boolean",
                (
                    "with a clean start: its old session is dropped, and it subscribes as at "
                    "its first connection"
                ),
                default=False,
            ),
        ),
        refusals=("node-down",),
        label="connect a client",
        consequence=When(
            "clean",
            {
                "true": (
                    "{session|The client} connects with a clean start: what its session had in flight is "
                    "dropped. In a group another member gets it again from the leader's last progress."
                )
            },
            (
                "{session|The client} connects. What its session had in flight is redelivered, and its "
                "streams must be granted again."
            ),
        ),
    ),
    _command(
        "session.disconnect",
        "disconnect a client; its session reports its progress to the leaders",
        (_SESSION,),
        refusals=("not-connected",),
        label="disconnect a client",
        consequence=(
            "{session} reports its progress to its leaders. Its streams are unassigned at once, from the "
            "first message that is not acked."
        ),
    ),
    _command(
        "session.kill",
        "kill a session's process: leaders get no message",
        (_SESSION,),
        refusals=("not-connected",),
        label="kill a session's process",
        consequence=(
            "{session} sends nothing: its leader waits until the last ping is five seconds old, and its "
            "streams are not read until then."
        ),
    ),
    _command(
        "session.subscribe",
        "subscribe a client",
        (_SESSION, _TOPIC),
        refusals=("bad-topic", "not-connected", "not-durable"),
        consequence=(
            "A new borrower looks for the leader of {topic|the group}, or the session reads the filter's "
            "streams itself."
        ),
    ),
    _command(
        "session.unsubscribe",
        "unsubscribe a client",
        (_SESSION, _TOPIC),
        refusals=("bad-topic", "not-connected", "not-subscribed"),
        consequence="Its borrower waits at most one second for unacked messages, then returns all streams.",
    ),
    _command(
        "session.pause-acks",
        "pause a client's acks",
        (_SESSION,),
        refusals=("already-paused",),
        consequence=(
            "{session|The client} acks nothing: chunks stay in flight, and a stream that is revoked from "
            "it waits without limit."
        ),
    ),
    _command(
        "session.resume-acks",
        "resume a client's acks",
        (_SESSION,),
        refusals=("not-paused",),
        consequence="{session|The client} acks again, beginning with what is in flight.",
    ),
    _command(
        "leader.crash",
        "crash a group's leader: nothing is committed, its claim stays",
        (_GROUP,),
        refusals=("no-leader", "unknown-name"),
        label="crash a group's leader",
        consequence=(
            "What {group}'s leader has not committed is lost. Its claim stays valid until it is thirty "
            "seconds old."
        ),
    ),
    _command(
        "leader.stop",
        "stop a group's leader gracefully: it commits and releases its claim",
        (_GROUP,),
        refusals=("no-leader", "unknown-name"),
        label="stop a group's leader gracefully",
        consequence=(
            "{group}'s leader commits and releases its claim. Its borrowers notice when a ping is not "
            "answered."
        ),
    ),
    _command(
        "group.declare",
        "declare a group that the scenario lists with declared: false",
        (
            _GROUP,
            Key(
                "startTime", "duration", "it reads what was stored from this instant on; without it from now"
            ),
        ),
        refusals=("already-declared", "unknown-name"),
        label="declare a group",
        consequence="What matches {group}'s filter is stored from now on.",
    ),
    _command(
        "group.destroy",
        "destroy a group with its progress; nothing is stored for it any more",
        (_GROUP,),
        refusals=("not-declared", "unknown-name"),
        label="destroy a group",
        consequence="{group} is deleted with its progress. Its borrowers find no leader.",
    ),
    _command(
        "node.crash",
        "crash a node with all its processes",
        (_NODE,),
        refusals=("not-up",),
        label="crash a node",
        consequence="Every session and leader at {node} is killed. Nothing is committed.",
    ),
    _command(
        "node.stop",
        "stop a node gracefully: its leaders commit and release their claims, its connections close",
        (
            _NODE,
            Key(
                "evacuate",
                "boolean",
                "its clients are disconnected in order before, as by node evacuation",
                default=False,
            ),
        ),
        refusals=("not-up",),
        label="stop a node gracefully",
        consequence=(
            When(
                "evacuate",
                {
                    "true": (
                        "{node}'s clients are disconnected gracefully first: leaders receive their progress."
                    )
                },
                (
                    "{node}'s connections close without a message to leaders elsewhere, which drop their "
                    "borrowers five seconds after the last ping."
                ),
            ),
            " Its leaders commit and release their claims.",
        ),
    ),
    _command(
        "node.restart",
        "start a crashed or stopped node, empty",
        (_NODE,),
        refusals=("not-down",),
        label="restart a node",
        consequence="{node} restarts without sessions in memory. Clients reconnect.",
    ),
    _command(
        "storage.close-generation",
        "close the streams of all shards and start a new generation",
        (),
        label="start a new storage generation",
        consequence="The streams of all shards end here. What is published from now on opens new streams.",
    ),
    _command(
        "storage.add-shards",
        "spread clients over more shards from now on",
        (Key("count", "integer", "how many more", required=True, minimum=1, maximum=255, begin=1),),
        refusals=("too-many",),
        label="add shards to storage",
        consequence="Clients are spread over more shards. Existing streams stay.",
    ),
    _command(
        "store.fail",
        "make the leaders' store fail, or cut one node off from it",
        (
            Key("for", "duration", "for how long", required=True, minimum=1, begin="5s"),
            Key(
                "node",
                "node",
                (
                    "only this node is cut off: its leaders' requests wait; without it every request fails "
                    "at once"
                ),
            ),
        ),
        label="make the leaders' store fail",
        consequence=When(
            "node",
            {"": "Meanwhile no leader can be elected or commit."},
            (
                "Leaders at {node} handle nothing from their next commit on, until the store answers or "
                "60 s have passed. Once their claim is 30 s old, a borrower at another node elects a "
                "second leader."
            ),
        ),
    ),
    _command(
        "config.update",
        "change a timer of leaders and borrowers on all nodes; it counts from its next start",
        (
            Key("setting", "choice", "which", required=True, choices=LIVE_SETTINGS),
            Key("value", "duration", "its new value", required=True, minimum=1, begin="2s"),
        ),
        refusals=("no-change",),
        label="change a timer of leaders and borrowers",
        consequence=(
            "{setting|The timer} becomes {value|another value} on all nodes. A running timer keeps its "
            "interval until it is started again."
        ),
    ),
    _command(
        "protocol.lose",
        "lose the next message of a kind between borrowers and leaders",
        _NEXT,
        label="lose the next message of a kind",
        consequence=(*_CHOSEN, " is lost."),
    ),
    _command(
        "protocol.delay",
        "delay the next message of a kind",
        (*_NEXT, Key("by", "duration", "by how much", required=True, begin="1s")),
        consequence=(*_CHOSEN, " arrives late."),
    ),
    _command(
        "protocol.duplicate",
        "duplicate the next message of a kind",
        (*_NEXT, Key("by", "duration", "how long after the first", default="0s", begin="0s")),
        consequence=(*_CHOSEN, " arrives twice."),
    ),
    _command(
        "publisher.publish",
        "publish messages at once",
        (
            _PUBLISHER,
            Key(
                "count",
                "integer",
                "how many messages",
                default=1,
                minimum=1,
                maximum=PUBLISHED_AT_ONCE_MAX,
                begin=1,
            ),
        ),
        consequence="{publisher} publishes at once.",
    ),
    _command(
        "publisher.pause",
        "pause a publisher",
        (_PUBLISHER,),
        refusals=("already-paused",),
        consequence="{publisher} publishes nothing until it is resumed.",
    ),
    _command(
        "publisher.resume",
        "resume a publisher",
        (_PUBLISHER,),
        refusals=("not-paused",),
        consequence="{publisher} publishes at its rate again.",
    ),
    *DRAWS,
)
