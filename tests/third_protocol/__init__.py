"""A third protocol that exists only in the tests, and the worked example of the recipe in CONTRIBUTING.md.

One server keeps one log and one cursor. The cursor's position is persisted after every few acknowledgements,
so that a crash redelivers messages acknowledged since then. `declared` is what the loader and the trace read,
`engine` runs it, `reading` counts, checks and shows it, and `manifest` joins these. `report` is its part of
reports, `page/` its part of the page. `registered` puts it in the tables, which is all that the rest of the
lab needs.
"""
