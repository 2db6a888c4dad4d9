"""Experiments from the page: a form, their progress and results, and the runs to open as labs."""
