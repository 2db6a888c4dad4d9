"""Commands about schemas, as an operator, a client and the admin interface request them.

Codes are the HTTP status that pulsar-admin would get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import cluster_up, topic_here
from simulator.protocols.pulsar.creation import schemas
from simulator.protocols.pulsar.creation.schemas import same
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import SchemaSpec


def _declared(runtime: Pulsar, name: str) -> SchemaSpec:
    """The scenario's schema of this name; the command's schema admits only names of schemas."""
    assert runtime.schemas is not None, "an argument names a declared schema"
    return runtime.schemas.declared[name]


def upload_schema(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """schema.upload: an operator may always register; it must still be compatible."""
    cluster, base, schema = topic_here(runtime, arguments), arguments["topic"], arguments["schema"]
    _has_schemas_of_its_own(cluster, base)
    refused = schemas.why_refused(cluster, base, _declared(runtime, schema), schemas.PERSON)
    if refused is not None:
        raise CommandError(
            "409", refused[1], "make it compatible with the versions before, or change the strategy"
        )
    schemas.offer(cluster, base, schema, schemas.PERSON, begin(code="200"))


def delete_schema(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """schema.delete."""
    cluster, base = topic_here(runtime, arguments), arguments["topic"]
    _has_schemas_of_its_own(cluster, base)
    count = len(schemas.versions(cluster, base))
    if not count:
        raise CommandError(
            "404", f"{base} has no schema in {cluster.name}", "upload one, or let a producer register its own"
        )
    cause = begin(code="200")
    schemas.forget(cluster, base)
    runtime.rows.schema_deleted(cause, cluster=cluster.number, topic=base, count=count)


def _has_schemas_of_its_own(cluster: Cluster, base: str) -> None:
    if schemas.owner(cluster, base) != base:
        raise CommandError(
            "NotAllowed",
            f"shadow topic {base} has its source's schemas",
            f"name {schemas.owner(cluster, base)}",
        )


def get_schema(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """schema.get: getSchema, the newest or one version; for a shadow topic its source's."""
    found = _schemas(runtime, arguments)
    version = arguments.get("version", len(found) - 1)
    if not found:
        raise CommandError("404", "Schema not found", "upload one, or let a producer with a schema connect")
    if not 0 <= version < len(found):
        raise CommandError("404", "Schema not found", f"it has {len(found)} versions, from 0")
    begin(code="200", answer={"version": version, "schema": found[version].name, "type": found[version].type})


def list_schemas(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """schema.list: getAllSchemas."""
    found = _schemas(runtime, arguments)
    begin(
        code="200",
        answer=[
            {"version": version, "schema": one.name, "type": one.type} for version, one in enumerate(found)
        ],
    )


def schema_version(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """schema.version: getVersionBySchema."""
    found, wanted = _schemas(runtime, arguments), _declared(runtime, arguments["schema"])
    version = next((version for version, one in enumerate(found) if same(wanted, one)), None)
    if version is None:
        raise CommandError(
            "404",
            f"{arguments['topic']} does not have the schema {arguments['schema']}",
            "let a producer of the source register it",
        )
    begin(code="200", answer=version)


def _schemas(runtime: Pulsar, arguments: dict) -> list:
    cluster = cluster_up(runtime, arguments["cluster"])
    if cluster.shape(arguments["topic"]) is None:
        raise CommandError(
            "404",
            f"topic {arguments['topic']} does not exist in {cluster.name}",
            "name a topic that is there",
        )
    return schemas.versions(cluster, arguments["topic"])


HANDLERS: dict[str, Handler] = {
    "schema.upload": upload_schema,
    "schema.delete": delete_schema,
    "schema.get": get_schema,
    "schema.list": list_schemas,
    "schema.version": schema_version,
}
