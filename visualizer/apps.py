"""The visualizer as a Django application."""

from django.apps import AppConfig


class VisualizerConfig(AppConfig):
    name = "visualizer"
    verbose_name = "Failover Lab's live diagram"
    default_auto_field = "django.db.models.BigAutoField"
