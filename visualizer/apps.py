"""The visualizer as a Django application."""

from django.apps import AppConfig
from django.conf import settings

from simulator.recordings import use_folder


class VisualizerConfig(AppConfig):
    name = "visualizer"
    verbose_name = "Failover Lab's live diagram"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """List the recordings of the folder that the site names."""
        if settings.LAB_RECORDINGS_DIR is not None:
            use_folder(settings.LAB_RECORDINGS_DIR)
