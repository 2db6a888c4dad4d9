"""The page for a room code, its QR code, and the POSTs that begin and end a presentation.

Rules: GET never makes anything; a wrong code is only counted. A presentation is begun and ended with the
owner's token of the lab, as every other control of it.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from io import BytesIO
from typing import Any

import segno
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from visualizer.labs.clients import client, client_key
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import is_own_origin
from visualizer.live.wire import Refused
from visualizer.models import Lab, Presentation
from visualizer.pages.my_labs import owned_lab, posted
from visualizer.presenting.codes import CODE_LENGTH, code_of, new_code, spoken, wrong_codes
from visualizer.questions.answers import NO_STORE, status_of

# --- opens, finds and closes presentations in the database, which every server process reads


LIFETIME = timedelta(hours=8)
"""How long a presentation stays open: a day of school. The presenter may end it at any time."""

PRESENTATIONS = 1_000
"""Open presentations of a site: a wrong code then finds one in 34,000 tries."""

PRESENTATIONS_PER_CLIENT = 20
"""Open presentations of one address: the classes of a school that are taught at once."""

TRIES = 20
"""Codes that are tried until a free one is found. With 1,000 of 34 million taken the first one is free."""


def open_presentation(lab: Lab) -> Presentation:
    """The open presentation of a lab, or a new one. Raises Refused when there are too many."""
    Presentation.objects.filter(ends_at__lte=timezone.now()).delete()
    for _ in range(TRIES):
        found = Presentation.objects.filter(lab=lab).first()
        if found is not None:
            return found
        _room_for_one_more()
        try:
            with transaction.atomic():
                return Presentation.objects.create(
                    code=new_code(), lab=lab, client=client_key(), ends_at=timezone.now() + LIFETIME
                )
        except IntegrityError:  # the code is taken, or the lab was presented meanwhile
            continue
    raise Refused("too-many", "No free room code was found.", "Try again.")


def _room_for_one_more() -> None:
    if Presentation.objects.count() >= PRESENTATIONS:
        raise Refused(
            "too-many",
            f"{PRESENTATIONS:,} labs are presented on this site already.",
            "Share the viewer's link instead, or try again later.",
        )
    own = client_key()
    if own and Presentation.objects.filter(client=own).count() >= PRESENTATIONS_PER_CLIENT:
        raise Refused(
            "too-many",
            f"{PRESENTATIONS_PER_CLIENT} labs are presented from your address already.",
            "End one of these presentations, or share the viewer's link instead.",
        )


def find_lab(code: str) -> str | None:
    """The id of the lab that is presented under a code; None for a wrong or an expired one."""
    found = Presentation.objects.filter(code=code, ends_at__gt=timezone.now()).first()
    return None if found is None else found.lab_id


def close_presentation(lab: Lab) -> None:
    """End the lab's presentation, if there is one."""
    Presentation.objects.filter(lab=lab).delete()


QUIET_MODULES = 4
"""Width of the white border: the four modules of ISO 18004, so that phones find the code on a dark page."""

CODES_KEPT = 200
"""QR codes that are kept; each takes about 3 ms to make."""


@require_safe
def join(request: HttpRequest, code: str = "") -> HttpResponse:
    """The form for a room code; with a code, the lab that is presented under it."""
    typed = (code or request.GET.get("code", ""))[:40]
    refused = None
    if typed.strip():
        try:
            lab_id = _lab_of(typed)
            return HttpResponseRedirect(reverse("visualizer:lab", args=[lab_id]), headers=NO_STORE)
        except Refused as why:
            refused = why
    page = render(
        request,
        "visualizer/join.html",
        {"typed": typed, "refused": refused, "letters": CODE_LENGTH},
        status=200 if refused is None else status_of(refused),
    )
    page["Cache-Control"] = "no-store"
    return page


def _lab_of(typed: str) -> str:
    wrong_codes.check(client.get())
    code = code_of(typed)
    lab_id = find_lab(code)
    if lab_id is None:
        wrong_codes.add(client.get())
        raise Refused(
            "not-found",
            f"No lab is presented under {spoken(code)}.",
            "Compare the letters with the presenter's, or ask whether the presentation has ended.",
        )
    return lab_id


@require_safe
def qr_code(request: HttpRequest, code: str) -> HttpResponse:
    """The QR code of a room's link as SVG: `?origin=` is the address that the link begins with.

    Whether a lab is presented under the code is not looked up, so it tells nothing about codes.
    """
    try:
        svg = qr_svg(room_link(request, request.GET.get("origin", ""), code_of(code)))
    except Refused as why:
        return JsonResponse(why.answer(), status=400, headers=NO_STORE)
    return HttpResponse(svg, content_type="image/svg+xml", headers=NO_STORE)


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


@posted('{"token": "…"}')
async def begin(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """Present the lab under a room code: {token} → 201 {code, url, ends_at}."""
    presentation = await sync_to_async(open_presentation)(await owned_lab(lab_id, given))
    await _tell(lab_id, presentation)
    return JsonResponse(
        {
            "code": presentation.code,
            "url": reverse("visualizer:join-code", args=[presentation.code]),
            "ends_at": presentation.ends_at.isoformat(),
        },
        status=201,
        headers=NO_STORE,
    )


@posted('{"token": "…"}')
async def end(given: dict[str, Any], lab_id: str) -> HttpResponse:
    """End the presentation; its code is free at once: {token} → {}."""
    await sync_to_async(close_presentation)(await owned_lab(lab_id, given))
    await _tell(lab_id, None)
    return JsonResponse({}, headers=NO_STORE)


async def _tell(lab_id: str, presentation: Presentation | None) -> None:
    """Notify the process that runs the lab. Raises Refused while it cannot be reached."""
    room = await current_hub().room(lab_id)
    facts = None if presentation is None else presentation.facts()
    room.part.handle({"type": "presentation", "facts": facts}, _nothing)


def _nothing(_: dict[str, Any]) -> None:
    """Do nothing: pages are notified by the message that the lab sends."""
