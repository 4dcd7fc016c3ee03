"""Execute the chapters once, with nbmake, for the tests and for the book.

Jupyter Book keeps executed notebooks in a cache, keyed by the code in their cells. That key does
not know the package: after a change in ``pgt`` the old outputs would be shown. So this script

1. empties the cache when the package, the data or the installed environment have changed,
2. runs ``pytest --nbmake`` over the chapters that the cache does not hold, and
3. puts what nbmake executed into the cache, from which the book build takes it.

``pytest --nbmake book`` remains a complete test of its own; it just leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "_build" / ".jupyter_cache"
# Whatever a chapter's output may depend on, apart from the chapter itself.
INPUTS = ("pgt", "data", "book/results", "requirements.txt")
IGNORED = ("__pycache__", ".DS_Store")
# Seconds that one cell may take; the same limit stands in _config.yml.
TIMEOUT = 300


def fingerprint(root: Path = ROOT) -> str:
    """Return a hash of the names and contents of all the inputs under `root`."""
    digest = hashlib.sha256(sys.version.encode())
    for name in INPUTS:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and not any(part in path.parts for part in IGNORED):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def drop_stale_cache() -> None:
    """Empty the cache unless it was filled with the present inputs."""
    stamp = CACHE / "fingerprint"
    now = fingerprint()
    if not stamp.exists() or stamp.read_text() != now:
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        stamp.write_text(now)


def run_nbmake(folder: Path, count: int) -> int:
    """Execute the `count` notebooks in `folder`, in place, and return pytest's exit status."""
    cores = os.cpu_count() or 1
    workers = max(1, min(cores, count, 4))
    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", "-q", "--durations=0"]
    command += [f"--nbmake-timeout={TIMEOUT}", "-n", str(workers), "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)]
    # Torch takes every core by default; several kernels at once would then only wait for each other.
    threads = os.environ.get("OMP_NUM_THREADS", str(max(1, cores // workers)))
    return subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": threads}).returncode


def keep(chapter: Path, executed: Path) -> None:
    """Put the outputs in `executed` into the cache, as the outputs of `chapter`."""
    # The cells of the chapter with the outputs of the copy: nbmake's timings stay out of the book.
    notebook = nbformat.read(chapter, as_version=4)
    done = nbformat.read(executed, as_version=4)
    for cell, twin in zip(notebook.cells, done.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = twin.outputs, twin.execution_count
    notebook.metadata = done.metadata
    bundle = CacheBundleIn(notebook, str(chapter))
    get_cache(CACHE).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def missing(chapters: list[Path]) -> list[Path]:
    """Return those of `chapters` that the cache does not hold."""
    cache = get_cache(CACHE)
    found = []
    for path in chapters:
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            found.append(path)
    return found


def main() -> int:
    """Bring the cache up to date; return the exit status."""
    drop_stale_cache()
    todo = missing(sorted((ROOT / "book").glob("*.ipynb")))
    if not todo:
        print("Every chapter has been executed with the present package and data.")
        return 0
    before = fingerprint()
    # A folder of its own: a chapter must not need the files around it.
    with tempfile.TemporaryDirectory() as name:
        for chapter in todo:
            shutil.copy(chapter, name)
        status = run_nbmake(Path(name), len(todo))
        if status == 0:
            for chapter in todo:
                keep(chapter, Path(name) / chapter.name)
    if fingerprint() != before:
        print("The package or the data changed while the chapters ran; run this again.")
        return 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
