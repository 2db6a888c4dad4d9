"""The broker: topics, subscriptions, dispatchers and the sessions of its consumers."""
