"""Memory and time have limits that are kept.

Each case has a process of its own, with a limit of its address space and of its processor time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .helpers import ROOT, run_python

pytest.importorskip("resource")  # Windows has none

# Case of `tests.bounded` -> what it prints, or what the refusal says.
CASES: dict[str, list[int] | tuple[str, ...]] = {
    "markov": [252_002, 65],
    "kernel": [5248, 512, 52],
    "people": [100_000, 300_000, 1],
    "header": ("in this model; it belongs to another vocabulary or configuration.",),
    "archive_of_many": ("g.zip would unpack to more than 64 GiB", "unpack it yourself"),
    "packed_table": ("v.csv.gz would unpack to more than", "unpack it with gunzip"),
    "packed_header": ("v.csv.gz would unpack to more than", "unpack it with gunzip"),
}


only_linux = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="only Linux keeps a limit of the address space"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The status of each case's process, and what it said."""
    folder = tmp_path_factory.mktemp("bounded")
    done = run_python("-m", "tests.bounded", str(folder), *CASES, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize("case", CASES)
def test_it_fits_into_a_gigabyte_and_does_not_go_on_for_ever(
    case: str, said: dict[str, tuple[int, str]]
) -> None:
    status, text = said[case]
    assert status == 0, text[-2000:]
    found: Any = json.loads(text)
    expected = CASES[case]
    if isinstance(expected, list):
        assert found == expected
    else:
        assert [says for says in expected if says not in found] == [], found
        assert "\n" not in found
