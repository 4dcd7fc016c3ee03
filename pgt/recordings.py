"""Recordings and exports: GPX, GeoLife, Google Timeline, OwnTracks, in files, folders and archives.

Every reader here makes a table with our names of what one file holds; `pgt.datasets` gathers them.
Files are never unpacked to disk, and an archive whose members lead elsewhere is refused whole.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

import gpxpy
import gpxpy.gpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from pgt.errors import DataError

# What is packed may unpack to 256 MiB, or to 100 times its size; all of an archive to 64 GiB.
UNPACKED, TIMES_PACKED, WHOLE = 256 * 2**20, 100, 64 * 2**30
# Elements within elements: GPX needs five. What nests without end would end the process.
DEEPEST = 100
# A flipped bit can break a reader anywhere; whatever it raises, the file is what is wrong.
UNREADABLE: tuple[type[Exception], ...] = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, pa.ArrowException,
    zipfile.BadZipFile, zlib.error, expat.ExpatError, gpxpy.gpx.GPXException,
)  # fmt: skip

# Endings, in the order in which the kinds of a folder are preferred: one kind is read.
KINDS = {
    "plt": "GeoLife", "gpx": "GPX", "rec": "OwnTracks", "json": "JSON", "parquet": "Parquet",
    "pq": "Parquet", "csv": "table", "tsv": "table", "txt": "text",
}  # fmt: skip
# What others have that we do not read: what it is, what GPSBabel calls it, or what to do.
FOREIGN = {
    "fit": ("a FIT file", "garmin_fit"), "tcx": ("TCX", "gtrnctr"), "kml": ("KML", "kml"),
    "kmz": ("KMZ, a zip of KML", "kml"), "geojson": ("GeoJSON", "geojson"),
    "nmea": ("NMEA", "nmea"),
}  # fmt: skip
MAGIC = (
    (b"\xfd7zXZ\x00", "packed with xz", "unpack it with xz -d"),
    (b"BZh", "packed with bzip2", "unpack it with bunzip2"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it with zstd -d"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save the sheet as CSV"),
    (b"SQLite format 3", "an SQLite data base (so is .gpkg)", "export the table as CSV"),
    (b"\x89HDF", "HDF5", "write the table as Parquet"),
    (b"ARROW1", "Arrow or Feather", "write the table as Parquet"),
    (b"<!doctype", "a page of the web", "download the file itself"),
    (b"<html", "a page of the web", "download the file itself"),
)


def reason(error: BaseException) -> str:
    """What an error says, in one line without a full stop."""
    text = " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
    return text.rstrip(". ")[:200]


# --- files of a path -------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """One file, on disk or in an archive: its name below the folder, and how to get its bytes."""

    name: str
    load: Callable[[], bytes]
    path: Path | None = None  # where it lies on disk, as it is

    @property
    def ending(self) -> str:
        """Of the name, in lower case, without that of gzip."""
        return PurePosixPath(self.name.lower().removesuffix(".gz")).suffix[1:]

    @property
    def stem(self) -> str:
        """The name without its endings."""
        name = PurePosixPath(self.name).name
        return PurePosixPath(re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)).stem

    def bytes(self) -> bytes:
        """The content, unpacked where it is packed with gzip."""
        try:
            data = self.load()
            if not data.startswith(b"\x1f\x8b"):
                return data
            most = max(UNPACKED, TIMES_PACKED * len(data))
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(most + 1)
        except UNREADABLE as error:
            raise DataError(
                f"{self.name} cannot be read ({reason(error)}); copy or download it again."
            ) from error
        if len(data) > most:
            raise DataError(
                f"{self.name} would unpack to more than {most / 2**20:,.0f} MiB; if you trust it, "
                "unpack it with gunzip and give what comes out."
            )
        return data


def files_of(path: Path) -> list[File]:
    """The files at a path: itself, or those of the folder or archive, without hidden ones."""
    if path.is_dir():
        below = (file for file in sorted(path.rglob("*")) if file.is_file())
        return [
            File(name.as_posix(), file.read_bytes, file)
            for file in below if not _hidden(name := file.relative_to(path))
        ]  # fmt: skip
    with open(path, "rb") as handle:
        start = handle.read(4)
    if start == b"PK\x03\x04":
        return list(_members(path))
    return [File(path.name, path.read_bytes, path)]


def _hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "_", "~$")) for part in name.parts)


def _members(path: Path) -> Iterator[File]:
    """Files in an archive, or a refusal of the whole archive: one bad member is enough."""
    try:
        archive = zipfile.ZipFile(path)
        infos = archive.infolist()
    except UNREADABLE as error:
        raise DataError(
            f"{path.name} is no complete zip archive ({reason(error)}); download it again."
        ) from error
    if any(info.filename == "xl/workbook.xml" for info in infos):
        raise DataError(f"{path.name} is an Excel file; save the sheet as CSV.")
    names = set()
    for info in infos:
        # ``filename`` ends at a null byte and has the system's separators turned into slashes.
        name = info.orig_filename.replace("\\", "/")
        wrong = None
        if name.startswith("/") or name[1:2] == ":":
            wrong = "has an absolute path"
        elif ".." in name.split("/") or "\0" in name:
            wrong = "leads out of its folder"
        elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            wrong = "is a link or a device"
        elif info.flag_bits & 1:
            wrong = "is encrypted"
        elif info.file_size > max(UNPACKED, TIMES_PACKED * info.compress_size):
            wrong = f"would unpack to {info.file_size / 2**20:,.0f} MiB"
        elif name in names:
            wrong = "stands in it twice"
        if wrong:
            raise DataError(
                f"{path.name} is not safe to read: its member {info.orig_filename!r} {wrong}; get "
                "the archive again, or unpack it yourself and give the folder."
            )
        names.add(name)
    if sum(info.file_size for info in infos) > WHOLE:
        raise DataError(f"{path.name} would unpack to more than 64 GiB; unpack it yourself.")
    for info in sorted(infos, key=lambda info: info.filename):
        if not info.is_dir() and not _hidden(PurePosixPath(info.filename)):
            yield File(info.filename, lambda info=info: archive.read(info))  # type: ignore[misc]


def kind_of(file: File) -> str:
    """The kind of a single file by its content, or a sentence on what it is and what to do."""
    data = file.bytes() if file.ending != "parquet" else b"PAR1"
    start = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if not data.strip():
        raise DataError(f"{file.name} is empty; it needs a header line and rows.")
    if data.startswith(b"PAR1"):
        return "Parquet"
    plain = start.replace(b"\0", b"")  # of UTF-16
    roots = {b"<gpx": "gpx", b"<kml": "kml", b"<trainingcenterdatabase": "tcx"}
    ending = next((end for root, end in roots.items() if root in plain), file.ending)
    if data[8:12] == b".FIT":
        ending = "fit"
    if plain.startswith(b"$gp") or plain.startswith(b"$gn"):
        ending = "nmea"
    if start.startswith((b"{", b"[")) and ending not in ("geojson", "rec"):
        if b'"featurecollection"' not in data[:100_000].lower().replace(b" ", b""):
            return "JSON"
        ending = "geojson"
    if ending in FOREIGN:
        raise DataError(f"{file.name} is {foreign(ending)}")
    for magic, what, remedy in MAGIC:
        if start.startswith(magic.lower()):
            raise DataError(f"{file.name} is {what}, not a table; {remedy}.")
    if b"<?xml" in plain[:40] and ending != "gpx":
        raise DataError(f"{file.name} is XML and no GPX; export it as GPX or CSV.")
    if ending not in KINDS:
        return "table"
    return "table" if KINDS[ending] in ("text", "JSON", "Parquet") else KINDS[ending]


def foreign(ending: str) -> str:
    """What a kind of file is, and how it becomes GPX."""
    what, babel = FOREIGN[ending]
    out = f"gpsbabel -t -i {babel} -f FILE.{ending} -o gpx -F FILE.gpx"
    return f"{what}, which is not read; make GPX of it, for example with GPSBabel: {out}"


def chosen(files: list[File], name: str) -> tuple[str, list[File], str]:
    """The kind of a folder that is read, its files, and a sentence on those that are not.

    Of a Google export the visits are read, not the raw positions beside them.
    """
    if not files:
        raise DataError(f"{name} holds no files; give a folder with recordings or tables.")
    kinds = {KINDS[file.ending] for file in files if file.ending in KINDS}
    kind = next((kind for kind in dict.fromkeys(KINDS.values()) if kind in kinds), None)
    if kind is None:
        for ending in FOREIGN:
            if any(file.ending == ending for file in files):
                raise DataError(f"{name} holds {foreign(ending)}")
        raise DataError(
            f"{name} holds nothing that is read ({_counted(files)}); give GPX, GeoLife, a Google "
            "or OwnTracks export, or tables as .csv or .parquet."
        )
    mine = [file for file in files if KINDS.get(file.ending) == kind]
    if kind == "JSON":
        timeline = [file for file in mine if _is_timeline(file.name)]
        records = [file for file in mine if _is_records(file.name)]
        mine = timeline or records or mine
    rest = [file for file in files if file not in mine]
    return kind, mine, f"not read in {name}: {_counted(rest)}." if rest else ""


def _counted(files: list[File]) -> str:
    counts = Counter(f".{file.ending}" if file.ending else "without ending" for file in files)
    return ", ".join(f"{n} {ending}" for ending, n in counts.most_common())


def _is_timeline(name: str) -> bool:
    last = PurePosixPath(name).name.lower()
    monthly = re.fullmatch(r"\d{4}_[a-z]+\.json", last)
    return bool(monthly) or last in ("timeline.json", "location-history.json")


def _is_records(name: str) -> bool:
    return PurePosixPath(name).name.lower() in ("records.json", "location history.json")


# --- GPX -------------------------------------------------------------------------------------


def gpx(file: File) -> pd.DataFrame:
    """Track points; waypoints and routes are places somebody marked or planned."""
    text = _xml_text(file.bytes())
    _require_harmless(text)
    points = [
        point for track in gpxpy.parse(text).tracks for part in track.segments
        for point in part.points
    ]  # fmt: skip
    frame = pd.DataFrame(
        {
            "tracked_at": pd.to_datetime([point.time for point in points], utc=True),
            "lon": np.array([point.longitude for point in points], dtype=float),
            "lat": np.array([point.latitude for point in points], dtype=float),
            "hdop": np.array([point.horizontal_dilution for point in points], dtype=float),
        }
    )
    return frame.drop(columns="hdop") if frame.hdop.isna().all() else frame


def _xml_text(data: bytes) -> str:
    """XML as text, by its mark or by the encoding that it declares."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16")
    else:
        declared = re.match(rb"\s*<\?xml[^>]*encoding=[\"']([\w.-]+)", data)
        text = data.decode(declared[1].decode() if declared else "utf-8").lstrip("\ufeff")
    return re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1, flags=re.DOTALL)


def _require_harmless(text: str) -> None:
    """Refuse XML that nests too deep, or that has entities of its own."""
    depth = 0

    def begins(_name: str, _attributes: dict[str, Any]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"it has elements more than {DEEPEST} deep")

    def ends(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def declares(name: str, *_: Any) -> None:
        raise ValueError(f"it declares an entity '{name}', which no GPX needs")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begins, ends
    parser.EntityDeclHandler = declares
    parser.Parse(text, True)


# --- GeoLife ---------------------------------------------------------------------------------


def plt(file: File) -> pd.DataFrame:
    """A trajectory: six header lines, then latitude, longitude, 0, feet, days, date, time (UTC)."""
    data = file.bytes()
    if not data.startswith(b"Geolife trajectory"):
        raise ValueError("it does not begin with the line 'Geolife trajectory'")
    body = data.split(b"\n", 6)[6:]
    if not body or not body[0].strip():
        return pd.DataFrame({"tracked_at": [], "lon": [], "lat": []})
    table = pa.csv.read_csv(
        pa.BufferReader(body[0]),
        read_options=pa.csv.ReadOptions(
            column_names=["lat", "lon", "zero", "feet", "days", "date", "time"]
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types={"lat": "float64", "lon": "float64", "date": "string", "time": "string"},
            include_columns=["lat", "lon", "date", "time"],
        ),
    ).to_pandas()
    at = pd.to_datetime(table.date + "T" + table.time, format="ISO8601", utc=True, errors="coerce")
    return table[["lon", "lat"]].assign(tracked_at=at, trajectory=file.stem)


def plt_user(file: File) -> str:
    """Whose trajectory it is: the folder above ``Trajectory``."""
    above = PurePosixPath(file.name).parts[:-1]
    return above[-2] if len(above) > 1 and above[-1] == "Trajectory" else (above or [file.stem])[-1]


# --- OwnTracks -------------------------------------------------------------------------------


def owntracks(file: File) -> pd.DataFrame:
    """A recorder's .rec: a line a message, with JSON behind the last tab."""
    rows = []
    for line in file.bytes().decode().splitlines():
        try:
            said = json.loads(line.rpartition("\t")[2])
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("_type", "location") == "location" and "tst" in said:
            topic = str(said.get("topic", "")).split("/")
            user = topic[1] if len(topic) > 2 else None
            rows.append((user, said["tst"], said.get("lon"), said.get("lat"), said.get("acc")))
    frame = pd.DataFrame(rows, columns=["user_id", "tracked_at", "lon", "lat", "accuracy"])
    frame["tracked_at"] = pd.to_datetime(frame.tracked_at.astype(float), unit="s", utc=True)
    for name in ("lon", "lat", "accuracy"):
        frame[name] = frame[name].astype(float)
    return frame if frame.user_id.notna().all() else frame.drop(columns="user_id")


# --- Google Timeline, and JSON as a table ----------------------------------------------------

PAIR = re.compile(r"^(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)\s*°?")


def from_json(file: File) -> pd.DataFrame:
    """A Google export (visits, or positions of ``Records.json``), or a list of flat records."""
    text = file.bytes().decode("utf-8-sig")
    try:
        content = json.loads(text)
    except ValueError:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict) and isinstance(content.get("locations"), list):
        return _records(content["locations"])
    if isinstance(content, dict):
        for name in ("semanticSegments", "timelineObjects"):
            if isinstance(content.get(name), list):
                return _stays(content[name])
        raise ValueError(f"it holds {', '.join(map(repr, list(content)[:4])) or 'nothing'}, and is "
                         "neither a Google export nor a list of records")  # fmt: skip
    if not (isinstance(content, list) and all(isinstance(one, dict) for one in content)):
        raise ValueError("it is no list of records")
    if any({"visit", "activity", "timelinePath"} & one.keys() for one in content):
        return _stays(content)
    return pd.json_normalize(content)


def _records(rows: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame.from_records(rows)
    names = [name for name in ("timestamp", "timestampMs", "latitudeE7", "longitudeE7", "accuracy")
             if name in table.columns]  # fmt: skip
    table = table[names]
    if {"timestamp", "timestampMs"} <= {*names}:
        old = pd.to_datetime(table.timestampMs.astype(float), unit="ms", utc=True)
        table = table.assign(timestamp=table.timestamp.fillna(old.astype(str)))
        table = table.drop(columns="timestampMs")
    return table


def _stays(segments: list[dict[str, Any]]) -> pd.DataFrame:
    """Visits of an export: of stays within stays (a shop within a mall), the outer one."""
    rows: list[tuple[Any, ...]] = []
    for one in segments:
        if "placeVisit" in one:  # monthly, older
            visit, place = one["placeVisit"], one["placeVisit"].get("location", {})
            span = visit.get("duration", {})
            start, end = (
                span.get(f"{name}Timestamp") or _ms(span.get(f"{name}TimestampMs"))
                for name in ("start", "end")
            )
            lat, lon = (_e7(place.get(f"{name}E7", visit.get(f"center{name[:3].title()}E7")))
                        for name in ("latitude", "longitude"))  # fmt: skip
            name = place.get("placeId") or place.get("name")
        elif "visit" in one and str(one["visit"].get("hierarchyLevel", 0)) in ("0", "0.0"):
            place = one["visit"].get("topCandidate", {})
            start, end = one.get("startTime"), one.get("endTime")
            where = place.get("placeLocation", {})
            found = PAIR.match(str(where.get("latLng", "") if isinstance(where, dict) else where))
            lat, lon = map(float, found.groups()) if found else (np.nan, np.nan)
            name = place.get("placeId") or place.get("placeID")
        else:
            continue
        if not name and np.isfinite(lat):
            name = f"{lat:.4f},{lon:.4f}"
        rows.append((name or None, start, end, lon, lat))
    columns = ["location_id", "started_at", "finished_at", "lon", "lat"]
    table = pd.DataFrame(rows, columns=columns)
    known = table.lon.notna().all()
    return table if known else table.drop(columns=["lon", "lat"])


def _ms(value: Any) -> str | None:
    return None if value is None else pd.Timestamp(int(value), unit="ms", tz="UTC").isoformat()


def _e7(value: Any) -> float:
    return np.nan if value is None else float(value) / 1e7


# --- whose files they are --------------------------------------------------------------------


def owners(files: list[File], folder: str) -> tuple[list[str], str]:
    """The person of each file of a folder that does not say whose it is, and a sentence.

    A sub-folder is a person; a file right in the folder is one, too, unless the names differ in
    their digits alone, as dates do: those are one person's days.
    """
    parts = [PurePosixPath(file.name).parts for file in files]
    while len({part[0] for part in parts}) == 1 and all(len(part) > 1 for part in parts):
        folder, parts = parts[0][0], [part[1:] for part in parts]
    flat = [file.stem for file, part in zip(files, parts, strict=True) if len(part) == 1]
    days = len(flat) > 1 and _are_days(flat)
    people = [
        part[0] if len(part) > 1 else folder if days else file.stem
        for file, part in zip(files, parts, strict=True)
    ]
    if not days:
        return people, ""
    return people, (
        f"the {len(flat)} files of {folder} ({flat[0]}, …) look like one person's days and are "
        "read as such; if they are several people's, put each one's files into a folder."
    )


def _are_days(names: list[str]) -> bool:
    """Whether names differ in their digits alone, as dates and numbers of recordings do.

    >>> _are_days(["2024-05-01", "2024-05-02"]), _are_days(["person 1", "person 2"])
    (True, False)
    """
    shapes = {re.sub(r"\d+", "#", name) for name in names}
    return len(shapes) == 1 and all(len(re.sub(r"\D", "", name)) >= 8 for name in names)


def one_after_another(frames: list[pd.DataFrame]) -> bool:
    """Whether five or more recordings hardly overlap in time, as those of one person do."""
    spans = [(f.tracked_at.min(), f.tracked_at.max()) for f in frames if f.tracked_at.notna().any()]
    if len(spans) < 5:
        return False
    starts, ends = (np.array([t.value for t in side]) for side in zip(*sorted(spans), strict=True))
    after = starts[1:] < np.maximum.accumulate(ends)[:-1]
    return bool((np.r_[False, after] | np.r_[after, False]).mean() <= 0.2)
