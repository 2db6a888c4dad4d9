package lab;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.intercept.BrokerEntryMetadataInterceptor;

/**
 * Writes the instant of the append, in nanoseconds of {@link System#nanoTime()}, into each entry.
 *
 * <p>It uses the field {@code broker_timestamp}. Message expiry and a seek to an instant would take it for the wall
 * clock, so the driver plays neither. The field {@code index} is no alternative: a broker that loads a topic with it
 * requires Pulsar's own {@code AppendIndexMetadataInterceptor}, of which it makes a new instance for each topic.
 */
public final class AppendTime implements BrokerEntryMetadataInterceptor {
    private final AtomicLong last = new AtomicLong();

    @Override
    public BrokerEntryMetadata intercept(BrokerEntryMetadata metadata) {
        return interceptWithNumberOfMessages(metadata, 1);
    }

    @Override
    public BrokerEntryMetadata interceptWithNumberOfMessages(BrokerEntryMetadata metadata, int messages) {
        return metadata.setBrokerTimestamp(last.accumulateAndGet(System.nanoTime(), Math::max));
    }
}
