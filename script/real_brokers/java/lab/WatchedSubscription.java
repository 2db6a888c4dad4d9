package lab;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.persistent.PersistentSubscription;

/** One subscription of a watched topic: cursor, consumers and cached snapshots when they were last read. */
final class WatchedSubscription {
    private static final int CACHE_EVERY_POLLS = 10;

    private final WatchedTopic topic;
    private final String name;
    private final Set<Consumer> consumers = WatchedTopic.identitySet();
    private Position markDeleted;
    private int rangeCount;
    private long acksRead = -1;
    private String ranges = "";
    private List<long[]> snapshots = List.of();
    private int polls;

    WatchedSubscription(WatchedTopic topic, String name) {
        this.topic = topic;
        this.name = name;
    }

    void poll(PersistentSubscription subscription, JsonLines driver) {
        pollConsumers(subscription, driver);
        pollCursor(subscription.getCursor(), driver);
        if (polls++ % CACHE_EVERY_POLLS == 0) {
            pollCache(subscription, driver);
        }
    }

    /** The topic is not loaded: nobody is connected and nothing is cached. */
    void unloaded(JsonLines driver) {
        consumers.forEach(consumer -> driver.emit(consumerEvent(consumer, "disconnected")));
        consumers.clear();
        snapshots = List.of();
    }

    private ObjectNode event(String kind) {
        return topic.event(kind, System.nanoTime()).put("subscription", name);
    }

    private ObjectNode consumerEvent(Consumer consumer, String state) {
        return event("consumer").put("consumer", consumer.consumerName()).put("state", state);
    }

    private void pollConsumers(PersistentSubscription subscription, JsonLines driver) {
        List<Consumer> now = subscription.getConsumers();
        if (now.isEmpty() && consumers.isEmpty()) {
            return;
        }
        Set<Consumer> gone = WatchedTopic.identitySet();
        for (Consumer consumer : consumers) {
            if (now.stream().noneMatch(one -> one == consumer)) {
                gone.add(consumer);
            }
        }
        for (Consumer consumer : gone) {
            consumers.remove(consumer);
            driver.emit(consumerEvent(consumer, "disconnected"));
        }
        for (Consumer consumer : now) {
            if (consumers.add(consumer)) {
                driver.emit(consumerEvent(consumer, "connected"));
            }
        }
    }

    private void pollCursor(ManagedCursor cursor, JsonLines driver) {
        long acks = topic.acks.get();
        Position position = cursor.getMarkDeletedPosition();
        int count = cursor.getTotalNonContiguousDeletedMessagesRange();
        if (position == null || position.equals(markDeleted) && count == rangeCount && acks == acksRead) {
            return;
        }
        String text = count == 0 || !(cursor instanceof ManagedCursorImpl known) ? ""
                : known.getIndividuallyDeletedMessages();
        boolean changed = !position.equals(markDeleted) || !text.equals(ranges);
        markDeleted = position;
        rangeCount = count;
        acksRead = acks;
        ranges = text;
        if (changed) {
            DeletedRanges deleted = DeletedRanges.parse(text);
            ObjectNode event = event("cursor").put("ledger", position.getLedgerId())
                    .put("entry", position.getEntryId()).put("individually_deleted", deleted.count());
            event.set("ranges", deleted.asJson());
            driver.emit(event);
        }
    }

    private void pollCache(PersistentSubscription subscription, JsonLines driver) {
        List<long[]> now = SnapshotCacheReader.positions(subscription);
        if (now == null || same(now, snapshots)) {
            return;
        }
        snapshots = now;
        ObjectNode event = event("cache");
        var list = event.putArray("snapshots");
        now.forEach(one -> list.addArray().add(one[0]).add(one[1]));
        driver.emit(event);
    }

    private static boolean same(List<long[]> one, List<long[]> other) {
        if (one.size() != other.size()) {
            return false;
        }
        for (int index = 0; index < one.size(); index++) {
            if (!java.util.Arrays.equals(one.get(index), other.get(index))) {
                return false;
            }
        }
        return true;
    }
}
