"""The Django application of the audits, so that their table has migrations of its own."""

from django.apps import AppConfig


class AuditsConfig(AppConfig):
    name = "visualizer.audits"
    label = "audits"
    verbose_name = "Failover Lab's audits"
    default_auto_field = "django.db.models.BigAutoField"
