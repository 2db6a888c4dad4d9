"""Checks uploaded logs before Spark reads them: how far they expand, and the rows of Parquet files.

Rules: a file is unpacked in pieces and nothing of it is kept, so a small file that expands without end costs
only the time up to the limit. The limits are those that the page states. Records that a line stands for are
counted where lines are read (`formats.verifiable.check_records`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from visualizer.audits.limits import EXPANDED_MIB_MOST, MIB, ROWS_MOST

PIECE_BYTES = 1 << 20
"""Bytes that are unpacked between two looks at the cancel mark."""

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class BadUpload(Exception):
    """An uploaded file that cannot be audited; the text says why."""


class UploadCheck:
    """Checks files one after the other; `expanded_bytes` and `rows` are sums over them."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        """`go_on` is called between two pieces, and raises an error to end the check."""
        self.go_on = go_on
        self.expanded_bytes = 0
        self.rows = 0

    def check(self, path: Path) -> None:
        """Check one file. Raises BadUpload."""
        if path.suffix.lower() == ".parquet":
            self._check_parquet(path)
        else:
            self._check_text(path)

    def _check_parquet(self, path: Path) -> None:
        try:
            meta = parquet.read_metadata(path)
        except (pa.ArrowException, OSError) as error:
            raise BadUpload(f"{path.name} is no Parquet file, or it is cut off.") from error
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        self._add_rows(path, sum(group.num_rows for group in groups))  # what is read, not what the file says
        self._add_bytes(path, sum(group.total_byte_size for group in groups))

    def _check_text(self, path: Path) -> None:
        for piece in _pieces(path):
            self.go_on()
            self._add_bytes(path, len(piece))

    def _add_bytes(self, path: Path, count: int) -> None:
        self.expanded_bytes += count
        if self.expanded_bytes > EXPANDED_MIB_MOST * MIB:
            raise BadUpload(
                f"With {path.name} the files expand to more than {EXPANDED_MIB_MOST} MiB together."
            )

    def _add_rows(self, path: Path, count: int) -> None:
        self.rows += count
        if self.rows > ROWS_MOST:
            raise BadUpload(f"With {path.name} the files have more than {ROWS_MOST:,} rows together.")


def _pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, unpacked. Raises BadUpload for a damaged one."""
    codec = CODECS.get(path.suffix.lower())
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
    except (pa.ArrowException, OSError, EOFError) as error:
        raise BadUpload(f"{path.name} is damaged, or not compressed as its name says.") from error
