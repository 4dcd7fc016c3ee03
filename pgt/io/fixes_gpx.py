"""GPX tracks: a file is a person, or a sub-folder is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.parsers import expat

import gpxpy
import gpxpy.gpx
import numpy as np
import pandas as pd

from pgt.doubts.visits import alike
from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason
from pgt.io.fixes_base import Raw, Report, UserId
from pgt.io.fixes_days import doubt

# A date has so many digits; a number of a person has fewer.
DIGITS = 8
# Elements within elements: GPX needs five, extensions of devices a few more. The library copies
# extensions by recursion, so a file that nests without end would end the process; so would
# entities within entities, in the parser itself before its version 2.7 (CVE-2024-8176).
DEEPEST = 100
BROKEN: tuple[type[Exception], ...] = (
    gpxpy.gpx.GPXException, expat.ExpatError, *UNREADABLE
)  # fmt: skip


class Gpx:
    """One GPX file, or a folder of them.

    Files right in the folder are a person each, named like the file; a sub-folder is one person,
    whatever lies below it; with ``person``, all of it is that person's. Only track points are
    fixes: waypoints and routes are places somebody marked or planned, not places somebody was at.
    Files in the folder that look like one person's are noted, unless they were ``checked`` before.
    """

    def __init__(
        self, path: Path, files: Sequence[Path], person: UserId | None = None,
        checked: bool = False,
    ) -> None:  # fmt: skip
        self.report = Report()
        self.folder = path if path.is_dir() else path.parent
        self.files: dict[UserId, list[Path]] = {}
        if person is None:
            self._find_people(files)
            flat = [file for file in files if file.parent == self.folder]
            self.report.notes += [] if checked else doubt(flat)
        else:
            self.files[person] = list(files)
        self.users: list[UserId] = sorted(self.files, key=str)
        self.report.notes += alike("user_id", self.users)

    def _find_people(self, files: Sequence[Path]) -> None:
        """A person a file, or a person a folder; files that look like days are neither."""
        flat = [file.stem for file in files if file.parent == self.folder]
        if len(flat) > 1 and _are_days(flat):
            raise DataError(
                f"{self.folder.name} holds {len(flat)} GPX files such as {flat[0]}.gpx, which look "
                "like recordings of one person and would each be a person of their own; if it is "
                "one, say person='me' (--person me), if not, put each person's files into a folder."
            )
        for file in files:
            below = file.relative_to(self.folder).parts
            name = below[0] if len(below) > 1 else file.stem
            mates = self.files.setdefault(name, [])
            if mates and (len(below) == 1 or mates[0].parent == self.folder):
                raise DataError(
                    f"{mates[0].relative_to(self.folder)} and {'/'.join(below)} would both be "
                    f"person {name!r}; rename one, or put both into a folder {name} if it is one "
                    "person."
                )
            mates.append(file)

    def key(self, user: UserId) -> str:
        """Fingerprint the names, sizes and times of a person's files."""
        stats = [(str(file), file.stat()) for file in self.files[user]]
        text = "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)
        return hashlib.sha256(text.encode()).hexdigest()

    def frames(self, users: Sequence[UserId]) -> Iterator[tuple[Raw, Report]]:
        """Read these people, one at a time."""
        for user in users:
            files = self.files[user]
            points = [_points(file) for file in files]
            counts = [len(part[0]) for part in points]
            times, lon, lat = (np.concatenate(part) for part in zip(*points, strict=True))
            owner = np.repeat(np.arange(len(files)), counts)
            first = np.cumsum(counts) - counts
            labels = [file.relative_to(self.folder).as_posix() for file in files]
            names = [file.relative_to(self.folder).with_suffix("").as_posix() for file in files]
            names = names if len(set(names)) == len(names) else labels  # a.gpx beside a.GPX

            def place(
                row: int, labels: list[str] = labels, owner: np.ndarray = owner,
                first: np.ndarray = first,
            ) -> str:  # fmt: skip
                # The library tells no line numbers.
                return f"{labels[owner[row]]}, point {row - first[owner[row]] + 1}"

            trajectory = pd.Categorical.from_codes(owner, names)
            yield Raw(user, times, lon, lat, trajectory, place), Report(n_files=len(files))


def _are_days(names: Sequence[str]) -> bool:
    """Whether names differ in their digits alone, as dates and numbers of recordings do.

    Examples
    --------
    >>> _are_days(["2024-05-01", "2024-05-02"]), _are_days(["person 1", "person 2"])
    (True, False)
    """
    shapes = {re.sub(r"\d+", "#", name) for name in names}
    return len(shapes) == 1 and all(len(re.sub(r"\D", "", name)) >= DIGITS for name in names)


def _points(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, longitudes and latitudes of a file's track points."""
    try:
        text = file.read_bytes().decode()  # as the library does, whatever the file says it is
        _require_harmless(text)
        gpx = gpxpy.parse(text)
    except BROKEN as error:
        raise DataError(
            f"{file.name} is no GPX that can be read ({reason(error)}); repair it or export it "
            "again."
        ) from error
    points = [p for track in gpx.tracks for segment in track.segments for p in segment.points]
    if not points:
        raise DataError(
            f"{file.name} has no track points (waypoints and routes are no fixes); export the "
            "recorded track, or take the file out of the folder."
        )
    times = np.array([_microseconds(point.time) for point in points], dtype="datetime64[us]")
    lon = np.array([point.longitude for point in points], dtype=float)
    lat = np.array([point.latitude for point in points], dtype=float)
    return times, lon, lat


def _require_harmless(text: str) -> None:
    """Refuse XML whose elements lie too deep within each other, or that has entities of its own."""
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


def _microseconds(time: datetime | None) -> np.datetime64:
    """Times in GPX are UTC; one without a zone is taken as such."""
    if time is None:
        return np.datetime64("NaT", "us")
    utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return np.datetime64(utc.replace(tzinfo=None), "us")
