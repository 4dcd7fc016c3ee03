"""What people write when they ask: moments, numbers, a person; understood, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.io.times import moment_of
from pgt.refusals.settings import MOST_SEED
from pgt.visits import YEARS, unknown_zone


def moment(value: Any, zone: str | tzinfo | None, name: str = "at") -> pd.Timestamp:
    """What somebody wrote, by the clocks of a zone.

    Parameters
    ----------
    value : str, datetime or Timestamp
        Text is ISO 8601, with an offset as tables may write it (``+02:00``, ``+2``, ``UTC``); what
        names none is local time.
    zone : str or tzinfo, optional
        Without it a moment keeps its own zone, and must name one.
    name : str
        What it is, for a refusal.

    Returns
    -------
    Timestamp
        With time zone. A clock that is put forward skips an hour: what lies in it becomes the first
        moment after it. Of an hour that is there twice, it is the first.

    Raises
    ------
    DataError
        It is no moment, is far away, or has no time zone and needs one.

    Examples
    --------
    >>> str(moment("2024-05-01 12:00", "Europe/Vienna"))
    '2024-05-01 12:00:00+02:00'
    >>> str(moment("2024-05-01T12:00+00:00", "Europe/Vienna"))
    '2024-05-01 14:00:00+02:00'
    """
    try:
        if isinstance(value, str):
            value = moment_of(value)
        if not isinstance(value, date | np.datetime64):  # a datetime and a Timestamp are dates
            raise TypeError
        found = pd.Timestamp(value)
        years = found.year  # of NaT it is no number
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{name} is {value!r}; write a moment as ISO 8601 has it, such as "
            "2024-05-01T12:00+02:00, or without an offset for local time."
        ) from None
    if not YEARS[0] <= years <= YEARS[1]:
        raise DataError(
            f"{name} is {value!r}, which is no moment near us; the years {YEARS[0]} to {YEARS[1]} "
            "go."
        )
    if zone is None and found.tz is None:
        raise DataError(
            f"{name} is {found}, without a time zone; write one, as in {found}+02:00, or name the "
            "local one with NextLocation(timezone=...)."
        )
    if zone is None:
        return found
    try:
        if found.tz is not None:
            return found.tz_convert(zone)
        return found.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    except (KeyError, ValueError, OSError):
        raise unknown_zone(zone) from None


def whole(value: Any, name: str, *, least: int = 1, most: int = 2**31 - 1) -> None:
    """Refuse what is no whole number within bounds.

    Examples
    --------
    >>> whole(0, "top")
    Traceback (most recent call last):
    pgt.errors.DataError: top is 0; it must be a whole number, at least 1.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} is {value!r}; it must be a whole number, at least {least}.")
    if value > most:
        raise DataError(f"{name} is {value!r}; it must be a whole number, at most {most}.")


def seed(value: Any) -> None:
    """Refuse what cannot seed random numbers.

    Examples
    --------
    >>> seed(-1)
    Traceback (most recent call last):
    pgt.errors.DataError: seed is -1; it must be a whole number, at least 0.
    """
    whole(value, "seed", least=0, most=MOST_SEED)


def one_of(choices: Sequence[str], value: Any, name: str) -> None:
    """Refuse what is none of some words.

    Examples
    --------
    >>> one_of(("a", "b"), "c", "model")
    Traceback (most recent call last):
    pgt.errors.DataError: model is 'c'; it must be one of a, b.
    """
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{name} is {value!r}; it must be one of {', '.join(choices)}.")


def number(coverage: Any) -> float:
    """A share, whose bounds the model knows.

    Examples
    --------
    >>> number("0.9")
    Traceback (most recent call last):
    pgt.errors.DataError: coverage is '0.9'; it must be a number, say 0.9.
    """
    if not isinstance(coverage, Real):
        raise DataError(f"coverage is {coverage!r}; it must be a number, say 0.9.")
    return float(coverage)


def required(user: Any) -> Any:
    """A person, who must be named.

    Examples
    --------
    >>> required("ann")
    'ann'
    """
    if user is None:
        raise DataError("user is None; this is about one person, so name one of the table.")
    return user
