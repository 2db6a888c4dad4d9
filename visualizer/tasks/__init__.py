"""Reports, experiments and audits: tasks of a worker, with their rows, requests, pages and files."""
