"""What the figures of a setting cover: what is a sample, and what is complete."""

from __future__ import annotations

from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.figures import SAMPLED
from spark_reports.experiments.report.results import Results
from spark_reports.html.numbers import number, plural


def coverage(results: Results, setting: Setting) -> str:
    """Sentences for readers who want to know what an interval is about."""
    design = setting.design
    if not len(setting.runs.runs):
        return "This setting has no runs yet."
    phases = f"{number(design.phases)} {'drawn' if design.drawn else 'evenly spaced'} phases"
    seeds = plural(design.seeds, "seed", "seeds")
    if design.kind == SAMPLED:
        if design.drawn and design.seeds == 1:
            covered = "the interval covers the instant of the failure, not other traffic"
            return f"{_cap(phases)} of one seed: {covered}."
        worth = setting.judged.independent if setting.judged else None
        if design.by_seed:
            return (
                f"{_cap(seeds)}, each at a phase of its own; the phases cover a whole period: the interval "
                "covers the traffic and the instant of the failure."
            )
        words = _sampled(design.drawn, design.phases, seeds, phases)
        if worth is not None and worth < len(setting.runs.runs):
            words += (
                f" Runs of one seed are alike: {number(len(setting.runs.runs))} runs count as "
                f"{number(int(worth))} independent ones."
            )
        return words
    if design.phases == 1:
        same = "Every seed gives the same run" if design.same_in_every_seed else "One run"
        return f"{same}, with the failure at one instant: other instants are not covered."
    same = (
        f"All {seeds} give the same runs, so they are no sample"
        if design.same_in_every_seed
        else "There is one seed, so other traffic is not covered"
    )
    return f"{_cap(phases)} cover a whole period. {same}, and no confidence is claimed."


def _sampled(drawn: bool, phases: int, seeds: str, words: str) -> str:
    if phases == 1 and not drawn:
        return f"{_cap(seeds)}, with the failure at one instant: the interval covers the traffic only."
    covered = (
        "traffic and instant of the failure" if drawn else "the traffic; the phases cover a whole period"
    )
    return f"{_cap(seeds)}, each with {words}: the interval covers {covered}."


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]
