package lab;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.intercept.BrokerEntryMetadataInterceptor;

/**
 * Writes the instant of the append, in nanoseconds of {@link System#nanoTime()}, into each entry.
 *
 * <p>It uses the field {@code index}, which no rule of the broker reads. The field {@code broker_timestamp} would
 * be taken for the wall clock by message expiry and by a seek to an instant.
 */
public final class AppendTime implements BrokerEntryMetadataInterceptor {
    private final AtomicLong last = new AtomicLong();

    @Override
    public BrokerEntryMetadata intercept(BrokerEntryMetadata metadata) {
        return interceptWithNumberOfMessages(metadata, 1);
    }

    @Override
    public BrokerEntryMetadata interceptWithNumberOfMessages(BrokerEntryMetadata metadata, int messages) {
        long now = System.nanoTime();
        return metadata.setIndex(last.accumulateAndGet(now, Math::max));
    }
}
