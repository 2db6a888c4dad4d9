"""Limits of an upload; the page states them."""

from __future__ import annotations

MIB = 1 << 20

FILES_MOST = 20
"""Most files of one upload: the logs of a few consumers, or stats-internal of a few topics."""

UPLOAD_MIB_MOST = 64
"""Most MiB of all files together, as they are sent. More is a matter for the command line."""

EXPANDED_MIB_MOST = 256
"""Most MiB of all files together when they are unpacked: about two million rows of JSON."""

ROWS_MOST = 5_000_000
"""Most rows of all files together, where a file says how many rows it stands for."""

MAPPING_CHARACTERS_MOST = 100_000
"""Most characters of a mapping; one has a few hundred."""

NAME_CHARACTERS_MOST = 100
"""Most characters of a file's name that are kept."""
