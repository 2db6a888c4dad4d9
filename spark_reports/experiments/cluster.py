"""What a sweep needs of a session: the package on its executors, and the number of its cores.

Rules: nothing of the lab has to be installed on executors. The archive's name has the digest of its content,
so that a session gets it once and a changed source gets another name. Code that runs from an archive itself
was sent by spark-submit.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from spark_reports.packaging import ROOT, make_package


def prepare(spark: Any) -> int:
    """Send the package to the session's executors, and return the number of their cores."""
    if ROOT.is_dir():
        spark.addArtifacts(str(packed()), pyfile=True)
    return cores_now(spark) or _parallelism(spark)


def cores_now(spark: Any) -> int | None:
    """The cores of the executors that have registered so far, None where the session does not say."""
    context = getattr(spark, "_sc", None)  # absent on Connect
    return None if context is None else max(1, context.defaultParallelism)


def _parallelism(spark: Any) -> int:
    """The number of tasks into which the session cuts a job that does not say."""
    from pyspark.sql import functions as F

    return spark.range(0, 1 << 16).select(F.spark_partition_id().alias("task")).distinct().count()


@cache
def packed() -> Path:
    """The archive, made once for this process and removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="failover-lab-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = make_package(folder / "package.zip")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.rename(folder / f"failover_lab_{digest}.zip")
