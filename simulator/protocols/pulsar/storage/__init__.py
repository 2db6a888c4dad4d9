"""What a topic keeps: messages, ledgers, cursors on disk, and what is trimmed or expires."""
