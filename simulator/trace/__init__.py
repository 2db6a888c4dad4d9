"""The ordered trace of a run: vocabulary (`registry`), memory (`trace`, `block`) and files (`files`).

Views, checks and reports read it and nothing else.
"""
