"""URLs of reports."""

from django.urls import path

from visualizer.reports import views

app_name = "reports"

urlpatterns = [
    path("labs/<slug:lab_id>/reports/", views.create, name="create"),
    path("experiments/<slug:experiment_id>/recount/", views.recount, name="recount"),
    path("reports/<slug:report_id>/", views.report_page, name="report"),
    path("reports/<slug:report_id>/status.json", views.status, name="status"),
    path("reports/<slug:report_id>/cancel/", views.cancel, name="cancel"),
    path("reports/<slug:report_id>/again/", views.again, name="again"),
    path("reports/<slug:report_id>/replay/", views.replay, name="replay"),
    path("reports/<slug:report_id>/document/", views.document, name="document"),
    path("reports/<slug:report_id>/download/<slug:kind>/", views.download, name="download"),
]
