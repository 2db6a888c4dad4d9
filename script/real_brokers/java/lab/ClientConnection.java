package lab;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.impl.ClientCnx;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;

/** One application's Pulsar client: its own connections, which can end as if its process had been killed. */
final class ClientConnection {
    private final PulsarClientImpl client;

    ClientConnection(SharedThreads threads, String url, JsonNode request) throws PulsarClientException {
        ClientConfigurationData configuration = new ClientConfigurationData();
        configuration.setServiceUrl(url);
        configuration.setStatsIntervalSeconds(0);
        if (request.hasNonNull("initial_backoff_us")) {
            configuration.setInitialBackoffIntervalNanos(
                    TimeUnit.MICROSECONDS.toNanos(Requests.number(request, "initial_backoff_us")));
        }
        if (request.hasNonNull("max_backoff_us")) {
            configuration.setMaxBackoffIntervalNanos(
                    TimeUnit.MICROSECONDS.toNanos(Requests.number(request, "max_backoff_us")));
        }
        client = threads.newClient(configuration);
    }

    PulsarClientImpl client() {
        return client;
    }

    void close() throws PulsarClientException {
        client.close();
    }

    /**
     * End without a word to the broker, as a killed process: close the sockets, and never connect again.
     *
     * <p>{@code handlers} are the consumers or producers of this client, whose state becomes Closed first, so
     * that nothing waiting in an ack group is sent and nothing reconnects.
     */
    void kill(Object... handlers) throws Exception {
        for (Object handler : handlers) {
            setClosed(handler);
        }
        for (CompletableFuture<ClientCnx> connection : client.getCnxPool().getConnections()) {
            if (connection.isDone() && !connection.isCompletedExceptionally()) {
                connection.join().ctx().channel().close();
            }
        }
        client.shutdown();
    }

    private static void setClosed(Object handler) throws ReflectiveOperationException {
        Class<?> type = handler.getClass();
        while (!type.getSimpleName().equals("HandlerState")) {
            type = type.getSuperclass();
        }
        Class<?> states = Class.forName("org.apache.pulsar.client.impl.HandlerState$State");
        Method setState = type.getDeclaredMethod("setState", states);
        setState.setAccessible(true);
        for (Object state : states.getEnumConstants()) {
            if (state.toString().equals("Closed")) {
                setState.invoke(handler, state);
            }
        }
    }
}
