"""The broker's search by publish time is a binary search: reset by time and expiry in a log out of order.

Sources: `OpFindNewest`, `PersistentMessageFinder`, `PersistentMessageExpiryMonitor` of Pulsar 4.2.4. The search is
repeated here from the rows, worded like `OpFindNewest`'s states.
"""

import pytest

from simulator import World, load_scenario_text
from tests.simulator.engine_runs import rows

SECOND = 1_000_000


def world_of(commands, settings="", until="125s", consumer="", every="1s", count=100):
    world = World.from_scenario(
        load_scenario_text(
            "format: 1\nname: case\ntitle: after a link was cut\nfamily: replicated-subscriptions\n"
            f"until: {until}\nclusters: {{a: {{}}, b: {{}}}}\nsettings: {{{settings}}}\n"
            "links: {default: {latency: 40ms}}\ntopics: {t: {clusters: [a, b]}}\n"
            "producers:\n"
            f"  pa: {{topic: t, cluster: a, start: 0s, every: {every}, count: {count}}}\n"
            f"  pb: {{topic: t, cluster: b, start: 500ms, every: {every}, count: {count}}}\n"
            "subscriptions: {s: {topic: t, initialPosition: Earliest}}\n"
            f"consumers: {{c: {{subscription: s, cluster: b{consumer}}}}}\n"
            "commands:\n"
            "  - {at: 20s, do: link.cut, link: a <-> b}\n  - {at: 60s, do: link.heal, link: a <-> b}\n"
            + commands
        )
    )
    world.run()
    return world


def log_of(world, upto_us):
    """(producer, sequence id, published_us) of b's entries, in order, until an instant."""
    return [
        (
            row["producer"],
            row["sequence_id"],
            row["sequence_id"] * SECOND + (500_000 if row["producer"] == "pb" else 0),
        )
        for row in rows(world, "message.stored", cluster="b")
        if row["at_us"] < upto_us
    ]


def op_find_newest(published, instant_us):
    """The place at which OpFindNewest ends in one open ledger, -1 for null."""
    last_place, low, high = len(published) - 1, 0, len(published)
    if published[0] >= instant_us:
        return -1  # checkFirst
    if published[last_place] < instant_us:
        return last_place  # checkLast
    matched = 0
    while True:  # searching
        middle = low + max((high - low) // 2, 1)
        if (low, high) != (0, len(published)) and high <= low:
            return matched
        if published[min(middle, last_place)] < instant_us:
            matched, low = min(middle, last_place), middle
        else:
            high = middle - 1


@pytest.mark.parametrize("second", [5, 15, 25, 33, 40, 50, 58, 70, 99])
def test_a_reset_by_time_continues_where_the_binary_search_ends(second):
    world = world_of(
        f"  - {{at: 110s, do: subscription.reset, subscription: s, cluster: b, time: {second}s}}\n"
    )
    log = log_of(world, 110 * SECOND)
    found = op_find_newest([published for _, _, published in log], second * SECOND)
    again = [
        (row["producer"], row["sequence_id"])
        for row in rows(world, "message.delivered")
        if row["at_us"] >= 110 * SECOND
    ]
    assert again == [(producer, number) for producer, number, _ in log[found + 1 :]]


def test_a_reset_by_time_skips_messages_that_are_newer():
    """By hand: b's log ends with pa/20 to pa/59 after pb/59, so the search for 40 s ends in front of pa/40."""
    world = world_of("  - {at: 110s, do: subscription.reset, subscription: s, cluster: b, time: 40s}\n")
    again = {
        (row["producer"], row["sequence_id"])
        for row in rows(world, "message.delivered")
        if row["at_us"] >= 110 * SECOND
    }
    newer = [one[:2] for one in log_of(world, 110 * SECOND) if one[2] >= 40 * SECOND]
    missed = [one for one in newer if one not in again]
    # pb/40 to pb/59 were stored before the link was healed; the others came while pa's backlog was stored
    assert len(missed) == 32 and {("pb", number) for number in range(40, 60)} <= set(missed)


def test_a_search_before_everything_begins_at_the_first_entry():
    world = world_of("  - {at: 110s, do: subscription.reset, subscription: s, cluster: b, time: 0s}\n")
    again = [row for row in rows(world, "message.delivered") if row["at_us"] >= 110 * SECOND]
    assert len(again) == len(log_of(world, 110 * SECOND))


def test_expiry_passes_messages_that_are_not_expired():
    """The check of 120 s searches for 40 s, too: it expires what the reset above skips."""
    world = world_of(
        "", "ttlDurationDefaultInSeconds: 80, messageExpiryCheckIntervalInMinutes: 1", consumer=", stop: 1s"
    )
    expired = {
        (row["producer"], row["sequence_id"])
        for row in rows(world, "message.expired", cluster="b")
        if row["at_us"] == 120 * SECOND
    }
    log = log_of(world, 120 * SECOND)
    found = op_find_newest([published for _, _, published in log], 40 * SECOND)
    delivered = {(row["producer"], row["sequence_id"]) for row in rows(world, "message.delivered")}
    assert expired == {one[:2] for one in log[: found + 1]} - delivered
    assert len([one for one in log[: found + 1] if one[2] >= 40 * SECOND]) > 20
    assert world.summary()["violations"] == []


def expired_of(world, at_us):
    """(producer, sequence id) of what b's subscription expired at an instant."""
    found = rows(world, "message.expired", cluster="b")
    return {(row["producer"], row["sequence_id"]) for row in found if row["at_us"] == at_us}


def test_expiry_before_4_2_searches_only_after_the_mark_delete():
    """The consumer acks until 70 s. From there the search takes other halves than over the whole log."""
    settings = "ttlDurationDefaultInSeconds: 80, messageExpiryCheckIntervalInMinutes: 1"
    whole = world_of("", settings, consumer=", stop: 70s")
    active = world_of("options: {expirySearchRange: active-entries}\n", settings, consumer=", stop: 70s")
    log = log_of(active, 120 * SECOND)
    delivered = {(row["producer"], row["sequence_id"]) for row in rows(active, "message.delivered")}
    begin = len(delivered)
    assert {one[:2] for one in log[:begin]} == delivered
    found = op_find_newest([published for _, _, published in log[begin:]], 40 * SECOND)
    assert expired_of(active, 120 * SECOND) == {one[:2] for one in log[begin : begin + found + 1]}
    found = op_find_newest([published for _, _, published in log], 40 * SECOND)
    assert expired_of(whole, 120 * SECOND) == {one[:2] for one in log[begin : found + 1]}
    assert expired_of(active, 120 * SECOND) != expired_of(whole, 120 * SECOND)
    assert active.violations == whole.violations == []


@pytest.mark.parametrize(
    ("searched", "expired_s"), [("all-entries", [60, 60, 60]), ("active-entries", [60, 120, 180])]
)
def test_a_search_of_active_entries_ends_where_nothing_more_is_unacked(searched, expired_s):
    """#20368: all of the log's end is acked, so the search ends at the first entry, and each check expires one."""
    world = World.from_scenario(
        load_scenario_text(
            "format: 1\nname: case\ntitle: three held\nfamily: replicated-subscriptions\nuntil: 200s\n"
            f"options: {{expirySearchRange: {searched}}}\nclusters: {{a: {{}}}}\n"
            "settings: {ttlDurationDefaultInSeconds: 30, messageExpiryCheckIntervalInMinutes: 1}\n"
            "topics: {t: {clusters: [a]}}\n"
            "producers: {p: {topic: t, cluster: a, start: 0s, every: 100ms, count: 50}}\n"
            "subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}\n"
            "consumers: {c: {subscription: s, cluster: a, hold: {messages: [p/0, p/10, p/20]}}}\n"
        )
    )
    world.run()
    assert [row["at_us"] // SECOND for row in rows(world, "message.expired")] == expired_s
    assert world.violations == []


@pytest.mark.parametrize("skew_ms, first", [(1_000, 50), (-1, 50), (60_000, 50)])
def test_ledgers_that_were_closed_before_the_instant_are_left_out(skew_ms, first):
    """In a log in order the range of ledgers changes nothing: the reset continues with the instant's message."""
    world = World.from_scenario(
        load_scenario_text(
            "format: 1\nname: case\ntitle: several ledgers\nfamily: replicated-subscriptions\nuntil: 120s\n"
            "clusters: {a: {}}\nsettings: {managedLedgerMaxEntriesPerLedger: 10, "
            "managedLedgerMinLedgerRolloverTimeMinutes: 0, defaultRetentionTimeInMinutes: 60, "
            f"defaultRetentionSizeInMB: -1, managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis: {skew_ms}}}\n"
            "topics: {t: {clusters: [a]}}\nproducers: {p: {topic: t, cluster: a, start: 0s, every: 1s, count: 100}}\n"
            "subscriptions: {s: {topic: t, initialPosition: Earliest}}\nconsumers: {c: {subscription: s, cluster: a}}\n"
            "commands: [{at: 110s, do: subscription.reset, subscription: s, cluster: a, time: 50s}]\n"
        )
    )
    world.run()
    assert len(rows(world, "ledger.opened")) >= 10
    again = [row["sequence_id"] for row in rows(world, "message.delivered") if row["at_us"] >= 110 * SECOND]
    assert again == list(range(first, 100))


def test_the_range_of_ledgers_hides_what_is_out_of_order_before_it():
    """The last entry of the newest ledger closed before the instant is compared first; newer: the log's start."""
    world = world_of(
        "  - {at: 110s, do: subscription.reset, subscription: s, cluster: b, time: 40s}\n",
        "managedLedgerMaxEntriesPerLedger: 10, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
        "defaultRetentionTimeInMinutes: 60, defaultRetentionSizeInMB: -1, "
        "managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis: 0",
    )
    log = log_of(world, 110 * SECOND)
    closed = [row["at_us"] for row in rows(world, "ledger.closed", cluster="b")]
    before = sum(at_us <= 40 * SECOND for at_us in closed)
    start, end = before * 10 - 1, before * 10 + 9
    published = [published for _, _, published in log]
    found = start + op_find_newest([*published[start : end + 1]], 40 * SECOND)
    again = [
        (row["producer"], row["sequence_id"])
        for row in rows(world, "message.delivered")
        if row["at_us"] >= 110 * SECOND
    ]
    assert again == [one[:2] for one in log[found + 1 :]]
