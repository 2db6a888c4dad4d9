"""The one ordered trace that everything is read from: vocabulary (`registry`), memory (`trace`, `block`)
and files (`files`).
"""
