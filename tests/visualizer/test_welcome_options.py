"""The profile and the options of a lab, which the page shows in "About this scenario"."""

from simulator import load_scenario
from visualizer.live.welcome import options_facts


def test_the_profile_in_force_and_the_options_that_the_scenario_names():
    assert options_facts(load_scenario("groups-join")) == {"profile": "5.10", "named": {}}
    assert options_facts(load_scenario("groups-two-readers")) == {
        "profile": "5.10",
        "named": {"remoteLeaders": "reachable"},
    }
    proposal = load_scenario("groups-join", overrides=[("options.emqx", "proposal")])
    assert options_facts(proposal) == {"profile": "proposal", "named": {}}


def test_a_protocol_without_profiles_and_an_option_that_is_a_time():
    delayed = load_scenario("two-regions", overrides=[("options.appendTime", "3ms")])
    assert options_facts(delayed) == {"profile": "", "named": {"appendTime": "3ms"}}
