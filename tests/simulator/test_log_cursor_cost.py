"""A million entries, every other one acknowledged.

At most 256 KiB a cursor, prints correctly, checkpoints share it.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pyroaring import BitMap

from simulator.log.cursors import Cursor
from simulator.log.ledgers import TopicLog

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = 1_000_000
LIMIT_BYTES = 256 * 1024

# The peak memory of a separate process grows by this much per cursor; bitmaps are allocated outside Python's
# allocator. On Linux `ru_maxrss` begins at the parent's peak, so the kernel's own mark is read there.
PROGRAM = """
import re, resource, sys
from pathlib import Path
from tests.simulator.test_log_cursor_cost import cursor_with_every_other
STATUS = Path("/proc/self/status")
def peak_bytes():
    if STATUS.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", STATUS.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cursor_with_every_other(1000)
before = peak_bytes()
kept = [cursor_with_every_other(1_000_000, persist_every=int(sys.argv[1])) for _ in range(16)]
if sys.argv[2] == "checkpoints":
    checkpoints = [cursor.capture() for cursor in kept for _ in range(1_000)]
print((peak_bytes() - before) // len(kept))
"""


def cursor_with_every_other(entries: int, persist_every: int | None = None) -> Cursor:
    """A cursor on a log of `entries`, every other one acknowledged, persisted after every so many acks."""
    cursor = Cursor()
    for index in range(1, entries, 2):
        cursor.acknowledge(index)
        if persist_every is not None and index % (2 * persist_every) == 1:
            cursor.persist(index)
    return cursor


def bytes_per_cursor(persist_every, extra):
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(persist_every), extra],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(answer.stdout)


@pytest.fixture(scope="module")
def holed():
    """The cursor, and a log of a million entries in ledgers of 50,000."""
    log = TopicLog()
    for ledger_id in range(ENTRIES // 50_000):
        log.open_ledger(ledger_id, 0)
        for _ in range(50_000):
            log.append(log.length, 1, 0)
    return cursor_with_every_other(ENTRIES), log


def test_memory_of_a_cursor_includes_its_persisted_side():
    assert bytes_per_cursor(1_000, "nothing else") <= LIMIT_BYTES


def test_a_thousand_checkpoints_add_little():
    """Each shares the bitmap: a tuple and sixteen references, not 128 KiB."""
    assert bytes_per_cursor(100_000, "checkpoints") <= 1_000 * 512 + LIMIT_BYTES


def test_a_pickle_holds_the_unflushed_difference_and_not_two_full_copies():
    cursor = cursor_with_every_other(ENTRIES, persist_every=1_000)
    pickled = pickle.dumps(cursor, 5)
    assert len(pickled) <= LIMIT_BYTES // 2 + 8_192
    revived = pickle.loads(pickled)
    assert revived.ranges() == cursor.ranges()
    cursor.recover(), revived.recover()
    assert revived.ranges() == cursor.ranges()
    assert revived.ranges_total == 499_001  # flushed after ack 1, 1,001, 2,001 and so on


def test_acknowledged_entries_combine_with_ordinary_bitmaps(holed):
    acknowledged = holed[0].acknowledged()
    assert list(acknowledged & BitMap([1, 2, 3])) == [1, 3]
    acknowledged.clear()
    assert holed[0].deleted_count == ENTRIES // 2


def test_the_bitmap_itself_is_an_eighth_of_a_byte_an_entry(holed):
    statistics = holed[0].acknowledged().get_statistics()
    held = sum(statistics[f"n_bytes_{kind}_containers"] for kind in ("array", "run", "bitset"))
    assert held <= LIMIT_BYTES // 2


def test_a_cursor_prints_correctly_whole_and_truncated(holed):
    cursor, log = holed
    whole = cursor.text(log)
    parts = whole[1:-1].replace("],(", "]|(").split("|")
    assert len(parts) == cursor.ranges_total == ENTRIES // 2
    assert parts == [
        f"({i // 50_000}:{i % 50_000 - 1}..{i // 50_000}:{i % 50_000}]" for i in range(1, ENTRIES, 2)
    ]
    assert cursor.text(log, 40) == "[(0:0..0:1],(0:2..0:3],(0:4..0:5],…]"
    assert cursor.backlog(ENTRIES) == ENTRIES // 2


def test_one_ack_closes_the_hole_below_many_acked_entries():
    cursor = Cursor()
    for index in range(1, ENTRIES):
        cursor.acknowledge(index)
    assert cursor.acknowledge(0)
    assert (cursor.mark_delete, cursor.deleted_count) == (ENTRIES - 1, 0)
