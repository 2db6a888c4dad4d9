package lab;

import io.netty.buffer.ByteBuf;
import java.util.List;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.intercept.BrokerInterceptor;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.ServerCnx;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.CommandAck;
import org.apache.pulsar.common.api.proto.MessageIdData;

/** Emits an event for each message that is dispatched and each ack that reaches the broker. */
final class BrokerEvents implements BrokerInterceptor {
    private final WatchList watched;
    private final JsonLines driver;

    BrokerEvents(WatchList watched, JsonLines driver) {
        this.watched = watched;
        this.driver = driver;
    }

    @Override
    public void messageDispatched(ServerCnx connection, Consumer consumer, long ledger, long entry, ByteBuf message) {
        long now = System.nanoTime();
        WatchedTopic topic = topicOf(consumer);
        if (topic != null) {
            driver.emit(topic.event("dispatched", now).put("subscription", consumer.getSubscription().getName())
                    .put("consumer", consumer.consumerName()).put("ledger", ledger).put("entry", entry));
        }
    }

    @Override
    public void messageAcked(ServerCnx connection, Consumer consumer, CommandAck ack) {
        long now = System.nanoTime();
        WatchedTopic topic = topicOf(consumer);
        if (topic == null) {
            return;
        }
        topic.acks.incrementAndGet();
        String type = ack.getAckType() == CommandAck.AckType.Cumulative ? "cumulative" : "individual";
        List<MessageIdData> acked = ack.getMessageIdsList();
        for (MessageIdData id : acked) {
            var event = topic.event("ack", now).put("subscription", consumer.getSubscription().getName())
                    .put("consumer", consumer.consumerName())
                    .put("ledger", id.getLedgerId()).put("entry", id.getEntryId()).put("type", type);
            if (id.getAckSetsCount() > 0) {
                event.put("part_of_batch", true);
            }
            driver.emit(event);
        }
    }

    private WatchedTopic topicOf(Consumer consumer) {
        return watched.get(consumer.getSubscription().getTopicName());
    }

    @Override
    public void onPulsarCommand(BaseCommand command, ServerCnx connection) {
    }

    @Override
    public void onConnectionClosed(ServerCnx connection) {
    }

    @Override
    public void onWebserviceRequest(ServletRequest request) {
    }

    @Override
    public void onWebserviceResponse(ServletRequest request, ServletResponse response) {
    }

    @Override
    public void initialize(PulsarService pulsar) {
    }

    @Override
    public void close() {
    }
}
