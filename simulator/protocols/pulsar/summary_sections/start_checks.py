"""What replicators' start checks came to (PIP-433, #24652): of each replicator, and of each command that
made replicators start.

Rules: no request waits for a start check, so a command's own code says nothing of it; what came of it stands
beside the code, as it was last, also when the replicator is gone. A check that a retry asked belongs to what
had asked for the start; one that nobody asked for (the run began so) to no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.creation.start_check import PASSED
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.creation.start_check import Outcome
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.system.run_view import RunView

COMMANDS = ("command.applied", "command.refused")


def of_replicator(replicator: Replicator) -> dict[str, Any] | None:
    """{outcome, code, local, remote}, None before the first; shapes are numbers of partitions, 0 a plain
    topic, null no topic.
    """
    return None if replicator.checked is None else _words(replicator.checked)


def _words(outcome: Outcome) -> dict[str, Any]:
    return {
        "outcome": outcome.outcome,
        "code": outcome.code,
        "local": outcome.local,
        "remote": outcome.remote,
    }


def commands(run: RunView) -> list[dict[str, Any]]:
    """`commands[]`, each with the `start_checks` it led to where there are any: {from, to, topic, outcome,
    code, local, remote, error}.

    Where no scenario key lets clusters disagree about topics, checks that passed are left out: all do.
    """
    results = run.command_results
    if results:
        numbers = {seq: number for number, seq in enumerate(run.trace.seqs(0, run.seq, types=COMMANDS))}
        asks = bool(run.scenario.namespaces) or any(
            topic.exists is not None for topic in run.scenario.topics.values()
        )
        for (asked_seq, source, target, log), (outcome, error) in run.runtime.start_checks.items():
            number = _command_of(run, asked_seq, numbers) if asks or outcome.outcome != PASSED else None
            if number is not None:
                results[number].setdefault("start_checks", []).append(
                    {"from": source, "to": target, "topic": log, **_words(outcome), "error": error}
                )
    return results


def _command_of(run: RunView, seq: int, numbers: dict[int, int]) -> int | None:
    """The command from which a row comes, by its number; None when it comes from none."""
    while seq != NULL and seq not in numbers:
        seq = run.trace.row(seq).get("cause_seq", NULL)
    return numbers.get(seq)
