"""URLs of the site: the labs, their reports, experiments, and audits."""

from django.urls import include, path

urlpatterns = [path("", include("visualizer.urls")), path("", include("visualizer.tasks.urls"))]
