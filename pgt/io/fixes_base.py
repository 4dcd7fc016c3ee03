"""What every reader of position fixes shares: the report, and the table it ends in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

UserId = int | str
# A reason's first places are enough to find what is wrong; the counts tell the rest.
EXAMPLES = 3
# No satellite was up before; a receiver that has lost its clock often says 1970 or 1980.
GPS_EPOCH = pd.Timestamp("1980-01-06", tz="UTC")

NO_TIME = "without a time that can be read"
NO_POSITION = "without a longitude and latitude that can be read"


@dataclass
class Report:
    """What a reader has read, and what it kept out and why.

    Attributes
    ----------
    n_users, n_files, n_fixes : int
        People with at least one fix, files opened, fixes handed on.
    bad : dict
        Reason -> lines kept out for it. A line is counted under its first reason only.
    examples : dict
        Reason -> the first places, such as ``000/Trajectory/20081023025304.plt:17``.
    first, last : Timestamp or None
        Time of the earliest and of the latest fix handed on.
    notes : list of str
        What was read, but looks like a mistake; see `pgt.doubts.visits`.

    Examples
    --------
    >>> report = Report(n_users=1, n_files=1, n_fixes=7)
    >>> report.keep_out("with a latitude outside ±90 degrees", "000/Trajectory/x.plt:9")
    >>> print(report)
    Read 7 fixes of 1 person from 1 file; kept out 1: 1 with a latitude outside ±90 degrees \
(000/Trajectory/x.plt:9).
    """

    n_users: int = 0
    n_files: int = 0
    n_fixes: int = 0
    bad: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    first: pd.Timestamp | None = None
    last: pd.Timestamp | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def n_bad(self) -> int:
        """Lines kept out, for any reason."""
        return sum(self.bad.values())

    def keep_out(self, reason: str, *places: str, n: int | None = None) -> None:
        """Count lines that are kept out: as many as places, or `n`."""
        self.bad[reason] = self.bad.get(reason, 0) + (len(places) if n is None else n)
        shown = self.examples.setdefault(reason, [])
        shown += places[: EXAMPLES - len(shown)]

    def add(self, other: Report) -> None:
        """Count what another report counts."""
        self.n_users += other.n_users
        self.n_files += other.n_files
        self.n_fixes += other.n_fixes
        self.notes += (note for note in other.notes if note not in self.notes)
        for reason, n in other.bad.items():
            self.keep_out(reason, *other.examples.get(reason, ()), n=n)
        if other.first is not None and other.last is not None:
            self.first = other.first if self.first is None else min(self.first, other.first)
            self.last = other.last if self.last is None else max(self.last, other.last)

    def __str__(self) -> str:
        people = "person" if self.n_users == 1 else "people"
        files = "file" if self.n_files == 1 else "files"
        text = f"Read {self.n_fixes:,} fixes of {self.n_users:,} {people} from "
        text += f"{self.n_files:,} {files}"
        if self.first is not None:
            text += f" ({self.first:%Y-%m-%d} to {self.last:%Y-%m-%d}, UTC)"
        notes = "".join(
            f" Note {number} of {len(self.notes)}: {note}"
            for number, note in enumerate(self.notes, 1)
        )
        if self.n_bad == 0:
            return text + "; nothing was kept out." + notes
        reasons = [
            f"{n:,} {reason} ({self.examples[reason][0]}{', …' if n > 1 else ''})"
            for reason, n in sorted(self.bad.items(), key=lambda item: -item[1])
        ]
        return f"{text}; kept out {self.n_bad:,}: {', '.join(reasons)}.{notes}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        spans = {k: t.isoformat() if (t := getattr(self, k)) else None for k in ("first", "last")}
        return vars(self) | spans

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Report:
        """Undo `as_dict`."""
        spans = {k: pd.Timestamp(values[k]) if values[k] else None for k in ("first", "last")}
        return cls(**(values | spans))


class Source(Protocol):
    """Files that hold the fixes of some people."""

    users: list[UserId]
    report: Report  # what belongs to no single person

    def key(self, user: UserId) -> str:
        """Change when what is on disk for this person changes."""

    def frames(self, users: Sequence[UserId]) -> Iterator[tuple[Raw, Report]]:
        """Read these people, one at a time, in the order of ``self.users``."""


@dataclass
class Raw:
    """One person's fixes as read, in file order; NaT and NaN where there was nothing to read."""

    user: UserId
    times: np.ndarray  # (n,) datetime64[us], UTC
    lon: np.ndarray  # (n,) degrees
    lat: np.ndarray  # (n,) degrees
    trajectory: pd.Categorical | None  # (n,) names of files
    place: Callable[[int], str]  # row -> where it stands, as file:line


def tidy(
    raw: Raw, report: Report, since: pd.Timestamp | None, until: pd.Timestamp | None
) -> pd.DataFrame:
    """Keep out what is no fix, sort by time (stable), and count."""
    earliest = GPS_EPOCH if since is None else since
    latest = pd.Timestamp.now("UTC") + pd.Timedelta(days=1) if until is None else until
    low, high = (t.tz_localize(None).to_datetime64() for t in (earliest, latest))
    with np.errstate(invalid="ignore"):
        checks = {
            NO_TIME: np.isnat(raw.times),
            f"with a time before {earliest:%Y-%m-%d}": raw.times < low,
            f"with a time after {latest:%Y-%m-%d}": raw.times > high,
            NO_POSITION: ~(np.isfinite(raw.lon) & np.isfinite(raw.lat)),
            "with a latitude outside ±90 degrees": np.abs(raw.lat) > 90,
            "with a longitude outside ±180 degrees": np.abs(raw.lon) > 180,
        }
    keep = np.ones(len(raw.times), dtype=bool)
    for reason, bad in checks.items():
        bad &= keep
        if bad.any():
            rows = np.flatnonzero(bad)
            report.keep_out(reason, *(raw.place(int(i)) for i in rows[:EXAMPLES]), n=len(rows))
            keep &= ~bad
    rows = np.flatnonzero(keep)
    times = raw.times[rows]
    if (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        rows, times = rows[order], times[order]
    columns: dict[str, Any] = {
        "user_id": raw.user,
        "tracked_at": pd.DatetimeIndex(times).tz_localize("UTC"),
        "lon": raw.lon[rows],
        "lat": raw.lat[rows],
    }
    if raw.trajectory is not None:
        columns["trajectory"] = raw.trajectory[rows]
    frame = pd.DataFrame(columns)
    if isinstance(raw.user, str):
        frame["user_id"] = frame["user_id"].astype("str")
    report.n_fixes += len(frame)
    if len(frame):
        report.n_users += 1
        report.first, report.last = frame.tracked_at.iloc[0], frame.tracked_at.iloc[-1]
    return frame
