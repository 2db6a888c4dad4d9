"""System checks: report at the start the settings that would fail later, and what would be right."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from labsite import environment

SHORTEST_SECRET_KEY = 32
"""Fewest characters of a key. A shorter one can be guessed."""


@register()
def check_environment(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Report labsite.E001: an environment variable that cannot be used."""
    return [Error(wrong, hint=right, id="labsite.E001") for wrong, right in environment.PROBLEMS]


@register()
def check_secret_key(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Report labsite.E002: a SECRET_KEY that is too short."""
    if len(settings.SECRET_KEY) >= SHORTEST_SECRET_KEY:
        return []
    return [
        Error(
            f"SECRET_KEY has {len(settings.SECRET_KEY)} characters.",
            hint=(
                f"Give at least {SHORTEST_SECRET_KEY} random ones, or leave it out: one is made and kept "
                f"in the data folder."
            ),
            id="labsite.E002",
        )
    ]


@register()
def check_hosts(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Report labsite.W003: every host name is accepted; labsite.E004: an origin that is not one."""
    found: list[CheckMessage] = []
    if "*" in settings.ALLOWED_HOSTS and not settings.DEBUG:
        found.append(
            Warning(
                "ALLOWED_HOSTS allows every host name.",
                hint="List the names by which the site is reached.",
                id="labsite.W003",
            )
        )
    for origin in settings.TRUSTED_ORIGINS:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
            found.append(
                Error(
                    f"TRUSTED_ORIGINS holds {origin!r}, which is not an origin.",
                    hint="Write scheme://host[:port] without a path.",
                    id="labsite.E004",
                )
            )
    return found


@register()
def check_channel_layer(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Report labsite.E005: sharing between processes that the channel layer cannot do."""
    backend = settings.CHANNEL_LAYERS["default"]["BACKEND"]
    if bool(settings.REDIS_URL) == ("InMemory" not in backend):
        return []
    return [
        Error(
            f"REDIS_URL is {'set' if settings.REDIS_URL else 'not set'}, but the channel layer is {backend}.",
            hint=(
                "Leases and frames travel by the same Redis: set REDIS_URL and leave CHANNEL_LAYERS to the "
                "settings."
            ),
            id="labsite.E005",
        )
    ]
