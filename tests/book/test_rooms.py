"""The picture of the rooms shows the rooms and the imports that there are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import rooms


def without_counts(picture: str) -> str:
    """The picture without how many modules and lines a room has."""
    return re.sub(r"\d+ modules, [\d,]+ lines", "", picture)


def test_the_committed_picture_is_what_the_command_draws() -> None:
    now = rooms.draw(rooms.floors(), rooms.arrows())
    then = rooms.PICTURE.read_text(encoding="utf-8")
    assert without_counts(then) == without_counts(now), "Run `make rooms`."


def test_every_room_is_drawn_and_every_arrow_goes_down() -> None:
    rows = rooms.floors()
    folders = {path.parent.name for path in (rooms.ROOT / "pgt").glob("*/__init__.py")}
    assert {room for row in rows for room in row} == folders | {"lab", rooms.CORE}
    floor = {room: number for number, row in enumerate(rows) for room in row}
    assert all(floor[one] < floor[other] for one, other in rooms.arrows())


def test_what_the_picture_bundles_is_true() -> None:
    # It says in words that every room uses the core, and draws no arrows for that.
    uses, rows = rooms.arrows(), rooms.floors()
    above = rows[: rows.index([rooms.CORE])]
    assert all((room, rooms.CORE) in uses for row in above for room in row)


def test_another_import_makes_another_picture() -> None:
    rows, uses = rooms.floors(), rooms.arrows()
    assert without_counts(rooms.draw(rows, uses | {("viz", "gps")})) != without_counts(
        rooms.draw(rows, uses)
    )


def test_the_core_and_the_rooms_below_it_have_arrows_of_their_own() -> None:
    drawn = set(rooms.own_arrows(rooms.floors(), rooms.arrows()))
    assert {(rooms.CORE, "sparse"), (rooms.CORE, "files"), ("sparse", "reproducible")} <= drawn
    assert not {("io", "files"), ("io", rooms.CORE), ("lab", "io")} & drawn


def test_no_boxes_overlap_and_all_lie_inside() -> None:
    picture = ET.fromstring(rooms.draw(rooms.floors(), rooms.arrows()))
    _, _, across, down = map(float, picture.attrib["viewBox"].split())
    names = ("x", "y", "width", "height")
    boxes = [
        [float(one.attrib[name]) for name in names]
        for one in picture.iter("{http://www.w3.org/2000/svg}rect")
        if "x" in one.attrib
    ]
    for number, (x, y, wide, high) in enumerate(boxes):
        assert x >= 0 and y >= 0 and x + wide <= across and y + high <= down
        for left, top, w, h in boxes[:number]:
            assert x >= left + w or left >= x + wide or y >= top + h or top >= y + high
