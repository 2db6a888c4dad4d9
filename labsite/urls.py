"""URLs of the site: the labs, their reports, experiments, and audits."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [path("", include("visualizer.urls"))]
if find_spec("visualizer.reports") and find_spec("visualizer.reports.urls"):
    urlpatterns.append(path("", include("visualizer.reports.urls")))
urlpatterns.append(path("", include("visualizer.experiments.urls")))
urlpatterns.append(path("", include("visualizer.audits.urls")))
