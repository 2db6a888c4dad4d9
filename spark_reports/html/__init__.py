"""The report as one self-contained page: words, charts and tables from the published figures, and nothing
else.
"""
