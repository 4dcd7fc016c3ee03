"""On an engine the hostile tables are understood as by one process, or refused in a sentence."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from pgt.errors import DataError
from pgt.io.sources import read_visits
from pgt.scale.buckets import bucket, numbers_of, visits_name
from pgt.scale.duck import Reading
from pgt.scale.storage import Folder

from ..io.test_hostile_tables import ONE, REFUSED, UNDERSTOOD

pytest.importorskip("duckdb")


def on_engine(path: Path, timezone: str | None) -> pd.DataFrame:
    """The visits of a file, dealt out to one bucket."""
    folder = str(path.parent / "buckets")
    bucket([str(path)], folder, n_buckets=1, reading=Reading(timezone))
    out = Folder(folder)
    return out.read_table(visits_name(numbers_of(out)[0]))


@pytest.mark.parametrize("name", [*UNDERSTOOD, *REFUSED])
@pytest.mark.filterwarnings("ignore::pgt.errors.DataNote")
def test_an_engine_reads_the_same_or_refuses(name: str, tmp_path: Path) -> None:
    file, content, options, *_ = (UNDERSTOOD | REFUSED)[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        found = on_engine(path, options.get("timezone"))
    except DataError as refusal:
        message = str(refusal)
    else:
        message = ""
        expected = read_visits(path, **options)  # raises where this should have been refused
        assert found.user_id.tolist() == expected.user_id.tolist()
        for column in ("started_at", "finished_at"):
            assert (found[column] == expected[column]).all()
    assert "\n" not in message


def test_a_wrong_checksum_is_noticed(tmp_path: Path) -> None:
    packed = gzip.compress(ONE.encode())
    (tmp_path / "v.csv.gz").write_bytes(packed[:-8] + bytes(4) + packed[-4:])
    with pytest.raises(DataError, match=r"v\.csv\.gz cannot be read \(CRC check failed"):
        on_engine(tmp_path / "v.csv.gz", None)
