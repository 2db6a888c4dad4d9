"""The socket address: a lab.

Any other address is refused before the handshake ends.
"""

from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from visualizer.live.consumers import LabConsumer

websocket_urlpatterns = [
    path("ws/labs/<slug:lab_id>/", LabConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),
]
