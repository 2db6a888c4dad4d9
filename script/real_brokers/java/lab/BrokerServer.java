package lab;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.configuration.PulsarConfigurationLoader;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.metadata.bookkeeper.BKCluster;

/**
 * One cluster: a RocksDB metadata store, one bookie and one broker in this process.
 *
 * <p>Started on a folder with data of an earlier process, it continues with these data.
 */
final class BrokerServer implements AutoCloseable {
    static final String HOST = "127.0.0.1";

    private final BKCluster bookies;
    private final PulsarService pulsar;

    BrokerServer(JsonNode request) throws Exception {
        Path folder = Path.of(Requests.text(request, "dir"));
        Files.createDirectories(folder);
        String metadata = "rocksdb://" + folder.resolve("metadata").toAbsolutePath();
        JsonNode ports = Requests.required(request, "ports");
        ServiceConfiguration configuration = configuration(request, ports, metadata);
        bookies = BKCluster.builder()
                .baseServerConfiguration(bookieConfiguration())
                .metadataServiceUri(metadata)
                .bkPort((int) Requests.number(ports, "bookie"))
                .numBookies(1)
                .dataDir(folder.resolve("bookie").toString())
                .clearOldData(false)
                .build();
        pulsar = new PulsarService(configuration);
        pulsar.start();
        registerItself();
    }

    PulsarService pulsar() {
        return pulsar;
    }

    PulsarAdmin admin() throws Exception {
        return pulsar.getAdminClient();
    }

    @Override
    public void close() throws Exception {
        pulsar.close();
        bookies.close();
    }

    /** A data directory that survives a killed process needs no sync to the disk: the kernel keeps what was written. */
    private static ServerConfiguration bookieConfiguration() {
        ServerConfiguration configuration = new ServerConfiguration();
        configuration.setAdvertisedAddress(HOST);
        configuration.setJournalSyncData(false);
        configuration.setLedgerStorageClass("org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage");
        return configuration;
    }

    private static ServiceConfiguration configuration(JsonNode request, JsonNode ports, String metadata)
            throws Exception {
        Map<String, String> settings = new TreeMap<>();
        String broker = Requests.text(ports, "broker");
        settings.put("clusterName", Requests.text(request, "cluster"));
        settings.put("metadataStoreUrl", metadata);
        settings.put("configurationMetadataStoreUrl", metadata);
        settings.put("bindAddress", HOST);
        settings.put("brokerServicePort", broker);
        settings.put("webServicePort", Requests.text(ports, "web"));
        settings.put("internalListenerName", "internal");
        settings.put("advertisedListeners", listeners(request, broker));
        settings.put("brokerEntryMetadataInterceptors", AppendTime.class.getName());
        for (String one : new String[] {"EnsembleSize", "WriteQuorum", "AckQuorum"}) {
            settings.put("managedLedgerDefault" + one, "1");
        }
        settings.put("managedLedgerCacheSizeMB", "64");
        settings.put("bookkeeperNumberOfChannelsPerBookie", "1");
        settings.put("defaultNumberOfNamespaceBundles", "1");
        settings.put("loadBalancerEnabled", "false");
        settings.put("allowAutoTopicCreation", "false");
        settings.put("createTopicToRemoteClusterForReplication", "false");
        settings.put("brokerDeleteInactiveTopicsEnabled", "false");
        settings.put("topicLevelPoliciesEnabled", "false");
        settings.put("systemTopicEnabled", "false");
        settings.put("brokerShutdownTimeoutMs", "3000");
        request.path("settings").fields().forEachRemaining(one -> settings.put(one.getKey(), one.getValue().asText()));
        return loaded(settings);
    }

    /** The listener of clients in this cluster, and one behind a proxy for the brokers of each other cluster. */
    private static String listeners(JsonNode request, String broker) {
        String listeners = "internal:pulsar://" + HOST + ":" + broker;
        StringBuilder all = new StringBuilder(listeners);
        for (JsonNode peer : request.path("listeners")) {
            all.append(',').append(Requests.text(peer, "name")).append(":pulsar://").append(HOST).append(':')
                    .append(Requests.text(peer, "port"));
        }
        return all.toString();
    }

    private static ServiceConfiguration loaded(Map<String, String> settings) throws Exception {
        List<String> known = Arrays.stream(ServiceConfiguration.class.getDeclaredFields())
                .map(java.lang.reflect.Field::getName).toList();
        Properties properties = new Properties();
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            if (!known.contains(setting.getKey())) {
                throw new IllegalArgumentException("this Pulsar has no broker setting " + setting.getKey());
            }
            properties.setProperty(setting.getKey(), setting.getValue());
        }
        return PulsarConfigurationLoader.create(properties, ServiceConfiguration.class);
    }

    /** Namespaces may only name clusters that are registered, also this one. */
    private void registerItself() throws Exception {
        String name = pulsar.getConfiguration().getClusterName();
        if (!admin().clusters().getClusters().contains(name)) {
            admin().clusters().createCluster(name, ClusterData.builder()
                    .serviceUrl(pulsar.getWebServiceAddress())
                    .brokerServiceUrl(pulsar.getBrokerServiceUrl())
                    .build());
        }
    }
}
