"""The declared names of a scenario, by section, to which files and commands may refer."""

from __future__ import annotations

from simulator.scenarios.model import Scenario
from simulator.scenarios.shape import sections


class KnownNames:
    """The names that commands and references may use, by section."""

    def __init__(self, **names: tuple[str, ...]) -> None:
        self._names = names
        of_sites = [names.get(section.name, ()) for section in sections() if section.sites]
        self.sites: tuple[str, ...] = next((found for found in of_sites if found), ())
        """The ends of links, such as clusters or nodes."""

    def of_section(self, section: str) -> tuple[str, ...]:
        """The names in a section of the file."""
        return self._names.get(section, ())

    @classmethod
    def of(cls, scenario: Scenario) -> KnownNames:
        """The names that a scenario declares."""
        return cls(**{section.name: tuple(getattr(scenario, section.name)) for section in sections()})
