"""Reads JSON Lines, CSV and Parquet by a mapping.

Rules: a frame returned here has those canonical columns that the mapping names, and `text` (the row as it is
in the log), `file` and `corrupt` (why it is no row, or null). Schemas are made from the mapping.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from spark_reports.audit.errors import AuditError, columns_text
from spark_reports.audit.inputs import (
    BEFORE_A_LINE,
    NO_LINE,
    InputFile,
    all_lines,
    first_lines,
    flat_columns,
    json_rows,
    whole_rows,
    within_limit,
)
from spark_reports.audit.mapping import SEPARATORS, LineScan, Mapping

CORRUPT = "_corrupt"
QUOTE = '"'
"""A quote in a quoted cell of CSV is doubled (RFC 4180)."""
REQUIRED = ("ts", "kind", "message_id", "position")
"""Columns whose absence makes a row unreadable, so that the reason is looked for."""
OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def read_json_lines(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Rows of JSON Lines. A column `a.b` is the key "a.b", or `b` inside `a`, which may be JSON as text."""
    names = sorted({name for known in mapping.columns for name in mapping.sources(known)})
    found = from_json_text(json_rows(spark, files, expanded_mib), "value", names)
    return found.rows.select(
        *_canonical(mapping, mapping.columns, found.values.__getitem__),
        F.col("value").alias("text"),
        "file",
        F.coalesce(found.corrupt, *_not_inside(mapping, found)).alias("corrupt"),
    )


class Json(NamedTuple):
    """Values of a column of JSON texts by their names, in a frame with helper columns.

    `corrupt` says why a text is no JSON object, and `inside` for a dotted name that its parent is none.
    """

    rows: DataFrame
    values: dict[str, Column]
    corrupt: Column
    inside: dict[str, Column]


def from_json_text(rows: DataFrame, source: str, names: Sequence[str]) -> Json:
    """Values inside JSON texts. Each level is parsed as text, so that it may be an object or JSON as text."""
    parsed = f"{source}_json"
    below: dict[str, list[str]] = {}
    for name in names:
        step, dot, rest = name.partition(".")
        if dot:
            below.setdefault(step, []).append(rest)
    fields = [StructField(name, StringType()) for name in sorted({*names, *below})]
    schema = StructType([*fields, StructField(CORRUPT, StringType())])
    rows = rows.withColumn(parsed, F.from_json(source, schema, OPTIONS))
    bad = F.col(parsed).isNull() | F.col(parsed).getField(CORRUPT).isNotNull()
    values = {name: F.col(parsed).getField(name) for name in names}
    inside: dict[str, Column] = {}
    for number, (step, rests) in enumerate(sorted(below.items())):
        inner = f"{parsed}_{number}"
        found = from_json_text(rows.withColumn(inner, F.col(parsed).getField(step)), inner, rests)
        rows = found.rows
        for rest in rests:
            name = f"{step}.{rest}"
            values[name] = F.coalesce(values[name], found.values[rest])
            inside[name] = F.coalesce(
                F.when(
                    F.col(inner).isNotNull() & found.corrupt.isNotNull(), F.lit(f"{step} is no JSON object")
                ),
                *([found.inside[rest]] if rest in found.inside else []),
            )
    return Json(rows, values, F.when(bad, F.lit("it is no JSON object")), inside)


def _not_inside(mapping: Mapping, found: Json) -> list[Column]:
    """Why a value that a row must have is not there: the text that it is inside is no JSON."""
    needed = [name for known in REQUIRED if known in mapping.columns for name in mapping.sources(known)]
    return [
        F.when(found.values[name].isNull(), found.inside[name]) for name in needed if name in found.inside
    ]


def _canonical(mapping: Mapping, present: Iterable[str], column_of: Callable[[str], Column]) -> list[Column]:
    """The canonical columns, each from one column of the log or from several."""
    made = []
    for known in present:
        parts = [column_of(name) for name in mapping.sources(known)]
        one = _joined(parts, SEPARATORS[known]) if known in mapping.parts else parts[0]
        made.append(one.alias(known))
    return made


def _joined(parts: Sequence[Column], separator: str) -> Column:
    """One text of several values, different for different values; null if one of them is missing."""
    texts = []
    for part in parts:
        text = F.nullif(F.trim(part.cast("string")), F.lit(""))
        whole = F.regexp_replace(text, r"^(-?\d+)\.0$", "$1")  # pandas makes floats of integers beside gaps
        escaped = F.replace(
            F.replace(whole, F.lit("\\"), F.lit("\\\\")), F.lit(separator), F.lit(f"\\{separator}")
        )
        texts += [F.lit(separator), escaped]
    return F.concat(*texts[1:])


def read_csv(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Rows of CSV files with one header, the same in all of them."""
    first = files[0].path
    header = _header(spark, files, mapping)
    example = partial(_first_cells, spark, files[0], header, mapping.delimiter)
    columns = _present(mapping, header, header, first, example)
    schema = StructType([StructField(name, StringType()) for name in [*header, CORRUPT]])

    def read_at_once(whole: list[InputFile]) -> DataFrame:
        rows = whole_rows(spark, whole, expanded_mib, as_json=False)
        ddl = ", ".join(f"`{name.replace('`', '``')}` string" for name in schema.names)
        own = F.from_csv("value", ddl, {**OPTIONS, "sep": mapping.delimiter, "escape": QUOTE}).alias("row")
        lines = [F.lit(line) for line in {first_lines(spark, one)[0] for one in whole}]
        return rows.filter(~F.col("value").isin(lines)).select(own, "file").select("row.*", "file")

    def rows_of(paths: list[str]) -> DataFrame:
        return (
            spark.read.schema(schema)
            .options(
                header=True,
                sep=mapping.delimiter,
                escape=QUOTE,
                enforceSchema=False,
                maxCharsPerColumn=1_000_000,
            )
            .options(**OPTIONS)
            .csv(paths)
            .withColumn("file", F.col("_metadata.file_path"))
        )

    whole = [file for file in files if file.whole]
    plain = [file for file in files if not file.whole]
    frames = [within_limit(plain, rows_of, expanded_mib)] if plain else []
    frames += [read_at_once(whole)] if whole else []
    read, column_of = _with_json(
        reduce(DataFrame.unionByName, frames), mapping, columns, header, header, _quoted
    )
    text = F.coalesce(F.col(CORRUPT), F.to_json(F.struct(*(_quoted(name) for name in header))))
    return read.select(
        *_canonical(mapping, columns, column_of),
        text.alias("text"),
        "file",
        F.when(F.col(CORRUPT).isNotNull(), F.lit("its number of cells differs from the header's")).alias(
            "corrupt"
        ),
    )


def _header(spark: SparkSession, files: Sequence[InputFile], mapping: Mapping) -> list[str]:
    """The header of all files. Raises AuditError where one that is read at once has another."""
    plain = [file for file in files if not file.whole]
    found: list[str] | None = None
    if plain:
        read = spark.read.options(header=True, sep=mapping.delimiter, escape=QUOTE).csv(plain[0].path)
        found = list(read.columns)
    for file in files:
        own = (
            next(csv.reader(first_lines(spark, file)[:1], delimiter=mapping.delimiter))
            if file.whole
            else found
        )
        found = found or own
        if own != found:
            raise AuditError(
                f"{file.path}: its columns differ from those of the first file; audit files with other "
                f"columns apart"
            )
    return found or []


def read_text(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Rows of text files by the mapping's pattern; its groups are the columns."""
    scan = LineScan(mapping.pattern, BEFORE_A_LINE, NO_LINE)
    lines = (
        _fields_of(json_rows(spark, files, expanded_mib), mapping.fields)
        if mapping.fields
        else all_lines(spark, files, expanded_mib)
    )
    found = lines.mapInArrow(scan, scan.schema)
    groups = dict(zip(scan.groups, scan.columns))
    return found.select(
        *_canonical(mapping, mapping.columns, lambda name: F.col(groups[name])),
        F.col("value").alias("text"),
        "file",
        F.col("problem").alias("corrupt"),
    )


def _fields_of(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """The values of the fields in each row's JSON, separated by tabs; a row without JSON stays as it is."""
    found = from_json_text(rows, "value", sorted(set(names)))
    texts = [F.regexp_replace(F.coalesce(found.values[name], F.lit("")), r"[\t\r\n]", " ") for name in names]
    line = F.when(found.corrupt.isNull(), F.concat_ws("\t", *texts)).otherwise(F.col("value"))
    return found.rows.select(line.alias("value"), "file")


def read_parquet(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int = 0
) -> DataFrame:
    """Rows of Parquet files. A column `a.b` is `b` inside the struct `a`, unless a column has that name."""
    paths = [file.path for file in files]
    read = spark.read.parquet(*paths)
    found = _paths_of(read.schema)
    texts = [name for name, kind in found.items() if isinstance(kind, StringType)]
    columns = _present(mapping, list(found), texts, paths[0], partial(_first_row, read))
    plain = partial(_named, schema=read.schema)
    read, column_of = _with_json(read, mapping, columns, list(found), texts, plain)
    rows = read.select(*_canonical(mapping, columns, column_of), F.col("_metadata.file_path").alias("file"))
    text = F.to_json(F.struct(*columns)) if columns else F.lit("{}")
    return rows.select(*columns, text.alias("text"), "file", F.lit(None).cast("string").alias("corrupt"))


def key_column(raw: DataFrame, mapping: Mapping) -> str | None:
    """The canonical column that identifies a message, if it holds integers or texts; else None.

    Without a declared identity, a row without an id is identified by its position.
    """
    name = mapping.identity or ("message_id" if "message_id" in raw.columns else "position")
    if name not in raw.columns or name in {*mapping.constants, *mapping.from_path}:
        return None
    kinds = (LongType, IntegerType, ShortType, StringType)
    return name if isinstance(raw.schema[name].dataType, kinds) else None


def _present(
    mapping: Mapping,
    found: Sequence[str],
    texts: Sequence[str],
    path: str,
    example: Callable[[], dict[str, str]],
) -> list[str]:
    """The canonical columns that the file has. Raises AuditError where one is missing."""
    missing = {
        known: [name for name in mapping.sources(known) if name not in found and not _parent(name, texts)]
        for known in mapping.columns
    }
    listed = [f"{name} (for {known})" for known, names in missing.items() for name in names]
    if mapping.given and listed:
        raise AuditError(f"{path}: there is no column {', '.join(listed)}; {columns_text(example())}")
    present = [known for known, names in missing.items() if not names]
    own = {*present, *mapping.constants, *mapping.from_path}
    if not {"ts", "kind"} <= own or not {"message_id", "position"} & own:
        raise AuditError(f"{path}: {columns_text(example())}")
    return present


def _first_cells(
    spark: SparkSession, file: InputFile, header: Sequence[str], delimiter: str
) -> dict[str, str]:
    """The columns of a CSV file, with the cells of its first row."""
    row = next(csv.reader(first_lines(spark, file)[1:2], delimiter=delimiter), [])
    return dict.fromkeys(header, "") | dict(zip(header, row))


def _first_row(frame: DataFrame) -> dict[str, str]:
    """The columns of a file, with the values of its first row."""
    row = frame.limit(1).collect()
    return flat_columns(row[0].asDict(recursive=True) if row else dict.fromkeys(frame.columns))


def _parent(name: str, texts: Sequence[str]) -> str | None:
    """The longest column of texts that the name could be inside, as JSON."""
    steps = name.split(".")
    places = (".".join(steps[:count]) for count in range(len(steps) - 1, 0, -1))
    return next((place for place in places if place in texts), None)


def _with_json(
    rows: DataFrame,
    mapping: Mapping,
    present: Iterable[str],
    found: Sequence[str],
    texts: Sequence[str],
    plain: Callable[[str], Column],
) -> tuple[DataFrame, Callable[[str], Column]]:
    """The rows and where each name of the mapping is: a column, or inside a column of JSON texts."""
    inside: dict[str, list[str]] = {}
    for name in {name for known in present for name in mapping.sources(known)}:
        parent = _parent(name, texts)
        if name not in found and parent:
            inside.setdefault(parent, []).append(name[len(parent) + 1 :])
    values: dict[str, Column] = {}
    for number, (parent, names) in enumerate(sorted(inside.items())):
        source = f"_json{number}"
        made = from_json_text(rows.withColumn(source, plain(parent)), source, sorted(names))
        rows = made.rows
        values.update({f"{parent}.{name}": column for name, column in made.values.items()})
    return rows, lambda name: values[name] if name in values else plain(name)


def _paths_of(schema: StructType, before: str = "") -> dict[str, DataType]:
    names: dict[str, DataType] = {}
    for field in schema:
        names[f"{before}{field.name}"] = field.dataType
        if isinstance(field.dataType, StructType):
            names |= _paths_of(field.dataType, f"{before}{field.name}.")
    return names


def _named(name: str, schema: StructType) -> Column:
    return _quoted(name) if name in schema.names else F.col(".".join(f"`{step}`" for step in name.split(".")))


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
