"""URLs of audits."""

from django.urls import path

from visualizer.audits import views

app_name = "audits"

urlpatterns = [
    path("audits/", views.audits, name="audits"),
    path("audits/mine/", views.mine, name="mine"),
    path("audits/example-log.jsonl.gz", views.example_log, name="example"),
    path("audits/<slug:audit_id>/", views.audit_page, name="audit"),
    path("audits/<slug:audit_id>/status.json", views.status, name="status"),
    path("audits/<slug:audit_id>/cancel/", views.cancel, name="cancel"),
    path("audits/<slug:audit_id>/again/", views.again, name="again"),
    path("audits/<slug:audit_id>/delete/", views.delete, name="delete"),
    path("audits/<slug:audit_id>/document/", views.document, name="document"),
    path("audits/<slug:audit_id>/download/<slug:kind>/", views.download, name="download"),
]
