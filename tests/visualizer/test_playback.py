"""Playback against a numeric clock.

The instant shown, delays, an engine that is too slow, the speed reached.
"""

from __future__ import annotations

import pytest

from visualizer.labs.playback import FRAME_S, LONGEST_JUMP_S, PATIENCE_S, Playback

FAR_US = 100_000_000_000


def played(
    speed: float, frames: int, late_s: float = 0.0, engine: float = float("inf")
) -> tuple[Playback, list[int]]:
    """The instants of frames at their interval.

    The engine does at most `engine` simulated seconds per second.
    """
    playback, world_us, instants = Playback(), 0, []
    playback.play(speed)
    now_s = 100.0
    for number in range(frames):
        now_s += FRAME_S + (late_s if number == 5 else 0.0)
        target_us = playback.aim(now_s, world_us, FAR_US)
        world_us = int(min(target_us, world_us + engine * FRAME_S * 1e6))
        playback.arrived(now_s, world_us)
        instants.append(world_us)
    return playback, instants


@pytest.mark.parametrize("speed", [0.01, 1.0, 1000.0])
def test_frames_follow_the_speed(speed):
    playback, instants = played(speed, 40)
    assert instants[-1] == pytest.approx(40 * FRAME_S * speed * 1e6, rel=0.01)
    assert playback.reached == pytest.approx(speed, rel=0.01)


def test_a_delayed_process_makes_playback_late_without_jumps():
    _, instants = played(1.0, 20, late_s=5.0)
    steps = [after - before for before, after in zip(instants, instants[1:])]
    assert max(steps) <= (LONGEST_JUMP_S + FRAME_S) * 1e6 + 2


def test_an_engine_that_is_too_slow_slows_playback_and_the_frame_has_the_reached_speed():
    playback, instants = played(1000.0, 60, engine=3.0)
    assert instants[-1] == pytest.approx(60 * FRAME_S * 3.0 * 1e6, rel=0.05)
    assert playback.speed == 1000.0 and playback.reached == pytest.approx(3.0, rel=0.05)


def test_a_frame_waits_for_the_engine_for_a_limited_time():
    playback = Playback()
    playback.play(1.0)
    playback.aim(100.0, 0, FAR_US)
    assert playback.patient(100.0 + PATIENCE_S / 2) and not playback.patient(100.001 + PATIENCE_S)


def test_playback_stops_at_the_scenarios_end_and_a_pause_resets_the_reached_speed():
    playback = Playback()
    playback.play(1000.0)
    assert playback.aim(100.0, 7_999_999, 8_000_000) == 8_000_000
    playback.arrived(100.0, 8_000_000)
    playback.restart()
    assert playback.aim(100.1, 8_000_000, 8_000_000) > 8_000_000
    played_long, _ = played(1.0, 40)
    played_long.pause()
    assert played_long.reached is None and not played_long.playing


def test_a_request_to_play_up_to_an_instant_aims_no_further_and_ends_with_a_pause():
    playback = Playback()
    playback.play(1000.0, 3_000_000)
    assert playback.aim(100.0, 2_999_999, 8_000_000) == 3_000_000 and not playback.at_stop(2_999_999)
    playback.arrived(100.0, 3_000_000)
    assert playback.at_stop(3_000_000)
    playback.pause()
    assert playback.stop_us is None and not playback.at_stop(3_000_000)
    playback.play(1000.0)
    assert playback.aim(101.0, 3_000_000, 8_000_000) > 3_000_000, "the next request has no such end"
