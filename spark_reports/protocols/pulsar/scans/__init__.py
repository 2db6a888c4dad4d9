"""What tasks compute of a share of one run's messages, for the counting of Pulsar."""
