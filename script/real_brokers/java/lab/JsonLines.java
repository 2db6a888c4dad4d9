package lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The conversation with the driver: JSON lines on standard input and output.
 *
 * <p>Each request runs in a thread of its own, so a slow one does not delay others. Answers and events are
 * written by one thread in the order in which they were given to it. Standard output is used for nothing else:
 * whatever a library prints goes to standard error.
 */
final class JsonLines {
    static final ObjectMapper MAPPER = new ObjectMapper();

    /** What does a request; its result has the fields of the answer. */
    interface Handler {
        ObjectNode handle(JsonNode request) throws Exception;
    }

    private final Map<String, Handler> handlers = new ConcurrentHashMap<>();
    private final LinkedBlockingQueue<ObjectNode> lines = new LinkedBlockingQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "request");
        thread.setDaemon(true);
        return thread;
    });
    private final Thread writer;

    /** Takes standard output for this conversation. */
    JsonLines() {
        PrintStream output = System.out;
        System.setOut(System.err);
        writer = new Thread(() -> write(output), "answers-and-events");
        writer.setDaemon(true);
        writer.start();
    }

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    /** A new event of this kind at the instant {@code t}, nanoseconds of {@link System#nanoTime()}. */
    static ObjectNode event(String kind, long t) {
        return object().put("e", kind).put("t", t);
    }

    void on(String name, Handler handler) {
        handlers.put(name, handler);
    }

    void emit(ObjectNode event) {
        lines.add(event);
    }

    /** Read requests until standard input ends. */
    void readUntilEnd() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode request = MAPPER.readTree(line);
            threads.execute(() -> answer(request));
        }
    }

    /** Wait until everything that was emitted is written, at most one second. */
    void finish() throws InterruptedException {
        lines.add(object());
        writer.join(1000);
    }

    private void answer(JsonNode request) {
        String name = request.path("do").asText();
        ObjectNode answer;
        try {
            Handler handler = handlers.get(name);
            if (handler == null) {
                throw new IllegalArgumentException(
                        "there is no request " + name + "; there are " + new java.util.TreeSet<>(handlers.keySet()));
            }
            answer = handler.handle(request);
            if (answer == null) {
                answer = object();
            }
            answer.put("ok", true);
        } catch (Throwable problem) {
            System.err.println("request " + request + " failed");
            problem.printStackTrace();
            answer = object().put("ok", false).put("error", textOf(problem));
        }
        answer.set("id", request.get("id"));
        lines.add(answer);
    }

    /** The messages of a problem and of its causes, without repetition. */
    private static String textOf(Throwable problem) {
        StringBuilder text = new StringBuilder();
        for (Throwable one = problem; one != null; one = one.getCause()) {
            String message = one.getClass().getSimpleName() + ": " + one.getMessage();
            if (text.length() == 0) {
                text.append(message);
            } else if (one.getMessage() != null && text.indexOf(one.getMessage()) < 0) {
                text.append("; caused by ").append(message);
            }
        }
        return text.toString();
    }

    private void write(PrintStream output) {
        try (BufferedWriter out = new BufferedWriter(new OutputStreamWriter(output, StandardCharsets.UTF_8), 1 << 16)) {
            while (true) {
                ObjectNode line = lines.take();
                if (line.isEmpty()) {
                    return;
                }
                out.write(MAPPER.writeValueAsString(line));
                out.write('\n');
                if (lines.isEmpty()) {
                    out.flush();
                }
            }
        } catch (IOException | InterruptedException problem) {
            System.err.println("the driver no longer reads: " + problem);
        }
    }
}
