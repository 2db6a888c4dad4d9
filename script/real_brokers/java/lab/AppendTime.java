package lab;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor;

/**
 * Writes the instant of the append, in nanoseconds of {@link System#nanoTime()}, into each entry.
 *
 * <p>It uses the field {@code index} of the broker entry metadata, in place of the class that numbers messages. The
 * field {@code broker_timestamp} would be taken for the wall clock by message expiry and by a seek to an instant.
 */
public final class AppendTime extends AppendIndexMetadataInterceptor {
    private final AtomicLong last = new AtomicLong();

    @Override
    public BrokerEntryMetadata intercept(BrokerEntryMetadata metadata) {
        return interceptWithNumberOfMessages(metadata, 1);
    }

    @Override
    public BrokerEntryMetadata interceptWithNumberOfMessages(BrokerEntryMetadata metadata, int messages) {
        return metadata.setIndex(last.accumulateAndGet(System.nanoTime(), Math::max));
    }

    @Override
    public void recoveryIndexGenerator(long index) {
        last.accumulateAndGet(index, Math::max);
    }

    @Override
    public long getIndex() {
        return last.get();
    }

    @Override
    public void decreaseWithNumberOfMessages(int messages) {
        // an entry that was not stored leaves no instant behind
    }
}
