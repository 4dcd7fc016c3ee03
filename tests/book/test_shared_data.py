"""What is large leaves the pages for files that they share; nothing of it is lost or changed."""

from __future__ import annotations

import json
import re
from typing import Any

import shared_data
from wherenext.web_figure import scripted

ABOVE = "../_static/data/"
GROUND = {"layers": [["road", 1, "M0 0L9 9" * 1000]], "labels": [[1, 2, "</script> & {{ 1 }}"]]}
MODEL = {"config": {"d": 2}, "data": "abcd" * 5000}


def figure(**data: Any) -> str:
    return scripted(
        "<p>A figure</p>", {"id": "pgt-live", "names": ["a", None]} | data, [], ["page_parts.js"]
    )


def put_back(page: str, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The data of each figure of a page as its script finds them; what it loads comes before it."""
    store: dict[str, Any] = {}
    found = []
    for name, inline in re.findall(
        r'<script src="\.\./_static/data/([^"]+)"></script>|const page = (\{.*\});\n', page
    ):
        if name:
            key, value = re.fullmatch(
                r'\(window\.pgtData \|\|= \{\}\)\["([^"]+)"\] = (.*);\n', files[name].decode()
            ).groups()  # type: ignore[union-attr]
            store[key] = json.loads(value)
        elif inline.startswith("{...{"):
            rest, end = json.JSONDecoder().raw_decode(inline[4:])
            taken = re.findall(r'"(\w+)": window\.pgtData\["([^"]+)"\]', inline[4 + end :])
            found.append(rest | {part: store[key] for part, key in taken})
        else:
            found.append(json.loads(inline))
    return found


def test_nothing_is_lost_or_changed() -> None:
    page, files = shared_data.take_out(figure(model=MODEL, ground=GROUND, here=None), ABOVE)
    assert put_back(page, files) == [
        {"id": "pgt-live", "names": ["a", None], "here": None, "model": MODEL, "ground": GROUND}
    ]
    assert len(page) < 3000 and len(files) == 2
    assert all("</script>" not in text.decode() for text in files.values())
