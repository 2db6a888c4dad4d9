"""The built-in scenarios: the files of `library/`, by name.

Rules: they are read through the package's loader, so that they are also found in a zip (a Spark worker's).
The file's name is the scenario's name.
"""

from __future__ import annotations

from importlib import resources

_SUFFIX = ".yaml"


def scenario_names() -> tuple[str, ...]:
    """Names of all built-in scenarios, sorted."""
    folder = resources.files("simulator.scenarios") / "library"
    return tuple(
        sorted(entry.name.removesuffix(_SUFFIX) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))
    )


def builtin_text(name: str) -> str:
    """The file of a built-in scenario, comments included. Raises KeyError for a name that is not built in."""
    if name not in scenario_names():
        raise KeyError(name)
    return (resources.files("simulator.scenarios") / "library" / f"{name}{_SUFFIX}").read_text(
        encoding="utf-8"
    )
