"""The tree of a scenario's text: places of values, plain YAML only, overrides."""

from __future__ import annotations

import pytest

from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.tree import (
    DEEPEST_NESTING,
    LARGEST_TEXT_CHARACTERS,
    ScenarioError,
    apply_overrides,
    node_of,
    read_tree,
)


def tree(text):
    root, problems = read_tree(text, "t.yaml")
    assert problems == []
    return root


def test_values_have_their_places():
    root = tree("a:\n  b: [1, two]\n")
    inner = root.value["a"].value["b"]
    assert (inner.key_line, inner.key_column) == (2, 3)
    assert [(item.value, item.line, item.column) for item in inner.value] == [(1, 2, 7), ("two", 2, 10)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1_000", 1000),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("true", True),
        ("on", "on"),
        ("~", None),
        ("1:4", "1:4"),
        ("2001-12-14", "2001-12-14"),
        ('"5"', "5"),
    ],
)
def test_scalars_are_yaml_1_2(text, value):
    assert tree(f"a: {text}").plain() == {"a": value}


def test_a_numeric_name_keeps_its_text():
    assert tree("a: 001").value["a"].text == "001"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x 1", "anchor"),
        ("a: !!binary aaaa", "tag"),
        ("a: .nan", "not a number"),
        ("a: 1\na: 2", "is given twice"),
        ("<<: {a: 1}", "plain text"),
        ("[1]: 2", "plain text"),
        ("a: " + "9" * 40, "this long"),
    ],
)
def test_anything_but_plain_yaml_is_a_problem_with_a_place(text, words):
    _, problems = read_tree(text, "t.yaml")
    assert len(problems) == 1
    assert words in problems[0].what
    assert problems[0].line is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("a: \x00", "not YAML"),
        ("[" * 100_000, "too deeply"),
        ("a: " + "[" * 20 + "]" * 20, "nested too deeply"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("x" * (LARGEST_TEXT_CHARACTERS + 1), "characters"),
    ],
)
def test_unreadable_text_is_a_single_problem(text, words):
    with pytest.raises(ScenarioError) as caught:
        read_tree(text, "t.yaml")
    assert len(caught.value.problems) == 1
    assert words in caught.value.problems[0].what


def test_a_value_that_could_not_be_read_is_quoted_as_written():
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text("until: !!odd 12s\nseed: .inf\n")
    told = [str(problem) for problem in caught.value.problems]
    assert sum(": until: " in line for line in told) == 1 and "None" not in " ".join(told)
    assert any('seed: ".inf" is not a whole number' in line for line in told)


def test_an_anchor_is_one_problem_and_its_value_is_kept():
    root, problems = read_tree("a: &x {c: 1}\nb: [*x, *x]\nd: {<<: *x, e: 2}\n", "t.yaml")
    assert [(problem.line, problem.what) for problem in problems] == [
        (1, "anchor &x"),
        (3, "a key is plain text"),
    ]
    assert root.plain() == {"a": {"c": 1}, "b": [{"c": 1}, {"c": 1}], "d": {"c": 1, "e": 2}}


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [1,1,1,1,1,1,1,1]\n"
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 9)),
        "a: &x [*x, *x, *x, *x]\n",
    ],
)
def test_an_alias_cannot_be_expanded_without_limit(text):
    with pytest.raises(ScenarioError) as caught:
        read_tree(text, "t.yaml")
    assert ["unfold" in problem.what for problem in caught.value.problems] == [True]


def test_overrides_create_paths_and_replace_values():
    root = tree("a: {b: 1}\nc: [1, 2]\nd:\ng: 1\n")
    pairs = [
        ("a.b", "x"),
        ("a.new.deep", "[1, 2]"),
        ("c[1]", "7"),
        ("d.e", "40ms"),
        ("links.us-west -> us-east.latency", "1ms"),
        ("g", ""),
    ]
    assert apply_overrides(root, pairs) == []
    assert root.plain() == {
        "a": {"b": "x", "new": {"deep": [1, 2]}},
        "c": [1, 7],
        "d": {"e": "40ms"},
        "links": {"us-west -> us-east": {"latency": "1ms"}},
    }


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a..b", "1", "is not a path"),
        ("a.b.c", "1", "nothing to set"),
        ("c[5]", "1", "nothing to set"),
        ("a[0]", "1", "nothing to set"),
        ("a.b", "[", "not YAML"),
        ("a.b", "&x 1", "anchor"),
    ],
)
def test_overrides_with_impossible_paths_are_problems(path, text, words):
    root = tree("a: {b: 1}\nc: [1, 2]\n")
    problems = apply_overrides(root, [(path, text)])
    assert len(problems) == 1
    assert words in problems[0].what
    assert f"--set {path}={text}" in str(problems[0])


def test_deeply_nested_plain_values_are_truncated():
    value = 1
    for _ in range(DEEPEST_NESTING * 200):
        value = [value]
    assert node_of(value, "command").plain()  # and no RecursionError


def test_a_wildcard_stands_for_every_member_of_a_mapping():
    root, _ = read_tree("consumers: {a: {x: 1}, b: {x: 2}}\ncommands: [{at: {y: 1, z: 2}}]\n", "f")
    pairs = [
        ("consumers.*.x", "{deep: 7}"),
        ("consumers.a.x.deep", "8"),
        ("commands[0].at.*", "3"),
        ("consumers.*.w", "5"),
    ]
    assert apply_overrides(root, pairs) == []
    assert root.plain() == {
        "consumers": {"a": {"x": {"deep": 8}, "w": 5}, "b": {"x": {"deep": 7}, "w": 5}},
        "commands": [{"at": {"y": 3, "z": 3}}],
    }
    assert apply_overrides(root, [("consumers.*.x", "")]) == []
    assert root.plain()["consumers"] == {"a": {"w": 5}, "b": {"w": 5}}


def test_a_wildcard_without_members_is_a_problem():
    root, _ = read_tree("consumers: {}\ncommands: [1]\n", "f")
    for path, what in {
        "consumers.*.x": "nothing is there",
        "nothing.*.x": "nothing is there",
        "commands.*": "nothing to set at step '*'",
    }.items():
        assert [problem.what for problem in apply_overrides(root, [(path, "1")])] == [what]
