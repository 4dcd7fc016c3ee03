"""Tables of fixes: CSV and Parquet files, one or many, sorted by person or not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pgt.doubts.visits import alike
from pgt.errors import DataError
from pgt.io.columns import is_whole
from pgt.io.fixes_base import Raw, Report, UserId
from pgt.io.fixes_columns import File, degrees, times_of


class Piece(NamedTuple):
    """Some consecutive fixes of one person."""

    user: UserId
    file: int
    fixes: pa.Table  # time (us), lon, lat, row, and perhaps trajectory


class Table:
    """CSV or Parquet files that together hold one table.

    The people are found in a first pass over one column. If each person's rows lie together (as
    in an export, or a file sorted by person), the second pass hands them on as they come;
    otherwise it first writes the fixes, by person, to a temporary file. Either way no more than a
    batch and one person are in memory.
    """

    def __init__(
        self, paths: Sequence[Path], columns: dict[str, str], timezone: str | None, time_unit: str
    ) -> None:
        if time_unit not in ("s", "ms"):
            raise DataError(f"time_unit is {time_unit!r}; it must be 's' or 'ms'.")
        if strange := set(columns) - {"user_id", "tracked_at", "lon", "lat", "trajectory"}:
            raise DataError(
                f"columns names {min(strange)!r}; a fix has user_id, tracked_at, lon, lat and "
                "perhaps trajectory."
            )
        self.timezone, self.time_unit = timezone, time_unit
        self.files = [File(path, columns) for path in paths]
        self.report = Report(n_files=len(self.files))
        self.options = f"{columns} {timezone} {time_unit}"
        self._find_people()

    def _find_people(self) -> None:
        """First pass: who is there, in which order, and does everybody's data lie together?"""
        names: dict[str, None] = {}
        last: str | None = None
        self.together = True
        for file in self.files:
            for batch in file.batches(("user_id", "lat")):
                users = batch["user_id"]
                empty = np.flatnonzero(users.is_null().to_numpy(zero_copy_only=False))
                blank = np.isin(empty, np.flatnonzero(batch["lat"].is_null()))
                rows = batch["row"].to_numpy()[empty[~blank]]
                if len(rows):
                    places = (file.place(int(row)) for row in rows[:3])
                    self.report.keep_out("without a user_id", *places, n=len(rows))
                # The runs of equal ids, without making a Python string of every row.
                runs = pc.run_end_encode(users.drop_null()).values.to_pylist()
                for name in runs:
                    if name != last:
                        self.together &= name not in names
                        names[name] = last = name
            file.count_broken(self.report)
        # In a CSV all is text: ids are numbers if every one of them looks like one.
        kinds = {file.integer_ids for file in self.files} - {None}
        numbers = all(map(is_whole, names))
        whole = True in kinds or (not kinds and numbers)
        if len(kinds) > 1 or (whole and not numbers):
            raise DataError(
                f"user_id is text in some files of {self.files[0].path.parent} and numbers in "
                "others; write it the same way everywhere."
            )
        self.ids: dict[str, UserId] = {name: int(name) if whole else name for name in names}
        self.users: list[UserId] = list(self.ids.values())
        if not self.users:
            raise DataError(f"There are no fixes in {self.files[0].path.name}; check the file.")
        self.report.notes += alike("user_id", self.users)

    def key(self, user: UserId) -> str:
        """Fingerprint the names, sizes and times of all files: anybody can be in any of them."""
        stats = [(file.path.name, file.path.stat()) for file in self.files]
        text = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats]
        return f"{text} {self.options}"

    def frames(self, users: Sequence[UserId]) -> Iterator[tuple[Raw, Report]]:
        """Read these people, one at a time."""
        if not users:
            return
        pieces = self._pieces(set(users))
        if not self.together:
            pieces = _by_person(pieces, users)
        for user, group in groupby(pieces, key=lambda piece: piece.user):
            yield self._person(user, list(group)), Report()

    def _pieces(self, wanted: set[UserId]) -> Iterator[Piece]:
        """Second pass: the wanted people's fixes, in stretches of one person each."""
        left = set(wanted)
        for number, file in enumerate(self.files):
            for batch in file.batches(tuple(file.columns)):
                users = batch["user_id"]
                known = users.is_valid()
                batch, users = batch.filter(known), users.filter(known)
                if not self.together:
                    # The sort is stable: everybody's rows stay in order.
                    order = pa.array(pd.Series(users.to_pandas()).argsort(kind="stable"))
                    batch, users = batch.take(order), users.take(order)
                if len(users) == 0:
                    continue
                encoded = pc.run_end_encode(users)
                ends = encoded.run_ends.to_pylist()
                for name, start, end in zip(
                    encoded.values.to_pylist(), [0, *ends], ends, strict=False
                ):
                    user = self.ids[name]
                    if user in wanted:
                        left.discard(user)
                        yield Piece(
                            user, number, self._fixes(file, batch.slice(start, end - start))
                        )
                    elif self.together and not left:
                        return  # the last wanted person's rows are over

    def _fixes(self, file: File, rows: pa.RecordBatch) -> pa.Table:
        times = times_of(rows["tracked_at"], file, self.timezone, self.time_unit)
        columns = {
            "time": times.view(np.int64),
            "lon": degrees(rows["lon"], file, "lon"),
            "lat": degrees(rows["lat"], file, "lat"),
            "row": rows["row"],
        }
        if "trajectory" in file.columns:
            columns["trajectory"] = rows["trajectory"].cast(pa.string()).dictionary_encode()
        return pa.table(columns)

    def _person(self, user: UserId, pieces: list[Piece]) -> Raw:
        fixes = pa.concat_tables([piece.fixes for piece in pieces], promote_options="default")
        rows = fixes["row"].to_numpy()
        files = np.repeat([piece.file for piece in pieces], [len(p.fixes) for p in pieces])
        trajectory = None
        if "trajectory" in fixes.column_names:
            trajectory = fixes["trajectory"].unify_dictionaries().to_pandas().array
        return Raw(
            user,
            fixes["time"].to_numpy().view("datetime64[us]"),
            fixes["lon"].to_numpy(),
            fixes["lat"].to_numpy(),
            trajectory,
            lambda row: self.files[files[row]].place(int(rows[row])),
        )


def _by_person(pieces: Iterator[Piece], users: Sequence[UserId]) -> Iterator[Piece]:
    """Write pieces to a temporary file as they come, read them back person by person."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pieces.arrow"
        where: dict[UserId, list[tuple[int, int]]] = {user: [] for user in users}
        n = 0
        writer = None
        for piece in pieces:
            fixes = piece.fixes
            if "trajectory" in fixes.column_names:  # the format wants one dictionary for all
                text = fixes["trajectory"].cast(pa.string())
                fixes = fixes.drop_columns("trajectory").append_column("trajectory", text)
            else:
                fixes = fixes.append_column("trajectory", pa.nulls(len(fixes), pa.string()))
            if writer is None:
                writer = pa.ipc.new_file(str(path), fixes.schema)
            for batch in fixes.to_batches():
                writer.write_batch(batch)
                where[piece.user].append((n, piece.file))
                n += 1
        if writer is None:
            return
        writer.close()
        with pa.memory_map(str(path)) as mapped:
            reader = pa.ipc.open_file(mapped)
            for user in users:
                for number, file in where[user]:
                    fixes = pa.table(reader.get_batch(number))
                    text = fixes["trajectory"]
                    fixes = fixes.drop_columns("trajectory")
                    if text.null_count < len(text):
                        fixes = fixes.append_column("trajectory", text.dictionary_encode())
                    yield Piece(user, file, fixes)
            del reader
