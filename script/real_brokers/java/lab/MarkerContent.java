package lab;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.List;
import org.apache.pulsar.common.api.proto.ClusterMessageId;
import org.apache.pulsar.common.api.proto.MarkerType;
import org.apache.pulsar.common.api.proto.ReplicatedSubscriptionsSnapshot;
import org.apache.pulsar.common.api.proto.ReplicatedSubscriptionsSnapshotRequest;
import org.apache.pulsar.common.api.proto.ReplicatedSubscriptionsSnapshotResponse;
import org.apache.pulsar.common.api.proto.ReplicatedSubscriptionsUpdate;
import org.apache.pulsar.common.protocol.Markers;

/** The content of a marker of replicated subscriptions as JSON, with the names of Pulsar's protocol file. */
final class MarkerContent {
    private MarkerContent() {
    }

    static ObjectNode of(int number, ByteBuf payload) throws IOException {
        MarkerType type = MarkerType.valueOf(number);
        ObjectNode marker = JsonLines.object().put("type", type == null ? "UNKNOWN_" + number : type.name());
        if (type == null) {
            return marker;
        }
        switch (type) {
            case REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST -> {
                ReplicatedSubscriptionsSnapshotRequest request =
                        Markers.parseReplicatedSubscriptionsSnapshotRequest(payload);
                marker.put("snapshot_id", request.getSnapshotId()).put("source_cluster", request.getSourceCluster());
            }
            case REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE -> {
                ReplicatedSubscriptionsSnapshotResponse response =
                        Markers.parseReplicatedSubscriptionsSnapshotResponse(payload);
                marker.put("snapshot_id", response.getSnapshotId());
                marker.set("cluster", clusterPosition(response.getCluster()));
            }
            case REPLICATED_SUBSCRIPTION_SNAPSHOT -> {
                ReplicatedSubscriptionsSnapshot snapshot = Markers.parseReplicatedSubscriptionsSnapshot(payload);
                marker.put("snapshot_id", snapshot.getSnapshotId());
                marker.set("local_message_id", JsonLines.object()
                        .put("ledger", snapshot.getLocalMessageId().getLedgerId())
                        .put("entry", snapshot.getLocalMessageId().getEntryId()));
                marker.set("clusters", clusterPositions(snapshot.getClustersList()));
            }
            case REPLICATED_SUBSCRIPTION_UPDATE -> {
                ReplicatedSubscriptionsUpdate update = Markers.parseReplicatedSubscriptionsUpdate(payload);
                marker.put("subscription_name", update.getSubscriptionName());
                marker.set("clusters", clusterPositions(update.getClustersList()));
            }
            default -> { } // markers of transactions have no content that the lab knows
        }
        return marker;
    }

    private static ArrayNode clusterPositions(List<ClusterMessageId> clusters) {
        ArrayNode positions = JsonLines.MAPPER.createArrayNode();
        clusters.forEach(one -> positions.add(clusterPosition(one)));
        return positions;
    }

    private static ObjectNode clusterPosition(ClusterMessageId one) {
        return JsonLines.object().put("cluster", one.getCluster())
                .put("ledger", one.getMessageId().getLedgerId())
                .put("entry", one.getMessageId().getEntryId());
    }
}
