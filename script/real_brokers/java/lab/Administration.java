package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.admin.Namespaces;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException.ConflictException;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.apache.pulsar.common.policies.data.TenantInfo;
import org.apache.pulsar.common.util.FieldParser;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** The requests that an administrator could make: clusters, namespaces, topics, subscriptions, settings. */
final class Administration {
    private static final long TOPIC_LOAD_S = 60;
    private static final long POLL_MS = 5;

    private final PulsarService pulsar;
    private final PulsarAdmin admin;

    Administration(PulsarService pulsar, PulsarAdmin admin) {
        this.pulsar = pulsar;
        this.admin = admin;
    }

    ObjectNode createCluster(JsonNode request) throws Exception {
        ClusterData.Builder data = ClusterData.builder().brokerServiceUrl(Requests.text(request, "service_url"));
        if (request.hasNonNull("web_url")) {
            data.serviceUrl(Requests.text(request, "web_url"));
        }
        if (request.hasNonNull("listener")) {
            data.listenerName(Requests.text(request, "listener"));
        }
        String name = Requests.text(request, "name");
        if (admin.clusters().getClusters().contains(name)) {
            admin.clusters().updateCluster(name, data.build());
        } else {
            admin.clusters().createCluster(name, data.build());
        }
        return null;
    }

    /**
     * Create a namespace with its tenant, or find it with the same clusters.
     *
     * <p>Without other settings everything is retained, so that a dump contains what was acknowledged too.
     */
    ObjectNode createNamespace(JsonNode request) throws Exception {
        String name = Requests.text(request, "name");
        Set<String> clusters = new LinkedHashSet<>(Requests.texts(request, "clusters"));
        String tenant = name.substring(0, name.indexOf('/'));
        TenantInfo info = TenantInfo.builder().adminRoles(Set.of())
                .allowedClusters(new LinkedHashSet<>(admin.clusters().getClusters())).build();
        if (admin.tenants().getTenants().contains(tenant)) {
            admin.tenants().updateTenant(tenant, info);
        } else {
            admin.tenants().createTenant(tenant, info);
        }
        Namespaces namespaces = admin.namespaces();
        try {
            namespaces.createNamespace(name, clusters);
        } catch (ConflictException exists) {
            Set<String> present = Set.copyOf(namespaces.getNamespaceReplicationClusters(name));
            if (!present.equals(clusters)) {
                throw new IllegalArgumentException("the namespace " + name + " exists with other clusters: "
                        + present + "; use another name for " + clusters);
            }
        }
        namespaces.setRetention(name, new RetentionPolicies(
                (int) Requests.number(request, "retention_minutes", -1),
                (int) Requests.number(request, "retention_size_mb", -1)));
        if (request.hasNonNull("message_ttl_s")) {
            namespaces.setNamespaceMessageTTL(name, (int) Requests.number(request, "message_ttl_s"));
        }
        if (request.hasNonNull("deduplication")) {
            namespaces.setDeduplicationStatus(name, request.get("deduplication").asBoolean());
        }
        return null;
    }

    /** Create a topic or find it, and load it or all its partitions, so that their replicators start. */
    ObjectNode createTopic(JsonNode request) throws Exception {
        String topic = Requests.text(request, "topic");
        int partitions = (int) Requests.number(request, "partitions", 0);
        boolean existed = false;
        try {
            if (partitions == 0) {
                admin.topics().createNonPartitionedTopic(topic);
            } else {
                admin.topics().createPartitionedTopic(topic, partitions);
            }
        } catch (ConflictException exists) {
            existed = true;
        }
        for (String one : partitionsOf(topic)) {
            load(one);
        }
        return JsonLines.object().put("existed", existed);
    }

    ObjectNode waitForReplicators(JsonNode request) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Requests.number(request, "timeout_ms", 60_000));
        List<String> peers = Requests.texts(request, "peers");
        for (String topic : partitionsOf(Requests.text(request, "topic"))) {
            PersistentTopic loaded = load(topic);
            for (String peer : peers) {
                while (!isConnected(loaded, peer)) {
                    if (System.nanoTime() > end) {
                        throw new IllegalStateException("the replicator of " + topic + " to " + peer
                                + " is not connected in time");
                    }
                    Thread.sleep(POLL_MS);
                }
            }
        }
        return null;
    }

    ObjectNode replicateSubscription(JsonNode request) throws Exception {
        admin.topics().setReplicatedSubscriptionStatus(Requests.text(request, "topic"),
                Requests.text(request, "subscription"), Requests.required(request, "on").asBoolean());
        return null;
    }

    /** Reset a cursor; the entry of the request is the first one that is delivered again. */
    ObjectNode resetSubscription(JsonNode request) throws Exception {
        String at = request.path("at").asText("");
        MessageId position;
        if (at.equals("earliest")) {
            position = MessageId.earliest;
        } else if (at.equals("latest")) {
            position = MessageId.latest;
        } else {
            position = new MessageIdImpl(Requests.number(request, "ledger"), Requests.number(request, "entry"),
                    TopicName.get(Requests.text(request, "topic")).getPartitionIndex());
        }
        admin.topics().resetCursor(Requests.text(request, "topic"), Requests.text(request, "subscription"), position);
        return null;
    }

    ObjectNode unloadTopic(JsonNode request) throws Exception {
        admin.topics().unload(Requests.text(request, "topic"));
        return null;
    }

    /** Change a broker setting while it runs; one that is not dynamic only counts where the broker reads it anew. */
    ObjectNode changeSetting(JsonNode request) throws Exception {
        String name = Requests.text(request, "name");
        String value = Requests.required(request, "value").asText();
        boolean dynamic = pulsar.getBrokerService().isDynamicConfiguration(name);
        if (dynamic) {
            admin.brokers().updateDynamicConfiguration(name, value);
        } else {
            Field field = ServiceConfiguration.class.getDeclaredField(name);
            field.setAccessible(true);
            field.set(pulsar.getConfiguration(), FieldParser.value(value, field));
        }
        return JsonLines.object().put("dynamic", dynamic);
    }

    ObjectNode stats(JsonNode request) throws Exception {
        String topic = Requests.text(request, "topic");
        ObjectNode answer = JsonLines.object();
        answer.set("internal", asJson(admin.topics().getInternalStats(topic)));
        answer.set("stats", asJson(admin.topics().getStats(topic)));
        return answer;
    }

    /** The topic itself, or its partitions. */
    List<String> partitionsOf(String topic) throws Exception {
        int partitions = TopicName.get(topic).isPartitioned() ? 0
                : admin.topics().getPartitionedTopicMetadata(topic).partitions;
        if (partitions == 0) {
            return List.of(topic);
        }
        List<String> names = new ArrayList<>();
        for (int number = 0; number < partitions; number++) {
            names.add(TopicName.get(topic).getPartition(number).toString());
        }
        return names;
    }

    PersistentTopic load(String topic) throws Exception {
        String name = TopicName.get(topic).toString();
        admin.lookups().lookupTopic(name);
        Optional<Topic> loaded = pulsar.getBrokerService().getTopic(name, true).get(TOPIC_LOAD_S, TimeUnit.SECONDS);
        if (loaded.isPresent() && loaded.get() instanceof PersistentTopic persistent) {
            return persistent;
        }
        throw new IllegalArgumentException("there is no persistent topic " + name + " in this cluster");
    }

    private static boolean isConnected(PersistentTopic topic, String peer) {
        var replicator = topic.getReplicators().get(peer);
        return replicator != null && replicator.isConnected();
    }

    private static JsonNode asJson(Object value) throws Exception {
        return JsonLines.MAPPER.readTree(ObjectMapperFactory.getMapper().writer().writeValueAsString(value));
    }
}
