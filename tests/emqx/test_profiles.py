"""The profile of a scenario: one table of option values, chosen by the option with the protocol's name."""

import pytest

from simulator import ScenarioError, load_scenario
from simulator.protocols.declared import DECLARED
from simulator.protocols.emqx.scenario.settings import PROFILES, PROPOSAL, SHIPPED
from simulator.scenarios.declarations import TIMING
from simulator.scenarios.remarks import remarks
from simulator.scenarios.settings import OPTIONS, profile_of
from tests.emqx.group_runs import rows, run

HEAD = "format: 1\nname: x\ntitle: x\nfamily: durable-shared-subscriptions\nuntil: 9s\n"
BODY = """
nodes: {m: {}, n: {}}
groups: {g: {filter: "t/#"}}
publishers: {p: {topic: t, every: 100ms, start: 1s, stop: 8s}}
sessions:
  a: {node: m, subscriptions: ["$share/g/t/#"]}
  b: {node: n, start: 100ms, subscriptions: ["$share/g/t/#"]}
"""
REPAIRED = [name for name, option in OPTIONS.items() if option.profiles]


def loaded(options="", **more):
    return load_scenario(HEAD + (f"options: {options}\n" if options else "") + BODY, **more)


def test_a_scenario_that_chooses_nothing_runs_5_10_as_shipped():
    assert profile_of("emqx", loaded().options) == SHIPPED == "5.10"
    assert profile_of("emqx", loaded("{emqx: proposal}").options) == PROPOSAL
    assert profile_of("pulsar", {}) == "", "a protocol without profiles"
    assert len(REPAIRED) == len(PROFILES[1].values) == 10
    for name in REPAIRED:
        option = OPTIONS[name]
        assert (
            option.value_under({})
            == option.value_under({"emqx": "5.10"})
            == option.default
            == option.choices[0]
        )
        assert option.value_under({"emqx": "proposal"}) == PROFILES[1].values[name] != option.default
        assert option.value_under({"emqx": "proposal", name: option.default}) == option.default


@pytest.mark.parametrize("protocol", DECLARED)
def test_a_profile_names_options_of_its_protocol_and_values_that_they_take(protocol):
    declared = DECLARED[protocol]
    options = {option.name: option for option in declared.options}
    assert not declared.profiles or not declared.profiles[0].values, "its values are the defaults"
    for profile in declared.profiles:
        assert TIMING not in profile.values, "an option that stands for others itself"
        for name, value in profile.values.items():
            assert value in options[name].choices or isinstance(value, bool)


def test_a_profile_decides_the_run_and_a_single_option_overrides_it():
    def reached(options):
        return bool(rows(run(f"options: {options}\n{BODY}", until="5s"), "lease.changed", client="b"))

    assert not reached('{emqx: "5.10"}  # not remoteLeaders')
    assert reached("{emqx: proposal}  # not remoteLeaders")
    assert not reached("{emqx: proposal, remoteLeaders: unreachable}")
    assert reached('{emqx: "5.10", remoteLeaders: reachable}')


def test_a_profile_is_part_of_the_canonical_text():
    text = loaded('{emqx: "5.10", lateProgress: keep-highest}').canonical_text
    assert '  emqx: "5.10"\n  lateProgress: keep-highest\n' in text
    assert load_scenario(text).options == {"emqx": "5.10", "lateProgress": "keep-highest"}
    assert "options:" not in loaded().canonical_text


def test_a_release_without_quotes_is_a_number_and_refused():
    with pytest.raises(ScenarioError, match='5.10 is a number without quotes; write "5.10"'):
        loaded("{emqx: 5.10}")
    with pytest.raises(ScenarioError, match="is not one of the choices"):
        loaded("{emqx: 5.9}")
    assert loaded(overrides=[("options.emqx", "5.10")]).options == {"emqx": "5.10"}, (
        "on a command line it is text"
    )


def test_another_protocols_profile_is_no_option():
    with pytest.raises(ScenarioError, match="unknown option"):
        load_scenario("two-regions", overrides=[("options.emqx", "proposal")])


def test_a_group_over_several_nodes_gets_a_remark_unless_the_scenario_chooses():
    (remark,) = remarks(loaded())
    assert "emqx#18143" in remark and "a and b share" in remark
    for options in ("{remoteLeaders: reachable}", "{remoteLeaders: unreachable}", "{emqx: proposal}"):
        assert list(remarks(loaded(options))) == []
    assert list(remarks(load_scenario(HEAD + BODY.replace("node: n", "node: m")))) == []
