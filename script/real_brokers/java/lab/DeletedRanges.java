package lab;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The individually deleted messages of a cursor, from the text of {@code ManagedCursorImpl}.
 *
 * <p>The text, such as {@code [(3:-1..3:5],(3:7..3:9]]}, is read under the cursor's lock, unlike the ranges.
 */
record DeletedRanges(List<long[]> ranges, long count) {
    private static final int REPORTED = 50;
    private static final Pattern RANGE =
            Pattern.compile("([\\[(])(-?\\d+):(-?\\d+)(?:\\.\\.|‥)(-?\\d+):(-?\\d+)([\\])])");

    static DeletedRanges parse(String text) {
        List<long[]> ranges = new ArrayList<>();
        long count = 0;
        for (Matcher found = RANGE.matcher(text); found.find();) {
            long first = Long.parseLong(found.group(3)) + (found.group(1).equals("(") ? 1 : 0);
            long last = Long.parseLong(found.group(5)) - (found.group(6).equals(")") ? 1 : 0);
            long ledger = Long.parseLong(found.group(2));
            long lastLedger = Long.parseLong(found.group(4));
            ranges.add(new long[] {ledger, first, lastLedger, last});
            count += ledger == lastLedger ? last - first + 1 : last + 1;
        }
        return new DeletedRanges(ranges, count);
    }

    /** First and last deleted entry of each range, {@code [ledger, entry, ledger, entry]}, at most 50 ranges. */
    ArrayNode asJson() {
        ArrayNode list = JsonLines.MAPPER.createArrayNode();
        for (long[] range : ranges.subList(0, Math.min(ranges.size(), REPORTED))) {
            ArrayNode one = list.addArray();
            for (long number : range) {
                one.add(number);
            }
        }
        return list;
    }
}
