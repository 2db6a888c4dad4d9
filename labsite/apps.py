"""The site as a Django application, with the system checks and the report tasks."""

from django.apps import AppConfig


class LabsiteConfig(AppConfig):
    name = "labsite"
    verbose_name = "Failover Lab"

    def ready(self) -> None:
        from labsite import checks  # noqa: F401  (registers the checks)
