"""A requested experiment: its text, and its progress and results so far.

Rules: finished runs are files; another attempt makes only the missing ones.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.signals import post_delete
from django.utils import timezone

from visualizer.tasks.models import SILENT_FOR_S, OwnedTask, TaskState, remove_files_of_row


class Experiment(OwnedTask):
    """One experiment. `results` are the figures of the runs that are finished so far."""

    NOUN = "experiment"
    FOLDER = "experiments"
    TASK = "labsite.experiment_task.run_experiment"
    ENGINE_TASK = "labsite.experiment_task.run_small_experiment"
    SILENT = "The worker that ran this experiment ended before it was done."
    SILENT_HINT = "Finished runs are kept. Try again: only the missing runs are made."
    AT_FIRST = {"left_s": None, "message": ""}

    text = models.TextField(help_text="the experiment's YAML")
    core_s = models.FloatField(help_text="estimated seconds of one core for all runs")
    runs = models.IntegerField(help_text="all runs of the experiment")
    runs_finished = models.IntegerField(default=0, help_text="those that failed are among them")
    runs_failed = models.IntegerField(default=0)
    left_s = models.FloatField(null=True, blank=True, help_text="seconds left, null before the first runs")
    message = models.CharField(max_length=300, blank=True, help_text="what the worker does, or noticed")
    results = models.JSONField(default=dict)
    engine = models.BooleanField(default=False, help_text="run by the engine's processes, without Spark")
    engine_version = models.CharField(max_length=40, blank=True, help_text="of the engine that ran it")
    set_up = models.BooleanField(default=False, help_text="an answer of My set-up")

    @classmethod
    def of_spark(cls) -> models.QuerySet[Self]:
        """The experiments whose worker is the one with Spark."""
        return cls.objects.filter(engine=False)

    @classmethod
    def engine_works(cls) -> bool:
        """Whether the engine's processes run an experiment now: their worker wrote lately."""
        lately = timezone.now() - timedelta(seconds=SILENT_FOR_S)
        running = cls.objects.filter(engine=True, state=TaskState.RUNNING, worker_seen_at__gte=lately)
        return running.exists()

    @property
    def needs_spark(self) -> bool:
        """Whether its worker is the one with Spark."""
        return not self.engine

    @property
    def task_path(self) -> str:
        """The task that runs this experiment."""
        return self.ENGINE_TASK if self.engine else self.TASK


post_delete.connect(remove_files_of_row, sender=Experiment)
