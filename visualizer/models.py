"""The database rows of a lab: its inputs, the commands given to it, and its position.

Engine state is never stored. Rules: a lab is rebuilt by replaying these rows, so a command is stored before
it takes effect. Only the process that holds the lab's current `run_number` writes to it (a conditional
update, so an outdated process detects that it is outdated). The owner's token is stored as a hash.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from django.db import models
from django.utils import timezone

from visualizer.labs.clients import KEY_LENGTH

ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""Characters of a lab's id, without l, o, 0 and 1, since a link may be read aloud."""

ID_LENGTH = 12
"""Characters of a lab's id. There are 32^12 ids, so a viewing link cannot be guessed."""

TOKEN_BYTES = 32


def new_lab_id() -> str:
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))


def new_token() -> str:
    """A new owner's token. It is shown once and kept by the page."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: str) -> str:
    """The stored hash of a token. A plain hash is enough, since the token is random."""
    return hashlib.sha256(token.encode()).hexdigest()


class Lab(models.Model):
    """One saved run: scenario, seed, engine version, and the instant that the lab shows."""

    class State(models.TextChoices):
        READY = "ready"
        FAILED = "failed"  # an internal error; `failure` says where

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_lab_id, editable=False)
    title = models.CharField(max_length=200)
    scenario_name = models.CharField(max_length=100)
    scenario_text = models.TextField(help_text="canonical YAML")
    seed = models.BigIntegerField()
    engine_version = models.CharField(max_length=50)
    client = models.CharField(
        max_length=KEY_LENGTH,
        blank=True,
        default="",
        db_index=True,
        help_text="whose quota it counts for (`visualizer.labs.clients`)",
    )
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(default=timezone.now, help_text="when it was last opened or moved")
    state = models.CharField(max_length=10, choices=State.choices, default=State.READY)
    failure = models.JSONField(null=True, blank=True)

    run_number = models.BigIntegerField(
        default=0, help_text="counts the processes that have run this lab; only the newest writes"
    )
    branch = models.IntegerField(default=0)
    position_us = models.BigIntegerField(default=0, help_text="the world stands at the end of this instant")
    furthest_us = models.BigIntegerField(default=0)
    picture = models.JSONField(
        null=True, blank=True, help_text="what it showed when it last stood still; null before that"
    )
    command_log = models.JSONField(
        default=list,
        help_text="the engine's command log of the present branch: with scenario and seed, the run's inputs",
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.id} ({self.scenario_name})"

    def is_owner(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(self.token_hash, hash_of(token))


class LabCommand(models.Model):
    """A command as it was given: its branch and instant, and how far that branch had run by then.

    Replaying the commands in order of `number` makes the same branches.
    """

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="commands")
    number = models.IntegerField(help_text="from 1, in the order given")
    branch = models.IntegerField()
    at_us = models.BigIntegerField()
    furthest_us = models.BigIntegerField(help_text="at_us below it: the command starts a new branch")
    command = models.JSONField()
    ok = models.BooleanField(null=True, help_text="null until it has taken effect")
    code = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["lab", "number"]
        constraints = [models.UniqueConstraint(fields=["lab", "number"], name="one_command_per_number")]

    def __str__(self) -> str:
        return f"{self.lab_id} #{self.number} {self.command.get('do')} at {self.at_us} µs"


class Presentation(models.Model):
    """A lab that is presented to a class, under a room code, for a limited time.

    The code finds the lab as its viewing link does. The owner's token, and nothing else, makes a presenter.
    """

    code = models.CharField(primary_key=True, max_length=10, editable=False)
    lab = models.OneToOneField(Lab, on_delete=models.CASCADE, related_name="presentation")
    client = models.CharField(max_length=KEY_LENGTH, blank=True, default="", db_index=True)
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.code}: {self.lab_id}"

    def facts(self) -> dict[str, Any]:
        """What the process that runs the lab needs to know: code, end, and seconds until then."""
        left_s = (self.ends_at - timezone.now()).total_seconds()
        return {"code": self.code, "ends_at": self.ends_at.isoformat(), "left_s": max(0, round(left_s))}


class ScenarioPicture(models.Model):
    """The gallery's picture of a scenario, or its outcome, from a real run.

    It is computed once per scenario text and engine version.
    """

    key = models.CharField(
        primary_key=True, max_length=64, help_text="hash of engine version and canonical text"
    )
    picture = models.JSONField()

    def __str__(self) -> str:
        return self.key
