"""URLs of the site: the labs, their reports, and experiments."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [path("", include("visualizer.urls"))]
if find_spec("visualizer.reports") and find_spec("visualizer.reports.urls"):
    urlpatterns.append(path("", include("visualizer.reports.urls")))
urlpatterns.append(path("", include("visualizer.experiments.urls")))
