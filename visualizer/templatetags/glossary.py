"""Definitions in templates."""

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def with_code(text: str) -> SafeString:
    """Text with what is in backticks as code."""
    parts = [conditional_escape(part) for part in text.split("`")]
    marked = [f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)]
    return mark_safe("".join(marked))
