"""The batched fast path: producers, replicators and consumers between two other events, as columns."""
