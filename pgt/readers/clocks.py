"""Every time that is read: how it is written, its offset, its zone, the clock of its place."""

from __future__ import annotations

import datetime
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pgt.errors import DataError, note
from pgt.visits import HERE, YEARS, Origin, check_years, in_zone, refuse

TWEET = "%a %b %d %H:%M:%S %z %Y"
SIX_DIGITS = r"^(\d{6})( .*)$"  # a date, and a time of day
DAY_FIRST = r"(\d{1,2})([./-])(\d{1,2})[./-](\d{2,4})\b"
ISO = r"\d{4}-?\d{1,2}-?\d{1,2}([T ]\d{1,2}(:?\d\d(:?\d\d([.,]\d+)?)?)?)?"
OFFSET = r"(\d)\s*(?:(Z|UTC|GMT)|(?:UTC|GMT)?([+-]\d{1,2})(?::?(\d\d))?)\s*$"
ZONED = r"[\s\[]([A-Z]\w+(?:/[\w+-]+)+)\]?$"  # the name of a zone behind a time
MIDNIGHT = r"([T ])24(:?00(?::?00(?:[.,]0+)?)?)$"
# A day and a month in English letters, or ISO 8601 with AM or PM; a time, and nothing else.
MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
SPELLED = re.compile(
    rf"(?i)(?=.*\b\d{{4}}\b)(?=.*\d:\d\d)"
    rf"(?=.*(\b\d{{1,2}}[ .-]*{MONTH}|{MONTH}\.? +\d{{1,2}}\b(?!:)|^\d{{4}}-\d\d-\d\d))"
    rf"(?:{MONTH}|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|[ap]m|[\d\s,.:-])+"
)
# UTC under its other names: such a zone says nothing of where people live.
UTC_NAMES = {
    f"{area}{name}" for area in ("", "etc/")
    for name in ("utc", "gmt", "uct", "zulu", "universal", "greenwich", "gmt0", "gmt+0", "gmt-0")
} | {"z", "utc+00:00", "+00:00", "tzutc()"}  # fmt: skip
# Columns of JavaScript's getTimezoneOffset, among others: timezoneOffset, tz_offset.
MAYBE_BEHIND = "(?i)(zone|tz)_?offset"
PHONES = 2010  # before that year few people recorded where they were
SHEET_DAYS = 36526, 73050  # the same years, as a spreadsheet counts days
SINCE_1970 = 9.5e8, 4.1e9  # seconds, from 2000 to 2099
# In the name of a column; UTC+2 is not UTC.
UTC_IN_NAME = (
    r"(^|[^a-z])(utc|gmt)(?!\s*[+\u2212\u2013-]\s*0*[1-9])([^a-z]|$)|^(utc|gmt)(date|time)"
)
ENOUGH = 0.99  # of all rows, that a way to read them must fit


def require_zone(zone: str | None) -> None:
    """Refuse a time zone that does not exist."""
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except (LookupError, ValueError, OSError, TypeError) as error:
        raise DataError(
            f"'{zone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def zone_name(zone: Any) -> str | None:
    """The name of a zone of whatever library; none for UTC and for bare offsets."""
    text = re.sub(r"^.*zoneinfo/|'\)$", "", str(zone))  # of dateutil the file
    if text.lower() in UTC_NAMES or not re.fullmatch(r"[A-Za-z]\w*(/[\w+-]+)*", text):
        return None
    try:
        require_zone(text)
    except DataError:
        return None
    return text


def with_local_clocks(
    table: pd.DataFrame, timezone: str | None, clock: str | None, origin: Origin = HERE
) -> pd.DataFrame:
    """Starts and ends by local clocks: of the zone that is named, of the place, or of their own.

    What has no end ends when it begins.
    """
    stated = "utc_offset" in table.columns
    if timezone is None and not stated:
        timezone = zone_name(getattr(table.started_at.dtype, "tz", None))  # it stays in it
    zone = clock or timezone
    start, ahead = read_times(table, "started_at", zone, strict=True, origin=origin,
                              offsets=timezone is None, beside=clock is None)  # fmt: skip
    end = start
    if "finished_at" in table.columns:
        end, _ = read_times(table, "finished_at", zone, strict=True, after=start, origin=origin,
                            beside=clock is None)  # fmt: skip
    own = _stated_offsets(table.utc_offset, start) if stated else None
    in_utc = ahead is None or not ahead.any()
    theirs = origin.called("utc_offset")
    if own is not None and own.any() and "lon" not in table.columns and re.search(
        MAYBE_BEHIND, theirs
    ):  # fmt: skip
        note(f"'{theirs}' is read as how far clocks are ahead of UTC; if it counts how far they "
             "are behind, as JavaScript does, name the zone with timezone= "
             "(--timezone).")  # fmt: skip
    if own is not None and timezone is None and in_utc and "lon" not in table.columns:
        refuse(table, "utc_offset", own.isna() & table.utc_offset.notna(), "is ", ", which is no "
               "offset (+01:00) and no IANA zone (Europe/Vienna); name the zone with timezone= "
               "(--timezone).", "{!r}", origin)  # fmt: skip
    table = table.drop(columns="utc_offset", errors="ignore")
    table = table.assign(started_at=start, finished_at=end)
    return in_zone(table, timezone) if timezone else by_local_clocks(table, ahead, own)


def _stated_offsets(
    column: pd.Series, start: pd.Series, after: pd.Series | None = None
) -> pd.Series:
    """Minutes ahead of UTC, of hours, minutes, seconds, "+01:00" or names of zones.

    Starts without a zone are by the clocks of what is stated, and not before ``after``.
    """
    text = column.astype("string").str.strip()
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    if numbers.notna().any() and not text.str.fullmatch(r"[+-]\d{4}").any():  # "+0100" is no 100
        most = numbers.abs().max()
        unit = next((i for i, up_to in enumerate((14, 900, 50_400)) if most <= up_to), 3)
        return numbers * (60, 1, 1 / 60, 1 / 60_000)[unit]
    part = text.str.extract(r"^(?:UTC|GMT)?([+-]?)(\d{1,2}):?(\d\d)?$")
    size = part[1].astype("Float64") * 60 + part[2].astype("Float64").fillna(0)
    offsets = size.where(part[0] != "-", -size).astype(float)
    offsets[text.str.lower().isin(UTC_NAMES).to_numpy(dtype=bool)] = 0.0
    for name in text[offsets.isna()].dropna().unique():
        if zone_name(name):
            rows = (text == name).fillna(False)
            at = start[rows]
            if at.dt.tz is not None:
                offsets[rows] = _ahead(at, name)
                continue
            moments = localized(at, name, None if after is None else after[rows])
            wall = at - moments.dt.tz_convert("UTC").dt.tz_localize(None)
            offsets[rows] = wall.dt.total_seconds() / 60
    return offsets


def _by_the_zone_beside(
    table: pd.DataFrame, times: pd.Series, name: str, clock: str | None, strict: bool,
    after: pd.Series | None, origin: Origin,
) -> pd.Series | None:  # fmt: skip
    """Wall times as moments by the zones or offsets beside them; nothing where none can be read.

    Abbreviations are none: CET may be said all year, and BST is more than one zone.
    """
    held, theirs = table.utc_offset, origin.called("utc_offset")
    text = held.astype("string").str.strip()
    plain = text.str.fullmatch(r"[+-]?\d+(\.\d*)?") & ~text.str.fullmatch(r"[+-]\d{4}")
    if re.search(MAYBE_BEHIND, theirs) and plain.any():
        return None  # perhaps as JavaScript counts
    own = _stated_offsets(held, times, after)
    utc = text.str.lower().isin(UTC_NAMES)
    own = own.where((utc | text.str.contains(r"/|\d")).fillna(False).astype(bool))
    unread = held.notna() & own.isna() & times.notna()
    if not (own.notna() & ~(utc & unread.any())).any():
        return None
    lost = own.isna() & times.notna()
    refuse(table, "utc_offset", lost & held.notna(), "is ", ", which is no offset (+01:00) and no "
           "IANA zone (Europe/Vienna); write one of these.", "{!r}", origin)  # fmt: skip
    refuse(table, "utc_offset", lost & (clock is None), "is empty", "; fill it in, or name the "
           "zone of such rows with timezone= (--timezone).", "", origin)  # fmt: skip
    if name == "started_at":
        note(f"'{origin.called(name)}' is read by the clocks of '{theirs}'; if it is in UTC, say "
             "file_timezone='UTC' (--file-timezone UTC).")  # fmt: skip
    moments = (times - pd.to_timedelta(own, unit="min")).dt.tz_localize("UTC")
    if clock is None or own.notna().all():
        return moments
    return moments.where(own.notna(), localized(times, clock, after).dt.tz_convert("UTC"))


def _ahead(times: pd.Series, zone: Any) -> pd.Series:
    """By how many minutes the clocks of a zone are ahead of UTC at these times."""
    local = times.dt.tz_convert(zone).dt.tz_localize(None)
    return (local - times.dt.tz_convert("UTC").dt.tz_localize(None)).dt.total_seconds() / 60


def by_local_clocks(
    table: pd.DataFrame, ahead: pd.Series | None = None, stated: pd.Series | None = None, *,
    written: bool = True,
) -> pd.DataFrame:  # fmt: skip
    """Visits in UTC by the clocks of their places, or of their offsets (minutes).

    Times that are ``written`` in UTC are said to be; those of fixes may have had other offsets.
    What a record states beside its times is surest, then the place; of offsets that are written
    with the times, all may be those of the phone on the day of the export.
    """
    placed = {"lon", "lat"} <= {*table.columns}
    zones = zones_at(table.lon, table.lat) if placed else pd.Series(dtype="str")
    names = zones.dropna().unique()
    there = pd.Series(np.nan, index=table.index)
    for zone, rows in zones.groupby(zones).groups.items():
        there[rows] = _ahead(table.started_at[rows], zone)
    _note_sea(zones)
    if ahead is not None and not ahead.any():
        ahead = None  # in UTC, which is no place
    if stated is not None:
        if (stated == -there).mean() >= ENOUGH and there.any():  # JavaScript counts them so
            stated = there
        own = stated.fillna(there).fillna(0 if ahead is None else ahead)
    elif ahead is None:
        if not len(names):
            return table
        note(f"{'the times are in UTC; ' * written}by the coordinates, local clocks are those of "
             f"{', '.join(names[:2])}{', …' if len(names) > 2 else ''}.")  # fmt: skip
        own = there.fillna(0)
    elif len(names) > 1 and (there.notna() & (ahead != there)).any() and (
        home := next((name for name in names[:9]
                      if (_ahead(table.started_at, name) == ahead).all()), None)
    ):  # fmt: skip
        note(f"all offsets are those of {home}, and some places lie in other zones: local clocks "
             f"are those of the places (--timezone {home} keeps one clock).")  # fmt: skip
        own = there.fillna(ahead)
    else:
        own = ahead
    if len(names) == 1 and (own == there).all():
        return in_zone(table, str(names[0]))
    if own.nunique() == 1:
        return in_zone(table, datetime.timezone(datetime.timedelta(minutes=own.iloc[0])))
    return table.assign(utc_offset=own.astype("int64"))


def _note_sea(zones: pd.Series) -> None:
    sea = zones.str.startswith("Etc/", na=False)
    if len(zones) >= 20 and sea.mean() > 0.5:
        note(f"{int(sea.sum()):,} of {len(zones):,} visits lie in the sea: are lon and lat in "
             "their columns (--columns lon=..., lat=...), and in degrees?")  # fmt: skip


def read_times(
    table: pd.DataFrame, name: str, clock: str | None, *, strict: bool,
    after: pd.Series | None = None, origin: Origin = HERE, offsets: bool = False,
    beside: bool = True,
) -> tuple[pd.Series, pd.Series | None]:  # fmt: skip
    """Times in UTC (or NaT, if not ``strict``), and by how many minutes each was ahead of it.

    Where a zone says how many, they are only found if ``offsets`` are asked for. Times without a
    zone are by the one ``beside`` them, if there is one and it counts, else by ``clock``.
    """
    raw, ahead = table[name], None
    empty = raw.isna()
    refuse(table, name, empty & (strict or empty.all()), "is empty", "; fill it in (an end that is "
           "not known with the start) or drop the row.", "", origin)  # fmt: skip
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        times = raw
    elif (quick := _of_one_shape(raw)) is not None:
        times, ahead = quick
    elif (numbers := _of_numbers(raw, origin.called(name))) is not None:
        times = numbers
        bad = times.isna() & raw.notna() & strict
        refuse(table, name, bad, "is ", ", which is no time as the other rows have it; correct it "
               "or drop the row.", "{!r}", origin)  # fmt: skip
    else:
        times, ahead = _written(table, name, strict, origin)
    if strict:
        check_years(times.to_frame(name), name, origin)
    else:
        times = times.where(times.dt.year.between(*YEARS))
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        return times.dt.tz_convert("UTC"), _ahead(times, raw.dt.tz) if offsets else None
    if times.dt.tz is not None:
        return times, ahead
    theirs = origin.called(name)
    in_utc = re.search(UTC_IN_NAME, theirs.lower())
    if not in_utc and beside and "utc_offset" in table.columns and (
        moments := _by_the_zone_beside(table, times, name, clock, strict, after, origin)
    ) is not None:  # fmt: skip
        return moments, None
    if not in_utc and clock is None:
        raise DataError(
            f"Times in '{theirs}' have no time zone: name it with timezone='Asia/Shanghai' "
            "(--timezone Asia/Shanghai) if they are by the clocks of the place, or with "
            "file_timezone='UTC' (--file-timezone UTC) if they are in UTC."
        )
    return localized(times, "UTC" if in_utc else clock, after).dt.tz_convert("UTC"), None


def localized(times: pd.Series, zone: str | None, after: pd.Series | None = None) -> pd.Series:
    """Wall times as moments: of the hour that comes twice the first, or what is not before."""
    first = np.ones(len(times), dtype=bool)
    local = times.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    if after is not None and (early := local < after).any():
        second = times.dt.tz_localize(zone, ambiguous=~first, nonexistent="shift_forward")
        local = local.where(~early, second)
    return local


def _of_one_shape(raw: pd.Series) -> tuple[pd.Series, pd.Series | None] | None:
    """ISO 8601, all with an offset or all without, at Arrow's speed; None of anything else."""
    try:
        text = pa.array(raw, type=pa.large_string(), from_pandas=True)
        if isinstance(text, pa.ChunkedArray):
            text = text.combine_chunks()
        if text.null_count or not len(text):
            return None
        ends = pc.utf8_slice_codeunits(text, start=-6).dictionary_encode()
        tails = ends.dictionary.to_pylist()
        zoned = [tail.endswith("Z") or bool(re.fullmatch(r"[+-]\d\d:\d\d", tail)) for tail in tails]
        if any(zoned) and not all(zoned):
            return None
        at = pc.cast(text, pa.timestamp("us", tz="UTC" if all(zoned) else None))
    except (pa.ArrowException, TypeError, ValueError):
        return None
    wall = at.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    times = pd.Series(wall, raw.index, name=raw.name)
    if not all(zoned):
        return times, None
    signed = [(int(f"{tail[0]}1"), tail) if tail[-1] != "Z" else (0, "+00:00") for tail in tails]
    minutes = [sign * (60 * int(tail[1:3]) + int(tail[4:])) for sign, tail in signed]
    ahead = np.array(minutes, dtype=float)[ends.indices.to_numpy(zero_copy_only=False)]
    return times.dt.tz_localize("UTC"), pd.Series(ahead, raw.index)


def _of_numbers(raw: pd.Series, theirs: str) -> pd.Series | None:
    """Digits of a calendar (20250303, … 20250303074200), or Unix time; None where it is text.

    Nearly all rows must be dates to be read so; Unix times are by chance one in a hundred.
    """
    numbers = pd.to_numeric(raw, errors="coerce").astype(float)
    known = numbers.dropna()
    if len(known) * 2 <= raw.notna().sum() or known.empty:
        return None
    years = [(digits, 0, 1900, 2101) for digits in (8, 10, 12, 14)]
    for digits, century, first, last in (*years, (12, 2000, 2020, 2040), (14, 2000, 2020, 2040)):
        full = numbers + century * 10 ** (digits - 4)  # 2503030742 is of 2025
        if full.between(first * 10 ** (digits - 4), last * 10 ** (digits - 4)).sum() >= (
            ENOUGH * len(known)
        ):  # fmt: skip
            text = full.astype("Int64").astype("string")
            dates, _ = _each(text.str.replace(r"^(\d{8})(.+)", r"\1T\2", regex=True))
            if dates.notna().sum() >= ENOUGH * len(known):
                return dates
    if known.between(*SHEET_DAYS).mean() >= ENOUGH and (known % 1 > 0).any():
        return pd.to_datetime(numbers, unit="D", origin="1899-12-30").dt.round("s")
    size = known.abs().median()
    units = (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
    unit, scale = next((choice for choice in units if size < 1e11 * choice[1]), units[-1])
    if not SINCE_1970[0] < size / scale < SINCE_1970[1]:  # Apple's or Windows'
        return None
    if re.match(r"(?i)[\d\s.,]+E", str(raw[raw.notna()].iloc[0])):
        _note_rounded(raw.astype("string").str.strip(), scale, theirs)
    return pd.to_datetime(numbers, unit=unit, utc=True, errors="coerce").dt.round("us")


def _note_rounded(text: pd.Series, scale: float, theirs: str) -> None:
    """Doubt Unix times that a spreadsheet wrote with an exponent, and too few digits."""
    part = text.dropna().str.extract(r"(?i)^\d(?:[.,](\d*))?E\+?(\d+)$")
    digits = part[0].fillna("").str.len()
    step = 10 ** (part[1].astype(float) - digits.max()) / scale
    # Java leaves zeros at the end away, and writes E9 where a spreadsheet writes E+09.
    alike = digits.nunique() == 1 and text.dropna().str.contains("+", regex=False).all()
    if part[1].notna().all() and step.min() > (1 if alike else 999):
        note(f"times in '{theirs}' are rounded to {step.min():,.0f} seconds, as "
             f"{text.dropna().iloc[0]}; show that column of the spreadsheet as whole numbers, and "
             "save it again.")  # fmt: skip


def _written(
    table: pd.DataFrame, name: str, strict: bool, origin: Origin
) -> tuple[pd.Series, pd.Series | None]:
    """Times that are written out, and their offsets in minutes; without a zone if none has one."""
    raw = table[name]
    codes, texts = pd.factorize(raw.astype("string").str.strip())
    text = pd.Series(texts, dtype="string")

    def of_rows(values: pd.Series, missing: Any) -> pd.Series:
        return values.reindex(codes, fill_value=missing).set_axis(raw.index)

    text = _year_first(text)
    digits = text.str.match(SIX_DIGITS).fillna(False).astype(bool)
    refuse(table, name, of_rows(digits, False), "is ", ", where day and year cannot be told "
           "apart; write ISO 8601 times such as 2024-05-01 09:00.", "{!r}", origin)  # fmt: skip
    day_first = text.str.match(DAY_FIRST).fillna(False).astype(bool)
    refuse(table, name, of_rows(day_first, False), "is ", ", where day and month cannot be told "
           "apart; write ISO 8601 times such as 2024-05-01 09:00.", "{!r}", origin)  # fmt: skip
    at, ahead = _each(text)
    times, offset = of_rows(at, pd.NaT), of_rows(ahead, np.nan)
    zoned, known = offset.notna(), times.notna()
    refuse(table, name, known & ~zoned & zoned.any(), "has a time zone in some rows and none",
           "; write all of them the same way.", "", origin)  # fmt: skip
    bad = ~known & (strict | raw.notna())
    if strict or bad.mean() > 0.5:
        remedy = "correct it or drop the row"
        if bad.mean() > 0.5:
            remedy = "pandas.to_datetime(..., format=...) makes such times of others"
        if raw[bad].astype("string").str.match(r"\d{1,2}:\d\d").all():
            remedy = "write the date before the time of day"
        refuse(table, name, bad, "is ", ", which is no ISO 8601 time (such as "
               f"2024-05-01T09:00:00+02:00); {remedy}.", "{!r}", origin)  # fmt: skip
    if not zoned.any():
        return times, None
    return (times - pd.to_timedelta(offset, unit="min")).dt.tz_localize("UTC"), offset.fillna(0)


def _of_six_digits(text: pd.Series) -> pd.Series:
    """Dates such as 240506 as ISO 8601: of orders that fit, the one of by far the shortest time.

    In doubt they are as loggers write them, the year first, unless that would be a longer time.
    """
    part = text.str.extract(SIX_DIGITS)
    known = part[0].dropna().unique()
    dates = {order: pd.to_datetime(known, format=order, errors="coerce")
             for order in ("%y%m%d", "%d%m%y", "%m%d%y")}  # fmt: skip
    spans = {order: at.max() - at.min() for order, at in dates.items()
             if len(at) and at.notna().mean() >= ENOUGH}  # fmt: skip
    if not spans:
        return text
    best, *others = sorted(spans, key=spans.__getitem__)
    far = all(3 * spans[best] <= spans[other] for other in others)
    if best == "%y%m%d":
        late = any(dates[other].max().year >= PHONES for other in others)
        if late and not (far and len(known) > 1):
            note(f"dates such as {known[0]} are read as year, month and day; if they are not, "
                 "write them as 2024-05-06.")  # fmt: skip
    elif others and not (far and others == ["%y%m%d"] and len(known) > 2):
        return text  # nor are day and month told apart so
    day = part[0].map(dict(zip(known, dates[best].strftime("%Y-%m-%d"), strict=True)))
    return (day + part[1]).where(part[0].notna(), text)


def _year_first(text: pd.Series) -> pd.Series:
    """Dates with the year behind as ISO 8601, where all rows tell which is day and which month."""
    text = _of_six_digits(text)
    part = text.str.extract(rf"^{DAY_FIRST}(.*)$")
    first, second = (part[place].astype("Float64") for place in (0, 2))
    late = bool((first > 12).any()), bool((second > 12).any())
    if (part[3].str.len() == 2).any() or late == (True, True) or (
        not any(late) and not (part[1].dropna() == ".").all()
    ):  # fmt: skip
        return text
    day, month = (part[2], part[0]) if late[1] else (part[0], part[2])
    ours = part[3] + "-" + month.str.zfill(2) + "-" + day.str.zfill(2) + part[4]
    return ours.where(ours.notna(), text)


def wall_times(text: pd.Series) -> pd.Series:
    """What clocks show in times that are written out, whatever their offset; NaT of no times."""
    return _each(_year_first(text))[0]


def _each(text: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Wall times of different texts, and their offsets in minutes (NaN: none is written)."""
    tweets = pd.to_datetime(text.astype(object), format=TWEET, utc=True, errors="coerce")
    text = text.str.replace("\N{MINUS SIGN}", "-")
    text = text.str.replace(r"^(\d{4})[/.](\d{1,2})[/.]", r"\1-\2-", regex=True)
    text = text.str.replace(r"\s*\(.*\)$", "", regex=True)  # JavaScript spells the zone out
    text = text.str.replace(r"\s+CET$", "+01:00", regex=True)
    text = text.str.replace(r"\s+CEST$", "+02:00", regex=True)
    zone = text.str.extract(ZONED)[0]
    text = text.str.replace(ZONED, "", regex=True)
    parts = text.where(text.str.contains(r"\d[T ]\d").fillna(False)).str.extract(OFFSET)
    zoned, hours = parts[0].notna(), parts[2].astype("Float64")
    side = parts[2].str.get(0).map({"+": 1, "-": -1}).astype("Float64")
    minutes = parts[3].astype("Float64") * side
    ahead = (60 * hours + minutes.fillna(0)).fillna(0).astype(float).where(zoned)
    # Only what begins like a date is one: "now", a month or a year are no moments.
    text = text.where(~zoned, text.str.replace(OFFSET, r"\1", regex=True))
    at_midnight = text.str.replace(MIDNIGHT, r"\g<1>00\2", regex=True)
    late = (at_midnight != text).fillna(False).astype("int64")  # 24:00 is the next midnight
    text = at_midnight
    plain = text.str.fullmatch(ISO).fillna(False).astype(bool)
    times = pd.to_datetime(text.where(plain).astype(object), format="ISO8601", errors="coerce")
    times = times.dt.as_unit("us") + pd.to_timedelta(late, unit="D")
    words = text[~plain].dropna()
    words = words[[SPELLED.fullmatch(word) is not None for word in words]]
    if len(words):
        read = pd.to_datetime(words.astype(object), format="mixed", errors="coerce")
        times = times.fillna(read.dt.as_unit("us"))
    for name in filter(zone_name, zone[ahead.isna()].dropna().unique()):
        rows = (zone == name).fillna(False) & ahead.isna() & times.notna()
        ahead = ahead.mask(rows, _ahead(localized(times[rows], name), name))
    tweeted = tweets.notna()
    return times.where(~tweeted, tweets.dt.tz_localize(None)), ahead.mask(tweeted, 0.0)


@cache
def _finder() -> Any:
    from timezonefinder import TimezoneFinder  # slow to load

    return TimezoneFinder()


def zones_at(lon: pd.Series, lat: pd.Series) -> pd.Series:
    """The time zone of each position, by name, to about a kilometre; at sea one by longitude."""
    east, north = (pd.to_numeric(degrees, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
                   for degrees in (lon, lat))  # fmt: skip
    known = (np.abs(east) <= 180) & (np.abs(north) <= 90)
    x, y = (np.round(100 * degrees[known]).astype(np.int64) for degrees in (east, north))
    cells, cell = np.unique(100_000 * x + y + 9000, return_inverse=True)
    names = [_finder().timezone_at(lng=cell // 100_000 / 100, lat=(cell % 100_000 - 9000) / 100)
             for cell in cells.tolist()]  # fmt: skip
    zones = np.full(len(known), None, dtype=object)
    zones[known] = np.array(names, dtype=object)[cell]
    return pd.Series(zones, lon.index, dtype="str", name="zone")
