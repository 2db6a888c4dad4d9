"""The part of `docs/scenarios.md` about tours."""

from __future__ import annotations

from simulator.scenarios import limits
from simulator.scenarios.tour import ASK_KEYS, NOTE_KEYS, PAGE_PARTS, STEP_KEYS, TOUR_KEYS, WHEN_KEYS

TOUR = """\
## `tour`

A guided tour: a page opens the scenario with “Start tour”. `title` names it, `minutes` says how long it
takes, `steps` are {steps_min} to {steps_max}. The steps change nothing in the run, so a scenario with and
without them has the same trace. Tours are left out of scenarios that `--set`, a what-if or a strategy
changes.

A step has `at`, or `when`: an event's type and values of its columns (`docs/trace.md`). It stops at the end
of that instant; the events that match are counted after the step before. What leads to an event is played
slowly. Titles have at most {title} characters, texts {text}, questions {question}.

```yaml
tour:
  title: Your first failover
  minutes: 4
  steps:
    - title: The first message
      when: {{type: message.published, producer: shop}}
      text: "At {{at}} shop publishes its first message."
    - title: How many?
      at: 3900ms
      text: "The consumer moves to us-east."
      ask: {{question: How many duplicates will there be?, answer: "end.failovers[0].duplicates"}}
    - title: The duplicates
      at: 5s
      text: "{{end.failovers[0].duplicates}} messages were delivered twice."
```

Numbers of the run are placeholders, which the run fills in: `{{at}}`, the step's instant;
`{{row.sequence_id}}`, a column of its event, and of two columns `{{row.position}}`, `{{row.to_position}}`,
`{{row.message}}`; `{{end.PATH}}` and `{{now.PATH}}`, paths into the summary of the whole run or of the run
so far; `{{forecast.billing.us-east.duplicates}}`, the forecast at that instant; `{{setting.NAME}}`, a
broker setting. Durations get their unit, a list its length. The answer to a question is a number or, with
`kind: position`, a position in the log of `cluster`, which the page lets the learner click.

A tour whose steps have `show` begins with the logs, the cursors and its own text; each part of the page
appears at the step that names it and stays: {parts}. `forecast` is what the page says of duplicates:
headline, figures and curve. A step with `panel` shows `time` in any case. The viewer can show the whole page
at any step. Without `show` in any step the whole page is shown from the beginning. `note` is drawn beside
an entry of a log, with at most {note} characters. `next` names the built-in scenario whose tour the last
step offers. The first occurrence of a term of the protocol's glossary in each text is a link to its entry.

A test plays the tour of every built-in scenario and checks every number in its texts.
"""

TOUR_LIMITS = {
    "steps_min": limits.TOUR_STEPS_MIN,
    "steps_max": limits.TOUR_STEPS_MAX,
    "title": limits.TOUR_TITLE_CHARACTERS,
    "text": limits.TOUR_TEXT_CHARACTERS,
    "note": limits.TOUR_NOTE_CHARACTERS,
    "parts": ", ".join(f"`{name}`" for name in PAGE_PARTS),
    "question": limits.TOUR_QUESTION_CHARACTERS,
}

TOUR_TABLES = (
    ("The tour", TOUR_KEYS),
    ("A step", STEP_KEYS),
    ("Its `when`, beside columns of the event", WHEN_KEYS),
    ("Its `note`", NOTE_KEYS),
    ("Its `ask`", ASK_KEYS),
)
"""The tables of keys, with the words before each."""
