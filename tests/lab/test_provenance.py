"""Where a figure comes from: fingerprints see every window; hashes see every file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lab import provenance
from lab.reports import NO_CODE
from wherenext.results import read_results, results_folder

from pgt.errors import DataError
from pgt.windows import prepare

from ..helpers import ROOT, random_visits

NAMES = sorted({path.stem for path in results_folder().glob("*.json")} - NO_CODE)


def test_data_fingerprints_see_every_window() -> None:
    visits = random_visits(2, visits=200)
    before = provenance.fingerprint(prepare(visits))
    assert before == provenance.fingerprint(prepare(visits.copy()))
    changed = visits.copy()
    changed.loc[changed.index[-1], "location_id"] = changed.location_id.iloc[0]
    shifted = visits.assign(started_at=visits.started_at + (visits.finished_at - visits.started_at))
    assert len({before, provenance.fingerprint(prepare(changed)),
                provenance.fingerprint(prepare(shifted))}) == 3  # fmt: skip


def test_the_files_that_are_imported_are_named() -> None:
    assert {
        "pgt/windows.py",
        "lab/provenance.py",
        "wherenext/__init__.py",
    } <= provenance.imported().keys()


def git(*arguments: str, clone: Path = ROOT, stdin: str = "") -> bytes:
    """What git prints; nothing where it fails."""
    command = ["git", "-C", str(clone), *arguments]
    try:
        return subprocess.run(command, capture_output=True, input=stdin.encode()).stdout
    except FileNotFoundError:
        return b""


@cache
def python_at(commit: str) -> dict[str, str]:
    """The files of code of a commit, as headers name them, with short hashes."""
    listed = git("ls-tree", "-r", "--name-only", commit, "--", "pgt", "book/lab", "book/wherenext")
    paths = [path for path in listed.decode().split("\n") if path.endswith(".py")]
    asked = "\n".join(f"{commit}:{path}" for path in paths)
    rest, found = git("cat-file", "--batch", stdin=asked), {}
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        found[path.removeprefix("book/")] = provenance.short_hash(rest[:size])
        rest = rest[size + 1 :]
    return found


def codes(header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a header says of code: of its own, and of the runs that stayed from before."""
    yield from (part["code"] for part in (header, header.get("earlier")) if part)


@pytest.mark.parametrize("name", NAMES)
def test_each_listed_file_is_at_the_commit_that_a_header_names(name: str) -> None:
    """Of one result, one file was changed before both were committed: ``elsewhere`` says where."""
    if git("rev-parse", "--is-shallow-repository").strip() != b"false":
        pytest.skip("Only a whole clone knows the commits.")
    for code in codes(read_results(name).header):
        elsewhere = code.get("elsewhere", {})
        assert not elsewhere or name == "pool"
        for file, digest in code["files"].items():
            commit = elsewhere.get(file, code["commit"])
            assert (file, python_at(commit).get(file)) == (file, digest)


def test_nothing_is_measured_by_code_that_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="measure in a clone"):
        provenance.commit(tmp_path)
    if not git("--version"):
        pytest.skip("There is no git.")
    own = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    file = tmp_path / "pgt" / "a.py"
    file.parent.mkdir()
    file.write_text("a = 1\n")
    git("init", "--quiet", clone=tmp_path)
    git("add", "pgt", clone=tmp_path)
    git(*own, "commit", "--quiet", "-m", "one", clone=tmp_path)
    head = git("rev-parse", "HEAD", clone=tmp_path).decode().strip()
    (tmp_path / "notes.txt").write_text("no part of what measures")
    assert len(head) == 40 and provenance.commit(tmp_path) == head
    for change in (lambda: file.write_text("a = 2\n"),
                   lambda: (file.parent / "b.py").write_text("")):  # fmt: skip
        git("checkout", "--quiet", "--", "pgt", clone=tmp_path)
        change()
        with pytest.raises(DataError, match=r"pgt/[ab].py is not committed.*commit it"):
            provenance.commit(tmp_path)
