"""The settings that a swarm may choose, with values that reach other branches of the rules."""

from __future__ import annotations

SWARM_SETTINGS: dict[str, tuple] = {
    "leader_heartbeat_interval": ("2s", "5s"),
    "session_ping_leader_interval": ("500ms", "2s"),
    "leader_renew_streams_interval": ("300ms", "3s"),
    "session_find_leader_timeout": ("200ms",),
}
