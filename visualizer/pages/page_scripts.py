"""Combines the modules of a page into one script.

A browser takes a second and a half for two hundred requests for small files. Rules: `static/js` holds native
ES modules and remains the source. They run as they are in Node's tests. Here each module becomes a function
in the order of imports, so that their names do not collide. Only forms that the modules use are supported:
named imports from relative paths, exported declarations and export lists. Any other form is an error.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import condition, require_safe

PAGES = (
    *("audits", "comparison", "editor", "experiment", "experiments", "fidelity"),
    *("gallery", "lab", "labs", "pair", "pictures", "report", "run", "set_up"),
)
"""The entry modules: `static/js/pages/{name}.js`."""

_IMPORT = re.compile(r"""^import \{(?P<names>[^{}]*)\} from "(?P<path>\.[^"]+)";$""", re.MULTILINE)
_DECLARATION = re.compile(r"^export (?=(?:async )?(?:function|const|class) (?P<name>\w+))", re.MULTILINE)
_LIST = re.compile(r"^export \{(?P<names>[^{}]*)\};$", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class NotUnderstood(Exception):
    """A module is written in a form that cannot be put into one script."""


def one_script(entry: str) -> str:
    """The script of an entry, a path below the static folder, with all modules that it needs.

    Raises NotUnderstood.
    """
    parts: dict[str, str] = {}
    _add(entry, parts)
    return "const modules = {};\n" + "".join(parts.values())


def _add(module: str, parts: dict[str, str]) -> None:
    """Add a module after everything that it imports; `parts` keeps the order."""
    if module in parts:
        return
    path = finders.find(module)
    if path is None:
        raise NotUnderstood(f"{module} is imported and does not exist.")
    source = Path(path).read_text(encoding="utf-8")
    for found in _IMPORT.finditer(source):
        _add(_neighbour(module, found["path"]), parts)
    parts[module] = _as_function(module, source)


def _as_function(module: str, source: str) -> str:
    exported = [found["name"] for found in _DECLARATION.finditer(source)]
    for found in _LIST.finditer(source):
        exported += [": ".join(reversed(name.split(" as "))) for name in _names(found["names"])]

    def imported(found: re.Match[str]) -> str:
        names = ", ".join(name.replace(" as ", ": ") for name in _names(found["names"]))
        return f'const {{ {names} }} = modules["{_neighbour(module, found["path"])}"];'

    body = _LIST.sub("", _DECLARATION.sub("", _IMPORT.sub(imported, source)))
    if left := _LEFT.search(body):
        raise NotUnderstood(
            f"{module}: {left[0]!r} is no named import from a relative path, exported declaration or "
            f"export list."
        )
    return (
        f'// {module}\nmodules["{module}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();\n'
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _neighbour(module: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(module), path))


class Script(NamedTuple):
    plain: bytes
    compressed: bytes
    etag: str  # weak, since both forms share it


@lru_cache(maxsize=len(PAGES))
def _kept(page: str) -> Script:
    """The script of a page.

    Files do not change while a server runs, unless in debug mode. Compressing takes 40 ms, so it is done
    once.
    """
    body = one_script(f"js/pages/{page}.js").encode()
    return Script(body, gzip.compress(body, mtime=0), f'W/"{hashlib.sha256(body).hexdigest()[:32]}"')


def _script(page: str) -> Script:
    if page not in PAGES:
        raise Http404
    return _kept.__wrapped__(page) if settings.DEBUG else _kept(page)


@require_safe
@condition(etag_func=lambda _request, page: _script(page).etag)
def page_script(request: HttpRequest, page: str) -> HttpResponse:
    """The script `/scripts/{page}.js`. A browser revalidates it each time, as every static file."""
    script, headers = _script(page), {"Cache-Control": "no-cache"}
    compressed = re.search(r"\bgzip\b", request.headers.get("Accept-Encoding", "")) is not None
    if compressed:
        headers["Content-Encoding"] = "gzip"
    response = HttpResponse(
        script.compressed if compressed else script.plain,
        content_type="text/javascript; charset=utf-8",
        headers=headers,
    )
    patch_vary_headers(response, ("Accept-Encoding",))
    return response
