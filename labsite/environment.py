"""Reads the site's settings from the environment, and collects a message for each wrong value.

Rules: with nothing set, the defaults suit one person on this machine. The system checks of `labsite.checks`
report all wrong values together, at `manage.py check` and at the server's start.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key

from simulator import RuleError, load_rules

PROBLEMS: list[tuple[str, str]] = []
"""(What is wrong, what would be right) of each environment variable that could not be used."""

RULES = "FAILOVER_LAB_RULES"
"""The variable in which `script/server --rules` names a rule's file to the site and its workers."""

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"", "0", "false", "no", "off"})


def flag(name: str) -> bool:
    """A yes-or-no variable. Unset means no."""
    text = os.environ.get(name, "").strip().lower()
    if text not in _YES | _NO:
        PROBLEMS.append(
            (
                f"{name} is {text!r}, which is neither yes nor no.",
                f"Set {name}=1 or {name}=0, or leave it out.",
            )
        )
    return text in _YES


def names(name: str, default: list[str]) -> list[str]:
    """A comma-separated list. Unset or empty means the default."""
    given = [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]
    return given or default


def networks(name: str) -> list[str]:
    """A comma-separated list of IP addresses or networks. One that is neither is a problem and left out."""
    found = []
    for text in names(name, []):
        try:
            found.append(str(ipaddress.ip_network(text)))
        except ValueError:
            PROBLEMS.append(
                (
                    f"{name} holds {text!r}, which is neither an address nor a network.",
                    f"For example {name}=127.0.0.1,10.0.0.0/8.",
                )
            )
    return found


def address(name: str, schemes: tuple[str, ...]) -> str | None:
    """A server's URL, None when unset. One with another scheme is a problem and counts as unset."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if urlsplit(text).scheme not in schemes:
        PROBLEMS.append(
            (
                f"{name} does not begin with one of {', '.join(f'{scheme}://' for scheme in schemes)}.",
                f"For example {name}={schemes[0]}://localhost/.",
            )
        )
        return None
    return text


def number(name: str, default: int, least: int) -> int:
    """A whole number. Unset means the default."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) < least:
        PROBLEMS.append(
            (
                f"{name} is {text[:40]!r}, which is not a whole number of at least {least}.",
                f"For example {name}={default}.",
            )
        )
        return default
    return int(text)


def folder(name: str) -> Path | None:
    """A folder that exists, None when unset. Any other path is a problem and counts as unset."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not Path(text).is_dir():
        PROBLEMS.append(
            (f"{name} is {text[:200]!r}, which is no folder.", "Make the folder, or leave it out.")
        )
        return None
    return Path(text)


def rules(shared: Sequence[str]) -> str | None:
    """The file with a rule of one's own that `script/server --rules` names, None when there is none.

    It is code that runs with the site's rights, so a site that others reach has none: `shared` are the
    settings that say so. A file that is refused or wrong counts as not given.
    """
    path = os.environ.get(RULES, "").strip()
    if not path:
        return None
    try:
        if shared:
            wrong = f"A rule's file, {path[:200]}, is given to a site that others can reach"
            PROBLEMS.append(
                (f"{wrong} ({', '.join(shared)}).", "Give it only to a site at an address of this computer.")
            )
        else:
            return load_rules(path).value
    except RuleError as error:
        PROBLEMS.append((str(error), "Correct the file, and start the server again."))
    del os.environ[RULES]
    return None


def only_here(hosts: Sequence[str]) -> bool:
    """Whether each host is a name of this computer that no other computer uses for it."""
    return all(
        host in ("localhost", "[::1]", "::1") or host.endswith(".localhost") or host.startswith("127.")
        for host in hosts
    )


def secret_key(beside: Path) -> str:
    """SECRET_KEY, or a key made at the first start and kept in a file that only this user can read."""
    given = os.environ.get("SECRET_KEY", "").strip()
    if given:
        return given
    file = beside / "secret-key"
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        beside.mkdir(parents=True, exist_ok=True)
    fresh = get_random_secret_key()
    try:
        # Exclusive creation: of two processes that start at once, the second reads what the first wrote.
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as kept:
            kept.write(fresh)
    except FileExistsError:
        return file.read_text(encoding="ascii").strip() or fresh
    return fresh
