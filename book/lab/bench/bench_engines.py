"""Sections of several processes: buckets on three engines, and two processes that train one model.

Memory of the engines is that of the largest process, from its start; a process that maps a bucket
after the other holds one of them at a time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bench_fresh
import torch
from bench_fresh import Watch, in_fresh_process, largest, memory
from bench_rows import Row, Settings, cpu_name, row
from grown import grown
from safetensors.torch import load_file, save_file
from wherenext import city

from pgt.config import ModelConfig, TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.parallel import Team, joined
from pgt.train import fit
from pgt.windows import prepare

PLACES = 50_000
KINDS = (("process", 1), ("pool", 2), ("dask", 1), ("dask", 2))
# Weights after an epoch by one process and by two: without dropout in float64, with it in float32.
BOUNDS = {"float64": (0.0, 1e-9), "float32": (0.15, 1e-5)}
# A number added to all keys changes no attention; Adam still turns its rounding into drift.
WITHOUT_EFFECT = ("key.bias", "attention.project.bias")


def bench_engines(settings: Settings) -> Iterator[Row]:
    """From a Parquet file to windows in buckets, by each engine, beside the same in memory."""
    n, buckets = (3_000, 2) if settings.quick else (1_000_000, 8)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "visits.parquet")
        grown(n, 50 if settings.quick else PLACES).to_parquet(path, index=False)
        plain = in_fresh_process(f"{__name__}.in_memory", path, threads=1)
        largest_of = {}
        kinds = KINDS[:2] if settings.quick else KINDS
        for kind, workers in kinds:
            found = in_fresh_process(
                f"{__name__}.in_buckets", path, f"{folder}/{kind}{workers}", kind, workers, buckets,
                threads=1,
            )  # fmt: skip
            if found["counts"] != plain["counts"]:
                raise RuntimeError(f"{kind} makes {found['counts']}, in memory {plain['counts']}")
            largest_of[kind, workers] = found["largest"]
            who = kind if kind == "process" else f"{kind} with {workers}"
            yield row(
                f"{n:,} visits: windows in {buckets} buckets by {who} (reference: in memory)",
                found["seconds"], plain["seconds"], "s", cpu_name(1), peak=found["largest"], n=n,
            )  # fmt: skip
        yield row(
            f"{n:,} visits: windows in {buckets} buckets, memory of the process "
            "(reference: in memory)",
            largest_of[KINDS[0]], plain["largest"], "MiB", cpu_name(1), n=n,
        )  # fmt: skip


def in_memory(path: str) -> dict[str, object]:
    """Read and prepare the whole table."""
    from pgt.io import tables

    with Watch() as seen:
        counts = prepare(tables.read(path)).counts()
    return {"seconds": seen.seconds, "largest": seen.whole, "counts": counts}


def in_buckets(path: str, out: str, kind: str, workers: int, buckets: int) -> dict[str, object]:
    """Deal the people out to buckets and prepare these; the engine's start counts."""
    from pgt.scale.buckets import bucket
    from pgt.scale.engines import engine
    from pgt.scale.preparing import prepare as prepare_buckets

    with Watch() as seen, engine(kind, workers) as running:
        bucket([path], out, n_buckets=buckets, workers=workers, engine=running)
        counts = prepare_buckets(out, engine=running)
    most = max(seen.whole, largest(resource.RUSAGE_CHILDREN))
    return {"seconds": seen.seconds, "largest": most, "counts": counts}


def bench_team(settings: Settings) -> Iterator[Row]:
    """An epoch on the city by one process and by two, one thread each, and how they agree."""
    few = ["few"] if settings.quick else []
    for dtype, (dropout, bound) in [*BOUNDS.items()][-1 if settings.quick else 0 :]:
        with tempfile.TemporaryDirectory() as folder:
            seconds, weights = [], []
            peak = 0.0
            for size in (1, 2):
                out = Path(folder) / f"by{size}.safetensors"
                told = _trained(size, [str(out), dtype, str(dropout), *few])
                seconds.append(told["seconds"])
                peak = told["peak"]
                weights.append(load_file(out))
        name = f"city: an epoch in {dtype}, dropout {dropout:g}, by two processes"
        yield row(f"{name} (reference: by one)", seconds[1], seconds[0], "s", cpu_name(1),
                  peak=peak)  # fmt: skip
        apart = max(
            float((weights[1][key] - value).abs().max())
            for key, value in weights[0].items()
            if not key.endswith(WITHOUT_EFFECT)
        )
        yield row(
            f"{name}: largest difference of a weight (reference: the bound)", apart, bound, "weight"
        )


def _trained(size: int, arguments: list[str]) -> dict[str, float]:
    """Seconds of the epoch by so many processes, and the memory of the one that leads.

    The weights are in the file that is named.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={size}", __file__, *arguments]
    path = os.pathsep.join([str(Path(__file__).parent), str(bench_fresh.ROOT)])
    search = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": search}, text=True,
        capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"torchrun with {size}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def member(out: str, dtype: str, dropout: str, few: str = "") -> None:
    """What each process of the team does."""
    with joined():
        data = prepare(city.load().visits, protocol="exact")
        torch.manual_seed(42)
        size = data.vocabulary.n_locations, data.vocabulary.n_users
        model = PointerGeneratorTransformer(ModelConfig(*size, dropout=float(dropout)))
        part = slice(0, 121) if few else slice(None)
        train, valid = (
            windows.subset(torch.arange(len(windows)).numpy()[part])
            for windows in (data.train, data.valid)
        )
        config = TrainConfig(max_epochs=1, warmup_epochs=1)
        log = fit(model.to(getattr(torch, dtype)), train, valid, config, device="cpu",
                  progress=False)  # fmt: skip
        if Team.now().leads:
            save_file(dict(model.state_dict()), out)
            print("\n" + json.dumps({"seconds": log.seconds, "peak": memory("VmHWM")}))


if __name__ == "__main__":  # as torchrun starts it
    member(*sys.argv[1:])
