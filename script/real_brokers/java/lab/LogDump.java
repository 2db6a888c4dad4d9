package lab;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * Reads the whole log of a topic, with its markers, which no client ever receives.
 *
 * <p>It reads with a non-durable cursor inside the broker, which leaves no trace in the topic.
 */
final class LogDump {
    private static final int ENTRIES_AT_ONCE = 200;

    private LogDump() {
    }

    static ArrayNode of(ManagedLedger ledger) throws Exception {
        ArrayNode entries = JsonLines.MAPPER.createArrayNode();
        if (ledger.getNumberOfEntries() == 0) {
            return entries;
        }
        ManagedCursor cursor = ledger.newNonDurableCursor(PositionFactory.EARLIEST);
        try {
            while (cursor.hasMoreEntries()) {
                for (Entry entry : cursor.readEntries(ENTRIES_AT_ONCE)) {
                    try {
                        entries.add(described(entry));
                    } finally {
                        entry.release();
                    }
                }
            }
        } finally {
            cursor.close();
        }
        return entries;
    }

    private static ObjectNode described(Entry entry) throws IOException {
        ObjectNode one = JsonLines.object().put("ledger", entry.getLedgerId()).put("entry", entry.getEntryId());
        ByteBuf data = entry.getDataBuffer().duplicate();
        BrokerEntryMetadata added = Commands.parseBrokerEntryMetadataIfExist(data);
        int size = data.readableBytes();
        MessageMetadata metadata = Commands.parseMessageMetadata(data);
        boolean measured = added != null && added.hasBrokerTimestamp();
        if (measured) {
            one.put("stored_ns", added.getBrokerTimestamp());
        }
        one.put("publish_time_ms", metadata.getPublishTime());
        one.put("size_bytes", size);
        one.put("producer", metadata.getProducerName());
        one.put("sequence", metadata.getSequenceId());
        one.put("batch", metadata.getNumMessagesInBatch());
        one.put("key", metadata.hasPartitionKey() ? metadata.getPartitionKey() : null);
        one.put("replicated_from", metadata.hasReplicatedFrom() ? metadata.getReplicatedFrom() : null);
        one.set("properties", properties(metadata));
        if (metadata.hasMarkerType()) {
            one.set("marker", MarkerContent.of(metadata.getMarkerType(), data));
        } else {
            one.putNull("marker");
            if (metadata.hasNumMessagesInBatch()) {
                one.set("messages", messages(metadata, data));
            }
        }
        return one;
    }

    private static ObjectNode properties(MessageMetadata metadata) {
        ObjectNode properties = JsonLines.object();
        for (KeyValue property : metadata.getPropertiesList()) {
            properties.put(property.getKey(), property.getValue());
        }
        return properties;
    }

    /** Sequence and key of each message of a batch. */
    private static ArrayNode messages(MessageMetadata metadata, ByteBuf payload) throws IOException {
        ArrayNode messages = JsonLines.MAPPER.createArrayNode();
        int count = metadata.getNumMessagesInBatch();
        SingleMessageMetadata single = new SingleMessageMetadata();
        for (int index = 0; index < count; index++) {
            single.clear();
            ByteBuf content = Commands.deSerializeSingleMessageInBatch(payload, single, index, count);
            ObjectNode message = JsonLines.object()
                    .put("sequence", single.hasSequenceId() ? single.getSequenceId() : metadata.getSequenceId() + index)
                    .put("key", single.hasPartitionKey() ? single.getPartitionKey() : null);
            content.release();
            messages.add(message);
        }
        return messages;
    }
}
