"""URLs of experiments."""

from django.urls import path

from visualizer.experiments import views

app_name = "experiments"

urlpatterns = [
    path("experiments/", views.experiments, name="experiments"),
    path("experiments/check/", views.check, name="check"),
    path("experiments/mine/", views.mine, name="mine"),
    path("experiments/<slug:experiment_id>/", views.experiment_page, name="experiment"),
    path("experiments/<slug:experiment_id>/status.json", views.status, name="status"),
    path("experiments/<slug:experiment_id>/cancel/", views.cancel, name="cancel"),
    path("experiments/<slug:experiment_id>/again/", views.again, name="again"),
    path("experiments/<slug:experiment_id>/delete/", views.delete, name="delete"),
    path("experiments/<slug:experiment_id>/runs/<str:number>/", views.run, name="run"),
    path("experiments/<slug:experiment_id>/document/", views.document, name="document"),
    path("experiments/<slug:experiment_id>/download/<slug:kind>/", views.download, name="download"),
]
