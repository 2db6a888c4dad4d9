"""Makes `docs/scenarios.md` from the format's tables.

Command: `python -m simulator.scenarios.document > docs/scenarios.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.scenarios import limits, shape
from simulator.scenarios.builtin import scenario_names
from simulator.scenarios.canonical import STRATEGY_NAMES, flow
from simulator.scenarios.commands import COMMANDS
from simulator.scenarios.declarations import Key, Setting, default_of
from simulator.scenarios.kinds import integer_maximum
from simulator.scenarios.limits import INSTANTS_MAX, LISTED_MAX
from simulator.scenarios.loader import load_scenario
from simulator.scenarios.model import Scenario
from simulator.scenarios.reader import DISTRIBUTIONS, KINDS, SELECTIONS, key_of
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.scenarios.tour import ASK_KEYS, NOTE_KEYS, PAGE_PARTS, STEP_KEYS, TOUR_KEYS, WHEN_KEYS
from simulator.scenarios.tree import (
    DEEPEST_NESTING,
    LARGEST_TEXT_CHARACTERS,
    MOST_MEMBERS,
    MOST_PROBLEMS,
    MOST_VALUES,
)
from simulator.scenarios.units import format_duration

# --- the part of `docs/scenarios.md` about tours


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


_HEAD = """\
# Scenarios

Made from `simulator/scenarios/` by `python -m simulator.scenarios.document > docs/scenarios.md`; edit the tables there, not this page.

A scenario is one YAML file: clusters, links, topics, clients, planned faults, and the expected figures. `python manage.py simulate FILE`
runs it, `python manage.py scenarios` lists the built-in ones, and the page opens both. [`scenario-example.yaml`](scenario-example.yaml) shows
most of the format; the page's [editor](labs.md#the-scenario-editor) completes and checks it, and [`scenario.schema.json`](scenario.schema.json) lets other editors do so
(`# yaml-language-server: $schema=scenario.schema.json` as the first line).

- Unknown keys are errors. The problems of a file are reported at once, with line and column, what is wrong and what would be right; nothing is run. Of more than {problems} the
  first {problems} are listed and the others counted.
- A file has at most {characters:,} characters, {values:,} keys and values, {members:,} entries in one mapping or list, and {levels} levels; `commands` holds at most {commands:,}.
- Durations carry a unit (`us ms s m h`) and are at most 48h, sizes too (`B KB MB GB`, thousands; `KiB MiB`, powers of two); rates are `100/s`, shares `1%`.
- Names match `[a-z0-9][a-z0-9-]*`. A message is `producer/number`, from 0; a link is `a -> b`, or `a <-> b` for both ways.
- Whole numbers and lists are bounded; the tables name each bound. A list holds at most {listed:,} items, a client's `at` {instants:,}.
- Plain YAML only: no anchors, merges or tags. `--set dotted.path=value` changes the file before it is checked (`commands[0].at` for an item of a list),
  `--set dotted.path=` takes the key out.
- All chance comes from `seed`. The same file, seed and commands give the same trace, byte for byte.
"""

_LINKS = """\
`default` holds for every ordered pair of clusters, `a <-> b` for both ways between two, `a -> b` for one. The more specific wins key by key; of two
equally specific patterns the later. A pair that no pattern names has {latency} and unlimited bandwidth.
"""

_COMMANDS = """\
A list of `{at: 3s, do: link.cut, link: a -> b}`: the same commands that the page offers. `at` is the instant at which it takes effect, after everything
else of that instant. A command that the run refuses (a consumer that does not run cannot be stopped) is listed in the summary's `commands` with the reason and changes nothing.
"""

_EXPECT = """\
Paths into the summary (`simulate --json`), each with the expected value, or for a number a range `[low, high]` with both ends:
`failovers[0].duplicates: [1, 40]`, `subscriptions.billing.us-east.mark_delete: "1:4"`, `violations: []`. A test runs every built-in scenario and compares.
`simulate` prints those that were not met; its exit code depends on violated checks only.
"""


_COMPARE = """\
The expected summary of the same run under each strategy ({names}): the same paths and values as in `expect`, by strategy. `simulate NAME --strategy NAME`
makes one of them, `simulate NAME --compare` all; a strategy changes what subscriptions ask for and nothing else, so it works with any scenario.
"""


_PAIR = """\
Two scenarios that differ in one option, such as a rule as it was released and as it was fixed, or in one choice of a command. One of them declares the pair, and the gallery shows both on one card
with a switch. It changes nothing in the run. A test compares the two of every built-in pair.
"""


def scenarios_document() -> str:
    head = _HEAD.format(
        problems=MOST_PROBLEMS,
        characters=LARGEST_TEXT_CHARACTERS,
        values=MOST_VALUES,
        members=MOST_MEMBERS,
        levels=DEEPEST_NESTING,
        commands=shape.MOST_COMMANDS,
        listed=LISTED_MAX,
        instants=INSTANTS_MAX,
    )
    parts = [head, "## Top level\n", _keys(shape.head(), Scenario)]
    for section in shape.sections():
        parts += [
            f"## `{section.name}`\n",
            f"{section.says[0].upper()}{section.says[1:]}. At most {section.most}.\n",
            _keys(section.keys, section.model),
        ]
    parts += [
        "## `links`\n",
        _LINKS.format(latency=format_duration(shape.DEFAULT_LATENCY_US)),
        _keys(shape.link_keys()),
    ]
    parts += ["## Distributions\n", _distributions(), "## Selections of messages\n", _selections()]
    parts += [
        "## `commands`\n",
        _COMMANDS,
        _commands(),
        "## `expect`\n",
        _EXPECT,
        "## `compare`\n",
        _COMPARE.format(names=", ".join(f"`{name}`" for name in STRATEGY_NAMES)),
    ]
    parts += ["## `pair`\n", _PAIR, _keys(shape.PAIR_KEYS)]
    parts += [TOUR.format(**TOUR_LIMITS), *(f"{words}:\n\n{_keys(keys)}" for words, keys in TOUR_TABLES)]
    parts += [
        "## `settings`\n",
        (
            "The brokers' own names and defaults. What is not dynamic takes effect at the next topic load or "
            "restart.\n"
        ),
        _settings(SETTINGS),
    ]
    parts += [
        "## `options`\n",
        "The lab's own switches: what depends on the version, and what was never built.\n",
        _settings(OPTIONS),
    ]
    parts += [
        "## Built-in scenarios\n",
        "The gallery and `manage.py scenarios` say what to watch in each.\n",
        _library(),
    ]
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _keys(keys: Sequence[Key], model: type | None = None) -> str:
    rows = [[f"`{key.name}`", _kind(key), _default(key, model), key.says] for key in keys]
    return _table(("key", "value", "default", "says"), rows)


def _kind(key: Key) -> str:
    if key.choices:
        return ", ".join(f"`{choice}`" for choice in key.choices)
    return KINDS[key.kind].says + _bounds(key)


def _bounds(key: Key) -> str:
    """The range of a whole number, or of a duration that has one of its own."""
    if key.kind == "integer":
        return f", {key.minimum or 0:,} to {integer_maximum(key):,}"
    return (
        f", at most {format_duration(key.maximum)}"
        if key.kind in ("duration", "rate") and key.maximum
        else ""
    )


def _default(key: Key, model: type | None) -> str:
    if key.required:
        return "required"
    default = key.default if model is None else default_of(model, key)
    if default in (None, {}, ""):
        return ""
    return f"`{flow(default if model is None else KINDS[key.kind].write(default))}`"


def _distributions() -> str:
    rows = [
        [f"`{name}`", ", ".join(f"`{key.name}`: {key.says}" for key in keys)]
        for name, keys in DISTRIBUTIONS.items()
    ]
    text = (
        "A duration, or `{distribution: lognormal, median: 40ms, sigma: 0.3}`; a constant is written as "
        "the duration itself.\n"
    )
    return text + "\n" + _table(("distribution", "keys"), rows)


def _selections() -> str:
    names = {"hold": "hold", "delay": "delay", "nack": "negativeAcknowledge"}
    rows = [
        [f"`{names[name]}`", f"`{key.name}`", "required" if key.required else "", key.says]
        for name, keys in SELECTIONS.items()
        for key in keys
    ]
    return _table(("selection", "key", "", "says"), rows)


def _commands() -> str:
    rows = []
    for command in COMMANDS.values():
        arguments = "; ".join(f"`{key.name}`{_argument(key)}: {key.says}" for key in command.arguments)
        one_of = (
            f". Exactly one of {', '.join(f'`{name}`' for name in command.one_of)}." if command.one_of else ""
        )
        rows.append([f"`{command.name}`", command.says + one_of, arguments])
    return _table(("command", "does", "arguments"), rows)


def _argument(key: Key) -> str:
    choices = (
        f" ({', '.join(key.choices)})" if key.choices else f" ({_bounds(key)[2:]})" if _bounds(key) else ""
    )
    if key.required:
        return choices
    return f"{choices} (optional)" if key.default is None else f"{choices} (`{flow(key.default)}`)"


def _settings(table: dict[str, Setting]) -> str:
    rows = []
    for setting in table.values():
        kind = ", ".join(f"`{choice}`" for choice in setting.choices) or setting.kind + _bounds(
            key_of(setting)
        )
        rows.append(
            [
                f"`{setting.name}`",
                kind,
                _setting_default(setting),
                setting.says + ("" if setting.dynamic else " (not dynamic)"),
            ]
        )
    return _table(("name", "value", "default", "says"), rows)


def _setting_default(setting: Setting) -> str:
    if setting.default is None:
        return ""
    others = {**({} if setting.measured is None else {"measured": setting.measured}), **setting.profiles}
    shown = [f"{name}: `{_written(setting, value)}`" for name, value in others.items()]
    return "; ".join([f"`{_written(setting, setting.default)}`", *shown])


def _written(setting: Setting, value: Any) -> str:
    written = KINDS[setting.kind].write(value)
    return written if setting.kind == "duration" else flow(written)


def _library() -> str:
    rows = [[f"`{name}`", load_scenario(name).title] for name in scenario_names()]
    return _table(("name", "title"), rows)


if __name__ == "__main__":
    print(scenarios_document(), end="")
