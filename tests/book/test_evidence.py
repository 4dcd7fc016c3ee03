"""Numbers in the prose have sources, results files are fresh, and the check would notice."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import evidence  # noqa: E402


@pytest.mark.parametrize(
    "sentence",
    [
        "The kernel is right 56.6 % of the time.",
        "It gains 3 points.",
        "It trains in 17 seconds.",
        "There are 3,459 windows.",
        "That is 271 times faster.",
        "MRR is 0.63.",
        "| kernel | 56.6 |",
        "A [link to nothing of use](03_windows) and 12.5 %.",
    ],
)
def test_a_measured_number_is_noticed(sentence: str) -> None:
    assert evidence.suspicious(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "See chapters 7, 8 and 9, exercise 2.1 and equation (7.3).",
        "Vinyals et al. (2015) wrote it in 2014.",
        "Four heads and 2 layers; three of 5 people.",
        "[Hong et al.](https://doi.org/10.1016/j.trc.2023.104315) report 31 %.",
        "The design documents claim 53.97 %.",
        "The code `x = 0.5` and $p = 0.25$ and\n\n```\n12.5 %\n```",
    ],
)
def test_names_citations_and_code_are_left_alone(sentence: str) -> None:
    assert not evidence.suspicious(sentence)


def test_every_number_of_the_book_has_a_source() -> None:
    assert list(evidence.unsourced(ROOT)) == []


def test_every_results_file_is_fresh_and_read() -> None:
    assert list(evidence.doubtful(ROOT)) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The pages and results, to be spoilt."""
    shutil.copytree(
        ROOT / "book", tmp_path / "book", ignore=shutil.ignore_patterns("_web", "*.ipynb")
    )
    return tmp_path


def _problems(root: Path) -> str:
    return "\n".join((*evidence.unsourced(root), *evidence.doubtful(root)))


def test_a_typed_measurement_is_noticed(copy: Path) -> None:
    page = copy / "book" / "glossary.md"
    page.write_text(page.read_text() + "\nThe kernel reaches 46.9 %.\n")
    assert "glossary: '46.9 %' has no source" in _problems(copy)


def test_an_unused_excuse_is_noticed(copy: Path) -> None:
    path = copy / "book" / "numbers.toml"
    path.write_text(path.read_text() + '\n[index]\n"99.9 %" = "no reason"\n')
    assert "excuses '99.9 %'" in _problems(copy)


def test_stale_missing_and_unread_files_are_noticed(copy: Path) -> None:
    folder = copy / "book" / "results"
    city = json.loads((folder / "city.json").read_text())
    city["code"]["kernel"] = "0" * 12
    city["data"]["fingerprint"] = "1" * 12
    (folder / "city.json").write_text(json.dumps(city))
    shutil.copy(folder / "geolife_exact.json", folder / "nobody.json")
    (folder / "geolife_published.json").unlink()
    problems = _problems(copy)
    assert "city.json is older than the code of kernel" in problems
    assert "city.json was measured on another city" in problems
    assert "nobody.json is read by no chapter" in problems
    assert "there is no book/results/geolife_published.json" in problems


def test_the_tables_hold_every_file() -> None:
    table = evidence.table(ROOT)
    for path in (ROOT / "book" / "results").glob("*.json"):
        if path.stem not in ("bench",):
            assert json.loads(path.read_text())["command"] in table
    assert table.count('scope="col"') == 7
    rows = json.loads((ROOT / "book" / "results" / "bench.json").read_text())["rows"]
    assert evidence.speed(ROOT).count("<tr>") == len(rows) + 1


def test_the_readme_types_no_accuracy() -> None:
    readme = (ROOT / "README.md").read_text()
    assert not re.findall(r"\d+\.\d+ ?%|Acc@\d+ of \d", readme)
