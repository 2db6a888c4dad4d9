"""The report's Jinja2 templates: `*.html` files in the `templates/` folders of this package.

Rules: autoescape is on everywhere, an undefined name is an error, and only `Markup` passes unescaped.
Templates are read through the package's own loader, so that they are also found in the zip archive that
spark-submit ships.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_reports.html.numbers import number, plural, seconds, size, span

ENVIRONMENT = Environment(
    loader=PackageLoader("spark_reports", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(number=number, plural=plural, seconds=seconds, size=size, span=span)


def render(template: str, /, **values: Any) -> Markup:
    """The HTML of a template, named by its path inside `spark_reports`.

    `Markup` values are HTML, others plain text.
    """
    return Markup(ENVIRONMENT.get_template(template).render(**values))
