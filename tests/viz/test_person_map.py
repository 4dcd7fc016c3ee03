"""One person on a map: everything is where it belongs, and hostile names are text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from wherenext.viz.basemap import UNIT, MapFigure
from wherenext.viz.person_map import person_map

from pgt.errors import DataError
from pgt.visits import check

from ..helpers import routine_visits
from ..hostile import HOSTILE


def scene(name: str = "place", lon: float = 16.4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One person's visits to four places in a row to the east, and two guesses."""
    visits = check(routine_visits(users=1, days=20))
    number = visits.location_id
    visits = visits.assign(location_id=name + number.astype(str), lon=lon + number * 0.01, lat=48.2)
    guesses = pd.DataFrame(
        {"user_id": 0, "rank": [1, 2], "location_id": [f"{name}1", f"{name}0"],
         "probability": [0.5, 0.25], "somewhere_new": 0.1}
    )  # fmt: skip
    return visits, guesses


def spots(drawn: MapFigure) -> dict[str, np.ndarray]:
    """Where places lie, in units east and north of the most visited one."""
    return dict(zip(drawn.data["names"], np.array(drawn.data["spots"]), strict=True))


def in_view(drawn: MapFigure) -> set[str]:
    """The places that the map shows at first."""
    return {drawn.data["names"][place] for place in drawn.data["view"]}


def test_places_lie_as_in_the_world() -> None:
    visits, guesses = scene()
    drawn = person_map(visits, guesses)
    where = visits.groupby("location_id").first()
    home = where.loc["place1"]
    for name, at in spots(drawn).items():
        assert at * UNIT == pytest.approx(
            [where.lon[name] - home.lon, where.lat[name] - home.lat], abs=UNIT
        )
    assert drawn.data["shrink"] == pytest.approx(np.cos(np.radians(48.2)), abs=1e-4)
    assert in_view(drawn) == {"place0", "place1", "place2"}


def test_the_marks_are_the_visits_and_the_guesses() -> None:
    page = person_map(*scene()).data
    assert dict(zip(page["names"], page["visits"], strict=True)) == {
        "place0": 20, "place1": 40, "place2": 20,
    }  # fmt: skip
    assert page["all"] == 80 and page["names"][page["last"]] == "place0"
    guesses = [(page["names"][place], rank, p) for place, rank, p in page["guesses"]]
    assert guesses == [("place1", 1, 0.5), ("place0", 2, 0.25)]


def test_the_date_line_is_no_gap() -> None:
    visits, guesses = scene(lon=179.99)
    around = visits.assign(lon=(visits.lon + 180) % 360 - 180)
    assert around.lon.min() < 0 < around.lon.max()
    here, there = spots(person_map(*scene())), spots(person_map(around, guesses))
    assert all(np.abs(here[name] - there[name]).max() <= 1 for name in here)


def test_one_far_journey_does_not_hide_the_town() -> None:
    visits, guesses = scene()
    away = visits.tail(1).assign(
        location_id="far", lon=-70.0, started_at=visits.started_at.min() - pd.Timedelta(days=1)
    )
    drawn = person_map(pd.concat([away, visits]), guesses)
    assert "1 place may lie outside the map at first" in drawn.caption
    assert in_view(drawn) == {"place0", "place1", "place2"} and "far" in spots(drawn)
    assert "far" in drawn.table.place.tolist()


def test_a_far_guess_is_in_view() -> None:
    visits, guesses = scene()
    away = visits.head(1).assign(
        location_id="far", lon=-70.0, started_at=visits.started_at.min() - pd.Timedelta(days=1)
    )
    drawn = person_map(pd.concat([away, visits]), guesses.assign(location_id=["far", "place0"]))
    assert "far" in in_view(drawn)


def test_the_table_says_the_same() -> None:
    drawn = person_map(*scene())
    assert drawn.table.place.tolist() == ["place1", "place0", "place2"]
    assert drawn.table.probability.tolist() == ["0.500", "0.250", ""]
    assert drawn.table.visits.tolist() == [40, 20, 20]


def test_a_place_without_coordinates_is_in_the_table_alone() -> None:
    visits, guesses = scene()
    named = guesses.assign(location_id=["nowhere", "place0"])
    drawn = person_map(visits, named)
    assert [rank for _, rank, _ in drawn.data["guesses"]] == [2]
    assert drawn.table.place[0] == "nowhere"


@pytest.mark.parametrize("columns", [["lon"], ["lon", "lat"]])
def test_without_coordinates_there_is_no_map(columns: list[str]) -> None:
    visits, guesses = scene()
    with pytest.raises(DataError, match="'lon' and 'lat'"):
        person_map(visits.drop(columns=columns), guesses)
    with pytest.raises(DataError, match="hold numbers"):
        person_map(visits.assign(lon=float("nan")), guesses)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_text(text: str) -> None:
    def skeleton(name: str) -> tuple[list[str], str]:
        visits, guesses = scene(name)
        visits["user_id"] = name
        page = person_map(visits, guesses.assign(user_id=name)).html()
        soup = BeautifulSoup(page, "html.parser")
        return [tag.name for tag in soup.find_all()], soup.get_text()

    tags, said = skeleton(text)
    assert tags == skeleton("plain")[0], "text became a tag"
    assert said.count("1337") == 0
    flat = re.sub(r"\s+", " ", text).strip()
    assert flat in re.sub(r"\s+", " ", said)


def test_a_page_asks_for_nothing() -> None:
    page = person_map(*scene()).html()
    assert not re.search(r"(src|href)=|url\(|@import|fetch\(", page)
    assert replace(person_map(*scene()), title="x").html() != page
