package lab;

import io.netty.channel.EventLoopGroup;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;
import org.apache.pulsar.client.util.ExecutorProvider;
import org.apache.pulsar.client.util.ScheduledExecutorProvider;
import org.apache.pulsar.common.util.netty.EventLoopUtil;

/**
 * The threads that all clients of this process share; each client has connections of its own.
 *
 * <p>Hundreds of clients with threads of their own would measure the scheduler of the machine.
 */
final class SharedThreads {
    private static final int IO_THREADS = 2;
    private static final int LISTENER_THREADS = 4;
    private static final int TIMER_TICK_MS = 1;

    private final EventLoopGroup eventLoops =
            EventLoopUtil.newEventLoopGroup(IO_THREADS, false, new DefaultThreadFactory("client-io", true));
    private final ExecutorProvider internal = new ExecutorProvider(LISTENER_THREADS, "client-internal");
    private final ExecutorProvider external = new ExecutorProvider(LISTENER_THREADS, "client-external");
    private final ExecutorProvider lookup = new ExecutorProvider(1, "client-lookup");
    private final ScheduledExecutorProvider scheduled = new ScheduledExecutorProvider(1, "client-scheduled");
    private final HashedWheelTimer timer = new HashedWheelTimer(
            new DefaultThreadFactory("client-timer", true), TIMER_TICK_MS, TimeUnit.MILLISECONDS);
    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "held-messages");
        thread.setDaemon(true);
        return thread;
    });

    PulsarClientImpl newClient(ClientConfigurationData configuration) throws PulsarClientException {
        return PulsarClientImpl.builder().conf(configuration).eventLoopGroup(eventLoops).timer(timer)
                .internalExecutorProvider(internal).externalExecutorProvider(external)
                .lookupExecutorProvider(lookup).scheduledExecutorProvider(scheduled).build();
    }

    /** Do something later, in a thread that all consumers share. */
    void later(Runnable work, long delayNanos) {
        later.schedule(work, delayNanos, TimeUnit.NANOSECONDS);
    }
}
