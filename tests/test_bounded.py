"""Memory and time have limits that are kept.

Each case has a process of its own, with a limit of its address space and of its processor time.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from .helpers import ROOT, run_python

pytest.importorskip("resource")  # Windows has none

# Case of `tests.bounded` -> what it prints, or what the refusal says.
CASES: dict[str, list[int] | tuple[str, ...]] = {
    "markov": [252_002, 257],
    "kernel": [5248, 512, 52],
    "places": [40_000, 1, 40_000],
    "people": [100_000, 300_000, 1],
    "header": ("in this model; it belongs to another vocabulary or configuration.",),
    "archive_of_a_person": ("the files of person 0 would unpack to 8,192 MiB", "unpack it"),
    "archive_of_many": ("its members would unpack to 72,192 MiB", "unpack it yourself"),
    "deep_gpx": ("deep.gpx is no GPX", "elements more than 100 deep"),
    "deep_entities": ("entities.gpx is no GPX", "declares an entity 'e0'"),
    "packed_table": ("v.csv.gz would unpack to more than", "MiB, over 100 times its size"),
    "packed_header": ("v.csv.gz would unpack to more than", "unpack it yourself"),
    "packed_windows": ("train.csv would unpack to more than", "unpack it yourself"),
    "packed_fixes": ("f.csv.gz would unpack to more than", "unpack it yourself"),
    "packed_fixes_shared": ("f.csv.gz would unpack to more than", "unpack it yourself"),
    "parquet_rows": ("v.parquet would unpack to more than", "over 100 times its size"),
    "parquet_text": ("v.parquet would unpack to more than", "over 100 times its size"),
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


@only_linux
def test_what_takes_more_memory_fails() -> None:
    code = "from tests.bounded import room\nwith room(64): bytearray(2**27)"
    assert "MemoryError" in run_python("-c", code, cwd=ROOT).stderr


def test_what_takes_more_time_is_ended() -> None:
    code = "from tests.bounded import at_most\nat_most(1)\nwhile True: pass"
    done = run_python("-c", code, cwd=ROOT)
    assert done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
