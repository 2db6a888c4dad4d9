"""Reports on the site: asking for one, watching it being made, reading it.

The work itself is done by the task worker.
"""
