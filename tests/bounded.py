"""What must fit into a given amount of memory and of time, each in a process of its own.

``python -m tests.bounded FOLDER NAME...`` loads the libraries once, and forks for each case. The
fork prepares it, forbids itself to take more than a little memory beyond what it has by then, does
the work, and says what the test then looks at. The system ends it when the processor has worked
for it too long, its preparation included. A line a case is printed: its status, and what it said.
"""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import os
import resource
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.helpers import refusal

ROOM = 1024  # MiB; what is forbidden below asks for eight times as much, or more
SECONDS = 300  # of processor time; the longest case takes 9, what is forbidden would take hours


@contextmanager
def room(mebibytes: int = ROOM) -> Iterator[None]:
    """Forbid the process to grow by more than so much."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + mebibytes * 2**20
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def at_most(seconds: int = SECONDS) -> None:
    """Have the process ended once the processor has worked for it so long since it began."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def refused(read: Callable[[], object]) -> str:
    """The sentence with which something is refused, within the limit."""
    with room():
        return refusal(read)


def visits(people: int, each: int, place: np.ndarray, minutes: float) -> pd.DataFrame:
    """People who all go somewhere every so many minutes."""
    since = pd.to_timedelta(np.tile(np.arange(each) * minutes, people), unit="min")
    start = pd.Timestamp("2024-01-01", tz="UTC") + since
    return pd.DataFrame(
        {"user_id": np.repeat(np.arange(people), each), "location_id": place, "started_at": start,
         "finished_at": start + pd.Timedelta(minutes=minutes / 2)}
    )  # fmt: skip


def markov(_: Path) -> list[int]:
    """A Markov chain over 250,000 places, counted and ranked; places x places are 250 GB."""
    from pgt.baselines import Markov
    from pgt.metrics import evaluate
    from pgt.windows import prepare

    data = prepare(visits(500, 850, np.arange(500 * 850), 60), days=1)
    few = data.test.subset(np.arange(0, len(data.test), 300))
    with room():
        ranks = evaluate(Markov().fit(data.train), few)
    return [data.vocabulary.n_locations, len(ranks)]


def kernel(_: Path) -> list[int]:
    """The kernel's numbers chosen on windows of 5,000 visits; all pairs of a batch are 8 GB."""
    from pgt.baselines import ContextKernel
    from pgt.windows import prepare

    place = np.random.default_rng(0).integers(0, 50, 2 * 28_800)
    data = prepare(visits(2, 28_800, place, 0.5), days=1)
    long = data.valid.subset(data.valid.lengths >= 5000)
    few = long.subset(np.arange(len(long) - 512, len(long)))
    ContextKernel.GRID = {name: options[:1] for name, options in ContextKernel.GRID.items()}
    with room():
        chosen = ContextKernel().fit(data.train).choose(few)
    return [int(few.lengths.min()), len(few), chosen.n_locations]


def places(_: Path) -> list[int]:
    """40,000 staypoints at one place; everybody's neighbours are 12 GB."""
    from pgt.gps.locations import generate_locations

    n, rng = 40_000, np.random.default_rng(0)
    at = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(np.arange(n), unit="h")
    lon, lat = 16.3 + rng.normal(0, 5e-5, n), 48.2 + rng.normal(0, 5e-5, n)
    stays = pd.DataFrame(
        {"user_id": 1, "started_at": at, "finished_at": at, "lon": lon, "lat": lat}
    )
    with room():
        found, table = generate_locations(stays)
    return [len(found), len(table), int(table.n_staypoints.sum())]


def people(_: Path) -> list[int]:
    """Where 100,000 people go next; all of them at once would need twice as much."""
    from pgt.predictor import NextLocation

    model, n, each = NextLocation.pretrained(), 100_000, 12
    place = np.repeat(3 * np.arange(n), each) + np.tile(np.arange(each) % 3, n)
    table = visits(n, each, place, 300)
    model.predict(table.head(each))  # what is loaded once is there
    with room(512):
        found = model.predict(table, top=3)
    # Everybody has had the same days, at places of their own.
    guesses = (found.location_id - 3 * found.user_id).to_numpy().reshape(n, 3)
    return [found.user_id.nunique(), len(found), len(np.unique(guesses, axis=0))]


def header(folder: Path) -> str:
    """A model whose header claims the largest width that its weights could have: 1 TB of them."""
    from safetensors.torch import save_file

    from pgt.checkpoint import load_model, read, shipped

    tensors, info = read(shipped())
    most = sum(tensor.numel() for tensor in tensors.values())
    info["model"] |= {"d_model": most - most % 64, "d_feedforward": most}
    path = folder / "m.safetensors"
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    save_file(kept, path, metadata={"format": "pgt-1", "info": json.dumps(info)})
    return refused(lambda: load_model(path))


def archive_of_a_person(folder: Path) -> str:
    """A small zip archive whose one person unpacks to 8 GB, each file within what one may."""
    return refused(lambda: _fixes(_bomb(folder, people=1, files=16)))


def archive_of_many(folder: Path) -> str:
    """A small zip archive whose people unpack to 70 GB, each within what one may."""
    return refused(lambda: _fixes(_bomb(folder, people=47, files=3)))


def deep_gpx(folder: Path) -> str:
    """A track whose point has a million elements within each other."""
    deep = "<a>" * 1_000_000 + "</a>" * 1_000_000
    path = folder / "deep.gpx"
    path.write_text(
        '<gpx version="1.1" creator="x"><trk><trkseg><trkpt lat="48" lon="16">'
        f"<time>2024-05-01T09:00:00Z</time><extensions>{deep}</extensions>"
        "</trkpt></trkseg></trk></gpx>"
    )
    return refused(lambda: _fixes(path))


def deep_entities(folder: Path) -> str:
    """A track with 200,000 entities within each other, which ends older parsers of XML."""
    n = 200_000
    ladder = "".join(f'<!ENTITY e{i} "&e{i - 1};">' for i in range(1, n))
    path = folder / "entities.gpx"
    path.write_text(
        f'<!DOCTYPE gpx [<!ENTITY e0 "">{ladder}]><gpx version="1.1" creator="x">&e{n - 1};<trk>'
        '<trkseg><trkpt lat="48" lon="16"/></trkseg></trk></gpx>'
    )
    return refused(lambda: _fixes(path))


def packed_table(folder: Path) -> str:
    """A .csv.gz of 8 MB that is a table of 8 GB."""
    from pgt.io.sources import read_visits

    path = folder / "v.csv.gz"
    begin = gzip.compress(b"user_id,location_id,started_at,finished_at\n")
    path.write_bytes(begin + _zeros())
    return refused(lambda: read_visits(path))


def packed_header(folder: Path) -> str:
    """A .csv.gz whose header line alone is 8 GB."""
    from pgt.io.sources import read_visits

    path = folder / "v.csv.gz"
    path.write_bytes(gzip.compress(b"user_id,") + _zeros())
    return refused(lambda: read_visits(path))


def packed_windows(folder: Path) -> str:
    """A windows folder whose train.csv is packed, and 8 GB."""
    from pgt.io.sources import read_visits

    for name in ("train", "valid", "test"):
        (folder / f"{name}.csv").write_bytes(_zeros())
    return refused(lambda: read_visits(folder))


def packed_fixes(folder: Path) -> str:
    """A recording of 8 MB whose one line is 8 GB."""
    from pgt.io.fixes import read_fixes

    return refused(lambda: list(read_fixes(_recording(folder))))


def packed_fixes_shared(folder: Path) -> str:
    """The same recording, before workers share its people."""
    from pgt.io.fixes import people_in

    return refused(lambda: people_in(_recording(folder)))


def _recording(folder: Path) -> Path:
    path = folder / "f.csv.gz"
    path.write_bytes(gzip.compress(b"user_id,tracked_at,lon,lat\n") + _zeros())
    return path


def parquet_rows(folder: Path) -> str:
    """A Parquet file of a megabyte with 256 million times the same visit."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pgt.io.sources import read_visits

    path = folder / "v.parquet"
    at = pa.array(np.zeros(2**22, "datetime64[us]"), pa.timestamp("us", "UTC"))
    one = pa.array(np.ones(2**22, int))
    names = ["user_id", "location_id", "started_at", "finished_at"]
    table = pa.table([one, one, at, at], names)
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(64):
            writer.write_table(table)
    return refused(lambda: read_visits(path))


def parquet_text(folder: Path) -> str:
    """A Parquet file with one name of 4 MB, 2,000 times: 8 GB."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pgt.io.sources import read_visits

    path, n = folder / "v.parquet", 2000
    name = pa.DictionaryArray.from_arrays(np.zeros(n, "int32"), pa.array(["0" * 2**22]))
    at = pa.array(np.arange(n) * 1_000_000, pa.timestamp("us", "UTC"))
    names = ["user_id", "location_id", "started_at", "finished_at"]
    pq.write_table(pa.table([name, pa.array(np.ones(n, int)), at, at], names), path)
    return refused(lambda: read_visits(path))


def _zeros() -> bytes:
    """8 GB of one digit, packed with gzip."""
    return gzip.compress(b"0" * 2**26, 6) * 128


def _fixes(path: Path) -> object:
    from pgt.io.fixes import read_fixes

    return list(read_fixes(path))


def _bomb(folder: Path, people: int, files: int) -> Path:
    """GeoLife whose files are one short one, which the archive's index lists again and again."""
    path = folder / "g.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("Data/000/Trajectory/20081023000000.plt", "w") as file:
            for _ in range(8):
                file.write(b"0" * 2**26)
        (info,) = archive.infolist()
        archive.filelist = [
            _named(info, f"Data/{person:03}/Trajectory/200810230000{number:02}.plt")
            for person in range(people) for number in range(files)
        ]  # fmt: skip
    return path


def _named(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    other = copy.copy(info)
    other.filename = other.orig_filename = name
    return other


CASES: dict[str, Callable[[Path], Any]] = {
    case.__name__: case
    for case in (
        markov, kernel, places, people, header, archive_of_a_person, archive_of_many,
        deep_gpx, deep_entities, packed_table, packed_header, packed_windows, packed_fixes,
        packed_fixes_shared, parquet_rows, parquet_text,
    )
}  # fmt: skip

# What the cases import; loaded once, before the forks.
LOADED = (
    "pgt.baselines", "pgt.checkpoint", "pgt.gps.locations", "pgt.io.fixes", "pgt.io.sources",
    "pgt.metrics", "pgt.predictor", "pgt.windows", "pyarrow.parquet", "sklearn.cluster",
)  # fmt: skip


def forked(name: str, folder: Path) -> tuple[int, str]:
    """The status with which a case ends in a process of its own, and what it says."""
    said = folder / f"{name}.said"
    room = folder / name
    room.mkdir()
    child = os.fork()
    if child == 0:
        # Nothing of this copy may ever come back to the caller's code.
        code = 1
        try:
            at_most()
            said.write_text(json.dumps(CASES[name](room)))
            code = 0
        except BaseException:
            said.write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text() if said.exists() else ""


if __name__ == "__main__":
    for module in LOADED:
        importlib.import_module(module)
    for case in sys.argv[2:]:
        print(json.dumps(forked(case, Path(sys.argv[1]))), flush=True)
