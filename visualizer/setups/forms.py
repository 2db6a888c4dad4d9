"""The forms of My set-up, by the system that an address names; the first one is shown without a name."""

from __future__ import annotations

from collections.abc import Mapping

from visualizer.setups.form import SYSTEM, Form, Line
from visualizer.setups.regions import REGIONS
from visualizer.setups.shared_groups import SHARED_GROUPS

FORMS: tuple[Form, ...] = (REGIONS, SHARED_GROUPS)


def form_of(values: Mapping[str, str]) -> Form:
    """The form that values belong to."""
    return next((form for form in FORMS if form.name == values.get(SYSTEM)), FORMS[0])


def completed(given: Mapping[str, str]) -> dict[str, str]:
    """Every value of the form that an address names, as given or its default."""
    return form_of(given).completed(given)


def composed(values: Mapping[str, str]) -> list[Line]:
    """The scenario's text, line by line, from completed values."""
    return form_of(values).composed(values)
