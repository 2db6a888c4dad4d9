"""The kinds of value that only EMQX's scenario files and commands have: topics and topic filters.

The rules are those of `simulator.scenarios.kinds`.
"""

from __future__ import annotations

from simulator.protocols.emqx.scenario import mqtt_topics
from simulator.scenarios.kinds import TEXT, Kind, checked, list_of

SUBSCRIPTION_FILTER = Kind(
    "topic filter, $share/GROUP/FILTER or $queue/FILTER", TEXT, checked(mqtt_topics.parse_subscription)
)

KINDS: dict[str, Kind] = {
    "topic-name": Kind("topic to publish to", TEXT, checked(mqtt_topics.check_topic)),
    "topic-filter": Kind("topic filter with + and #", TEXT, checked(mqtt_topics.check_filter)),
    "subscription-filter": SUBSCRIPTION_FILTER,
    "subscriptions": list_of(
        SUBSCRIPTION_FILTER, "a list of topic filters, $share/GROUP/FILTER, $queue/FILTER"
    ),
}
