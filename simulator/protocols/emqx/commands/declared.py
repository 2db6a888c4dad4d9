"""Commands about a simulated EMQX: sessions, leaders, groups, nodes, storage, the messages between them
(docs/durable-shared-subscriptions.md).
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.emqx.scenario.families import EMQX
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key
from simulator.scenarios.limits import PUBLISHED_AT_ONCE_MAX
from simulator.scenarios.link_commands import LINKS
from simulator.scenarios.link_commands import REFUSALS as LINK_REFUSALS

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
    Key("type", "choice", "what is said", required=True, choices=PROTOCOL_MESSAGES),
    Key("session", "session", "only to or from this session"),
    Key("group", "text", "only about this group"),
    Key("stream", "text", "only about this stream, named shard/generation/topic"),
    Key("skip", "integer", "so many that fit are let pass first", minimum=0, maximum=1_000_000),
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
                "with a clean start: its old session is dropped, and it subscribes as when it first came",
                default=False,
            ),
        ),
        refusals=("node-down",),
    ),
    _command(
        "session.disconnect",
        "disconnect a client; its session reports its progress to the leaders",
        (_SESSION,),
        refusals=("not-connected",),
    ),
    _command(
        "session.kill",
        "kill a session's process: leaders get no message",
        (_SESSION,),
        refusals=("not-connected",),
    ),
    _command(
        "session.subscribe",
        "subscribe a client",
        (_SESSION, _TOPIC),
        refusals=("bad-topic", "not-connected", "not-durable"),
    ),
    _command(
        "session.unsubscribe",
        "unsubscribe a client",
        (_SESSION, _TOPIC),
        refusals=("bad-topic", "not-connected", "not-subscribed"),
    ),
    _command(
        "session.pause-acks",
        "pause a client's acks",
        (_SESSION,),
        refusals=("already-paused",),
    ),
    _command("session.resume-acks", "resume a client's acks", (_SESSION,), refusals=("not-paused",)),
    _command(
        "leader.crash",
        "crash a group's leader: nothing is committed, its claim stays",
        (_GROUP,),
        refusals=("no-leader", "unknown-name"),
    ),
    _command(
        "leader.stop",
        "stop a group's leader gracefully: it commits and releases its claim",
        (_GROUP,),
        refusals=("no-leader", "unknown-name"),
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
    ),
    _command(
        "group.destroy",
        "destroy a group with its progress; nothing is stored for it any more",
        (_GROUP,),
        refusals=("not-declared", "unknown-name"),
    ),
    _command("node.crash", "crash a node with all its processes", (_NODE,), refusals=("not-up",)),
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
    ),
    _command("node.restart", "start a crashed or stopped node, empty", (_NODE,), refusals=("not-down",)),
    _command("storage.close-generation", "close the streams of all shards and start a new generation", ()),
    _command(
        "storage.add-shards",
        "spread clients over more shards from now on",
        (Key("count", "integer", "how many more", required=True, minimum=1, maximum=255),),
        refusals=("too-many",),
    ),
    _command(
        "store.fail",
        "make the leaders' store fail, or cut one node off from it",
        (
            Key("for", "duration", "for how long", required=True, minimum=1),
            Key(
                "node",
                "node",
                (
                    "only this node is cut off: its leaders' requests wait; without it every request fails "
                    "at once"
                ),
            ),
        ),
    ),
    _command(
        "config.update",
        "change a timer of leaders and borrowers on all nodes; it counts from its next start",
        (
            Key("setting", "choice", "which", required=True, choices=LIVE_SETTINGS),
            Key("value", "duration", "its new value", required=True, minimum=1),
        ),
        refusals=("no-change",),
    ),
    _command("protocol.lose", "lose the next message of a kind between borrowers and leaders", _NEXT),
    _command(
        "protocol.delay",
        "delay the next message of a kind",
        (*_NEXT, Key("by", "duration", "by how much", required=True)),
    ),
    _command(
        "protocol.duplicate",
        "duplicate the next message of a kind",
        (*_NEXT, Key("by", "duration", "how long after the first", default="0s")),
    ),
    _command(
        "publisher.publish",
        "publish messages at once",
        (
            _PUBLISHER,
            Key("count", "integer", "how many messages", default=1, minimum=1, maximum=PUBLISHED_AT_ONCE_MAX),
        ),
    ),
    _command(
        "publisher.pause",
        "pause a publisher",
        (_PUBLISHER,),
        refusals=("already-paused",),
    ),
    _command("publisher.resume", "resume a publisher", (_PUBLISHER,), refusals=("not-paused",)),
)
