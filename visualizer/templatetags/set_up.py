"""Default values for the form of a set-up."""

from django import template

from visualizer.setups.form import DEFAULTS, ROUND_TRIP

register = template.Library()


@register.filter
def first_value(name: str) -> str:
    """A field's default, which an address may leave out."""
    return DEFAULTS.get(name, ROUND_TRIP)
