package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The program of one cluster: it starts a broker with its bookie and does what the driver asks for.
 *
 * <p>It ends when its standard input ends: at once while the broker starts, else in order if that takes less than
 * {@value #CLOSE_MS} milliseconds.
 */
public final class BrokerProcess {
    private static final long CLOSE_MS = 15_000;

    private final JsonLines driver = new JsonLines();
    private BrokerServer server;
    private Administration administration;
    private WatchList watched;
    private volatile boolean starting;

    private BrokerProcess() {
        driver.on("start", this::start);
        driver.on("close", request -> {
            close();
            return null;
        });
        driver.on("cluster.create", request -> administration().createCluster(request));
        driver.on("namespace.create", request -> administration().createNamespace(request));
        driver.on("topic.create", request -> administration().createTopic(request));
        driver.on("topic.unload", request -> administration().unloadTopic(request));
        driver.on("replicators.wait", request -> administration().waitForReplicators(request));
        driver.on("subscription.replicate", request -> administration().replicateSubscription(request));
        driver.on("subscription.reset", request -> administration().resetSubscription(request));
        driver.on("setting.change", request -> administration().changeSetting(request));
        driver.on("stats", request -> administration().stats(request));
        driver.on("dump", this::dump);
        driver.on("watch", request -> {
            administration();
            watched.add(Requests.texts(request, "topics"));
            return null;
        });
        driver.on("unwatch", request -> {
            administration();
            watched.remove(Requests.texts(request, "topics"));
            return null;
        });
    }

    /** Runs until standard input ends. */
    public static void main(String[] arguments) throws Exception {
        BrokerProcess process = new BrokerProcess();
        process.driver.readUntilEnd();
        Ending.haltAfter(process.starting ? 0 : CLOSE_MS);
        process.close();
        process.driver.finish();
        Runtime.getRuntime().halt(0);
    }

    private synchronized ObjectNode start(JsonNode request) throws Exception {
        if (server != null) {
            throw new IllegalStateException("the broker of this process was started before");
        }
        long begin = System.nanoTime();
        starting = true;
        server = new BrokerServer(request);
        watched = new WatchList(server.pulsar().getBrokerService(), driver);
        server.pulsar().getBrokerService().setInterceptor(new BrokerEvents(watched, driver));
        administration = new Administration(server.pulsar(), server.admin());
        starting = false;
        return JsonLines.object().put("ready_ms", (System.nanoTime() - begin) / 1_000_000);
    }

    private synchronized Administration administration() {
        if (administration == null) {
            throw new IllegalStateException("the broker has not been started; the first request is start");
        }
        return administration;
    }

    private ObjectNode dump(JsonNode request) throws Exception {
        ObjectNode answer = JsonLines.object();
        answer.set("entries", LogDump.of(administration().load(Requests.text(request, "topic")).getManagedLedger()));
        return answer;
    }

    private synchronized void close() throws Exception {
        if (server != null) {
            server.close();
            server = null;
            administration = null;
        }
    }
}
