"""The ASGI application that uvicorn serves: HTTP goes to Django, sockets to their consumers.

Sockets pass the origin check, then the session, then the router.
"""

from __future__ import annotations

import gc
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labsite.settings")

from django.core.asgi import get_asgi_application  # noqa: E402

django_application = get_asgi_application()  # loads the applications, which the code below needs

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402

from labsite.bodies import BoundedBodies  # noqa: E402
from visualizer.labs.clients import KnownClients  # noqa: E402
from visualizer.live.sockets import SameOriginSockets  # noqa: E402
from visualizer.routing import websocket_urlpatterns  # noqa: E402

application = KnownClients(
    ProtocolTypeRouter(
        {
            "http": BoundedBodies(django_application),
            "websocket": SameOriginSockets(SessionMiddlewareStack(URLRouter(websocket_urlpatterns))),
        }
    )
)

gc.collect()
# What is loaded by now is excluded from garbage collection: scanning it takes 90 ms, which would stop all
# labs.
gc.freeze()
