package lab;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.persistent.PersistentSubscription;

/**
 * The positions of the snapshots that a replicated subscription has cached.
 *
 * <p>{@code ReplicatedSubscriptionSnapshotCache} keeps a list of entries in 4.1 and later, and a map by position
 * before; both are private, so they are read by reflection.
 */
final class SnapshotCacheReader {
    private SnapshotCacheReader() {
    }

    /** [ledger, entry] of each cached snapshot, in order; null if this version has another form of the cache. */
    static List<long[]> positions(PersistentSubscription subscription) {
        try {
            Object cache = field(PersistentSubscription.class, "replicatedSubscriptionSnapshotCache").get(subscription);
            if (cache == null) {
                return List.of();
            }
            List<long[]> positions = new ArrayList<>();
            synchronized (cache) {
                for (Position position : positionsOf(cache)) {
                    positions.add(new long[] {position.getLedgerId(), position.getEntryId()});
                }
            }
            return positions;
        } catch (ReflectiveOperationException otherVersion) {
            return null;
        }
    }

    private static List<Position> positionsOf(Object cache) throws ReflectiveOperationException {
        List<Position> positions = new ArrayList<>();
        for (Method method : cache.getClass().getDeclaredMethods()) {
            if (method.getName().equals("getSnapshots") && method.getParameterCount() == 0) {
                method.setAccessible(true);
                for (Object entry : (Collection<?>) method.invoke(cache)) {
                    Method position = entry.getClass().getDeclaredMethod("position");
                    position.setAccessible(true);
                    positions.add((Position) position.invoke(entry));
                }
                return positions;
            }
        }
        ((Map<?, ?>) field(cache.getClass(), "snapshots").get(cache)).keySet()
                .forEach(position -> positions.add((Position) position));
        return positions;
    }

    private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
