"""A requested report: its run, its progress, and its figures.

Rules: the row holds the run's inputs, so a report keeps its run while the lab continues.
"""

from __future__ import annotations

from django.db import models
from django.db.models.signals import post_delete

from visualizer.experiments.models import Experiment
from visualizer.models import Lab
from visualizer.tasks.models import QueuedTask, remove_files_of_row


class Report(QueuedTask):
    """One report. `figures` is its headline, once it is done."""

    FOLDER = "reports"
    TASK = "labsite.tasks.make_failover_report"
    SILENT = "The worker that made this report ended before it was done."
    SILENT_HINT = "Nothing of the lab is lost. Try again; when it happens twice, look at the worker's log."
    AT_FIRST = {
        "step_number": 0,
        "step_name": "",
        "tasks_done": 0,
        "tasks_count": 0,
        "simulator_figures": [],
    }

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="reports", null=True)
    experiment = models.ForeignKey(
        Experiment,
        on_delete=models.CASCADE,
        related_name="recounts",
        null=True,
        help_text="the answer of My set-up whose runs are counted again, in place of a lab's run",
    )
    scenario_text = models.TextField(help_text="of a recount, the experiment's YAML")
    seed = models.BigIntegerField()
    commands = models.JSONField(default=list)
    until_us = models.BigIntegerField()
    site = models.CharField(
        max_length=300,
        blank=True,
        help_text=(
            "address of the site that was asked, as https://lab.example.org; a downloaded page links to it"
        ),
    )
    step_number = models.IntegerField(default=0)
    step_count = models.IntegerField(default=0)
    step_name = models.CharField(max_length=100, blank=True)
    tasks_done = models.IntegerField(default=0)
    tasks_count = models.IntegerField(default=0)
    figures = models.JSONField(default=list)
    checks = models.JSONField(
        default=list,
        help_text="of a recount, each claim with the number of runs in which it held and was violated",
    )
    simulator_figures = models.JSONField(
        default=list, help_text="the simulator's own headline figures, shown while Spark counts"
    )
    reruns = models.JSONField(
        default=list,
        help_text=(
            "outcomes of what would have helped that the lab's page has computed already; of a recount, "
            "the answer's runs and figures"
        ),
    )


post_delete.connect(remove_files_of_row, sender=Report)
