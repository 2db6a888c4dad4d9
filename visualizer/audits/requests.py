"""Requests for an audit: its quotas, its files, and the queued task."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from visualizer.audits.models import Audit
from visualizer.audits.upload import store
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.live.wire import Refused
from visualizer.models import hash_of, new_token
from visualizer.tasks.owned import Quotas, check_quotas

KEPT_MOST = 1_000
"""Most rows of audits. Beyond that the site asks its operator to delete old ones."""


def quotas() -> Quotas:
    """The quotas of audits."""
    return Quotas(KEPT_MOST, clients.AUDITS_KEPT_PER_CLIENT, clients.AUDITS_PER_CLIENT)


def new_audit(
    files: Iterable[tuple[str, Iterable[bytes]]], format: str, mapping: str, site: str
) -> tuple[Audit, str]:
    """Store the files and queue their audit; returns it with its owner's token. Raises Refused."""
    check_quotas(Audit, quotas())
    token = new_token()
    row = Audit(client=client_key(), token_hash=hash_of(token), site=site, format=format, mapping=mapping)
    try:
        row.files = store(row, files)
        row.title = _title([one["name"] for one in row.files])
        row.save(force_insert=True)
    except OSError as error:
        row.remove_files()
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise Refused(
            "no-room", "There is no room left for the files.", "Tell the site's operator; nothing was stored."
        ) from error
    except BaseException:
        row.remove_files()
        raise
    row.enqueue()
    return row, token


def _title(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {len(names) - 1} more {'file' if len(names) == 2 else 'files'}"
