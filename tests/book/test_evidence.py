"""Numbers in the prose have sources, results files are fresh, and the checks would notice."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import evidence
import measured
import pytest
from facts import GEOLIFE, NEW_YORK, RULE_MEMORY, fact, percent
from front_chart import CITIES, bars
from wherenext.results import read_results

ROOT = Path(__file__).resolve().parents[2]
PAPER = "https://doi.org/10.1016/j.trc.2023.104315"
KNOWN = frozenset({PAPER})


def texts(markdown: str) -> list[str]:
    """The numbers that are noticed."""
    return [hit.text for hit in measured.suspicious(markdown, KNOWN)]


# ---- What counts as measured ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("The kernel is right 56.6 % of the time.", "56.6 %"),
        ("It is right more often (56 %).", "56 %"),
        ("Nearly forty per cent are new.", "forty per cent"),
        ("It gains 3 points.", "3 points"),
        ("A gain of -4.28.", "4.28"),
        ("It trains in 17 seconds.", "17 seconds"),
        ("It trains in 17s.", "17 s"),
        ("An epoch takes 300 ms.", "300 ms"),
        ("There are 3,459 windows.", "3,459 windows"),
        ("There are 182 of them.", "182"),
        ("That is 2 times faster.", "2 times"),
        ("That is twelve times as fast.", "twelve times as"),
        ("MRR is 0.63.", "0.63"),
        ("Its Acc@10 is 81.", "81"),
        ("| kernel | 56.6 |", "56.6"),
        ("> **Note.** So 12 % remain.", "12 %"),
        ("A [link to nothing of use](03_windows.ipynb) and 12.5 %.", "12.5 %"),
        ("[A page](https://example.org/x) says 12.5 %.", "12.5 %"),
        ("Of [this paper](" + PAPER + ").\n\nOurs has 49.8 %.", "49.8 %"),
        ("Two models.\n- [Theirs](" + PAPER + "): 31 %\n- ours: 49.8 %", "49.8 %"),
    ],
)
def test_a_measured_number_is_noticed(sentence: str, number: str) -> None:
    assert texts(sentence) == [number]


# ---- This book --------------------------------------------------------------------------------


def test_every_number_of_the_book_has_a_source() -> None:
    assert list(evidence.unsourced(ROOT)) == []


def test_every_results_file_is_fresh_and_read() -> None:
    assert list(evidence.doubtful(ROOT)) == []


def spans(name: str) -> list[str]:
    """The interval of a model's score in each city, as README writes it."""
    found = []
    for city in CITIES:
        (bar,) = (bar for bar in bars(city) if bar.name == city.names.get(name, name))
        found.append(f"[{bar.low:.1f}, {bar.high:.1f}]")
    return found


def test_the_readme_says_what_the_files_say() -> None:
    first, table, rest = re.split(
        r"(?m)((?:^\|.*\n)+)", (ROOT / "README.md").read_text(), maxsplit=1
    )
    rule = [
        percent(**RULE_MEMORY, **where)(read_results(file))
        for file, where in (("beyond", GEOLIFE), ("last_visit", NEW_YORK))
    ]
    rows = {
        "Trained on nobody": [fact("nobody"), fact("new-york-nobody")],
        "PGT, as documented": [fact("pgt"), fact("new-york-pgt")],
        "Context kernel": [fact("kernel"), fact("new-york-kernel")],
        "Kernel, 100 visits": rule,
    }
    for line, (name, facts) in zip(table.splitlines()[2:], rows.items(), strict=True):
        said = [f"{one} {span}" for one, span in zip(facts, spans(name), strict=True)]
        assert line.endswith(f"| {' | '.join(said)} |".replace("\u00a0", " "))
    readme = " ".join((first + rest).split())
    board = (
        f"is right in {fact('board')} of the cases untold, and in {fact('board-told')} when told "
        "the time of the visit;"
    ).replace("\u00a0", " ")
    assert board in readme, "the leaderboard was measured anew: README tells the old figures"
    about = r"On the New York leaderboard that most papers quote.*?33\.7 % told\."
    # No other score is typed.
    readme = re.sub(about, "", readme)
    assert not re.search(r"\d ?%|per ?cent|Acc@|\bpoints\b", readme)


# ---- A spoilt copy ----------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The pages and results, to be spoilt."""
    for name in ("book", "data"):
        ignored = shutil.ignore_patterns("_web", "*.ipynb", "city", "checkpoints")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["book/glossary.md", "README.md", "book/04_baselines.py"])
def test_a_typed_measurement_is_noticed(copy: Path, page: str) -> None:
    path, line = copy / page, "The kernel reaches 46.9 %."
    added = f"# %% [markdown]\n# {line}\n" if page.endswith(".py") else line
    before = set(evidence.unsourced(copy))
    path.write_text(path.read_text() + "\n" + added)
    (problem,) = set(evidence.unsourced(copy)) - before
    assert "'46.9 %' has no source (… The kernel reaches 46.9 %. …)" in problem


def _spoil(path: Path, **changes: object) -> None:
    raw = json.loads(path.read_text())
    rows = raw.pop("rows")
    path.write_text(json.dumps(raw | changes | {"rows": changes.get("rows", rows)}))


def test_other_numbers_missing_and_unread_files_are_noticed(copy: Path) -> None:
    folder = copy / "book" / "results"
    city = json.loads((folder / "city.json").read_text())
    _spoil(folder / "city.json", data=city["data"] | {"fingerprint": "1" * 12})
    shutil.copy(folder / "geolife_exact.json", folder / "unread.json")
    ablations = json.loads((folder / "ablations.json").read_text())
    ablations["rows"][0]["acc@1"] += 1
    _spoil(folder / "ablations.json", rows=ablations["rows"])
    (folder / "geolife_published.json").unlink()
    problems = "\n".join(evidence.doubtful(copy))
    assert "city.json was measured on another city" in problems
    assert "unread.json is read by nothing" in problems
    assert "traps.json takes numbers from ablations.json, which has others now" in problems
    assert "there is no book/results/geolife_published.json" in problems
