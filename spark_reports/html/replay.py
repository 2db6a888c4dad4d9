"""The section that shows how to run a report's run again, with a link and a command line.

A report is passed on, and its reader may not reach the site that made it. So the link names the site's host, and
the command line needs no site.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from spark_reports.html.templates import render


def replay_command(run: dict[str, Any]) -> str:
    """The command line for a shell in the lab's folder.

    Commands given live are not in the scenario. With such commands the line reads report.json.
    """
    rules = f"{run['rule'].partition('@')[0]}.py" if "rule" in run else None
    if not run["commands"]:
        given = f" --rules {rules}" if rules else ""
        return (
            f"python manage.py simulate scenario.yaml --seed {run['seed']} --until {run['until_us']}us{given}"
        )
    loads = f"import simulator; simulator.load_rules('{rules}'); " if rules else ""
    code = (
        f"{loads}import json; from simulator import World, load_scenario_text as load; run = next(one for one "
        f"in json.load(open('report.json'))['runs'] if one['run'] == {run['run']}); "
        "print(World.replay(load(run['scenario_text'], seed=run['seed']), run['seed'], "
        "run['commands'], run['until_us']).digest())"
    )
    return f'python -c "{code}"'


def replay(run: dict[str, Any]) -> Markup:
    """The section: link or command line, and the inputs that identify the run."""
    return render(
        "html/templates/replay.html",
        run=run,
        command=replay_command(run),
        server=urlsplit(run.get("replay_url") or "").netloc,
        commands=[(entry["at_us"], _command_words(entry)) for entry in run["commands"]],
    )


def _command_words(entry: dict[str, Any]) -> str:
    settings = [f"{name}={value}" for name, value in entry.items() if name not in ("at_us", "number", "do")]
    return " ".join([entry["do"], *settings])
