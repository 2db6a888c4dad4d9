"""Opens, finds and closes presentations in the database, which every server process reads."""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from visualizer.labs.clients import client_key
from visualizer.live.wire import Refused
from visualizer.models import Lab, Presentation
from visualizer.presenting.codes import new_code

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
