"""Whose column is which: usual names, points and degrees, ids; and what is refused."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError, note
from pgt.readers.clocks import ENOUGH, localized, wall_times, zones_at
from pgt.visits import HERE, REQUIRED, Origin, plain_types, refuse

# What others call our columns, in lower case, letters and digits only, the surest names first; in
# German and in French as well.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_id": (
        "userid", "user uid person personid userids benutzer personne utilisateur",
        "individuallocalidentifier taxiid vehicleid deviceid device devicetag tid entityid",
    ),
    "device": ("device", "deviceid devicetag trackerid tid"),
    "location_id": ("locationid", "venueid placeid poiid", "location venue place poi ort lieu",
                    "cluster"),
    "started_at": (
        "startedat trackedat",
        "start starttime arrival arrivedat arrivaltime checkintime checkinat checkin time "
        "timestamp datetime localtime utctime recordedat t starttimestamp utctimestamp startdate "
        "tst localtimestamp gmttime beginn debut arrivee ankunft zeit uhrzeit zeitstempel heure",
        "timestampms gpstime fixtime date utcdate createdat datum jour", "lastchanged",
        "lastupdated",
    ),
    "finished_at": (
        "finishedat",
        "finish end endtime endedat departure departuretime departedat leftat checkouttime "
        "checkout leavingdatetime leavingtime endtimestamp enddate ende fin depart abfahrt",
    ),
    "duration": ("duration", "stay staytime stayduration visitduration dwell dwelltime dauer "
                 "duree"),
    "lon": ("lon", "lng long longitude locationlong longitudeew lone5 lone6 lone7 longitudee5 "
            "longitudee6 longitudee7 langengrad laengengrad lange"),
    "lat": ("lat", "latitude locationlat latitudens late5 late6 late7 latitudee5 latitudee6 "
            "latitudee7 breitengrad breite"),
    "utc_offset": ("utcoffset", "timezoneoffset tzoffset utcoffsetminutes offsetminutes "
                   "starttimetimezoneutcoffsetminutes", "timezone tz tzid timezoneid"),
    "accuracy": ("accuracy", "acc horizontalaccuracy hacc accuracym gpsaccuracy genauigkeit "
                 "accuracymeters horizontalaccuracym"),
    "hdop": ("hdop", "horizontaldilution gpshdop"),
    "valid": ("valid", "isvalid visible fix"),
    "outdated": ("outdated", "manuallymarkedoutlier algorithmmarkedoutlier"),
}  # fmt: skip
DEVICES = {"deviceid", "device", "devicetag", "tid", "trackerid"}
PAIRS = ("geometry", "geom", "center", "wkt", "point", "latlng", "position", "coordinates",
         "coords", "location", "gps", "wkb", "wkbgeometry", "thegeom", "geomwkb",
         "geometrywkb")  # fmt: skip
# Sets that are published without a header line, by what stands in the fields of a line: a time, a
# whole number, a fraction, another text.
SHAPES = {
    "n...[fn][fn]nt": "user_id location_id category_id category lat lon utc_offset started_at",
    "n.tn": "user_id location_id started_at utc_offset",  # Foursquare: cities (above), the world
    "nt[fn][fn].": "user_id started_at lat lon location_id",  # Gowalla, Brightkite
    "nt[fn][fn]": "user_id started_at lon lat",  # T-Drive
}
PAIR = r"(?:geo:|\()?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)"  # latitude, longitude
LISTED = r"\[\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)"  # longitude, latitude, as in GeoJSON
SIDES = r"^\s*(.+[NS])[\s,]+(.+[EW])\s*$"
WKT = r"POINT\s*Z?\s*\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)"
# Degrees, perhaps minutes, perhaps seconds, with the side of the Earth before or behind.
FRACTION = r"(\d+(?:\.\d*|,\d+)?)"
DEGREES = (
    rf"^([NSEW])?\s*([+-]?\d+(?:\.\d*|,\d+)?(?:E[+-]?\d+)?)(?:[°:\s]+{FRACTION}"
    rf"(?:['′:\s]+{FRACTION}[\"″']*)?['′\s]*)?[°\s]*([NSEW])?$"
)
# The unit of a duration at the end of a column's name: duration_min, durationSeconds, Dauer (h).
UNIT = r"(?:(?<=[\W_])([sh])|(ms|milli|sec|sek|min|hours?|hrs?|stunden)\w*)\W*$"
# What a date and the time of day beside it are called.
CLOCKS = (("date", "time"), ("datum", "uhrzeit"), ("datum", "zeit"), ("date", "heure"))
# What a day, and the times from and until which a row lasts, are called.
DAYS = ("date", "datum", "day", "tag", "jour")
SPANS = (("von", "bis"), ("from", "to"), ("start", "end"), ("starttime", "endtime"),
         ("arrival", "departure"), ("beginn", "ende"), ("debut", "fin"))  # fmt: skip
NO = ["0", "0.0", "false", "no", "n", "none", "no fix", "v", "invalid"]
YES = ["1", "1.0", "true", "yes", "y"]
EXACT, LARGEST = 2**53, 2**63 - 1  # whole numbers that a fraction holds, and 64 bits with a sign
# As Python writes them, and as pandas does where a column has a gap.
WHOLE_NUMBER = re.compile(r"(0|-?[1-9]\d{0,17})(\.0)?", re.ASCII)


def names_without_header(first: list[str], file: str) -> list[str]:
    """Names for the fields of a known set without a header line; none where there is a header."""
    if len(first) == 1 and len(first[0].split()) > 1:
        raise DataError(
            f"{file} has no commas, semicolons, tabs or bars between fields (it begins with "
            f"'{first[0][:60]}'); write commas between them, and names above, such as "
            "user_id,location_id,started_at,finished_at."
        )
    kinds = ""
    for field in first:
        is_time = re.match(r"\d{4}-\d\d-\d\d[T ]\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d ", field)
        is_whole, is_float = re.fullmatch(r"-?\d+", field), re.fullmatch(r"-?\d+\.\d+", field)
        kinds += "t" if is_time else "n" if is_whole else "f" if is_float else "s"
    if not re.search("[tnf]", kinds) or recognized(first):
        return []
    for shape, names in SHAPES.items():
        if re.fullmatch(shape, kinds):
            return names.split()
    raise DataError(
        f"{file} has no header line (it begins with {', '.join(first[:4])}); write one above it, "
        "such as user_id,location_id,started_at,finished_at."
    )


def plain_name(name: object) -> str:
    """In lower case, letters and digits alone: "Längengrad" is langengrad."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", str(name).lower()))


def unit_of(name: str) -> tuple[str, str]:
    """The plain name of a duration's column without its unit, and the unit as pandas has it."""
    unit_part = re.search(UNIT, name.lower())
    if unit_part is None:
        return plain_name(name), ""
    unit = unit_part[1] or unit_part[2]
    return plain_name(name[: unit_part.start()]), "ms" if unit in ("ms", "milli") else unit[0]


def columns_held(table: pd.DataFrame, origin: Origin = HERE) -> str:
    """The names of the columns as the source has them."""
    return ", ".join(origin.called(str(name)) for name in table.columns) or "no columns"


def recognized(
    all_names: list[str], columns: dict[str, str] | None = None, *, account: bool = False
) -> dict[str, str]:
    """Names in the file -> ours, the surest name first; both coordinates or none.

    In the export of one ``account``, a device is not a person.
    """
    listed = columns or {}
    pairs = {date for date, _ in _dates_with_clocks(all_names)}  # half of a time
    names = [name for name in all_names if name not in {*listed.values(), *pairs}]
    chosen: dict[str, str] = {}
    for ours in ALIASES:
        if ours not in {*listed, *chosen.values()} and (
            theirs := _surest(ours, names, chosen, account)
        ):
            chosen[theirs] = ours
    kept = {*chosen.values(), *listed}
    if "finished_at" in kept:  # which says more
        chosen = {name: ours for name, ours in chosen.items() if ours != "duration"}
    if "finished_at" not in kept:  # a label of every fix
        chosen = {name: ours for name, ours in chosen.items() if plain_name(name) != "cluster"}
    if ("lon" in kept) != ("lat" in kept):
        chosen = {n: ours for n, ours in chosen.items() if ours not in ("lon", "lat") or n == ours}
    return chosen


def _surest(ours: str, names: list[str], taken: Iterable[str], account: bool) -> str | None:
    """The column that is surely called so; of two clocks that of UTC, of other twos neither."""
    for tier in ((ours,), *(tier.split() for tier in ALIASES[ours])):
        known = [name for name in tier if not (account and ours == "user_id" and name in DEVICES)]
        plain = (lambda name: unit_of(name)[0]) if ours == "duration" else plain_name
        theirs = [name for name in names
                  if (name == ours or plain(name) in known) and name not in taken]  # fmt: skip
        if len(theirs) > 1 and len(utc := [n for n in theirs if re.match("utc|gmt", n.lower())]):
            theirs = utc
        if len(theirs) > 1 and ours in REQUIRED and ours not in theirs:
            raise DataError(
                f"Both '{theirs[0]}' and '{theirs[1]}' could be {ours}; say which with "
                f"columns={{'{ours}': '{theirs[0]}'}} (--columns {ours}='{theirs[0]}')."
            )
        if theirs:
            return ours if ours in theirs else theirs[0]
    return None


def with_our_names(
    raw: pd.DataFrame, columns: dict[str, str], source: str, *, account: bool = False,
    clock: str | None = None,
) -> tuple[pd.DataFrame, dict[str, str]]:  # fmt: skip
    """Give columns our names: those that the caller lists, and those that usual names show.

    The second value is what each was called.
    """
    if len(doubled := raw.columns[raw.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    mine = {theirs: ours.replace("tracked", "started") for ours, theirs in columns.items()}
    raw = _as_layout(raw, set(mine), clock or "UTC")
    whole, mine = _with_whole_times(_with_records(raw), mine)
    table = _with_points(whole)
    for theirs, ours in mine.items():
        if theirs not in table.columns:
            raise DataError(f"Column '{theirs}' is not in {source} (it has {columns_held(raw)}).")
        if ours in table.columns and ours != theirs and ours not in mine:
            raise DataError(f"{source} already has a column '{ours}' beside '{theirs}'; drop one.")
    listed = {ours: theirs for theirs, ours in mine.items()}
    ours_of = recognized([*map(str, table.columns)], listed, account=account) | mine
    table = _with_hemispheres(table, ours_of).rename(columns=ours_of)
    names = {ours: name for name, ours in ours_of.items() if ours != name}
    if "finished_at" in table.columns and table.finished_at.isna().all():  # as if it was not there
        end = names.get("finished_at", "finished_at")
        listed = {ours: theirs for ours, theirs in listed.items() if theirs != end}
        return with_our_names(whole.drop(columns=end), listed, source, account=account, clock=clock)
    origin = Origin(names=names)
    _require_columns(table, source, origin)
    for name in ("user_id", "location_id"):
        if name not in table.columns or table[name].dtype != object:
            continue
        lists = ~table[name].map(pd.api.types.is_hashable)
        refuse(table, name, lists, "is ", ", and an id is one number or text; write one.", "{}",
               origin)  # fmt: skip
    return table, names


def table_of(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Records as a table; whole numbers too long for a fraction stay what they are beside a gap."""
    table = pd.DataFrame(records)
    long = [name for name in table.select_dtypes("float64") if table[name].abs().max() >= EXACT]
    exact = {name: [record.get(name) for record in records] for name in long}
    return table.assign(**{name: pd.Series(held, dtype=object) for name, held in exact.items()})


def inner_name(name: str, key: str) -> str:
    """What something in a record of that name is called beside it."""
    return f"{name} {key}" if key in ("id", "name", "type") else key


def _with_records(table: pd.DataFrame) -> pd.DataFrame:
    """What stands in records of people, places or positions, as structs of Parquet, beside them."""
    words = {*PAIRS, *" ".join((*ALIASES["user_id"], *ALIASES["location_id"])).split()}
    for name in [name for name in table.columns if plain_name(name) in words]:
        known = table[name].dropna() if table[name].dtype == object else []
        if not len(known) or not all(isinstance(value, dict) for value in known):
            continue
        records = [value if isinstance(value, dict) else {} for value in table[name]]
        inner = table_of(records).set_axis(table.index)
        if "x" not in inner.columns:  # no point of a geometry
            inner = inner.rename(columns=lambda key, name=name: inner_name(name, key))
            table = table.drop(columns=name)
            fresh = {key: inner[key] for key in inner.columns if key not in table.columns}
            table = table.assign(**fresh)
    return table


def _require_columns(table: pd.DataFrame, source: str, origin: Origin) -> None:
    """Refuse a table that says neither when nor where."""
    have, held = {*table.columns}, columns_held(table, origin)
    if "started_at" not in have:
        if have & {"location_id", "lon"}:
            raise DataError(
                f"No column of {source} says when (it has {held}); name it with "
                "columns={'started_at': ...} (--columns started_at=...)."
            )
    elif "location_id" not in have and "finished_at" in have:
        raise DataError(
            f"{source} has stays and no column for the place (it has {held}): find "
            "the places with pgt.readers.gps.generate_locations, or name it with "
            "columns={'location_id': ...} (--columns location_id=...)."
        )
    if "location_id" not in have and not {"lon", "lat"} <= have:
        raise DataError(
            f"No column of {source} says where (it has {held}); name the place with "
            "columns={'location_id': ...} (--columns location_id=...), or lon and lat."
        )


def fixes_or_visits(table: pd.DataFrame, at: pd.Series) -> tuple[int, bool]:
    """How many of four signs say that rows with a place and a position are fixes, and if surely.

    Most rows have no place; places are as many as rows, or positions written out; rows follow one
    another by minutes; the positions at one place differ.
    """
    place = table.location_id.astype("string")
    known, held = place.notna(), place.dropna()
    if held.str.match(r"\s*" + PAIR).mean() > 0.5:
        return 4, True
    gap = (
        at.groupby(table.user_id).diff() if "user_id" in table.columns else at.sort_values().diff()
    )
    at_place = pd.DataFrame({name: pd.to_numeric(table[name], errors="coerce")[known].round(5)
                             for name in ("lon", "lat")})  # fmt: skip
    moved = (at_place != at_place.groupby(held).transform("first")).any(axis=1).sum()
    signs = [not known.mean() > 0.5, held.nunique() > 0.5 * len(table),
             gap.abs().median() < pd.Timedelta(minutes=20),
             moved > 0.5 * max(len(held) - held.nunique(), 1)]  # fmt: skip
    rare = known.mean() < 0.1  # which says it twice
    return sum(map(bool, signs)) + bool(rare), bool(signs[0])


# --- layouts: what several columns say together ------------------------------------------------


def _as_layout(table: pd.DataFrame, named: set[str], clock: str) -> pd.DataFrame:
    """Tables of the literature that count days, and logs of states; others as they are."""
    plain = {plain_name(name): name for name in table.columns}
    if {"entityid", "state"} <= plain.keys():
        return _of_states(table, plain, named)
    if named & {*map(plain.get, ("startday", "d"))}:
        return table
    if {"startday", "startmin"} <= plain.keys() and {"endday", "duration"} & plain.keys():
        return _of_days_and_minutes(table, plain, clock)
    if {"uid", "d", "t", "x", "y"} == plain.keys():
        return _of_half_hours(table, clock)
    return table


def _of_states(table: pd.DataFrame, plain: dict[str, str], named: set[str]) -> pd.DataFrame:
    """A log of Home Assistant: of its entities people, else their trackers; a sensor is nowhere."""
    entity, state = plain["entityid"], plain["state"]
    if state not in named:
        table = table.rename(columns={state: "location_id"})
    domain = table[entity].astype("string").str.partition(".")[0].fillna("")
    kind = next((name for name in ("person", "device_tracker") if (domain == name).any()), None)
    others = domain != kind
    if entity in named or kind is None or not others.any():
        return table
    note(f"{int(others.sum()):,} states of other entities than '{kind}' are left out; to read all, "
         f"say columns={{'user_id': '{entity}'}} (--columns user_id={entity}).")  # fmt: skip
    return table[~others]


def _of_days_and_minutes(
    table: pd.DataFrame, plain: dict[str, str], clock: str
) -> pd.DataFrame:  # fmt: skip
    """A day that is counted, the minute in it, and a weekday: a first day that fits them."""
    number = table.rename(columns=plain_name).apply(pd.to_numeric, errors="coerce")
    first, fits = pd.Timestamp("2024-01-01"), ""  # a Monday
    if "weekday" in number:
        shift = (number.weekday - number.startday) % 7
        if (shift == shift.mode()[0]).mean() >= ENOUGH:
            first, fits = first + pd.Timedelta(days=shift.mode()[0]), ", which fits the weekdays"
    start = first + _days(number.startday, number.startmin)
    if {"endday", "endmin"} <= {*number}:
        end = first + _days(number.endday, number.endmin)
    else:
        end = start + pd.to_timedelta(number.duration, unit="min")
    note(f"days are counted and have no date: day 0 is read as {first:%A, %Y-%m-%d}{fits}.")
    counted = ("startday", "startmin", "endday", "endmin", "duration", "weekday")
    table = table.drop(columns=[plain[name] for name in counted if name in plain])
    return table.assign(started_at=localized(start, clock), finished_at=localized(end, clock))


def _of_half_hours(table: pd.DataFrame, clock: str) -> pd.DataFrame:
    """People in cells of a grid, by day and half hour."""
    number = table.rename(columns=plain_name).apply(pd.to_numeric, errors="coerce")
    if not number.t.between(0, 47).all():
        return table
    hidden = (number[["x", "y"]] < 0).any(axis=1)
    if hidden.any():
        note(f"{int(hidden.sum()):,} rows whose cell is hidden (such as -999) are left out.")
        table, number = table[~hidden], number[~hidden]
    note("days are counted and have no date: day 0 is read as Monday, 2024-01-01; each row is half "
         "an hour in a cell of the grid.")  # fmt: skip
    start = pd.Timestamp("2024-01-01") + _days(number.d, 30 * number.t)
    x, y = (number[axis].astype("Int64").astype(str) for axis in "xy")
    end = start + pd.Timedelta(minutes=30)
    return pd.DataFrame({"user_id": table[table.columns[0]], "location_id": x + "-" + y,
                         "started_at": localized(start, clock),
                         "finished_at": localized(end, clock)})  # fmt: skip


def _days(day: pd.Series, minute: pd.Series) -> pd.Series:
    return pd.to_timedelta(day, unit="D") + pd.to_timedelta(minute, unit="min")


def _dates_with_clocks(names: list[str]) -> list[tuple[str, str]]:
    """Columns of a date and of the time of day by the same clock: LOCAL DATE, LOCAL TIME."""
    plain = {plain_name(name): name for name in names}
    beside = ((name, plain.get(name.removesuffix(date) + clock))
              for date, clock in CLOCKS for name in plain if name.endswith(date))  # fmt: skip
    return [(plain[date], clock) for date, clock in beside if clock]


def _with_whole_times(
    table: pd.DataFrame, mine: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Dates and times of day in two columns as one; those of one clock belong together."""
    for date, clock in _dates_with_clocks([*map(str, table.columns)]):
        if (joined := _joined(table[date], table[clock])) is not None:
            kept, gone = (date, clock) if date in mine else (clock, date)
            table = table.drop(columns=gone).assign(**{kept: joined.astype(object)})
    return _with_spans(table, mine)


def _with_spans(table: pd.DataFrame, mine: dict[str, str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """A day, and two times of day: the start, and the end, of the next day if it is before it."""
    plain = {plain_name(name): name for name in map(str, table.columns)}
    day = next((plain[name] for name in DAYS if name in plain), None)
    both = next(((plain[a], plain[b]) for a, b in SPANS if {a, b} <= plain.keys()), None)
    if day is None or both is None:
        return table, mine
    start, end = (_joined(table[day], table[name]) for name in both)
    begin = day if day in mine else both[0]
    listed = {begin: "started_at", both[1]: "finished_at"} | mine
    if start is not None and table[both[1]].isna().all():
        end = table[both[1]].astype("string")  # nobody knows when it ended
    if start is None or end is None:
        short = [table[name].astype("string").str.fullmatch(r"\s*\d{1,4}\D?\d{0,2}(\s*[apAP].*)?")
                 for name in both]  # fmt: skip
        if start is None and all(found.mean() >= ENOUGH for found in short):
            any_day = pd.Series("2024-05-06", table.index)
            odd = any(_joined(any_day, table[name]) is None for name in both)
            remedy = "them as 08:15 and 17:30" if odd else f"'{day}' as 2024-05-06"
            note(f"'{both[0]}' and '{both[1]}' are not read; if they are times of day, write "
                 f"{remedy}.")  # fmt: skip
        return table, mine
    at = wall_times(start.str.replace(r" .*$", " 00:00", regex=True))
    past = wall_times(end) < wall_times(start)
    date = (at + pd.to_timedelta(past.astype("int64"), unit="D")).dt.strftime("%Y-%m-%d")
    end = (date + " " + end.str.replace(r"^\S+ ", "", regex=True)).where(at.notna(), end)
    table = table.assign(**{begin: start.astype(object), both[1]: end.astype(object)})
    return table.drop(columns=day if begin != day else both[0]), listed


def _joined(date: pd.Series, clock: pd.Series) -> pd.Series | None:
    """A date and a time of day as one text; nothing, where one of them is no such thing."""
    day, time = (_as_text(column) for column in (date, clock))
    day = day.str.replace(r"[T ]00?:00(:00(\.0+)?)?$", "", regex=True)  # a spreadsheet's date
    digits = time.str.extract(r"^(\d{1,6})(\.\d+)?$")
    if (digits[0].notna() == time.notna()).all() and (digits[0].astype("Float64") > 59).any():
        width = 4 if digits[0].str.len().max() <= 4 else 6  # 815, or 81500
        time = digits[0].str.zfill(width) + digits[1].fillna("")
    time = time.str.replace(r"^(\d\d)(\d\d)(\d\d)(\.\d+)?$", r"\1:\2:\3\4", regex=True)
    time = time.str.replace(r"^(\d\d)(\d\d)$", r"\1:\2", regex=True)
    day = day.str.replace(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", regex=True)
    is_time, is_day = time.str.match(r"\d{1,2}:\d\d"), day.str.fullmatch(r"[\d./-]{6,10}")
    if not min(found.dropna().astype(float).mean() for found in (is_time, is_day)) >= ENOUGH:
        return None
    return day + " " + time


def _as_text(column: pd.Series) -> pd.Series:
    """Digits of dates and times as they were written, without spaces around them."""
    if pd.api.types.is_float_dtype(column.dtype) and not (column % 1).any():
        column = column.astype("Int64")  # a gap makes fractions of whole numbers
    return column.astype("string").str.strip()


def _with_hemispheres(table: pd.DataFrame, ours_of: dict[str, str]) -> pd.DataFrame:
    """Loggers write N or S, E or W into a column beside: N/S, lat_dir, latitude_ref."""
    theirs = {ours: name for name, ours in ours_of.items()}
    fresh = {}
    for ours, beside, sides in (("lat", "ns", "N(?:ORTH)?|S(?:OUTH)?"),
                                ("lon", "ew", "E(?:AST)?|W(?:EST)?")):  # fmt: skip
        mine = plain_name(theirs.get(ours, ""))
        for name in table.columns if mine else ():
            plain = plain_name(name)
            if plain != beside and not (plain.startswith((ours, mine)) and name not in ours_of):
                continue
            side = table[name].astype("string").str.strip().str.upper().replace("", pd.NA)
            known = side.dropna()
            if len(known) and known.str.fullmatch(sides).mean() >= ENOUGH:
                text = table[theirs[ours]].astype("string").str.strip()
                size = text.where(~side.str.match("[SW]").fillna(False), text.str.lstrip("-"))
                fresh[theirs[ours]] = size + side.str[:1]
    return table.assign(**fresh)


# --- positions ---------------------------------------------------------------------------------


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Points of a geometry: objects, WKB, or text such as ``POINT (16 48)`` or ``48°, 16°``."""
    have = {plain_name(name) for name in table.columns}
    known = bool(have & {*ALIASES["lon"][1].split(), "lon"})
    for name in table.columns:
        if plain_name(name) not in PAIRS:
            continue
        points: Any = table[name].array
        if getattr(getattr(points, "crs", None), "is_projected", False):
            points = points.to_crs("EPSG:4326")
        if set(getattr(points, "geom_type", ())) == {"Point"}:
            return table.assign(lon=points.x, lat=points.y)
        if (pair := _of_wkb(table[name])) is not None or (
            not known and (pair := _of_objects(table[name])) is not None
        ):
            return table.drop(columns=name).assign(lon=pair[0], lat=pair[1])
        if known or not (pd.api.types.is_object_dtype(table[name]) or
                         pd.api.types.is_string_dtype(table[name])):  # fmt: skip
            continue
        text = (
            table[name]
            .map(lambda value: value if isinstance(value, str) else None)
            .astype("string")
        )
        for pattern, order in ((WKT, ["lon", "lat"]), (LISTED, ["lon", "lat"]),
                               (PAIR, ["lat", "lon"]), (SIDES, ["lat", "lon"])):  # fmt: skip
            part = text.str.extract(pattern).set_axis(order, axis=1).apply(_degrees, strict=False)
            if part.lon.notna().sum() * 2 > text.notna().sum():
                swapped = order[0] == "lat" and (part["lat"].abs() > 90).any()
                lon, lat = (part["lat"], part.lon) if swapped else (part.lon, part["lat"])
                if pattern == LISTED:
                    _note_order(name, "longitude first")
                table = table.drop(columns=name) if pattern != WKT else table
                return table.assign(lon=lon, lat=lat)
    return table


def _note_order(name: object, order: str) -> None:
    note(f"the pairs in '{name}' are read as {order}; if they are not, write two columns, lon and "
         "lat.")  # fmt: skip


def _of_objects(column: pd.Series) -> tuple[Any, Any] | None:
    """Points as records (x and y, lon and lat), as lists, longitude first, or as tuples."""
    known = column.dropna()
    first = known.iloc[0] if len(known) else None
    if isinstance(first, dict):
        part = pd.DataFrame(known.tolist(), known.index).rename(columns={"x": "lon", "y": "lat"})
        part = part.rename(columns=recognized([*map(str, part.columns)]))
        if not {"lon", "lat"} <= {*part.columns}:
            return None
    elif isinstance(first, list | tuple | np.ndarray) and len(first) in (2, 3):
        order = ["lat", "lon"] if isinstance(first, tuple) else ["lon", "lat"]
        part = pd.DataFrame([pair[:2] for pair in known], known.index, order)
        if plain_name(column.name) not in ("geometry", "geom"):
            _note_order(column.name, "latitude first" if order[0] == "lat" else "longitude first")
    else:
        return None
    part = part.reindex(column.index)
    return part.lon, part["lat"]


def _of_wkb(column: pd.Series) -> tuple[np.ndarray, np.ndarray] | None:
    """Points in well-known binary (GeoParquet), or in its hexadecimal digits (PostGIS)."""
    if _as_bytes(next(iter(column.dropna()), None)) is None:
        return None
    out = np.full((len(column), 2), np.nan)
    for row, blob in enumerate(map(_as_bytes, column.tolist())):
        if blob is not None:
            order = "<" if blob[:1] == b"\x01" else ">"
            kind = struct.unpack_from(f"{order}I", blob, 1)[0] if len(blob) >= 21 else 0
            if (kind & 0x1FFFFFFF) % 1000 != 1:  # a point, with or without height and reference
                return None
            out[row] = struct.unpack_from(f"{order}2d", blob, 9 if kind & 0x20000000 else 5)
    return out[:, 0], out[:, 1]


def _as_bytes(value: object) -> bytes | None:
    if isinstance(value, str) and re.fullmatch(r"0[01][0-9A-Fa-f]{40,}", value):
        return bytes.fromhex(value)
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def whole_ids(table: pd.DataFrame, origin: Origin = HERE) -> pd.DataFrame:
    """Ids as numbers where all are written as Python writes whole numbers: "007" is not 7."""
    table = plain_types(table)
    for name in [name for name in ("user_id", "location_id") if name in table.columns]:
        if table[name].dtype == "int64":
            continue
        ids, known = table[name], table[name].dropna()
        if pd.api.types.is_float_dtype(ids.dtype):  # a gap makes fractions of whole numbers
            whole = (known % 1 == 0).all()
            refuse(table, name, (ids.abs() >= EXACT) & whole, "is ", ", a fraction, which loses "
                   "the last digits of so long an id; write it as text, or read it as Int64, where "
                   "it comes from.", "{:.6g}", origin)  # fmt: skip
        elif pd.api.types.infer_dtype(ids, skipna=True) == "integer":
            whole = (known.abs() <= LARGEST).all()
            ids = ids if whole else ids.astype("string")  # as of a text: S2's cells have 64 bits
        else:
            texts = known.unique() if len(known) else [None]
            whole = all(isinstance(text, str) and WHOLE_NUMBER.fullmatch(text) for text in texts)
            ids = ids.str.removesuffix(".0") if whole else ids
        if whole:
            ids = ids.astype("Int64" if len(known) < len(ids) else "int64")
        table = table.assign(**{name: ids})
    return table


def with_numbers(table: pd.DataFrame, origin: Origin, *, strict: bool) -> pd.DataFrame:
    """Degrees and measures of quality as numbers; of ``strict`` tables what is none stays."""
    fresh: dict[str, Any] = {}
    for name in [name for name in ("lon", "lat") if name in table.columns]:
        fresh[name] = _degrees(table[name], strict)
        if not strict and fresh[name].isna().all():
            refuse(table, name, table[name].notna(), "is ", " and no row has degrees there; write "
                   "them as numbers with one decimal sign, such as 48.2095.", "{!r}",
                   origin)  # fmt: skip
    if len(fresh) == 2 and all(pd.api.types.is_float_dtype(column) for column in fresh.values()):
        unit = _unit(fresh["lon"], fresh["lat"], origin)
        fresh = {name: values / unit for name, values in fresh.items()} if unit > 1 else fresh
        if unit == 1e7:  # Google wrote some as if 32 bits had no sign
            fresh["lon"] = fresh["lon"].where(fresh["lon"] <= 180, fresh["lon"] - 2**32 / unit)
    if not strict:
        for name in [name for name in ("accuracy", "hdop") if name in table.columns]:
            fresh[name] = _degrees(table[name].replace(r"(?i)\s*m$", "", regex=True), False)
        for name, bad in (("valid", NO), ("outdated", YES)):
            if name in table.columns:
                text = table[name].astype(str).str.strip().str.lower()
                fresh["valid"] = ~text.isin(bad) & fresh.get("valid", True)
    return table.assign(**fresh)


def with_durations(table: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """Ends by how long visits last: spans, text (PT30M, 01:30:00), or numbers of a named unit."""
    held, theirs = table.duration, origin.called("duration")
    lasts = held
    if not pd.api.types.is_timedelta64_dtype(held.dtype):
        text = _with_decimal_points(table, "duration", origin)
        number = pd.to_numeric(text, errors="coerce").astype(float)
        text = text.str.replace(r"^P(\d+D)?T?(.*)$", r"\1 \2", regex=True)
        # pandas takes a number without a unit for nanoseconds
        bare = text.str.contains(r"(?<![\d:.,])\d+(?:\.\d+)?(?![\d.])\s*(?:$|[\d,])")
        bare = bare.fillna(False).astype(bool)
        spans = pd.to_timedelta(text.str.lower().where(number.isna() & ~bare).astype(object),
                                errors="coerce")  # fmt: skip
        unit = unit_of(theirs)[1]
        lasts = spans.fillna(pd.to_timedelta(number, unit=unit)) if unit else spans
    bad = lasts.isna() & held.notna()
    if bad.mean() > 0.5:
        note(f"'{theirs}' is not used, since nothing says its unit, and visits end when they "
             "begin; write minutes, and name it duration_min.")  # fmt: skip
        return table.drop(columns="duration")
    refuse(table, "duration", bad, "is ", ", which is no duration; write it as the other rows, or "
           "leave it empty.", "{!r}", origin)  # fmt: skip
    refuse(table, "duration", lasts < pd.Timedelta(0), "is ", ", which is negative; correct it, or "
           "leave it empty.", "{}", origin)  # fmt: skip
    ends = table.started_at + lasts.fillna(pd.Timedelta(0)).dt.round("us")
    return table.drop(columns="duration").assign(finished_at=ends)


def _with_decimal_points(table: pd.DataFrame, name: str, origin: Origin) -> pd.Series:
    """A column as text: each comma in a number is a point, or nothing where it parts thousands.

    A space before three digits parts thousands, too.
    """
    text = table[name].astype("string").str.strip()
    text = text.str.replace(r"(?<=\d)[\s\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", regex=True)
    text = text.str.replace(r"(?<![^\s+-]),(?=\d)", "0,", regex=True)
    text = text.str.replace(r"(?<=\d),$", ",0", regex=True)
    comma = text.str.contains(r"\d,\d").fillna(False).astype(bool)
    if not comma.any():
        return text
    parts = text.str.contains(r",\d{3}[,.]\d").any()
    points = text.str.contains(r"(?<!\d)(?:0\d*|\d{4,}|\d+\.\d+),\d|\d,(?!\d{3}(?!\d))").any()
    if parts == points and (parts or not text.str.contains(r"\d\.\d").any()):
        refuse(table, name, comma, "is ", ", where the comma may be that of decimals or of "
               "thousands; write 3.6 with a point, or 3600.", "{!r}", origin)  # fmt: skip
    if points:
        text = text.str.replace(r"(?<!\b0)\.(?=\d{3}(?!\d))", "", regex=True)
    return text.str.replace(r"(?<=\d),(?=\d)", "." if points else "", regex=True)


def _degrees(values: pd.Series, strict: bool) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        text = values.astype("string").str.strip().str.upper()
        part = text.str.extract(DEGREES)
        degrees, minutes, seconds = (part[place].str.replace(",", ".").astype("Float64")
                                     for place in (1, 2, 3))  # fmt: skip
        more = minutes.fillna(0) / 60 + seconds.fillna(0) / 3600
        number = degrees.abs().add(more).where(~part[1].str.startswith("-").fillna(False),
                                               -degrees.abs() - more).astype(float)  # fmt: skip
        number = number.where(~(more >= 1).to_numpy(dtype=bool))
        if strict and (number.isna() & text.notna()).any():
            return values  # `check` says which
        values = number.where(~part[0].fillna(part[4]).isin(["S", "W"]), -number)
    return values.astype(float)


def _unit(lon: pd.Series, lat: pd.Series, origin: Origin) -> float:
    """Of how many parts of a degree positions are: their names say it, else Earth and land do."""
    if named := re.search(r"e(\d)$", plain_name(origin.called("lon"))):
        return 10.0 ** int(named[1])
    east, north = lon.dropna().abs(), lat.dropna().abs()
    if min((east <= 360).mean(), (north <= 90).mean()) >= 0.5 or east.empty or north.empty:
        return 1.0
    units = [u for u in (1e5, 1e6, 1e7)
             if min((east <= 180 * u).mean(), (north <= 90 * u).mean()) >= ENOUGH]  # fmt: skip
    whole = min((east % 1 == 0).mean(), (north % 1 == 0).mean()) >= ENOUGH
    metres = max(east.quantile(ENOUGH), north.quantile(ENOUGH)) < 20_037_509
    names = f"'{origin.called('lon')}' and '{origin.called('lat')}'"
    at = f"{names} hold numbers such as {lon.dropna().iloc[0]:g} and {lat.dropna().iloc[0]:g}"
    if (north <= 180).mean() >= ENOUGH and (east <= 90).mean() >= ENOUGH:
        theirs = origin.called("lon"), origin.called("lat")
        raise DataError(
            f"{at}, which look swapped: if they are, say columns={{'lon': '{theirs[1]}', "
            f"'lat': '{theirs[0]}'}} (--columns lon={theirs[1]},lat={theirs[0]})."
        )
    if metres and not (whole and units):
        raise DataError(
            f"{at}, which look like metres of a map and not degrees (or degrees and minutes in one "
            "number); write degrees (WGS 84, EPSG:4326): GeoPandas' .to_crs(4326) makes them of "
            "metres."
        )
    if not (whole and units):
        return 1.0  # `check` says which row is beyond
    on_land = {u: _share_on_land(lon / u, lat / u) for u in units}
    best, *others = sorted(units, key=on_land.__getitem__, reverse=True)
    if metres or (others and on_land[others[0]] > on_land[best] - 0.5):
        second = "metres of a map" if metres else f"degrees times {others[0]:,.0f}"
        raise DataError(
            f"{at}: degrees times {best:,.0f}, or {second}? Write degrees, or the unit into the "
            "names of the columns (lon_e6 and lat_e6, or lon_e7 and lat_e7)."
        )
    return best


def _share_on_land(lon: pd.Series, lat: pd.Series) -> float:
    """Of a hundred different positions."""
    at = pd.DataFrame({"lon": lon, "lat": lat}).round(2).drop_duplicates()
    at = at.iloc[:: max(1, len(at) // 100)]
    return float((~zones_at(at.lon, at["lat"]).str.startswith("Etc/", na=True)).mean())
