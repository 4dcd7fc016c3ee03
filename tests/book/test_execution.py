"""The notebooks' tool never loses an output: small chapters, executed here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import colab
import execute
import nbformat
import notebooks
import pytest

from ..helpers import ROOT, run_python

CHAPTER = """# %% [markdown]
# # A small chapter
# There are {{ people }} people.

# %%
people, share = 12, 0.25

# %%
people
"""
MORE = "\n# %% [markdown]\n# Of them {{\n# share:.0% }} came.\n"


class Place(colab.Colab):
    """The libraries that are here, without a wheel."""

    def __init__(self, top: Path, chapter: Any) -> None:
        self.children = set()
        self.top, self.site, self.python = top, top, Path(sys.executable)
        for name in ("scratch/matplotlib", "work"):
            (top / name).mkdir(parents=True)


class Book:
    """A folder of chapters, and which of them have run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ran: list[str] = []

    def write(self, script: str, name: str = "01_small") -> Path:
        """Write a chapter's script; returns where its notebook is, or will be."""
        path = self.folder / f"{name}.py"
        path.write_text(script, encoding="utf-8")
        return path.with_suffix(".ipynb")

    def refresh(self) -> int:
        """`make notebooks`."""
        return notebooks.refresh(False, self.folder)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """An empty book, executed in a place of its own, with a cache of its own."""
    made = Book(tmp_path / "book")
    made.folder.mkdir()
    run = execute.run

    def counted(place: Any, chapter: Path, notebook: Any) -> Any:
        made.ran.append(chapter.stem)
        return run(place, chapter, notebook)

    monkeypatch.setattr(execute, "run", counted)
    monkeypatch.setattr(execute, "Colab", Place)
    monkeypatch.setattr(execute, "WHENCE", "import json\nprint(json.dumps(['', '', []]))")
    monkeypatch.setattr(execute, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(execute, "STAMP", tmp_path / "cache" / "fingerprint")
    monkeypatch.setattr(execute, "workers", lambda chapters: 1)
    monkeypatch.setattr(execute, "fingerprint", lambda: "the same")
    return made


def text(notebook: Path) -> str:
    """What a notebook says, its outputs included."""
    return str(nbformat.read(notebook, as_version=4).cells)


def test_a_chapter_runs_again_when_its_text_asks_for_another_number(book: Book) -> None:
    notebook = book.write(CHAPTER)
    assert book.refresh() == 0 and "12 people" in text(notebook)
    assert book.refresh() == 0 and book.ran == ["01_small"]
    book.write(CHAPTER + MORE)
    assert book.refresh() == 0 and book.ran == ["01_small"] * 2
    assert "25%" in text(notebook) and "'text/plain': '12'" in text(notebook)
    book.write(CHAPTER.replace("There are", "We count"))
    assert book.refresh() == 0 and "We count 12" in text(notebook)


def test_a_missing_name_is_one_sentence_and_the_notebook_stays(book: Book, capsys: Any) -> None:
    notebook = book.write(CHAPTER)
    assert book.refresh() == 0
    before = notebook.read_bytes()
    book.write(CHAPTER + MORE.replace("share", "shore"))
    for _ in range(2):  # running again does not make it worse
        assert book.refresh() == 1
        (sentence,) = capsys.readouterr().err.splitlines()
        assert "01_small.py, line 12" in sentence and "{{ shore:.0% }}" in sentence
        assert "people, share" in sentence
        assert notebook.read_bytes() == before
    book.write(CHAPTER + MORE)
    assert book.refresh() == 0 and "25%" in text(notebook)


def test_a_chapter_that_fails_changes_no_file(book: Book, capsys: Any) -> None:
    notebook = book.write(CHAPTER)
    assert book.refresh() == 0
    before = {path: path.read_bytes() for path in book.folder.glob("*.ipynb")}
    book.write(CHAPTER + "\n# %%\n1 / 0\n")
    book.write(CHAPTER.replace("12", "13"), "02_new")
    assert book.refresh() == 1 and "01_small.ipynb" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in book.folder.glob("*.ipynb")} == before
    book.write(CHAPTER)
    assert book.refresh() == 0 and notebook.read_bytes() == before[notebook]
    assert book.ran.count("02_new") == 1  # what ran well was kept


def test_a_notebook_that_lacks_outputs_is_not_taken_for_a_whole_one(book: Book) -> None:
    notebook = book.write(CHAPTER)
    assert book.refresh() == 0
    good = notebook.read_bytes()
    half = nbformat.reads(good.decode(), as_version=4)
    half.cells[-1].outputs, half.cells[-1].execution_count = [], None
    for damaged in (str(nbformat.writes(half)), good.decode()[:-100], "<<<<<<< HEAD\n"):
        notebook.write_text(damaged, encoding="utf-8")
        assert book.refresh() == 0 and notebook.read_bytes() == good
    assert book.ran == ["01_small"]  # the cache knows it
    script = notebook.with_suffix(".py")
    with pytest.raises(ValueError, match=r"01_small\.py, line 3"):
        notebooks.whole(script, {}, [])


def test_what_is_ready_is_kept_when_a_reader_stops(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {"01_one": CHAPTER, "02_two": CHAPTER.replace("12", "13")}
    paths = [book.write(script, name) for name, script in scripts.items()]
    chapters = {path: notebooks.bare(path.with_suffix(".py")) for path in paths}

    def stops(futures: dict[Any, Path]) -> Iterator[Any]:
        first = next(iter(futures))
        first.result()
        yield first
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(execute, "as_completed", stops)
        with pytest.raises(KeyboardInterrupt):
            execute.execute(chapters)
    assert "01_one" in execute.reports(chapters)
    assert len(book.ran) < 3
    assert execute.execute(chapters) == 0
    assert book.ran.count("01_one") == 1 and set(execute.reports(chapters)) == {"01_one", "02_two"}


def test_the_fingerprint_knows_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "requirements.in"
    wanted.write_text("# exact\ntorch==2.13.0\nnumpy==2.4.6\nnobodys-package==1.0\n")
    before = execute.fingerprint(tmp_path)
    wanted.write_text("torch==2.13.0\nnumpy==9.9.9\nnobodys-package==1.0\n")
    assert execute.fingerprint(tmp_path) == before  # what is asked for is not what is here
    there = execute.version
    monkeypatch.setattr(execute, "version", lambda n: "9" if n == "numpy" else there(n))
    assert execute.fingerprint(tmp_path) != before
    assert {"numpy 9", f"torch {there('torch')}"} <= set(execute.installed(tmp_path))


def test_chapters_run_side_by_side_as_cores_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gigabytes = 64
    monkeypatch.setattr(execute.sys, "platform", "linux")
    monkeypatch.setattr(execute.os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(
        execute.os, "sysconf", lambda name: {"SC_PAGE_SIZE": 2**30}.get(name, gigabytes)
    )
    assert execute.workers(35) <= 4 and execute.workers(1) == 1
    gigabytes = 4
    assert execute.workers(35) <= 2
    monkeypatch.setattr(execute.os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert execute.workers(35) == 1


# torch loads its compiler itself for what these words stand for.
TRAINS = re.compile(r"\boptim\b|\.backward\(|torch\.testing|torch\.compile|\"meta\"")
PARTS = [*(ROOT / "book").glob("0*.py"), *(ROOT / "book").glob("1[0-3]_*.py")]  # I and II
TRAINS_NOTHING = sorted(one for one in PARTS if not TRAINS.search(one.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("chapter", TRAINS_NOTHING, ids=lambda path: path.stem)
def test_a_chapter_that_trains_nothing_loads_no_compiler(chapter: Path) -> None:
    code = (
        "import runpy, sys, matplotlib; matplotlib.use('agg'); "
        f"runpy.run_path({str(chapter)!r}); print({{'torch._dynamo', 'sympy'}} & {{*sys.modules}})"
    )
    done = run_python("-W", "ignore", "-c", code, cwd=chapter.parent)
    assert done.stdout.splitlines()[-1:] == ["set()"], done.stderr


def test_there_are_such_chapters() -> None:
    assert len(TRAINS_NOTHING) >= 5
