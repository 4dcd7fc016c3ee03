"""Small packed files that unpack to gigabytes are refused in one sentence, before they do."""

from __future__ import annotations

import copy
import gzip
import zipfile
from pathlib import Path

import pytest

from pgt.readers.tables import read

from .helpers import refusal

ZEROS = gzip.compress(b"0" * 2**26, 6) * 32  # two gigabytes of one digit


@pytest.mark.parametrize("begin", [b"user_id,location_id,started_at,finished_at\n", b"user_id,"])
def test_a_packed_table_is_not_unpacked_to_the_end(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "v.csv.gz"
    path.write_bytes(gzip.compress(begin) + ZEROS)
    assert "v.csv.gz would unpack to more than" in refusal(lambda: read(path))


def test_an_archive_that_lists_one_file_again_and_again(tmp_path: Path) -> None:
    """Each of its 375 files is within what one may hold; together they are 70 GB."""
    path = tmp_path / "g.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("Data/000/Trajectory/20081023000000.plt", "w") as file:
            for _ in range(3):
                file.write(b"0" * 2**26)
        (info,) = archive.infolist()
        archive.filelist = []
        for number in range(375):
            other = copy.copy(info)
            other.filename = other.orig_filename = (
                f"Data/{number // 3:03}/Trajectory/200810230000{number % 3:02}.plt"
            )
            archive.filelist.append(other)
    assert "g.zip would unpack to more than" in refusal(lambda: read(path))
