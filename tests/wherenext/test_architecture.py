"""The drawing of the network: true to the model, one part lit, readable, escaped."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from wherenext.architecture import ARROWS, PARTS, WIDTH, architecture, drawing

from ..helpers import ROOT


def page(*lit: str, **options: object) -> BeautifulSoup:
    shown = architecture(*lit, caption="Below <it>.", **options)  # type: ignore[arg-type]
    return BeautifulSoup(shown._repr_mimebundle_()["text/html"], "html.parser")


def test_all_parts_are_there_with_a_title_and_a_chapter() -> None:
    found = page()
    links = found.select("svg a")
    assert [link["data-part"] for link in links] == list(PARTS)
    for link in links:
        part = PARTS[str(link["data-part"])]
        assert part.says in link.select_one("title").get_text()  # type: ignore[union-attr]
        name = str(link["href"]).removeprefix("https://where-next-book.github.io/where-next/book/")
        assert (ROOT / "book" / name.replace(".html", ".py")).is_file()


@pytest.mark.parametrize("small", [False, True])
def test_no_boxes_overlap_and_arrows_meet_boxes(small: bool) -> None:
    found = BeautifulSoup(drawing((), "x", lambda part: "#", small=small), "html.parser")
    boxes = {}
    for link in found.select("a"):
        at = {name: float(link.rect[name]) for name in ("x", "y", "width", "height")}  # type: ignore
        boxes[str(link["data-part"])] = at
        assert at["x"] >= 0 and at["x"] + at["width"] <= WIDTH
    for one, a in boxes.items():
        for other, b in boxes.items():
            apart = (
                a["x"] + a["width"] < b["x"] or b["x"] + b["width"] < a["x"]
                or a["y"] + a["height"] < b["y"] or b["y"] + b["height"] < a["y"]
            )  # fmt: skip
            assert one == other or apart, (one, other)
    for one, other, x, to_x in ARROWS:
        for name, end in ((one, x), (other, to_x)):
            assert boxes[name]["x"] < end < boxes[name]["x"] + boxes[name]["width"], (one, other)
