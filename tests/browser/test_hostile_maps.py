"""Hostile names in a browser: every kind of map shows them as text, and runs nothing of them.

The maps lie in a page as in the book: unpacked, drawn by the book's script with its own Leaflet.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import folium
import numpy as np
import pandas as pd
import pytest
from leaflet import unpack
from offline import copy_vendor
from sphinx.errors import ExtensionError

from pgt import maps

from ..helpers import ROOT, give_up
from ..hostile import HOSTILE
from .conftest import watched

pytestmark = pytest.mark.browser
TEXT = " · ".join((*HOSTILE, "{{ 7*7 }}", "{%- endraw %}", "`${alert(2)}`"))
HARMED = (
    "img[onerror], [href*='javascript:' i], [src*='javascript:' i], [href*='example.com'], "
    "[src*='example.com'], [style*='url(' i], [style*='expression' i]"
)
# Opens every popup of every layer, shown or not, and reads what it says.
POPUPS = """
map => {
  const said = [];
  const read = (layer) => {
    if (layer.getPopup && layer.getPopup()) {
      const box = document.createElement("div");
      box.innerHTML = layer.getPopup().getContent();
      document.body.append(box);
      said.push(box.textContent);
    }
    if (layer.eachLayer) layer.eachLayer(read);
  };
  for (const name of Object.keys(window)) {
    if (/^(feature_group|timeline)_[0-9a-f]+$/.test(name)) read(window[name]);
  }
  return said;
}
"""
FIRST = """
map => {
  Object.values(window[map]._layers).find((one) => one.getPopup && one.getPopup()).openPopup();
}
"""


def words(text: str) -> str:
    """The text as a page lays it out: any space is one space."""
    return " ".join(text.split())


def drawn(kind: str) -> folium.Map:
    names = [f"{TEXT} {number}" for number in range(4)]
    start = pd.date_range("2024-04-01", periods=4, freq="6h", tz="Europe/Vienna")
    table = pd.DataFrame(
        {"location_id": names, "name": names, "lon": [16.1, 16.2, 16.3, 16.4], "lat": 48.2,
         "kind": TEXT, "attention": 0.25, "started_at": start, "finished_at": start + start.freq,
         TEXT: [0.1, 0.2, 0.3, 0.4]}
    )  # fmt: skip
    name = {"type": "Point", "coordinates": [16.2, 48.2]}
    ground = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"name": TEXT}, "geometry": name}]}  # fmt: skip
    page: dict[str, Any] = {"caption": TEXT, "alt": TEXT, "ground": ground}
    guesses = pd.DataFrame({"location_id": names, "probability": 0.25})
    heads = {TEXT: np.full(4, 0.25)}
    flows = pd.DataFrame({"here": names, "there": names[::-1], TEXT: 1.0, "other": -1.0})
    return {
        "places": lambda: maps.places_map(table, guesses, table[:1], **page),
        "kinds": lambda: maps.places_map(table, by="kind", **page),
        "attention": lambda: maps.attention_map(table, guesses, heads=heads, **page),
        "flows": lambda: maps.flow_map(flows, table, **page),
        "week": lambda: maps.week_map(table, **page),
        "value": lambda: maps.value_map(table, TEXT, label=TEXT, **page),
    }[kind]()  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the book's pages load."""
    folder = tmp_path_factory.mktemp("maps")
    try:
        copy_vendor(folder)
    except ExtensionError as error:
        give_up(str(error))
    for name in ("maps.js", "maps.css"):
        shutil.copy(ROOT / "book" / "_static" / name, folder / "_static")
    return folder


@pytest.mark.parametrize("kind", ["places", "kinds", "attention", "flows", "week", "value"])
def test_a_map_shows_hostile_names_as_text(alone: Any, folder: Path, kind: str) -> None:
    chart, text = drawn(kind), words(TEXT)
    file = folder / f"{kind}.html"
    body = unpack(chart._repr_html_(), set())
    assert body.startswith('<figure class="folium-figure">')
    file.write_text(
        '<!doctype html><html><meta charset="utf-8"><link rel="stylesheet" href="_static/maps.css">'
        f'<script src="_static/maps.js" defer></script>{body}</html>', encoding="utf-8",
    )  # fmt: skip
    with alone(file) as page:
        page.wait_for_selector(".leaflet-container path.leaflet-interactive", state="attached")
        assert words(page.locator(".folium-map").get_attribute("aria-label")) == text
        assert words(page.locator(".map-caption").text_content()) == text
        assert words(page.locator(".map-name").text_content()) == text
        said = [words(one) for one in page.evaluate(POPUPS)]
        for _ in range(3 if kind == "week" else 0):  # what is there at the later stops
            page.get_by_role("slider", name="Moment").press("ArrowRight")
            said += [words(one) for one in page.evaluate(POPUPS)]
        named = [f"{text} {number}" for number in range(4)]
        assert said and all(any(name in one for one in said) for name in named)
        cells = [words(one) for one in page.locator("details td").all_text_contents()]
        assert set(named) <= set(cells)
        choices = words(page.locator(".leaflet-control-layers-list").text_content())
        if kind not in ("places", "week"):
            assert text in choices
        if kind in ("kinds", "value"):
            assert text in words(page.locator(".map-legend").text_content())
        page.evaluate(FIRST, chart.get_name())
        assert text in words(page.locator(".leaflet-popup-content").text_content())
        if kind == "week":
            slider = page.get_by_role("slider", name="Moment")
            assert slider.get_attribute("aria-valuetext") == "Monday 18:00"
        assert page.locator(HARMED).count() == 0
        assert page.locator("iframe").count() == 0


def test_maps_are_drawn_when_they_come_into_sight_with_one_leaflet(
    browser: Any, folder: Path
) -> None:
    seen: set[str] = set()
    parts = [unpack(drawn(kind)._repr_html_(), seen) for kind in ("places", "week")]
    file = folder / "two.html"
    gap = '<div style="height:3000px"></div>'
    file.write_text(
        '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="_static/maps.css">'
        f'<script src="_static/maps.js" defer></script>{gap}{parts[0]}{gap}{parts[1]}',
        encoding="utf-8",
    )
    with watched(browser, width=390) as (page, asked, wrong):
        page.goto(file.as_uri(), wait_until="load")
        assert page.evaluate("typeof L") == "undefined"
        first, second = page.locator(".folium-map").all()
        assert "drawn by a script" in first.inner_text()
        for one in (first, second):
            assert one.locator(".leaflet-pane").count() == 0
            one.scroll_into_view_if_needed()
            one.locator("path.leaflet-interactive").first.wait_for(state="attached")
        assert sum(url.endswith("/leaflet.js") for url in asked) == 1
        assert all(url.startswith("file:") for url in asked)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert wrong == []
