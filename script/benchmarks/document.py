"""Writes measured figures into a document, between the two markers of each part.

`script/bench --write docs/performance.md engine seek` replaces the text between `<!-- figures: engine -->`
and `<!-- end: engine -->`, and the same for `seek`. Everything else in the document is unchanged. A part
without markers in the document is an error before anything is measured, so that no measurement is lost.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
from pathlib import Path

from script.benchmarks.measure import Figure, number

COLUMNS = "| what | measured | compared with | ratio | target |\n|---|---|---|---|---|"


def missing_parts(document: Path, parts: list[str]) -> list[str]:
    """The parts that have no pair of markers in the document."""
    text = document.read_text()
    return [part for part in parts if not _block(part).search(text)]


def write_figures(document: Path, part: str, figures: list[Figure], conditions: str) -> None:
    """Replace a part's figures; `conditions` is the sentence about date and machine."""
    rows = "\n".join(row_of(figure) for figure in figures)
    block = f"{_begin(part)}\n{conditions}\n\n{COLUMNS}\n{rows}\n{_end(part)}"
    document.write_text(_block(part).sub(lambda _: block, document.read_text(), count=1))


def row_of(figure: Figure) -> str:
    """One figure as a row of the table, with an empty cell where there is no alternative or no target."""
    compared = (
        f"{figure.alternative_name}: {number(figure.alternative)} {figure.unit}"
        if figure.alternative is not None
        else ""
    )
    ratio = f"{figure.ratio:.3g}" if figure.ratio is not None else ""
    target = f"{figure.target}: {'met' if figure.met else '**missed**'}" if figure.target else ""
    return f"| {figure.name} | {number(figure.value)} {figure.unit} | {compared} | {ratio} | {target} |"


def conditions_now(repeats: int, load: float) -> str:
    """Date, machine, load before the measurement and number of rounds, as one sentence."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = (
        f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}, Python "
        f"{platform.python_version()}"
    )
    return (
        f"Measured on {datetime.date.today().isoformat()}: {machine}. Load average before it {load:.1f}; "
        f"medians of {repeats}."
    )


def _processor() -> str:
    """The processor's name as Linux gives it, else the architecture that Python reports."""
    cpuinfo = Path("/proc/cpuinfo")
    names = (
        re.findall(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else []
    )
    return names[0].strip() if names else platform.machine()


def _begin(part: str) -> str:
    return f"<!-- figures: {part} -->"


def _end(part: str) -> str:
    return f"<!-- end: {part} -->"


def _block(part: str) -> re.Pattern[str]:
    return re.compile(f"{re.escape(_begin(part))}\n.*?{re.escape(_end(part))}", re.DOTALL)
