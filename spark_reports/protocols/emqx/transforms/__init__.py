"""Pure frame functions that count durable shared subscriptions."""
