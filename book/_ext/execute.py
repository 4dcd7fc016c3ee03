"""Execute the chapters once, as on Colab; nbmake and Jupyter Book would each run them all.

Jupyter Book keeps executed notebooks in a cache, keyed by the code in their cells. That key does
not know the package: after a change in ``pgt`` the old outputs would be shown. So this script

1. empties the cache when the package, the data or the installed environment have changed,
2. makes a place like Colab (see colab.py) and there runs ``pytest --nbmake`` over the chapters that
   the cache does not hold, each alone in an empty folder, and
3. puts what nbmake executed into the cache, from which the book build takes it and
   ``notebooks.py`` what it stores, with a report on how it ran, which tests/colab reads and the
   page of execution times,
4. and fails when a number in a chapter's text is not what its run gave.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
from colab import NUMBERS, TIMEOUT, WHENCE, Colab, Report, read
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from notebooks import placeholders
from toc import ROOT

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
CACHE = ROOT / "_build" / ".jupyter_cache"
STAMP = CACHE / "fingerprint"
# Whatever a chapter's output and its report may depend on, apart from the chapter itself.
INPUTS = (
    "pgt", "book/wherenext", "data", "book/results", "requirements.in", "book/_ext/colab.py",
    "book/_ext/execute.py",
)  # fmt: skip


def fingerprint(root: Path = ROOT) -> str:
    """Return a hash of the names and contents of all the inputs under `root`."""
    digest = hashlib.sha256(sys.version.encode())
    for name in INPUTS:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and not {"__pycache__", ".DS_Store"} & set(path.parts):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_fresh() -> bool:
    """Whether the cache was filled with the present inputs."""
    return STAMP.exists() and STAMP.read_text() == fingerprint()


def run_nbmake(colab: Colab, paths: list[Path]) -> int:
    """Execute the notebooks at `paths`, in place, and return pytest's exit status."""
    workers = max(1, min(os.cpu_count() or 1, len(paths), 4))
    settings = colab.top / "pytest.ini"
    settings.write_text("[pytest]\n")
    command = [str(colab.python), "-m", "pytest", "--nbmake", "--overwrite", "-q", "--durations=0"]
    command += [f"--nbmake-timeout={TIMEOUT}", "-n", str(workers), "-p", "no:cacheprovider"]
    command += ["-c", str(settings), "--rootdir", str(colab.top / "work"), *map(str, paths)]
    scratch = colab.top / "scratch"
    return subprocess.run(command, cwd=scratch, env=colab.environment()).returncode


def complete(notebook: Any) -> bool:
    """Whether a notebook that nbmake has overwritten ran to its end without an error."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    failed = any(output.output_type == "error" for output in outputs)
    return not failed and bool(notebook.cells[-1].outputs)


def keep(chapter: Path, done: Any, report: Report) -> None:
    """Put the outputs of the executed notebook `done` into the cache, as those of `chapter`."""
    # The cells of the chapter with the outputs of the copy: nbmake's timings stay out of the book.
    notebook = read(chapter)
    for cell, twin in zip(notebook.cells, done.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = twin.outputs, twin.execution_count
    notebook.metadata = done.metadata
    bundle = CacheBundleIn(notebook, str(chapter), data=asdict(report))
    get_cache(CACHE).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def record(chapter: Path) -> Any:
    """Return what the cache holds for a chapter, or None when it has not run since it changed."""
    try:
        return get_cache(CACHE).match_cache_notebook(read(chapter))
    except KeyError:
        return None


def reports(chapters: list[Path] | None = None) -> dict[str, Report]:
    """How each chapter ran whose outputs the cache holds, by the name of its file without suffix."""
    found, names = {}, Report.__annotations__
    for path in (chapters or CHAPTERS) if CACHE.exists() else []:
        if (it := record(path)) is not None and names.keys() <= (it.data or {}).keys():
            found[path.stem] = Report(**{name: it.data[name] for name in names})
    return found


def executed(chapter: Path) -> Any:
    """Return a chapter with its outputs, from the cache."""
    return get_cache(CACHE).get_cache_bundle(record(chapter).pk).nb


def differences() -> list[str]:
    """A sentence for each number in a chapter's text that is not what its last run gave."""
    found = []
    for name, report in reports().items():
        stored = read(ROOT / "book" / f"{name}.ipynb").metadata.get("numbers", {})
        for key, number in report.numbers.items():
            if key in stored and stored[key] != number:
                found.append(f"{name}: {{{{ {key} }}}} is {number} now, and {stored[key]} there.")
    return found


def execute(chapters: list[Path]) -> int:
    """Execute those chapters that the cache does not hold; return the exit status."""
    before = fingerprint()
    if not is_fresh():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        STAMP.write_text(before)
    todo = [path for path in chapters if record(path) is None]
    if not todo:
        return 0
    with tempfile.TemporaryDirectory() as name:
        colab = Colab(Path(name), todo[0])
        laid = {}
        for chapter in todo:
            notebook = read(chapter)
            for cell in notebook.cells:
                if cell.cell_type == "code":  # what is stored is not what this run gives
                    cell.outputs, cell.execution_count = [], None
            wanted = placeholders(chapter.with_suffix(".py").read_text(encoding="utf-8"))
            asked = NUMBERS.replace("WANTED", repr(wanted))
            notebook.cells += [nbformat.v4.new_code_cell(text) for text in (asked, WHENCE)]
            laid[chapter] = colab.lay(chapter.stem, notebook)
        status = run_nbmake(colab, list(laid.values()))
        for chapter, path in laid.items():
            done = read(path)
            if complete(done):
                keep(chapter, done, colab.report(path, done))
    if fingerprint() != before:
        print("The package or the data changed while the chapters ran; run this again.")
        return 1
    return status


def main() -> int:
    """Bring the cache up to date; return the exit status."""
    status = execute(CHAPTERS)
    for sentence in (found := differences()):
        print(sentence, "Run python book/_ext/notebooks.py --refresh, and read the sentence again.")
    return status or int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
