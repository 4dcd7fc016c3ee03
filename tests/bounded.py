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

from pgt.datasets import read
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
    few = data.test.subset(np.arange(0, len(data.test), 1200))
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

    from pgt import files
    from pgt.checkpoint import load_model, shipped

    tensors, info = files.read(shipped())
    most = sum(tensor.numel() for tensor in tensors.values())
    info["model"] |= {"d_model": most - most % 64, "d_feedforward": most}
    path = folder / "m.safetensors"
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    save_file(kept, path, metadata={"format": "pgt-1", "info": json.dumps(info)})
    return refused(lambda: load_model(path))


def archive_of_many(folder: Path) -> str:
    """A small zip archive whose files unpack to 70 GB, each within what one may."""
    return refused(lambda: read(_bomb(folder, people=125, files=3)))


def packed_table(folder: Path) -> str:
    """A .csv.gz of 8 MB that is a table of 8 GB."""
    path = folder / "v.csv.gz"
    begin = gzip.compress(b"user_id,location_id,started_at,finished_at\n")
    path.write_bytes(begin + _zeros())
    return refused(lambda: read(path))


def packed_header(folder: Path) -> str:
    """A .csv.gz whose header line alone is 8 GB."""
    path = folder / "v.csv.gz"
    path.write_bytes(gzip.compress(b"user_id,") + _zeros())
    return refused(lambda: read(path))


def _zeros() -> bytes:
    """8 GB of one digit, packed with gzip."""
    return gzip.compress(b"0" * 2**26, 6) * 128


def _bomb(folder: Path, people: int, files: int) -> Path:
    """GeoLife whose files are one short one, which the archive's index lists again and again."""
    path = folder / "g.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("Data/000/Trajectory/20081023000000.plt", "w") as file:
            for _ in range(3):
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
        markov, kernel, people, header, archive_of_many, packed_table, packed_header,
    )
}  # fmt: skip

# What the cases import; loaded once, before the forks.
LOADED = (
    "pgt.baselines", "pgt.checkpoint", "pgt.metrics", "pgt.predictor", "pgt.windows",

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
