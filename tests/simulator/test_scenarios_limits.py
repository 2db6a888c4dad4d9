"""A scenario's text that is too large, too deep or wrong throughout.

Few problems, few bytes, refused before it is read completely.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import ScenarioError, load_scenario, load_scenario_text, scenario_names
from simulator.scenarios import shape, tree
from simulator.scenarios.tree import (
    DEEPEST_NESTING,
    LARGEST_TEXT_CHARACTERS,
    MOST_MEMBERS,
    MOST_OPEN_BRACKETS,
    MOST_PROBLEMS,
    MOST_VALUES,
    Problem,
    Problems,
    suggestion,
)

MOST_BYTES = 30_000
"""The maximum size of 100 problems with ordinary texts: 20,007 of them had 6.9 MB."""


def error_of(text: str, **options) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(text, **options)
    return caught.value


def test_a_hundred_problems_are_reported_and_the_others_counted():
    error = error_of("format: 1\n" + "".join(f"k{number}: 1\n" for number in range(1_900)))
    assert error.count == 1_900 + 6, "the unknown keys, and six that are missing"
    assert len(error.problems) == MOST_PROBLEMS + 1
    assert (
        error.problems[-1].what == f"and {error.count - MOST_PROBLEMS:,} more problems"
        and error.problems[-1].line is None
    )
    assert len(str(error)) < MOST_BYTES + MOST_PROBLEMS * 600, "an unknown key lists what is known"


def test_a_problem_that_is_only_counted_gets_no_text(monkeypatch):
    looked_up = []
    plain = tree.difflib.get_close_matches
    monkeypatch.setattr(
        tree.difflib,
        "get_close_matches",
        lambda *given, **how: looked_up.append(1) or plain(*given, **how),
    )
    error = error_of(
        "format: 1\ncommands:\n"
        + "".join(f"- {{at: 1s, do: link.cutt, link: a{number}}}\n" for number in range(1_990))
    )
    assert error.count >= 1_990 and len(looked_up) <= 2 * MOST_PROBLEMS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 1_800, "nested too deeply"),
        ("[" * LARGEST_TEXT_CHARACTERS, "nested too deeply"),
        ("{a: " * (DEEPEST_NESTING + 1), "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("? " * 100_000, "nested too deeply"),
        ("".join(f"{' ' * depth}a:\n" for depth in range(500)), "nested too deeply"),
        ("a: [" + "1," * 120_000 + "]", "too many entries"),
        ("".join(f"k{number}: 1\n" for number in range(20_000)), "too many entries"),
        ("\n".join(f"k{number}: [{'1,' * 1_000}]" for number in range(100)), "too many keys and values"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(
                f"{one}: &{one} [{','.join(['*' + before] * 10)}]\n"
                for before, one in zip("abcde", "bcdef", strict=True)
            ),
            "unfold",
        ),
        (f"a: &a {'x' * 100_000}\nb: [{'*a ,' * 1_900}1]", "unfold"),
    ],
    ids=[
        "open brackets",
        "a file of them",
        "flow maps",
        "dashes",
        "question marks",
        "block maps",
        "a list",
        "a mapping",
        "values",
        "aliases of lists",
        "aliases of a text",
    ],
)
def test_an_oversized_text_is_one_problem_without_reading_further(text, words, monkeypatch):
    composed = []
    monkeypatch.setattr(
        tree, "_convert", lambda node, *rest, plain=tree._convert: composed.append(1) or plain(node, *rest)
    )
    error = error_of(text)
    assert error.count == 1 and words in str(error)
    assert len(str(error)) < 500 and len(composed) <= MOST_VALUES + 1


def test_too_many_values_stop_the_reading(monkeypatch):
    read = []
    plain = tree._BoundedComposer.compose_node
    monkeypatch.setattr(tree._BoundedComposer, "compose_node", lambda *given: read.append(1) or plain(*given))
    error_of("a: [" + "1," * 120_000 + "]")
    assert len(read) <= MOST_MEMBERS + 10


@pytest.mark.parametrize("name", [section.name for section in shape.sections()] + ["links"])
def test_an_oversized_section_is_the_only_problem(name):
    """Links are made for every pair of clusters: sixteen thousand clusters would be 256 million."""
    most = {section.name: section.most for section in shape.sections()}.get(name, shape.MOST_LINK_PATTERNS)
    error = error_of(
        "format: 1\n" + f"{name}: {{" + ", ".join(f"n{number}: {{}}" for number in range(most + 1)) + "}\n"
    )
    assert [(problem.path, problem.right) for problem in error.problems] == [(name, f"at most {most}")]


@pytest.mark.parametrize(
    "text",
    [
        "name: {0}",
        "family: {0}",
        "until: {0}",
        "seed: {0}",
        "{0}: 1",
        "clusters: {{{0}: {{}}}}",
        "links: {{{0}: {{}}}}",
        "commands: [{{do: {0}}}]",
        "schemas: {{a: {{definition: {0}}}}}",
    ],
)
def test_a_quoted_value_is_truncated(text):
    error = error_of("format: 1\n" + text.format("x" * 200_000))
    assert (
        max(
            len(part)
            for problem in error.problems
            for part in (problem.what, problem.path, problem.right, problem.source)
        )
        <= tree.LONGEST_RIGHT
    )
    assert len(str(error)) < MOST_BYTES


@pytest.mark.parametrize(
    "value",
    [
        "!!int 0xZZ",
        "!!int 0b2",
        "!!int ''",
        "!!float abc1",
        "!!float 1.2.3",
        "9" * 4_301,
        "0x" + "f" * 5_000,
        "0b" + "1" * 5_000,
        ".1e99999",
        "1" + "_0" * 3_000,
    ],
)
def test_an_invalid_number_is_a_problem(value):
    error = error_of(f"format: 1\nseed: {value}\nuntil: 1s\n")
    assert any(problem.path == "seed" or problem.line == 2 for problem in error.problems)


@pytest.mark.parametrize(
    "path", ["a[" + "9" * 4_301 + "]", ".".join("a" * 5_000), "a" + "[0]" * 5_000, "a" * 100_000]
)
def test_an_override_with_an_endless_path_is_a_problem(path):
    error = error_of("format: 1\na: [1]\n", overrides=[(path, "1")])
    assert error.problems and len(str(error)) < MOST_BYTES


@pytest.mark.parametrize(
    "definition",
    [
        "'" + "[" * 200 + "'",
        '\'{"type": ' * 30,
        "'[" + "9" * 5_000 + "]'",
        "'{}'",
        "'[]'",
        "{type: fixed, name: a, size: -1}",
        "{type: enum, name: a, symbols: 1}",
        "{type: [[[]]]}",
    ],
)
def test_an_invalid_schema_is_a_problem(definition):
    error = error_of(f"format: 1\nschemas: {{a: {{definition: {definition}}}}}\n")
    assert error.problems and len(str(error)) < MOST_BYTES


def test_brackets_in_prose_do_not_count_as_nesting():
    about = "[see] {this} " * 5_000
    error = error_of(f"format: 1\nabout: |\n  {about}\n")
    assert not any("nested" in problem.what for problem in error.problems)
    assert tree._most_open_brackets("[" * MOST_OPEN_BRACKETS + "]" * MOST_OPEN_BRACKETS) == MOST_OPEN_BRACKETS


@pytest.mark.parametrize("name", scenario_names())
def test_canonical_text_of_every_scenario_can_be_read_again(name):
    scenario = load_scenario(name)
    assert load_scenario_text(scenario.canonical_text).canonical_text == scenario.canonical_text


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 200)))
def test_the_number_of_problems_includes_those_not_kept(single, extended):
    found = Problems()
    one = Problem("s", 1, 1, "", "what", suggestion("a", ["b"]))
    for times in single:
        for _ in range(times):
            found.append(one)
    for times in extended:
        found.extend(Problems([one] * times))
    assert len(found) == sum(single) + sum(extended) and len(found.kept) == min(
        MOST_PROBLEMS, len(found)
    ) == len(list(found))
    assert one.right == "the only one is b"
