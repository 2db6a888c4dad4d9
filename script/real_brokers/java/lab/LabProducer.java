package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.MessageRouter;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.TopicMetadata;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.impl.PartitionedProducerImpl;

/**
 * An application that publishes numbered messages at given instants, in a thread of its own.
 *
 * <p>The sequence id is the number of the message over all partitions. An instant that has passed is made up
 * for at once, so the plan is kept on average on a busy machine.
 */
final class LabProducer {
    private final String name;
    private final JsonLines driver;
    private final ClientConnection connection;
    private final Producer<byte[]> producer;
    private final Thread thread;
    private final byte[] content;
    private final JsonNode keys;
    private final Holds delays;
    private final long firstSequence;
    private final long count;
    private final long everyNanos;
    private final JsonNode instants;
    private volatile long startNanos;
    private volatile boolean stopping;

    LabProducer(JsonNode request, String url, SharedThreads threads, JsonLines driver) throws Exception {
        this.driver = driver;
        name = Requests.text(request, "name");
        content = new byte[(int) Requests.number(request, "size_bytes", 0)];
        keys = request.path("keys");
        delays = new Holds(request.path("delays"));
        firstSequence = Requests.number(request, "first_sequence", 0);
        instants = request.path("instants_ns");
        everyNanos = instants.isArray() ? 0 : Requests.number(request, "every_ns");
        count = instants.isArray() ? instants.size() : Requests.number(request, "count", Long.MAX_VALUE);
        startNanos = Requests.number(request, "start_ns", 0);
        connection = new ClientConnection(threads, url, request);
        try {
            producer = builder(request).create();
        } catch (PulsarClientException refused) {
            connection.close();
            throw refused;
        }
        driver.emit(JsonLines.event("connected", System.nanoTime()).put("producer", name));
        thread = new Thread(this::run, "producer-" + name);
        thread.setDaemon(true);
        if (startNanos != 0) {
            thread.start();
        }
    }

    /** Publish from this instant on; only for a producer that was created without one. */
    void start(long nanos) {
        if (startNanos != 0) {
            throw new IllegalStateException("the producer " + name + " already has the instant of its start");
        }
        startNanos = nanos;
        thread.start();
    }

    /** Publish no more; the client is closed when its messages have receipts, which may take as long as a crash. */
    void stop() {
        stopping = true;
        LockSupport.unpark(thread);
        producer.flushAsync().whenComplete((nothing, failed) -> producer.closeAsync()
                .thenCompose(closed -> connection.client().closeAsync())
                .whenComplete((closed, problem) -> driver.emit(
                        JsonLines.event("disconnected", System.nanoTime()).put("producer", name))));
    }

    /** End as a killed process: messages without a receipt are not sent again. */
    void kill() throws Exception {
        stopping = true;
        LockSupport.unpark(thread);
        if (producer instanceof PartitionedProducerImpl<?> partitioned) {
            connection.kill(partitioned.getProducers().toArray());
        } else {
            connection.kill(producer);
        }
        driver.emit(JsonLines.event("disconnected", System.nanoTime()).put("producer", name).put("killed", true));
    }

    private ProducerBuilder<byte[]> builder(JsonNode request) {
        ProducerBuilder<byte[]> builder = connection.client().newProducer()
                .topic(Requests.text(request, "topic"))
                .producerName(name)
                .sendTimeout((int) Requests.number(request, "send_timeout_ms", 30_000), TimeUnit.MILLISECONDS)
                .blockIfQueueFull(false)
                .messageRoutingMode(MessageRoutingMode.CustomPartition)
                .messageRouter(new InTurn(Requests.number(request, "messages_in_turn", 1),
                        partitions(request.path("partition_of_key"))));
        JsonNode batch = request.path("batch");
        builder.enableBatching(batch.isObject());
        if (batch.isObject()) {
            builder.batchingMaxMessages((int) Requests.number(batch, "max_messages"))
                    .batchingMaxPublishDelay(Requests.number(batch, "delay_us", 1000), TimeUnit.MICROSECONDS)
                    .roundRobinRouterBatchingPartitionSwitchFrequency(1);
        }
        if (request.hasNonNull("max_pending")) {
            builder.maxPendingMessages((int) Requests.number(request, "max_pending"));
        }
        return builder;
    }

    private static int[] partitions(JsonNode described) {
        int[] partitions = new int[described.size()];
        for (int index = 0; index < partitions.length; index++) {
            partitions[index] = described.get(index).asInt();
        }
        return partitions;
    }

    private void run() {
        for (long number = 0; number < count; number++) {
            long at = startNanos + (instants.isArray() ? instants.get((int) number).asLong() : number * everyNanos);
            for (long left = at - System.nanoTime(); left > 0 && !stopping; left = at - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            if (stopping) {
                return;
            }
            publish(firstSequence + number);
        }
        driver.emit(JsonLines.event("finished", System.nanoTime()).put("producer", name));
    }

    private void publish(long sequence) {
        TypedMessageBuilder<byte[]> message = producer.newMessage().sequenceId(sequence).value(content);
        String key = key(sequence);
        if (key != null) {
            message.key(key);
        }
        long delayMicros = delays.micros(name, sequence);
        if (delayMicros > 0) {
            message.deliverAfter(delayMicros, TimeUnit.MICROSECONDS);
        }
        driver.emit(JsonLines.event("published", System.nanoTime()).put("producer", name).put("sequence", sequence));
        message.sendAsync().whenComplete((id, failed) -> driver.emit(result(sequence, id, failed)));
    }

    /** The key of a message: number {@code sequence % keys} as text, or that element of a list of keys. */
    private String key(long sequence) {
        if (keys.isArray() && !keys.isEmpty()) {
            return keys.get((int) (sequence % keys.size())).asText();
        }
        return keys.isIntegralNumber() && keys.asLong() > 0 ? Long.toString(sequence % keys.asLong()) : null;
    }

    private ObjectNode result(long sequence, MessageId id, Throwable failed) {
        ObjectNode event = JsonLines.event(failed == null ? "receipted" : "send_failed", System.nanoTime())
                .put("producer", name).put("sequence", sequence);
        if (failed != null) {
            return event.put("error", String.valueOf(failed.getMessage()));
        }
        MessageIdAdv position = (MessageIdAdv) id;
        event.put("ledger", position.getLedgerId()).put("entry", position.getEntryId());
        if (position.getPartitionIndex() >= 0) {
            event.put("partition", position.getPartitionIndex());
        }
        if (position.getBatchIndex() >= 0) {
            event.put("batch_index", position.getBatchIndex());
        }
        return event;
    }

    /**
     * Chooses partitions so that a simulated run can choose the same.
     *
     * <p>Without a key they take turns from partition 0 on, after {@code messagesInTurn} messages. With a key the
     * list decides if the key is a number in it, else Java's hash as in {@code SinglePartitionMessageRouterImpl}.
     */
    private record InTurn(long messagesInTurn, int[] partitionOfKey) implements MessageRouter {
        @Override
        public int choosePartition(Message<?> message, TopicMetadata topic) {
            if (!message.hasKey()) {
                return (int) (message.getSequenceId() / messagesInTurn % topic.numPartitions());
            }
            String key = message.getKey();
            if (key.matches("\\d{1,9}") && Integer.parseInt(key) < partitionOfKey.length) {
                return partitionOfKey[Integer.parseInt(key)];
            }
            return (key.hashCode() & Integer.MAX_VALUE) % topic.numPartitions();
        }
    }
}
