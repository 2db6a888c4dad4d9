package lab;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.impl.SameAuthParamsLookupAutoClusterFailover;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.CommandConnect;
import org.apache.pulsar.common.api.proto.CommandLookupTopic;
import org.apache.pulsar.common.api.proto.CommandLookupTopicResponse.LookupType;
import org.apache.pulsar.common.api.proto.CommandPing;
import org.apache.pulsar.common.api.proto.ServerError;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.protocol.PulsarDecoder;

/**
 * Prints the states of Pulsar's SameAuthParamsLookupAutoClusterFailover while services change.
 *
 * <p>Arguments: number of services, checkHealthyIntervalMs, failoverThreshold, recoverThreshold,
 * markTopicNotFoundAsAvailable, seconds to run, then changes SECOND:SERVICE:MODE in order. A line is the second and a
 * change, or the second and states, counters and index of the service in use.
 */
final class LookupFailover {
    private static final String HOST = "127.0.0.1";
    private static final int FIRST_PORT = 17650;
    private static final int LARGEST_FRAME = 1 << 23;
    private static final double NS = 1e9;
    private static final NioEventLoopGroup LOOP = new NioEventLoopGroup(2);

    private LookupFailover() {
    }

    /** A service URL. CLOSED refuses connections, SILENT answers no lookup, the others answer as they say. */
    private static final class Service {
        private final int port;
        private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
        private volatile String mode = "OK";
        private Channel server;

        Service(int port) throws Exception {
            this.port = port;
            open();
        }

        private void open() throws Exception {
            server = new ServerBootstrap().group(LOOP).channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        connections.add(channel);
                        channel.pipeline().addLast(
                            new LengthFieldBasedFrameDecoder(LARGEST_FRAME, 0, 4, 0, 4), new Answers(Service.this));
                    }
                }).bind(HOST, port).sync().channel();
        }

        void become(String next) throws Exception {
            String before = mode;
            mode = next;
            if (next.equals("CLOSED")) {
                server.close().sync();
                connections.close().sync();
            } else if (before.equals("CLOSED")) {
                open();
            }
        }
    }

    /** The answers of a service on one connection. */
    private static final class Answers extends PulsarDecoder {
        private final Service service;
        private ChannelHandlerContext context;

        Answers(Service service) {
            this.service = service;
        }

        @Override
        public void channelActive(ChannelHandlerContext active) {
            context = active;
        }

        @Override
        protected void messageReceived(BaseCommand command) {
        }

        @Override
        protected void handleConnect(CommandConnect connect) {
            context.writeAndFlush(Commands.newConnected(connect.getProtocolVersion(), false));
        }

        @Override
        protected void handlePing(CommandPing ping) {
            context.writeAndFlush(Commands.newPong());
        }

        @Override
        protected void handleLookup(CommandLookupTopic lookup) {
            ByteBuf answer = answer(lookup.getRequestId());
            if (answer != null) {
                context.writeAndFlush(answer);
            }
        }

        private ByteBuf answer(long id) {
            String words = "No active broker is available";
            switch (service.mode) {
                case "SILENT":
                    return null;
                case "NOT_READY":
                    return Commands.newLookupErrorResponse(ServerError.ServiceNotReady, words, id);
                case "NOT_READY_ERROR":
                    return Commands.newError(id, ServerError.ServiceNotReady, words);
                case "TOPIC_NOT_FOUND":
                    return Commands.newLookupErrorResponse(ServerError.TopicNotFound, "Namespace not found", id);
                case "METADATA":
                    return Commands.newLookupErrorResponse(ServerError.MetadataError, "missing local cluster", id);
                default:
                    String url = "pulsar://" + HOST + ":" + service.port;
                    return Commands.newLookupResponse(url, null, true, LookupType.Connect, id, false);
            }
        }
    }

    private static String field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return Arrays.stream((Object[]) field.get(owner)).map(Object::toString).collect(Collectors.joining(" "));
    }

    public static void main(String[] given) throws Exception {
        List<Service> services = new ArrayList<>();
        for (int number = 0; number < Integer.parseInt(given[0]); number++) {
            services.add(new Service(FIRST_PORT + number));
        }
        SameAuthParamsLookupAutoClusterFailover provider = SameAuthParamsLookupAutoClusterFailover.builder()
            .pulsarServiceUrlArray(services.stream().map(one -> "pulsar://" + HOST + ":" + one.port).toArray(String[]::new))
            .checkHealthyIntervalMs(Integer.parseInt(given[1]))
            .failoverThreshold(Integer.parseInt(given[2]))
            .recoverThreshold(Integer.parseInt(given[3]))
            .markTopicNotFoundAsAvailable(Boolean.parseBoolean(given[4]))
            .build();
        System.out.println("# " + String.join(" ", Arrays.copyOf(given, 5)));
        long start = System.nanoTime();
        PulsarClient client = PulsarClient.builder().serviceUrlProvider(provider).build();
        String last = "";
        int next = 6;
        double second = 0;
        while (second < Double.parseDouble(given[5])) {
            second = (System.nanoTime() - start) / NS;
            String[] change = next < given.length ? given[next].split(":") : new String[] {"Infinity"};
            if (second >= Double.parseDouble(change[0])) {
                services.get(Integer.parseInt(change[1])).become(change[2]);
                System.out.printf("%.2f set %s %s%n", second, change[1], change[2]);
                next++;
            }
            String now = field(provider, "pulsarServiceStateArray") + "|" + field(provider, "checkCounterArray") + "|"
                + provider.getCurrentPulsarServiceIndex();
            if (!now.equals(last)) {
                System.out.printf("%.2f %s%n", second, now);
                last = now;
            }
            Thread.sleep(2);
        }
        System.exit(0);
    }
}
