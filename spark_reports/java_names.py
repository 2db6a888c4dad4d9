"""Names in Java that queries use all the time, looked up once per session.

py4j asks Java for the meaning of a name such as `functions` at every use of a column function. Java first
searches all of Spark's archives for a class of just that name. A short report does so 4,000 times,
which was a sixth of its processor time.

Rules: only look-ups are remembered, every call goes to Java as before. Spark Connect has no Java process.
"""

from __future__ import annotations

from typing import Any

NAMES = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "ArrowIteratorServer",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.expressions.Window",
)
"""The names that pyspark looks up for columns, frames, windows and local tables."""


def remember_names(spark: Any) -> None:
    """Remember the classes of `NAMES` and their methods in the session's view of Java."""
    view = getattr(getattr(spark, "_sc", None), "_jvm", None)  # absent on Connect
    if view is None:
        return
    from py4j.java_gateway import JavaClass, JavaMember

    class Remembered(JavaClass):
        """A class of Java that looks each of its methods up once."""

        def __getattr__(self, name: str) -> Any:
            member = super().__getattr__(name)
            if isinstance(member, JavaMember):  # not a field, whose value may change
                self.__dict__[name] = member
            return member

    for name in NAMES:
        found = getattr(view, name)
        if type(found) is JavaClass:  # another version of pyspark may not have it
            view.__dict__[name] = Remembered(found._fqn, found._gateway_client)
