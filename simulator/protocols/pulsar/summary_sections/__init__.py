"""Sections of the summary that belong to one system each: a function of the world, named in
`simulator.summary.SECTIONS`.
"""
