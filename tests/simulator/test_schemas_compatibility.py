"""Pulsar's compatibility strategies over Avro's rules.

Which schema may follow which, and which readers can read what.
"""

import json
from types import SimpleNamespace

import pytest

from simulator.protocols.pulsar.creation.schemas import same, unreadable, why_incompatible, why_unreadable_by


def record(*fields, name="Order", **more):
    return SimpleNamespace(
        name="-".join(str(field.get("name")) for field in fields) or name,
        type="AVRO",
        definition=json.dumps({"type": "record", "name": name, "fields": list(fields), **more}),
    )


def field(name, kind="long", **more):
    return {"name": name, "type": kind, **more}


ID = record(field("id"))
WITH_DEFAULT = record(field("id"), field("note", "string", default=""))
WITHOUT_DEFAULT = record(field("id"), field("note", "string"))
RENAMED = record(field("number"))
TEXT, FLAG = (
    SimpleNamespace(name="text", type="STRING", definition=None),
    SimpleNamespace(name="flag", type="BOOLEAN", definition=None),
)


@pytest.mark.parametrize(
    "new, old, backward, forward",
    [
        (WITH_DEFAULT, ID, True, True),
        # the new one cannot read what lacks the field; the old one skips it
        (WITHOUT_DEFAULT, ID, False, True),
        (ID, WITHOUT_DEFAULT, True, False),
        (ID, WITH_DEFAULT, True, True),
        (RENAMED, ID, False, False),
        (record(field("number", aliases=["id"])), ID, True, False),  # an alias helps the reader that has it
        (record(field("id", "double")), ID, True, False),  # long is promoted to double, not back
        (record(field("id", "int")), ID, False, True),
        (record(field("id", ["null", "long"])), ID, True, False),  # a union reads its branch
        (
            record(field("id", {"type": "enum", "name": "E", "symbols": ["A", "B"]})),
            record(field("id", {"type": "enum", "name": "E", "symbols": ["A"]})),
            True,
            False,
        ),
        (record(field("id"), name="Parcel"), ID, False, False),  # records have names
        (
            record(field("id", {"type": "array", "items": "long"})),
            record(field("id", {"type": "array", "items": "int"})),
            True,
            False,
        ),
        (TEXT, TEXT, True, True),
    ],
)
def test_compatibility_in_each_direction(new, old, backward, forward):
    expected = {
        "BACKWARD": backward,
        "FORWARD": forward,
        "FULL": backward and forward,
        "ALWAYS_COMPATIBLE": True,
        "ALWAYS_INCOMPATIBLE": False,
    }
    for strategy, allowed in expected.items():
        assert (why_incompatible(strategy, new, [old]) is None) is allowed, strategy
        if strategy in ("BACKWARD", "FORWARD", "FULL"):
            assert (why_incompatible(strategy + "_TRANSITIVE", new, [old]) is None) is allowed, strategy


@pytest.mark.parametrize("strategy", ["FULL", "BACKWARD", "FORWARD", "FULL_TRANSITIVE"])
def test_a_schema_of_another_type_is_never_compatible(strategy):
    assert (
        why_incompatible(strategy, TEXT, [ID])
        == "Incompatible schema: exists schema type AVRO, new schema type STRING"
    )
    assert (
        why_incompatible(strategy, FLAG, [TEXT])
        and why_incompatible("ALWAYS_COMPATIBLE", FLAG, [TEXT]) is None
    )


def test_the_first_schema_is_always_compatible():
    assert all(why_incompatible(strategy, ID, []) is None for strategy in ("FULL", "ALWAYS_INCOMPATIBLE"))


def test_transitive_strategies_compare_all_versions_and_plain_ones_only_the_newest():
    versions = [ID, record(field("id"), field("a"))]
    assert why_incompatible("BACKWARD", record(field("a")), versions) is None, "the newest wrote a"
    assert why_incompatible("BACKWARD_TRANSITIVE", record(field("a")), versions) is not None, (
        "the first did not"
    )
    lenient = [ID, record(field("id", default=0))]
    assert why_incompatible("FORWARD", record(field("a")), lenient) is None, "the newest does without id"
    assert why_incompatible("FORWARD_TRANSITIVE", record(field("a")), lenient) is not None, (
        "the first does not"
    )


def test_a_consumer_must_read_the_newest_or_all():
    versions = [ID, WITHOUT_DEFAULT]
    assert why_unreadable_by("FORWARD", WITHOUT_DEFAULT, versions) is None, (
        "whatever the direction, a consumer reads"
    )
    assert why_unreadable_by("FULL_TRANSITIVE", WITHOUT_DEFAULT, versions) is not None
    assert why_unreadable_by("ALWAYS_INCOMPATIBLE", ID, [ID]) == (
        "Schema compatibility strategy is ALWAYS_INCOMPATIBLE"
    )
    wider = record(field("id"), field("a"))
    assert why_unreadable_by("BACKWARD_TRANSITIVE", ID, [wider]) is None
    assert why_unreadable_by("FULL_TRANSITIVE", ID, [wider]) is not None, "wider has to read it, too"
    assert (
        why_unreadable_by("ALWAYS_COMPATIBLE", TEXT, versions) is None
        and why_unreadable_by("FULL", TEXT, []) is None
    )


def test_reasons_are_avros_texts_in_a_fixed_order():
    why = unreadable(record(field("x"), field("y")), ID)
    assert (
        why == unreadable(record(field("x"), field("y")), ID) and "reader field missing default value" in why
    )


def test_a_schema_is_its_type_and_definition():
    assert (
        same(ID, SimpleNamespace(name="other", type="AVRO", definition=ID.definition))
        and not same(ID, WITH_DEFAULT)
        and not same(TEXT, FLAG)
    )
