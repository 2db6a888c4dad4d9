"""What the task worker does for the site (`python manage.py db_worker`).

Rules: this module is imported by the web process, which never waits for a JVM: everything heavy is imported
inside the function. The worker keeps one warm Spark session; a report's row is written by its own attempt
only.
"""

from __future__ import annotations

import logging

from django_tasks import task

log = logging.getLogger("labsite.reports")


@task()
def make_failover_report(report_id: str, attempt: int) -> str:
    """Make the report whose turn it is; returns how it ended.

    Each queued report has a task, but tasks arrive in the order of the requests. Which report is made is
    decided here, in turns among addresses, so that thirty reports of one visitor do not delay another's.
    """
    from labsite.report_worker import make_report
    from visualizer.reports.models import next_report

    log.debug("The task of report %s, attempt %d", report_id, attempt)
    while (chosen := next_report()) is not None:
        ended = make_report(*chosen)
        if ended != "given up":  # another worker took it first
            return ended
    return "nothing queued"
