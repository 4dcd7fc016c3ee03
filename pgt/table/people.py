"""The people of a table: who is meant, what marks them, what is known of them at a moment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import pandas as pd

from pgt.errors import DataError

FIRST = 3  # of a person's visits, which tell them from whoever else has the same id

Id = int | str


def first_visits(visits: pd.DataFrame) -> Iterable[tuple[Id, Id, int]]:
    """Person, place and second (of UTC, since 1970) of everybody's first visits.

    Parameters
    ----------
    visits : DataFrame
        By person and time, as `pgt.visits.check` sorts them.
    """
    few = visits.groupby("user_id", sort=False).head(FIRST)
    at = few.started_at.dt.tz_convert("UTC").dt.as_unit("s").astype("int64")
    return zip(few.user_id.tolist(), few.location_id.tolist(), at.tolist(), strict=True)


def marks_of(visits: Iterable[tuple[Id, Id, int]]) -> dict[Id, str]:
    """A short hash of each person's visits, which are given as by `first_visits`.

    Examples
    --------
    >>> marks_of([(7, "home", 0), (7, "work", 3600)])
    {7: '7322e164a069'}
    """
    own: dict[Id, list[tuple[Id, int]]] = {}
    for user, place, at in visits:
        own.setdefault(user, []).append((place, at))
    return {
        user: hashlib.sha256(json.dumps([user, rows]).encode()).hexdigest()[:12]
        for user, rows in own.items()
    }


def find_user(visits: pd.DataFrame, name: Any) -> Any:
    """The ``user_id`` written as ``name``, say "7" for 7.

    Raises
    ------
    DataError
        When the table has nobody of that name.
    """
    users = visits.user_id.unique()
    for user in users:
        if str(user) == str(name):
            return user
    some = ", ".join(map(str, users[:3])) + (", …" if len(users) > 3 else "")
    raise DataError(
        f"There is no user '{name}' in the table (it has {len(users)}: {some}); check the id."
    )


def until(visits: pd.DataFrame, at: pd.Timestamp | None) -> pd.DataFrame:
    """What is known at a moment: visits that began before it, one that goes on ending then.

    Raises
    ------
    DataError
        The moment has no time zone.
    """
    if at is None:
        return visits.reset_index(drop=True)
    if at.tz is None:
        raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
    at = at.tz_convert(visits.started_at.dt.tz)
    visits = visits[visits.started_at <= at]
    ended = visits.finished_at.where(visits.finished_at <= at, at)
    return visits.assign(finished_at=ended).reset_index(drop=True)


def nobody_before(at: pd.Timestamp | None, user: Any = None) -> DataError:
    """The refusal to ask where a person, or anybody, goes who has no visit yet.

    Examples
    --------
    >>> nobody_before(pd.Timestamp("1999-01-01"), user=7)
    DataError('User 7 has no visit before 1999-01-01 00:00:00; choose a later moment.')
    """
    who, has = ("Nobody in the table", "has a") if user is None else (f"User {user}", "has no")
    return DataError(f"{who} {has} visit before {at}; choose a later moment.")
