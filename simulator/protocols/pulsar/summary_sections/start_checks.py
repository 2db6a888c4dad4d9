"""Results of replicators' start checks (PIP-433, #24652), by replicator and by command.

Rules: no request waits for a start check, so a command's own code does not include it. The last result is
listed with the command, also when the replicator was removed. The check of a retry belongs to the command
that requested the start. A check at the start of the run belongs to no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.creation.replicator_start import PASSED
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.creation.replicator_start import Outcome
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.world import World

COMMANDS = ("command.applied", "command.refused")


def of_replicator(replicator: Replicator) -> dict[str, Any] | None:
    """The last start check of a replicator, None before the first.

    Returns {outcome, code, local, remote}. Shapes are numbers of partitions, 0 a plain topic, null no topic.
    """
    return None if replicator.checked is None else _words(replicator.checked)


def _words(outcome: Outcome) -> dict[str, Any]:
    return {
        "outcome": outcome.outcome,
        "code": outcome.code,
        "local": outcome.local,
        "remote": outcome.remote,
    }


def commands(run: World) -> list[dict[str, Any]]:
    """`commands[]`, each with the `start_checks` that it caused, if any.

    A start check is {from, to, topic, outcome, code, local, remote, error}. Where no scenario key lets
    clusters disagree about topics, checks that passed are left out, because all do.
    """
    results = run.command_results
    if results:
        numbers = {seq: number for number, seq in enumerate(run.trace.seqs(0, run.seq, types=COMMANDS))}
        asks = bool(run.scenario.namespaces) or any(
            topic.exists is not None for topic in run.scenario.topics.values()
        )
        for (requested_seq, source, target, log), (outcome, error) in run.runtime.start_checks.items():
            number = _command_of(run, requested_seq, numbers) if asks or outcome.outcome != PASSED else None
            if number is not None:
                results[number].setdefault("start_checks", []).append(
                    {"from": source, "to": target, "topic": log, **_words(outcome), "error": error}
                )
    return results


def _command_of(run: World, seq: int, numbers: dict[int, int]) -> int | None:
    """The number of the command that caused a row, None without one."""
    while seq != NULL and seq not in numbers:
        seq = run.trace.row(seq).get("cause_seq", NULL)
    return numbers.get(seq)
