"""Presenting a lab to a class: room codes, and the page on which a code is entered."""
