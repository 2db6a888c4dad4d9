"""The LookupService, and how clients find their brokers through it (docs/tenant-migration.md)."""
