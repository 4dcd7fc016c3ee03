"""Reasons as bars: the strongest of each place, on the right side, and any name is text."""

from __future__ import annotations

import pandas as pd
import pytest
from wherenext import reasons as module
from wherenext.figures import Shown
from wherenext.reasons import reasons

from ..hostile import HOSTILE


def table(place: str = "work", n: int = 6) -> pd.DataFrame:
    rows = [
        {"location_id": where, "probability": share, "visits": 3, "feature": f"f{i}",
         "about": f"fact {i} of it", "effect": (-1) ** i * (10.0 - i)}
        for where, share in ((place, 0.5), (f"{place} 2", 0.25))
        for i in range(n)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_every_place_has_its_strongest_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    monkeypatch.setattr(module, "show", lambda figure, **about: kept.append(figure) or about)
    said = reasons(table(), "user 7", most=4)
    (figure,) = kept
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "work: 50%, 3 visits", "work 2: 25%, 3 visits"
    ]  # fmt: skip
    for axes in figure.axes:
        bars = sorted((round(bar.get_y() + bar.get_height() / 2), bar.get_width())
                      for bar in axes.patches)  # fmt: skip
        assert [width for _, width in bars] == [10, -9, 8, -7]
        assert {bool(bar.get_hatch()) == (bar.get_width() < 0) for bar in axes.patches} == {True}
    assert "fact 0 of it (+10.0 points)" in said["alt"] and "user 7" in said["alt"]


@pytest.mark.parametrize("text", [*HOSTILE, "$\\frac{", "a" * 300])
def test_any_name_can_be_drawn(text: str) -> None:
    shown = reasons(table(text, n=2), text)
    assert isinstance(shown, Shown)
    page = shown._repr_mimebundle_()["text/html"]
    assert "<script" not in page and "<img" not in page
