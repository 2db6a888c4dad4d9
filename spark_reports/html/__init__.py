"""The report as one self-contained page: texts, charts and tables.

They use the published figures only.
"""
