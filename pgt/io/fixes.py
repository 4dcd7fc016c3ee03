"""Position fixes: GeoLife, GPX, CSV and Parquet -> one table a person."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from pgt.errors import DataError
from pgt.io import tables
from pgt.io.delta import require_no_delta
from pgt.io.fixes_base import Report, Source, UserId, tidy
from pgt.io.fixes_geolife import Geolife, trajectory_folders
from pgt.io.forms import form_of, tables_of, visible
from pgt.io.tables import local_path
from pgt.io.unpacking import require_room

# Part of every cache key: a change of what is read makes older copies void.
VERSION = 2


def read_fixes(
    path: str | Path,
    *,
    users: Collection[UserId] | None = None,
    columns: dict[str, str] | None = None,
    timezone: str | None = None,
    time_unit: Literal["s", "ms"] = "s",
    since: str | pd.Timestamp | None = None,
    until: str | pd.Timestamp | None = None,
    cache: str | Path | None = None,
    report: Report | None = None,
    progress: bool = False,
    in_parts: bool = False,
    person: UserId | None = None,
) -> Iterator[pd.DataFrame]:
    """Read the position fixes of one person after the other.

    Only one person's fixes are in memory at a time. Lines that are no fix are kept out, counted
    by reason, and named in the report; if no report is asked for, its sentence is printed at the
    end as soon as anything was kept out or looks like a mistake.

    Parameters
    ----------
    path : path
        GeoLife in its official layout, as a folder or as the zip archive (which is read as it
        lies, not unpacked); a GPX file, or a folder of them (a file is a person, or a sub-folder
        is); a table of fixes as .csv, .csv.gz or .parquet, or a folder of such files.
    users : collection, optional
        Only these people.
    columns : dict, optional
        For tables: names in the project -> names in the file, for example
        ``{"tracked_at": "t"}``. The usual other names (uid, timestamp, latitude, lng, ...) are
        found without it.
    timezone : str, optional
        For tables: the zone of times that carry none. Numbers are Unix times and need none.
    time_unit : {"s", "ms"}
        For tables: the unit of times that are numbers.
    since, until : str or Timestamp, optional
        Keep out what lies before or after (UTC if no zone is given). Without them, everything
        from the first satellite (1980-01-06) to tomorrow.
    cache : path, optional
        A folder in which every person that is done is kept as Parquet. A read that was stopped
        goes on from there; people whose files have changed since are read again.
    report : Report, optional
        Is filled while reading.
    progress : bool
        Show a bar, and print the report's sentence at the end.
    in_parts : bool
        These are some of the people, and others read the rest: that they have no fix is no error,
        and `people_in` reports what belongs to no single person.
    person : int or str, optional
        For GPX: all files are this person's, whatever they are called.

    Yields
    ------
    DataFrame
        One a person with at least one fix: ``user_id``, ``tracked_at`` (datetime64[us, UTC]),
        ``lon`` and ``lat`` (degrees, WGS 84) and, where the source has it, ``trajectory``
        (categorical: the name of the file, without its ending). Sorted by time; fixes of the same
        second stay in file order.

    Raises
    ------
    DataError
        If the path is nothing of the above, a file is wholly wrong, a packed table would unpack
        without end (`pgt.io.unpacking`), or no fix is left at all.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "fixes.csv"
    >>> _ = file.write_text("uid,timestamp,latitude,longitude\\n"
    ...                     "7,2024-05-01T09:00:00Z,48.2,16.4\\n7,1,48.2,16.4\\n")
    >>> report = Report()
    >>> [len(person) for person in read_fixes(file, report=report)]
    [1]
    >>> report.n_fixes, report.n_bad
    (1, 1)
    >>> folder.cleanup()
    """
    source = _source(local_path(path), columns, timezone, time_unit, person, checked=in_parts)
    wanted = source.users
    if users is not None:
        missing = [user for user in users if user not in source.users]
        if missing:
            raise DataError(
                f"There is no person {missing[0]!r} in {path} (it has {_some(source.users)})."
            )
        wanted = [user for user in source.users if user in users]
    limits = _moment(since, "since"), _moment(until, "until")
    folder = None if cache is None else Path(cache)
    total = Report() if report is None else report
    frames = _frames(source, wanted, limits, folder, total, progress)
    return frames if in_parts else _whole(frames, source, total, path, progress, report is None)


def people_in(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    timezone: str | None = None,
    time_unit: Literal["s", "ms"] = "s",
    report: Report | None = None,
    person: UserId | None = None,
) -> list[UserId]:
    """Whose fixes `read_fixes` would read, in its order; the parameters are the same."""
    source = _source(local_path(path), columns, timezone, time_unit, person)
    if report is not None:
        report.add(source.report)
    return list(source.users)


def no_usable_fix(path: str | Path, report: Report) -> DataError:
    """What to say when nothing is left of what was read."""
    why = f": {report}" if report.n_bad else ""
    return DataError(
        f"There is no usable fix in {path}{why} Check the file; are the columns the right ones "
        "(lon and lat not swapped), and the times as said?"
    )


def _whole(
    frames: Iterator[pd.DataFrame],
    source: Source,
    total: Report,
    path: str | Path,
    progress: bool,
    alone: bool,
) -> Iterator[pd.DataFrame]:
    """The frames of everybody who is asked for; in the end something must have been there."""
    total.add(source.report)
    yield from frames
    if total.n_fixes == 0:
        raise no_usable_fix(path, total)
    if progress or (alone and (total.n_bad or total.notes)):
        print(total)


def _frames(
    source: Source,
    users: list[UserId],
    limits: tuple[pd.Timestamp | None, pd.Timestamp | None],
    cache: Path | None,
    total: Report,
    progress: bool,
) -> Iterator[pd.DataFrame]:
    keys = {user: _key(source.key(user), limits) for user in users} if cache else {}
    kept = {user for user in users if cache and _cached_key(_file(cache, user)) == keys[user]}
    fresh = source.frames([user for user in users if user not in kept])
    bar = tqdm(users, unit=" people", file=sys.stdout, disable=not progress)
    for user in bar:
        frame = None
        if cache and user in kept:
            try:
                frame = pd.read_parquet(_file(cache, user))
                own = Report.from_dict(json.loads(frame.attrs.pop("report")))
            except (OSError, ValueError, KeyError):
                frame = None
        if frame is None:
            read = next(source.frames([user]) if user in kept else fresh, None)
            if read is None:
                raise DataError(
                    f"There was a person {user!r} at the first look and is none now; the file is "
                    "damaged, or was changed while it was read: read it again."
                )
            raw, own = read
            frame = tidy(raw, own, *limits)
            del raw, read
            if cache:
                frame.attrs = {"key": keys[user], "report": json.dumps(own.as_dict())}
                tables.write(frame, _file(cache, user))
        total.add(own)
        if len(frame):
            frame.attrs = {}
            yield frame
        del frame


def _source(
    path: Path, columns: dict[str, str] | None, timezone: str | None, time_unit: str,
    person: UserId | None = None, checked: bool = False,
) -> Source:  # fmt: skip
    """Find out what a path is; ``checked``: `people_in` has looked at its files already."""
    if path.is_dir():
        require_no_delta(path)
    is_table = tables_of(path)
    below = visible(path.rglob("*.[gG][pP][xX]")) if path.is_dir() else [path]
    is_gpx = [file for file in below if file.suffix.lower() == ".gpx"]
    geolife = path.suffix.lower() == ".zip" or (path.is_dir() and trajectory_folders(path))
    if person is not None and (not is_gpx or is_table or geolife):
        raise DataError(f"{path} is no GPX; person (--person) is for GPX, leave it out.")
    if is_table and not (is_gpx or geolife):
        from pgt.io.fixes_table import Table

        for file in [] if checked else is_table:
            require_room(file, form_of(file))
        return Table(is_table, columns or {}, timezone, time_unit)
    if columns or timezone or time_unit != "s":
        raise DataError(
            f"{path} is no table; columns, timezone and time_unit are for tables, leave them out."
        )
    if geolife and not (is_table or is_gpx):
        return Geolife(path)
    if is_gpx and not (is_table or geolife):
        from pgt.io.fixes_gpx import Gpx

        return Gpx(path, is_gpx, person, checked)
    if is_table or is_gpx or geolife:
        raise DataError(
            f"{path} mixes kinds of files (GeoLife, GPX, tables); give a folder for each."
        )
    raise DataError(
        f"{path} is not known as fixes; give GeoLife (the zip archive or its folder), GPX, a .csv "
        "or .parquet table of fixes, or a folder of such files."
    )


def _moment(value: str | pd.Timestamp | None, name: str) -> pd.Timestamp | None:
    if value is None:
        return None
    try:
        moment = pd.Timestamp(value)
    except ValueError as error:
        raise DataError(f"{name} is {value!r}, which is no time such as 2007-04-01.") from error
    if moment is pd.NaT or (isinstance(value, str) and not any(map(str.isdecimal, value))):
        raise DataError(f"{name} is {value!r}, which is no time such as 2007-04-01.")
    return moment.tz_localize("UTC") if moment.tz is None else moment.tz_convert("UTC")


def _some(users: list[UserId]) -> str:
    return ", ".join(map(repr, users[:5])) + (f", … {len(users)} in all" if users[5:] else "")


def _key(source: str, limits: tuple[pd.Timestamp | None, ...]) -> str:
    return hashlib.sha256(f"{VERSION} {source} {limits}".encode()).hexdigest()


def _file(cache: Path, user: UserId) -> Path:
    # 7 and "7" are two people, and a name may hold what a file's name may not.
    return cache / f"{type(user).__name__}-{quote(str(user), safe='')}.parquet"


def _cached_key(path: Path) -> str | None:
    """Read the key of a cached person without reading the fixes."""
    try:
        attributes = json.loads((pq.read_schema(path).metadata or {})[b"PANDAS_ATTRS"])
        return str(attributes["key"])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError):
        return None
