"""Recordings and exports, in files, folders and archives; nothing is unpacked to disk."""

from __future__ import annotations

import gzip
import io
import json
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import gpxpy
import gpxpy.gpx
import numpy as np
import pandas as pd
import pyarrow as pa

from pgt.errors import DataError
from pgt.readers.columns import PAIR

# What is packed may unpack to 256 MiB, or to 100 times its size; all of an archive to 64 GiB.
UNPACKED, TIMES_PACKED, LARGEST_ARCHIVE = 256 * 2**20, 100, 64 * 2**30
# A flipped bit can break a reader anywhere; whatever it raises, the file is what is wrong.
UNREADABLE: tuple[type[Exception], ...] = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, pa.ArrowException,
    zipfile.BadZipFile, zlib.error, gpxpy.gpx.GPXException,
)  # fmt: skip
# Endings, in the order in which the kinds of a folder are preferred: one kind is read.
KINDS = {
    "plt": "GeoLife", "gpx": "GPX", "rec": "OwnTracks", "json": "JSON", "parquet": "Parquet",
    "csv": "table", "tsv": "table", "txt": "text",
}  # fmt: skip
# What is not read, and what GPSBabel, which makes GPX of it, calls it.
FOREIGN = {"fit": "garmin_fit", "tcx": "gtrnctr", "kml": "kml", "kmz": "kml", "geojson": "geojson",
           "nmea": "nmea"}  # fmt: skip
ROOTS = {b"<gpx": "gpx", b"<kml": "kml", b"<trainingcenterdatabase": "tcx",
         b'"featurecollection"': "geojson", b"$gpgga": "nmea", b"$gprmc": "nmea"}  # fmt: skip
MAGIC = (
    (b"\xfd7zxz", "packed with xz", "unpack it with xz -d"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save the sheet as CSV"),
    (b"sqlite format 3", "an SQLite data base (so is .gpkg)", "export the table as CSV"),
    (b"<!doctype", "a page of the web", "download the file itself"),
    (b"<html", "a page of the web", "download the file itself"),
    (b"<?xml", "XML and no GPX", "export it as GPX or CSV"),
)


def reason(error: BaseException) -> str:
    """What an error says, in one line without a full stop."""
    text = " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
    return text.rstrip(". ")[:200]


@dataclass(frozen=True)
class File:
    """One file, on disk or in an archive: its name below the folder, and how to get its bytes."""

    name: str
    load: Callable[[], bytes]

    @property
    def ending(self) -> str:
        """Of the name, in lower case, without that of gzip."""
        return PurePosixPath(self.name.lower().removesuffix(".gz")).suffix[1:]

    @property
    def stem(self) -> str:
        """The name without its folder and endings."""
        return re.sub(r"\.\w+(\.gz)?$", "", PurePosixPath(self.name).name, flags=re.IGNORECASE)

    def bytes(self) -> bytes:
        """The content, unpacked where it is packed with gzip."""
        try:
            data = self.load()
            most = max(UNPACKED, TIMES_PACKED * len(data))
            if data.startswith(b"\x1f\x8b"):
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
        found = [File(file.relative_to(path).as_posix(), file.read_bytes)
                 for file in sorted(path.rglob("*")) if file.is_file()]  # fmt: skip
    else:
        with path.open("rb") as handle:
            if handle.read(4) != b"PK\x03\x04":
                return [File(path.name, path.read_bytes)]
        found = _members(path)
    hidden = re.compile(r"(^|/)(\.|_|~\$)")
    return [file for file in found if not hidden.search(file.name)]


def _members(path: Path) -> list[File]:
    """Files in an archive, or a refusal of the whole archive: one bad member is enough."""
    try:
        archive = zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise DataError(
            f"{path.name} is no complete zip archive ({reason(error)}); download it again."
        ) from error
    infos = sorted(archive.infolist(), key=lambda info: info.filename)
    if "xl/workbook.xml" in archive.namelist():
        raise DataError(f"{path.name} is an Excel file; save the sheet as CSV.")
    for info in infos:
        # ``filename`` ends at a null byte and has the system's separators turned into slashes.
        name = info.orig_filename.replace("\\", "/")
        wrong = {
            "has an absolute path": name.startswith("/") or name[1:2] == ":",
            "leads out of its folder": ".." in name.split("/") or "\0" in name,
            "is a link or a device":
                stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR),
            f"would unpack to {info.file_size / 2**20:,.0f} MiB":
                info.file_size > max(UNPACKED, TIMES_PACKED * info.compress_size),
        }  # fmt: skip
        for what in (what for what, is_so in wrong.items() if is_so):
            raise DataError(
                f"{path.name} is not safe to read: its member {info.orig_filename!r} {what}; get "
                "the archive again, or unpack it yourself and give the folder."
            )
    if sum(info.file_size for info in infos) > LARGEST_ARCHIVE:
        raise DataError(f"{path.name} would unpack to more than 64 GiB; unpack it yourself.")
    return [File(info.filename, partial(archive.read, info)) for info in infos if not info.is_dir()]


def kind_of(file: File) -> str:
    """The kind of a single file by its content, or a sentence on what it is and what to do."""
    data = file.bytes()
    start = data[:4096].replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        raise DataError(f"{file.name} is empty; it needs a header line and rows.")
    if start.startswith(b"par1"):
        return "Parquet"
    ending = next((end for root, end in ROOTS.items() if root in start), file.ending)
    ending = "fit" if data[8:12] == b".FIT" else ending
    if ending in FOREIGN:
        raise DataError(f"{file.name} is {foreign(ending)}")
    if ending in ("gpx", "plt", "rec"):
        return KINDS[ending]
    for magic, what, remedy in MAGIC:
        if start.startswith(magic):
            raise DataError(f"{file.name} is {what}, not a table; {remedy}.")
    return "JSON" if start.startswith((b"{", b"[")) else "table"


def foreign(ending: str) -> str:
    """What a kind of file is, and how it becomes GPX."""
    return (
        f"{ending.upper()}, which is not read; make GPX of it, for example with GPSBabel: "
        f"gpsbabel -t -i {FOREIGN[ending]} -f FILE.{ending} -o gpx -F FILE.gpx"
    )


def chosen(files: list[File], name: str) -> tuple[str, list[File], str]:
    """The kind of a folder that is read, its files, and a sentence on those that are not."""
    kinds = {KINDS.get(file.ending) for file in files}
    kind = next((kind for kind in KINDS.values() if kind in kinds), "")
    mine = [file for file in files if KINDS.get(file.ending) == kind]
    if kind == "JSON":  # of a Google export the visits, not the raw positions beside them
        wanted = r"\d{4}_[a-z]+|timeline|location-history", r"records|location history", r".*"
        named = ([file for file in mine if re.fullmatch(one, file.stem.lower())] for one in wanted)
        mine = next(filter(None, named))
    if not mine:
        for file in files:
            if file.ending in FOREIGN:
                raise DataError(f"{name} holds {foreign(file.ending)}")
        raise DataError(
            f"{name} holds nothing that is read ({_counted(files) or 'no files'}); give GPX, "
            "GeoLife, a Google or OwnTracks export, or tables as .csv or .parquet."
        )
    rest = [file for file in files if file not in mine]
    return kind, mine, f"not read in {name}: {_counted(rest)}." if rest else ""


def _counted(files: list[File]) -> str:
    counts = Counter(f".{file.ending}" if file.ending else "without ending" for file in files)
    return ", ".join(f"{n} {ending}" for ending, n in counts.most_common())


def gpx(file: File) -> pd.DataFrame:
    """Track points; waypoints and routes are places somebody marked or planned."""
    data = file.bytes()
    declared = re.match(rb"[^<]*<\?xml[^>]*encoding=[\"']([\w.-]+)", data)
    mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data.decode("utf-16" if mark else declared[1].decode() if declared else "utf-8")
    if "<!ENTITY" in text:
        raise ValueError("it declares an entity, which no GPX needs")
    # The library copies extensions by recursion, which what nests without end would end.
    text = re.sub(r"<(\w+:)?extensions\b.*?</(\w+:)?extensions\s*>", "", text, flags=re.DOTALL)
    content = gpxpy.parse(re.sub(r"^[^<]*<\?xml.*?\?>", "", text, count=1, flags=re.DOTALL))
    points = [point for track in content.tracks for part in track.segments for point in part.points]
    rows = [(p.time, p.longitude, p.latitude, p.horizontal_dilution) for p in points]
    table = pd.DataFrame(rows, columns=["tracked_at", "lon", "lat", "hdop"])
    table["tracked_at"] = pd.to_datetime(table.tracked_at, utc=True)
    return table.dropna(axis=1, how="all")


def plt(file: File) -> pd.DataFrame:
    """A trajectory: six header lines, then latitude, longitude, 0, feet, days, date, time (UTC)."""
    data = file.bytes()
    if not data.startswith(b"Geolife trajectory"):
        raise ValueError("it does not begin with the line 'Geolife trajectory'")
    names = ["lat", "lon", "zero", "feet", "days", "date", "time"]
    table = pd.read_csv(
        io.BytesIO(data), skiprows=6, names=names, dtype=dict.fromkeys(names[5:], "str")
    )
    at = pd.to_datetime(table.date + "T" + table.time, format="ISO8601", utc=True, errors="coerce")
    return table[["lon", "lat"]].assign(tracked_at=at)


def owntracks(file: File) -> pd.DataFrame:
    """A recorder's .rec: a line a message, with JSON behind the last tab."""
    rows = []
    for line in file.bytes().decode().splitlines():
        said = json.loads(line.rpartition("\t")[2]) if line.endswith("}") else {}
        if "tst" in said and "lat" in said:
            user = [*str(said.get("topic", "")).split("/"), None, None][1]
            rows.append((user, said["tst"], said.get("lon"), said["lat"], said.get("acc")))
    frame = pd.DataFrame(rows, columns=["user_id", "tracked_at", "lon", "lat", "accuracy"])
    return frame if frame.user_id.notna().all() else frame.drop(columns="user_id")


def from_json(file: File) -> pd.DataFrame:
    """A Google export (visits, or positions of ``Records.json``), or a list of flat records."""
    text = file.bytes().decode("utf-8-sig")
    try:
        content = json.loads(text)
    except ValueError:  # a record a line
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict):
        for name in ("semanticSegments", "timelineObjects", "locations"):
            content = content.get(name, content) if isinstance(content, dict) else content
    if not (isinstance(content, list) and all(isinstance(one, dict) for one in content)):
        raise ValueError("it is neither a Google export nor a list of records")
    if any({"visit", "activity", "timelinePath", "placeVisit"} & one.keys() for one in content):
        return _stays(content)
    return pd.DataFrame(content)


def _stays(segments: list[dict[str, Any]]) -> pd.DataFrame:
    """Visits of an export; of stays within stays (a shop within a mall), the outer one."""
    rows: list[tuple[Any, ...]] = []
    for one in segments:
        if "placeVisit" in one:  # monthly, older
            place, span = (one["placeVisit"].get(name, {}) for name in ("location", "duration"))
            ms = [span.get(f"{edge}TimestampMs") for edge in ("start", "end")]
            start, end = (span.get(f"{edge}Timestamp") for edge in ("start", "end"))
            if start is None and None not in ms:
                start, end = (pd.Timestamp(int(n), unit="ms", tz="UTC").isoformat() for n in ms)
            lat, lon = (place.get(f"{name}E7", np.nan) / 1e7 for name in ("latitude", "longitude"))
        elif "visit" in one and str(one["visit"].get("hierarchyLevel", 0)) == "0":
            place = one["visit"].get("topCandidate", {})
            start, end = one.get("startTime"), one.get("endTime")
            where = place.get("placeLocation", "")
            found = re.match(PAIR, where.get("latLng", "") if isinstance(where, dict) else where)
            lat, lon = map(float, found.groups()) if found else (np.nan, np.nan)
        else:
            continue
        name = place.get("placeId") or place.get("placeID") or place.get("name")
        there = f"{lat:.4f},{lon:.4f}" if np.isfinite(lat) else None
        rows.append((name or there, start, end, lon, lat))
    table = pd.DataFrame(rows, columns=["location_id", "started_at", "finished_at", "lon", "lat"])
    return table.drop(columns=["lon", "lat"]) if table.lon.isna().any() else table


def owners(files: list[File], folder: str, kind: str) -> tuple[list[Any], str]:
    """Whose each file of a folder is, and a sentence: a sub-folder's, or, but for days, its own."""
    parts = [PurePosixPath(file.name).parts for file in files]
    if kind == "GeoLife":
        names = [([*part[:-1]] or [file.stem])[-1 if part[-2:-1] != ("Trajectory",) else -2]
                 for part, file in zip(parts, files, strict=True)]  # fmt: skip
        return [*map(int, names)] if all(map(str.isdecimal, names)) else names, ""
    if kind == "JSON":
        return [folder] * len(files), ""
    while len({part[0] for part in parts}) == 1 and all(len(part) > 1 for part in parts):
        folder, parts = parts[0][0], [part[1:] for part in parts]
    flat = [file.stem for file, part in zip(files, parts, strict=True) if len(part) == 1]
    shapes = {re.sub(r"\d+", "#", name) if sum(map(str.isdigit, name)) >= 8 else name
              for name in flat}  # fmt: skip
    days = len(flat) > 1 and len(shapes) == 1
    people = [part[0] if len(part) > 1 else folder if days else file.stem
              for file, part in zip(files, parts, strict=True)]  # fmt: skip
    if days:
        return people, (
            f"the {len(flat)} files of {folder} ({flat[0]}, …) look like one person's days and are "
            "read as such; if they are several people's, put each one's files into a folder."
        )
    return people, "" if len(flat) < 2 else (
        f"the files of {folder} are read as {len(set(people))} people; if they are one person's, "
        "say person='me' (--person me)."
    )
