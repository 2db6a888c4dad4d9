"""URLs of reports, experiments and audits: those that every kind has, and its own."""

from django.urls import URLPattern, path

from visualizer.tasks import views
from visualizer.tasks.models import KINDS, Audit, Experiment, QueuedTask

app_name = "tasks"


def _of_every_task(kind: type[QueuedTask]) -> list[URLPattern]:
    begin, given = f"{kind.FOLDER}/<slug:pk>/", {"kind": kind}
    return [
        path(begin, views.task_page, given, name=kind.NOUN),
        *(
            path(f"{begin}{end}", view, given, name=f"{kind.NOUN}-{view.__name__}")
            for end, view in (
                ("status.json", views.status),
                ("cancel/", views.cancel),
                ("again/", views.again),
                ("document/", views.document),
                ("download/<slug:file>/", views.download),
            )
        ),
    ]


def _of_own_tasks(kind: type[QueuedTask]) -> list[URLPattern]:
    """Those of a kind with tokens of its own: a report belongs to its lab, and is deleted with it."""
    return [
        path(f"{kind.FOLDER}/mine/", views.mine, {"kind": kind}, name=f"{kind.NOUN}s-mine"),
        path(f"{kind.FOLDER}/<slug:pk>/delete/", views.delete, {"kind": kind}, name=f"{kind.NOUN}-delete"),
    ]


urlpatterns = [
    path("experiments/", views.experiments, name="experiments"),
    path("experiments/check/", views.check_experiment, name="experiments-check"),
    path("audits/", views.audits, name="audits"),
    path("audits/example-log.jsonl.gz", views.example_log, name="audits-example"),
    *(pattern for kind in (Experiment, Audit) for pattern in _of_own_tasks(kind)),
    *(pattern for kind in KINDS.values() for pattern in _of_every_task(kind)),
    path("labs/<slug:lab_id>/reports/", views.create_report, name="report-create"),
    path("experiments/<slug:pk>/recount/", views.recount, name="experiment-recount"),
    path("experiments/<slug:pk>/runs/<str:number>/", views.run, name="experiment-run"),
    path("reports/<slug:pk>/replay/", views.replay, name="report-replay"),
]
