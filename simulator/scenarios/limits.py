"""The limits of values in scenarios and commands.

Rules: loader, commands, JSON Schema and `docs/scenarios.md` take their limits from here. A limit has a unit
and a reason.
"""

from __future__ import annotations

from decimal import Decimal

LONGEST_US = 48 * 3_600_000_000
"""Longest duration: 48 h.

Durations are drawn with 64-bit interpolation, which is exact below 2**38 us (76 h). 48 h is the round number
below.
"""

LONGEST_MEAN_US = 5 * 3_600_000_000
"""Longest interval between two messages: 5 h.

A Poisson interval may be nine times its mean, and must stay below LONGEST_US.
"""

LONGEST_SETTING_US = 366 * 24 * 3_600_000_000
"""Longest time in a broker setting that is a number of seconds or minutes: a leap year.

So a time to live of weeks can be written.
"""

LARGEST_INTEGER = 2**53
"""Whole numbers stay exact in JSON readers."""

LARGEST_COUNT = 1_000_000
"""Largest count where no smaller bound is declared: a fifth of the rows that a lab may hold."""

PUBLISHED_AT_ONCE_MAX = 100_000
"""The most messages that one command publishes: about a million rows, a fifth of what a lab may hold."""

LISTED_MAX = 1_000
"""The most items of a list in a scenario or command, so that it can be read."""

INSTANTS_MAX = 10_000
"""The most instants in a client's `at`, the longest list of a file; reading them takes half a second."""

BATCH_SETTING_MAX = 10_000
"""The most entries or messages that a broker setting lets through at once.

It is ten times the largest default of a broker, so that one event stays short.
"""

EXPONENTIAL_TAIL = Decimal("9.02")
"""The longest exponential draw, in means, rounded up.

`simulator.kernel.distributions` ends its tail at 9.01.
"""

NORMAL_TAIL = Decimal("3.68")
"""The furthest draw of a lognormal's exponent, in sigmas, rounded up.

`simulator.kernel.distributions` ends its tail at 3.67.
"""

PAIR_NAME_CHARACTERS = 30
"""Longest name of a side of a pair: two fit the width of a card."""

TOUR_STEPS_MIN, TOUR_STEPS_MAX = 3, 12
"""Steps of a tour: fewer are no tour, and more do not fit the ten minutes that it may take."""

TOUR_MINUTES_MAX = 60
"""Longest stated duration of a tour: one lesson."""

TOUR_TITLE_CHARACTERS = 60
"""Longest title of a tour or of a step: one line of the bar on a phone is about half of it."""

TOUR_TEXT_CHARACTERS = 400
"""Longest text of a step: three sentences, which fit the bar without hiding the picture."""

TOUR_NOTE_CHARACTERS = 80
"""Longest note beside an entry of the picture: one line on a wide page, four on a phone."""

TOUR_QUESTION_CHARACTERS = 160
"""Longest question of a step, and longest unit of its answer."""

TOUR_NUMBER_MAX = 100_000
"""Highest number of an event that a step waits for: counting them reads every such row."""
