"""Recordings and exports, in files and folders."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow as pa

from pgt.errors import DataError, note

# A flipped bit can break a reader anywhere; whatever it raises, the file is what is wrong.
UNREADABLE: tuple[type[Exception], ...] = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, pa.ArrowException,
)  # fmt: skip
# Endings, in the order in which the kinds of a folder are preferred: one kind is read.
KINDS = {
    "plt": "GeoLife", "gpx": "GPX", "json": "JSON", "parquet": "Parquet", "csv": "table",
    "tsv": "table", "txt": "text",
}  # fmt: skip
# What is not read, and what GPSBabel, which makes GPX of it, calls it.
FOREIGN = {"fit": "garmin_fit", "tcx": "gtrnctr", "kml": "kml", "kmz": "kml", "geojson": "geojson",
           "nmea": "nmea"}  # fmt: skip
ROOTS = {b"<gpx": "gpx", b'"featurecollection"': "geojson"}
MAGIC = (
    (b"pk\3\4", "a zip archive (so is .xlsx)", "unpack it, or save the sheet as CSV"),
    (b"\x1f\x8b", "packed with gzip", "unpack it with gunzip"),
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


def kind_of(file: Path) -> str:
    """The kind of a single file by its content, or a sentence on what it is and what to do."""
    with file.open("rb") as handle:
        start = handle.read(4096).replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        raise DataError(f"{file.name} is empty; it needs a header line and rows.")
    if start.startswith(b"par1"):
        return "Parquet"
    ending = next((end for root, end in ROOTS.items() if root in start), _ending(file))
    if ending in FOREIGN:
        raise DataError(f"{file.name} is {foreign(ending)}")
    if ending in ("gpx", "plt"):
        return KINDS[ending]
    for magic, what, remedy in MAGIC:
        if start.startswith(magic):
            raise DataError(f"{file.name} is {what}, not a table; {remedy}.")
    return "JSON" if start.startswith((b"{", b"[")) else "table"


def _ending(file: Path) -> str:
    return file.suffix[1:].lower()


def foreign(ending: str) -> str:
    """What a kind of file is, and how it becomes GPX."""
    return (
        f"{ending.upper()}, which is not read; make GPX of it, for example with GPSBabel: "
        f"gpsbabel -t -i {FOREIGN[ending]} -f FILE.{ending} -o gpx -F FILE.gpx"
    )


def chosen(folder: Path) -> tuple[str, list[Path]]:
    """The kind of a folder that is read, and its files; others are counted in a note."""
    hidden = re.compile(r"(^|/)(\.|_|~\$)")
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()
             and not hidden.search(file.relative_to(folder).as_posix())]  # fmt: skip
    kinds = {KINDS.get(_ending(file)) for file in files}
    kind = next((kind for kind in KINDS.values() if kind in kinds), "")
    mine = [file for file in files if KINDS.get(_ending(file)) == kind]
    if kind == "JSON":  # of a Google export the visits, not the raw positions beside them
        wanted = r"\d{4}_[a-z]+|timeline|location-history", r"records|location history", r".*"
        named = ([file for file in mine if re.fullmatch(one, file.stem.lower())] for one in wanted)
        mine = next(filter(None, named))
    if not mine:
        for file in files:
            if (ending := _ending(file)) in FOREIGN:
                raise DataError(f"{folder.name} holds {foreign(ending)}")
        raise DataError(
            f"{folder.name} holds nothing that is read ({_counted(files) or 'no files'}); give GPX,"
            " GeoLife, a Google export, or tables as .csv or .parquet."
        )
    if rest := [file for file in files if file not in mine]:
        note(f"not read in {folder.name}: {_counted(rest)}.")
    return kind, mine


def _counted(files: list[Path]) -> str:
    counts = Counter(file.suffix.lower() or "without ending" for file in files)
    return ", ".join(f"{n} {ending}" for ending, n in counts.most_common())


def gpx(file: Path) -> pd.DataFrame:
    """Track points; waypoints and routes are places somebody marked or planned."""
    data = file.read_bytes()
    if b"<!ENTITY" in data.replace(b"\0", b""):
        raise ValueError("it declares an entity, which no GPX needs")
    rows = [(p.findtext("{*}time"), p.get("lon"), p.get("lat"))
            for p in ElementTree.fromstring(data).iterfind(".//{*}trkpt")]  # fmt: skip
    table = pd.DataFrame(rows, columns=["tracked_at", "lon", "lat"])
    table["tracked_at"] = pd.to_datetime(table.tracked_at, format="ISO8601", utc=True)
    return table.astype({"lon": float, "lat": float}).dropna(axis=1, how="all")


def plt(file: Path) -> pd.DataFrame:
    """A trajectory: six header lines, then latitude, longitude, 0, feet, days, date, time (UTC)."""
    if not file.read_bytes().startswith(b"Geolife trajectory"):
        raise ValueError("it does not begin with the line 'Geolife trajectory'")
    names = ["lat", "lon", "zero", "feet", "days", "date", "time"]
    table = pd.read_csv(file, skiprows=6, names=names, dtype=dict.fromkeys(names[5:], "str"))
    at = pd.to_datetime(table.date + "T" + table.time, format="ISO8601", utc=True, errors="coerce")
    return table[["lon", "lat"]].assign(tracked_at=at)


PAIR = r"(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)"  # latitude, longitude


def from_json(file: Path) -> pd.DataFrame:
    """A Google export (visits, or positions of ``Records.json``), or a list of flat records."""
    text = file.read_text(encoding="utf-8-sig")
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
            start, end = (span.get(f"{edge}Timestamp") for edge in ("start", "end"))
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


def owners(files: list[Path], source: Path, kind: str) -> list[Any]:
    """Whose each file of a folder is, with a note: a sub-folder's, or, but for days, its own."""
    folder = source.stem
    if kind == "GeoLife":
        above = (file.parents[file.parent.name == "Trajectory"] for file in files)
        names = [user.name for user in above]
        return [*map(int, names)] if all(map(str.isdecimal, names)) else names
    if kind == "JSON":
        return [folder] * len(files)
    parts = [file.relative_to(source if source.is_dir() else source.parent).parts for file in files]
    while len({part[0] for part in parts}) == 1 and all(len(part) > 1 for part in parts):
        folder, parts = parts[0][0], [part[1:] for part in parts]
    flat = [file.stem for file, part in zip(files, parts, strict=True) if len(part) == 1]
    shapes = {re.sub(r"\d+", "#", name) if sum(map(str.isdigit, name)) >= 8 else name
              for name in flat}  # fmt: skip
    days = len(flat) > 1 and len(shapes) == 1
    people = [part[0] if len(part) > 1 else folder if days else file.stem
              for file, part in zip(files, parts, strict=True)]  # fmt: skip
    if len(flat) > 1:
        many = "one person's" if days else f"those of {len(set(people))} people"
        note(f"the files of {folder} are read as {many}; else say person='me' (--person me), or "
             "put each person's files into a folder.")  # fmt: skip
    return people
