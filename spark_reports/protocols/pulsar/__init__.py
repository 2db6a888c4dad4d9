"""Reports about Pulsar in regions: failovers, migrations, topic creation, shadow topics, brokers."""
