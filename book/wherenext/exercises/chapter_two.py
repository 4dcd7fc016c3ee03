"""Answers to the exercises of chapter 2, on fixes, staypoints and what they recover."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from pgt import gps
from pgt.visits import spread
from wherenext import city
from wherenext.exercises.answer import ANSWERS, Answer, Field
from wherenext.fixes import simulate_fixes, true_visits
from wherenext.gps_matching import match, recovery

DAYS, PEOPLE = 28, 8


@cache
def _town() -> city.City:
    return city.load()


@cache
def _truth() -> pd.DataFrame:
    """The first four weeks of the people with most visits in theirs."""
    town = _town()
    all_visits = true_visits(town, town.people.user_id.tolist(), days=DAYS)
    people = all_visits.user_id.value_counts().index[:PEOPLE]
    return all_visits[all_visits.user_id.isin(people)]


@cache
def _fixes(noise_m: float = 5.0) -> pd.DataFrame:
    people = sorted(_truth().user_id.unique().tolist())
    return simulate_fixes(_town(), people, days=DAYS, every_s=60, noise_m=noise_m)


@ANSWERS.to("2.1")
def _half_axes() -> Answer:
    lat, lon = np.radians([60, 25])
    east_west, north_south = 20 * np.cos(lat), 20 / np.cos(lon)
    return Answer(
        [east_west, north_south],
        (
            ([north_south, east_west], "the two are exchanged: east-west comes first."),
            (
                [20 * np.cos(lon), 20 / np.cos(lat)],
                "the shrinking comes from the latitude, the stretching from the longitude.",
            ),
        ),
        atol=0.1,
        fields=(Field("East-west", "m"), Field("North-south", "m")),
        then="The circle has become an ellipse, more than twice as long as it is wide.",
    )


@ANSWERS.to("2.2")
def _middles() -> Answer:
    fixes = _fixes(noise_m=0.0)
    stays = gps.generate_staypoints(fixes)
    # Each fix's staypoint, since a staypoint's fixes are consecutive rows.
    row, within = spread(stays.n_fixes.to_numpy())
    own = fixes.iloc[stays.first_fix.to_numpy()[row] + within]
    means = own[["lon", "lat"]].groupby(row).mean()
    pairs = [match(table, _truth()).metres for table in (stays, stays.assign(**means))]
    before, after = (float(metres.median()) for metres in pairs)
    return Answer(
        [before, after],
        (
            ([after, before], "the two are exchanged: the different positions come first."),
            (
                [float(metres.mean()) for metres in pairs],
                "these are means; a few far ones decide them. Take medians.",
            ),
        ),
        atol=0.01,
        fields=(Field("With the different positions", "m"), Field("With all fixes", "m")),
        then="A receiver without noise repeats its position, and repeated fixes must count.",
        code=True,
    )


@ANSWERS.to("2.3")
def _generous() -> Answer:
    stays = gps.generate_staypoints(_fixes())

    def scores(min_samples: int) -> list[float]:
        found = gps.merge_staypoints(*gps.generate_locations(stays, min_samples=min_samples))
        return recovery(found, _truth(), people=False).loc[0, ["recall", "precision"]].tolist()

    recall, precision = scores(1)
    return Answer(
        [recall, precision],
        (
            ([precision, recall], "the two are exchanged: recall comes first."),
            (scores(2), "that is min_samples=2, as published."),
        ),
        atol=0.01,
        fields=(Field("Recall", "%"), Field("Precision", "%")),
        then="The price is a vocabulary in which most places appear once.",
        code=True,
    )


@ANSWERS.to("2.4")
def _ends() -> Answer:
    fixes = _fixes()
    stays = gps.generate_staypoints(fixes)

    def scores(ended: pd.Series) -> list[float]:
        table = recovery(stays.assign(finished_at=ended), _truth(), people=False)
        return table.loc[0, ["end_late", "f1"]].tolist()

    row = stays.first_fix + stays.n_fixes - 1
    last = fixes.tracked_at.iloc[row].reset_index(drop=True)
    silent = stays.finished_at - last
    return Answer(
        scores(stays.finished_at.mask(silent > pd.Timedelta(hours=2), last)),
        (
            (scores(stays.finished_at), "these are the ends as published."),
            (
                scores(last),
                "you moved all ends; only those after more than two hours of silence should move.",
            ),
        ),
        atol=0.01,
        fields=(Field("Ends late by", "minutes"), Field("F1", "%")),
        then="Most of the error goes, and hardly any stay.",
        code=True,
    )
