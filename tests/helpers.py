"""Small made-up tables of visits, models, and commands for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from pgt.batch import Batch
from pgt.config import ModelConfig
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset

# Threads cost these small tensors more than they give, and one thread adds up in one order.
torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parent.parent
# Milliseconds after which a browser hangs, surely: a busy machine is slow, not wrong.
PATIENCE = 600_000
ZONE = "Europe/Vienna"
MONDAY = pd.Timestamp("2024-04-01", tz=ZONE)


def random_visits(
    seed: int = 0, users: int = 4, visits: int = 60, places: int = 6, zone: str = ZONE
) -> pd.DataFrame:
    """A table without any structure: people, places, gaps and durations drawn at random."""
    rng = np.random.default_rng(seed)
    parts = []
    for user in range(users):
        gap = rng.integers(20, 60 * 20, visits)  # minutes from one start to the next
        length = (gap * rng.uniform(0.05, 1.0, visits)).astype(int)
        since = np.cumsum(gap) - gap
        start = pd.Timestamp("2024-03-20 07:00", tz=zone) + pd.to_timedelta(since, unit="min")
        parts.append(
            pd.DataFrame(
                {
                    "user_id": user,
                    "location_id": rng.integers(0, places, visits) + 10 * user,
                    "started_at": start,
                    "finished_at": start + pd.to_timedelta(length, unit="min"),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def routine_visits(users: int = 4, days: int = 60) -> pd.DataFrame:
    """Everybody goes home -> work -> lunch -> work -> home, at places of their own."""
    hours = ((8, 3.5, 1), (12, 0.75, 2), (13, 4, 1), (18, 13, 0))
    rows = [
        (user, 10 * user + place, MONDAY + pd.Timedelta(days=day, hours=hour), hours_long)
        for user in range(users)
        for day in range(days)
        for hour, hours_long, place in hours
    ]
    table = pd.DataFrame(rows, columns=["user_id", "location_id", "started_at", "hours"])
    table["finished_at"] = table.started_at + pd.to_timedelta(table.pop("hours"), unit="h")
    return table


def at(*texts: str) -> pd.Series:
    """Local times, say at("2024-04-01 09:00")."""
    return pd.Series(pd.to_datetime(list(texts))).dt.tz_localize(ZONE)


def minutes(table: pd.DataFrame, name: str) -> pd.Series:
    """Minute of the day of a column of times."""
    return table[name].dt.hour * 60 + table[name].dt.minute


def tiny_config(data: Dataset, **changes: Any) -> ModelConfig:
    """A model small enough for a test."""
    size = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 32, "max_len": 50}
    vocabulary = data.vocabulary
    return ModelConfig(vocabulary.n_locations, vocabulary.n_users, **{**size, **changes})


def model_of(config: ModelConfig, seed: int = 0) -> PointerGeneratorTransformer:
    """A model in double precision whose every part matters, also those that start at zero."""
    torch.manual_seed(seed)
    model = PointerGeneratorTransformer(config)
    if model.pointer is not None and model.pointer.position_bias is not None:
        torch.nn.init.normal_(model.pointer.position_bias)
    return model.double().eval()


def pytorch_layer(layer: nn.Module, config: ModelConfig, norm_first: bool) -> nn.Module:
    """PyTorch's encoder layer with random weights that ours gets as well; both evaluate."""
    theirs = nn.TransformerEncoderLayer(
        config.d_model, config.n_heads, config.d_feedforward, 0.0, "gelu",
        batch_first=True, norm_first=norm_first, dtype=torch.float64,
    ).eval()  # fmt: skip
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    names = {
        "self_attn.in_proj_": "attention.project.", "self_attn.out_proj.": "attention.out.",
        "linear1.": "feedforward.0.", "linear2.": "feedforward.3.",
        "norm1.": "norm_attention.", "norm2.": "norm_feedforward.",
    }  # fmt: skip
    given = theirs.state_dict()
    layer.double().eval()
    layer.load_state_dict({our + part: given[their + part] for their, our in names.items()
                           for part in ("weight", "bias")})  # fmt: skip
    return theirs


def changed(batch: Batch, **values: torch.Tensor) -> Batch:
    """The batch with some fields replaced."""
    return replace(batch, **values)


def pad_to(batch: Batch, length: int) -> Batch:
    """The batch with more padding on the right."""
    more = length - batch.location.shape[1]
    wide = [f.name for f in fields(batch) if getattr(batch, f.name).ndim == 2]
    return replace(
        batch, **{name: torch.nn.functional.pad(getattr(batch, name), (0, more)) for name in wide}
    )


def run_python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python on the package in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment(), **options
    )


def environment() -> dict[str, str]:
    """The surroundings of such a process."""
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'book'}",
        "OMP_NUM_THREADS": "1",
    }


def give_up(reason: str) -> NoReturn:
    """Skip on a person's machine; fail where everything must run."""
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(reason)
    pytest.skip(reason)


def built_book(root: Path = ROOT) -> Path:
    """The folder of the built book, when it is not older than what it was built from."""
    html = root / "_build" / "html"
    index = html / "index.html"
    if not index.exists():
        give_up("There is no built book: run `make book`.")
    sources = [root / "_config.yml", root / "_toc.yml"]
    patterns = ("*.ipynb", "*.md", "_static/*")
    sources += [path for pattern in patterns for path in (root / "book").glob(pattern)]
    newer = [path.name for path in sources if path.stat().st_mtime > index.stat().st_mtime]
    if newer:
        give_up(f"The built book is older than {', '.join(newer)}: run `make book`.")
    return html


def refusal(read: Callable[[], object]) -> str:
    """The sentence with which something is refused; empty if it is read."""
    try:
        read()
    except DataError as error:
        return str(error)
    return ""


def made(folder: Path, name: str, content: str | bytes) -> Path:
    """A file of that name and content, in a folder that may have to be made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
