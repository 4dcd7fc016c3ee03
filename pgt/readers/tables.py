"""Files people have, and tables of other libraries -> visits, or position fixes."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow.parquet as pq

from pgt import files
from pgt.errors import DataError, note
from pgt.readers import recordings
from pgt.readers.clocks import read_times, require_zone, with_local_clocks
from pgt.readers.columns import (
    columns_held,
    names_without_header,
    recognized,
    whole_ids,
    with_numbers,
    with_our_names,
)
from pgt.readers.plausibility import note_data_checks
from pgt.readers.recordings import UNREADABLE, File, reason
from pgt.visits import REQUIRED, TIMES, CheckedVisits, check, first_row

SEPARATORS = ",;\t|"
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


def read_visits(source: Any, **how: Any) -> pd.DataFrame:
    """Read visits from a file, folder, archive or table, as `read` does; fixes are refused.

    Parameters
    ----------
    source : path or table
    how
        ``columns``, ``timezone``, ``file_timezone``, ``person``: see `read`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> rows = {"uid": [1], "place": ["home"], "datetime": ["2024-05-01 08:00"]}
    >>> read_visits(pd.DataFrame(rows), timezone="Europe/Vienna").started_at.dt.hour.tolist()
    [8]
    """
    table = read(source, **how)
    if "location_id" in table.columns:
        return table
    raise DataError(
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
    table = read(source, **how)
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
) -> pd.DataFrame:
    """Read visits (`pgt.visits.check`) or, without ``location_id``, position fixes.

    ``source`` is a table of any library, or a file, folder or zip archive of tables (CSV, Parquet,
    JSON), GPX, GeoLife, OwnTracks, Google Timeline or published check-ins. ``columns`` maps our
    names to those in the file. ``timezone`` is where the places are (else each visit keeps the
    clock of its own offset, or of its coordinates), ``file_timezone`` by which clock times without
    an offset are. ``person`` says whose records these are where no column does.
    """
    for zone in filter(None, (timezone, file_timezone)):
        require_zone(zone)
    if isinstance(source, str | Path) and (Path(source) / "city.json").is_file():
        return _city(Path(source))
    table = _gathered(source, columns or {}, person)
    if table.empty:
        raise DataError(f"{_name(source)} has no rows; check the file, or what was filtered.")
    if "location_id" in table.columns:
        return note_data_checks(_visits(table, timezone, file_timezone))
    at, _ = read_times(table, "started_at", file_timezone or timezone, strict=False)
    table = with_numbers(table, strict=False).assign(started_at=at.dt.as_unit("us"))
    names = ["user_id", "started_at", "lon", "lat", "accuracy", "hdop", "valid"]
    table = table[[name for name in names if name in table.columns]]
    table = table.rename(columns={"started_at": "tracked_at"})
    return table.sort_values(["user_id", "tracked_at"], kind="stable", ignore_index=True)


def _visits(table: pd.DataFrame, timezone: str | None, clock: str | None) -> pd.DataFrame:
    """Check a table whose columns have our names, after what can be mended was mended."""
    empty = table.location_id.isna()
    if empty.any() and not empty.all():  # such as trackintel's noise
        note(f"{int(empty.sum()):,} rows without a place are left out ({first_row(table, empty)}).")
        table = table[~empty]
    if "finished_at" not in table.columns:
        table = table.assign(finished_at=table.started_at)  # check-ins
    table = with_local_clocks(with_numbers(whole_ids(table), strict=True), timezone, clock)
    if "split" in table.columns:
        part = table["split"].astype(object)  # of categories, none could be added
        table = table.assign(split=part.replace({"val": "valid", "validation": "valid"}))
    twice = table.duplicated([*REQUIRED])
    if twice.any():
        note(f"{int(twice.sum()):,} visits stand twice and are read once "
             f"({first_row(table, twice)}).")  # fmt: skip
    visits = check(table[~twice])
    visits.attrs = {"called": table.attrs.get("called", {})}
    return visits


def visits_of(
    source: Any,
    *,
    columns: dict[str, str] | None = None,
    timezone: str | None = None,
    file_timezone: str | None = None,
    person: int | str | None = None,
    **of_positions: Any,
) -> CheckedVisits:
    """The visits of whatever `read` reads; in positions they are found first, by `gps.visits`."""
    table = read(
        source, columns=columns, timezone=timezone, file_timezone=file_timezone, person=person
    )
    if "location_id" not in table.columns:
        from pgt.readers import gps  # clustering is slow to load

        return CheckedVisits(gps.visits(table, timezone=timezone, **of_positions), len(table))
    if of_positions:
        raise DataError(
            f"{_name(source)} holds visits, and --{next(iter(of_positions)).replace('_', '-')} is "
            "about positions; leave it out."
        )
    return CheckedVisits(table)


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


def _gathered(source: Any, columns: dict[str, str], person: int | str | None) -> pd.DataFrame:
    """All rows of a source under our names, with whose they are."""
    if not isinstance(source, str | Path):
        table = with_our_names(_of_library(source), columns, "the table")
        return _owned([table], [], "", person, "the table")
    path = Path(source)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(source)):
        raise DataError(f"{source} is an address, and only local files are read; download it.")
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path (one file, or one folder).")
    found = recordings.files_of(path)
    left = ""
    if single := path.is_file() and [file.name for file in found] == [path.name]:
        kind = recordings.kind_of(found[0])
    else:
        kind, found, left = recordings.chosen(found, path.name)
    if kind == "Parquet" and path.is_dir():  # perhaps by partitions, which are columns
        found = [File(path.name, lambda: b"")]
    frames, owned, bad = [], [], {}
    for file in found:
        try:
            frame = _one(file, kind, columns, path)
            if frame.empty:
                bad[file.name] = "has no rows or track points (waypoints and routes are no fixes)"
                continue
            frames.append(with_our_names(frame, columns, file.name))
            owned.append(file)
        except DataError:
            if single:
                raise
            bad[file.name] = "cannot be read"
        except UNREADABLE as error:
            bad[file.name] = f"cannot be read ({reason(error)})"
    for what in sorted(set(bad.values())) if frames else ():
        names = [name for name in bad if bad[name] == what]
        note(f"{len(names)} of {len(found)} files of {path.name} left out: {names[0]}"
             f"{', …' if names[1:] else ''} {what}.")  # fmt: skip
    if not frames:
        name, what = next(iter(bad.items()))
        table = "it must be a CSV in UTF-8 with a header line"
        raise DataError(
            f"{name} {what}; {table if kind == 'table' else f'export it again as {kind}'}."
        )
    if left:
        note(left)
    return _owned(frames, owned, kind, person, path.stem)


def _one(file: File, kind: str, columns: dict[str, str], path: Path) -> pd.DataFrame:
    if kind == "Parquet":
        table = pq.read_table(io.BytesIO(file.bytes()) if file.load() else path)
        frame = table.to_pandas()
        frame.attrs = {}  # a file's own remarks are none of ours
        for name, text in (table.schema.metadata or {}).items():
            if text.startswith(b"1e-7 degrees"):
                frame[name.decode()] /= 1e7
        return frame
    readers = {"GPX": recordings.gpx, "GeoLife": recordings.plt, "JSON": recordings.from_json,
               "OwnTracks": recordings.owntracks}  # fmt: skip
    return readers[kind](file) if kind in readers else _csv(file, columns)


def _owned(
    frames: list[pd.DataFrame], owned: list[File], kind: str, person: int | str | None, name: str
) -> pd.DataFrame:
    """One table of all frames, with the person where no column of a file says who."""
    alone = [frame for frame in frames if "user_id" not in frame.columns]
    if person is not None and len(alone) < len(frames):
        theirs = frames[0].attrs["called"].get("user_id", "user_id")
        raise DataError(f"Column '{theirs}' of {name} says who; leave person (--person) out.")
    names = [person] * len(alone)
    if alone and person is None:
        if not owned:
            raise DataError(
                f"No column of {name} says who (it has {columns_held(frames[0])}): if it is one "
                "person, say person='me' (--person me), else name it with columns={'user_id': ...}."
            )
        files_ = [file for file, frame in zip(owned, frames, strict=True) if "user_id" not in frame]
        names, told = recordings.owners(files_, name, kind)
        if told:
            note(told)
    for frame, one in zip(alone, names, strict=True):
        frame["user_id"] = one
    table, names = frames[0], frames[0].attrs["called"]
    if frames[1:]:
        for frame in frames:
            frame.attrs = {}
        table = pd.concat(frames, ignore_index=True)
        table.attrs["called"] = names
    if "cluster" in table.attrs["called"].get("location_id", "") and table.user_id.nunique() > 1:
        # scikit-mobility numbers everybody's places alone
        table["location_id"] = table.user_id.astype(str) + "-" + table.location_id.astype(str)
    return whole_ids(table)


def _of_library(source: Any) -> pd.DataFrame:
    """A table of any library as one of pandas."""
    if isinstance(source, pd.DataFrame):
        return pd.DataFrame(source).copy(deep=False)  # of a subclass (GeoPandas) only the table
    try:
        native = nw.from_native(source)
    except TypeError:
        raise DataError(f"A {type(source).__name__} is no table, and no path of one.") from None
    return (native.collect() if isinstance(native, nw.LazyFrame) else native).to_pandas()


def _csv(file: File, columns: dict[str, str]) -> pd.DataFrame:
    """The rows of a text, numbered as an editor counts lines; ids and times as they are written."""
    data = file.bytes()
    encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    start = data[: 1 << 16].decode(encoding, "replace").lstrip().splitlines()
    bare = "".join(start[0].split('"')[::2])  # without what stands between quotes
    separator = max(SEPARATORS, key=lambda one: (bare.count(one), -SEPARATORS.index(one)))
    names = [name.strip() for name in next(csv.reader(start, delimiter=separator))]
    headless = names_without_header(names, file.name)
    try:  # sets without a header are older than UTF-8
        text = data.decode("latin-1" if headless else encoding)
    except UnicodeDecodeError as error:
        line, near = data[: error.start].count(b"\n") + 1, data[error.start - 12 : error.start + 4]
        raise DataError(
            f"{file.name} cannot be read (line {line} is not UTF-8: {near!r}); save it as UTF-8, "
            "for example with iconv -f WINDOWS-1252 -t UTF-8."
        ) from error
    names = headless or names
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise DataError(f"Column '{twice[0]}' appears twice in {file.name}; keep one of them.")
    ours = recognized(names, columns) | {theirs: ours for ours, theirs in columns.items()}
    as_text = {name: "str" for name in ours if name in names and ours[name] not in ("lon", "lat")}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = pd.read_csv(
            io.StringIO(text), sep=separator, dtype=as_text, low_memory=False, on_bad_lines="warn",
            skipinitialspace=True, header=None if headless else 0, names=headless or None,
        )  # fmt: skip
    bad = re.findall(r"line (\d+)", " ".join(str(one.message) for one in said))
    if bad or not isinstance(table.index, pd.RangeIndex):
        raise DataError(
            f"{file.name} cannot be read ({f'line {bad[0]} has' if bad else 'its rows have'} more "
            "fields than the header line); name every column (where numbers have a decimal comma, "
            "write a point, or separate by semicolons)."
        )
    table.columns = [str(name).strip() for name in table.columns]
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    at = [rows.line_num for row in rows if row][0 if headless else 1 :]
    table.index = at if len(at) == len(table) else table.index + 2
    table.attrs["row"] = "line"
    return files.without_marks(table)
