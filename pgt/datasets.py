"""Files people have, and tables of other libraries -> visits, or position fixes."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from pgt import files, recordings
from pgt.errors import DataError, note
from pgt.plausibility import note_doubts, zones_at
from pgt.recordings import UNREADABLE, File, reason
from pgt.visits import REQUIRED, TIMES, called, check, first_row, in_zone, plain_types, refuse

# What others call our columns, in lower case, letters and digits only, the surest names first.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_id": (
        "userid", "user uid person personid userids",
        "deviceid device individuallocalidentifier tid taxiid vehicleid",
    ),
    "location_id": ("locationid", "venueid placeid poiid", "location venue place poi", "cluster"),
    "started_at": (
        "startedat trackedat",
        "start starttime arrival arrivedat arrivaltime checkintime checkinat checkin time "
        "timestamp datetime localtime utctime recordedat t starttimestamp utctimestamp",
        "timestampms gpstime fixtime date",
    ),
    "finished_at": (
        "finishedat",
        "finish end endtime endedat departure departuretime departedat leftat checkouttime "
        "checkout leavingdatetime leavingtime endtimestamp",
    ),
    "lon": ("lon", "lng long longitude lone7 longitudee7 locationlong longitudeew"),
    "lat": ("lat", "latitude late7 latitudee7 locationlat latitudens"),
    "utc_offset": ("utcoffset", "timezoneoffset"),
    "accuracy": ("accuracy", "acc horizontalaccuracy hacc accuracym gpsaccuracy"),
    "hdop": ("hdop", "horizontaldilution gpshdop"),
    "valid": ("valid", "isvalid visible"),
    "outdated": ("outdated", "manuallymarkedoutlier algorithmmarkedoutlier"),
}  # fmt: skip
PAIRS = ("geometry", "geom", "center", "wkt", "point", "latlng")
# Sets that are published without a header line, by what stands in the fields of a line: a time, a
# whole number, a fraction, another text.
SHAPES = {
    "n...[fn][fn]nt": "user_id location_id category_id category lat lon utc_offset started_at",
    "n.tn": "user_id location_id started_at utc_offset",  # Foursquare: cities (above), the world
    "nt[fn][fn].": "user_id started_at lat lon location_id",  # Gowalla, Brightkite
    "nt[fn][fn]": "user_id started_at lon lat",  # T-Drive
}
WKT = r"POINT\s*Z?\s*\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)"
DEGREES = r"^([NSEW])?\s*([+-]?\d+(?:[.,]\d*)?(?:E-?\d+)?)\s*°?\s*([NSEW])?$"
NO = ["0", "0.0", "false", "no", "n", "no fix", "v", "invalid"]
YES = ["1", "1.0", "true", "yes", "y"]
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
TWEET = "%a %b %d %H:%M:%S %z %Y"
DAY_FIRST = r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"
ISO = r"\d{4}-?\d{1,2}-?\d{1,2}([T ]\d{1,2}(:?\d\d(:?\d\d([.,]\d+)?)?)?)?"
OFFSET = r"(\d)\s*(?:(Z|UTC|GMT)|([+-]\d{1,2})(?::?(\d\d))?)\s*$"
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
        files.plain(pd.read_csv(io.StringIO(folder.joinpath(name).read_text(encoding="utf-8"))))
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
        "pgt.gps.visits(pgt.read_fixes(...)) (python -m pgt visits); if a column names the place, "
        "say which with columns={'location_id': ...} (--columns location_id=...)."
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
        return note_doubts(_visits(table, timezone, file_timezone))
    at, _ = _moments(table, "started_at", file_timezone or timezone, strict=False)
    table = _with_numbers(table, strict=False).assign(started_at=at.dt.as_unit("us"))
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
    table = _clocks(_with_numbers(_whole_ids(table), strict=True), timezone, clock)
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
        table = _named(_of_library(source), columns, "the table")
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
            frames.append(_named(frame, columns, file.name))
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
                f"No column of {name} says who (it has {_have(frames[0])}): if it is one person, "
                "say person='me' (--person me), else name it with columns={'user_id': ...}."
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
    return _whole_ids(table)


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
    headless = _shape(names, file.name)
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
    ours = _recognized(names, columns) | {theirs: ours for ours, theirs in columns.items()}
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
    return files.plain(table)


def _shape(first: list[str], file: str) -> list[str]:
    """Names for the fields of a known set without a header line; none where there is a header."""
    kinds = ""
    for one in first:
        is_time = re.match(r"\d{4}-\d\d-\d\d[T ]\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d ", one)
        is_whole, is_float = re.fullmatch(r"-?\d+", one), re.fullmatch(r"-?\d+\.\d+", one)
        kinds += "t" if is_time else "n" if is_whole else "f" if is_float else "s"
    if not re.search("[tnf]", kinds) or _recognized(first):
        return []
    for shape, names in SHAPES.items():
        if re.fullmatch(shape, kinds):
            return names.split()
    raise DataError(
        f"{file} has no header line (it begins with {', '.join(first[:4])}); write one above it, "
        "such as user_id,location_id,started_at,finished_at."
    )


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _have(table: pd.DataFrame) -> str:
    """The names of the columns as the source has them."""
    theirs = table.attrs.get("called", {})
    return ", ".join(str(theirs.get(name, name)) for name in table.columns) or "no columns"


def _recognized(all_names: list[str], columns: dict[str, str] | None = None) -> dict[str, str]:
    """Names in the file -> ours, the surest name first; both coordinates or none."""
    listed = columns or {}
    names = [name for name in all_names if name not in listed.values()]
    plain, found = {name: _plain(name) for name in names}, {}
    for ours, tiers in ALIASES.items():
        for tier in () if ours in listed else ((ours,), *(tier.split() for tier in tiers)):
            theirs = [n for n in names if (n == ours or plain[n] in tier) and n not in found]
            if len(theirs) > 1 and ours in REQUIRED and ours not in theirs:
                raise DataError(
                    f"Both '{theirs[0]}' and '{theirs[1]}' could be {ours}; say which with "
                    f"columns={{'{ours}': '{theirs[0]}'}} (--columns {ours}='{theirs[0]}')."
                )
            if theirs:
                found[ours if ours in theirs else theirs[0]] = ours
                break
    kept = {*found.values(), *listed}
    if "finished_at" not in kept:  # a label of every fix
        found = {name: ours for name, ours in found.items() if plain[name] != "cluster"}
    if ("lon" in kept) != ("lat" in kept):
        found = {n: ours for n, ours in found.items() if ours not in ("lon", "lat") or n == ours}
    return found


def _named(raw: pd.DataFrame, columns: dict[str, str], source: str) -> pd.DataFrame:
    """Give columns our names: those that the caller lists, and those that usual names show."""
    if len(doubled := raw.columns[raw.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    table = _with_points(raw)
    mine = {theirs: ours.replace("tracked", "started") for ours, theirs in columns.items()}
    for theirs, ours in mine.items():
        if theirs not in table.columns:
            raise DataError(f"Column '{theirs}' is not in {source} (it has {_have(raw)}).")
        if ours in table.columns and ours != theirs:
            raise DataError(f"{source} already has a column '{ours}' beside '{theirs}'; drop one.")
    listed = {ours: theirs for theirs, ours in mine.items()}
    found = _recognized([*map(str, table.columns)], listed) | mine
    table = _mended(table, found).rename(columns=found)
    table.attrs["called"] = {ours: name for name, ours in found.items() if ours != name}
    have = {*table.columns}
    if "started_at" not in have:
        if have & {"location_id", "lon"}:
            raise DataError(
                f"No column of {source} says when (it has {_have(table)}); name it with "
                "columns={'started_at': ...} (--columns started_at=...)."
            )
    elif "location_id" not in have and "finished_at" in have:
        raise DataError(
            f"{source} has stays and no column for the place (it has {_have(table)}): find the "
            "places with pgt.gps.generate_locations, or name it with columns={'location_id': ...}."
        )
    if "location_id" not in have and not {"lon", "lat"} <= have:
        raise DataError(
            f"No column of {source} says where (it has {_have(table)}); name the place with "
            "columns={'location_id': ...} (--columns location_id=...), or lon and lat."
        )
    return table


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Points of a geometry, as objects or as text such as ``POINT (16 48)`` or ``48°, 16°``."""
    for name in table.columns:
        if _plain(name) not in PAIRS:
            continue
        points: Any = table[name].array
        if getattr(getattr(points, "crs", None), "is_projected", False):
            points = points.to_crs("EPSG:4326")
        if set(getattr(points, "geom_type", ())) == {"Point"}:
            return table.assign(lon=points.x, lat=points.y)
        text = table[name].astype("string")
        for pattern, order in ((WKT, ["lon", "lat"]), (recordings.PAIR, ["lat", "lon"])):
            found = text.str.extract(pattern).set_axis(order, axis=1).astype("Float64")
            if found.lon.notna().any():
                return table.assign(lon=found.lon.astype(float), lat=found.lat.astype(float))
    return table


def _mended(table: pd.DataFrame, found: dict[str, str]) -> pd.DataFrame:
    """Loggers write N or S, E or W into a column beside, and the date and the time into two."""
    plain, theirs = {_plain(n): n for n in table.columns}, {o: n for n, o in found.items()}
    fresh = {}
    for ours, beside in (("lat", "ns"), ("lon", "ew")):
        if ours in theirs and beside in plain:
            fresh[theirs[ours]] = table[theirs[ours]].astype(str) + table[plain[beside]].astype(str)
    date, clock = plain.get("date"), plain.get("time")
    if date and clock and theirs.get("started_at") in (date, clock):
        six, one = r"^(\d\d)(\d\d)(\d\d)$", table[clock].astype(str).str.strip()
        one = one.str.replace(six, r"\1:\2:\3", regex=True)
        if one.str.match(r"\d{1,2}:\d\d").all():
            day = table[date].astype(str).str.strip().str.replace(six, r"20\1-\2-\3", regex=True)
            fresh[theirs["started_at"]] = day + " " + one
    return table.assign(**fresh)


def _whole_ids(table: pd.DataFrame) -> pd.DataFrame:
    """Ids as numbers where all are written as Python writes whole numbers: "007" is not 7."""
    table = plain_types(table)
    for name in {"user_id", "location_id"} & {*table.columns}:
        ids, known = table[name], table[name].dropna()
        if pd.api.types.is_float_dtype(ids.dtype) or ids.dtype == "Int64":
            whole = len(known) == len(ids) and (known % 1 == 0).all()  # a gap made them fractions
        else:
            texts = known.unique() if len(known) else [None]
            whole = all(isinstance(one, str) and WHOLE.fullmatch(one) for one in texts)
        if whole:
            table[name] = ids.astype("Int64" if len(known) < len(ids) else "int64")
    return table


def _with_numbers(table: pd.DataFrame, *, strict: bool) -> pd.DataFrame:
    """Degrees and measures of quality as numbers; of ``strict`` tables what is none stays."""
    fresh: dict[str, Any] = {}
    for name in {"lon", "lat"} & {*table.columns}:
        fresh[name] = _degrees(table[name], table.attrs["called"].get(name, name), strict)
    if not strict:
        for name in {"accuracy", "hdop"} & {*table.columns}:
            fresh[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
        for name, bad in (("valid", NO), ("outdated", YES)):
            if name in table.columns:
                text = table[name].astype(str).str.strip().str.lower()
                fresh["valid"] = ~text.isin(bad) & fresh.get("valid", True)
    return table.assign(**fresh)


def _degrees(values: pd.Series, theirs: str, strict: bool) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        text = values.astype("string").str.strip().str.upper()
        part = text.str.extract(DEGREES)
        number = part[1].str.replace(",", ".").astype("Float64").astype(float)
        if strict and (number.isna() & text.notna()).any():
            return values  # `check` says which
        values = number.where(~part[0].fillna(part[2]).isin(["S", "W"]), -number)
    values = values.astype(float)
    whole = (values.dropna() % 1 == 0).all() and (values.abs() > 36_000).any()
    return values / 1e7 if _plain(theirs).endswith("e7") or whole else values


def require_zone(zone: str | None) -> None:
    """Refuse a time zone that does not exist."""
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except (LookupError, ValueError, OSError, TypeError) as error:
        raise DataError(
            f"'{zone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def _clocks(table: pd.DataFrame, timezone: str | None, clock: str | None) -> pd.DataFrame:
    """Starts and ends by local clocks: of the zone that is named, of the place, or of their own."""
    named = getattr(getattr(table.started_at.dtype, "tz", None), "key", "UTC")
    if timezone is None and named != "UTC" and "utc_offset" not in table.columns:
        timezone = named  # a table that is in a zone by name stays in it
    start, ahead = _moments(table, "started_at", clock or timezone, strict=True)
    end, _ = _moments(table, "finished_at", clock or timezone, strict=True, after=start)
    if "utc_offset" in table.columns:
        ahead = pd.to_numeric(table.utc_offset, errors="coerce").astype(float)
    table = table.drop(columns="utc_offset", errors="ignore")
    table = table.assign(started_at=start, finished_at=end)
    if timezone is not None:
        return in_zone(table, timezone)
    return by_local_clocks(table, None if ahead is None or not ahead.any() else ahead)


def by_local_clocks(table: pd.DataFrame, ahead: pd.Series | None = None) -> pd.DataFrame:
    """Visits in UTC by the clocks of their places, or of their offsets (minutes)."""
    placed = {"lon", "lat"} <= {*table.columns}
    zones = zones_at(table.lon, table.lat) if placed else pd.Series(dtype=str)
    found, there = zones.dropna().unique(), pd.Series(0.0, index=table.index)
    for zone, rows in zones.groupby(zones).groups.items():
        at = table.started_at[rows]
        local = at.dt.tz_convert(zone).dt.tz_localize(None)
        there[rows] = (local - at.dt.tz_localize(None)).dt.total_seconds() / 60
    if ahead is None and len(found):
        note(f"the times are in UTC; by the coordinates, local clocks are those of "
             f"{', '.join(found[:2])}{', …' if len(found) > 2 else ''}.")  # fmt: skip
        ahead = there
    if ahead is None:
        return table
    if len(found) == 1 and (ahead == there).all():
        return in_zone(table, str(found[0]))
    if ahead.nunique() == 1:
        return in_zone(table, datetime.timezone(datetime.timedelta(minutes=ahead.iloc[0])))
    return table.assign(utc_offset=ahead.astype("int64"))


def _moments(
    table: pd.DataFrame, name: str, clock: str | None, *, strict: bool,
    after: pd.Series | None = None,
) -> tuple[pd.Series, pd.Series | None]:  # fmt: skip
    """Times in UTC (or NaT, if not ``strict``), and by how many minutes each was ahead of it."""
    raw, theirs, ahead = table[name], called(table, name), None
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        times = raw.dt.tz_convert("UTC")
        gap = raw.dt.tz_localize(None) - times.dt.tz_localize(None)
        return times, gap.dt.total_seconds() / 60
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        times = raw
    elif (unix := _unix(raw)) is not None:
        times = unix
    else:
        times, ahead = _written(table, name, strict)
    if times.dt.tz is not None:
        return times, ahead
    zone = "UTC" if re.search(r"(^|[^a-z])utc([^a-z]|$)|^utctime", theirs.lower()) else clock
    if zone is None:
        raise DataError(
            f"Times in '{theirs}' have no time zone: name it with timezone='Asia/Shanghai' "
            "(--timezone Asia/Shanghai) if they are by the clocks of the place, or with "
            "file_timezone='UTC' (--file-timezone UTC) if they are in UTC."
        )
    # Clocks go back: the first hour, or the second if that is before ``after``; forward: the next.
    first = np.ones(len(times), dtype=bool)
    local = times.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    if after is not None and (early := local < after).any():
        second = times.dt.tz_localize(zone, ambiguous=~first, nonexistent="shift_forward")
        local = local.where(~early, second)
    return local.dt.tz_convert("UTC"), None


def _unix(raw: pd.Series) -> pd.Series | None:
    """Unix seconds, milliseconds, micro- or nanoseconds, by their size; None where it is text."""
    numbers = pd.to_numeric(raw, errors="coerce").astype(float)
    size = numbers.abs().median()
    if numbers.notna().sum() * 2 <= raw.notna().sum() or not size > 1e8:  # before 1973
        return None
    unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
    return pd.to_datetime(numbers, unit=unit, utc=True, errors="coerce").dt.round("us")


def _written(table: pd.DataFrame, name: str, strict: bool) -> tuple[pd.Series, pd.Series | None]:
    """Times that are written out, and their offsets in minutes; without a zone if none has one."""
    raw = table[name]
    text = raw.astype("string").str.strip().str.replace("\N{MINUS SIGN}", "-")
    refuse(table, name, text.str.match(DAY_FIRST).fillna(False), "is ", ", where day and month "
           "cannot be told apart; write ISO 8601 times such as 2024-05-01 09:00.",
           "{!r}")  # fmt: skip
    tweets = pd.to_datetime(text.astype(object), format=TWEET, utc=True, errors="coerce")
    text = text.str.replace(r"^(\d{4})/(\d{1,2})/", r"\1-\2-", regex=True)
    parts = text.where(text.str.contains(r"\d[T ]\d")).str.extract(OFFSET)
    hours, zoned = parts[2].astype("Float64"), parts[0].notna()
    ahead = 60 * hours + parts[3].astype("Float64") * parts[2].str.get(0).map({"+": 1, "-": -1})
    ahead = ahead.fillna(60 * hours).fillna(0).astype(float)
    # Only what begins like a date is one: "now", a month or a year are no moments.
    text = text.where(~zoned, text.str.replace(OFFSET, r"\1", regex=True))
    text = text.where(text.str.fullmatch(ISO).fillna(False))
    times = pd.to_datetime(text.astype(object), format="ISO8601", errors="coerce")
    bare = times.notna() & ~zoned
    refuse(table, name, bare & zoned.any(), "has a time zone in some rows and none",
           "; write all of them the same way.")  # fmt: skip
    if not bare.any():
        times = (times - pd.to_timedelta(ahead, unit="min")).dt.tz_localize("UTC").fillna(tweets)
    bad = times.isna() & (strict | raw.notna())
    if strict or bad.mean() > 0.5:
        refuse(table, name, bad, "is ", ", which is no ISO 8601 time (such as "
               "2024-05-01T09:00:00+02:00); correct it or drop the row.", "{!r}")  # fmt: skip
    return times, ahead if zoned.any() else None
