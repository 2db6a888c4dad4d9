"""Reports on the site: requesting one, following its progress, reading it.

The work itself is done by the task worker.
"""
