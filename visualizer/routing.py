"""The socket addresses: a lab, and a question about a set-up."""

from django.urls import path

from visualizer.consumers import LabConsumer
from visualizer.setups.consumer import AnswerConsumer

websocket_urlpatterns = [
    path("ws/labs/<slug:lab_id>/", LabConsumer.as_asgi()),
    path("ws/answers/", AnswerConsumer.as_asgi()),
]
