"""Every time that is read: how it is written, its offset, its zone, the clock of its place."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd
from timezonefinder import TimezoneFinder

from pgt.errors import DataError, note
from pgt.visits import called, in_zone, refuse

TWEET = "%a %b %d %H:%M:%S %z %Y"
DAY_FIRST = r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"
ISO = r"\d{4}-?\d{1,2}-?\d{1,2}([T ]\d{1,2}(:?\d\d(:?\d\d([.,]\d+)?)?)?)?"
OFFSET = r"(\d)\s*(?:(Z|UTC|GMT)|([+-]\d{1,2})(?::?(\d\d))?)\s*$"


def require_zone(zone: str | None) -> None:
    """Refuse a time zone that does not exist."""
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except (LookupError, ValueError, OSError, TypeError) as error:
        raise DataError(
            f"'{zone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def with_local_clocks(table: pd.DataFrame, timezone: str | None, clock: str | None) -> pd.DataFrame:
    """Starts and ends by local clocks: of the zone that is named, of the place, or of their own."""
    named = getattr(getattr(table.started_at.dtype, "tz", None), "key", "UTC")
    if timezone is None and named != "UTC" and "utc_offset" not in table.columns:
        timezone = named  # a table that is in a zone by name stays in it
    start, ahead = read_times(table, "started_at", clock or timezone, strict=True)
    end, _ = read_times(table, "finished_at", clock or timezone, strict=True, after=start)
    if "utc_offset" in table.columns:
        ahead = pd.to_numeric(table.utc_offset, errors="coerce").astype(float)
    table = table.drop(columns="utc_offset", errors="ignore")
    table = table.assign(started_at=start, finished_at=end)
    if timezone is not None:
        return in_zone(table, timezone)
    return by_local_clocks(table, None if ahead is None or not ahead.any() else ahead)


def by_local_clocks(table: pd.DataFrame, ahead: pd.Series | None = None) -> pd.DataFrame:
    """Visits in UTC by the clocks of their places, or of their offsets (minutes)."""
    placed = {"lon", "lat"} <= {*table.columns}
    zones = zones_at(table.lon, table.lat) if placed else pd.Series(dtype=str)
    found, there = zones.dropna().unique(), pd.Series(0.0, index=table.index)
    for zone, rows in zones.groupby(zones).groups.items():
        at = table.started_at[rows]
        local = at.dt.tz_convert(zone).dt.tz_localize(None)
        there[rows] = (local - at.dt.tz_localize(None)).dt.total_seconds() / 60
    if ahead is None and len(found):
        note(f"the times are in UTC; by the coordinates, local clocks are those of "
             f"{', '.join(found[:2])}{', …' if len(found) > 2 else ''}.")  # fmt: skip
        ahead = there
    if ahead is None:
        return table
    if len(found) == 1 and (ahead == there).all():
        return in_zone(table, str(found[0]))
    if ahead.nunique() == 1:
        return in_zone(table, datetime.timezone(datetime.timedelta(minutes=ahead.iloc[0])))
    return table.assign(utc_offset=ahead.astype("int64"))


def read_times(
    table: pd.DataFrame, name: str, clock: str | None, *, strict: bool,
    after: pd.Series | None = None,
) -> tuple[pd.Series, pd.Series | None]:  # fmt: skip
    """Times in UTC (or NaT, if not ``strict``), and by how many minutes each was ahead of it."""
    raw, theirs, ahead = table[name], called(table, name), None
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        times = raw.dt.tz_convert("UTC")
        gap = raw.dt.tz_localize(None) - times.dt.tz_localize(None)
        return times, gap.dt.total_seconds() / 60
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        times = raw
    elif (unix := _unix(raw)) is not None:
        times = unix
    else:
        times, ahead = _written(table, name, strict)
    if times.dt.tz is not None:
        return times, ahead
    zone = "UTC" if re.search(r"(^|[^a-z])utc([^a-z]|$)|^utctime", theirs.lower()) else clock
    if zone is None:
        raise DataError(
            f"Times in '{theirs}' have no time zone: name it with timezone='Asia/Shanghai' "
            "(--timezone Asia/Shanghai) if they are by the clocks of the place, or with "
            "file_timezone='UTC' (--file-timezone UTC) if they are in UTC."
        )
    # Clocks go back: the first hour, or the second if that is before ``after``; forward: the next.
    first = np.ones(len(times), dtype=bool)
    local = times.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    if after is not None and (early := local < after).any():
        second = times.dt.tz_localize(zone, ambiguous=~first, nonexistent="shift_forward")
        local = local.where(~early, second)
    return local.dt.tz_convert("UTC"), None


def _unix(raw: pd.Series) -> pd.Series | None:
    """Unix seconds, milliseconds, micro- or nanoseconds, by their size; None where it is text."""
    numbers = pd.to_numeric(raw, errors="coerce").astype(float)
    size = numbers.abs().median()
    if numbers.notna().sum() * 2 <= raw.notna().sum() or not size > 1e8:  # before 1973
        return None
    unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
    return pd.to_datetime(numbers, unit=unit, utc=True, errors="coerce").dt.round("us")


def _written(table: pd.DataFrame, name: str, strict: bool) -> tuple[pd.Series, pd.Series | None]:
    """Times that are written out, and their offsets in minutes; without a zone if none has one."""
    raw = table[name]
    text = raw.astype("string").str.strip().str.replace("\N{MINUS SIGN}", "-")
    refuse(table, name, text.str.match(DAY_FIRST).fillna(False), "is ", ", where day and month "
           "cannot be told apart; write ISO 8601 times such as 2024-05-01 09:00.",
           "{!r}")  # fmt: skip
    tweets = pd.to_datetime(text.astype(object), format=TWEET, utc=True, errors="coerce")
    text = text.str.replace(r"^(\d{4})/(\d{1,2})/", r"\1-\2-", regex=True)
    parts = text.where(text.str.contains(r"\d[T ]\d")).str.extract(OFFSET)
    hours, zoned = parts[2].astype("Float64"), parts[0].notna()
    ahead = 60 * hours + parts[3].astype("Float64") * parts[2].str.get(0).map({"+": 1, "-": -1})
    ahead = ahead.fillna(60 * hours).fillna(0).astype(float)
    # Only what begins like a date is one: "now", a month or a year are no moments.
    text = text.where(~zoned, text.str.replace(OFFSET, r"\1", regex=True))
    text = text.where(text.str.fullmatch(ISO).fillna(False))
    times = pd.to_datetime(text.astype(object), format="ISO8601", errors="coerce")
    bare = times.notna() & ~zoned
    refuse(table, name, bare & zoned.any(), "has a time zone in some rows and none",
           "; write all of them the same way.")  # fmt: skip
    if not bare.any():
        times = (times - pd.to_timedelta(ahead, unit="min")).dt.tz_localize("UTC").fillna(tweets)
    bad = times.isna() & (strict | raw.notna())
    if strict or bad.mean() > 0.5:
        refuse(table, name, bad, "is ", ", which is no ISO 8601 time (such as "
               "2024-05-01T09:00:00+02:00); correct it or drop the row.", "{!r}")  # fmt: skip
    return times, ahead if zoned.any() else None


def zones_at(lon: pd.Series, lat: pd.Series) -> pd.Series:
    """The time zone of each position, by name, to about a kilometre; at sea one by longitude."""
    at = pd.DataFrame({"lon": lon, "lat": lat}).apply(pd.to_numeric, errors="coerce").round(2)
    known = at[(at.lon.abs() <= 180) & (at.lat.abs() <= 90)].drop_duplicates()
    finder = TimezoneFinder()
    zone = [finder.timezone_at(lng=x, lat=y) for x, y in known.to_numpy(dtype=float)]
    found = at.merge(known.assign(zone=pd.Series(zone, known.index, dtype="str")), how="left")
    return found.zone.set_axis(at.index)
