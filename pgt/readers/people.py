"""Whose a record is: a person, a device and a file are three things, and here they are told apart.

A column says it, else a track's name, a sub-folder or a file's name; ``person`` overrides what was
guessed, never a column that the caller named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError, note
from pgt.readers.columns import DEVICES, columns_held, plain_name, whole_ids
from pgt.readers.recordings import File
from pgt.visits import Origin

# Changes from one of two devices to the other, to the fixes of the one with fewer: at once.
TURNS = 0.1
SHARED, ENOUGH_ROWS, FEW_PEOPLE = 0.5, 20, 20  # when ids may be one person's
DATE = r"(19|20)\d\d([-_. ]?\d\d){0,2}|\d\d"  # a folder of a year, a month or a day
# A date, and perhaps a time, in a file's name, with what is between it and the rest; a weekday.
WHEN = r"[\W_]*(?<!\d)((?:19|20)\d\d(?:[-_. ]?\d\d){1,2}(?:[-_.T ]*\d\d)*)(?!\d)"
WEEKDAY = r"[\W_]+((?i:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?i:day)?)(?![^\W_])"
# What Spark, dask, DuckDB, Arrow and others call the files of one table; the first has number 0.
UUID = r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}"
PART = (rf"(?:part[-_.](?:r-)?|data_)(\d+)(?:_\d+)*(?:-(?:tid-\d+-)?{UUID}.*)?(?:\.\w+)*"
        rf"|{UUID}-(\d+)")  # fmt: skip
OF = r"-\d+-of-\d+$"
# Names in Google's exports, which say nothing of a person.
GOOGLES = r"timeline|location[-_ ]?history|records|semantic|takeout|\d{4}_[a-z]+|[^a-z]"


@dataclass(frozen=True)
class Part:
    """The rows of one file under our names."""

    frame: pd.DataFrame
    origin: Origin
    file: File | None = None


def with_owners(
    parts: list[Part], name: str, kind: str, person: int | str | None, columns: dict[str, str]
) -> pd.DataFrame:
    """One table of all parts, with ``user_id``."""
    if len(parts) > 1 and kind != "GeoLife":  # of one person, files may be of two devices
        parts = [_with_device(part) for part in parts]
    if person is not None:
        frames = [_of(part, person, columns, name) for part in parts]
    else:
        names = _guessed([part for part in parts if _unsaid(part)], name, kind)
        frames = [part.frame.assign(user_id=names.pop(0)) if _unsaid(part) else part.frame
                  for part in parts]  # fmt: skip
        frames = [_by_tracks(frame, name) for frame in frames]
    frames = _with_like_ids(frames)
    table = pd.concat(frames, ignore_index=True) if frames[1:] else frames[0]
    theirs = parts[0].origin.called("location_id")
    if "cluster" in theirs and table.user_id.nunique() > 1:
        # scikit-mobility numbers everybody's places alone
        place = table.user_id.astype(str) + "-" + table.location_id.astype(str)
        table = table.assign(location_id=place)
    return whole_ids(table, parts[0].origin)


def _unsaid(part: Part) -> bool:
    return "user_id" not in part.frame.columns


def _with_device(part: Part) -> Part:
    """A file that names neither a person nor a device is perhaps a device's own."""
    said = {"device", "track"} & {*part.frame.columns}
    if not _unsaid(part) or part.file is None or said:
        return part
    if re.fullmatch(PART, part.file.stem) or re.search(OF, part.file.stem):
        return part
    return replace(part, frame=part.frame.assign(device=part.file.stem))


def _of(part: Part, person: int | str, columns: dict[str, str], name: str) -> pd.DataFrame:
    """A part as one person's; what named devices or tracks still tells devices apart."""
    theirs = part.origin.called("user_id")
    if not _unsaid(part) and ("user_id" in columns or theirs == "user_id"):
        raise DataError(f"Column '{theirs}' of {name} says who; leave person (--person) out.")
    frame = part.frame
    for source in ("track", "user_id"):
        if source in frame.columns and "device" not in frame.columns:
            frame = frame.assign(device=frame[source])
    return frame.assign(user_id=person)


def _guessed(parts: list[Part], name: str, kind: str) -> list[Any]:
    """Whose each part is that does not say it."""
    if parts and parts[0].file is None:
        raise DataError(
            f"No column of {name} says who (it has "
            f"{columns_held(parts[0].frame, parts[0].origin)}): if it is one person, say "
            "person='me' (--person me), else name it with columns={'user_id': ...}."
        )
    files = [part.file for part in parts if part.file is not None]
    owners = {"GeoLife": _owners_of_geolife, "JSON": _owners_of_exports}.get(kind, _owners)
    return owners(files, name) if files else []


def _with_like_ids(frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Ids as text in all files if they are in one: 7 and "47e6651" are both names."""
    if len(frames) == 1:
        return frames
    frames = [whole_ids(frame) for frame in frames]
    for name in ("user_id", "location_id"):
        held = [frame[name] for frame in frames
                if name in frame.columns and frame[name].notna().any()]  # fmt: skip
        if len({pd.api.types.is_numeric_dtype(ids) for ids in held}) > 1:
            frames = [frame.assign(**{name: frame[name].astype("string")})
                      if name in frame.columns else frame for frame in frames]  # fmt: skip
    return frames


# --- one function a layout of files ------------------------------------------------------------


def _owners_of_geolife(files: list[File], folder: str) -> list[Any]:
    """A folder a person, in which the trajectories are in a folder of their own."""
    names = []
    for file in files:
        part = PurePosixPath(file.name).parts
        above = [*part[:-1]] or [file.stem]
        names.append(above[-2 if part[-2:-1] == ("Trajectory",) and len(above) > 1 else -1])
    return [*map(int, names)] if all(map(str.isdecimal, names)) else names


def _below(files: list[File], folder: str) -> tuple[str, list[tuple[str, ...]]]:
    """The paths of files below the folder that holds them all, and its name.

    Folders such as day=1 are columns.
    """
    parts = [PurePosixPath(file.name).parts for file in files]
    parts = [(*(name for name in part[:-1] if "=" not in name), part[-1]) for part in parts]
    while len({part[0] for part in parts}) == 1 and all(len(part) > 1 for part in parts):
        folder, parts = parts[0][0], [part[1:] for part in parts]
    return folder, parts


def _owners_of_exports(files: list[File], folder: str) -> list[Any]:
    """Exports are named alike: a sub-folder is a person, unless it is a year or Google's own."""
    _, parts = _below(files, folder)

    def own(text: str) -> bool:
        return bool(re.sub(GOOGLES, "", text.lower()))

    people = []
    for file, part in zip(files, parts, strict=True):
        names = [text for text in (*part[:-1], file.stem) if own(text)]
        people.append(names[0] if names and len(files) > 1 else folder)
    _note_several(people, folder)
    return people


def _owners(files: list[File], folder: str) -> list[Any]:
    """A sub-folder's, or, unless the names look like days or parts, each file its own."""
    folder, parts = _below(files, folder)
    parts = [part if not re.fullmatch(DATE, part[0]) else part[-1:] for part in parts]
    flat = [file.stem for file, part in zip(files, parts, strict=True) if len(part) == 1]
    bare = _bare(flat)
    days = len({*bare.values()}) == 1 and (len(flat) > 1 or not bare[flat[0]])
    if not all(bare.values()) or len({*bare.values()}) == len(bare):
        bare = {}
    people = [part[0] if len(part) > 1 else folder if days else bare.get(file.stem, file.stem)
              for file, part in zip(files, parts, strict=True)]  # fmt: skip
    if days and len(flat) > 1:
        note(
            f"the {len(flat)} files of {folder} ({flat[0]}, …) look like one person's days or the "
            "parts of one table, and are read as such; if they are several people's, put each "
            "one's files into a folder."
        )
    elif len(flat) > 1:
        _note_several(people, folder)
    return people


def _bare(names: list[str]) -> dict[str, str]:
    """Names of files without what tells one person's files apart: dates, weekdays, parts."""
    numbers = [match[1] or match[2] for name in names if (match := re.fullmatch(PART, name))]
    part = PART if any(int(number) == 0 for number in numbers) else "(?!)"
    days = [match for name in names if (match := re.search(WHEN + WEEKDAY, name))]
    # Mon is a day if its date was a Monday, and if all such are; else it may be somebody.
    weekday = f"(?:{WEEKDAY})?" if all(map(_is_that_day, days)) else ""
    return {name: re.sub(rf"^(?:{part})$|{OF}|{WHEN}{weekday}[\W_]*|\d{{8,}}", "", name)
            for name in names}  # fmt: skip


def _is_that_day(named: re.Match[str]) -> bool:
    day = pd.to_datetime(re.sub(r"\D", "", named[1])[:8], format="%Y%m%d", errors="coerce")
    return bool(day is not pd.NaT) and day.day_name().lower().startswith(named[2][:3].lower())


def _note_several(people: list[Any], folder: str) -> None:
    if len(set(people)) > 1:
        note(f"the files of {folder} are read as {len(set(people))} people; if they are one "
             "person's, say person='me' (--person me).")  # fmt: skip


# --- devices -----------------------------------------------------------------------------------


def _by_tracks(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Tracks of different names, most of which overlap another in time, are different people's."""
    if "track" not in frame.columns or "started_at" not in frame.columns:
        return frame
    track = frame.track.fillna(frame.user_id.astype(str))
    times = _times(frame.started_at, track)
    overlap = [any(_at_once(own, others) for other, others in times.items() if other != device)
               for device, own in times.items()]  # fmt: skip
    frame = frame.drop(columns="track")
    if 2 * sum(overlap) <= len(overlap):
        return frame.assign(device=track)
    note(f"{track.nunique()} tracks of {name} overlap in time and are read as {track.nunique()} "
         "people; if they are one person's devices, say person='me' (--person me).")  # fmt: skip
    return frame.assign(user_id=track)


def _times(at: pd.Series, device: pd.Series) -> dict[Any, np.ndarray]:
    """When each device records."""
    known = at.notna() & device.notna()
    at = at[known].dt.tz_convert("UTC").dt.tz_localize(None)
    return {name: np.sort(times.to_numpy()) for name, times in at.groupby(device[known])}


def _at_once(own: np.ndarray, other: np.ndarray) -> bool:
    """Whether two record by turns: more than the change from an old device to a new one is."""
    if own[-1] <= other[0] or other[-1] <= own[0]:
        return False
    order = np.argsort(np.r_[own, other], kind="stable")
    turns = int((np.diff(order < len(own)) != 0).sum())
    return turns > max(2, TURNS * min(len(own), len(other)))


def one_device_at_a_time(
    fixes: pd.DataFrame, origin: Origin, *, account: bool
) -> pd.DataFrame:  # fmt: skip
    """Of a person's devices that record at once, the one that moves; others are counted."""
    if "device" not in fixes.columns:
        return fixes
    left = np.zeros(len(fixes), dtype=bool)
    for _, mine in fixes[fixes.device.notna()].groupby("user_id"):
        if mine.device.nunique() < 2:
            continue
        times, taken = _times(mine.tracked_at, mine.device), list[Any]()
        for device in filter(times.__contains__, _by_movement(mine)):
            own = mine[mine.device == device]
            beside = np.zeros(len(own), dtype=bool)
            for taken_by in taken:
                if _at_once(times[device], times[taken_by]):
                    span = (
                        mine.tracked_at[mine.device == taken_by].agg(edge)
                        for edge in ("min", "max")
                    )
                    beside = beside | own.tracked_at.between(*span).to_numpy()
            beside |= beside.mean() > 0.8  # else an old phone that went on beside a new one
            left[fixes.index.get_indexer(own.index[beside])] = True
            taken += [device] * (not beside.all())
    if left.any():
        names = ", ".join(map(str, fixes.device[left].unique()[:3]))
        theirs = origin.names.get("device", "device" if account else None)
        so = (f"say columns={{'user_id': '{theirs}'}} (--columns user_id={theirs})" if theirs
              else "leave person (--person) out")  # fmt: skip
        note(f"{int(left.sum()):,} fixes of {names} are left out: another device of the same "
             "person records at the same time and moves more; to read each device as a person, "
             f"{so}.")  # fmt: skip
    return fixes[~left].drop(columns="device")


def _by_movement(fixes: pd.DataFrame) -> list[Any]:
    """Devices, that first which gets around most in a day."""
    days = fixes.groupby([fixes.device, fixes.tracked_at.dt.floor("D")])[["lon", "lat"]]
    reach = (days.quantile(0.9) - days.quantile(0.1)).sum(axis=1).groupby("device").mean()
    return list(reach.sort_values(ascending=False, kind="stable").index)


def note_followers(table: pd.DataFrame, name: str, origin: Origin) -> None:
    """Say when ids follow one another in time at the same places: perhaps one person's phones."""
    people, theirs = table.user_id.value_counts(), origin.called("user_id")
    if not 2 <= len(people) <= FEW_PEOPLE:
        return
    if "lon" in table.columns:
        place = table.lon.round(2).astype(str) + " " + table.lat.round(2).astype(str)
    else:
        place = table.location_id
    own = table[name].groupby(table.user_id).agg(["min", "max"]).sort_values("min")
    held = {user: set(places) for user, places in place.groupby(table.user_id)}
    for (a, first), (b, second) in pairwise(own.iterrows()):
        both = len(held[a] & held[b]) > SHARED * min(len(held[a]), len(held[b]))
        late = first["max"] - second["min"] <= (second["max"] - second["min"]) / 3
        goes_on = late and first["max"] < second["max"]
        if goes_on and both and min(people[a], people[b]) >= ENOUGH_ROWS:
            so = ("give both the same id (--person me, if names of files gave them)"
                  if theirs == "user_id" else "say person='me' (--person me)")  # fmt: skip
            note(f"{a} and {b} of '{theirs}' follow one another in time and share their places: if "
                 f"they are one person's, {so}.")  # fmt: skip
            return
    if plain_name(theirs) in DEVICES:
        note(f"the {len(people)} ids in '{theirs}' are read as people; if they are one person's "
             "devices, say person='me' (--person me).")  # fmt: skip
