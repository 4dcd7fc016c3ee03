"""Recordings and exports, in files, folders and archives; nothing is unpacked to disk."""

from __future__ import annotations

import gzip
import io
import json
import re
import stat
import tarfile
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pgt.errors import DataError, note
from pgt.readers.columns import ALIASES, PAIR, inner_name, plain_name, recognized, table_of

# What is packed may unpack to 256 MiB, or to 100 times its size; all of an archive to 64 GiB.
UNPACKED, TIMES_PACKED, LARGEST_ARCHIVE = 256 * 2**20, 100, 64 * 2**30
# A flipped bit can break a reader anywhere; whatever it raises, the file is what is wrong.
UNREADABLE: tuple[type[Exception], ...] = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, pa.ArrowException,
    zipfile.BadZipFile, zlib.error, tarfile.TarError,
)  # fmt: skip
# Endings, in the order in which the kinds of a folder are preferred: one kind is read.
KINDS = {
    "plt": "GeoLife", "gpx": "GPX", "rec": "OwnTracks", "json": "JSON", "geojson": "JSON",
    "jsonl": "JSON", "ndjson": "JSON",
    "parquet": "Parquet", "geoparquet": "Parquet", "csv": "table", "tsv": "table", "txt": "text",
}  # fmt: skip
# What is not read, and what to do instead.
RIDES = "export the activity as GPX where it is kept (Garmin Connect, Strava: Export GPX)"
FOREIGN = {
    "fit": RIDES, "tcx": RIDES, "nmea": "save the log as GPX or CSV",
    "kml": "export it as GPX, GeoJSON or CSV where it comes from (most KML has no times)",
    "kmz": "export it as GPX, GeoJSON or CSV where it comes from (most KML has no times)",
}  # fmt: skip
ROOTS = {b"<gpx": "gpx", b"<kml": "kml", b"<trainingcenterdatabase": "tcx", b"$gpgga": "nmea",
         b"$gprmc": "nmea"}  # fmt: skip
KNOWN = {name: ours for ours, tiers in ALIASES.items() for names in tiers for name in names.split()}
TAKEOUT = (
    "settings of Google's Timeline and no visits: Takeout has held none since 2024, they are on "
    "the phone; export them there (Android: Settings, Location, Timeline, Export Timeline data; "
    "iPhone: Google Maps, Settings, Personal content, Export Timeline data)"
)
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
        files = [File(file.relative_to(path).as_posix(), file.read_bytes)
                 for file in sorted(path.rglob("*")) if file.is_file()]  # fmt: skip
    else:
        with path.open("rb") as handle:
            start = handle.read(262)
        packed = start[:2] == b"\x1f\x8b" and re.search(r"(?i)\.(tgz|tar\.gz)$", path.name)
        if start[:4] == b"PK\x03\x04":
            files = _members(path, "zip")
        elif packed or start[257:] == b"ustar":
            files = _members(path, "tar")
        else:
            return [File(path.name, path.read_bytes)]
    hidden = re.compile(r"(^|/)(\.|_|~\$)")
    return [file for file in files if not hidden.search(file.name)]


@dataclass(frozen=True)
class Member:
    """A file in an archive."""

    name: str
    size: int
    packed: int
    plain: bool  # neither a link nor a device
    load: Callable[[], bytes]


def _zip(path: Path) -> tuple[list[Member], int]:
    archive = zipfile.ZipFile(path)
    kinds = (0, stat.S_IFREG, stat.S_IFDIR)
    # ``filename`` ends at a null byte and has the system's separators turned into slashes.
    return [Member(info.orig_filename, info.file_size, info.compress_size,
                   stat.S_IFMT(info.external_attr >> 16) in kinds, partial(archive.read, info))
            for info in archive.infolist()], LARGEST_ARCHIVE  # fmt: skip


def _tar(path: Path) -> tuple[list[Member], int]:
    most, size, members = max(UNPACKED, TIMES_PACKED * path.stat().st_size), 0, []
    archive = tarfile.open(path)  # noqa: SIM115 (members are read later)
    for info in archive:
        load = partial(lambda info: archive.extractfile(info).read(), info)  # type: ignore[union-attr]
        name = info.name + "/" * info.isdir()
        members.append(Member(name, info.size, 0, info.isfile() or info.isdir(), load))
        size += info.size
        if size > most:  # what follows would be unpacked to find the next member
            break
    return members, most


def _members(path: Path, kind: str) -> list[File]:
    """Files in an archive, or a refusal of the whole archive: one bad member is enough."""
    try:
        members, most = {"zip": _zip, "tar": _tar}[kind](path)
    except UNREADABLE as error:
        raise DataError(
            f"{path.name} is no complete {kind} archive ({reason(error)}); download it again."
        ) from error
    if any(member.name == "xl/workbook.xml" for member in members):
        raise DataError(f"{path.name} is an Excel file; save the sheet as CSV.")
    if sum(member.size for member in members) > most:
        raise DataError(
            f"{path.name} would unpack to more than {most / 2**20:,.0f} MiB; unpack it yourself "
            "and give the folder."
        )
    for member in sorted(members, key=lambda member: member.name):
        name = member.name.replace("\\", "/")
        wrong = {
            "has an absolute path": name.startswith("/") or name[1:2] == ":",
            "leads out of its folder": ".." in name.split("/") or "\0" in name,
            "is a link or a device": not member.plain,
            f"would unpack to {member.size / 2**20:,.0f} MiB":
                member.size > max(UNPACKED, TIMES_PACKED * member.packed),
        }  # fmt: skip
        for what in (what for what, is_so in wrong.items() if is_so):
            raise DataError(
                f"{path.name} is not safe to read: its member {member.name!r} {what}; get "
                "the archive again, or unpack it yourself and give the folder."
            )
    files = [File(member.name.replace("\\", "/"), member.load) for member in members]
    return [file for file in sorted(files, key=lambda file: file.name)
            if not file.name.endswith("/")]  # fmt: skip


def kind_of(file: File, data: bytes) -> str:
    """The kind of a single file by its content, or a sentence on what it is and what to do."""
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
    """What a kind of file is, and what to do instead."""
    return f"{ending.upper()}, which is not read; {FOREIGN[ending]}."


def chosen(files: list[File], name: str) -> tuple[str, list[File], str]:
    """The kind of a folder that is read, its files, and a sentence on those that are not."""
    kinds = {KINDS.get(file.ending) for file in files}
    kind = next((kind for kind in KINDS.values() if kind in kinds), "")
    mine = [file for file in files if KINDS.get(file.ending) == kind]
    if kind == "JSON":  # of a Google export the visits, not the raw positions beside them
        if any(file.stem == "Timeline Edits" for file in mine):
            raise DataError(f"{name} holds {TAKEOUT}.")
        wanted = r"\d{4}_[a-z]+|.*(timeline|location-history).*", r"records|location history", r".*"
        named = (
            [file for file in mine if re.fullmatch(pattern, file.stem.lower())]
            for pattern in wanted
        )
        mine = next(filter(None, named))
    if not mine:
        for file in files:
            if file.ending in FOREIGN:
                raise DataError(f"{name} holds {foreign(file.ending)}")
        raise DataError(
            f"{name} holds nothing that is read ({_counted(files) or 'no files'}); give GPX, "
            "GeoLife, GeoJSON, a Google or OwnTracks export, or tables as .csv or .parquet."
        )
    rest = [file for file in files if file not in mine]
    return kind, mine, f"not read in {name}: {_counted(rest)}." if rest else ""


def _counted(files: list[File]) -> str:
    counts = Counter(f".{file.ending}" if file.ending else "without ending" for file in files)
    return ", ".join(f"{n} {ending}" for ending, n in counts.most_common())


@dataclass(frozen=True)
class Recording:
    """What a file holds, and how many of its visits are left out, by reason."""

    frame: pd.DataFrame
    left_out: Counter[str] = field(default_factory=Counter)
    account: bool = False  # of one person, whatever devices it names


def gpx(file: File) -> Recording:
    """Track points; waypoints and routes are places somebody marked or planned."""
    import gpxpy  # slow to load
    import gpxpy.gpx

    data = file.bytes()
    declared = re.match(rb"[^<]*<\?xml[^>]*encoding=[\"']([\w.-]+)", data)
    mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data.decode("utf-16" if mark else declared[1].decode() if declared else "utf-8")
    if "<!ENTITY" in text:
        raise ValueError("it declares an entity, which no GPX needs")
    accuracy = _accuracy_of_points(text)
    # The library copies extensions by recursion, which what nests without end would end.
    text = re.sub(r"<(\w+:)?extensions\b.*?</(\w+:)?extensions\s*>", "", text, flags=re.DOTALL)
    text = re.sub(r"^[^<]*<\?xml.*?\?>", "", text, count=1, flags=re.DOTALL)
    try:
        content = gpxpy.parse(text)
    except gpxpy.gpx.GPXException as error:
        raise ValueError(reason(error)) from error
    rows = [(p.time, p.longitude, p.latitude, p.horizontal_dilution, track.name)
            for track in content.tracks
            for part in track.segments for p in part.points]  # fmt: skip
    table = pd.DataFrame(rows, columns=["tracked_at", "lon", "lat", "hdop", "track"])
    if rows and table.tracked_at.isna().all():
        raise DataError(
            f"None of the {len(rows):,} track points of {file.name} has a time, as in a route that "
            "was planned, or of which an app left the times out; export the recording with its "
            "times."
        )
    table["tracked_at"] = pd.to_datetime(table.tracked_at, utc=True)
    if len(accuracy) == len(table):
        table["accuracy"] = accuracy
    if table.track.nunique() < 2:
        table = table.drop(columns="track")
    return Recording(table.dropna(axis=1, how="all"))


def _accuracy_of_points(text: str) -> list[float]:
    """Of each track point the accuracy in its extensions, where the file has any."""
    if not re.search(r"<(\w+:)?h?acc(uracy)?>", text):
        return []
    points = re.findall(r"<trkpt\b[^>]*/>|<trkpt\b.*?</trkpt\s*>", text, flags=re.DOTALL)
    held = (re.search(r"<(?:\w+:)?h?acc(?:uracy)?>\s*(-?[\d.]+)\s*<", point) for point in points)
    return [float(match[1]) if match else np.nan for match in held]


def plt(file: File) -> Recording:
    """A trajectory: six header lines, then latitude, longitude, 0, feet, days, date, time (UTC)."""
    data = file.bytes()
    if not data.startswith(b"Geolife trajectory"):
        raise ValueError("it does not begin with the line 'Geolife trajectory'")
    names = ["lat", "lon", "zero", "feet", "days", "date", "time"]
    table = pd.read_csv(
        io.BytesIO(data), skiprows=6, names=names, dtype=dict.fromkeys(names[5:], "str")
    )
    at = pd.to_datetime(table.date + "T" + table.time, format="ISO8601", utc=True, errors="coerce")
    return Recording(table[["lon", "lat"]].assign(tracked_at=at))


def owntracks(file: File) -> Recording:
    """A recorder's .rec: a line a message, with JSON behind the last tab."""
    lines = (line.rpartition("\t")[2] for line in file.bytes().decode().splitlines())
    messages = [json.loads(line) for line in lines if line.endswith("}")]
    folders = PurePosixPath(file.name).parts[-3:-1]  # rec/USER/DEVICE/2025-03.rec
    topic = {"topic": f"owntracks/{'/'.join(folders)}"} if len(folders) == 2 else {}
    return _messages(
        [topic | message for message in messages if "tst" in message and "lat" in message]
    )


def _messages(messages: list[dict[str, Any]]) -> Recording:
    """OwnTracks' messages, whose topic names a user and a device.

    Those of a waypoint say where a region is and when it was drawn, not where somebody was.
    """
    here = [one for one in messages if one.get("_type", "location") in ("location", "transition")]
    elsewhere = Counter({"messages that say nobody's position": len(messages) - len(here)})
    table = pd.DataFrame(here, columns=["topic", "tst", "lon", "lat", "acc"])
    topic = table.topic.astype("string").str.extract(r"^[^/]*/([^/]+)/([^/]+)")
    table = table.drop(columns="topic").assign(user=topic[0], device=topic[1])
    if table.user.nunique() == 1:  # whose all are, also those that were sent without a topic
        table["user"] = table.user.ffill().bfill()
    return Recording(table.dropna(axis=1, how="all"), +elsewhere, account=True)


def from_json(file: File) -> Recording:
    """What the JSON of an app holds: Google's, Arc's, OwnTracks', GeoJSON, or flat records."""
    text = file.bytes().decode("utf-8-sig")
    try:
        content = json.loads(text)
    except ValueError:  # a record a line
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, list) and any(_collected(item, None) for item in content[:9]):
        content = [*chain(*(_collected(item, [item] * ("geometry" in item)) for item in content))]
    content = _collected(content, content)
    if isinstance(content, dict) and {"timelineEdits", "deviceSettings"} & content.keys():
        raise DataError(f"{file.name} holds {TAKEOUT}.")
    signals = content.get("rawSignals") if isinstance(content, dict) else None
    if isinstance(content, dict):
        content = _records_among(content, file.name)
    if isinstance(content, list) and all(isinstance(part, list) for part in content):
        content = _states([entity for entity in content if entity])
    if isinstance(content, dict) and content.get("type") == "Feature":
        content = [content]
    if isinstance(content, dict) and signals:
        content = []
    if not (isinstance(content, list) and all(isinstance(item, dict) for item in content)):
        raise DataError(
            f"{file.name} is neither a Google export, nor GeoJSON, nor a list of records; write "
            "its records as a CSV with a header line (user_id, location_id, started_at)."
        )
    kinds = {key for item in content for key in item}
    if "placeVisit" in kinds or "activitySegment" in kinds:
        return _kept(
            [_google_monthly(item["placeVisit"]) for item in content if item.get("placeVisit")]
        )
    if ("startTime" in kinds and {"visit", "activity", "timelinePath"} & kinds) or signals:
        return _google_phone(content, signals or [])
    items = [item.get("base", {}) | item for item in content] if "base" in kinds else content
    if any("isVisit" in item for item in items):
        return _kept([_arc_visit(item) for item in items if item.get("isVisit")])
    if "geometry" in kinds:
        return _features(content)
    if {"tst", "lat"} <= kinds and "user" not in kinds:
        return _messages([item for item in content if "tst" in item and "lat" in item])
    return Recording(table_of(_flat(content)), account="latitudeE7" in kinds)


def _records_among(content: dict[str, Any], source: str) -> Any:
    """Whatever an app calls its records: the lists of visits, else of positions, else the longest.

    Several such lists of the same columns are people's; what stands beside may say whose all are.
    """
    lists = {name: held for name, held in content.items()
             if isinstance(held, list) and name != "rawSignals"}  # fmt: skip
    about = _flat([{name: held for name, held in content.items() if not isinstance(held, list)}])[0]
    whose = {name: about[name] for name, ours in _ours([about]).items()
             if ours == "user_id" and about[name] is not None}  # fmt: skip
    if not lists or (len(lists) == 1 and not whose):
        return next(iter(lists.values()), content)
    known = {name: _ours(held) for name, held in lists.items()}

    def worth(name: str) -> tuple[bool, bool, int]:
        ours = {*known[name].values()}
        return (
            {"started_at", "location_id"} <= ours,
            {"started_at", "lon"} <= ours,
            len(lists[name]),
        )

    first = max(lists, key=worth)
    flat = any(worth(first)[:2])
    alike = [name for name in lists if flat and known[name] == known[first]] or [first]
    if rest := [f"{len(held):,} of '{name}'" for name, held in lists.items()
                if name not in alike and held and isinstance(held[0], dict)]:  # fmt: skip
        note(f"records left out of {source}: {', '.join(rest)}.")
    if not flat or "user_id" in known[first].values():
        whose = {}
    elif alike[1:] and not whose and not all(re.fullmatch(r"[\d\W]+", name) for name in alike):
        note(f"the lists of {source} ({', '.join(alike[:3])}) are read as a person each, unless "
             "you say person='me' (--person me).")  # fmt: skip
        return [{"user": name} | item for name in alike for item in lists[name]]
    return [whose | item if whose else item for name in alike for item in lists[name]]


def _ours(records: list[Any]) -> dict[str, str]:
    """What says who, where and when in flat records, and what it is for us."""
    if not all(isinstance(item, dict) and "geometry" not in item for item in records):
        return {}
    names = [*dict.fromkeys(name for item in _flat(records) for name in item)]
    try:
        ours = recognized(names, account=True)
    except DataError:  # two could be one of ours, which is said if these are read
        return {}
    mine = ("user_id", "started_at", "finished_at", "duration", "location_id", "lon")
    return {name: held for name, held in ours.items() if held in mine}


def _collected(held: Any, otherwise: Any) -> Any:
    """The features of a collection, or of a batch as Overland sends it."""
    for name in ("features", "locations") if isinstance(held, dict) else ():
        inside = held.get(name)
        if not isinstance(inside, list) or not inside:
            continue
        if all(isinstance(item, dict) and "geometry" in item for item in inside):
            whose = {name: who for name, who in held.items() if isinstance(who, str | int)
                     and KNOWN.get(plain_name(name)) == "user_id"}  # fmt: skip
            return [item | {"properties": whose | (item.get("properties") or {})}
                    for item in inside] if whose else inside  # fmt: skip
    return otherwise


def _states(entities: list[list[Any]]) -> list[Any]:
    """The states of Home Assistant's interface; in a short answer, the first has what others lack.

    That is the entity, which is of all, and where it was, which nobody knows of the others.
    """
    states = [*chain(*entities)]
    if not all(isinstance(state, dict) for state in states) or not all(
        "entity_id" in entity[0] for entity in entities
    ):
        return states
    states = [{"entity_id": entity[0]["entity_id"]} | state
              for entity in entities for state in entity]  # fmt: skip
    if all("attributes" in state for state in states):
        return states
    return [{name: held for name, held in state.items() if name != "attributes"}
            for state in states]  # fmt: skip


def _flat(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with what stands in records inside them, such as coords or venue, beside the rest.

    What several hold has both names where that is a known one (end time), else it is the first's.
    """
    holders = defaultdict[str, set[str]](set)
    for record in records:
        for name, held in record.items():
            for key in held if isinstance(held, dict) else ():
                holders[key].add(name)
    nested = set[str]().union(*holders.values())
    if not nested:
        return [*records]

    def beside(record: dict[str, Any]) -> dict[str, Any]:
        inner = dict[str, Any]()
        for name, held in record.items():
            for key, value in held.items() if isinstance(held, dict) else ():
                both = f"{name} {key}"
                known = len(holders[key]) > 1 and plain_name(both) in KNOWN
                inner[both if known or key in inner else inner_name(name, key)] = value
        return inner | {
            name: held
            for name, held in record.items()
            if not isinstance(held, dict) and not (held is None and name in nested)
        }

    return [*map(beside, records)]


LIVED = (1990, 2100)  # years in which phones write times
STAY = ["location_id", "started_at", "finished_at", "lon", "lat", "utc_offset"]


def _kept(rows: list[tuple[Any, ...]]) -> Recording:
    """Visits with a start, an end behind it and a place; the others are counted."""
    table = pd.DataFrame(rows, columns=STAY)
    start, end = (pd.to_datetime(table[name], format="ISO8601", utc=True, errors="coerce")
                  for name in ("started_at", "finished_at"))  # fmt: skip
    bad = {
        "visits without a time": ~(start.dt.year.between(*LIVED) & end.dt.year.between(*LIVED)),
        "visits that end before they begin": end < start,
        "visits that name no place": table.location_id.isna(),
    }
    counts, good = Counter[str](), pd.Series(True, index=table.index)
    for what, rows_ in bad.items():
        counts[what] += int((good & rows_).sum())
        good &= ~rows_
    return Recording(table[good].reset_index(drop=True).astype({"utc_offset": "float64"}),
                     +counts, account=True)  # fmt: skip


def _google_monthly(visit: dict[str, Any]) -> tuple[Any, ...]:
    """A stay of the older export, a file a month."""
    place, span = visit.get("location") or {}, visit.get("duration") or {}
    ms: list[Any] = [span.get(f"{edge}TimestampMs") for edge in ("start", "end")]
    start, end = (span.get(f"{edge}Timestamp") for edge in ("start", "end"))
    if start is None and None not in ms:
        start, end = (pd.Timestamp(int(n), unit="ms", tz="UTC").isoformat() for n in ms)
    lat, lon = (float(place.get(f"{name}E7") or np.nan) / 1e7 for name in ("latitude", "longitude"))
    return _id_of(place, lat, lon), start, end, lon, lat, None


def _google_phone(segments: list[dict[str, Any]], signals: list[dict[str, Any]]) -> Recording:
    """A phone's export: visits (of stays in stays the outer one), else paths, else signals."""
    rows = []
    for segment in _outer([one for one in segments if isinstance(one.get("visit"), dict)]):
        place = segment["visit"].get("topCandidate") or {}
        lat, lon = _pair(place.get("placeLocation", ""))
        name, offset = _id_of(place, lat, lon), segment.get("startTimeTimezoneUtcOffsetMinutes")
        rows.append((name, segment.get("startTime"), segment.get("endTime"), lon, lat, offset))
    if rows:
        return _kept(rows)
    fixes = []
    for segment in segments:
        begin = pd.to_datetime(segment.get("startTime"), errors="coerce", utc=True)
        for point in segment.get("timelinePath", []):
            lat, lon = _pair(point.get("point", ""))
            later = float(point.get("durationMinutesOffsetFromStartTime", 0) or 0)
            at = point.get("time") or (begin + pd.Timedelta(minutes=later)).isoformat()
            fixes.append((at, lon, lat, None))
    for position in [] if fixes else (signal.get("position") or {} for signal in signals):
        lat, lon = _pair(position.get("LatLng") or position.get("latLng") or "")
        fixes.append((position.get("timestamp"), lon, lat, position.get("accuracyMeters")))
    table = pd.DataFrame(fixes, columns=["tracked_at", "lon", "lat", "accuracy"])
    table = table[table.tracked_at.notna()].dropna(axis=1, how="all")
    return Recording(table.reset_index(drop=True), account=True)


def _outer(stays: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stays without those whose middle lies in one of a lower level: a shop in a mall."""
    level = pd.to_numeric(pd.Series([stay["visit"].get("hierarchyLevel", 0) for stay in stays],
                                    dtype=object), errors="coerce").fillna(0)  # fmt: skip
    if not level.any():
        return stays
    start, end = (pd.to_datetime(pd.Series([stay.get(name) for stay in stays], dtype=object),
                                 format="ISO8601", utc=True, errors="coerce")
                  for name in ("startTime", "endTime"))  # fmt: skip
    middle = start + (end - start) / 2

    def is_inner(row: int) -> bool:
        around = (start <= middle[row]) & (middle[row] <= end) & (level < level[row])
        return bool(around.any())

    inner = {row for row in level.index[level > 0] if is_inner(row)}
    return [stay for row, stay in enumerate(stays) if row not in inner]


def _pair(where: Any) -> tuple[float, float]:
    """Latitude and longitude of a text such as "48.2°, 16.4°" or "geo:48.2,16.4"."""
    text = where.get("latLng", "") if isinstance(where, dict) else where
    match = re.match(PAIR, text if isinstance(text, str) else "")
    return (float(match[1]), float(match[2])) if match else (np.nan, np.nan)


def _id_of(place: dict[str, Any], lat: float, lon: float) -> Any:
    there = f"{lat:.4f},{lon:.4f}" if np.isfinite(lat) else None
    return place.get("placeId") or place.get("placeID") or place.get("name") or there


def _arc_visit(item: dict[str, Any]) -> tuple[Any, ...]:
    """A visit of Arc's timeline."""
    place = item.get("place") or item.get("visit") or {}
    centre = place.get("center") or item.get("center") or place
    lat, lon = (float(centre.get(name, np.nan)) for name in ("latitude", "longitude"))
    offset = item.get("startTimeZoneOffset") or item.get("utcOffset")
    name = place.get("placeId") or place.get("name") or _id_of({}, lat, lon)
    return (name, item.get("startDate"), item.get("endDate"), lon, lat,
            None if offset is None else float(offset) / 60)  # fmt: skip


def _features(features: list[dict[str, Any]]) -> Recording:
    """GeoJSON: points with a time among their properties, or lines with a time a point.

    A visit to a place needs no point.
    """
    rows: list[dict[str, Any]] = []
    timeless = shapes = 0
    for feature in features:
        geometry, about = feature.get("geometry") or {}, feature.get("properties") or {}
        at, kind = geometry.get("coordinates") or [], geometry.get("type")
        held = {name: value for name, value in about.items()
                if name not in ("lat", "lon", "latitude", "longitude", "geometry")}  # fmt: skip
        if kind == "Point" and len(at) >= 2:
            rows.append({**held, "lon": at[0], "lat": at[1]})
        elif kind in ("LineString", "MultiLineString", "MultiPoint"):
            inner = about.get("coordinateProperties") or {}
            times = about.get("coordTimes") or about.get("times") or inner.get("times") or []
            if kind == "MultiLineString":  # a list of lines, and of their times
                nested = bool(times) and isinstance(times[0], list)
                at, times = [*chain(*at)], [*chain(*times)] if nested else times
            rows += [{"time": time, "lon": point[0], "lat": point[1]}
                     for time, point in zip(times, at, strict=False)]  # fmt: skip
            timeless += max(len(at) - len(times), 0)
        elif {"location_id", "started_at"} <= {KNOWN.get(plain_name(name)) for name in held}:
            rows.append({**held, "lon": np.nan, "lat": np.nan})
        else:
            shapes += 1
    if rows and all("topic" in row and "tst" in row for row in rows):
        return _messages(rows)
    lost = Counter({"points of lines without a time": timeless,
                    "features that are no point or line": shapes})  # fmt: skip
    return Recording(table_of(rows), +lost, account=True)
