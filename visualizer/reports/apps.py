"""Reports as a Django application of their own, so that their tables have their own migrations."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "visualizer.reports"
    label = "reports"
    verbose_name = "Failover Lab's reports"
    default_auto_field = "django.db.models.BigAutoField"
