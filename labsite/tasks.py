"""What the task worker does for the site (`python manage.py db_worker`).

Rules: this module is imported by the web process, which never waits for a JVM: everything heavy is imported inside the
function. The worker keeps one warm Spark session; a report's row is written by its own attempt only.
"""

from __future__ import annotations

import logging

from django_tasks import task

log = logging.getLogger("labsite.reports")


@task()
def make_failover_report(report_id: str, attempt: int) -> str:
    """Run the report's inputs again, write the trace, and let Spark make the report; returns how it ended."""
    from labsite.report_worker import make_report

    return make_report(report_id, attempt)
