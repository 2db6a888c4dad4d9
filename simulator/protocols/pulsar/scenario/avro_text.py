"""The canonical text of an Avro schema in a scenario, checked by Avro's own library.

Rules: members keep their order (fields of a record are ordered), nothing is added. Two schemas are the same
when their texts are.
"""

from __future__ import annotations

import json
from typing import Any

from avro.errors import AvroException
from avro.schema import make_avsc_object

from simulator.scenarios.problems import Wrong

EXAMPLE = "{type: record, name: Order, fields: [{name: id, type: long}]}"


def canonical_definition(value: Any) -> str:
    """JSON text of a schema given as a structure or as JSON text. Raises Wrong."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Wrong(f"is not JSON: {error}", f"write the Avro schema, such as {EXAMPLE}") from None
    try:
        make_avsc_object(value)
    except (AvroException, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Wrong(
            f"is not an Avro schema: {error}",
            f"write it as Avro's specification defines it, such as {EXAMPLE}",
        ) from None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
