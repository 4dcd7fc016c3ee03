"""Section of more visits than memory: from Parquet in buckets to windows that stay on disk.

Ours deals the people out to buckets, prepares one bucket after the other, and maps the features
of all of them. The reference reads and prepares the whole table. Memory is the most that each
process had, from its start; of what is mapped it counts what was looked at. The windows are equal
to the last bit, or the section fails.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_fresh import Watch, in_fresh_process
from bench_rows import Row, Settings, cpu_name, row
from grown import grown

from pgt.visits import SPLITS
from pgt.windows import PreparedDataset, prepare

PIECE = 2**20  # numbers that are compared together


def bench_mapped(settings: Settings) -> Iterator[Row]:
    """Ten million visits, from a Parquet file to windows and once through all test batches."""
    n, places = (3_000, 50) if settings.quick else (10_000_000, 50_000)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "visits.parquet")
        in_fresh_process(f"{__name__}.write", n, places, path)
        buckets = {"n_buckets": 2} if settings.quick else {}
        ours = in_fresh_process(f"{__name__}.on_disk", path, f"{folder}/out", buckets, threads=1)
        plain = in_fresh_process(f"{__name__}.in_memory", path, threads=1)
    if ours["windows"] != plain["windows"]:
        raise RuntimeError(f"on disk there are {ours['windows']}, in memory {plain['windows']}")
    title = f"{n:,} visits, {places:,} places: Parquet to windows in buckets, mapped"
    yield row(f"{title}, and all test batches (reference: in memory)", ours["seconds"],
              plain["seconds"], "s", cpu_name(1), peak=ours["whole"], n=n)  # fmt: skip
    yield row(f"{title}, memory of the process (reference: in memory)", ours["whole"],
              plain["whole"], "MiB", cpu_name(1), n=n)  # fmt: skip


def write(n: int, places: int, path: str) -> None:
    """The table, as a file."""
    grown(n, places).to_parquet(path, index=False)


def on_disk(path: str, out: str, buckets: dict[str, int]) -> dict[str, Any]:
    """Seconds and memory by way of buckets, and a mark of the windows."""
    from pgt.scale.buckets import bucket
    from pgt.scale.mapped import open_prepared
    from pgt.scale.preparing import prepare as prepare_buckets

    with Watch() as seen:
        bucket([path], out, **buckets)
        prepare_buckets(out)
        data = open_prepared(out)
        _through(data)
    return seen.found() | {"windows": marked(data)}


def in_memory(path: str) -> dict[str, Any]:
    """Seconds and memory of the whole table at once, and a mark of the windows."""
    from pgt.io import tables

    with Watch() as seen:
        data = prepare(tables.read(path))
        _through(data)
    return seen.found() | {"windows": marked(data)}


def _through(data: PreparedDataset) -> None:
    for _ in data.test.batches(512):
        pass


def marked(data: PreparedDataset) -> dict[str, str]:
    """A hash of all features, windows and targets, split by split, and of the vocabulary."""
    marks = {"vocabulary": data.vocabulary.fingerprint()}
    for name in SPLITS:
        part, digest = getattr(data, name), hashlib.sha256()
        for array in (*part.features.numpy(), part.first, part.target, part.in_window):
            for at in range(0, len(array), PIECE):
                digest.update(np.ascontiguousarray(array[at : at + PIECE]).tobytes())
        marks[name] = digest.hexdigest()
    return marks
