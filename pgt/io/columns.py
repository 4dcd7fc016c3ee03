"""What others call the columns of a table of visits."""

from __future__ import annotations

import re

import pandas as pd

from pgt.errors import DataError
from pgt.visits import REQUIRED

# Lower case, letters and digits only: "Check-in time" is checkintime.
ALIASES = {
    "user_id": ("userid", "user", "uid", "person", "personid", "userids"),
    "location_id": (
        "locationid", "location", "venueid", "venue", "placeid", "place", "poiid", "poi",
    ),
    "started_at": (
        "startedat", "start", "starttime", "arrival", "arrivedat", "arrivaltime", "checkintime",
        "checkinat", "checkin", "time", "timestamp", "datetime", "localtime", "utctime",
    ),
    "finished_at": (
        "finishedat", "finish", "end", "endtime", "endedat", "departure", "departuretime",
        "departedat", "leftat", "checkouttime", "checkout",
    ),
    "lon": ("lon", "lng", "long", "longitude"),
    "lat": ("lat", "latitude"),
}  # fmt: skip

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def says_utc(name: str) -> bool:
    """Whether the name of a column says that its times are in UTC.

    Examples
    --------
    >>> says_utc("UTC time"), says_utc("local time")
    (True, False)
    """
    return "utc" in re.split(r"[^a-z0-9]+", name.lower()) or _plain(name) == "utctime"


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of 64 bits, as Python writes it.

    Examples
    --------
    >>> [is_whole(text) for text in ("7", "-7", "007", "+7", "--7", "9" * 5000)]
    [True, True, False, False, False, False]
    """
    return WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**64


def id_columns(table: pd.DataFrame) -> set[str]:
    """Columns that may hold ids, in which "007" is not 7.

    Examples
    --------
    >>> id_columns(pd.DataFrame(columns=["User ID", "rating"]))
    {'User ID'}
    """
    names = (*ALIASES["user_id"], *ALIASES["location_id"])
    return {name for name in table.columns if _plain(name) in names}


def recognized(table: pd.DataFrame) -> dict[str, str]:
    """Columns that are missing under our name and there under another.

    Parameters
    ----------
    table : DataFrame
        As it was found.

    Returns
    -------
    dict
        Names in the file -> names in the project, both coordinates or none.

    Raises
    ------
    DataError
        Two columns could be the same one of ours, and it is one that is required.

    Examples
    --------
    >>> recognized(pd.DataFrame(columns=["User ID", "Venue ID", "Check-in time", "rating"]))
    {'User ID': 'user_id', 'Venue ID': 'location_id', 'Check-in time': 'started_at'}
    """
    plain = {str(name): _plain(name) for name in table.columns}
    found = {}
    for ours, aliases in ALIASES.items():
        theirs = [name for name, short in plain.items() if short in aliases]
        if ours in plain or not theirs:
            continue
        if len(theirs) == 1:
            found[theirs[0]] = ours
        elif ours in REQUIRED:
            raise DataError(
                f"Both '{theirs[0]}' and '{theirs[1]}' could be {ours}; say which with "
                f"columns={{'{ours}': '{theirs[0]}'}} (--columns {ours}='{theirs[0]}')."
            )
    coordinates = [name for name in found if found[name] in ("lon", "lat")]
    has = len(coordinates) + sum(name in plain for name in ("lon", "lat"))
    if has == 1:
        found = {name: ours for name, ours in found.items() if name not in coordinates}
    return found
