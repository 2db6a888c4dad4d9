"""The forms of My set-up, one for each protocol that declares one (`simulator.system.set_up_form`).

An address names the protocol of its form; without a name it is the first one.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.protocols.table import PROTOCOLS
from simulator.system.set_up_form import NAMES, SYSTEM, Beside, Field, Form, Line, grouped, number

FORMS: tuple[Form, ...] = tuple(one.form for one in PROTOCOLS.values() if one.form is not None)

__all__ = [
    "FORMS",
    "NAMES",
    "Beside",
    "Field",
    "Form",
    "Line",
    "completed",
    "composed",
    "form_of",
    "grouped",
    "number",
]


def form_of(values: Mapping[str, str]) -> Form:
    """The form that values belong to."""
    return next((form for form in FORMS if form.name == values.get(SYSTEM)), FORMS[0])


def completed(given: Mapping[str, str]) -> dict[str, str]:
    """Every value of the form that an address names, as given or its default."""
    return form_of(given).completed(given)


def composed(values: Mapping[str, str]) -> list[Line]:
    """The scenario's text, line by line, from completed values."""
    return form_of(values).composed(values)
