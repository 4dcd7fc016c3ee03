"""Buckets: visits of any number as a folder of Parquet files, each with some of the people.

Everything that is computed of a person needs that person's visits alone. So people are dealt out
to buckets by a hash of their id, each bucket fits into memory, and the package's own functions do
the rest on one bucket after the other, or on several at a time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from pgt.errors import DataError
from pgt.io.tables import TIMES, tidy
from pgt.refusals.folders import require_manifest
from pgt.scale import duck
from pgt.scale.duck import Reading, Source
from pgt.scale.engines import Engine, InProcess
from pgt.scale.storage import Folder
from pgt.visits import split_by_days

VISITS = 200_000  # in a bucket, unless the number of buckets is given
BATCH = 100_000  # rows that leave DuckDB at a time
MANIFEST = "buckets.json"
FOUND = "found"  # goes away when all buckets are checked
VISITS_IN = "visits"


class Unfit(DataError):
    """The visits themselves are refused, so that no later call goes on with them."""


def raw_name(number: int) -> str:
    """A bucket as it was found."""
    return f"{FOUND}/{number:05d}.parquet"


def visits_name(number: int) -> str:
    """A bucket of checked visits."""
    return f"{VISITS_IN}/{number:05d}.parquet"


def bucket_of(user_id: int | str, n_buckets: int) -> int:
    """The bucket of a person, the same on every machine and at every time.

    Examples
    --------
    >>> bucket_of(7, 100), bucket_of("7", 100)
    (10, 10)
    """
    digest = hashlib.md5(str(user_id).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") % n_buckets


def number_of(out: Folder, user_id: int | str) -> int:
    """The bucket of a person in a folder that `bucket` wrote."""
    return bucket_of(user_id, _read(out)["n_buckets"])


def _read(out: Folder) -> dict[str, Any]:
    """What the folder says of its buckets."""
    manifest = out.read_json(MANIFEST)
    require_manifest(out.path(MANIFEST), manifest)
    return dict(manifest)


def bucket(
    sources: Sequence[str],
    folder: str,
    *,
    n_buckets: int | None = None,
    reading: Reading | None = None,
    memory: str = "1GB",
    workers: int = 1,
    engine: Engine | None = None,
) -> list[int]:
    """Write visits as buckets of people, checked, split, and sorted by person and time.

    Kept are the columns that the package reads: ids, times, ``split``, ``lon`` and ``lat``.

    Parameters
    ----------
    sources : sequence of str
        Parquet or CSV files: paths or addresses, folders, or names with ``*``.
    folder : str
        Path or address. What is whole there is not written again.
    n_buckets : int, optional
        So many that a bucket has about 200,000 visits, unless it is given.
    reading : Reading, optional
        How the columns are read.
    memory : str
        What DuckDB may use, as "1GB"; what is more goes to disk.
    workers : int
        Threads of DuckDB.
    engine : Engine, optional
        Checks the buckets; this process otherwise.

    Returns
    -------
    list of int
        The numbers of the buckets that have visits.

    Raises
    ------
    DataError
        As `pgt.io.tables.read` and `pgt.visits.check`; or when the folder holds something else.

    Examples
    --------
    >>> import wherenext.city
    >>> Folder("memory://shown").write_table("town.parquet", wherenext.city.load().visits)
    >>> bucket(["memory://shown/town.parquet"], "memory://shown/buckets", n_buckets=2)
    [0, 1]
    """
    out, reading = Folder(folder), reading or Reading()
    made_from = {"files": duck.files_of(sources), "reading": asdict(reading)}
    manifest = _manifest(out, made_from, n_buckets)
    there = manifest.get("visits", {})

    def is_there(number: int) -> bool:
        return out.has(visits_name(number)) or out.has(raw_name(number))

    if not there or not all(is_there(int(number)) for number in there):
        with _refusing(out), duck.connect(memory, workers) as connection:
            source = duck.visits(connection, list(made_from["files"]), reading)
            manifest.setdefault("n_buckets", n_buckets or math.ceil(source.rows / VISITS))
            manifest["utc"] = source.utc
            out.write_json(MANIFEST, manifest)
            for number, table in _dealt(connection, source, manifest["n_buckets"]):
                there[str(number)] = len(table)
                if not is_there(number):
                    out.write_table(raw_name(number), table)
        out.write_json(MANIFEST, manifest | {"visits": there})
    numbers = sorted(map(int, there))
    todo = [number for number in numbers if not out.has(visits_name(number))]
    with _refusing(out):
        (engine or InProcess()).map(partial(_tidy, folder, reading, manifest["utc"]), todo)
    out.remove(FOUND)
    return numbers


@contextmanager
def _refusing(out: Folder) -> Iterator[None]:
    """Let no visits that are refused stand in the way of the next ones."""
    try:
        yield
    except Unfit:  # the message names a file of the folder, which stays until the next call
        out.write_json(MANIFEST, _read(out) | {"refused": True})
        raise
    except DataError:
        if not out.has(FOUND):
            out.remove(MANIFEST)
            out.remove_empty()
        raise


def numbers_of(folder: Folder) -> list[int]:
    """The buckets of a folder that have visits."""
    manifest = _read(folder) if folder.has(MANIFEST) else {}
    if "visits" not in manifest or folder.has(FOUND):
        raise DataError(
            f"{folder.url} holds no buckets, or not all of them; 'pgt prepare --engine' makes them."
        )
    return sorted(map(int, manifest["visits"]))


def _manifest(out: Folder, made_from: dict[str, Any], n_buckets: int | None) -> dict[str, Any]:
    """What the folder's buckets were made from, which must be what they are asked from."""
    fresh: dict[str, Any] = {"made_from": made_from}
    if n_buckets is not None:
        if n_buckets < 1:
            raise DataError(f"n_buckets is {n_buckets}; there must be at least one.")
        fresh["n_buckets"] = n_buckets
    if not out.has(MANIFEST):
        return fresh
    old = _read(out)
    if old.get("refused"):
        for name in (FOUND, VISITS_IN, MANIFEST):
            out.remove(name)
        return fresh
    if fresh.items() <= old.items():
        return old
    raise DataError(
        f"{out.url} holds buckets of other visits, or of the same ones read or dealt out in "
        "another way; remove it, or choose another folder."
    )


def _dealt(connection: Any, source: Source, n_buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Every bucket with visits, its rows in the order of the files."""
    # The order of the rows decides between visits that begin at the same moment.
    ordered = connection.sql(
        f"SELECT * FROM (SELECT *, row_number() OVER () AS row, coalesce(md5_number_lower("
        f"CAST(user_id AS VARCHAR)) % {n_buckets}, 0) AS bucket FROM ({source.sql})) "
        "ORDER BY bucket, row"
    )
    pieces: list[pa.Table] = []
    last = -1
    for batch in ordered.to_arrow_reader(BATCH):
        number = batch.column("bucket").to_numpy()
        cuts = np.flatnonzero(np.diff(number, prepend=-1, append=-1))  # 0, …, len(batch)
        table = _zoned(pa.Table.from_batches([batch]).drop_columns(["row", "bucket"]), source)
        for begin, end in pairwise(cuts):
            if pieces and number[begin] != last:
                yield last, pa.concat_tables(pieces)
                pieces = []
            last = int(number[begin])
            pieces.append(table.slice(begin, end - begin))
    if pieces:
        yield last, pa.concat_tables(pieces)


def _zoned(table: pa.Table, source: Source) -> pa.Table:
    """Times with the zone of the files; DuckDB keeps moments alone."""
    for name in TIMES if source.zone else ():
        kind = table.schema.field(name).type
        if pa.types.is_timestamp(kind):
            column = table[name].cast(pa.timestamp(kind.unit, source.zone))
            table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _tidy(folder: str, reading: Reading, utc: dict[str, bool], number: int) -> None:
    """Check one bucket's visits and label their splits."""
    out = Folder(folder)
    visits = out.read_table(raw_name(number))
    try:
        visits = tidy(visits, reading.timezone, utc, drop_duplicates=reading.drop_duplicates)
    except DataError as error:
        raise Unfit(f"In {out.path(raw_name(number))}: {error}") from error
    if "split" not in visits.columns:
        visits = split_by_days(visits)
    out.write_table(visits_name(number), visits)
