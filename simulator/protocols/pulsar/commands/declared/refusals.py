"""The codes with which a running Pulsar refuses commands, and their meanings.

A number is the HTTP status that pulsar-admin would get. A capitalised word is the client's exception
(PulsarClientException) without its ending.
"""

from __future__ import annotations

from simulator.scenarios import shared_commands

REFUSALS: dict[str, str] = {
    **shared_commands.REFUSALS,
    "400": "the request is not valid",
    "403": "not permitted, or a name that is not valid",
    "404": "the namespace, topic, policy or schema does not exist",
    "405": "topic level policies are disabled in this cluster",
    "409": "it exists already, or conflicts with what another cluster has",
    "412": "a precondition does not hold",
    "422": "the topic is in a state that forbids it",
    "500": "another cluster had to be asked and did not answer",
    "NotAllowed": "the broker does not allow this on such a topic",
    "NotAuthorized": "the role of the client lacks the permission",
    "TopicTerminated": "the topic was terminated",
    "bad-value": "an argument contradicts another",
    "cluster-down": "the cluster is down or lost",
    "ended": "the migration is over",
    "exists": "the subscription exists already",
    "feature-off": "the broker setting for it is false",
    "has-clients": "clients are still connected in the old cluster",
    "has-consumers": "the subscription has consumers",
    "listed": "the cluster is on the topic's replication list already",
    "looks-up": "the LookupService decides where these consumers connect",
    "namespace-replication": "the topic has no list of its own; its namespace's list applies",
    "no-broker": "the cluster has no such broker",
    "no-consumers": "no consumer of the subscription is there",
    "no-migration": "no migration of this tenant was started",
    "no-schemas": "the scenario declares no schemas",
    "no-subscription": "the subscription does not exist there",
    "no-sync": "the subscription does not synchronise acknowledgements",
    "no-topic": "the topic does not exist there",
    "no-way-back": "the migration cannot be rolled back any more, or not now",
    "not-declared": "the scenario does not declare it",
    "not-down": "it is not down",
    "not-held": "the consumer holds none of these messages",
    "not-in-hand": "none of these messages is delivered and not acked",
    "not-listed": "the cluster is not on the topic's replication list",
    "not-loaded": "no broker of the cluster has loaded the topic",
    "not-more": "the topic has this many partitions or more",
    "not-partitioned": "the topic has no partitions",
    "not-reachable": "one cluster cannot reach the other",
    "not-ready": "the precondition of the step does not hold yet",
    "not-up": "it is not up",
    "nothing-pending": "no pending snapshot has a response",
    "nothing-there": "clients would find nothing in the new cluster",
    "replicates": "the topic replicates to other clusters",
    "same-cluster": "the tenant is in this cluster already",
    "shadow-topics": "the tenant has shadow topics, whose ledgers do not move",
    "source-down": "the cluster is down, so its clients cannot finish",
    "terminated": "the topic is terminated already",
    "third-cluster": "a topic of the tenant also replicates to a third cluster",
    "too-many": "more partitions than are possible here",
    "under-way": "a migration of this tenant is under way",
    "wrong-state": "the client or migration is in a state in which the command has no meaning",
}
