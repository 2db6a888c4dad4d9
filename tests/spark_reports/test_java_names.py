"""Names in Java are looked up once per session, and column functions still reach Java."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from spark_reports.java_names import remember_names


def test_a_column_function_sends_one_command_to_java(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = spark._sc._gateway._gateway_client
    F.col("seq")  # its names are looked up, at the latest here
    commands: list[str] = []
    send = client.send_command
    monkeypatch.setattr(
        client,
        "send_command",
        lambda command, *rest, **named: commands.append(command) or send(command, *rest, **named),
    )
    F.col("seq")
    assert [command[0] for command in commands if not command.startswith("m\nd\n")] == ["c"], commands


def test_remembered_functions_compute_what_they_did(spark: Any) -> None:
    remember_names(spark)  # again: nothing changes
    frame = spark.range(5).select(
        F.sum(F.when(F.col("id") > 2, F.col("id")).otherwise(F.lit(0))).alias("sum")
    )
    assert [row.sum for row in frame.collect()] == [7]


def test_a_session_without_java_is_left_alone() -> None:
    remember_names(object())
