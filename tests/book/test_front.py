"""The front page: its numbers are measured, its contents complete, its parts say what they do."""

from __future__ import annotations

import doctest
import importlib
import json
import re
from pathlib import Path

import accessible
import contents
import facts
import hero
import previews
import pytest
import yaml

from pgt.analysis.results import read_results

ROOT = Path(__file__).resolve().parents[2]
FRONT = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
EXTENSIONS = sorted(path.stem for path in (ROOT / "book" / "_ext").glob("*.py")
                    if ">>>" in path.read_text(encoding="utf-8"))  # fmt: skip
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))


@pytest.mark.parametrize("name", EXTENSIONS)
def test_examples_of_the_extensions_run(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(name))
    assert tested.attempted and not tested.failed


@pytest.mark.parametrize("name", sorted(facts.FACTS))
def test_every_fact_is_a_number_and_is_told(name: str) -> None:
    assert re.fullmatch(r"[−+]?[\d,]+(\.\d+)?(\u00a0%)?( of \d+)?", facts.fact(name))
    assert f"{{fact}}`{name}`" in FRONT, "a fact that no page tells"


def test_front_page_tells_known_facts_and_types_no_score() -> None:
    told = set(re.findall(r"\{fact\}`([^`]*)`", FRONT))
    assert told == facts.FACTS.keys()


def test_words_around_the_facts_are_still_true() -> None:
    """The sentences of the front page claim an order; the measured numbers must have it."""

    def value(name: str) -> float:
        return float(re.sub(r"[^\d.−+]", "", facts.fact(name)).replace("−", "-"))

    assert value("contextual") > value("contextual-week") > value("kernel") > value("network")
    assert value("network") > max(value("mhsa"), value("lstm"))
    assert value("kernel") > value("kernel-exact")
    assert value("no-pointer") < -5 and abs(value("no-gate")) < 1 and abs(value("no-generator")) < 1
    assert value("network-parameters") > 10 * value("contextual-parameters")
    assert value("new-york-contextual") > value("new-york-network") + 5
    new_york = read_results("new_york")
    _, low, high = new_york.difference({"model": "pgt"}, {"model": "kernel"})
    assert low < 0 < high  # "level"
    assert value("contextual") > value("kernel-memory") > value("kernel")
    published = read_results("geolife_published")
    network = {"model": "pgt", "variant": "tuned", "target_time": "unknown"}
    assert published.mean("acc@10", **network) > published.mean("acc@10", model="kernel")


def test_contents_name_every_chapter_with_its_times() -> None:
    built = {path.stem for path in CHAPTERS}
    page = contents.contents(ROOT, built)
    assert all(f'href="{name}.html"' in page for name in built)
    assert page.count('class="times"') == page.count('class="goal"') == len(built)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_takes_about_as_long_to_read_as_it_says(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    words = lines = 0
    for cell in cells:
        source = "".join(cell["source"])
        if "## Exercises" in source:
            break
        if cell["cell_type"] == "markdown":
            words += len(source.split())
        else:
            lines += source.count("\n") + 1
    counted = words / 200 + lines / 25
    assert 0.5 <= contents.opening(path).minutes / counted <= 1.6, f"{counted:.0f} minutes counted"


def test_an_opening_that_does_not_say_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "01_x.ipynb"
    path.write_text('{"cells": [{"source": ["# X\\n", "Let us begin."]}]}')
    with pytest.raises(ValueError, match=r"01_x.ipynb must begin with a title"):
        contents.opening(path)


def test_front_page_cites_what_citation_cff_says() -> None:
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = re.search(r"^```bibtex\n(.*?)^```", FRONT, re.M | re.S)
    assert entry is not None
    values = dict(re.findall(r"(\w+) *= \{+(.*?)\}+,?$", entry[1], re.M))
    assert values["author"] == about["authors"][0]["name"]
    assert values["year"] == yaml.safe_load((ROOT / "_config.yml").read_text())["copyright"]
    assert {
        name: str(about[name]) for name in ("title", "version", "url")
    }.items() <= values.items()


def test_theme_is_mended_where_screen_readers_stumble() -> None:
    button = (
        '<button class="btn search-button-field" title="Search" aria-label="Search" data-x="1">'
    )
    assert "aria-label" not in accessible.repair(button)
    folded = '<summary aria-label="Toggle hidden content">'
    assert accessible.repair(folded) == "<summary>"


def test_previews_are_those_of_the_links_of_a_page() -> None:
    target = '<div class="math notranslate" id="equation-7-1">\n\\[a &lt; b\\]</div>'
    known = previews.targets("07_pointer.html", target)
    link = '<a class="reference internal" href="07_pointer.html#equation-7-1">'
    other = '<a class="reference internal" href="09_model.html#equation-9-1">'
    page = f'<article class="bd-article">{link}{other}'
    found = previews.previews("08_x.html", page, known)
    assert found == {"07_pointer.html#equation-7-1": {"tex": "\\[a < b\\]"}}
    outside = f'{link}<article class="bd-article">'
    assert previews.previews("08_x.html", outside, known) == {}


def test_ground_of_the_map_leaves_out_what_is_outside() -> None:
    frame = hero.Frame([[0.0, 0.0], [0.01, 0.01]])
    street = {"properties": {"kind": "street"}, "geometry": {"type": "LineString"}}
    inside = street | {"geometry": {"type": "LineString", "coordinates": [[0, 0], [0.01, 0.01]]}}
    away = street | {"geometry": {"type": "LineString", "coordinates": [[5, 5], [5, 6]]}}
    assert hero.ground([inside], frame).count("<path") == 1
    assert hero.ground([away], frame) == ""
