package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.MultiTopicsConsumerImpl;

/**
 * An application that receives, processes and acknowledges one message at a time, in a thread of its own.
 *
 * <p>A held message has been processed and is acknowledged later; the messages after it go on.
 */
final class LabConsumer {
    private final String name;
    private final JsonLines driver;
    private final SharedThreads threads;
    private final ClientConnection connection;
    private final Consumer<byte[]> consumer;
    private final String acknowledge;
    private final Holds negative;
    private final Set<String> negativelyAcknowledged;
    private final Map<MessageId, Message<byte[]>> held = new ConcurrentHashMap<>();
    private final Thread thread;
    private volatile Holds holds;
    private volatile long[] processingNanos = {};
    private int processed;
    private boolean paused;
    private volatile boolean stopping;
    private volatile boolean killed;
    private volatile boolean receiving;

    /**
     * Connects the consumer.
     *
     * @param negativelyAcknowledged the messages that the application of this name has negatively acknowledged
     *     in any of its processes: each of them once
     */
    LabConsumer(JsonNode request, String url, SharedThreads threads, JsonLines driver,
            Set<String> negativelyAcknowledged) throws Exception {
        this.driver = driver;
        this.threads = threads;
        this.negativelyAcknowledged = negativelyAcknowledged;
        name = Requests.text(request, "name");
        acknowledge = request.path("acknowledge").asText("individual");
        negative = new Holds(request.path("negative"));
        change(request);
        connection = new ClientConnection(threads, url, request);
        try {
            consumer = builder(request).subscribe();
        } catch (PulsarClientException refused) {
            connection.close();
            throw refused;
        }
        driver.emit(JsonLines.event("connected", System.nanoTime()).put("consumer", name));
        thread = new Thread(this::run, "consumer-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Change the processing time (one, or several in turn) or which messages are held from now on. */
    void change(JsonNode request) {
        JsonNode given = request.path("processing_us");
        if (given.isArray() && !given.isEmpty()) {
            long[] inTurn = new long[given.size()];
            for (int index = 0; index < inTurn.length; index++) {
                inTurn[index] = TimeUnit.MICROSECONDS.toNanos(given.get(index).asLong());
            }
            processingNanos = inTurn;
        } else if (given.isIntegralNumber() || processingNanos.length == 0) {
            processingNanos = new long[] {TimeUnit.MICROSECONDS.toNanos(given.asLong(0))};
        }
        if (request.has("holds") || holds == null) {
            holds = new Holds(request.path("holds"));
        }
    }

    /** Take no more messages, or take them again; the consumer stays connected and its queue fills. */
    synchronized void pause(boolean on) {
        paused = on;
        notifyAll();
    }

    private synchronized void waitWhilePaused() throws InterruptedException {
        while (paused) {
            wait();
        }
    }

    /** Acknowledge all held messages. */
    void release() {
        held.values().forEach(this::acknowledgeHeld);
    }

    /** Finish the message at work, send what the ack group contains, and close. */
    void close() throws Exception {
        stopping = true;
        if (receiving) {
            thread.interrupt();
        }
        thread.join();
        consumer.close();
        connection.close();
        driver.emit(JsonLines.event("disconnected", System.nanoTime()).put("consumer", name));
    }

    /** End as a killed process: its ack group is lost, and the broker only notices the closed connection. */
    void kill() throws Exception {
        killed = true;
        stopping = true;
        if (consumer instanceof MultiTopicsConsumerImpl<?> multi) {
            Object[] all = multi.getConsumers().toArray(Object[]::new);
            connection.kill(all);
            connection.kill(multi);
        } else {
            connection.kill(consumer);
        }
        driver.emit(JsonLines.event("disconnected", System.nanoTime()).put("consumer", name).put("killed", true));
        thread.interrupt();
    }

    private ConsumerBuilder<byte[]> builder(JsonNode request) {
        boolean earliest = request.path("initial").asText("latest").equals("earliest");
        ConsumerBuilder<byte[]> builder = connection.client().newConsumer()
                .topic(Requests.text(request, "topic"))
                .subscriptionName(Requests.text(request, "subscription"))
                .consumerName(name)
                .subscriptionType(type(request.path("type").asText("exclusive")))
                .replicateSubscriptionState(request.path("replicated").asBoolean(false))
                .subscriptionInitialPosition(
                        earliest ? SubscriptionInitialPosition.Earliest : SubscriptionInitialPosition.Latest)
                .receiverQueueSize((int) Requests.number(request, "receiver_queue", 1000))
                .acknowledgmentGroupTime(Requests.number(request, "ack_group_us", 100_000), TimeUnit.MICROSECONDS)
                .enableBatchIndexAcknowledgment(request.path("batch_index_acks").asBoolean(false))
                .ackTimeout(Requests.number(request, "ack_timeout_ms", 0), TimeUnit.MILLISECONDS);
        if (request.hasNonNull("ack_group_size")) {
            builder.maxAcknowledgmentGroupSize((int) Requests.number(request, "ack_group_size"));
        }
        if (request.hasNonNull("priority")) {
            builder.priorityLevel((int) Requests.number(request, "priority"));
        }
        if (request.hasNonNull("negative_ack_delay_us")) {
            builder.negativeAckRedeliveryDelay(
                    Requests.number(request, "negative_ack_delay_us"), TimeUnit.MICROSECONDS);
        }
        return builder;
    }

    private static SubscriptionType type(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "exclusive" -> SubscriptionType.Exclusive;
            case "shared" -> SubscriptionType.Shared;
            case "failover" -> SubscriptionType.Failover;
            case "key_shared" -> SubscriptionType.Key_Shared;
            default -> throw new IllegalArgumentException("type must be exclusive, shared, failover or key_shared, "
                    + "not " + name);
        };
    }

    private void run() {
        while (!stopping) {
            Message<byte[]> message;
            try {
                receiving = true;
                waitWhilePaused();
                message = consumer.receive();
                waitWhilePaused();
            } catch (InterruptedException closed) {
                return;
            } catch (PulsarClientException ended) {
                if (!stopping) {
                    System.err.println("consumer " + name + " ends: " + ended);
                }
                return;
            } finally {
                receiving = false;
            }
            if (stopping) {
                return;
            }
            work(message);
        }
    }

    private void work(Message<byte[]> message) {
        long received = System.nanoTime();
        driver.emit(about("delivered", received, message).put("redelivery_count", message.getRedeliveryCount()));
        long nanos = processingNanos[processed++ % processingNanos.length];
        for (long left = nanos; left > 0; left = received + nanos - System.nanoTime()) {
            LockSupport.parkNanos(left);
            if (killed) {
                return;
            }
        }
        if (acknowledge.equals("never")) {
            return;
        }
        String producer = message.getProducerName();
        // not by the redelivery count, which an exclusive or failover subscription does not keep
        if (negative.micros(producer, message.getSequenceId()) != Holds.NOT_HELD
                && negativelyAcknowledged.add(producer + "/" + message.getSequenceId())) {
            driver.emit(about("negatively_acknowledged", System.nanoTime(), message));
            consumer.negativeAcknowledge(message);
            return;
        }
        long micros = holds.micros(producer, message.getSequenceId());
        if (micros == Holds.NOT_HELD) {
            acknowledge(message);
            return;
        }
        held.put(message.getMessageId(), message);
        if (micros != Holds.UNTIL_RELEASED) {
            threads.later(() -> acknowledgeHeld(message), TimeUnit.MICROSECONDS.toNanos(micros));
        }
    }

    private void acknowledgeHeld(Message<byte[]> message) {
        if (!stopping && held.remove(message.getMessageId()) != null) {
            acknowledge(message);
        }
    }

    private void acknowledge(Message<byte[]> message) {
        if (killed) {
            return;
        }
        driver.emit(about("acknowledged", System.nanoTime(), message).put("type", acknowledge));
        if (acknowledge.equals("cumulative")) {
            consumer.acknowledgeCumulativeAsync(message);
        } else {
            consumer.acknowledgeAsync(message);
        }
    }

    private ObjectNode about(String kind, long t, Message<byte[]> message) {
        MessageIdAdv id = (MessageIdAdv) message.getMessageId();
        ObjectNode event = JsonLines.event(kind, t).put("consumer", name)
                .put("producer", message.getProducerName()).put("sequence", message.getSequenceId())
                .put("ledger", id.getLedgerId()).put("entry", id.getEntryId());
        if (id.getPartitionIndex() >= 0) {
            event.put("partition", id.getPartitionIndex());
        }
        if (id.getBatchIndex() >= 0) {
            event.put("batch_index", id.getBatchIndex());
        }
        return event;
    }
}
