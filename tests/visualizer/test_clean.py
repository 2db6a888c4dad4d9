"""`manage.py clean`: what is removed, what stays, and a dry run that removes nothing."""

from __future__ import annotations

import io
import os
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.visualizer.pages import SCENARIO
from visualizer.labs import cleaning
from visualizer.labs.definitions import new_lab
from visualizer.models import Lab
from visualizer.tasks.models import Report

pytestmark = pytest.mark.django_db


def output_of_clean(*arguments: str) -> str:
    output = io.StringIO()
    call_command("clean", *arguments, stdout=output)
    return output.getvalue()


@pytest.fixture
def labs(settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> list[Lab]:
    """Five unused for 100 days, two for 10.

    The first of each kind has a report with a file; and one orphaned folder.
    """
    monkeypatch.setattr(cleaning, "LABS_AT_ONCE", 2)
    settings.DATA_DIR = tmp_path
    made = [new_lab({"yaml": SCENARIO}).lab for _ in range(7)]
    for number, lab in enumerate(made):
        Lab.objects.filter(pk=lab.pk).update(
            used_at=timezone.now() - timedelta(days=100 if number < 5 else 10)
        )
    reports = [
        Report.objects.create(lab=made[number], title="", scenario_text="", seed=1, until_us=1)
        for number in (0, 5)
    ]
    for name in (*(report.pk for report in reports), "nosuchreport", "beingwritten"):
        folder = tmp_path / "reports" / name
        folder.mkdir(parents=True)
        (folder / "report.html").write_bytes(b"x" * 1_000)
        if name != "beingwritten":
            os.utime(folder, (1, 1))
    return made


def test_only_old_labs_their_reports_and_orphaned_files_are_removed(labs: list[Lab], tmp_path: Any) -> None:
    kept = Report.objects.get(lab=labs[5]).pk
    assert output_of_clean() == (
        "removed: 5 labs not used for 90 days, 1 reports of them, "
        "0 experiments and 0 audits of before, 1 orphaned folders (1,000 bytes)\n"
    )
    assert set(Lab.objects.values_list("pk", flat=True)) == {lab.pk for lab in labs[5:]}
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == sorted([kept, "beingwritten"])
    assert output_of_clean().startswith("removed: 0 labs")


def test_a_dry_run_removes_nothing(labs: list[Lab], tmp_path: Any) -> None:
    assert output_of_clean("--dry-run", "--days", "5").startswith(
        "would be removed: 7 labs not used for 5 days, 2 reports of them, 0 experiments and 0 audits of before, 1 orphaned"
    )
    assert Lab.objects.count() == 7 and len(list((tmp_path / "reports").iterdir())) == 4


@pytest.mark.parametrize("days", ["0", "-1", "soon", "99999"])
def test_an_invalid_number_of_days_is_refused(days: str) -> None:
    with pytest.raises(CommandError, match="days is a whole number from 1 to 36500"):
        output_of_clean("--days", days)
