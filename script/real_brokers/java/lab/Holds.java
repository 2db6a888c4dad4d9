package lab;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Which messages a consumer keeps unacknowledged after it has processed them, and for how long.
 *
 * <p>A rule is {@code {"messages": ["web/5"], "for_us": 1000}} or {@code {"every": 10, "for_us": 1000}}, which
 * holds sequences 9, 19, 29 and so on. Without {@code for_us} a message is held until it is released.
 */
final class Holds {
    static final long NOT_HELD = -2;
    static final long UNTIL_RELEASED = -1;

    private record Rule(Set<String> messages, long every, long forMicros) {
    }

    private final List<Rule> rules = new ArrayList<>();

    Holds(JsonNode described) {
        for (JsonNode one : described) {
            Set<String> messages = new HashSet<>();
            one.path("messages").forEach(message -> messages.add(message.asText()));
            rules.add(new Rule(messages, Requests.number(one, "every", 0),
                    Requests.number(one, "for_us", UNTIL_RELEASED)));
        }
    }

    /** Microseconds for which the message is held, {@link #UNTIL_RELEASED} or {@link #NOT_HELD}. */
    long micros(String producer, long sequence) {
        for (Rule rule : rules) {
            if (rule.messages.contains(producer + "/" + sequence)
                    || rule.every > 0 && sequence % rule.every == rule.every - 1) {
                return rule.forMicros;
            }
        }
        return NOT_HELD;
    }
}
