"""The catalogue of terms, and the terms that every protocol uses.

Rules: each protocol declares its own in `simulator/protocols/<name>/terms`. The glossary page and
`docs/glossary.md` are made from them. A definition is plain text with code in backticks. A label, a term's
name included, leads to one term only (`Catalogue`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LAB = "Failover Lab"
"""The source of a term that no broker has."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term, its definition and its source: a broker's class, a proposal's section or an issue's number.

    `labels` are the headings of pages and reports that lead to it beside its name.
    """

    name: str
    says: str
    source: str
    labels: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The anchor of its entry: `mark-delete-position`."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def plain(self) -> str:
        """The definition without marks, for a tooltip."""
        return self.says.replace("`", "")


@dataclass(frozen=True, slots=True)
class TermSection:
    """Terms under one heading of the glossary."""

    title: str
    terms: tuple[Term, ...]


class Catalogue:
    """Sections of terms, in which no two terms share an anchor or a label; otherwise ValueError."""

    def __init__(self, sections: Iterable[TermSection]) -> None:
        self.sections = tuple(sections)
        self.by_label: dict[str, Term] = {}
        """In lower case."""
        anchors: set[str] = set()
        for term in (term for section in self.sections for term in section.terms):
            if term.anchor in anchors:
                raise ValueError(f"two terms have the anchor {term.anchor}")
            anchors.add(term.anchor)
            for label in (term.name, *term.labels):
                known = self.by_label.setdefault(label.lower(), term)
                if known is not term:
                    raise ValueError(f"“{label}” leads to “{known.name}” and to “{term.name}”")

    def of_label(self, label: str) -> Term | None:
        """The term that a heading leads to; None for a heading that is a name or a sentence."""
        return self.by_label.get(label.lower())


SHARED_TERMS: tuple[TermSection, ...] = (
    TermSection(
        "Messages and deliveries",
        (
            Term("Message", "What a producer publishes.", "`Message`, MQTT PUBLISH", ("messages",)),
            Term("Published, stored", "The producer sent it; a log or stream holds it.", LAB, ("published",)),
            Term("Delivered", "Handed to the application.", LAB),
            Term(
                "Delivered, not acked",
                (
                    "The application has it and has not acknowledged it. Brokers count these as unacked "
                    "messages."
                ),
                "`Consumer.getUnackedMessages`, MQTT 5 section 4.3",
            ),
            Term(
                "Acknowledged",
                "The application confirmed that it has processed the message.",
                "`CommandAck`, MQTT PUBACK",
                ("acked", "not acked yet"),
            ),
            Term(
                "Redelivered",
                (
                    "Delivered again before any acknowledgement: after a negative acknowledgement, an ack "
                    "timeout, a lost consumer, a failover or a reassignment. Not counted as a duplicate."
                ),
                LAB,
                (
                    "redelivered if the leader crashes",
                    "redelivered if its client is killed",
                    "redelivered, not acknowledged before",
                ),
            ),
            Term(
                "Duplicate",
                (
                    "A message that is delivered although it was acknowledged before, in any cluster or by "
                    "any client. A failover counts the first delivery in its window. Every duplicate has "
                    "one cause."
                ),
                LAB,
                ("duplicates", "duplicates of a failover", "of these acked", "duplicates so far"),
            ),
            Term(
                "Still to be delivered again",
                (
                    "When the run ends: messages that were delivered or acknowledged before, and that the "
                    "target of a failover, or a reader of a group, may still deliver. While there are any, "
                    "the number of duplicates is a lower bound. `pending_repeats` in JSON."
                ),
                LAB,
            ),
            Term(
                "Lost",
                (
                    "Never acknowledged although the subscription or group should get it, and no longer "
                    "deliverable."
                ),
                LAB,
                ("lost, in the whole run", "lost, QoS 0"),
            ),
            Term("Reordered", "Delivered after a later message of the same producer and key.", LAB),
            Term(
                "Percentile",
                (
                    "p50 is the median and p99 the value that 99 % do not exceed, by nearest rank; beside "
                    "mean and maximum."
                ),
                LAB,
                ("mean", "p50", "p99", "max", "p99 of the last 2 s"),
            ),
        ),
    ),
    TermSection(
        "The lab",
        (
            Term(
                "Lab", "One scenario that is run, with its seed, commands and branches.", LAB, ("as a lab",)
            ),
            Term("Scenario", "A file that describes clusters, clients, commands and expectations.", LAB),
            Term(
                "Seed",
                "Decides every random draw. Equal scenario, seed and commands give equal bytes.",
                LAB,
            ),
            Term(
                "Instant",
                "A point of simulated time, in microseconds. Events of one instant have a fixed order.",
                LAB,
                ("moved at", "at, s"),
            ),
            Term(
                "Event, row, trace",
                "What happened; its line in the trace; all rows of a run.",
                LAB,
                ("events", "event", "row"),
            ),
            Term("Cause", "The row that led to a row, or the reason of a duplicate.", LAB, ("causes",)),
            Term(
                "Command",
                "A fault, a failover or an administrative request, planned by the scenario or given by hand.",
                LAB,
            ),
            Term(
                "Branch",
                "A run that differs from another one from a command on. The run without the command stays.",
                LAB,
            ),
            Term("Step", "To the instant of the next row that passes a filter.", LAB),
            Term(
                "Changed run",
                "The same seed and the same failure with one thing changed, to see what would have helped.",
                LAB,
                ("change", "difference"),
            ),
            Term(
                "Price of a change",
                "The additional cost of a changed run, such as more markers or a longer delivery gap.",
                LAB,
                ("price",),
            ),
            Term(
                "Check",
                "A statement about the protocol that must hold in every run, evaluated while it runs.",
                LAB,
            ),
            Term("Digest", "SHA-256 of a trace.", LAB),
            Term(
                "Fidelity option",
                "A setting that chooses between the behaviours of two versions of a broker.",
                LAB,
            ),
        ),
    ),
)
