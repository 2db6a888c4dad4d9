"""The tasks that run an experiment for the site (`python manage.py db_worker`).

Rules: as for the tasks of reports, everything heavy is imported inside the function.
"""

from __future__ import annotations

import logging

from django_tasks import task

from labsite.tasks import in_turn

ENGINE_QUEUE = "engine"
"""The queue of what needs neither Spark nor Java: `manage.py db_worker --queue-name engine`."""

log = logging.getLogger("labsite.experiments")


@task()
def run_experiment(experiment_id: str, attempt: int) -> str:
    """Run the next experiment in turn and return how it ended."""
    from labsite import experiment_worker
    from visualizer.experiments.models import Experiment

    log.debug("The task of experiment %s, attempt %d", experiment_id, attempt)
    return in_turn(Experiment, experiment_worker.run, engine=False)


@task(queue_name=ENGINE_QUEUE)
def run_small_experiment(experiment_id: str, attempt: int) -> str:
    """Run the next small experiment in turn, without Spark, and return how it ended."""
    from labsite import engine_worker
    from visualizer.experiments.models import Experiment

    log.debug("The task of experiment %s, attempt %d", experiment_id, attempt)
    return in_turn(Experiment, engine_worker.run, engine=True)
