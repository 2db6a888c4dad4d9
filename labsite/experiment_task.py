"""The task that runs an experiment for the site (`python manage.py db_worker`).

Rules: as for the tasks of reports, everything heavy is imported inside the function.
"""

from __future__ import annotations

import logging

from django_tasks import task

log = logging.getLogger("labsite.experiments")


@task()
def run_experiment(experiment_id: str, attempt: int) -> str:
    """Run the next experiment in turn and return how it ended.

    Which one is run is decided here, in turns among client addresses, as for reports.
    """
    from labsite.experiment_worker import run
    from visualizer.experiments.models import next_experiment

    log.debug("The task of experiment %s, attempt %d", experiment_id, attempt)
    while (chosen := next_experiment()) is not None:
        ended = run(*chosen)
        if ended != "given up":  # another worker took it first
            return ended
    return "nothing queued"
