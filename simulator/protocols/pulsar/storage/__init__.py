"""A topic's storage: messages, ledgers, persisted cursors, trimming and expiry."""
