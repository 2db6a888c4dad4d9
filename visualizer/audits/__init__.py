"""Audits on the site: logs are uploaded, their report is shown, and opened as a scenario."""
