"""Links of rooms and their QR codes. They begin with the address that followers reach."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import segno
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from visualizer.live.origin import is_own_origin
from visualizer.live.wire import Refused

QUIET_MODULES = 4
"""Width of the white border: the four modules of ISO 18004, so that phones find the code on a dark page."""

CODES_KEPT = 200
"""QR codes that are kept; each takes about 3 ms to make."""


def room_link(request: HttpRequest, origin: str, code: str) -> str:
    """The link to a room. Raises Refused for an origin that is not this site's."""
    known = bool(origin) and (origin == settings.SHARED_ADDRESS or is_own_origin(origin, request.get_host()))
    if not known:
        raise Refused(
            "bad-origin",
            f"The origin {origin[:80]!r} is not one of this site's.",
            "Give the origin of the page, SHARED_ADDRESS or one of TRUSTED_ORIGINS, such as "
            "?origin=http://127.0.0.1:8000.",
        )
    return origin + reverse("visualizer:join-code", args=[code])


@lru_cache(CODES_KEPT)
def qr_svg(text: str) -> bytes:
    """The QR code of a text as an SVG of any size: dark on white in every theme, 15 % of it may be hidden."""
    out = BytesIO()
    segno.make(text, error="m", micro=False).save(
        out, kind="svg", border=QUIET_MODULES, dark="#000", light="#fff", omitsize=True, xmldecl=False
    )
    return out.getvalue()
