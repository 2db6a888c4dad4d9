"""Glossary terms in templates: the labels that scripts link, and definitions with code."""

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, json_script
from django.utils.safestring import SafeString, mark_safe

from simulator.glossary import catalogue
from visualizer.pages.glossary import terms_of_labels

register = template.Library()


@register.simple_tag
def glossary_terms() -> SafeString:
    """The catalogue for `render/terms.js`, as JSON in a script element."""
    return json_script({"page": reverse("visualizer:glossary"), "terms": terms_of_labels()}, "glossary-terms")


@register.simple_tag
def term_link(label: str) -> SafeString | str:
    """A heading as a link to its glossary entry, as `termLink` in `render/terms.js` makes it."""
    term = catalogue().of_label(label)
    if term is None:
        return label
    return format_html(
        '<a class="term" href="{}#{}" target="_blank" rel="noopener"'
        ' title="{} (Opens the glossary in a new tab.)">{}</a>',
        reverse("visualizer:glossary"),
        term.anchor,
        term.plain,
        label,
    )


@register.filter
def with_code(text: str) -> SafeString:
    """The text with the parts in backticks as code."""
    parts = [conditional_escape(part) for part in text.split("`")]
    marked = [f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)]
    return mark_safe("".join(marked))
