"""Makes `docs/trace.md` from the registry of events and columns.

Command: `python -m simulator.trace_document > docs/trace.md`. A test asserts that the file is current.
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.protocols.registry import VOCABULARY
from simulator.trace.registry import COLUMNS, EventType, WordTable

_HEAD = """# The trace

Made by `python -m simulator.trace_document > docs/trace.md` from `simulator/trace/registry.py`, `simulator/trace/shared_events.py` and `simulator/protocols/*/events.py`; edit those, not this page.

A run is one ordered trace. The live diagram, the checks and the Spark reports read it, and nothing else decides what
happened. One row for each message and step; a row has an event type, the instant, the row that caused it, and the few
columns that its type declares. In files all columns are present in the order below, after `seq`, and are null where a
type does not use them.

- `seq` counts rows from 0 without holes; rows are ordered by their instant and, within it, by a fixed order of components.
- `cause_seq` is the last row that was needed: follow it for the arrow in the diagram, up to a row that has none.
- Names (clusters, topics, clients, reasons) are numbers in memory, with a table beside them, and strings in files.
- The digest of a run is SHA-256 over the packed columns in blocks of 65,536 rows, in this order; it depends neither on
  the file's format nor on how the run was cut.
- *control* rows are the steps that the diagram stops at by default; *data* rows are one per message.

## Files

`.parquet`: `seq` as int64, then every column, integers as int64, names as strings. The key-value metadata `failover-lab`
is JSON: format, engine_version, scenario (canonical YAML), seed, commands, trace_sha256, until_us. `.jsonl`: the first
line is `{"failover-lab": …}` with the same, then one object for each row with its non-null fields.
"""


def trace_document() -> str:
    """The whole page as Markdown, ending in a newline."""
    parts = [_HEAD, "## Columns\n", _columns(), "## Events\n"]
    for subject, events in _by_subject().items():
        parts += [f"### {subject}\n", _events(events)]
    for declared in DECLARED.values():
        for table in declared.word_tables:
            parts += [f"## {table.title}\n", f"{table.says}\n", _words(table)]
    return "\n".join(parts)


def _columns() -> str:
    rows = [f"| `{name}` | {kind} | {says} |" for name, (kind, says) in COLUMNS.items()]
    return "\n".join(["| column | kind | says |", "|---|---|---|", *rows]) + "\n"


def _by_subject() -> dict[str, list[EventType]]:
    """Event types under the word before the dot, in the registry's order."""
    subjects: dict[str, list[EventType]] = {}
    for event in VOCABULARY.events:
        subjects.setdefault(event.name.split(".")[0], []).append(event)
    return subjects


def _events(events: list[EventType]) -> str:
    rows = [
        (
            f"| {event.code} | `{event.name}` | {event.plane} | "
            f"{', '.join(f'`{name}`' for name in event.fields)} | {event.says} |"
        )
        for event in events
    ]
    return "\n".join(["| code | event | plane | columns | says |", "|---|---|---|---|---|", *rows]) + "\n"


def _words(table: WordTable) -> str:
    rows = [f"| `{word}` | " + " | ".join(map(str, more)) + " |" for word, *more in table.rows]
    head = "| " + " | ".join(table.heads) + " |"
    return "\n".join([head, "|---" * len(table.heads) + "|", *rows]) + "\n"


if __name__ == "__main__":
    print(trace_document(), end="")
