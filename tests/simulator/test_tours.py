"""Tours: what the loader refuses and where, the bounds, and where steps stop in a run."""

from __future__ import annotations

import pytest

from simulator import ScenarioError, World, load_scenario_text
from simulator.protocols.table import PROTOCOLS
from simulator.scenarios import limits
from simulator.tours import TourError, duration, resolve, terms_in
from simulator.what_if import variants

HEAD = """\
format: 1
name: small
title: Two clusters
family: replicated-subscriptions
until: 5s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics:
  t: {clusters: [a, b]}
producers:
  p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 30}
subscriptions:
  s: {topic: t, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  c: {subscription: s, cluster: a}
commands:
  - {at: 3s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: planned}
"""
TOUR = """\
tour:
  title: A tour
  minutes: 3
  steps:
    - {title: One, at: 1s, text: "At {at}."}
    - title: Two
      when: {type: message.stored, cluster: b, number: 2}
      text: "{row.message} is at {row.position}."
    - title: Three
      when: {type: update.applied}
      text: "{end.failovers[0].duplicates} in the end, {now.subscriptions.s.a.acknowledged} acked now."
      ask: {question: How many?, answer: "end.failovers[0].duplicates", unit: duplicates}
    - {title: Four, at: 4s, text: "The period is {setting.replicatedSubscriptionsSnapshotFrequencyMillis}."}
"""


def problems_of(old: str, new: str) -> list[tuple[int | None, str, str]]:
    """Line, path and words of the problems of the tour with one part changed."""
    assert TOUR.count(old) >= 1
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(HEAD + TOUR.replace(old, new, 1))
    return [(problem.line, problem.path, problem.what) for problem in caught.value.problems]


def line_of(text: str) -> int:
    """The line of the file in which a text of the tour is."""
    return HEAD.count("\n") + TOUR[: TOUR.index(text)].count("\n") + 1


def finished(text: str) -> World:
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    return world


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ("minutes: 3", "minutes: 0", "tour.minutes", "0 is too small"),
        ("minutes: 3", f"minutes: {limits.TOUR_MINUTES_MAX + 1}", "tour.minutes", "is too large"),
        ("title: A tour", f"title: {'x' * 61}", "tour.title", "has 61 characters"),
        ("title: Two", f"title: {'x' * 61}", "tour.steps[1].title", "has 61 characters"),
        ('"At {at}."', f'"{"x" * 401}"', "tour.steps[0].text", "has 401 characters"),
        ("at: 1s,", "at: 1s, colour: red,", "tour.steps[0].colour", "unknown key"),
        ("at: 1s,", "", "tour.steps[0]", "has no instant"),
        ("at: 4s,", "at: 500ms,", "tour.steps[3].at", "is before an earlier step"),
        (
            "      when: {type: update",
            "      at: 2s\n      when: {type: update",
            "tour.steps[2]",
            "has two instants",
        ),
        ("message.stored", "message.stored-twice", "tour.steps[1].when.type", "there is no such event"),
        ("cluster: b, n", "colour: b, n", "tour.steps[1].when.colour", "unknown key"),
        ("cluster: b, n", "sequence_id: b, n", "tour.steps[1].when.sequence_id", '"b" does not fit'),
        ("number: 2", "number: 0", "tour.steps[1].when.number", "0 is too small"),
        ("{row.message}", "{row.reason}", "tour.steps[1].text", "message.stored has no reason"),
        ("{at}", "{row.cluster}", "tour.steps[0].text", "{row.cluster} needs an event"),
        ("{at}", "{elsewhere.x}", "tour.steps[0].text", "{elsewhere.x} is no placeholder"),
        ("{at}", "{at", "tour.steps[0].text", "has a single brace"),
        ("FrequencyMillis", "Frequency", "tour.steps[3].text", "there is no setting"),
        ("at: 1s,", "at: 1s, highlight: q/1,", "tour.steps[0].highlight", 'there is no producer "q"'),
        ("at: 1s,", "at: 1s, highlight: p1,", "tour.steps[0].highlight", '"p1" is no message'),
        ("minutes: 3", "minutes: 3\n  next: nowhere", "tour.next", 'no built-in scenario "nowhere"'),
        ("at: 1s,", "at: 1s, show: [sidebar],", "tour.steps[0].show[0]", "not one of the choices"),
        ("at: 1s,", "at: 1s, show: [side, side],", "tour.steps[0].show[1]", "given twice"),
        (
            "at: 1s,",
            "at: 1s, note: {text: x, cluster: c, position: now.x},",
            "tour.steps[0].note.cluster",
            "there is no cluster",
        ),
        (
            "at: 1s,",
            "at: 1s, note: {text: x, cluster: a, position: row.position},",
            "tour.steps[0].note.position",
            "needs an event",
        ),
        (
            "at: 1s,",
            f"at: 1s, note: {{text: {'x' * 81}, cluster: a, position: now.x}},",
            "tour.steps[0].note.text",
            "has 81 characters",
        ),
        ("How many?", "x" * 161, "tour.steps[2].ask.question", "has 161 characters"),
        ('answer: "end.', 'answer: "finally.', "tour.steps[2].ask.answer", "is no placeholder"),
        ("unit: dup", "kind: position, unit: dup", "tour.steps[2].ask", "asks for a position"),
        ("unit: dup", "cluster: a, unit: dup", "tour.steps[2].ask", "asks for a number"),
        (
            "unit: dup",
            "kind: position, cluster: c, unit: dup",
            "tour.steps[2].ask.cluster",
            'there is no cluster "c"',
        ),
    ],
)
def test_a_problem_is_reported_at_its_line(old: str, new: str, path: str, words: str):
    (found,) = problems_of(old, new)
    assert found[0] is not None and abs(found[0] - line_of(old)) <= 1, (
        "at the key, or at the step's first line"
    )
    assert found[1] == path and words in found[2]


@pytest.mark.parametrize("count", [limits.TOUR_STEPS_MIN - 1, limits.TOUR_STEPS_MAX + 1])
def test_a_tour_has_three_to_twelve_steps(count: int):
    step = '    - {title: One, at: 1s, text: "At {at}."}\n'
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(HEAD + "tour:\n  title: A tour\n  minutes: 3\n  steps:\n" + step * count)
    assert f"has {count} steps" in str(caught.value)


@pytest.mark.parametrize("count", [limits.TOUR_STEPS_MIN, limits.TOUR_STEPS_MAX])
def test_the_fewest_and_the_most_steps_load(count: int):
    step = '    - {title: One, at: 1s, text: "At {at}."}\n'
    text = HEAD + "tour:\n  title: A tour\n  minutes: 3\n  steps:\n" + step * count
    tour = load_scenario_text(text).tour
    assert tour is not None and len(tour.steps) == count


def test_a_question_in_the_last_step_is_refused():
    (found,) = problems_of('FrequencyMillis}."}', 'FrequencyMillis}.", ask: {question: So?, answer: at}}')
    assert found[1] == "tour.steps[3].ask" and "is in the last step" in found[2]


NOTED = TOUR.replace("minutes: 3", "minutes: 3\n  next: two-regions").replace(
    '      text: "{row.message}',
    "      show: [side, time]\n"
    '      note: {text: "{row.message} in b", cluster: b, position: row.position}\n'
    '      text: "{row.message}',
)
"""The tour with all that is optional in it."""


@pytest.mark.parametrize("text", [TOUR, NOTED])
def test_the_canonical_text_holds_the_tour(text: str):
    scenario = load_scenario_text(HEAD + text)
    again = load_scenario_text(scenario.canonical_text)
    assert again == scenario and again.tour == scenario.tour is not None


def test_a_tour_changes_nothing_in_the_run():
    assert finished(HEAD + TOUR).digest() == finished(HEAD).digest()


def test_steps_stop_at_their_instants_with_the_figures_of_the_run():
    world = finished(HEAD + TOUR)
    summary = world.summary()
    tour = world.scenario.tour
    assert tour is not None
    one, two, three, four = resolve(world, tour)
    assert (one.at_us, one.text, one.row) == (1_000_000, "At 1 s.", None)
    # counted after the step before: p/10 is stored in b at 1.09 s, p/11 at 1.19 s
    assert two.at_us == 1_190_000 and two.text.startswith("p/11 is at ")
    assert two.slow_from_us == 1_150_000, "it was published 40 ms before"
    duplicates = summary["failovers"][0]["duplicates"]
    assert three.row is not None and three.row["type"] == "update.applied"
    world.seek(at_us=three.at_us)
    acked = world.summary()["subscriptions"]["s"]["a"]["acknowledged"]
    assert three.text == f"{duplicates} in the end, {acked} acked now."
    assert three.ask == {
        "question": "How many?",
        "kind": "number",
        "unit": "duplicates",
        "answer": str(duplicates),
        "cluster": "",
    }
    assert four.text == "The period is 1 s."


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "number: 2",
            "number: 99",
            "Step 2 of the tour, “Two”: event 99 of type message.stored, cluster b does not",
        ),
        ("end.failovers[0].duplicates}", "end.failovers[3].duplicates}", "Step 3 of the tour"),
        ("end.failovers[0].duplicates}", "end.failovers[0]}", "not a number or a text"),
        ("at: 4s", "at: 6s", "Step 4 of the tour, “Four”: 6000000 us is not between"),
    ],
)
def test_a_tour_that_does_not_fit_its_run_says_which_step(old: str, new: str, words: str):
    world = finished(HEAD + TOUR.replace(old, new))
    tour = world.scenario.tour
    assert tour is not None
    with pytest.raises(TourError) as caught:
        resolve(world, tour)
    assert words in str(caught.value)


def test_a_note_names_the_entry_of_the_run_and_parts_of_the_page_are_kept():
    world = finished(HEAD + NOTED)
    tour = world.scenario.tour
    assert tour is not None and tour.next == "two-regions"
    one, two, *_ = resolve(world, tour)
    assert (one.note, one.show) == (None, ())
    assert two.row is not None and two.show == ("side", "time")
    position = f"{two.row['ledger']}:{two.row['entry']}"
    assert two.note == {"text": "p/11 in b", "cluster": "b", "position": position}


def test_words_of_a_text_that_are_terms_are_found_once_each():
    text = "The cursor of billing: its mark-delete position, in the log. Snapshots and the cursor wait in step 2."
    found = terms_in(text, PROTOCOLS["pulsar"].terms)
    assert found == [
        ("cursor", "cursor"),
        ("mark-delete position", "mark-delete position"),
        ("Snapshots", "snapshot"),
    ]
    assert terms_in("It was acked, not cursory.", PROTOCOLS["pulsar"].terms) == [("acked", "acknowledged")]
    assert terms_in("The mark-delete position", PROTOCOLS["emqx"].terms) == []


def test_a_changed_scenario_has_no_tour():
    scenario = load_scenario_text(HEAD + TOUR)
    real, *changed = variants(scenario, [])
    assert real.scenario.tour is not None and changed
    assert [variant.scenario.tour for variant in changed] == [None] * len(changed)
    assert load_scenario_text(HEAD + TOUR, overrides=[("until", "6s")]).tour is None
    assert load_scenario_text(HEAD + TOUR, seed=7).tour is not None


@pytest.mark.parametrize(
    ("value_us", "text"),
    [
        (0, "0 s"),
        (40, "40 us"),
        (80_000, "80 ms"),
        (2_500, "2.5 ms"),
        (1_100_000, "1.1 s"),
        (53_016_895, "53.017 s"),
        (3_600_000_000, "3,600 s"),
    ],
)
def test_durations_are_shown_with_their_unit(value_us: int, text: str):
    assert duration(value_us) == text
