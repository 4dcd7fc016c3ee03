"""Files people have, and tables of other libraries -> visits, or position fixes."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa

from pgt import files
from pgt.errors import DataError, note
from pgt.progress import bar
from pgt.readers import recordings
from pgt.readers.clocks import read_times, require_zone, with_local_clocks
from pgt.readers.columns import (
    fixes_or_visits,
    names_without_header,
    plain_name,
    recognized,
    whole_ids,
    with_durations,
    with_numbers,
    with_our_names,
)
from pgt.readers.people import Part, note_followers, one_device_at_a_time, with_owners
from pgt.readers.pieces import join_pieces
from pgt.readers.plausibility import note_data_checks
from pgt.readers.recordings import UNREADABLE, File, Recording, reason
from pgt.visits import (
    HERE,
    TIMES,
    WHOLE,
    CheckedVisits,
    Origin,
    check,
    first_row,
    levels_as_columns,
    local_clock,
    repeated,
)

SEPARATORS = ",;\t|"
ROW_KINDS = ("fixes", "visits")
# What stands for nothing in a field; in a field of ids only nothing does: people live in "NA".
EMPTY = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "NaT", "None", "n/a", "nan", "null",
]  # fmt: skip
NO_ROWS = "has no rows or track points (waypoints and routes are no fixes)"
NO_PLACES, AWAY = ("unavailable", "unknown"), ("not_home", "away")  # states of Home Assistant
MANY = 20  # rows, from which on their kind can be told
GEOLIFE_URL = (
    "https://download.microsoft.com/download/F/4/8/F4894AA5-FDBC-481E-9285-D5F8C4C4F039/"
    "Geolife%20Trajectories%201.3.zip"
)


def load_city() -> pd.DataFrame:
    """Return the visits of the simulated town that comes with the package, with ``split``.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> len(load_city())
    16977
    """
    return _city(files.folder("city"))


def _city(folder: Any) -> pd.DataFrame:
    about = json.loads(folder.joinpath("city.json").read_text(encoding="utf-8"))
    visits, places = (
        files.without_marks(
            pd.read_csv(io.StringIO(folder.joinpath(name).read_text(encoding="utf-8")))
        )
        for name in ("visits.csv", "places.csv")
    )
    for name in TIMES:
        at = pd.to_datetime(visits[name], format="%Y-%m-%dT%H:%M%z", utc=True)
        visits[name] = at.dt.as_unit("us").dt.tz_convert(about["timezone"])
    where = places.set_index("location_id")
    return check(visits.assign(**{n: visits.location_id.map(where[n]) for n in ("lon", "lat")}))


@dataclass(frozen=True)
class How:
    """How a source is to be read: see `read`; ``lean`` is the kind that is meant in doubt."""

    columns: dict[str, str] = field(default_factory=dict)
    timezone: str | None = None
    file_timezone: str | None = None
    person: int | str | None = None
    kind: str | None = None
    lean: str | None = None

    @property
    def clock(self) -> str | None:
        """By which clock times without an offset are."""
        return self.file_timezone or self.timezone


def read_visits(source: Any, **how: Any) -> pd.DataFrame:
    """Read visits from a file, folder, archive or table, as `read` does; fixes are refused.

    Parameters
    ----------
    source : path or table
    how
        ``columns``, ``timezone``, ``file_timezone``, ``person``, ``kind``: see `read`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> rows = {"uid": [1], "place": ["home"], "datetime": ["2024-05-01 08:00"]}
    >>> read_visits(pd.DataFrame(rows), timezone="Europe/Vienna").started_at.dt.hour.tolist()
    [8]
    """
    table = _read(source, How(**how, lean="visits"))
    if "location_id" in table.columns:
        return table
    raise _no_place(source)


def _no_place(source: Any) -> DataError:
    return DataError(
        f"{_name(source)} holds positions and no column for the place: make visits of it with "
        "pgt.readers.gps.visits(pgt.read_fixes(...)) (python -m pgt visits); if a column names the "
        "place, say which with columns={'location_id': ...} (--columns location_id=...)."
    )


def read_fixes(source: Any, **how: Any) -> pd.DataFrame:
    """Read position fixes, as `read` does; visits are refused.

    Parameters
    ----------
    source : path or table
    how
        As of `read_visits`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> rows = {"uid": [1], "lon": [16.4], "lat": [48.2], "time": ["2024-05-01T08:00Z"]}
    >>> read_fixes(pd.DataFrame(rows)).tracked_at.dt.hour.tolist()
    [8]
    """
    table = _read(source, How(**how, lean="fixes"))
    if "location_id" in table.columns:
        raise DataError(f"{_name(source)} holds visits, not fixes; read it with pgt.read_visits.")
    return table


def read(
    source: Any,
    *,
    columns: dict[str, str] | None = None,
    timezone: str | None = None,
    file_timezone: str | None = None,
    person: int | str | None = None,
    kind: str | None = None,
) -> pd.DataFrame:
    """Read visits (`pgt.visits.check`) or, without ``location_id``, position fixes.

    ``source`` is a table of any library, or a file, folder or archive of tables (CSV, Parquet,
    JSON), GPX, GeoJSON, GeoLife, OwnTracks, Google Timeline or published check-ins. ``columns``
    maps our names to those in the file. ``timezone`` is where the places are (else each visit keeps
    the clock of its own offset, or of its coordinates), ``file_timezone`` by which clock times
    without an offset are. ``person`` says whose records these are, over what was guessed.
    ``kind``, "fixes" or "visits", says what the rows are where both could be.
    """
    return _read(source, How(columns or {}, timezone, file_timezone, person, kind))


def _read(source: Any, how: How) -> pd.DataFrame:
    how = replace(how, columns=how.columns or {})
    for zone in filter(None, (how.timezone, how.file_timezone)):
        require_zone(zone)
    if how.kind not in (None, *ROW_KINDS):
        raise DataError(f"kind is {how.kind!r}; it must be fixes or visits.")
    if isinstance(source, str | Path) and (Path(source) / "city.json").is_file():
        return _city(Path(source))
    gathered = _gathered(source, how)
    if gathered.table.empty:
        raise DataError(f"{_name(source)} has no rows; check the file, or what was filtered.")
    if _holds_visits(gathered, how, source):
        return note_data_checks(_visits(gathered, how))
    return _fixes(gathered, how)


def _holds_visits(gathered: Gathered, how: How, source: Any) -> bool:
    """Whether the rows are visits; where they could be fixes as well, all rows are asked."""
    table, origin = gathered.table, gathered.origin
    if "location_id" not in table.columns:
        if how.kind == "visits":
            raise _no_place(source)
        return False
    placed = {"lon", "lat", "started_at"} <= {*table.columns}
    if how.kind == "fixes" and not placed:
        raise DataError(f"{_name(source)} holds visits, not fixes; read it with pgt.read_visits.")
    stays = {"finished_at", "duration"} & {*table.columns}
    if how.kind or not placed or stays or len(table) < MANY:
        return how.kind != "fixes"
    if "location_id" in how.columns:
        return True
    at, _ = read_times(table, "started_at", how.clock or "UTC",
                       strict=False, origin=origin)  # fmt: skip
    signs, mostly_empty = fixes_or_visits(table, at)
    theirs = origin.called("location_id")
    if signs >= 3:
        note(f"{_name(source)} is read as position fixes, and '{theirs}' as no place (it changes "
             "like a position, or few rows have it); if the rows are visits, say kind='visits' "
             "(--visits).")  # fmt: skip
        return False
    if (signs == 2 or mostly_empty) and how.lean is None:
        raise DataError(
            f"The rows of {_name(source)} could be visits to the places in '{theirs}', or position "
            "fixes that name some: say which with kind='visits' or kind='fixes' (--visits or "
            "--fixes)."
        )
    return signs < 2 or how.lean != "fixes"


def _fixes(gathered: Gathered, how: How) -> pd.DataFrame:
    """Positions and moments, by person and time; what each is worth is asked in `gps`."""
    table, origin = gathered.table, gathered.origin
    at, _ = read_times(table, "started_at", how.clock, strict=False, origin=origin,
                       beside=how.file_timezone is None)  # fmt: skip
    _note_dates(at.dropna().dt.tz_convert(how.clock or "UTC"), origin)
    table = with_numbers(table, origin, strict=False).assign(started_at=at.dt.as_unit("us"))
    names = ["user_id", "started_at", "lon", "lat", "accuracy", "hdop", "valid", "device"]
    table = table[[name for name in names if name in table.columns]]
    table = table.rename(columns={"started_at": "tracked_at"})
    table = one_device_at_a_time(table, origin, account=gathered.account)
    note_followers(table, "tracked_at", origin)
    return table.sort_values(["user_id", "tracked_at"], kind="stable", ignore_index=True)


def _visits(gathered: Gathered, how: How) -> pd.DataFrame:
    """Check a table whose columns have our names, after what can be mended was mended."""
    table, origin = gathered.table.drop(columns="device", errors="ignore"), gathered.origin
    table = _without_states(table, origin, how)
    empty = table.location_id.isna()
    if empty.any() and not empty.all():  # such as trackintel's noise
        where = first_row(table, empty, origin)
        note(f"{int(empty.sum()):,} rows without a place are left out ({where}).")
        table = table[~empty]
    if "finished_at" not in gathered.table.columns:  # check-ins, or states until the next one
        origin = replace(origin, names={**origin.names, "finished_at": origin.called("started_at")})
    table = with_numbers(whole_ids(table), origin, strict=True)
    table = _with_positions(table, origin, forgiving=gathered.account)
    table = with_local_clocks(table, how.timezone, how.file_timezone, origin)
    if "duration" in table.columns:
        table = with_durations(table, origin)
    if "split" in table.columns:
        part = table["split"].astype(object)  # of categories, none could be added
        table = table.assign(split=part.replace({"val": "valid", "validation": "valid"}))
    twice = repeated(table)
    if twice.any():
        note(f"{int(twice.sum()):,} visits stand twice and are read once "
             f"({first_row(table, twice, origin)}).")  # fmt: skip
    visits, n_pieces = join_pieces(check(table[~twice] if twice.any() else table, origin))
    if n_pieces:
        note(f"{n_pieces:,} visits touch or overlap one of the same person at the same place, or "
             "check in there again within minutes, and are joined with it.")  # fmt: skip
    start = visits.started_at
    if len(visits) >= MANY and start.max() - start.min() < pd.Timedelta(days=1):
        note(f"all {len(visits):,} visits begin within one day ({start.min():%Y-%m-%d}): are the "
             f"times in '{origin.called('started_at')}' read as they are meant?")  # fmt: skip
    _note_dates(local_clock(visits, "started_at"), origin)
    note_followers(visits, "started_at", origin)
    return visits


def _note_dates(local: pd.Series, origin: Origin) -> None:
    """Doubt times that are midnights all: the times of day are perhaps in another column."""
    if len(local) >= MANY and (local == local.dt.normalize()).all():
        note(f"all {len(local):,} times in '{origin.called('started_at')}' are midnights: if the "
             "time of day is in another column, write both into one (2024-05-01 09:00)."
             )  # fmt: skip


def _without_states(table: pd.DataFrame, origin: Origin, how: How) -> pd.DataFrame:
    """States that are no places left out; a log of states as stays, each until the next one."""
    if pd.api.types.is_numeric_dtype(table.location_id):
        return table
    place = table.location_id.astype("string").str.strip().str.lower()
    log = "finished_at" not in table.columns and (
        plain_name(origin.called("user_id")) == "entityid" or (place == AWAY[0]).any()
    )
    none = place.isin(NO_PLACES).to_numpy(dtype=bool)
    if log:
        none = none | place.isna().to_numpy(dtype=bool)
    if none.any() and not none.all():
        what = ", ".join(name for name in NO_PLACES if (place == name).any()) or "empty"
        goes_on = "; the stay before goes on" if log else ""
        note(f"{int(none.sum()):,} rows of no place ({what}) are left out "
             f"({first_row(table, pd.Series(none), origin)}){goes_on}.")  # fmt: skip
        table, place = table[~none], place[~none]
    if not log:
        return table
    at, _ = read_times(table, "started_at", how.clock, strict=True, origin=origin,
                       beside=how.file_timezone is None)  # fmt: skip
    table = table.assign(at=at).sort_values(["user_id", "at"], kind="stable").drop(columns="at")
    place = place.loc[table.index]
    again = (place == place.shift()) & (table.user_id == table.user_id.shift())
    table = table[~again.fillna(False).to_numpy(dtype=bool)]
    ends = table.started_at.groupby(table.user_id).shift(-1)
    table = table.assign(finished_at=ends.where(ends.notna(), table.started_at))
    return table[~place.loc[table.index].isin(AWAY).to_numpy(dtype=bool)]


def _with_positions(table: pd.DataFrame, origin: Origin, *, forgiving: bool) -> pd.DataFrame:
    """A visit without a position lies where its place does; of an export, others are left out."""
    names = [name for name in ("lon", "lat") if name in table.columns]
    if len(names) < 2 or not all(pd.api.types.is_float_dtype(table[name]) for name in names):
        return table
    missing = table[names].isna().any(axis=1) | (table[names] == 0).all(axis=1)
    if not missing.any():
        return table
    centre = table[~missing].groupby("location_id")[names].median()
    known = missing & table.location_id.isin(centre.index)
    at = centre.reindex(table.location_id).set_axis(table.index)
    table = table.assign(**{name: table[name].where(~known, at[name]) for name in names})
    if known.any():
        note(f"visits without a position, put where their place is: {int(known.sum()):,} "
             f"({first_row(table, known, origin)}).")  # fmt: skip
    lost = missing & ~known
    if (forgiving or missing.all()) and lost.any():
        if lost.mean() > 0.5:
            note(f"{int(lost.sum()):,} of {len(table):,} visits have no position; lon and lat are "
                 "left out of all.")  # fmt: skip
            return table.drop(columns=names)
        note(f"visits without a position, left out: {int(lost.sum()):,} "
             f"({first_row(table, lost, origin)}).")  # fmt: skip
        return table[~lost]
    return table


def visits_of(
    source: Any, *, of_positions: Mapping[str, Any] | None = None, **how: Any
) -> CheckedVisits:
    """The visits of whatever `read` reads; in positions they are found first, by `gps.visits`.

    ``of_positions`` are settings of `gps.visits`, ``how`` those of `read`.
    """
    table = read(source, **how)
    if "location_id" not in table.columns:
        from pgt.readers import gps  # clustering is slow to load

        return CheckedVisits(
            gps.visits(table, timezone=how.get("timezone"), **(of_positions or {})), len(table)
        )
    if of_positions:
        raise DataError(
            f"{_name(source)} holds visits, and --{next(iter(of_positions)).replace('_', '-')} is "
            "about positions; leave it out."
        )
    return CheckedVisits(table)


def would_read(folder: Path, path: Path) -> bool:
    """Whether a file of that path would be among those that are read of a folder."""
    if not path.resolve().is_relative_to(folder.resolve()):
        return False
    held = recordings.files_of(folder)
    recordings.chosen(held, folder.name)  # a folder of which nothing is read is refused as such
    new = File(path.resolve().relative_to(folder.resolve()).as_posix(), path.read_bytes)
    return new.name in {file.name for file in recordings.chosen([*held, new], folder.name)[1]}


def write(visits: pd.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet, or as CSV in which no text is a formula, whole or not at all."""
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Cannot write {path.name}: its name must end in .csv or .parquet.")
    visits = visits.copy(deep=False)
    visits.attrs = {}  # remarks on the file that these were read from
    with files.whole(path) as half:
        if path.suffix == ".csv":
            files.write_csv(visits, half)
        else:
            visits.to_parquet(half, index=False)


def fetch_geolife(
    folder: str | Path, *, accept_terms: bool = False, url: str = GEOLIFE_URL,
    known_hash: str | None = None,
) -> Path:  # fmt: skip
    """Download the GeoLife archive, 300 MB, unless it is there; `read_fixes` reads it as it is."""
    import pooch  # its progress bar warns where no notebook's widgets are installed

    if not accept_terms:
        raise DataError(
            "GeoLife GPS Trajectories 1.3 are tracks of real people, for non-commercial use under "
            "the Microsoft Research License Agreement (https://www.microsoft.com/en-us/download/"
            "details.aspx?id=52367); if you accept it, say accept_terms=True."
        )
    name = "Geolife Trajectories 1.3.zip"
    return Path(pooch.retrieve(url, known_hash, fname=name, path=folder, progressbar=True))


def _name(source: Any) -> str:
    return Path(source).name if isinstance(source, str | Path) else "the table"


# --- from files to one table -------------------------------------------------------------------


@dataclass(frozen=True)
class Gathered:
    """All rows of a source under our names, with whose they are, and where they are from."""

    table: pd.DataFrame
    origin: Origin
    account: bool = False  # the export of somebody's account


def _gathered(source: Any, how: How) -> Gathered:
    if not isinstance(source, str | Path):
        table, names = with_our_names(
            _of_library(source), how.columns, "the table", clock=how.clock
        )
        part = Part(table, Origin(names=names))
        return Gathered(with_owners([part], "the table", "", how.person, how.columns), part.origin)
    path = Path(source)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(source)):
        raise DataError(f"{source} is an address, and only local files are read; download it.")
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path (one file, or one folder).")
    kind, files_, beside = _chosen(path)
    parts, left_out, account = _rows_of_files(kind, files_, path, how)
    if left_out:
        what = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        note(f"left out of {path.name}: {what}.")
    if beside:
        note(beside)
    table = with_owners(parts, path.stem, kind, how.person, how.columns)
    origin = parts[0].origin if len(parts) == 1 else Origin(names=parts[0].origin.names)
    return Gathered(table, origin, account)


def _chosen(path: Path) -> tuple[str, list[File], str]:
    """The kind of the files at a path that are read, these, and a sentence on those beside."""
    files_ = recordings.files_of(path)
    if path.is_file() and [file.name for file in files_] == [path.name]:
        data = files_[0].bytes()  # once
        return recordings.kind_of(files_[0], data), [File(path.name, lambda: data)], ""
    return recordings.chosen(files_, path.name)


def _rows_of_files(
    kind: str, files_: list[File], path: Path, how: How
) -> tuple[list[Part], Counter[str], bool]:
    """The rows of each file that can be read; of the others how many there are, and why."""
    parts, bad, left_out, account = [], {}, Counter[str](), False
    for file in bar(files_, "reading files", len(files_)):
        try:
            recording, origin = _one(file, kind, how.columns)
            if recording.frame.empty:
                bad[file.name] = NO_ROWS
                continue
            frame, names = with_our_names(
                recording.frame, how.columns, file.name, account=recording.account, clock=how.clock
            )
            parts.append(Part(frame, replace(origin, names=names), file))
            left_out, account = left_out + recording.left_out, account or recording.account
        except DataError:
            if len(files_) == 1:  # which names the remedy
                raise
            bad[file.name] = "cannot be read"
        except UNREADABLE as error:
            bad[file.name] = f"cannot be read ({reason(error)})"
    for what in sorted(set(bad.values())) if parts else ():
        names_ = [name for name in bad if bad[name] == what]
        note(f"{len(names_)} of {len(files_)} files of {path.name} left out: {names_[0]}"
             f"{', …' if names_[1:] else ''} {what}.")  # fmt: skip
    if not parts:
        name, what = next(iter(bad.items()))
        if what == NO_ROWS:
            again = "give a file with recorded tracks, positions or visits"
        elif kind == "table":
            again = "it must be a CSV in UTF-8 with a header line"
        else:
            again = f"export it again as {kind}"
        raise DataError(f"{name} {what}; {again}.")
    return parts, left_out, account


def _one(file: File, kind: str, columns: dict[str, str]) -> tuple[Recording, Origin]:
    readers = {"GPX": recordings.gpx, "GeoLife": recordings.plt, "JSON": recordings.from_json,
               "OwnTracks": recordings.owntracks}  # fmt: skip
    if kind in readers:
        return readers[kind](file), HERE
    frame, origin = (_parquet(file), HERE) if kind == "Parquet" else _csv(file, columns)
    return Recording(_with_folders(frame, file)), origin


def _with_folders(table: pd.DataFrame, file: File) -> pd.DataFrame:
    """With the columns that folders name; of user_id=007 the value is text: 007 is not 7."""
    pairs = [name.partition("=") for name in PurePosixPath(file.name).parent.parts if "=" in name]
    held = {name: None if value in ("", "__HIVE_DEFAULT_PARTITION__") else unquote(value)
            for name, _, value in pairs if name not in table.columns}  # fmt: skip
    return table.assign(**held)


def _parquet(file: File) -> pd.DataFrame:
    import pyarrow.parquet as pq  # slow to load

    table = pq.ParquetFile(io.BytesIO(file.bytes())).read()
    about = table.schema.metadata or {}
    frame = _of_arrow(table)
    frame.attrs = {}  # a file's own remarks are none of ours
    for name, text in about.items():
        if text.startswith(b"1e-7 degrees"):
            frame[name.decode()] /= 1e7
    if b"geo" in about:  # GeoParquet says which column is the geometry
        shape = json.loads(about[b"geo"]).get("primary_column", "geometry")
        frame = frame.rename(columns={shape: "geometry"})
    return levels_as_columns(frame)


def _of_arrow(table: pa.Table) -> pd.DataFrame:
    """A table of Arrow, in which whole numbers stay so beside gaps, in structs as well."""
    structs = [part.name for part in table.schema if pa.types.is_struct(part.type)]
    frame = table.to_pandas(types_mapper=WHOLE.get)
    held = {name: pd.Series(table[name].to_pylist(), frame.index, "object") for name in structs}
    return frame.assign(**held)


def _of_library(source: Any) -> pd.DataFrame:
    """A table of any library as one of pandas; named levels of its index are columns."""
    if isinstance(source, pd.DataFrame):
        table = pd.DataFrame(source).copy(deep=False)  # of a subclass (GeoPandas) only the table
        table.attrs = {}
        if isinstance(table.index, pd.DatetimeIndex) and table.index.name is None:
            table = table.rename_axis("time")
        return levels_as_columns(table)
    import narwhals as nw  # slow to load

    try:
        native = nw.from_native(source)
    except TypeError:
        raise DataError(
            f"A {type(source).__name__} is no table, and no path of one; "
            "pandas.DataFrame(...) makes one."
        ) from None
    held = native.collect() if isinstance(native, nw.LazyFrame) else native
    return _of_arrow(held.to_arrow())


# --- CSV ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How a text holds a table: letters, separator, names, and lines before these."""

    encoding: str
    separator: str
    names: list[str]
    headless: bool
    before: int

    def lines(self, data: bytes) -> list[int]:
        """The line of each row as an editor counts them: only asked for when a row is named."""
        text = io.StringIO(data.decode(self.encoding, "replace"))
        for _ in range(self.before):
            text.readline()
        rows = csv.reader(text, delimiter=self.separator)
        return [rows.line_num + self.before for row in rows if row][0 if self.headless else 1 :]


def _dialect(data: bytes, name: str) -> Dialect:
    encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    start = data[: 1 << 16].decode(encoding, "replace")
    before = len(start) - len(start.lstrip())
    lines, before = start.lstrip().splitlines(), start[:before].count("\n")
    told = re.fullmatch(r"(?i)\W?sep=(.|\\t)\W?", lines[0])  # for Excel
    lines, before = (lines[1:], before + 1) if told else (lines, 0)
    bare = "".join(lines[0].split('"')[::2]) if lines else ""  # without what stands in quotes
    separator = max(SEPARATORS, key=lambda sign: (bare.count(sign), -SEPARATORS.index(sign)))
    if told:
        separator = told[1].replace("\\t", "\t")
    names = [name.strip() for name in next(csv.reader(lines, delimiter=separator), [])]
    if headless := names_without_header(names, name):
        encoding = "latin-1"  # such sets are older than UTF-8
    names = headless or [files.MARKED.sub(r"\1", name_) for name_ in names]
    if twice := [name_ for name_ in names if name_ and names.count(name_) > 1]:
        raise DataError(f"Column '{twice[0]}' appears twice in {name}; keep one of them.")
    names = [name_ or f"Unnamed: {place}" for place, name_ in enumerate(names)]
    return Dialect(encoding, separator, names, bool(headless), before)


def _csv(file: File, columns: dict[str, str]) -> tuple[pd.DataFrame, Origin]:
    """The rows of a text; ids and times as they are written."""
    data = file.bytes()
    dialect = _dialect(data, file.name)
    ours = recognized(dialect.names, columns) | {theirs: ours for ours, theirs in columns.items()}
    clocks = re.compile("(date|time|hour|datum|zeit|heure|^from|^to|^von|^bis)$")
    as_text = {name: "str" for name in dialect.names
               if ours.get(name, "lon") not in ("lon", "lat")
               or clocks.search(plain_name(name))}  # fmt: skip
    ids = {name for name in ours if ours[name] in ("user_id", "location_id")}
    table = _rows(data, dialect, as_text, ids, file.name)
    if b"'" in data:
        table = files.without_marks(table)
    again = cache(lambda: dialect.lines(file.bytes()))

    def line_of(label: Any) -> Any:
        lines = again()
        return lines[label] if len(lines) == len(table) else label + 2

    return table, Origin("line", number=line_of)


def _rows(
    data: bytes, dialect: Dialect, as_text: dict[str, str], ids: set[str], name: str
) -> pd.DataFrame:
    """The table in a text, or what is wrong with it."""
    try:
        table = pd.read_csv(
            io.BytesIO(data), sep=dialect.separator, dtype=as_text, low_memory=False,
            skipinitialspace=True, header=None if dialect.headless else 0, names=dialect.names,
            skiprows=dialect.before, encoding=dialect.encoding, keep_default_na=False,
            na_values={name: [""] if name in ids else EMPTY for name in dialect.names}, engine="c",
        )  # fmt: skip
    except UnicodeDecodeError as error:
        raise _not_utf8(data, name) from error
    except pd.errors.ParserError as error:
        line = re.search(r"in line (\d+), saw", str(error))
        if line is None:
            raise
        raise _more_fields(name, f"line {line[1]} has") from error
    if not isinstance(table.index, pd.RangeIndex):
        raise _more_fields(name, "its rows have")
    return table


def _not_utf8(data: bytes, name: str) -> DataError:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, near = data[: error.start].count(b"\n") + 1, data[error.start - 12 : error.start + 4]
        return DataError(
            f"{name} cannot be read (line {line} is not UTF-8: {near!r}); save it as UTF-8, "
            "for example with iconv -f WINDOWS-1252 -t UTF-8."
        )
    return DataError(f"{name} cannot be read (it is no complete text); save it as UTF-8.")


def _more_fields(name: str, what: str) -> DataError:
    return DataError(
        f"{name} cannot be read ({what} more fields than the header line); name every column, "
        "with no line above the names "
        "(where numbers have a decimal comma, write a point, or separate by semicolons)."
    )
