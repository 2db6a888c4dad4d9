"""Tests of units.

Values are parsed and formatted exactly, in both directions; everything else is refused with a reason.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.scenarios import units
from simulator.scenarios.tree import Wrong


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [
        ("0s", 0),
        ("1us", 1),
        ("40ms", 40_000),
        ("1.5s", 1_500_000),
        ("5600ms", 5_600_000),
        ("2m", 120_000_000),
        ("0.5h", 1_800_000_000),
        (" 3 s ", 3_000_000),
        ("0.000001s", 1),
    ],
)
def test_durations_are_parsed(text, duration_us):
    assert units.parse_duration(text) == duration_us


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0B", 0),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("1.5MB", 1_500_000),
        ("2MiB", 2_097_152),
        ("1GB", 10**9),
    ],
)
def test_sizes_are_parsed(text, size_bytes):
    assert units.parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "interval_us"), [("100/s", 10_000), ("5/s", 200_000), ("0.5/s", 2_000_000), ("3/s", 333_333)]
)
def test_rates_are_parsed_as_intervals(text, interval_us):
    assert units.parse_rate(text) == interval_us


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (units.parse_duration, 40, "no unit"),
        (units.parse_duration, "40", "no unit"),
        (units.parse_duration, "40 days", "unknown unit"),
        (units.parse_duration, "-1s", "not a duration"),
        (units.parse_duration, "1.5us", "finer"),
        (units.parse_duration, "400000h", "out of range"),
        (units.parse_duration, None, "not a duration"),
        (units.parse_duration, True, "not a duration"),
        (units.parse_size, "1kb", "unknown unit"),
        (units.parse_size, "1GiB", "unknown unit"),
        (units.parse_rate, "100", "not a rate"),
        (units.parse_rate, "100/m", "not a rate"),
        (units.parse_rate, "0/s", "not a rate"),
        (units.parse_rate, "9000000/s", "out of range"),
        (units.parse_bandwidth, "100MB", "not a bandwidth"),
        (units.parse_bandwidth, "0MB/s", "carries nothing"),
        (units.parse_share, "101%", "out of range"),
        (units.parse_share, 0.5, "not a share"),
        (units.parse_decimal, "0.3", "not a number"),
        (units.parse_decimal, 0.0000001, "finer"),
        (units.parse_decimal, 11, "out of range"),
    ],
)
def test_a_refused_value_has_a_hint_of_what_would_be_right(parse, text, words):
    with pytest.raises(Wrong) as caught:
        parse(text)
    assert words in caught.value.what
    assert caught.value.right


@given(st.integers(0, units.LONGEST_US))
def test_formatted_durations_parse_to_the_same_value(duration_us):
    assert units.parse_duration(units.format_duration(duration_us)) == duration_us


@given(st.integers(0, units.LARGEST_BYTES))
def test_formatted_sizes_parse_to_the_same_value(size_bytes):
    assert units.parse_size(units.format_size(size_bytes)) == size_bytes


@given(st.integers(0, units.MILLIONTHS))
def test_formatted_shares_parse_to_the_same_value(share_millionths):
    assert units.parse_share(units.format_share(share_millionths)) == share_millionths


@given(st.integers(0, 10 * units.MILLIONTHS))
def test_formatted_decimals_parse_to_the_same_value(millionths):
    assert units.parse_decimal(units.format_decimal(millionths)) == millionths


def test_a_rate_is_formatted_only_when_it_is_exact():
    assert units.format_rate(10_000) == "100/s"
    with pytest.raises(ValueError, match="not a whole number"):
        units.format_rate(333_333)
