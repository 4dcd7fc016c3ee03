"""Maps as folium writes them: layers, order of coordinates, escapes, and what is refused."""

from __future__ import annotations

import html
import re
from typing import Any

import folium
import numpy as np
import pandas as pd
import pytest
from folium.plugins import Timeline, TimelineSlider

from pgt import maps
from pgt.errors import DataError

VISITS = pd.DataFrame(
    {
        "location_id": ["home", "work", "home", "gym"],
        "lon": [16.1, 16.3, 16.1, 16.2],
        "lat": [48.1, 48.2, 48.1, 48.4],
        "attention": [0.5, 0.2, 0.2, 0.1],
        "started_at": pd.to_datetime(
            ["2024-04-01 00:00", "2024-04-01 09:00", "2024-04-01 18:00", "2024-04-02 07:00"]
        ).tz_localize("Europe/Vienna"),
    }
).assign(finished_at=lambda table: table.started_at + pd.Timedelta(hours=6))
GUESSES = pd.DataFrame({"location_id": ["home", "moon"], "probability": [0.25, 0.16]})
TRUTH = pd.DataFrame({"location_id": ["pub"], "lon": [16.5], "lat": [48.0]})
FLOWS = pd.DataFrame({"here": ["home", "home"], "there": ["work", "home"], "trips": [-3.0, 1.0]})
HEADS = np.full((2, 2, 4, 4), 0.25)


def every_map(**page: Any) -> dict[str, folium.Map]:
    return {
        "places": maps.places_map(VISITS, GUESSES, TRUTH, **page),
        "attention": maps.attention_map(VISITS, GUESSES, TRUTH, heads=HEADS, **page),
        "flows": maps.flow_map(FLOWS, VISITS, **page),
        "week": maps.week_map(VISITS, **page),
        "value": maps.value_map(VISITS.drop_duplicates("location_id"), "attention", **page),
    }


def layers(chart: folium.Map) -> dict[str, Any]:
    """What can be switched on and off, by name."""
    children = chart._children.values()
    return {one.layer_name: one for one in children if isinstance(one, folium.map.Layer)}


def features(layer: Any) -> list[dict[str, Any]]:
    (data,) = (one for one in layer._children.values() if isinstance(one, folium.GeoJson))
    found: list[dict[str, Any]] = data.data["features"]
    return found


def test_kinds_keep_the_order_of_their_category() -> None:
    kinds = pd.Categorical(["often", "rare", "often", "first"], ["first", "often", "rare"])
    shown = layers(maps.places_map(VISITS.assign(kind=kinds), by="kind"))
    assert [name for name in shown if name in kinds.categories] == ["first", "often", "rare"]


def test_places_are_discs_whose_area_is_their_visits_with_longitude_first() -> None:
    shown = layers(maps.places_map(VISITS, GUESSES, TRUTH))
    discs = {tuple(one["geometry"]["coordinates"]): one for one in features(shown["places"])}
    assert set(discs) == {(16.1, 48.1), (16.3, 48.2), (16.2, 48.4)}
    radius = {at: one["properties"]["style"]["radius"] for at, one in discs.items()}
    assert (radius[16.1, 48.1] / radius[16.3, 48.2]) ** 2 == pytest.approx(2, rel=0.02)
    (guess,) = features(shown["guesses"])  # the moon lies nowhere
    assert guess["properties"]["text"] == "1. home<br>probability 0.250"
    assert guess["geometry"]["coordinates"] == [16.1, 48.1]
    (truth,) = features(shown["where they went"])
    assert truth["geometry"]["coordinates"] == [16.5, 48.0]
    assert features(shown["last visit"])[0]["geometry"]["coordinates"] == [16.2, 48.4]


def test_attention_adds_up_by_place_and_every_head_is_a_choice() -> None:
    shown = layers(maps.attention_map(VISITS, heads=HEADS))
    choice = [name for name, layer in shown.items() if not layer.overlay]
    assert choice == ["pointer", *(f"layer {k}, head {h}" for k in (1, 2) for h in (1, 2))]
    assert [shown[name].show for name in choice] == [True, False, False, False, False]
    texts = [one["properties"]["text"] for one in features(shown["pointer"])]
    assert "home<br>attention 0.70, 2 visits" in texts
    lines = [one for one in features(shown["pointer"]) if one["geometry"]["type"] != "Point"]
    assert len(lines) == 2
    assert all(line["geometry"]["coordinates"][-1] == [16.2, 48.4] for line in lines)
    with pytest.raises(DataError, match="2 weights for 4 visits"):
        maps.attention_map(VISITS, heads={"mine": [0.5, 0.5]})


def test_flows_bend_to_their_left_and_are_dashed_below_zero() -> None:
    line, disc = features(layers(maps.flow_map(FLOWS, VISITS))["trips"])
    assert disc["geometry"]["coordinates"] == [16.1, 48.1]
    points = np.array(line["geometry"]["coordinates"])
    assert points[0].tolist() == [16.1, 48.1] and points[-1].tolist() == [16.3, 48.2]
    way, middle = points[-1] - points[0], points[len(points) // 2] - points[0]
    assert way[0] * middle[1] - way[1] * middle[0] > 0
    assert "dashArray" in line["properties"]["style"]
    assert "dashArray" not in disc["properties"]["style"]
    with pytest.raises(DataError, match="'sea'"):
        maps.flow_map(FLOWS.assign(there="sea"), VISITS)


def test_the_slider_stops_where_something_begins() -> None:
    chart = maps.week_map(VISITS)
    (timeline,) = (one for one in chart._children.values() if isinstance(one, Timeline))
    (slider,) = (one for one in chart._children.values() if isinstance(one, TimelineSlider))
    span = [
        (one["properties"]["start"], one["properties"]["end"]) for one in timeline.data["features"]
    ]
    assert span == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert '["Monday 00:00", "Monday 09:00", "Monday 18:00", "Tuesday 07:00"]' in (
        slider.options["format_output"].js_code
    )
    with pytest.raises(DataError, match="role is 'ghost'"):
        maps.week_map(VISITS.assign(role="ghost"))


def test_the_table_below_says_the_same() -> None:
    page = every_map(caption="My <week>")["places"].get_root().render()
    rows = re.findall(r"<td>(.*?)</td>", page)
    assert rows == [
        *("home", "2", "0.25"), *("moon", "", "0.16"), *("work", "1", ""), *("gym", "1", ""),
    ]  # fmt: skip
    assert 'data-alt="My &#60;week&#62;"' in page


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda table: table.drop(columns="lat"), "needs the column 'lat'"),
     (lambda table: table.head(0), "visits are empty"),
     (lambda table: table.assign(lon=[16, np.nan, 16, 16]), "1 rows of the visits have no"),
     (lambda table: table.assign(lat="north"), "4 rows of the visits have no number in 'lat'"),
     (lambda table: table.assign(lat=table.lon * 6), "are lon and lat swapped"),
     (lambda table: table.assign(lon=np.inf), "outside ±180 degrees")],
)  # fmt: skip
def test_bad_tables_get_a_sentence(change: Any, words: str) -> None:
    before = VISITS.copy()
    for draw in (maps.places_map, maps.attention_map):
        with pytest.raises(DataError, match=words):
            draw(change(VISITS))
    pd.testing.assert_frame_equal(VISITS, before)


def test_text_is_escaped_for_pages_scripts_and_templates() -> None:
    text = "<b>{{ 'q'*3 }}</b> {% raw %} `${1}` \"'\\ &amp;"  # no digits: ids are drawn
    for chart in every_map(caption=text, alt=text).values():
        page = chart.get_root().render()
        assert "qqq" not in page and "<b>" not in page and html.escape(text) not in page
        alt = re.search(r'data-alt="([^"]*)"', page)
        assert alt and html.unescape(alt[1]) == text and not set("<>{}`$\\'") & set(alt[1])
