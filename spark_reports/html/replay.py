"""How to run a report's run again: its section, with a link or a command line."""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.numbers import number, seconds


def _command_line(run: dict[str, Any]) -> str:
    """The command for a report that no site made, to be run in the lab's folder.

    Commands given by hand are not in the scenario, so report.json is read.
    """
    if run["commands"]:
        return (
            f"<code>{escape(replay_command(run))}</code> in the lab's folder, beside report.json: it "
            f"prints the trace's sha256"
        )
    return (
        f"<code>{escape(replay_command(run))}</code> in the lab's folder, with the scenario below saved as "
        f"scenario.yaml"
    )


def replay_command(run: dict[str, Any]) -> str:
    """A line for a shell."""
    if not run["commands"]:
        return f"python manage.py simulate scenario.yaml --seed {run['seed']} --until {run['until_us']}us"
    code = (
        f"import json; from simulator import World, load_scenario_text as load; run = next(one for one "
        f"in json.load(open('report.json'))['runs'] if one['run'] == {run['run']}); "
        "print(World.replay(load(run['scenario_text'], seed=run['seed']), run['seed'], "
        "run['commands'], run['until_us']).digest())"
    )
    return f'python -c "{code}"'


def replay(run: dict[str, Any]) -> str:
    """How to run it again: link or command line, and what identifies the run."""
    link = (
        (
            f'<a href="{escape(run["replay_url"])}" target="_blank" rel="noopener">replay this run in the '
            f"lab</a>"
        )
        if run.get("replay_url")
        else _command_line(run)
    )
    commands = "<br>".join(
        escape(
            f"{seconds(entry['at_us'])} s {entry['do']} "
            + " ".join(
                f"{name}={value}" for name, value in entry.items() if name not in ("at_us", "number", "do")
            )
        )
        for entry in run["commands"]
    )
    facts = (
        ("replay", link),
        ("engine", escape(run["engine_version"])),
        ("scenario", escape(run["scenario"])),
        ("seed", str(run["seed"])),
        ("end", f"{seconds(run['until_us'])} s"),
        ("live commands", commands or "none"),
        (
            "trace",
            (f'{number(run["rows"])} rows<br><span class="mono">sha256 {escape(run["trace_sha256"])}</span>'),
        ),
    )
    told = "".join(f"<dt>{term}</dt><dd>{says}</dd>" for term, says in facts)
    text = (
        f'<details class="screen"><summary>The scenario</summary><pre '
        f'class="mono">{escape(run["scenario_text"])}</pre></details>'
    )
    return f'<section><h2>Run this again</h2><dl class="facts">{told}</dl>{text}</section>'
