"""The official layout of GeoLife: Data/000/Trajectory/20081023025304.plt, unpacked or zipped.

A .plt file has six header lines, then a line a fix: latitude, longitude, 0, altitude in feet, days
since 1899-12-30, date, time (UTC). Date and time are read, not the days: those are rounded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TypeVar
from zipfile import ZipFile, ZipInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv

from pgt.errors import DataError
from pgt.io.archive import PERSON, members, open_zip, read_member, require_budget
from pgt.io.fixes_base import Raw, Report, UserId

HEADER_LINES = 6
FIRST_LINE = b"Geolife trajectory"
NAMES = ("lat", "lon", "zero", "altitude", "days", "date", "time")
TYPES = {"lat": pa.float64(), "lon": pa.float64(), "date": pa.date32(), "time": pa.time32("s")}
# Not the hidden files that some systems put beside the true ones.
MEMBER = re.compile(r"(?:.*/)?([^/]+)/Trajectory/[^/.][^/]*\.plt", re.IGNORECASE)
Read = TypeVar("Read")
# time, longitude, latitude, line number of each fix
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Geolife:
    """A folder or a zip archive in the official layout.

    Parameters
    ----------
    path : path
        The archive, or the folder that holds ``Data``, or ``Data`` itself, or the folder around
        both (what unpacking the archive leaves).
    """

    def __init__(self, path: Path) -> None:
        self.report = Report()
        self.archive: ZipFile | None = None
        found: dict[PurePosixPath, list[Path | ZipInfo]] = {}  # by the person's folder
        if path.is_dir():
            self.stamp = ""
            for home in trajectory_folders(path.absolute()):
                plts = (f for f in home.iterdir() if MEMBER.fullmatch(f.as_posix()))
                found[PurePosixPath(home.parent.as_posix())] = [*sorted(plts)]
        else:
            self.archive = open_zip(path)
            self.stamp = f"{path.stat().st_size} {path.stat().st_mtime_ns}"
            for info in sorted(members(self.archive), key=lambda info: info.filename):
                if MEMBER.fullmatch(info.filename):
                    person = PurePosixPath(info.filename).parent.parent
                    found.setdefault(person, []).append(info)
        ordered = sorted(found, key=lambda home: (home.name, home.as_posix()))
        found = {home: found[home] for home in ordered if found[home]}
        if not found:
            raise DataError(
                f"{path} holds no Data/<person>/Trajectory/*.plt, so it is not GeoLife; get it "
                "with python -m pgt download geolife."
            )
        numbers = all(folder.name.isdecimal() for folder in found)
        self.files: dict[UserId, list[Path | ZipInfo]] = {}
        homes: dict[UserId, PurePosixPath] = {}
        for folder, files in found.items():
            user = int(folder.name) if numbers else folder.name
            if user in homes:
                one, other = sorted(("/".join(folder.parts[-2:]), "/".join(homes[user].parts[-2:])))
                raise DataError(
                    f"The folders {one} and {other} of {path.name} would both be person {user!r}; "
                    "rename one, or put their trajectories into one folder if it is one person."
                )
            homes[user], self.files[user] = folder, files
            if self.archive is not None:
                zipped = [file for file in files if isinstance(file, ZipInfo)]
                require_budget(self.archive, f"the files of person {user!r}", zipped, PERSON)
        self.users: list[UserId] = list(self.files)

    def key(self, user: UserId) -> str:
        """Fingerprint the names, sizes and times of a person's files."""
        digest = hashlib.sha256(self.stamp.encode())
        for file in self.files[user]:
            if isinstance(file, Path):
                stat = file.stat()
                digest.update(f"{file.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
            else:
                digest.update(f"{file.filename} {file.file_size} {file.CRC}\n".encode())
        return digest.hexdigest()

    def frames(self, users: Sequence[UserId]) -> Iterator[tuple[Raw, Report]]:
        """Read these people, one at a time."""
        for user in users:
            report = Report(n_files=len(self.files[user]))
            yield self._person(user, report), report

    def _person(self, user: UserId, report: Report) -> Raw:
        files = self.files[user]
        labels = [_label(file) for file in files]
        bodies = []
        for file, label in zip(files, labels, strict=True):
            text = self._bytes(file)
            bodies.append(_body(text, label, report))
        counts = [body.count(b"\n") for body in bodies]
        # All files of a person in one go, which is several times faster than one by one. Where
        # something is wrong, each file is read by itself to find out what.
        whole = _parse(b"".join(bodies), sum(counts))
        if whole is not None:
            starts = np.cumsum(counts) - counts
            lines = np.arange(sum(counts)) - np.repeat(starts, counts) + HEADER_LINES + 1
            times, lon, lat = whole
        else:
            parts = [_one_file(*item, report) for item in zip(bodies, counts, labels, strict=True)]
            counts = [len(part[0]) for part in parts]
            times, lon, lat, lines = (np.concatenate(part) for part in zip(*parts, strict=True))
        owner = np.repeat(np.arange(len(files), dtype=np.int32), counts)
        names = [PurePosixPath(label).stem for label in labels]
        return Raw(
            user, times, lon, lat, pd.Categorical.from_codes(owner, names),
            lambda row: f"{labels[owner[row]]}:{lines[row]}",
        )  # fmt: skip

    def _bytes(self, file: Path | ZipInfo) -> bytes:
        if isinstance(file, Path):
            return file.read_bytes()
        assert self.archive is not None
        return read_member(self.archive, file)


def trajectory_folders(path: Path) -> list[Path]:
    """Find the folders <person>/Trajectory at, or up to two levels below, a folder."""
    for pattern in ("Trajectory", "*/Trajectory", "*/*/Trajectory", "*/*/*/Trajectory"):
        folders = sorted(folder for folder in path.glob(pattern) if folder.is_dir())
        if folders:
            return folders
    return []


def _label(file: Path | ZipInfo) -> str:
    name = file.as_posix() if isinstance(file, Path) else file.filename
    return "/".join(name.split("/")[-3:])


def _body(text: bytes, label: str, report: Report) -> bytes:
    """Cut the header off; the rest ends in a line end."""
    if text and not text.startswith(FIRST_LINE[: len(text)]):
        raise DataError(
            f"{label} does not begin with the line '{FIRST_LINE.decode()}', so it is no GeoLife "
            "trajectory; remove it, or unpack the archive again."
        )
    end = -1
    for _ in range(HEADER_LINES):
        end = text.find(b"\n", end + 1)
        if end < 0:
            report.keep_out("in a file that ends within its six header lines", label)
            return b""
    body = text[end + 1 :]
    return body if not body or body.endswith(b"\n") else body + b"\n"


def _parse(body: bytes, n_lines: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Read lines that are all as they should be; None if one is not."""
    if not body:
        empty = np.empty(0)
        return empty.astype("datetime64[us]"), empty, empty
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            read_options=csv.ReadOptions(
                use_threads=False, column_names=NAMES, block_size=1 << 24
            ),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types=TYPES, include_columns=list(TYPES)),
        )  # fmt: skip
    except pa.ArrowInvalid:
        return None
    if table.num_rows != n_lines or any(column.null_count for column in table.columns):
        return None
    lat, lon, date, time = (column.to_numpy() for column in table.cast(_PLAIN).columns)
    times = (date.astype(np.int64) * 86_400 + time) * 1_000_000
    return times.view("datetime64[us]"), lon, lat


_PLAIN = pa.schema(
    {"lat": pa.float64(), "lon": pa.float64(), "date": pa.int32(), "time": pa.int32()}
)


def _one_file(body: bytes, n_lines: int, label: str, report: Report) -> Columns:
    """Read one file; line by line if it has to be."""
    good = _parse(body, n_lines)
    if good is not None:
        return (*good, np.arange(n_lines) + HEADER_LINES + 1)
    rows = []
    other = []
    lines = body.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, HEADER_LINES + 1):
        fields = line.split(",")
        if len(fields) == len(NAMES):
            lat, lon, *_, date, time = map(str.strip, fields)
            when = _tried(datetime.strptime, f"{date} {time}", "%Y-%m-%d %H:%M:%S")
            rows.append((when, _tried(float, lon), _tried(float, lat), number))
        elif line.strip():
            other.append(f"{label}:{number}")
    times = np.array([row[0] for row in rows], dtype="datetime64[us]")
    lons, lats = (np.array([row[i] for row in rows], dtype=float) for i in (1, 2))
    wrong = np.isnat(times) | np.isnan(lons) | np.isnan(lats)
    if wrong.all() and len(rows) + len(other) > 1:
        raise DataError(
            f"No line of {label} is a fix (latitude, longitude, 0, altitude, days, date, time); "
            "remove it, or unpack the archive again."
        )
    if other:
        report.keep_out("with other than seven fields", *other)
    return times, lons, lats, np.array([row[3] for row in rows], dtype=np.int64)


def _tried(read: Callable[..., Read], *given: str) -> Read | None:
    try:
        return read(*given)
    except ValueError:
        return None
