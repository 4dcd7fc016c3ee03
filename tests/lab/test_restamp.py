"""A mark is taken over after a rename when the old code, renamed, is today's; else it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab import reports, restamp, runs
from lab.marks import Tree
from lab.provenance import REFUSALS, STOPS, tree

from pgt.errors import DataError

PART = "kernel"


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The code of an earlier commit: the kernel's numbers and its class had other names."""
    sources = dict(tree().sources)
    text = sources["pgt.baselines"]
    assert "decay" in text and "class ContextKernel" in text
    sources["pgt.baselines"] = text.replace("decay", "fading").replace("ContextKernel", "Kernel")
    users = ("pgt.baselines", "pgt.contextual", "pgt.contextual")
    for name in ("lab.models", *users):
        sources[name] = sources[name].replace("ContextKernel", "Kernel").replace("decay", "fading")
    monkeypatch.setattr(restamp, "_sources", lambda since: sources)
    return sources


@pytest.fixture
def names(tmp_path: Path) -> Path:
    """The names that were changed."""
    path = tmp_path / "names.toml"
    path.write_text('[words]\nfading = "decay"\n[texts]\nfading = "decay"\n')
    return path


def results(folder: Path, sources: dict[str, str]) -> Path:
    """A results file that the old code made."""
    mark = Tree(sources, REFUSALS).mark(runs.starts_of(PART), STOPS)
    path = folder / "results" / "one.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"code": {PART: mark}})[:-1] + ',\n "rows": [\n  {"n": 1}\n ]\n}\n')
    return path


def test_a_rename_is_proved(old: dict[str, str], names: Path, tmp_path: Path) -> None:
    path = results(tmp_path, old)
    assert json.loads(path.read_text())["code"][PART] != reports.code_now(PART)
    (line,) = restamp.restamp(path.parent, "then", names)
    assert line.startswith("one kernel: ") and line.endswith(reports.code_now(PART))
    assert json.loads(path.read_text()) == {"code": {PART: reports.code_now(PART)},
                                            "rows": [{"n": 1}]}  # fmt: skip
    assert list(restamp.restamp(path.parent, "then", names)) == []


def test_other_behaviour_is_not_a_rename(old: dict[str, str], names: Path, tmp_path: Path) -> None:
    old["pgt.baselines"] = old["pgt.baselines"].replace(
        "fading: float = 0.98", "fading: float = 0.9"
    )
    path = results(tmp_path, old)
    before = path.read_text()
    assert list(restamp.restamp(path.parent, "then", names)) == [
        "one kernel: not only renamed; confirm it"
    ]
    assert json.loads(path.read_text()) == json.loads(before)


def test_a_file_of_other_code_is_refused(old: dict[str, str], names: Path, tmp_path: Path) -> None:
    path = results(tmp_path, old)
    path.write_text(path.read_text().replace('"kernel": "', '"kernel": "0'))
    with pytest.raises(DataError, match=r"one\.json was not made by the code of kernel in then"):
        list(restamp.restamp(path.parent, "then", names))


def test_a_commit_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no commit nowhere"):
        list(restamp.restamp(tmp_path, "nowhere"))


@pytest.mark.parametrize(
    ("words", "source", "expected"),
    [
        ({".a": "b"}, "x.a = f(a=a)", "x.b = f(b=a)"),
        ({"a": "b"}, "x.a = f(a=a)", "x.b = f(b=b)"),
        ({"a": "b"}, "from a import a", "from a import a"),
    ],
)
def test_words_are_renamed_where_they_are_meant(
    words: dict[str, str], source: str, expected: str
) -> None:
    assert restamp.rename(source, words, {}) == expected
