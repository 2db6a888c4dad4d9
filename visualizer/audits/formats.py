"""The formats of logs, as the form offers them, and the endings that a file may have.

Rules: the names are those of `python -m spark_reports audit --format`; a test compares them.
"""

from __future__ import annotations

AUTO = "auto"

FORMATS = {
    AUTO: "recognise each file",
    "jsonl": "JSON Lines",
    "csv": "CSV with a header",
    "parquet": "Parquet",
    "text": "text, by a pattern in the mapping",
    "spans": "OpenTelemetry spans (OTLP/JSON)",
    "verifiable": "Kafka’s verifiable producer and consumer",
    "stats-internal": "topics stats-internal of both clusters",
}

READY = {
    "pulsar-client-consume": "pulsar-client consume",
    "kafka-console-consumer": "kafka-console-consumer",
    "log4j": "Log4j",
    "logback": "Logback and Spring Boot",
    "emqx-trace": "a text trace of EMQX",
    "emqx-trace-json": "a JSON trace of EMQX",
}
"""The ready mappings for text. A test compares the names with those of the audit."""

COMPRESSIONS = (".gz", ".bz2", ".zst")

ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".xz", ".lz4", ".snappy", ".deflate")
"""Endings that are refused at once: archives, and compressions that the worker may not have."""
