"""The Django application of the reports, so that their tables have migrations of their own."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "visualizer.reports"
    label = "reports"
    verbose_name = "Failover Lab's reports"
    default_auto_field = "django.db.models.BigAutoField"
