package lab;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Reads the fields of a request; a missing one is an error that names it. */
final class Requests {
    private Requests() {
    }

    static String text(JsonNode request, String field) {
        return required(request, field).asText();
    }

    static long number(JsonNode request, String field) {
        JsonNode value = required(request, field);
        if (!value.isIntegralNumber()) {
            throw new IllegalArgumentException("field " + field + " must be a whole number, not " + value);
        }
        return value.asLong();
    }

    static long number(JsonNode request, String field, long otherwise) {
        return request.hasNonNull(field) ? number(request, field) : otherwise;
    }

    static List<String> texts(JsonNode request, String field) {
        List<String> texts = new ArrayList<>();
        for (JsonNode one : required(request, field)) {
            texts.add(one.asText());
        }
        return texts;
    }

    static JsonNode required(JsonNode request, String field) {
        if (!request.hasNonNull(field)) {
            throw new IllegalArgumentException(
                    "the request " + request.path("do").asText() + " needs a field " + field);
        }
        return request.get(field);
    }
}
