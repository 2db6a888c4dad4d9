"""The text of a waiting task while `script/server` installs Spark.

Rules: `script/support/report_tools.py` writes the status file. Without a readable one nothing is shown: the
tools are installed, or managed elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import settings

STATUS_NAME = "report-tools.json"


def missing_tools() -> tuple[str, str] | None:
    """The text for a waiting report, as (words, note); None when no tool is known to be missing."""
    try:
        status = json.loads((Path(settings.DATA_DIR) / STATUS_NAME).read_text())
        state, doing = status["state"], status["words"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if state == "failed":
        return "Spark could not be installed, so this waits in the queue.", (
            "Start script/server again to retry; the terminal has the reason. The lab works without reports."
        )
    return (
        f"Installing Spark: {doing}.",
        "It starts automatically when that is done. The lab can be used meanwhile.",
    )
