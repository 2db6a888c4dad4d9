"""Tasks that the task worker runs for the site (`python manage.py db_worker`).

Rules: the web process imports this module and never waits for a JVM. So everything heavy is imported inside
the function. The worker keeps one warm Spark session. Only a report's own attempt writes its row.
"""

from __future__ import annotations

import logging

from django_tasks import task

log = logging.getLogger("labsite.reports")


@task()
def make_failover_report(report_id: str, attempt: int) -> str:
    """Make the next report in turn and return how it ended.

    Each queued report has a task, but tasks arrive in the order of the requests. Which report is made is
    decided here, in turns among client addresses, so that thirty reports of one visitor do not delay
    another's.
    """
    from labsite.report_worker import make_report
    from visualizer.reports.models import next_report

    log.debug("The task of report %s, attempt %d", report_id, attempt)
    while (chosen := next_report()) is not None:
        ended = make_report(*chosen)
        if ended != "given up":  # another worker took it first
            return ended
    return "nothing queued"
