"""The state of an audit, for its page and for the list of a visitor's audits."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from visualizer.audits.models import Audit
from visualizer.tasks.waiting import common_status, words_of_steps


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
