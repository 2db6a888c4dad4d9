package lab;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;

/** One watched topic: its state when it was last read, and events about what has changed since. */
final class WatchedTopic {
    private static final int PROBLEMS_LOGGED = 20;

    /** The name that the driver uses; events have it. */
    final String name;
    /** Acks that reached the broker; a cursor may have changed when it grows. */
    final AtomicLong acks = new AtomicLong();

    private final String fullName;
    private final Map<String, Boolean> replicators = new HashMap<>();
    private final Map<String, WatchedSubscription> subscriptions = new HashMap<>();
    private Boolean controller;
    private int problems;

    WatchedTopic(String name, String fullName) {
        this.name = name;
        this.fullName = fullName;
    }

    ObjectNode event(String kind, long t) {
        return JsonLines.event(kind, t).put("topic", name);
    }

    void poll(BrokerService brokers, JsonLines driver) {
        PersistentTopic topic = brokers.getTopicReference(fullName)
                .filter(PersistentTopic.class::isInstance).map(PersistentTopic.class::cast).orElse(null);
        pollController(topic, driver);
        pollReplicators(topic, driver);
        if (topic == null) {
            subscriptions.values().forEach(one -> one.unloaded(driver));
            return;
        }
        topic.getSubscriptions().forEach((name, subscription) ->
                subscriptions.computeIfAbsent(name, key -> new WatchedSubscription(this, key))
                        .poll(subscription, driver));
    }

    void readAgain(RuntimeException problem) {
        if (problems++ < PROBLEMS_LOGGED) {
            System.err.println("the state of " + name + " changed while it was read: " + problem);
        }
    }

    private void pollController(PersistentTopic topic, JsonLines driver) {
        boolean present = topic != null && topic.getReplicatedSubscriptionController().isPresent();
        if (controller == null && !present) {
            controller = false;
        } else if (controller == null || controller != present) {
            ObjectNode event = event("controller", System.nanoTime()).put("state", present ? "started" : "stopped");
            if (controller == null) {
                event.put("before_watch", true);
            }
            controller = present;
            driver.emit(event);
        }
    }

    private void pollReplicators(PersistentTopic topic, JsonLines driver) {
        Set<String> gone = new HashSet<>(replicators.keySet());
        if (topic != null) {
            topic.getReplicators().forEach((peer, replicator) -> {
                gone.remove(peer);
                connected(peer, replicator.isConnected(), driver);
            });
        }
        gone.forEach(peer -> connected(peer, false, driver));
    }

    private void connected(String peer, boolean now, JsonLines driver) {
        Boolean before = replicators.put(peer, now);
        if (before == null ? now : before != now) {
            driver.emit(event("replicator", System.nanoTime()).put("peer", peer)
                    .put("state", now ? "connected" : "disconnected"));
        }
    }

    /** A set of objects that differ by identity. */
    static <T> Set<T> identitySet() {
        return Collections.newSetFromMap(new IdentityHashMap<>());
    }
}
