"""The sections of a report about durable shared subscriptions."""
