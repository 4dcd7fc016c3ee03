"""How much a file may hold that is packed: a small one must not fill the memory.

A table of visits packs to a tenth of its size, or a thirtieth. What unpacks to a hundred times its
size is a mistake or a trap; it is refused while it is counted, a piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pgt.errors import DataError
from pgt.io.forms import Form, readable

# A packed file may unpack to so many bytes, however small it is, or to so many times its size.
ALWAYS = 256 * 2**20
TIMES = 100
PIECE = 1 << 20  # bytes of a text, or rows of a Parquet file, that are looked at together
CELL = 8  # bytes of a number or a time in memory


def require_room(path: Path, form: Form, files: Sequence[Path] | None = None) -> None:
    """Count what a packed file unpacks to, and read it to its end, where a checksum may stand.

    Parameters
    ----------
    path : Path
    form : Form
        Of `pgt.io.forms.form_of`. A text that is not packed is not looked at.
    files : sequence of Path, optional
        If `path` is a folder, its files, which are counted together.

    Raises
    ------
    DataError
        It unpacks to more than `ALWAYS` and more than `TIMES` its size, or it is damaged.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "visits.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(bytes(2**20)) * 257)
    ...     try:
    ...         require_room(path, Form("csv", packed=True))
    ...     except DataError as error:
    ...         print(error)
    visits.csv.gz would unpack to more than 256 MiB, over 100 times its size; ...
    """
    if form.kind == "csv" and not form.packed:
        return
    files = [path] if files is None else files
    limit = max(ALWAYS, TIMES * sum(file.stat().st_size for file in files))
    total = 0
    for file in files:
        with readable(file, form.kind):
            for size in _texts(file, form) if form.kind == "csv" else _cells(file):
                total += size
                if total > limit:
                    raise DataError(
                        f"{path.name} would unpack to more than {limit / 2**20:,.0f} MiB, over "
                        f"{TIMES} times its size; if you trust it, unpack it yourself and give a "
                        "plain CSV."
                    )


def _texts(path: Path, form: Form) -> Iterator[int]:
    """The bytes of a packed text, piece by piece."""
    with form.open(path) as handle:
        while piece := handle.read(PIECE):
            yield len(piece)


def _cells(path: Path) -> Iterator[int]:
    """What a Parquet file takes in memory: its numbers at once, then its texts piece by piece.

    A text that stands in many rows is stored once, so its length is counted for each.
    """
    with pq.ParquetFile(path) as file:
        about, schema = file.metadata, file.schema_arrow
        yield about.num_rows * about.num_columns * CELL
        groups = range(about.num_row_groups)
        yield sum(about.row_group(number).total_byte_size for number in groups)
    texts = [field.name for field in schema if _is_text(field.type)]
    if not texts:
        return
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(PIECE, columns=texts, use_threads=False):
            for column in batch.columns:
                yield _length(column)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)


def _length(column: pa.Array) -> int:
    """The bytes of a column of texts, each counted in every row where it stands."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
