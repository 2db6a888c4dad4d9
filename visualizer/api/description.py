"""The description of the HTTP API as an OpenAPI 3.1 document: what scripts need.

The questions about a lab describe themselves (`visualizer.questions.question`); the other operations are a
table here. A test checks the answers of a site against it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

from simulator import ENGINE_VERSION
from visualizer.questions.queries import QUESTIONS
from visualizer.questions.question import Question

RUN = {
    "type": "object",
    "required": ["format"],
    "properties": {
        "format": {"const": 1},
        "engine_version": {"type": "string"},
        "title": {"type": "string"},
        "scenario": {"type": "string", "description": "name of a built-in scenario, instead of yaml"},
        "yaml": {"type": "string", "description": "text of a scenario, instead of scenario"},
        "seed": {"type": "integer", "description": "default: the scenario's"},
        "commands": {
            "type": "array",
            "description": "commands in order, as in scenario files, with the instant in at_us",
            "maxItems": 2000,
            "items": {
                "type": "object",
                "required": ["at_us", "do"],
                "properties": {"at_us": {"type": "integer", "minimum": 0}, "do": {"type": "string"}},
            },
        },
        "until_us": {"type": "integer", "minimum": 0, "description": "the instant that the lab shows"},
        "branch": {"type": "integer"},
        "digest": {"type": "string"},
    },
    "additionalProperties": False,
}
MADE = {
    "type": "object",
    "required": ["id", "token", "url"],
    "properties": {name: {"type": "string"} for name in ("id", "token", "url")},
}
REFUSAL = {
    "type": "object",
    "required": ["code", "error", "hint"],
    "properties": {name: {"type": "string"} for name in ("code", "error", "hint")},
}
SCENARIOS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "title", "family", "about", "until_us", "seed"],
        "properties": {
            **{name: {"type": "string"} for name in ("name", "title", "family", "about", "watch")},
            **{name: {"type": "integer"} for name in ("until_us", "seed")},
        },
    },
}
PLACE = {
    "type": "object",
    "required": ["at_us", "branch"],
    "properties": {"at_us": {"type": "integer", "minimum": 0}, "branch": {"type": "integer", "minimum": 0}},
}
TOKEN = {"type": "string", "description": "the owner's token, from the answer that made the lab"}
STATUS = {
    "type": "object",
    "required": ["state", "words", "over"],
    "properties": {
        "state": {"enum": ["queued", "running", "done", "failed", "cancelled"]},
        "words": {"type": "string"},
        "over": {"type": "boolean"},
    },
}
ANY = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One address: what it does, the schema of its body and of its answer."""

    method: str
    path: str
    name: str
    words: str
    answer: dict[str, Any] | None  # None: a file
    status: int = 200
    body: dict[str, Any] | None = None
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)  # schemas, by name


OPERATIONS = (
    Operation("get", "/api/scenarios.json", "listScenarios", "List the built-in scenarios.", SCENARIOS),
    Operation(
        "post",
        "/run/",
        "openRun",
        "Make a lab from a run: a scenario, a seed, commands, and the instant to run to.",
        MADE,
        201,
        RUN,
    ),
    Operation("get", "/labs/{lab}/run.json", "readRun", "The run that a lab shows, as a document.", RUN),
    Operation(
        "post",
        "/labs/{lab}/seek/",
        "seek",
        "Run a lab to an instant, or go back to it; every page of the lab shows it.",
        PLACE,
        200,
        {
            "type": "object",
            "required": ["token", "at_us"],
            "properties": {"token": TOKEN, "at_us": {"type": "integer", "minimum": 0}},
        },
    ),
    Operation(
        "post",
        "/labs/{lab}/commands/",
        "giveCommand",
        "Give a command to a lab at the instant shown or at another one; in the past it begins a branch.",
        PLACE,
        200,
        {
            "type": "object",
            "required": ["token", "command"],
            "properties": {
                "token": TOKEN,
                "command": {
                    "type": "object",
                    "required": ["do"],
                    "properties": {"do": {"type": "string", "description": "as in scenario files"}},
                },
                "at_us": {"type": "integer", "minimum": 0, "description": "default: the instant shown"},
                "apart": {"type": "boolean", "description": "begin a branch also at the end of the run"},
            },
            "additionalProperties": False,
        },
    ),
    Operation("get", "/labs/{lab}/trace.jsonl", "downloadTrace", "Every event as JSON lines.", None),
    Operation("get", "/labs/{lab}/scenario.yaml", "downloadScenario", "The scenario as YAML.", None),
    Operation(
        "post",
        "/labs/{lab}/reports/",
        "orderReport",
        "Order a Spark report on the run.",
        {
            "type": "object",
            "required": ["id", "url"],
            "properties": {name: {"type": "string"} for name in ("id", "url")},
        },
        201,
        {
            "type": "object",
            "required": ["token"],
            "properties": {"token": {"type": "string"}, "until_us": {"type": "integer"}},
        },
    ),
    Operation("get", "/reports/{report}/status.json", "readReportStatus", "The state of a report.", STATUS),
    Operation(
        "get",
        "/reports/{report}/download/{kind}/",
        "downloadReport",
        "A file of a finished report: json, html, csv, parquet or trace.",
        None,
    ),
)


def description() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method] = _operation(one)
    for asked in QUESTIONS.values():
        if asked.path:
            one = _question(asked)
            paths[one.path] = {"get": _operation(one)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Failover Lab",
            "version": ENGINE_VERSION,
            "description": "Run scenarios of geo-replicated messaging, read their figures, order reports. "
            "Refusals are {code, error, hint}. Reading needs no key; commands, seeks and reports need the "
            "token of the lab.",
        },
        "paths": paths,
    }


def _question(asked: Question) -> Operation:
    """The address of a question about a lab, from its declaration."""
    first = inspect.cleandoc(asked.answer.__doc__ or "").split("\n\n")[0]
    schemas = {
        name: argument.schema
        if asked.defaults.get(name) in (None, "")
        else argument.schema | {"default": asked.defaults[name]}
        for name, argument in asked.arguments.items()
    }
    return Operation(
        "get",
        "/labs/{lab}/" + re.sub(r"<\w+:(\w+)>", r"{\1}", asked.path),
        "read" + asked.name.title().replace("-", ""),
        " ".join(first.split()),
        ANY,
        arguments=schemas,
    )


def _operation(one: Operation) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "The answer."}
    if one.answer is not None:
        answer["content"] = {"application/json": {"schema": one.answer}}
    refused = {"description": "Why not.", "content": {"application/json": {"schema": REFUSAL}}}
    in_path = re.findall(r"\{(\w+)\}", one.path)
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.words,
        "parameters": [
            *(
                {
                    "name": name,
                    "in": "path",
                    "required": True,
                    "schema": one.arguments.get(name, {"type": "string"}),
                }
                for name in in_path
            ),
            *(
                {"name": name, "in": "query", "schema": schema}
                for name, schema in one.arguments.items()
                if name not in in_path
            ),
        ],
        "responses": {str(one.status): answer, "default": refused},
    }
    if one.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": one.body}},
        }
    return described
