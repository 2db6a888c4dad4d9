"""Makes `docs/scenario.schema.json`, for editors.

Command: `python -m simulator.scenarios.json_schema > docs/scenario.schema.json`.

Rules: it is made from the same tables as the loader, and accepts everything that the loader accepts. A schema
cannot check references between sections (does this cluster exist?); only the loader does.

Keywords that begin with `x-` are annotations for the editor of the page; validators ignore them. `x-value`
says what a key takes. `x-names` lists the sections whose names a value may have, `x-links` stands for a link
between two names of `x-sites`, `x-messages` for a message of a name in these sections, `x-words` for words
beside a pattern. `x-protocol` names the protocol that alone has a key or command, and `x-protocol-of` gives
the protocol of each family.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios import shape, units
from simulator.scenarios.canonical import STRATEGY_NAMES
from simulator.scenarios.commands import COMMANDS, Command
from simulator.scenarios.declarations import Key, Section, Setting, belongs, default_of
from simulator.scenarios.limits import LONGEST_US, TOUR_STEPS_MAX, TOUR_STEPS_MIN
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import LINK, NAME_PATTERN
from simulator.scenarios.reader import DISTRIBUTIONS, KINDS, SELECTIONS
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.scenarios.shape import PROTOCOL_OF
from simulator.scenarios.tour import ASK_KEYS, NOTE_KEYS, STEP_KEYS, TOUR_KEYS, WHEN_KEYS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> dict[str, Any]:
    head = _members(shape.head(), Scenario)
    properties: dict[str, Any] = {}
    for name in shape.order():
        properties[name] = head.get(name, {"$ref": f"#/$defs/{name}"})
    required = [key.name for key in shape.head() if key.required]
    return {
        "$schema": DIALECT,
        "title": "Failover Lab scenario, format 1",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "x-protocol-of": PROTOCOL_OF,
        "x-sites": [section.name for section in shape.sections() if section.sites],
        "allOf": [_needed_by(protocol) for protocol in dict.fromkeys(PROTOCOL_OF.values())],
        "$defs": _definitions(),
    }


def _needed_by(protocol: str) -> dict[str, Any]:
    """The sections that the families of a protocol require."""
    families = [name for name, one in PROTOCOL_OF.items() if one == protocol]
    needed = [
        section.name
        for section in shape.sections()
        if section.required and belongs(section.protocol, protocol)
    ]
    return {
        "if": {"properties": {"family": {"enum": families}}, "required": ["family"]},
        "then": {"required": needed},
    }


def schema_text() -> str:
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def _definitions() -> dict[str, Any]:
    definitions: dict[str, Any] = {section.name: _section(section) for section in shape.sections()}
    definitions["links"] = {
        "description": "links by pattern: default, a -> b one way, a <-> b both; the more specific wins",
        "type": ["object", "null"],
        "propertyNames": {"pattern": f"^(default|{LINK.pattern})$", "x-words": ["default"], "x-links": True},
        "additionalProperties": _object(shape.link_keys()),
    }
    definitions["commands"] = {
        "type": ["array", "null"],
        "items": _command(),
        "maxItems": shape.MOST_COMMANDS,
    }
    definitions["expect"] = {
        "description": "paths into the summary and the expected value: a value, or [low, high]",
        "type": ["object", "null"],
        "additionalProperties": {"not": {"type": "object"}},
    }
    definitions["compare"] = {
        "description": "what is expected under each strategy: the same paths and values, by strategy",
        "type": ["object", "null"],
        "propertyNames": {"enum": list(STRATEGY_NAMES)},
        "additionalProperties": definitions["expect"],
    }
    definitions["tour"] = _tour()
    definitions["distribution"] = {
        "anyOf": [KINDS["duration"].schema(Key("", "duration", "")), *_distributions()]
    }
    definitions |= {name: _object(keys) for name, keys in SELECTIONS.items()}
    for declared in DECLARED.values():
        definitions |= {name: _object(keys) for name, keys in declared.key_groups.items()}
    definitions["pair"] = _object(shape.PAIR_KEYS)
    definitions["broker-settings"] = _settings(SETTINGS)
    definitions["options"] = _settings(OPTIONS)
    return definitions


def _tour() -> dict[str, Any]:
    step, when = _object(STEP_KEYS), _object(WHEN_KEYS)
    when["additionalProperties"] = {"type": ["string", "integer"]}
    when["description"] = "an event: its type, the values of its columns, and which of them"
    events = {name: None for declared in DECLARED.values() for name in declared.columns_of_events()}
    when["properties"]["type"]["x-words"] = list(events)
    step["properties"] |= {"when": when, "note": _object(NOTE_KEYS), "ask": _object(ASK_KEYS)}
    step["oneOf"] = [{"required": ["at"]}, {"required": ["when"]}]
    made = _object(TOUR_KEYS)
    made["description"] = "a guided tour, which changes nothing in the run"
    made["type"] = ["object", "null"]
    made["properties"]["steps"] = {
        "type": "array",
        "items": step,
        "minItems": TOUR_STEPS_MIN,
        "maxItems": TOUR_STEPS_MAX,
    }
    made["required"].append("steps")
    return made


def _key(key: Key) -> dict[str, Any]:
    schema = KINDS[key.kind].schema(key)
    bound = "" if key.kind != "duration" else f"; at most {units.format_duration(key.maximum or LONGEST_US)}"
    value = {"x-value": KINDS[key.kind].says}
    return {"description": f"{key.says}{bound}", **schema, **value, **_only(key.protocol)}


def _only(protocol: str) -> dict[str, Any]:
    """The annotation of what only one protocol has; nothing for what all have."""
    return {"x-protocol": protocol} if protocol else {}


def _members(keys: Sequence[Key], model: type | None = None) -> dict[str, Any]:
    members = {}
    for key in keys:
        members[key.name] = _key(key)
        default = key.default if model is None or key.name == "format" else default_of(model, key)
        if default not in (None, {}, "") and not key.required:
            members[key.name]["default"] = default if model is None else KINDS[key.kind].write(default)
    return members


def _object(keys: Sequence[Key], model: type | None = None) -> dict[str, Any]:
    required = [key.name for key in keys if key.required]
    kinds = "object" if required else ["object", "null"]
    made: dict[str, Any] = {"type": kinds, "properties": _members(keys, model), "additionalProperties": False}
    return {**made, "required": required} if required else made


_NAMING = {"name": NAME_PATTERN, "namespace": f"{NAME_PATTERN}/{NAME_PATTERN}"}


def _section(section: Section) -> dict[str, Any]:
    return {
        "description": section.says,
        "type": "object" if section.required else ["object", "null"],
        "propertyNames": {"pattern": f"^{_NAMING[section.naming]}$"},
        "minProperties": 1 if section.required else 0,
        "maxProperties": section.most,
        "additionalProperties": _object(section.keys, section.model),
        **_only(section.protocol),
    }


def _distributions() -> list[dict[str, Any]]:
    made = []
    for name, keys in DISTRIBUTIONS.items():
        shown = _object(keys)
        shown["properties"] = {"distribution": {"const": name}, **shown["properties"]}
        shown["required"] = ["distribution", *shown["required"]]
        made.append(shown)
    return made


def _settings(table: dict[str, Setting]) -> dict[str, Any]:
    properties = {}
    for setting in table.values():
        key = Key(
            setting.name,
            setting.kind,
            setting.says,
            choices=setting.choices,
            minimum=setting.minimum,
            maximum=setting.maximum,
            protocol=setting.protocol,
        )
        properties[setting.name] = _key(key)
        if setting.default is not None:
            properties[setting.name]["default"] = KINDS[setting.kind].write(setting.default)
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _command() -> dict[str, Any]:
    """One branch for each command, chosen by `do`, so that an editor reports errors of that command."""
    branches = [
        {
            "if": {"properties": {"do": {"const": command.name}}, "required": ["do"]},
            "then": _arguments(command),
        }
        for command in COMMANDS.values()
    ]
    return {
        "type": "object",
        "properties": {
            "at": _key(Key("at", "duration", "the instant at which it takes effect")),
            "do": {"enum": list(COMMANDS)},
        },
        "required": ["at", "do"],
        "allOf": branches,
    }


def _arguments(command: Command) -> dict[str, Any]:
    made = _object(command.arguments)
    made["properties"] = {
        "at": True,
        "do": {"const": command.name, "description": command.says, **_only(command.protocol)},
        **made["properties"],
    }
    if command.one_of:
        made["oneOf"] = [{"required": [name]} for name in command.one_of]
    return made


if __name__ == "__main__":
    print(schema_text(), end="")
