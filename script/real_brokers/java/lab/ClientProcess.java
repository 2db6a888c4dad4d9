package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The program with all producers and consumers of the rig, which survives crashes of brokers.
 *
 * <p>It ends when its standard input ends, without closing the clients.
 */
public final class ClientProcess {
    private final JsonLines driver = new JsonLines();
    private final SharedThreads threads = new SharedThreads();
    private final Map<String, String> urls = new ConcurrentHashMap<>();
    private final Map<String, LabProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, LabConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Set<String>> negativelyAcknowledged = new ConcurrentHashMap<>();

    private ClientProcess() {
        driver.on("client", request -> {
            urls.put(Requests.text(request, "cluster"), Requests.text(request, "url"));
            return null;
        });
        driver.on("producer", this::startProducer);
        driver.on("producer.start", request -> {
            found(producers, request, "producer").start(Requests.number(request, "start_ns"));
            return null;
        });
        driver.on("producer.stop", request -> {
            taken(producers, request, "producer").stop();
            return null;
        });
        driver.on("producer.kill", request -> {
            taken(producers, request, "producer").kill();
            return null;
        });
        driver.on("consumer", this::startConsumer);
        driver.on("consumer.pause", request -> {
            found(consumers, request, "consumer").pause(true);
            return null;
        });
        driver.on("consumer.resume", request -> {
            found(consumers, request, "consumer").pause(false);
            return null;
        });
        driver.on("consumer.change", request -> {
            found(consumers, request, "consumer").change(request);
            return null;
        });
        driver.on("consumer.release", request -> {
            found(consumers, request, "consumer").release();
            return null;
        });
        driver.on("consumer.close", request -> {
            taken(consumers, request, "consumer").close();
            return null;
        });
        driver.on("consumer.kill", request -> {
            taken(consumers, request, "consumer").kill();
            return null;
        });
    }

    /** Runs until standard input ends. */
    public static void main(String[] arguments) throws Exception {
        ClientProcess process = new ClientProcess();
        process.driver.readUntilEnd();
        process.driver.finish();
        Runtime.getRuntime().halt(0);
    }

    private ObjectNode startProducer(JsonNode request) throws Exception {
        String name = Requests.text(request, "name");
        refuseSecond(producers, name, "producer");
        producers.put(name, new LabProducer(request, url(request), threads, driver));
        return null;
    }

    private ObjectNode startConsumer(JsonNode request) throws Exception {
        String name = Requests.text(request, "name");
        refuseSecond(consumers, name, "consumer");
        Set<String> earlier = negativelyAcknowledged.computeIfAbsent(name, key -> ConcurrentHashMap.newKeySet());
        consumers.put(name, new LabConsumer(request, url(request), threads, driver, earlier));
        return null;
    }

    private String url(JsonNode request) {
        String url = urls.get(Requests.text(request, "cluster"));
        if (url == null) {
            throw new IllegalArgumentException("no client request has given the address of the cluster "
                    + Requests.text(request, "cluster"));
        }
        return url;
    }

    private static void refuseSecond(Map<String, ?> clients, String name, String noun) {
        if (clients.containsKey(name)) {
            throw new IllegalArgumentException("there is already a " + noun + " " + name + "; stop it first");
        }
    }

    private static <T> T found(Map<String, T> clients, JsonNode request, String noun) {
        return existing(clients.get(Requests.text(request, "name")), request, noun);
    }

    private static <T> T taken(Map<String, T> clients, JsonNode request, String noun) {
        return existing(clients.remove(Requests.text(request, "name")), request, noun);
    }

    private static <T> T existing(T client, JsonNode request, String noun) {
        if (client == null) {
            throw new IllegalArgumentException("there is no " + noun + " " + Requests.text(request, "name"));
        }
        return client;
    }
}
