"""Tests of the sizes of entries: markers and messages where they are written, and their copies.

Sources: `Markers.newMessage` (metadata), `Commands.serializeMetadataAndPayload` (frame),
`GeoPersistentReplicator.replicateEntries` (`replicated_from`, and the property of #23697). Figures of Pulsar
4.2.4 with clusters of one letter: a request has 78 bytes where it is written and 123 to 126 in the copy.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.markers import entries as codec
from simulator.protocols.pulsar.markers import pulsar_markers_pb2 as protobuf
from simulator.protocols.pulsar.markers.entries import EPOCH_MS, REQUEST, Marker
from simulator.protocols.pulsar.replication.replicator import CopySize
from tests.examples import examples
from tests.simulator.engine_runs import rows, run
from tests.simulator.test_engine_snapshots import body

ID = "A" * 36
JAVA_LONGS = st.integers(0, 2**63 - 1)


def request(published_us=5_000_000, origin="a"):
    return Marker(1, REQUEST, origin, None, published_us, snapshot_id=ID, cluster=origin)


@pytest.mark.parametrize("published_us", [0, 5_000_000, 365 * 86_400_000_000])
def test_a_request_has_the_78_bytes_of_a_real_one_whenever_it_is_written(published_us):
    assert request(published_us).stored_size_bytes() == 78


@pytest.mark.parametrize("position, size_bytes", [((12, 34), 123), ((1234, 567), 126)])
def test_its_copy_has_123_to_126(position, size_bytes):
    assert request().stored_size_bytes(position) == size_bytes
    assert request().stored_size_bytes() + CopySize("a").of(*position) == size_bytes


def test_a_copy_names_cluster_and_position_of_the_original():
    metadata = protobuf.MessageMetadata.FromString(request(origin="us-west").metadata((3, 17)))
    assert metadata.replicated_from == "us-west" and metadata.publish_time == EPOCH_MS + 5_000
    assert [(one.key, one.value) for one in metadata.properties] == [
        ("__MSG_PROP_REPL_SOURCE_POSITION", "3:17")
    ]


@examples(200)
@given(st.text(min_size=1, max_size=90), JAVA_LONGS, JAVA_LONGS)
def test_the_computed_growth_is_that_of_the_encoded_metadata(cluster, ledger, entry):
    plain = codec.metadata_bytes("snapshot", 0, None)
    copied = codec.metadata_bytes("snapshot", 0, None, cluster, (ledger, entry))
    size = CopySize(cluster)
    assert len(copied) - len(plain) == size.of(ledger, entry) <= size.most


def test_copies_of_messages_and_markers_in_a_run_have_these_sizes():
    # Ledger 192 is a's first. Its entries 0 to 9 are one byte shorter as text than 10 to 99.
    world = run(body(options=""), until="6s")
    size = CopySize("a")
    copies = rows(world, "message.stored", cluster="b", peer="a")
    sent = {row["sequence_id"]: row for row in rows(world, "message.replicated", cluster="a")}
    for row in copies:
        original = sent[row["sequence_id"]]
        assert row["size_bytes"] == 1000 + size.of(original["ledger"], original["entry"])
    assert {row["size_bytes"] for row in copies} == {1000 + 45, 1000 + 46}
    written = {row["marker"]: row for row in rows(world, "marker.written", cluster="a")}
    markers = rows(world, "marker.stored", cluster="b", peer="a")
    assert markers
    for row in markers:
        original = written[row["marker"]]
        grown = size.of(original["ledger"], original["entry"])
        assert row["size_bytes"] == original["size_bytes"] + grown
    requests = [row for row in written.values() if row["reason"] == REQUEST]
    assert {row["size_bytes"] for row in requests} == {78}


def test_the_ledgers_of_both_clusters_have_the_bytes_of_their_entries():
    world = run(body(options=""), until="6s")
    for cluster in ("a", "b"):
        entries = [
            row
            for event in ("message.stored", "marker.written", "marker.stored")
            for row in rows(world, event, cluster=cluster)
        ]
        assert len(entries) > 20
        stored = world.admin("stats", cluster)["text"]
        assert f'"storageSize" : {sum(row["size_bytes"] for row in entries)}' in stored


def test_the_link_carries_the_bytes_of_the_copy():
    # 1,000 bytes per second: the first message, at position 192:0, takes 1,045 ms and 40 ms of latency.
    world = run(
        body(
            producers="p: {topic: t, cluster: a, at: [0s]}",
            links="default: {latency: 40ms, bandwidth: 1KB/s}",
            settings="enableReplicatedSubscriptions: false",
        ),
        until="6s",
    )
    assert [row["at_us"] for row in rows(world, "message.stored", cluster="b")] == [1_085_000]
