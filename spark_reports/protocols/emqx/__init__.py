"""Reports about EMQX's durable shared subscriptions: groups, leases and deliveries."""
