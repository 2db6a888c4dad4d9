"""Tasks that the task worker runs for the site (`python manage.py db_worker`).

Rules: the web process imports this module and never waits for a JVM. So everything heavy is imported inside
the function. The worker keeps one warm Spark session. Only a task's own attempt writes its row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django_tasks import task

from visualizer.tasks.models import QueuedTask

log = logging.getLogger("labsite.reports")


@task()
def make_failover_report(report_id: str, attempt: int) -> str:
    """Make the next report in turn and return how it ended."""
    from labsite import report_worker
    from visualizer.reports.models import Report

    log.debug("The task of report %s, attempt %d", report_id, attempt)
    return in_turn(Report, report_worker.make_report)


@task()
def make_audit(audit_id: str, attempt: int) -> str:
    """Make the next audit in turn and return how it ended."""
    from labsite import audit_worker
    from visualizer.audits.models import Audit

    log.debug("The task of audit %s, attempt %d", audit_id, attempt)
    return in_turn(Audit, audit_worker.run)


def in_turn(kind: type[QueuedTask], work: Callable[[str, int], str], **which: Any) -> str:
    """Do the next queued task of this kind, with these values in its row, and return how it ended.

    Each queued row has a task, but tasks arrive in the order of the requests. Which row is next is decided
    here, in turns among client addresses, so that thirty reports of one visitor do not delay another's.
    """
    while (chosen := kind.next_in_turn(**which)) is not None:
        ended = work(*chosen)
        if ended != "given up":  # another worker took it first
            return ended
    return "nothing queued"
