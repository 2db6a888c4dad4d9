"""The one socket address: a lab."""

from django.urls import path

from visualizer.consumers import LabConsumer

websocket_urlpatterns = [path("ws/labs/<slug:lab_id>/", LabConsumer.as_asgi())]
