"""The Django application of the worker's tasks, so that their tables have migrations of their own."""

from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "visualizer.tasks"
    label = "tasks"
    verbose_name = "Failover Lab's reports, experiments and audits"
    default_auto_field = "django.db.models.BigAutoField"
