"""Raw positions of the simulated town's people, as bad as wanted, with the truth beside them.

Real position fixes never say where the person *was*. These do: each carries the visit that it
belongs to. Every imperfection of the receiver is one parameter with a stream of random numbers of
its own, so turning one of them leaves the others as they were, number by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from pgt.errors import DataError
from pgt.visits import microseconds
from wherenext.city.simulation import City
from wherenext.city.streets import Streets

SPEEDS = (1.4, 4.2, 9.0)  # metres a second: on foot, by bicycle, by bus or car
DAY = 86_400
JUMP_MINUTES = 1.5  # how long a reflected signal lasts, on average


def true_visits(city: City, people: Sequence[int], *, days: int | None = None) -> pd.DataFrame:
    """The visits that `simulate_fixes` records, with the row labels that its fixes carry.

    Parameters
    ----------
    city : City
    people : sequence of int
        Their ``user_id``.
    days : int, optional
        Those that begin in so many calendar days from each person's first one on; all without.

    Returns
    -------
    DataFrame
        Rows of ``city.visits``.

    Examples
    --------
    >>> from pgt import city
    >>> true_visits(city.load(), [4], days=3).kind.tolist()[:3]
    ['home', 'park', 'work']
    """
    missing = sorted(set(people) - set(city.visits.user_id))
    if missing:
        raise DataError(f"There is no visit of person {missing[0]!r}; choose from city.people.")
    if days is not None and days < 1:
        raise DataError(f"days={days} must be at least 1.")
    visits = city.visits[city.visits.user_id.isin(list(people))]
    if days is None:
        return visits
    day = visits.started_at.dt.normalize()
    first = day.groupby(visits.user_id).transform("min")
    return visits[day < first + pd.Timedelta(days=days)]


def simulate_fixes(
    city: City,
    people: Sequence[int],
    *,
    days: int | None = None,
    seed: int = 7,
    every_s: int = 30,
    noise_m: float = 5.0,
    noise_minutes: float = 5.0,
    jumps_per_day: float = 2.0,
    jump_m: float = 100.0,
    gaps_per_day: float = 1.0,
    gap_minutes: float = 45.0,
    indoor_loss: float = 0.5,
    off_after_minutes: float = 120.0,
) -> pd.DataFrame:
    """Record where people of the simulated city were, with a receiver that is not perfect.

    During a visit people are at the place. Between two visits they follow the streets, on foot if
    there is time for it, else by bicycle, else by bus or car; who has time to spare goes a longer
    way round, and who has too little even for a car just goes faster. The exception are pauses of
    more than ``off_after_minutes``: nobody knows where they were, so nothing is recorded.

    Parameters
    ----------
    city : City
    people : sequence of int
        Their ``user_id``.
    days : int, optional
        Calendar days from each person's first one on (see `true_visits`); all without.
    seed : int
        The same seed gives the same fixes. Each person has random numbers of their own.
    every_s : int
        Seconds between two fixes, 1 to 3600.
    noise_m : float
        Standard deviation of the error east and that north, metres, 0 to 1000; a telephone
        under open sky has about 5. The error is a first-order autoregression: it drifts.
    noise_minutes : float
        After so many minutes an error has faded to 1/e of itself (0: every fix errs anew).
    jumps_per_day : float
        Jumps in 24 hours of recording, at least 0: a signal that comes over a wall moves the
        position by a random distance in a random direction, for about a minute and a half.
    jump_m : float
        Mean of that distance, which is exponentially distributed; metres, at least 0.
    gaps_per_day : float
        How often in 24 hours the recorder goes off, at least 0.
    gap_minutes : float
        Mean of the exponentially distributed time until it is on again; at least 0.
    indoor_loss : float
        Share of every stay without a fix, 0 to 1: its middle, since the sky is lost a while after
        the person went in and found again before they leave. With 1 the whole stay is silent.
    off_after_minutes : float
        The recorder is off in pauses between visits that are longer; at least 0.

    Returns
    -------
    DataFrame
        By person and time: ``user_id``, ``tracked_at`` (UTC), ``lon``, ``lat`` (degrees, six
        decimals) and the truth, ``visit``: the row label in ``city.visits``, -1 on the way.

    Raises
    ------
    DataError
        There is no such person, or a parameter is out of its range.

    Notes
    -----
    A Gauss-Markov process is the usual model of a receiver's drifting error; the sizes here are
    plausible, not fitted to a device.

    Examples
    --------
    >>> from pgt import city
    >>> fixes = simulate_fixes(city.load(), [4], days=1, every_s=600, gaps_per_day=0)
    >>> list(fixes), fixes.tracked_at.dt.tz
    (['user_id', 'tracked_at', 'lon', 'lat', 'visit'], datetime.timezone.utc)
    """
    for name, value, low, high in (
        ("every_s", every_s, 1, 3600), ("noise_m", noise_m, 0, 1000),
        ("noise_minutes", noise_minutes, 0, np.inf), ("jumps_per_day", jumps_per_day, 0, np.inf),
        ("jump_m", jump_m, 0, np.inf), ("gaps_per_day", gaps_per_day, 0, np.inf),
        ("gap_minutes", gap_minutes, 0, np.inf), ("indoor_loss", indoor_loss, 0, 1),
        ("off_after_minutes", off_after_minutes, 0, np.inf),
    ):  # fmt: skip
        if not low <= value <= high:
            least = f"between {low} and {high}" if high < np.inf else f"at least {low}"
            raise DataError(f"{name}={value:g} must be {least}.")
    if every_s != int(every_s):
        raise DataError(f"every_s={every_s:g} must be whole seconds.")
    visits = true_visits(city, people, days=days)
    streets, frames = _streets(city), []
    for user, own in visits.groupby("user_id", sort=True):
        at, xy, visit = _life(own, streets, int(every_s), 60 * off_after_minutes)
        drift, jump, gap = (
            np.random.default_rng([seed, int(user), stream]) for stream in range(3)
        )  # fmt: skip
        minutes = every_s / 60
        xy += noise_m * _drift(drift, len(at), minutes, noise_minutes)
        xy += jump_m * _jumps(jump, len(at), minutes, jumps_per_day)
        heard = _last_start(gap, len(at), minutes, gaps_per_day, gap_minutes) < 0
        heard &= (visit >= -1) & ~_indoors(at, visit, own, indoor_loss)
        lon, lat = streets.plane.degrees(xy[heard]).round(6).T
        label = np.append(own.index.to_numpy(), -1)  # the last for those on the way
        frames.append(
            pd.DataFrame(
                {
                    "user_id": user,
                    "tracked_at": pd.to_datetime(at[heard], unit="s", utc=True).as_unit("us"),
                    "lon": lon,
                    "lat": lat,
                    "visit": label[visit[heard]],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


_LAST: list[tuple[ref[City], Streets]] = []


def _streets(city: City) -> Streets:
    """A city's streets; those of the last city are remembered, with the ways searched so far."""
    if not _LAST or _LAST[0][0]() is not city:
        _LAST[:] = [(ref(city), Streets(city.base))]
    return _LAST[0][1]


def _seconds(times: pd.Series) -> np.ndarray:
    return microseconds(times) // 1_000_000


def _life(
    own: pd.DataFrame, streets: Streets, every: int, off_after: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One person's true course.

    Returns ``(N,)`` Unix seconds, ``(N, 2)`` metres, and ``(N,)`` which visit it is, counted from
    0; -1 on the way, -2 where nothing is known.
    """
    begin, end = _seconds(own.started_at), _seconds(own.finished_at)
    spot = streets.plane.metres(own.lon, own.lat)
    pause = begin[1:] - end[:-1]
    when, where = [], []
    for i in range(len(own)):
        when += [begin[i : i + 1], end[i : i + 1]]
        where += [spot[[i]], spot[[i]]]
        if i < len(pause) and 0 < pause[i] <= off_after:
            way = streets.route(spot[i], spot[i + 1], [speed * pause[i] for speed in SPEEDS])
            gone = np.concatenate([[0], np.hypot(*np.diff(way, axis=0).T).cumsum()])
            when.append(end[i] + pause[i] * gone / max(gone[-1], 1e-9))
            where.append(way)
    at = np.arange(-(-begin[0] // every) * every, end[-1] + 1, every)
    course, knots = np.concatenate(where), np.concatenate(when)
    xy = np.stack([np.interp(at, knots, axis) for axis in course.T], axis=1)
    visit = np.searchsorted(begin, at, side="right") - 1
    away = at > end[visit]
    known = np.append(pause <= off_after, False)
    return at, xy, np.where(away, np.where(known[visit], -1, -2), visit)


def _drift(rng: np.random.Generator, n: int, minutes: float, fades: float) -> np.ndarray:
    """(N, 2) errors of standard deviation 1 that fade to 1/e in ``fades`` minutes."""
    kept = float(np.exp(-minutes / fades)) if fades else 0.0
    shock = rng.standard_normal((n, 2))
    shock[1:] *= np.sqrt(1 - kept**2)  # the first error already has the full size
    return np.asarray(lfilter([1.0], [1.0, -kept], shock, axis=0))


def _last_start(
    rng: np.random.Generator, n: int, minutes: float, per_day: float, lasts: float
) -> np.ndarray:
    """(N,) the row at which the episode that covers a row began; -1 if none does.

    Fewer episodes are some of the many, and shorter ones lie inside the longer.
    """
    chance, length = rng.random(n), rng.exponential(size=n)
    row = np.arange(n)
    starts = chance < per_day * minutes / (24 * 60)
    until = np.where(starts, row + length * lasts / minutes, -1.0)
    latest = np.maximum.accumulate(until)
    owner = np.maximum.accumulate(np.where(until >= latest, row, -1))
    return np.where(latest > row, owner, -1)


def _jumps(rng: np.random.Generator, n: int, minutes: float, per_day: float) -> np.ndarray:
    """(N, 2) shifts by distances of mean 1, zero between the jumps."""
    angle, far = rng.uniform(0, 2 * np.pi, n), rng.exponential(size=n)
    shift = (far * np.stack([np.cos(angle), np.sin(angle)])).T
    owner = _last_start(rng, n, minutes, per_day, JUMP_MINUTES)
    return np.where((owner >= 0)[:, None], shift[owner], 0.0)


def _indoors(at: np.ndarray, visit: np.ndarray, own: pd.DataFrame, share: float) -> np.ndarray:
    """(N,) whether the stay's silent middle has begun and not ended."""
    begin, end = _seconds(own.started_at)[visit], _seconds(own.finished_at)[visit]
    silent: Any = np.abs(at - (begin + end) / 2) <= share * (end - begin) / 2
    return (visit >= 0) & (share > 0) & silent
