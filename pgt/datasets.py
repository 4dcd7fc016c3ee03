"""Files people have, and tables of other libraries -> visits, or position fixes.

`read` finds out what a file is, what its columns mean, and by which clock its times are.
"""

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
import pyarrow as pa
import pyarrow.parquet as pq

from pgt import files, recordings
from pgt.errors import DataError, note
from pgt.plausibility import note_doubts
from pgt.recordings import UNREADABLE, File, reason
from pgt.visits import REQUIRED, TIMES, check, first_row, plain_types

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
    "trajectory": ("trajectory", "traj trajectoryid trajid track trackid"),
    "accuracy": ("accuracy", "acc horizontalaccuracy hacc accuracym gpsaccuracy"),
    "hdop": ("hdop", "horizontaldilution gpshdop"),
    "valid": ("valid", "isvalid visible"),
    "outdated": ("outdated", "manuallymarkedoutlier algorithmmarkedoutlier"),
}  # fmt: skip
PAIRS = ("geometry", "geom", "center", "wkt", "point", "latlng")
# Sets that are published without a header line, by what stands in the fields of a line.
SHAPES = {
    "nsssffnt": "user_id location_id category_id category lat lon utc_offset started_at",  # TSMC
    "nstn": "user_id location_id started_at utc_offset",  # Foursquare, the world
    "ntffs": "user_id started_at lat lon location_id",  # Gowalla, Brightkite
    "ntff": "user_id started_at lon lat",  # T-Drive
}
NUMBER = re.compile(r"-?\d+(\.\d+)?")
TWEET = "%a %b %d %H:%M:%S %z %Y"
DAY_FIRST = r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"
OFFSET = r"(\d)\s*(?:(Z|UTC|GMT)|([+-]\d{1,2})(?::?(\d\d))?)\s*$"
SEPARATORS = ",;\t|"
GEOLIFE_URL = (
    "https://download.microsoft.com/download/F/4/8/F4894AA5-FDBC-481E-9285-D5F8C4C4F039/"
    "Geolife%20Trajectories%201.3.zip"
)
GEOLIFE_TERMS = (
    "GeoLife GPS Trajectories 1.3 are tracks of real people, for non-commercial use under the "
    "Microsoft Research License Agreement (in the archive's user guide, and at "
    "https://www.microsoft.com/en-us/download/details.aspx?id=52367)"
)


def load_city() -> pd.DataFrame:
    """The visits of the simulated town that comes with the package.

    Returns
    -------
    DataFrame
        As `pgt.visits.check` returns it, with ``lon``, ``lat`` and ``split``.

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
    """As `read`, for visits alone: a recording is refused with a sentence on what to do.

    Examples
    --------
    >>> rows = {"uid": [1, 1], "place": ["home", "work"],
    ...         "datetime": ["2024-05-01 08:00", "2024-05-01 09:00"]}
    >>> read_visits(pd.DataFrame(rows), timezone="Europe/Vienna").started_at.dt.hour.tolist()
    [8, 9]
    """
    table = read(source, **how)
    if "location_id" in table.columns:
        return table
    raise DataError(
        f"{_name(source)} holds positions and no column for the place: make visits of it with "
        "pgt.gps.visits(pgt.read_fixes(...)) (python -m pgt visits FILE --out visits.csv); if a "
        "column names the place, say which with columns={'location_id': ...} "
        "(--columns location_id=...)."
    )


def read_fixes(source: Any, **how: Any) -> pd.DataFrame:
    """As `read`, for position fixes alone: a table of visits is refused."""
    table = read(source, **how)
    if "location_id" in table.columns:
        raise DataError(
            f"{_name(source)} holds visits, not position fixes; read it with pgt.read_visits."
        )
    return table


def read(
    source: Any,
    *,
    columns: dict[str, str] | None = None,
    timezone: str | None = None,
    file_timezone: str | None = None,
    person: int | str | None = None,
) -> pd.DataFrame:
    """Read visits, or position fixes, from whatever holds them.

    Parameters
    ----------
    source : path or table
        A file, folder or zip archive: tables as CSV (or separated by tabs or semicolons), Parquet
        or JSON; GPX, GeoLife, OwnTracks, Google Timeline in its forms; published check-in sets. Or
        a table of pandas, GeoPandas, Polars, PyArrow, DuckDB.
    columns : dict, optional
        Our names -> the names in the file, as in ``{"user_id": "uid"}``. Usual names are known.
    timezone : str, optional
        Where the places are, such as "Europe/Vienna". Without it each visit keeps the clock of its
        own offset; where times are in UTC, the zone is found from the coordinates.
    file_timezone : str, optional
        By which clock times without an offset are, if not by that of the places.
    person : int or str, optional
        Whose records these are where no column says so (else: the name of the file).

    Returns
    -------
    DataFrame
        Visits, as `pgt.visits.check` returns them; or, without ``location_id``, fixes:
        ``user_id``, ``tracked_at`` (UTC), ``lon``, ``lat``, and ``trajectory``, ``accuracy``
        (metres), ``hdop``, ``valid`` where the source has them.

    Raises
    ------
    DataError
        When there is nothing to read, or something in it is wrong: it says where.
    """
    raw = _raw(source, person, columns or {})
    if raw.attrs.get("checked"):  # a city
        return raw.drop_attrs() if hasattr(raw, "drop_attrs") else raw
    table = _named(raw, columns or {}, person, _name(source))
    for zone in (timezone, file_timezone):
        _require_zone(zone)
    place = "location_id" in table.columns
    if not place:
        _require_fixes(table, _name(source))
    table = _with_numbers(table, strict=place)
    if place:
        return _visits(table, timezone, file_timezone)
    at, _ = _moments(table, "started_at", file_timezone or timezone, strict=False)
    table = table.assign(started_at=at.dt.as_unit("us")).rename(columns={"started_at": "tracked_at"})
    names = ("user_id", "tracked_at", "lon", "lat", "trajectory", "accuracy", "hdop", "valid")
    table = plain_types(table[[name for name in names if name in table.columns]])
    return table.sort_values(["user_id", "tracked_at"], kind="stable", ignore_index=True)


def _visits(table: pd.DataFrame, timezone: str | None, clock: str | None) -> pd.DataFrame:
    """Check a table whose columns have our names, after what can be mended was mended."""
    empty = table.location_id.isna()
    if empty.any() and not empty.all():
        note(f"{int(empty.sum()):,} rows without a place are left out ({first_row(table, empty)}).")
        table = _like(table, table[~empty])
    if "finished_at" not in table.columns:
        table = table.assign(finished_at=table.started_at)  # check-ins
        table.attrs["called"]["finished_at"] = table.attrs["called"].get("started_at", "started_at")
    table = _clocks(table, timezone, clock)
    if "split" in table.columns:
        part = table["split"].astype(object)  # of categories, none could be added
        table = table.assign(split=part.replace({"val": "valid", "validation": "valid"}))
    twice = table.duplicated([*REQUIRED])
    if twice.any():
        note(f"{int(twice.sum()):,} visits stand twice and are read once "
             f"({first_row(table, twice)}).")  # fmt: skip
        table = _like(table, table[~twice])
    called = table.attrs["called"]
    visits = check(_whole_ids(table))
    visits.attrs = {"called": {ours: name for ours, name in called.items() if ours != name}}
    return note_doubts(visits)


def _like(table: pd.DataFrame, part: pd.DataFrame) -> pd.DataFrame:
    part.attrs = table.attrs
    return part


def write(visits: pd.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet or CSV, whole or not at all.

    People open a CSV in a spreadsheet, which runs a cell such as ``=1+1``; so texts that begin
    like a formula get an apostrophe before them (`pgt.files`), which `read` takes away again.
    """
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Cannot write {path.name}: its name must end in .csv or .parquet.")
    with files.whole(path) as half:
        if path.suffix == ".csv":
            files.write_csv(visits, half)
        else:
            visits = visits.copy(deep=False)
            visits.attrs = {}  # remarks on the file that these were read from
            visits.to_parquet(half, index=False)


def fetch_geolife(
    folder: str | Path, *, accept_terms: bool = False, url: str = GEOLIFE_URL,
    known_hash: str | None = None,
) -> Path:  # fmt: skip
    """Download the GeoLife archive, 300 MB, unless it is there; `read_fixes` reads it as it is.

    Parameters
    ----------
    folder : path
        Where the archive is kept.
    accept_terms : bool
        Say that you have read the terms and accept them.
    known_hash : str, optional
        Its SHA-256. Microsoft publishes none; without it, pooch logs the one that it found.
    """
    if not accept_terms:
        raise DataError(f"{GEOLIFE_TERMS}; if you accept them, say accept_terms=True.")
    import pooch

    name = "Geolife Trajectories 1.3.zip"
    path = Path(pooch.retrieve(url, known_hash, fname=name, path=folder, progressbar=True))
    recordings.files_of(path)  # refuses half an archive
    return path


# --- from a path or a table to rows ------------------------------------------------------------


def _name(source: Any) -> str:
    return Path(source).name if isinstance(source, str | Path) else "the table"


def local_path(path: str | Path) -> Path:
    """A path to something that is there, or a sentence."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise DataError(f"{path} is an address, and only local files are read; download it first.")
    if not Path(path).exists():
        remedy = "give one file or a folder" if re.search(r"[*?\[]", str(path)) else "check the path"
        raise DataError(f"There is no file {path}; {remedy}.")
    return Path(path)


def _raw(source: Any, person: int | str | None, columns: dict[str, str]) -> pd.DataFrame:
    """The rows of a source under its own names, with the person where no column says who."""
    if not isinstance(source, str | Path):
        return _of_library(source)
    path = local_path(source)
    if path.is_dir() and (path / "city.json").is_file():
        visits = _city(path)
        visits.attrs["checked"] = True
        return visits
    found = recordings.files_of(path)
    single = len(found) == 1 and found[0].path == path
    if single:
        kind, left = recordings.kind_of(found[0]), ""
    else:
        kind, found, left = recordings.chosen(found, path.name)
    if kind == "Parquet" and path.is_dir():
        frames = [_parquet_folder(path)]
    else:
        frames = []
        empty, broken = [], []
        for file in found:
            try:
                frame = _one(file, kind, columns)
                (frames if len(frame) else empty).append(frame if len(frame) else file.name)
                frame.attrs["file"] = file
            except DataError:
                if single:
                    raise
                broken.append(file.name)
            except UNREADABLE as error:
                if single:
                    raise DataError(
                        f"{file.name} cannot be read ({reason(error)}); {_must_be(kind)}."
                    ) from error
                broken.append(file.name)
        for bad, what in ((empty, "hold no rows or track points"), (broken, "cannot be read")):
            if bad and not single:
                note(f"{len(bad)} of {len(found)} files of {path.name} {what} and are left out "
                     f"({bad[0]}{', …' if len(bad) > 1 else ''}).")  # fmt: skip
        if not frames:
            raise DataError(_nothing(path.name, kind, single, broken))
    if left:
        note(left)
    _give_owners(frames, path, kind, person, columns)
    if len(frames) == 1:
        return frames[0]
    for frame in frames:
        frame.attrs = {}
    return pd.concat(frames, ignore_index=True)


def _nothing(name: str, kind: str, single: bool, broken: list[str]) -> str:
    if kind == "GPX":
        what = "has no track points (waypoints and routes are no fixes)"
        return f"{name} {what}; export the recorded track."
    if broken and not single:
        return f"None of the files of {name} can be read ({broken[0]}, …); export them again."
    return f"{name} has no visits and no fixes; check the file, or the filter that came before."


def _must_be(kind: str) -> str:
    if kind == "table":
        return "it must be a CSV in UTF-8 with a header line"
    return f"export it again as {kind}"


def _one(file: File, kind: str, columns: dict[str, str]) -> pd.DataFrame:
    if kind == "GPX":
        return recordings.gpx(file)
    if kind == "GeoLife":
        return recordings.plt(file)
    if kind == "OwnTracks":
        return recordings.owntracks(file)
    if kind == "JSON":
        return recordings.from_json(file)
    if kind == "Parquet":
        return _e7(pq.read_table(file.path or io.BytesIO(file.bytes())))
    return _csv(file, columns)


def _parquet_folder(path: Path) -> pd.DataFrame:
    """A folder of Parquet files, flat or by partitions, which are one table."""
    try:
        return _e7(pq.read_table(path))
    except UNREADABLE as error:
        raise DataError(f"{path.name} cannot be read ({reason(error)}); it must be Parquet.") from error


def _e7(table: pa.Table) -> pd.DataFrame:
    """Arrow to pandas; degrees that the file's notes call 1e-7 become degrees."""
    notes, frame = table.schema.metadata or {}, table.to_pandas()
    frame.attrs = {}  # a file's own remarks are none of ours
    for name in frame.columns:
        if notes.get(str(name).encode(), b"").startswith(b"1e-7 degrees"):
            frame[name] = frame[name] / 1e7
    return frame


def _give_owners(
    frames: list[pd.DataFrame], path: Path, kind: str, person: int | str | None,
    columns: dict[str, str],
) -> None:  # fmt: skip
    """Say in every frame whose rows they are, where no column of the file does."""
    alone = [frame for frame in frames if not _says_who(frame, columns)]
    if len(alone) < len(frames) and person is not None:
        raise DataError(f"{path.name} says itself whose rows they are; leave person (--person) out.")
    given = [frame.attrs.get("file") for frame in alone]
    told = ""
    if person is not None:
        names: list[Any] = [person] * len(alone)
    elif kind == "GeoLife":
        names = [recordings.plt_user(file) for file in given]
        if all(name.isdecimal() for name in names):
            names = [int(name) for name in names]
    elif kind == "JSON" or None in given:
        names = [re.sub(r"\.(csv|json|zip|gz|parquet)$", "", path.name)] * len(alone)
    else:
        names, told = recordings.owners(given, path.stem)
    if told:
        note(told)
    elif len(set(names)) == len(names) and person is None and kind == "GPX":
        if recordings.one_after_another(alone):
            note(
                f"the {len(alone)} files of {path.name} are read as {len(alone)} people, but "
                "hardly two were recorded at the same time, so they look like one person's: if "
                "they are, say person='me' (--person me)."
            )
    for frame, name in zip(alone, names, strict=True):
        frame["user_id"] = name


def _says_who(frame: pd.DataFrame, columns: dict[str, str]) -> bool:
    return "user_id" in columns or "user_id" in _recognized([*frame.columns]).values()


def _of_library(source: Any) -> pd.DataFrame:
    """A table of any library as one of pandas."""
    if isinstance(source, pd.DataFrame):
        table = pd.DataFrame(source)  # of a subclass (GeoPandas) only the table
        return table.copy(deep=False)
    if isinstance(source, pa.RecordBatchReader):
        source = source.read_all()
    try:
        native = nw.from_native(source)
    except TypeError:
        raise DataError(
            f"A {type(source).__name__} is no table; give a pandas, Polars, PyArrow or DuckDB "
            "table, or the path of a file."
        ) from None
    native = native.collect() if isinstance(native, nw.LazyFrame) else native
    return native.to_pandas()


def _csv(file: File, columns: dict[str, str]) -> pd.DataFrame:
    """The rows of a text, numbered as an editor counts lines, ids and times as they are written."""
    data = file.bytes()
    sample = data[: 1 << 16]
    encoding = next(
        (name for bom, name in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
                                (codecs.BOM_UTF16_BE, "utf-16")) if data.startswith(bom)), "utf-8"
    )  # fmt: skip
    if encoding == "utf-8" and sample[:400].count(0) * 3 > len(sample[:400]) > 1:
        raise DataError(
            f"{file.name} looks like UTF-16 without its mark; save it as UTF-8, for example with "
            "iconv -f UTF-16LE -t UTF-8."
        )
    lines = (line for line in sample.decode(encoding, "replace").splitlines() if line.strip())
    header = next(lines, "")
    bare = "".join(header.split('"')[::2])  # without what stands between quotes
    separator = max(SEPARATORS, key=lambda one: (bare.count(one), -SEPARATORS.index(one)))
    names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
    headless = _shape(names, file.name)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if not headless:  # those sets are older than UTF-8
            line = data[: error.start].count(b"\n") + 1
            raise DataError(
                f"{file.name} cannot be read (line {line} is not UTF-8: "
                f"{data[max(error.start - 12, 0) : error.start + 4]!r}); save it as UTF-8, for "
                "example with iconv -f WINDOWS-1252 -t UTF-8."
            ) from error
        text = data.decode("latin-1")
    names = headless or names
    named = [name for name in names if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise DataError(f"Column '{min(twice)}' appears twice in {file.name}; keep one of them.")
    ours = _recognized(names) | {theirs: ours for ours, theirs in columns.items()}
    as_text = {name: "str" for name in ours if name in names and ours[name] not in ("lon", "lat")}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = pd.read_csv(
            io.StringIO(text), sep=separator, dtype=as_text, low_memory=False, on_bad_lines="warn",
            skipinitialspace=True, **({"names": headless, "header": None} if headless else {}),
        )  # fmt: skip
    table.columns = [str(name).strip() for name in table.columns]
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(
            f"The rows of {file.name} have more fields than its header line; name every column "
            "(where numbers have a decimal comma, write a point, or separate by semicolons)."
        )
    if bad := re.findall(r"line (\d+)", " ".join(str(one.message) for one in said)):
        raise DataError(
            f"{file.name} cannot be read (line {bad[0]} has more fields than the header line); "
            "correct or delete it."
        )
    begins = 1 if headless else 2
    if text.count("\n", 0, len(text) - 1) + 2 - begins != len(table):  # blank or quoted line ends
        rows = csv.reader(io.StringIO(text), delimiter=separator)
        at = [rows.line_num for row in rows if row][begins - 1 :]
        table.index = at if len(at) == len(table) else table.index + begins
    else:
        table.index += begins
    table.attrs["row"] = "line"
    return files.plain(table)


def _shape(first: list[str], file: str) -> list[str]:
    """Names for the fields of a known set without a header line; none where there is a header."""
    kinds = ""
    for one in first:
        is_time = re.match(r"\d{4}-\d\d-\d\d[T ]\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d ", one)
        is_whole, is_float = re.fullmatch(r"-?\d+", one), NUMBER.fullmatch(one)
        kinds += "t" if is_time else "n" if is_whole else "f" if is_float else "s"
    if not re.search("[tnf]", kinds) or _recognized(first):
        return []
    for shape, names in SHAPES.items():
        if len(kinds) == len(shape) and all(
            want in (have, "s") or (want == "f" and have == "n")
            for want, have in zip(shape, kinds, strict=True)
        ):
            return names.split()
    if kinds.count("s") < len(kinds):
        raise DataError(
            f"{file} has no header line (it begins with {', '.join(first[:4])}); write one above "
            "it, such as user_id,location_id,started_at,finished_at."
        )
    return []


# --- what the columns mean ---------------------------------------------------------------------


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _recognized(names: list[str]) -> dict[str, str]:
    """Names in the file -> ours, the surest name first; both coordinates or none."""
    plain = {name: _plain(name) for name in names}
    found: dict[str, str] = {}
    for ours, tiers in ALIASES.items():
        if ours in names:
            found[ours] = ours
            continue
        for tier in tiers:
            theirs = [name for name in names if plain[name] in tier.split() and name not in found]
            if len(theirs) > 1 and ours in REQUIRED:
                raise DataError(
                    f"Both '{theirs[0]}' and '{theirs[1]}' could be {ours}; say which with "
                    f"columns={{'{ours}': '{theirs[0]}'}} (--columns {ours}='{theirs[0]}')."
                )
            if theirs:
                found[theirs[0]] = ours
                break
    kept = {*found.values()}
    if "location_id" in kept and "finished_at" not in kept:  # a label of every fix
        found = {name: ours for name, ours in found.items() if plain[name] != "cluster"}
    if ("lon" in kept) != ("lat" in kept):
        found = {n: ours for n, ours in found.items() if ours not in ("lon", "lat") or n == ours}
    return found


def _named(
    raw: pd.DataFrame, columns: dict[str, str], person: int | str | None, source: str
) -> pd.DataFrame:
    """Give columns our names: those that the caller lists, and those that usual names show."""
    if len(doubled := raw.columns[raw.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    have = ", ".join(map(str, raw.columns)) or "no columns"
    columns = {{"tracked_at": "started_at"}.get(o, o): theirs for o, theirs in columns.items()}
    for ours, theirs in columns.items():
        if theirs not in raw.columns:
            raise DataError(f"Column '{theirs}' is not in {source} (it has {have}).")
        if ours in raw.columns and ours != theirs:
            raise DataError(
                f"{source} already has a column '{ours}' beside '{theirs}'; drop one of them."
            )
    table = _with_points(raw)
    mine = {theirs: ours for ours, theirs in columns.items()}
    free = [name for name in map(str, table.columns) if name not in mine]
    found = {n: o for n, o in _recognized(free).items() if o not in columns} | mine
    if "started_at" in found.values():
        table = _with_clock_beside_date(table, found)
    attrs = {"called": {ours: name for name, ours in found.items()}}
    labels = "cluster" in {_plain(n) for n, ours in found.items() if ours == "location_id"}
    table = _signed(table, found).rename(columns=found)
    table.attrs = raw.attrs | attrs
    if "user_id" not in table.columns and "started_at" in table.columns:
        if person is None:
            raise DataError(
                f"No column of {source} says who ({have}): if it is one person, say person='me' "
                "(--person me), else name the column with columns={'user_id': ...} "
                "(--columns user_id=...)."
            )
        table["user_id"] = person
    elif person is not None and "user_id" in found.values():
        name = attrs["called"]["user_id"]
        if name not in ("user_id",) or not (table.user_id == person).all():
            raise DataError(f"Column '{name}' of {source} says who; leave person (--person) out.")
    if labels and table.user_id.nunique() > 1:  # scikit-mobility numbers everybody's alone
        table["location_id"] = table.user_id.astype(str) + "-" + table.location_id.astype(str)
    if "location_id" not in table.columns and "finished_at" in table.columns:
        raise DataError(
            f"{source} has stays and no column for the place (it has {have}): find the places with "
            "pgt.gps.generate_locations (or trackintel's generate_locations), or say which column "
            "names it with columns={'location_id': ...} (--columns location_id=...)."
        )
    if "started_at" not in table.columns:
        raise DataError(
            f"No column of {source} says when (it has {have}); name it with "
            "columns={'started_at': ...} (--columns started_at=...)."
        )
    return _whole_ids(table)


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Points of a geometry, as objects, as text such as ``POINT (16 48)`` or as bytes."""
    for name in table.columns:
        if _plain(name) not in PAIRS:
            continue
        points: Any = table[name].array
        if getattr(getattr(points, "crs", None), "is_projected", False):
            points = points.to_crs("EPSG:4326")
        if hasattr(points, "x") and hasattr(points, "y"):
            try:
                return table.assign(lon=points.x, lat=points.y)
            except ValueError:  # GeoPandas' word for areas and lines
                continue
        values = table[name].dropna()
        if len(values) and isinstance(values.iloc[0], bytes) and set(map(len, values)) == {21}:
            kind = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])
            known = np.frombuffer(b"".join(values), kind)
            x, y = (pd.Series(known[axis], index=values.index) for axis in "xy")
            return table.assign(lon=x.reindex(table.index), lat=y.reindex(table.index))
        text = table[name].astype("string")
        found = text.str.extract(r"POINT\s*Z?\s*\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)").astype("Float64")
        if found[0].notna().any():
            return table.assign(lon=found[0].astype(float), lat=found[1].astype(float))
        pair = text.str.extract(recordings.PAIR.pattern).astype("Float64")
        if pair[0].notna().any():
            return table.assign(lat=pair[0].astype(float), lon=pair[1].astype(float))
    return table


def _signed(table: pd.DataFrame, found: dict[str, str]) -> pd.DataFrame:
    """Degrees of loggers, whose column beside says N or S, E or W."""
    plain = {_plain(name): name for name in table.columns}
    for ours, beside in (("lat", "ns"), ("lon", "ew")):
        name = next((name for name, mine in found.items() if mine == ours), None)
        if name and beside in plain:
            sign = table[plain[beside]].astype(str).str.strip().str.upper()
            table = table.assign(**{name: table[name].astype(str) + sign})
    return table


def _with_clock_beside_date(table: pd.DataFrame, found: dict[str, str]) -> pd.DataFrame:
    """Loggers write the date and the time of day in two columns."""
    plain = {_plain(name): name for name in table.columns}
    at = next(name for name, ours in found.items() if ours == "started_at")
    if not {"date", "time"} <= {*plain} or at not in (plain["date"], plain["time"]):
        return table
    date, clock = (table[plain[one]].astype(str).str.strip() for one in ("date", "time"))
    if not clock.str.fullmatch(r"\d{1,2}:\d\d(:\d\d)?.*|\d{6}").all():
        return table
    six = r"(\d\d)(\d\d)(\d\d)"
    date = date.str.replace(rf"^{six}$", r"20\1-\2-\3", regex=True).str.replace("/", "-")
    clock = clock.str.replace(rf"^{six}$", r"\1:\2:\3", regex=True)
    return table.assign(**{at: date + " " + clock})


def _whole_ids(table: pd.DataFrame) -> pd.DataFrame:
    """Ids as numbers where all are written as Python writes whole numbers: "007" is not 7."""
    table = plain_types(table)
    for name in ("user_id", "location_id"):
        if name not in table.columns:
            continue
        ids = table[name]
        known = ids.dropna()
        if known.dtype == object or isinstance(known.dtype, pd.StringDtype):
            if not len(known) or not all(isinstance(one, str) for one in known):
                continue
            unique = known.unique()
            whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", one) for one in unique)
            ids = ids.map({one: int(one) if whole else one.strip() for one in unique})
            known = ids.dropna()
        whole = pd.api.types.is_float_dtype(known.dtype) and (known % 1 == 0).all()
        if len(known) == len(ids) and (whole or ids.dtype == "Int64"):
            ids = ids.astype("int64")  # a gap had turned them into fractions
        table[name] = ids if ids.dtype != object else ids.astype("str")
    return table


def _require_fixes(table: pd.DataFrame, source: str) -> None:
    have = ", ".join(table.attrs["called"].get(name, name) for name in map(str, table.columns))
    if not {"lon", "lat"} <= {*table.columns}:
        raise DataError(
            f"No column of {source} says where (it has {have}); name the place with "
            "columns={'location_id': ...} (--columns location_id=...), or the position with lon "
            "and lat."
        )


def _with_numbers(table: pd.DataFrame, *, strict: bool) -> pd.DataFrame:
    """Degrees and measures of quality as numbers; of ``strict`` tables what is none stays."""
    fresh: dict[str, Any] = {}
    for name in ("lon", "lat"):
        if name in table.columns:
            fresh[name] = _degrees(table, name, strict)
    for name in ("accuracy", "hdop"):
        if name in table.columns and not strict:
            fresh[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
    marks = [name for name in ("valid", "outdated") if name in table.columns and not strict]
    if marks:
        good = pd.Series(True, index=table.index)
        for name in marks:
            text = table[name].astype(str).str.strip().str.lower()
            no = text.isin(["0", "0.0", "false", "no", "n", "no fix", "v", "invalid"])
            good &= ~no if name == "valid" else no | text.isin(["", "nan", "none", "<na>"])
        fresh["valid"] = good
    table = _like(table, table.assign(**fresh))
    return table


def _degrees(table: pd.DataFrame, name: str, strict: bool) -> pd.Series:
    values = table[name]
    if not pd.api.types.is_numeric_dtype(values.dtype):
        text = values.astype("string").str.strip().str.upper()
        part = text.str.extract(r"^([NSEW])?\s*([+-]?\d+(?:[.,]\d*)?(?:E-?\d+)?)\s*°?\s*([NSEW])?$")
        number = part[1].str.replace(",", ".").astype("Float64").astype(float)
        south = part[0].fillna(part[2]).isin(["S", "W"])
        if strict and (number.isna() & text.notna()).any():
            return values  # `check` says which
        values = number.where(~south, -number)
    values = values.astype(float)
    theirs = table.attrs["called"].get(name, name)
    whole = (values.dropna() % 1 == 0).all() and (values.abs() > 36_000).any()
    return values / 1e7 if _plain(theirs).endswith("e7") or whole else values


# --- by which clock ----------------------------------------------------------------------------


def _require_zone(zone: str | None) -> None:
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except (LookupError, ValueError, OSError, TypeError) as error:
        raise DataError(
            f"'{zone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def _says_utc(name: str) -> bool:
    return "utc" in re.split(r"[^a-z0-9]+", name.lower()) or _plain(name).startswith("utctime")


def _moments(
    table: pd.DataFrame, name: str, clock: str | None, *, strict: bool,
    after: pd.Series | None = None,
) -> tuple[pd.Series, pd.Series | None]:  # fmt: skip
    """Times as moments in UTC, and the minutes that each was written ahead of it, where it was.

    Where clocks go back an hour comes twice; the second is meant where the first would lie before
    ``after``. What is no time is refused, or NaT and counted if not ``strict``.
    """
    raw, theirs = table[name], table.attrs["called"].get(name, name)
    offset = None
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        ahead = raw.dt.tz_localize(None) - raw.dt.tz_convert("UTC").dt.tz_localize(None)
        return raw.dt.tz_convert("UTC"), ahead.dt.total_seconds() / 60
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        times = raw
    elif (unix := _unix(raw)) is not None:
        times = unix
    else:
        times, offset = _written(table, name, theirs, strict)
    if times.dt.tz is not None:
        return times, offset
    zone = "UTC" if _says_utc(theirs) else clock
    if zone is None:
        raise DataError(
            f"Times in '{theirs}' have no time zone: name it with timezone='Asia/Shanghai' "
            "(--timezone Asia/Shanghai) if they are by the clocks of the place, or with "
            "file_timezone='UTC' (--file-timezone UTC) if they are in UTC."
        )
    if times.dt.year.gt(2261).any() or times.dt.year.lt(1678).any():
        return times.dt.tz_localize("UTC"), None  # `check` says which
    # Clocks go back: the first of the two hours. Clocks go forward: the next valid time.
    first = np.ones(len(times), dtype=bool)
    local = times.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    if after is not None and (early := local < after).any():
        second = times.dt.tz_localize(zone, ambiguous=~first, nonexistent="shift_forward")
        local = local.where(~early, second)
    return local.dt.tz_convert("UTC"), None


def _unix(raw: pd.Series) -> pd.Series | None:
    """Unix seconds, milliseconds, micro- or nanoseconds, by their size; None where it is text."""
    numbers, given = raw, int(raw.notna().sum())
    if not pd.api.types.is_numeric_dtype(raw.dtype):
        text = raw.astype("string").str.strip()
        numbers = pd.to_numeric(text, errors="coerce")
        given = int((text.notna() & (text != "")).sum())
    numbers = numbers.astype(float)
    if given == 0 or numbers.notna().sum() * 2 <= given:
        return None
    size = float(numbers.abs().median())
    unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
    if size < 1e8:  # before 1973
        return None
    return pd.to_datetime(numbers, unit=unit, utc=True, errors="coerce").dt.round("us")


def _written(
    table: pd.DataFrame, name: str, theirs: str, strict: bool
) -> tuple[pd.Series, pd.Series | None]:
    """Times that are written out, and their offsets in minutes; without a zone if none has one."""
    raw = table[name]
    text = raw.astype("string").str.strip().str.replace("\N{MINUS SIGN}", "-")
    text = text.mask(text == "")
    if (day_first := text.str.match(DAY_FIRST).fillna(False)).any():
        raise DataError(
            f"'{theirs}' is {raw[day_first].iloc[0]!r} in {first_row(table, day_first)}, where day "
            "and month cannot be told apart; write ISO 8601 times such as 2024-05-01 09:00."
        )
    tweets = text.str.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:").fillna(False)
    if tweets.any():
        times = pd.to_datetime(text.where(tweets).astype(object), format=TWEET, utc=True)
        offset = None
    else:
        text = text.str.replace(r"^(\d{4})/(\d{1,2})/", r"\1-\2-", regex=True)
        text = text.str.replace(" - ", " ", regex=False)
        parts = text.where(text.str.contains(r"\d[T ]\d")).str.extract(OFFSET)
        minutes = (parts[2].str[:1] + "1").astype("Float64") * (
            60 * parts[2].str[1:].astype("Float64") + parts[3].astype("Float64").fillna(0)
        )
        zoned = parts[0].notna()
        clear = text.where(~zoned, text.str.replace(OFFSET, r"\1", regex=True))
        # Only what begins like a date is one: "now", a month or a year are no moments.
        clear = clear.where(clear.str.match(r"\d{4}-?\d{1,2}-?\d{1,2}").fillna(False))
        times = pd.to_datetime(clear.astype(object), format="ISO8601", errors="coerce")
        if zoned.any() and not (zoned | text.isna()).all():
            rest = ~zoned & text.notna()
            if strict or times[rest].notna().any():
                raise DataError(
                    f"'{theirs}' has a time zone in some rows and none in "
                    f"{first_row(table, rest)}; write all of them the same way."
                )
        offset = minutes.fillna(0).astype(float) if zoned.any() else None
        if offset is not None:
            times = (times - pd.to_timedelta(offset, unit="min")).dt.tz_localize("UTC")
    bad = times.isna() & (text.notna() if not strict else True)
    if bad.any() and (strict or bad.mean() > 0.5):
        raise DataError(
            f"'{theirs}' is {raw[bad].iloc[0]!r} in {first_row(table, bad)}, which is no ISO 8601 "
            "time (such as 2024-05-01T09:00:00+02:00); correct it or drop the row."
        )
    return times, offset


def _clocks(table: pd.DataFrame, timezone: str | None, clock: str | None) -> pd.DataFrame:
    """Starts and ends by local clocks: of the zone that is named, of the place, or of their own."""
    start, ahead = _moments(table, "started_at", clock or timezone, strict=True)
    end, _ = _moments(table, "finished_at", clock or timezone, strict=True, after=start)
    if "utc_offset" in table.columns:
        ahead = pd.to_numeric(table.utc_offset, errors="coerce").astype(float)
    table = table.drop(columns="utc_offset", errors="ignore")
    table = _like(table, table.assign(started_at=start, finished_at=end))
    if timezone is not None:
        return _like(table, _in_zone(table, timezone))
    written = None if ahead is None or not ahead.any() else ahead
    return _like(table, by_local_clocks(table, written))


def by_local_clocks(table: pd.DataFrame, ahead: pd.Series | None = None) -> pd.DataFrame:
    """Visits in UTC by the clocks of their places, or of the offsets (minutes) that they came with.

    In one zone, times are in it; in several, they stay in UTC and ``utc_offset`` says how many
    minutes each visit's clocks are ahead.
    """
    zones = zones_at(table.lon, table.lat) if "lon" in table.columns else pd.Series(dtype=str)
    found = zones.dropna().unique()
    there = pd.Series(0.0, index=table.index)
    for zone, rows in zones.groupby(zones).groups.items():
        at = table.started_at[rows]
        local = at.dt.tz_convert(zone).dt.tz_localize(None)
        there[rows] = (local - at.dt.tz_localize(None)).dt.total_seconds() / 60
    if ahead is None and len(found):
        some = f"{found[0]}, {found[1]}{', …' if len(found) > 2 else ''}" if found[1:] else found[0]
        note(f"the times are in UTC; by the coordinates, local clocks are those of {some}.")
        ahead = there
    if ahead is None:
        return table
    if len(found) == 1 and (ahead == there).all():
        return _in_zone(table, str(found[0]))
    if ahead.nunique() == 1:
        return _in_zone(table, datetime.timezone(datetime.timedelta(minutes=ahead.iloc[0])))
    return table.assign(utc_offset=ahead.astype("int64"))


def _in_zone(table: pd.DataFrame, zone: Any) -> pd.DataFrame:
    return table.assign(**{name: table[name].dt.tz_convert(zone) for name in TIMES})


def zones_at(lon: pd.Series, lat: pd.Series) -> pd.Series:
    """The time zone of each position, by name, to about a kilometre.

    >>> zones_at(pd.Series([16.37]), pd.Series([48.21])).tolist()
    ['Europe/Vienna']
    """
    from timezonefinder import TimezoneFinder

    at = pd.DataFrame({"lon": pd.to_numeric(lon, errors="coerce").round(2),
                       "lat": pd.to_numeric(lat, errors="coerce").round(2)})  # fmt: skip
    known = at[(at.lon.abs() <= 180) & (at.lat.abs() <= 90)].drop_duplicates()
    finder = TimezoneFinder()
    zone = [finder.timezone_at(lng=x, lat=y) for x, y in known.to_numpy(dtype=float)]
    found = at.merge(known.assign(zone=zone), on=["lon", "lat"], how="left")
    return found.zone.set_axis(at.index)
