"""What Spark counts of durable shared subscriptions: pure frame functions."""
