"""Execute the chapters once, as on Colab; Jupyter Book and the tests would each run them all.

Jupyter Book keeps executed notebooks in a cache, keyed by the code in their cells. That key does
not know the package: after a change in ``pgt`` the old outputs would be shown. So this script

1. empties the cache when the package, the data or the installed versions have changed,
2. makes a place like Colab (see colab.py) and there runs the chapters that the cache does not hold,
   or whose text asks for a number that their run did not give, each alone in an empty folder,
3. puts each that ran to its end into the cache at once, so that whoever stops this goes on from
   there. The book build takes it from the cache, and ``notebooks.py`` what it stores, with a report
   on how it ran, which tests/colab reads and the page of execution times,
4. and fails when a number in a chapter's text is not what its run gave.
"""

from __future__ import annotations

import copy
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

import nbformat
from colab import NUMBERS, WHENCE, Colab, Report, read
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from placeholders import lacking, placeholders
from toc import ROOT

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
CACHE = ROOT / "_build" / ".jupyter_cache"
STAMP = CACHE / "fingerprint"
# Whatever a chapter's output and its report may depend on, apart from the chapter itself and what
# is installed.
INPUTS = (
    "pgt", "book/wherenext", "data", "book/results", "book/_ext/colab.py", "book/_ext/execute.py",
)  # fmt: skip
# What a chapter may need, in bytes; chapter 25 has been seen to take this much.
MEMORY = 2 * 2**30
WRITING = Lock()
STOPPED = "Stopped. The chapters that were ready are kept; the same command goes on from there."


def installed(root: Path = ROOT) -> list[str]:
    """The versions that are here of Python and of all that requirements.in names."""
    names = re.findall(r"(?m)^([\w.-]+)==", (root / "requirements.in").read_text(encoding="utf-8"))
    found = [f"python {sys.version_info.major}.{sys.version_info.minor}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not here")
    return found


def fingerprint(root: Path = ROOT) -> str:
    """Return a hash of the installed versions and of all the inputs under `root`, names and bytes."""
    digest = hashlib.sha256("\n".join(installed(root)).encode())
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


def workers(chapters: int) -> int:
    """How many chapters run side by side: as many as cores and memory allow, and at most four."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # a container's
        limit = Path("/sys/fs/cgroup", name)
        if limit.exists() and (text := limit.read_text().strip()).isdigit():
            memory = min(memory, int(text))
    return max(1, min(cores, memory // MEMORY, chapters, 4))


def complete(notebook: Any) -> bool:
    """Whether a notebook ran to its end without an error, one that a cell shows included."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    failed = any(output.output_type == "error" for output in outputs)
    return not failed and bool(notebook.cells[-1].outputs)


def keep(chapter: Path, notebook: Any, done: Any, report: Report) -> None:
    """Put the outputs of the executed notebook `done` into the cache, as those of `notebook`."""
    # The cells of the chapter with the outputs of the copy: the timings stay out of the book.
    notebook = copy.deepcopy(notebook)
    for cell, twin in zip(notebook.cells, done.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = twin.outputs, twin.execution_count
    notebook.metadata = done.metadata
    bundle = CacheBundleIn(notebook, str(chapter), data=asdict(report))
    get_cache(CACHE).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def record(notebook: Any) -> Any:
    """Return what the cache holds for a notebook, or None when its code has not run."""
    try:
        return get_cache(CACHE).match_cache_notebook(notebook)
    except KeyError:
        return None


def wanted(chapter: Path) -> dict[str, tuple[str, str]]:
    """The placeholders of a chapter's script."""
    return placeholders(chapter.with_suffix(".py").read_text(encoding="utf-8"))


def reports(chapters: Mapping[Path, Any] | None = None) -> dict[str, Report]:
    """How each chapter ran whose outputs the cache holds, by the name of its file without suffix."""
    found, names = {}, Report.__annotations__
    for path, notebook in (chapters or everything()).items() if CACHE.exists() else ():
        if (it := record(notebook)) is not None and names.keys() <= (it.data or {}).keys():
            found[path.stem] = Report(**{name: it.data[name] for name in names})
    return found


def everything() -> dict[Path, Any]:
    """All chapters, as they lie there."""
    return {path: read(path) for path in CHAPTERS}


def executed(notebook: Any) -> Any:
    """Return a notebook with its outputs, from the cache."""
    return get_cache(CACHE).get_cache_bundle(record(notebook).pk).nb


def differences() -> list[str]:
    """A sentence for each number in a chapter's text that is not what its last run gave."""
    found = []
    for name, report in reports().items():
        stored = read(ROOT / "book" / f"{name}.ipynb").metadata.get("numbers", {})
        for key, number in report.numbers.items():
            if key in stored and stored[key] != number:
                found.append(f"{name}: {{{{ {key} }}}} is {number} now, and {stored[key]} there.")
    return found


def run(colab: Colab, chapter: Path, notebook: Any) -> Report:
    """Execute one chapter and keep it; raises RuntimeError when it does not come to its end."""
    asked = NUMBERS.replace("WANTED", repr(wanted(chapter)))
    copied = copy.deepcopy(notebook)
    for cell in copied.cells:
        if cell.cell_type == "code":  # what is stored is not what this run gives
            cell.outputs, cell.execution_count = [], None
    copied.cells += [nbformat.v4.new_code_cell(text) for text in (asked, WHENCE)]
    path = colab.lay(chapter.stem, copied)
    done = colab.execute(path)
    if not complete(done):
        raise RuntimeError("A cell shows an error.")
    report = colab.report(path, done)
    with WRITING:  # and not in the main thread, which Ctrl-C interrupts
        keep(chapter, notebook, done, report)
    return report


def say(line: str) -> None:
    """Print a line at once, and in one piece: several threads do."""
    sys.stdout.write(f"  {line}\n")
    sys.stdout.flush()


def run_all(todo: Mapping[Path, Any]) -> list[str]:
    """Execute chapters side by side, say how far it has come, and return what went wrong."""
    wrong, left = [], len(todo)
    many = workers(left)
    print(f"{left} chapters run, {many} at a time; those that are ready are kept if you stop.")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(many) as pool:
        colab = Colab(Path(name), next(iter(todo.values())))

        def begun(chapter: Path) -> Report:
            say(f"{chapter.stem} runs")
            return run(colab, chapter, todo[chapter])

        futures = {pool.submit(begun, chapter): chapter for chapter in todo}
        try:
            for future in as_completed(futures):
                chapter, left = futures[future], left - 1
                if error := future.exception():
                    say(f"{chapter.stem} FAILED, {left} left")
                    wrong.append(f"{chapter.name} did not run to its end: {error}")
                    continue
                report = future.result()
                say(f"{chapter.stem} took {report.execution_seconds:.0f} s, {left} left")
                script = chapter.with_suffix(".py")
                wrong += [
                    lacking(script, it, report.names, why) for it, why in report.missing.items()
                ]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            colab.stop()
            raise
    return wrong


def execute(chapters: Mapping[Path, Any]) -> int:
    """Execute those chapters that the cache does not hold; return the exit status."""
    before = fingerprint()
    if not is_fresh():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        STAMP.write_text(before)
    known = reports(chapters)
    todo = {
        path: notebook for path, notebook in chapters.items()
        if path.stem not in known or not wanted(path).keys() <= known[path.stem].numbers.keys()
    }  # fmt: skip
    if not todo:
        return 0
    wrong = run_all(todo)
    if fingerprint() != before:
        wrong.append("The package or the data changed while the chapters ran; run this again.")
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))


def main() -> int:
    """Bring the cache up to date; return the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = execute(everything())
    except KeyboardInterrupt:
        print(STOPPED)
        return 130
    for sentence in (found := differences()):
        print(sentence, "Run python book/_ext/notebooks.py --refresh, and read the sentence again.")
    return status or int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
