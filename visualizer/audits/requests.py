"""Requests for an audit: its quotas, its files, and the queued task."""

from __future__ import annotations

import base64
import errno
import zlib
from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from visualizer.audits.models import Audit
from visualizer.audits.upload import store
from visualizer.labs import clients
from visualizer.labs.clients import client_key
from visualizer.live.wire import Refused
from visualizer.models import hash_of, new_token
from visualizer.tasks.files import Download
from visualizer.tasks.owned import Quotas, check_quotas
from visualizer.tasks.waiting import common_status, words_of_steps

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


# --- the state of an audit, for its page and for the list of a visitor's audits


def status_of(audit_id: str) -> dict[str, Any]:
    """The state as JSON. A running audit whose worker has died is marked as failed first."""
    Audit.give_up_on_the_silent(audit_id)
    row = Audit.objects.get(pk=audit_id)
    return {
        **common_status(row, words(row)),
        "may_retry": row.input.is_dir(),
        "step_number": row.step_number,
        "step_count": row.step_count,
        "figures": row.figures,
    }


def words(row: Audit) -> str:
    """The state as a sentence."""
    return words_of_steps(row, headline(row.figures) if row.state == Audit.State.DONE else "")


def headline(figures: dict[str, Any]) -> str:
    """The result as a sentence."""
    if figures.get("messages") is None:
        most = figures.get("repeated_most")
        known = "an unknown number of" if most is None else f"at most {most:,}"
        return f"A failover at that instant would repeat {known} entries."
    repeated, duplicates = figures["repeated"], figures["duplicates"]
    of = f"{repeated:,} of {figures['messages']:,} messages were delivered more than once"
    return f"{of}; {duplicates:,} of them had been acknowledged before." if duplicates else f"{of}."


def described(row: Audit) -> dict[str, Any]:
    """What the list of the own audits shows of one."""
    return {"url": reverse("audits:audit", args=[row.pk]), "words": words(row)}


# --- the files of a finished audit: their names and types, and its scenario as a link to My set-up


DOWNLOADS = (
    Download("html", "audit.html", "text/html; charset=utf-8", "the report as one page that opens offline"),
    Download("csv", "audit.csv", "text/csv; charset=utf-8", "one line per subscription and partition"),
    Download("json", "audit.json", "application/json", "every figure of the report"),
    Download(
        "parquet",
        "repeated.parquet",
        "application/vnd.apache.parquet",
        "one row for each message that was delivered more than once",
    ),
    Download("yaml", "scenario.yaml", "application/yaml", "a scenario with the measured rates and times"),
    Download("unreadable", "unreadable.jsonl", "application/jsonl", "rows that could not be read"),
)

SCENARIO = "scenario.yaml"


def downloads_of(row: Audit) -> list[Download]:
    """The files that the audit has."""
    return [one for one in DOWNLOADS if one.path_in(row.result) is not None]


def set_up_link(row: Audit) -> str:
    """The link that opens the audit's scenario in My set-up; empty without a scenario.

    The text is in the fragment, as `static/js/wire/text_link.js` reads it.
    """
    path = row.result / SCENARIO
    if not path.is_file():
        return ""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(path.read_bytes()) + packer.flush()
    letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"{reverse('visualizer:set-up')}#yaml={letters}"
