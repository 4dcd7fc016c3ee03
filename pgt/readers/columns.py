"""Whose column is which: usual names, points and degrees, ids; and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from pgt.errors import DataError
from pgt.visits import REQUIRED, plain_types

# What others call our columns, in lower case, letters and digits only, the surest names first.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_id": (
        "userid", "user uid person personid userids",
        "deviceid device individuallocalidentifier tid taxiid vehicleid",
    ),
    "location_id": ("locationid", "venueid placeid poiid", "location venue place poi", "cluster"),
    "started_at": (
        "startedat trackedat",
        "start starttime arrival arrivedat arrivaltime checkintime checkinat checkin time "
        "timestamp datetime localtime utctime recordedat t starttimestamp utctimestamp",
        "timestampms gpstime fixtime date",
    ),
    "finished_at": (
        "finishedat",
        "finish end endtime endedat departure departuretime departedat leftat checkouttime "
        "checkout leavingdatetime leavingtime endtimestamp",
    ),
    "lon": ("lon", "lng long longitude lone7 longitudee7 locationlong longitudeew"),
    "lat": ("lat", "latitude late7 latitudee7 locationlat latitudens"),
    "utc_offset": ("utcoffset", "timezoneoffset"),
    "accuracy": ("accuracy", "acc horizontalaccuracy hacc accuracym gpsaccuracy"),
    "hdop": ("hdop", "horizontaldilution gpshdop"),
    "valid": ("valid", "isvalid visible"),
    "outdated": ("outdated", "manuallymarkedoutlier algorithmmarkedoutlier"),
}  # fmt: skip
PAIRS = ("geometry", "geom", "center", "wkt", "point", "latlng")
# Sets that are published without a header line, by what stands in the fields of a line: a time, a
# whole number, a fraction, another text.
SHAPES = {
    "n...[fn][fn]nt": "user_id location_id category_id category lat lon utc_offset started_at",
    "n.tn": "user_id location_id started_at utc_offset",  # Foursquare: cities (above), the world
    "nt[fn][fn].": "user_id started_at lat lon location_id",  # Gowalla, Brightkite
    "nt[fn][fn]": "user_id started_at lon lat",  # T-Drive
}
PAIR = r"(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)"  # latitude, longitude
WKT = r"POINT\s*Z?\s*\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)"
DEGREES = r"^([NSEW])?\s*([+-]?\d+(?:[.,]\d*)?(?:E-?\d+)?)\s*°?\s*([NSEW])?$"
NO = ["0", "0.0", "false", "no", "n", "no fix", "v", "invalid"]
YES = ["1", "1.0", "true", "yes", "y"]
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)


def names_without_header(first: list[str], file: str) -> list[str]:
    """Names for the fields of a known set without a header line; none where there is a header."""
    kinds = ""
    for one in first:
        is_time = re.match(r"\d{4}-\d\d-\d\d[T ]\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d ", one)
        is_whole, is_float = re.fullmatch(r"-?\d+", one), re.fullmatch(r"-?\d+\.\d+", one)
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
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def columns_held(table: pd.DataFrame) -> str:
    """The names of the columns as the source has them."""
    theirs = table.attrs.get("called", {})
    return ", ".join(str(theirs.get(name, name)) for name in table.columns) or "no columns"


def recognized(all_names: list[str], columns: dict[str, str] | None = None) -> dict[str, str]:
    """Names in the file -> ours, the surest name first; both coordinates or none."""
    listed = columns or {}
    names = [name for name in all_names if name not in listed.values()]
    plain, found = {name: plain_name(name) for name in names}, {}
    for ours, tiers in ALIASES.items():
        for tier in () if ours in listed else ((ours,), *(tier.split() for tier in tiers)):
            theirs = [n for n in names if (n == ours or plain[n] in tier) and n not in found]
            if len(theirs) > 1 and ours in REQUIRED and ours not in theirs:
                raise DataError(
                    f"Both '{theirs[0]}' and '{theirs[1]}' could be {ours}; say which with "
                    f"columns={{'{ours}': '{theirs[0]}'}} (--columns {ours}='{theirs[0]}')."
                )
            if theirs:
                found[ours if ours in theirs else theirs[0]] = ours
                break
    kept = {*found.values(), *listed}
    if "finished_at" not in kept:  # a label of every fix
        found = {name: ours for name, ours in found.items() if plain[name] != "cluster"}
    if ("lon" in kept) != ("lat" in kept):
        found = {n: ours for n, ours in found.items() if ours not in ("lon", "lat") or n == ours}
    return found


def with_our_names(raw: pd.DataFrame, columns: dict[str, str], source: str) -> pd.DataFrame:
    """Give columns our names: those that the caller lists, and those that usual names show."""
    if len(doubled := raw.columns[raw.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    table = _with_points(raw)
    mine = {theirs: ours.replace("tracked", "started") for ours, theirs in columns.items()}
    for theirs, ours in mine.items():
        if theirs not in table.columns:
            raise DataError(f"Column '{theirs}' is not in {source} (it has {columns_held(raw)}).")
        if ours in table.columns and ours != theirs:
            raise DataError(f"{source} already has a column '{ours}' beside '{theirs}'; drop one.")
    listed = {ours: theirs for theirs, ours in mine.items()}
    found = recognized([*map(str, table.columns)], listed) | mine
    table = _mended(table, found).rename(columns=found)
    table.attrs["called"] = {ours: name for name, ours in found.items() if ours != name}
    have = {*table.columns}
    if "started_at" not in have:
        if have & {"location_id", "lon"}:
            raise DataError(
                f"No column of {source} says when (it has {columns_held(table)}); name it with "
                "columns={'started_at': ...} (--columns started_at=...)."
            )
    elif "location_id" not in have and "finished_at" in have:
        raise DataError(
            f"{source} has stays and no column for the place (it has {columns_held(table)}): find "
            "the places with pgt.readers.gps.generate_locations, or name it with "
            "columns={'location_id': ...}."
        )
    if "location_id" not in have and not {"lon", "lat"} <= have:
        raise DataError(
            f"No column of {source} says where (it has {columns_held(table)}); name the place with "
            "columns={'location_id': ...} (--columns location_id=...), or lon and lat."
        )
    return table


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Points of a geometry, as objects or as text such as ``POINT (16 48)`` or ``48°, 16°``."""
    for name in table.columns:
        if plain_name(name) not in PAIRS:
            continue
        points: Any = table[name].array
        if getattr(getattr(points, "crs", None), "is_projected", False):
            points = points.to_crs("EPSG:4326")
        if set(getattr(points, "geom_type", ())) == {"Point"}:
            return table.assign(lon=points.x, lat=points.y)
        text = table[name].astype("string")
        for pattern, order in ((WKT, ["lon", "lat"]), (PAIR, ["lat", "lon"])):
            found = text.str.extract(pattern).set_axis(order, axis=1).astype("Float64")
            if found.lon.notna().any():
                return table.assign(lon=found.lon.astype(float), lat=found.lat.astype(float))
    return table


def _mended(table: pd.DataFrame, found: dict[str, str]) -> pd.DataFrame:
    """Loggers write N or S, E or W into a column beside, and the date and the time into two."""
    plain, theirs = {plain_name(n): n for n in table.columns}, {o: n for n, o in found.items()}
    fresh = {}
    for ours, beside in (("lat", "ns"), ("lon", "ew")):
        if ours in theirs and beside in plain:
            fresh[theirs[ours]] = table[theirs[ours]].astype(str) + table[plain[beside]].astype(str)
    date, clock = plain.get("date"), plain.get("time")
    if date and clock and theirs.get("started_at") in (date, clock):
        six, one = r"^(\d\d)(\d\d)(\d\d)$", table[clock].astype(str).str.strip()
        one = one.str.replace(six, r"\1:\2:\3", regex=True)
        if one.str.match(r"\d{1,2}:\d\d").all():
            day = table[date].astype(str).str.strip().str.replace(six, r"20\1-\2-\3", regex=True)
            fresh[theirs["started_at"]] = day + " " + one
    return table.assign(**fresh)


def whole_ids(table: pd.DataFrame) -> pd.DataFrame:
    """Ids as numbers where all are written as Python writes whole numbers: "007" is not 7."""
    table = plain_types(table)
    for name in {"user_id", "location_id"} & {*table.columns}:
        ids, known = table[name], table[name].dropna()
        if pd.api.types.is_float_dtype(ids.dtype) or ids.dtype == "Int64":
            whole = len(known) == len(ids) and (known % 1 == 0).all()  # a gap made them fractions
        else:
            texts = known.unique() if len(known) else [None]
            whole = all(isinstance(one, str) and WHOLE_NUMBER.fullmatch(one) for one in texts)
        if whole:
            table[name] = ids.astype("Int64" if len(known) < len(ids) else "int64")
    return table


def with_numbers(table: pd.DataFrame, *, strict: bool) -> pd.DataFrame:
    """Degrees and measures of quality as numbers; of ``strict`` tables what is none stays."""
    fresh: dict[str, Any] = {}
    for name in {"lon", "lat"} & {*table.columns}:
        fresh[name] = _degrees(table[name], table.attrs["called"].get(name, name), strict)
    if not strict:
        for name in {"accuracy", "hdop"} & {*table.columns}:
            fresh[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
        for name, bad in (("valid", NO), ("outdated", YES)):
            if name in table.columns:
                text = table[name].astype(str).str.strip().str.lower()
                fresh["valid"] = ~text.isin(bad) & fresh.get("valid", True)
    return table.assign(**fresh)


def _degrees(values: pd.Series, theirs: str, strict: bool) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        text = values.astype("string").str.strip().str.upper()
        part = text.str.extract(DEGREES)
        number = part[1].str.replace(",", ".").astype("Float64").astype(float)
        if strict and (number.isna() & text.notna()).any():
            return values  # `check` says which
        values = number.where(~part[0].fillna(part[2]).isin(["S", "W"]), -number)
    values = values.astype(float)
    whole = (values.dropna() % 1 == 0).all() and (values.abs() > 36_000).any()
    return values / 1e7 if plain_name(theirs).endswith("e7") or whole else values
