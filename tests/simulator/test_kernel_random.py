"""Draws: pinned values, the same value one by one or in a block, the same in every process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.kernel.random import MASK, draw, draw_block, stream_key, uuid_text

ROOT = Path(__file__).resolve().parents[2]

KEYS = {
    (0, ""): 0xD1BDC40CB7E4389E,
    (1, "link/a/b"): 0x496099993528EAC1,
    (20240101, "processing/billing-1"): 0xB03110446BFF2D35,
    (-1, "é"): 0xBDB51E6895B6D002,
}
DRAWS = {
    0: 0x00F274B33276CDC0,
    1: 0xF9B199227D69481A,
    1023: 0x7F5A1D111CAEBCFA,
    1024: 0x49146B60C8031D39,
    1 << 40: 0x59D0D5673CA4D8C0,
    (1 << 63) - 1: 0xC189FAE7BB182C6C,
}
KEY = KEYS[1, "link/a/b"]

# Prints everything that randomness decides; run under several hash seeds.
PROGRAM = """
from simulator.kernel.distributions import Sampler, Span, interval_sampler
from simulator.kernel.random import draw, stream_key, uuid_text
spans = [Span("uniform", low_us=10, high_us=90000), Span("lognormal", 40000, sigma_millionths=250000), Span("exponential", 1000)]
for name in ("a", "b"):
    key = stream_key(7, name)
    print(key, [draw(key, index) for index in range(5)], uuid_text(key, 3))
    for span in spans:
        sampler = Sampler(span, key)
        print([sampler.at(index) for index in range(0, 5000, 37)])
    print(interval_sampler(500, key).at(9))
"""


def test_stream_keys_are_pinned():
    assert {named: stream_key(*named) for named in KEYS} == KEYS


def test_draws_are_pinned():
    assert {index: draw(KEY, index) for index in DRAWS} == DRAWS


def test_first_draw_of_key_zero_is_the_published_splitmix64_value():
    assert draw(0, 0) == 0xE220A8397B1DCDAF


def test_names_and_seeds_are_kept_apart():
    assert stream_key(1, "1x") != stream_key(11, "x")
    assert stream_key(1, "a") != stream_key(2, "a")


@given(st.integers(0, MASK), st.integers(0, 1 << 62), st.integers(0, 50))
def test_a_block_holds_the_same_draws(key, first, count):
    block = draw_block(key, first, count)
    assert block.dtype == np.uint64
    assert block.tolist() == [draw(key, first + offset) for offset in range(count)]


def test_bits_are_balanced():
    block = draw_block(KEY, 0, 65536)
    for bit in range(64):
        ones = int(((block >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - 32768) < 800, f"bit {bit} is set in {ones} of 65536 draws"  # 6 standard deviations


def test_uuid_text_is_pinned_and_has_the_shape_of_version_4():
    assert uuid_text(KEY, 0) == "00F274B3-3276-4DC0-B9B1-99227D69481A"
    for index in range(200):
        assert re.fullmatch(
            r"[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}", uuid_text(KEY, index)
        )
    assert len({uuid_text(KEY, index) for index in range(1000)}) == 1000


@pytest.fixture(scope="module")
def printed():
    """What PROGRAM prints under three hash seeds."""
    outputs = []
    for hash_seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        outputs.append(
            subprocess.run(
                [sys.executable, "-c", PROGRAM],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    return outputs


def test_draws_are_the_same_in_every_process(printed):
    assert printed[0].count("\n") == 10
    assert printed[0] == printed[1] == printed[2]
