"""A requested audit: its uploaded files, its progress, and the headline of its report."""

from __future__ import annotations

from pathlib import Path

from django.db import models
from django.db.models.signals import post_delete

from visualizer.tasks.models import OwnedTask, remove_files_of_row


class Audit(OwnedTask):
    """One audit. `figures` is its headline, once it is done."""

    NOUN = "audit"
    FOLDER = "audits"
    TASK = "labsite.tasks.make_audit"
    SILENT = "The worker that made this audit ended before it was done."
    SILENT_HINT = "The uploaded files are kept. Try again; if it happens twice, upload fewer of them."
    AT_FIRST = {"step_number": 0, "step_name": "", "tasks_done": 0, "tasks_count": 0}

    format = models.CharField(max_length=20)
    files = models.JSONField(default=list, help_text="name and size of each uploaded file")
    mapping = models.TextField(blank=True)
    step_number = models.IntegerField(default=0)
    step_count = models.IntegerField(default=0)
    step_name = models.CharField(max_length=100, blank=True)
    tasks_done = models.IntegerField(default=0)
    tasks_count = models.IntegerField(default=0)
    figures = models.JSONField(default=dict)

    @property
    def input(self) -> Path:
        """The folder of the uploaded files; it is removed when the audit is done or cannot be done."""
        return self.folder / "input"

    @property
    def result(self) -> Path:
        """The folder of the results; it exists when they are complete."""
        return self.folder / "result"


post_delete.connect(remove_files_of_row, sender=Audit)
