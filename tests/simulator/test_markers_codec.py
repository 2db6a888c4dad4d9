"""Markers have Pulsar's bytes: pinned by hand from the field numbers, and unchanged by a round trip."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers import entries
from simulator.protocols.pulsar.markers import pulsar_markers_pb2 as protobuf

JAVA_LONG = st.integers(-(1 << 63), (1 << 63) - 1)
NAME = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
CLUSTERS = st.lists(st.tuples(NAME, JAVA_LONG, JAVA_LONG), max_size=5)


def positions(message_ids):
    return [
        (one["cluster"], one["message_id"]["ledger_id"], one["message_id"]["entry_id"]) for one in message_ids
    ]


def test_request_bytes_are_pinned():
    # field 1, length-delimited = 0x0a; field 2 = 0x12
    assert entries.encode_request("S1", "a") == b"\x0a\x02S1" + b"\x12\x01a"


def test_response_bytes_are_pinned():
    position = b"\x08\xd2\x09" + b"\x10\xee\xe4\x02"  # ledger 1234, entry 45678 as varints
    cluster = b"\x0a\x01b" + b"\x12" + bytes([len(position)]) + position
    assert (
        entries.encode_response("S1", "b", 1234, 45678)
        == b"\x0a\x02S1" + b"\x12" + bytes([len(cluster)]) + cluster
    )


def test_snapshot_bytes_are_pinned_and_clusters_alphabetical():
    local = b"\x08\x05\x10\x07"
    b = b"\x0a\x01b\x12\x04\x08\x01\x10\x02"
    c = b"\x0a\x01c\x12\x04\x08\x03\x10\x04"
    wanted = b"\x0a\x01S" + b"\x12\x04" + local + b"\x1a\x09" + b + b"\x1a\x09" + c
    assert entries.encode_snapshot("S", (5, 7), [("c", 3, 4), ("b", 1, 2)]) == wanted


def test_update_bytes_are_pinned_and_clusters_alphabetical():
    b = b"\x0a\x01b\x12\x04\x08\x01\x10\x02"
    c = b"\x0a\x01c\x12\x04\x08\x03\x10\x04"
    assert (
        entries.encode_update("my", [("c", 3, 4), ("b", 1, 2)])
        == b"\x0a\x02my" + b"\x12\x09" + b + b"\x12\x09" + c
    )


def test_the_entry_before_the_first_is_encoded_as_a_java_long():
    payload = entries.encode_response("S", "b", 3, -1)
    assert payload.endswith(b"\x08\x03" + b"\x10" + b"\xff" * 9 + b"\x01")  # 2**64 - 1 as a varint
    assert entries.decode(11, payload)["cluster"]["message_id"] == {"ledger_id": 3, "entry_id": -1}


def test_metadata_bytes_are_pinned():
    wanted = b"\x0a\x0dpulsar.marker" + b"\x10\x00" + b"\x18\xe8\x07" + b"\x3a\x01a" + b"\xa0\x01\x0b"
    # 0x3a is field 7, 0xa0 0x01 field 20
    assert entries.metadata_bytes("snapshot_response", 1000, ["a"]) == wanted


def test_replicated_metadata_has_its_origin_cluster():
    metadata = protobuf.MessageMetadata.FromString(
        entries.metadata_bytes(10, 5, None, replicated_from="us-west")
    )
    assert metadata.replicated_from == "us-west"
    assert list(metadata.replicate_to) == []
    assert entries.metadata_bytes(10, 5, None).count(b"us-west") == 0


def test_entry_size_counts_the_frame():
    assert entries.entry_size(b"m" * 30, b"p" * 50) == 2 + 4 + 4 + 30 + 50


@given(NAME, NAME)
def test_request_round_trip(snapshot_id, cluster):
    assert entries.decode(10, entries.encode_request(snapshot_id, cluster)) == {
        "snapshot_id": snapshot_id,
        "source_cluster": cluster,
    }


@given(NAME, NAME, JAVA_LONG, JAVA_LONG)
def test_response_round_trip(snapshot_id, cluster, ledger, entry):
    decoded = entries.decode(11, entries.encode_response(snapshot_id, cluster, ledger, entry))
    assert decoded["snapshot_id"] == snapshot_id
    assert positions([decoded["cluster"]]) == [(cluster, ledger, entry)]


@given(NAME, st.tuples(JAVA_LONG, JAVA_LONG), CLUSTERS)
def test_snapshot_round_trip(snapshot_id, local, clusters):
    decoded = entries.decode("snapshot", entries.encode_snapshot(snapshot_id, local, clusters))
    assert decoded["snapshot_id"] == snapshot_id
    assert tuple(decoded["local_message_id"].values()) == local
    assert positions(decoded.get("clusters", [])) == sorted(clusters)


@given(NAME, CLUSTERS)
def test_update_round_trip(subscription, clusters):
    decoded = entries.decode("subscription_update", entries.encode_update(subscription, clusters))
    assert decoded["subscription_name"] == subscription
    assert positions(decoded.get("clusters", [])) == sorted(clusters)


def test_request_prints_as_in_pip_33():
    printed = entries.pip33_json(10, entries.encode_request("444D3632-F96C-48D7-83DB-041C32164EC1", "a"))
    assert printed == (
        "{\n"
        '    "ReplicatedSubscriptionsSnapshotRequest" : {\n'
        '        "snapshot_id" : "444D3632-F96C-48D7-83DB-041C32164EC1",\n'
        '        "source_cluster" : "a"\n'
        "    }\n"
        "}"
    )


def test_snapshot_prints_as_in_pip_33_with_the_protos_field_names():
    payload = entries.encode_snapshot("444D", (192, 123123), [("b", 1234, 45678), ("c", 7655, 13421)])
    printed = entries.pip33_json("snapshot", payload)
    assert "endtry_id" not in printed
    assert json.loads(printed) == {
        "snapshot_id": "444D",
        "local_message_id": {"ledger_id": 192, "entry_id": 123123},
        "clusters": [
            {"cluster": "b", "message_id": {"ledger_id": 1234, "entry_id": 45678}},
            {"cluster": "c", "message_id": {"ledger_id": 7655, "entry_id": 13421}},
        ],
    }


def test_every_marker_type_of_the_trace_has_a_message_and_pulsars_number():
    assert sorted(MARKER_TYPES.values()) == sorted(entries.MESSAGES)
    for word, number in MARKER_TYPES.items():
        assert entries.type_number(word) == number
    numbers = [value.number for value in protobuf.MarkerType.DESCRIPTOR.values if value.number]
    assert numbers == sorted(MARKER_TYPES.values())


@pytest.mark.parametrize("wrong", [0, 14, "txn_commit"])
def test_unknown_type_is_refused_with_a_reason(wrong):
    with pytest.raises(entries.MarkerError, match=r"snapshot_request \(10\)"):
        entries.decode(wrong, b"")


def test_invalid_bytes_are_refused_with_a_reason():
    whole = entries.encode_request("444D3632", "a")
    with pytest.raises(entries.MarkerError, match="not a whole ReplicatedSubscriptionsSnapshotRequest"):
        entries.decode(10, whole[:5])
