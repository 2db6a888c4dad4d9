package lab;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.common.naming.TopicName;

/** The topics about which events are emitted, and the thread that compares their state every millisecond. */
final class WatchList {
    private static final long PERIOD_NS = 1_000_000;

    private final Map<String, WatchedTopic> byFullName = new ConcurrentHashMap<>();
    private final BrokerService brokers;
    private final JsonLines driver;

    WatchList(BrokerService brokers, JsonLines driver) {
        this.brokers = brokers;
        this.driver = driver;
        Thread thread = new Thread(this::poll, "watch");
        thread.setDaemon(true);
        thread.setPriority(Thread.MAX_PRIORITY);
        thread.start();
    }

    void add(List<String> topics) {
        for (String topic : topics) {
            String full = TopicName.get(topic).toString();
            byFullName.computeIfAbsent(full, name -> new WatchedTopic(topic, name));
        }
    }

    void remove(List<String> topics) {
        topics.forEach(topic -> byFullName.remove(TopicName.get(topic).toString()));
    }

    /** The watched topic of this full name, null if it is not watched. */
    WatchedTopic get(String fullName) {
        return byFullName.get(fullName);
    }

    private void poll() {
        long next = System.nanoTime();
        while (true) {
            for (WatchedTopic topic : byFullName.values()) {
                try {
                    topic.poll(brokers, driver);
                } catch (RuntimeException changing) { // the state changed while it was read: read it again
                    topic.readAgain(changing);
                }
            }
            next = Math.max(next + PERIOD_NS, System.nanoTime() + PERIOD_NS / 4);
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }
}
