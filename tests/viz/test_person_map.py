"""One person on a map: everything is where it belongs, and hostile names are text."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from pgt.errors import DataError
from pgt.visits import check
from pgt.viz.person_map import HIGH, LARGEST, WIDE, PersonMap, person_map

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


def circles(drawn: PersonMap, kind: str) -> dict[str, tuple[float, float, float]]:
    """Where circles stand and how large they are, by what they say."""
    soup = BeautifulSoup(drawn.drawing, "html.parser")
    found = {}
    for one in soup.find_all("circle", class_=kind):
        x, y, r = (float(str(one[name])) for name in ("cx", "cy", "r"))
        found[one.get_text()] = (x, y, r)
    return found


def test_places_lie_as_in_the_world_and_areas_are_shares() -> None:
    drawn = person_map(*scene())
    past, guess = circles(drawn, "past"), circles(drawn, "guess")
    assert len(past) == 3 and len(guess) == 2
    x = {name.split(":")[0]: at[0] for name, at in past.items()}
    assert x["place0"] < x["place1"] < x["place2"]
    assert x["place1"] - x["place0"] == pytest.approx(x["place2"] - x["place1"], abs=0.2)
    (one,), (other,) = ([at[2] for name, at in guess.items() if f"guess {i}" in name]
                        for i in (1, 2))  # fmt: skip
    assert one**2 / other**2 == pytest.approx(2, rel=0.02)
    assert one == pytest.approx(LARGEST * 0.5**0.5, abs=0.06)
    ((last, at),) = circles(drawn, "last").items()
    assert last == "last visit: place0" and at[0] == x["place0"]
    assert all(0 < at[0] < WIDE and 0 < at[1] < HIGH for at in past.values())


def test_the_date_line_is_no_gap() -> None:
    visits, guesses = scene(lon=179.99)
    around = visits.assign(lon=(visits.lon + 180) % 360 - 180)
    assert around.lon.min() < 0 < around.lon.max()
    here, there = person_map(*scene()), person_map(around, guesses)
    for kind in ("past", "guess", "last"):
        ours, theirs = circles(here, kind), circles(there, kind)
        assert all(ours[name] == pytest.approx(theirs[name], abs=0.3) for name in ours)


def test_one_far_journey_does_not_hide_the_town() -> None:
    visits, guesses = scene()
    away = visits.tail(1).assign(
        location_id="far", lon=-70.0, started_at=visits.started_at.min() - pd.Timedelta(days=1)
    )
    drawn = person_map(pd.concat([away, visits]), guesses)
    assert "1 place lies outside the map" in drawn.caption
    assert circles(drawn, "guess") == circles(person_map(*scene()), "guess")
    assert "far" in drawn.table.place.tolist()


def test_the_table_says_the_same() -> None:
    drawn = person_map(*scene())
    assert drawn.table.place.tolist() == ["place1", "place0", "place2"]
    assert drawn.table.probability.tolist() == ["0.500", "0.250", ""]
    assert drawn.table.visits.tolist() == [40, 20, 20]


def test_a_place_without_coordinates_is_in_the_table_alone() -> None:
    visits, guesses = scene()
    named = guesses.assign(location_id=["nowhere", "place0"])
    drawn = person_map(visits, named)
    assert len(circles(drawn, "guess")) == 1 and drawn.table.place[0] == "nowhere"


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
