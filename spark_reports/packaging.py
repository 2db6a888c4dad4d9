"""The archive of `simulator` and `spark_reports`, which executors need and `script/package` writes.

Rules: only files of the two packages, in the order of their names and with one fixed date, so that the same
sources give the same bytes. The file is complete or absent.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("simulator", "spark_reports")
SUFFIXES = (".py", ".css", ".html", ".js", ".json", ".txt", ".yaml")
FIXED_DATE = (2026, 1, 1, 0, 0, 0)


def package_files() -> list[Path]:
    """The files of the archive, sorted."""
    return sorted(
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts
    )


def make_package(target: Path) -> Path:
    """Write the archive."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in package_files():
            entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), FIXED_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    os.replace(partial, target)
    return target
