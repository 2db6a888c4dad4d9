"""The `links` section: patterns in the file, one link for every ordered pair in the model.

Rules: `default` applies to every pair, `a <-> b` to two, `a -> b` to one. The more specific pattern wins key
by key, and of two equally specific ones the later. A pair without a pattern has `DEFAULT_LATENCY_US` and
unlimited bandwidth.
"""

from __future__ import annotations

from typing import Any

from simulator.scenarios import shape
from simulator.scenarios.kinds import BAD
from simulator.scenarios.model import Distribution, LinkSpec
from simulator.scenarios.names import parse_link
from simulator.scenarios.problems import Wrong, suggestion
from simulator.scenarios.reader import Reader
from simulator.scenarios.tree import Node

DEFAULT = "default"


def read_links(node: Node | None, reader: Reader) -> dict[tuple[str, str], LinkSpec]:
    """The LinkSpec of every ordered pair of clusters, without the patterns that are wrong."""
    if node is not None and node.value is not None and not isinstance(node.value, dict):
        reader.fail(node, "links", "is not a mapping", "write links: {default: {latency: 40ms}}")
        return {}
    keys = shape.link_keys()
    patterns = {} if node is None or node.value is None else node.value
    layers: tuple[list[tuple[Any, dict[str, Any]]], ...] = ([], [], [])  # default, both ways, one way
    for pattern, member in patterns.items():
        pairs = _pairs(pattern, member, reader)
        values = reader.members(member, keys, f"links.{pattern}")
        if pairs is not BAD and values is not BAD:
            layers[0 if pairs is None else 3 - len(pairs)].append((pairs, values))
    return _every_pair(reader.names.sites, layers)


def _pairs(pattern: str, member: Node, reader: Reader) -> Any:
    """The ordered pairs of a pattern, None for `default`."""
    if pattern == DEFAULT:
        return None
    path = f"links.{pattern}"
    try:
        pairs = parse_link(pattern)
    except Wrong as wrong:
        reader.fail(member, path, wrong.what, f"{wrong.right}, or default", at_key=True)
        return BAD
    unknown = [cluster for cluster in pairs[0] if cluster not in reader.names.sites]
    for cluster in unknown:
        right = suggestion(cluster, reader.names.sites)
        reader.fail(member, path, f'there is no cluster "{cluster}"', right, "unknown-name", at_key=True)
    return BAD if unknown else pairs


def _every_pair(clusters: tuple[str, ...], layers: Any) -> dict[tuple[str, str], LinkSpec]:
    links = {}
    for source in clusters:
        for target in clusters:
            if source == target:
                continue
            values: dict[str, Any] = {"latency": Distribution(value_us=shape.DEFAULT_LATENCY_US)}
            for layer in layers:
                for pairs, given in layer:
                    if pairs is None or (source, target) in pairs:
                        values |= given
            links[source, target] = LinkSpec(source, target, **values)
    return links
