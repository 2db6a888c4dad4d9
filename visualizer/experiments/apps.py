"""The Django application of the experiments, so that their table has migrations of its own."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "visualizer.experiments"
    label = "experiments"
    verbose_name = "Failover Lab's experiments"
    default_auto_field = "django.db.models.BigAutoField"
