"""One file of a table of fixes: its columns under our names, its rows in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from pgt.errors import DataError
from pgt.io.fixes_base import Report
from pgt.io.forms import form_of, header_of, readable
from pgt.io.times import moments, neat, parse_times, utc_offset
from pgt.units import microseconds
from pgt.visits import require_once

# What others call our columns, in lower case.
ALIASES = {
    "user_id": ("user_id", "user", "userid", "uid", "person", "person_id", "device_id"),
    "tracked_at": ("tracked_at", "time", "timestamp", "datetime", "date_time", "t", "recorded_at"),
    "lon": ("lon", "lng", "long", "longitude", "lon_e7", "longitude_e7", "longitudee7"),
    "lat": ("lat", "latitude", "lat_e7", "latitude_e7", "latitudee7"),
    "trajectory": ("trajectory", "traj", "trajectory_id", "traj_id", "track", "track_id"),
}
BATCH_ROWS = 1 << 18
BATCH_BYTES = 1 << 24


class File:
    """One CSV or Parquet file of fixes.

    Attributes
    ----------
    columns : dict
        Our names -> names in the file.
    integer_ids : bool or None
        Whether user_id is a column of integers; None for CSV, where everything is text.
    """

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.path = path
        self.form = form_of(path)
        self.is_parquet = self.form.kind == "parquet"
        self.broken: set[int] = set()  # lines of a CSV with more or fewer fields than its header
        self.integer_ids: bool | None = None
        names = self._names()
        self.columns = {}
        for ours, aliases in ALIASES.items():
            found = [columns[ours]] if ours in columns else _alias(names, aliases)
            if ours in columns and found[0] not in names:
                raise DataError(
                    f"Column '{found[0]}' is not in {path.name} (it has {', '.join(names)})."
                )
            if len(found) > 1:
                raise DataError(
                    f"Both '{found[0]}' and '{found[1]}' in {path.name} could be {ours}; say which "
                    f"with columns={{'{ours}': '{found[0]}'}} (--columns {ours}={found[0]})."
                )
            if found:
                self.columns[ours] = found[0]
            elif ours != "trajectory":
                raise DataError(
                    f"{path.name} has no column for {ours} (it has {', '.join(names)}); name it "
                    f"with columns={{'{ours}': ...}} (--columns {ours}=...)."
                )
        if self.is_parquet:
            self._check_types()

    def _names(self) -> list[str]:
        if self.is_parquet:
            with readable(self.path, "parquet"):
                self.schema = pq.read_schema(self.path)
            names = list(self.schema.names)
        else:
            names = header_of(self.path, self.form)
            if not names:
                raise DataError(f"{self.path.name} is empty; it needs a header line and fixes.")
        require_once(names, self.path.name)
        return names

    def _check_types(self) -> None:
        kinds = {ours: self.schema.field(name).type for ours, name in self.columns.items()}
        user = kinds["user_id"]
        user = user.value_type if pa.types.is_dictionary(user) else user
        self.integer_ids = pa.types.is_integer(user)
        if not (self.integer_ids or pa.types.is_string(user) or pa.types.is_large_string(user)):
            raise DataError(
                f"user_id in {self.path.name} holds {user}; ids are integers or strings, "
                "convert it."
            )
        for ours in ("lon", "lat"):
            if pa.types.is_integer(kinds[ours]) and not self.is_e7(ours):
                name = self.columns[ours]
                raise DataError(
                    f"'{name}' in {self.path.name} holds integers; store degrees as floats, or "
                    f"call the column {ours}_e7 if they are 1e-7 degrees."
                )

    def is_e7(self, ours: str) -> bool:
        """Whether a coordinate is in 1e-7 degrees: its name says so, or the file's notes do."""
        name = self.columns[ours]
        if name.lower().endswith("e7"):
            return True
        notes = (self.schema.metadata or {}) if self.is_parquet else {}
        return notes.get(name.encode(), b"").startswith(b"1e-7 degrees")

    def batches(self, ours: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Read some columns under our names, with ``row``: the number of a row in the file.

        ``user_id`` is text, null where it is empty.
        """
        names = [self.columns[name] for name in ours]
        row = 0
        with readable(self.path, self.form.kind, self.form):
            for batch in self._parquet(names) if self.is_parquet else self._csv(names):
                # Twice the same column (columns= can say so) is read twice.
                arrays = [batch.column(name) for name in names]
                if "user_id" in ours:
                    at = ours.index("user_id")
                    text = arrays[at].cast(pa.string())
                    if not self.is_parquet:
                        text = pc.utf8_trim_whitespace(text)
                    arrays[at] = pc.if_else(pc.equal(text, ""), None, text)
                if not self.is_parquet and "lat" in ours:
                    at = ours.index("lat")
                    arrays[at] = pc.if_else(pc.equal(arrays[at], ""), None, arrays[at])
                rows = pa.array(np.arange(row, row + len(batch)))
                yield pa.record_batch([*arrays, rows], [*ours, "row"])
                row += len(batch)

    def _parquet(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self.path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=names, use_threads=False)

    def _csv(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        def keep_out(row: Any) -> str:
            if row.text.strip():
                self.broken.add(row.number)
            return "skip"

        packed = "gzip" if self.form.packed else None
        # By this name it is decoded before lines are told apart: a line that is no UTF-8 and has
        # other fields than the header would else be lost without a word.
        encoding = "utf-8-sig" if self.form.encoding == "utf-8" else self.form.encoding
        with pa.input_stream(str(self.path), compression=packed) as stream, csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                use_threads=False, block_size=BATCH_BYTES, encoding=encoding
            ),
            # Empty lines count as lines, so that the numbers in the report are right.
            parse_options=csv.ParseOptions(
                delimiter=self.form.separator, invalid_row_handler=keep_out,
                ignore_empty_lines=False, newlines_in_values=True,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), include_columns=names,
                strings_can_be_null=False,
            ),
        ) as reader:  # fmt: skip
            yield from reader

    def count_broken(self, report: Report) -> None:
        """Count the lines of a CSV that have not as many fields as its header."""
        if self.broken:
            places = (f"{self.path.name}:{line}" for line in sorted(self.broken))
            report.keep_out("with more or fewer fields than the header", *places)

    def place(self, row: int) -> str:
        """Name a row as somebody would look for it."""
        if self.is_parquet:
            return f"{self.path.name}, row {row}"
        line = row + 2  # from one, after the header; and the lines that were skipped before it
        for skipped in sorted(self.broken):
            line += skipped <= line
        return f"{self.path.name}:{line}"


def _alias(names: list[str], aliases: tuple[str, ...]) -> list[str]:
    """Columns that go by one of these names; our own name wins."""
    found = [name for name in names if name.strip().lower() in aliases]
    return [aliases[0]] if aliases[0] in found else found


def degrees(values: pa.Array, file: File, ours: str) -> np.ndarray:
    """Degrees as float; NaN where there is no number."""
    if not file.is_parquet:
        values = pc.replace_substring(values, ",", ".")  # decimal commas
    numbers = _numbers(values)
    return numbers / 1e7 if file.is_e7(ours) else numbers


def times_of(values: pa.Array, file: File, timezone: str | None, unit: str) -> np.ndarray:
    """Times as datetime64[us], UTC; NaT where there is none.

    Numbers are Unix times, text is ISO 8601, and a time without a zone is in `timezone`.
    """
    if pa.types.is_timestamp(values.type):
        series = values.to_pandas()
        if values.type.tz is None:
            series = _localized(series, file, timezone)
        return microseconds(series).view("datetime64[us]")
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    numbers = _numbers(values)
    given = np.ones(len(values), dtype=bool)
    if is_text:
        given = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
    # Text that is mostly numbers is a column of Unix times with a few broken lines.
    if not is_text or np.isfinite(numbers).sum() * 2 > given.sum():
        _check_unit(numbers, file, unit)
        return _from_unix(numbers, unit)
    text = neat(values.to_pandas().astype("str"))
    parsed = moments(text)
    good = parsed.notna()
    times = np.full(len(text), np.datetime64("NaT", "us"))
    if good.any():
        if utc_offset(text[good]).notna().all():
            found = parsed[good]
        else:
            found = _localized(text[good], file, timezone)
        times[good] = microseconds(found).view("datetime64[us]")
    return times


def _localized(series: pd.Series, file: File, timezone: str | None) -> pd.Series:
    """Put times without a zone into the zone that was named."""
    if timezone is None:
        raise DataError(
            f"Times in '{file.columns['tracked_at']}' of {file.path.name} have no time zone; name "
            "it with timezone= (--timezone), for example UTC or Asia/Shanghai."
        )
    return parse_times(series, file.columns["tracked_at"], timezone)


def _check_unit(numbers: np.ndarray, file: File, unit: str) -> None:
    finite = numbers[np.isfinite(numbers)]
    if unit == "s" and len(finite) and np.median(finite) > 1e11:
        raise DataError(
            f"Times in '{file.columns['tracked_at']}' of {file.path.name} are numbers such as "
            f"{finite[0]:.0f}, too large for seconds since 1970; if they are milliseconds, say "
            "time_unit='ms' (--time-unit ms)."
        )


def _from_unix(numbers: np.ndarray, unit: str) -> np.ndarray:
    micro = numbers * (1e6 if unit == "s" else 1e3)
    # Beyond what 64 bits hold there is no time.
    bad = ~(np.abs(micro) < 2**62)
    times = np.where(bad, 0, np.round(micro)).astype(np.int64).view("datetime64[us]")
    times[bad] = np.datetime64("NaT", "us")
    return times


def _numbers(values: pa.Array) -> np.ndarray:
    """Numbers as float; NaN where there is none."""
    try:
        numbers = pc.cast(values, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = pa.array(pd.to_numeric(values.to_pandas(), errors="coerce").astype(float))
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=float)
