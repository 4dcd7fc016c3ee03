"""Times as files write them: ISO 8601 and its common sloppy forms, read with their zone."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from pgt.errors import DataError
from pgt.visits import first_row, require_near, unknown_zone

# A UTC offset at the end of a time, and the longest text that can show one, with a digit before it.
OFFSET = r"\d\s*(Z|z|UTC|GMT|[+-]\d\d?(?::?\d\d)?)\s*$"
LONGEST = len("0 +02:00\n")
# Offsets that are rewritten: after a space, of one digit, by name.
SLOPPY = re.compile(r"(\d)\s*(?:(Z|UTC|GMT)|([+-])(\d\d?)(:?\d\d)?)$", re.IGNORECASE)
# A tail without such a thing is as it should be.
ODD = re.compile(r"[a-zA-Y]$|\s[+-]|[+-]\d(?::?\d\d)?$|\s$|\s?[zZ]$(?<!\dZ)|\N{MINUS SIGN}")
# A year shows so early. Where no digit stands, pandas may still see a time: "now", "today".
HEAD = 5
DATE = len("2024-5-1")  # the shortest that names a day


def neat(text: pd.Series) -> pd.Series:
    """Times with a clock and a sloppy offset, as ISO 8601 writes them; all others as they are.

    Examples
    --------
    >>> neat(pd.Series(["2024-05-01 09:00 +9", "2024-05-01 09:00 UTC ", "2024-05-01"])).tolist()
    ['2024-05-01 09:00+09', '2024-05-01 09:00Z', '2024-05-01']
    """
    text = text.astype("string")
    # Few tails are different, so only those are looked at.
    number, tails = pd.factorize(text.str[-LONGEST:])
    odd = np.array([bool(ODD.search(tail)) for tail in tails], dtype=bool)
    rows = np.flatnonzero((number >= 0) & odd[number]) if odd.any() else np.empty(0, dtype=int)
    if len(rows) == 0:
        return text
    found = [value.strip().replace("\N{MINUS SIGN}", "-") for value in text.iloc[rows]]
    clock = re.compile(r"\d[T ]\d")
    text = text.copy()
    text.iloc[rows] = [SLOPPY.sub(_rewritten, v) if clock.search(v) else v for v in found]
    return text


def _rewritten(found: re.Match[str]) -> str:
    digit, named, sign, hours, minutes = found.groups()
    return f"{digit}Z" if named else f"{digit}{sign}{hours:0>2}{minutes or ''}"


def moment_of(text: str) -> datetime:
    """A single moment in ISO 8601, whose offset may be as sloppy as in a table.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> moment_of("2024-05-01 09:00 +9").isoformat()
    '2024-05-01T09:00:00+09:00'
    """
    return datetime.fromisoformat(str(neat(pd.Series([text])).iloc[0]).strip())


def utc_offset(text: pd.Series) -> pd.Series:
    """Find the UTC offset that ends each time; missing where there is none.

    A bare date may end like an offset, but it has no clock.

    Examples
    --------
    >>> utc_offset(pd.Series(["2024-05-01 09:00+02:00", "2024-05-01 09:00"])).tolist()
    ['+02:00', <NA>]
    """
    text = text.astype("string")
    number, tails = pd.factorize(text.str[-LONGEST:])
    offset = pd.Series(tails, dtype="string").str.extract(OFFSET)[0].reindex(number)
    return offset.set_axis(text.index).where(text.str.contains(r"\d[T ]\d").fillna(False))


def moments(text: pd.Series) -> pd.Series:
    """Texts as moments in UTC, those without an offset as if they were in it; NaT where none is.

    A month or a year is no moment.

    Examples
    --------
    >>> moments(pd.Series(["2024-05-01 09:00 +9", "now", "2024-05"])).tolist()
    [Timestamp('2024-05-01 00:00:00+0000', tz='UTC'), NaT, NaT]
    """
    # From objects it is quicker than from Arrow's text.
    found = pd.to_datetime(text.astype(object), utc=True, format="ISO8601", errors="coerce")
    found = found.mask((text.str.len() < DATE).fillna(False))
    number, heads = pd.factorize(text.str[:HEAD])
    worded = np.array([not re.search(r"\d", head) for head in heads], dtype=bool)
    return found.mask((number >= 0) & worded[number]) if worded.any() else found


def strict(raw: pd.Series) -> pd.Series | None:
    """Texts in strict ISO 8601 that have an offset all of them, or none of them.

    Arrow reads these ten times as fast as `moments` does, and to the same times.

    Returns
    -------
    Series or None
        Moments in UTC, or times without a zone. None where a text is missing or sloppy, where only
        some have an offset, and where the column is not one of texts.

    Examples
    --------
    >>> strict(pd.Series(["2024-05-01 09:00+09:00", "2024-05-01T00:00:00Z"], dtype="str")).dtype
    datetime64[us, UTC]
    >>> strict(pd.Series(["2024-05-01 09:00 +9", "2024-05-01T00:00:00Z"], dtype="str")) is None
    True
    """
    if not isinstance(raw.dtype, pd.StringDtype) or raw.empty or raw.hasnans:
        return None
    for zone in ("UTC", None):
        with suppress(pa.ArrowInvalid):
            found = pa.array(raw).cast(pa.timestamp("us", zone)).to_pandas()
            return found.set_axis(raw.index).rename(raw.name)
    return None


def parse_times(
    raw: pd.Series,
    name: str,
    timezone: str | None,
    *,
    utc: bool = False,
    after: pd.Series | None = None,
) -> pd.Series:
    """Turn a column of text or times into local times with a zone.

    Parameters
    ----------
    raw : Series
        Text in ISO 8601, or times.
    name : str
        Of the column, for messages.
    timezone : str or None
        The local zone.
    utc : bool
        Times without a zone are in UTC; otherwise they are local.
    after : Series, optional
        Local times that these do not lie before. Where clocks go back an hour comes twice; the
        second one is meant where the first would lie before.

    Raises
    ------
    DataError
        A time cannot be read, or its zone is not known.
    """
    times, quick = raw, strict(raw)
    if quick is not None and (timezone is not None or quick.dt.tz is None):
        times = quick
    elif not pd.api.types.is_datetime64_any_dtype(raw):
        if pd.api.types.is_numeric_dtype(raw):
            raise DataError(
                f"Column '{name}' holds numbers, not times; write ISO 8601 times "
                "such as 2024-05-01T09:00:00+02:00."
            )
        text = neat(raw)
        offset = utc_offset(text)
        zoned = offset.notna()
        times = moments(text)
        bad = times.isna()
        if bad.any():
            value = raw[bad].iloc[0]
            raise DataError(
                f"{name} is {value!r} in {first_row(bad)}, which is no ISO 8601 time "
                "(such as 2024-05-01T09:00:00+02:00); correct it or drop the row."
            )
        require_near(times, name)
        if zoned.any() and not zoned.all():
            raise DataError(
                f"{name} has a time zone in some rows and none in {first_row(~zoned)}; "
                "write all of them the same way."
            )
        if not zoned.any():
            times = times.dt.tz_localize(None)
        elif timezone is None:
            offsets = offset.unique()
            if len(offsets) > 1:
                raise DataError(
                    f"{name} uses several UTC offsets ({offsets[0]}, {offsets[1]}, …); name the "
                    "local zone with timezone= (--timezone), for example Europe/Vienna."
                )
            return times.dt.tz_convert(pd.Timestamp(text.iloc[0]).tz)
    require_near(times, name)
    if utc and times.dt.tz is None:
        times = times.dt.tz_localize("UTC")
    if timezone is None:
        return times
    try:
        return _localized(times, timezone, after)
    except (LookupError, ValueError, OSError) as error:
        raise unknown_zone(timezone) from error


def _localized(times: pd.Series, timezone: str, after: pd.Series | None) -> pd.Series:
    if times.dt.tz is not None:
        return times.dt.tz_convert(timezone)
    # Clocks go back: the first of the two hours. Clocks go forward: the next valid time.
    first = np.ones(len(times), dtype=bool)
    local = times.dt.tz_localize(timezone, ambiguous=first, nonexistent="shift_forward")
    if after is None or after.dt.tz is None or not (early := local < after).any():
        return local
    second = times.dt.tz_localize(timezone, ambiguous=~first, nonexistent="shift_forward")
    return local.where(~early, second)
