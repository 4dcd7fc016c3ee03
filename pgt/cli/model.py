"""What each command of the command line does; the arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from pgt import checkpoint, model, visits
from pgt.cli import predictor, scale
from pgt.cli.values import plain, reading, require_other, require_writable
from pgt.config import PRESETS, ModelConfig, WindowConfig
from pgt.errors import DataError, DataNote
from pgt.io import tables
from pgt.io.sources import read_visits
from pgt.parallel import Team, joined, restarted
from pgt.scale.mapped import is_prepared
from pgt.train import fit
from pgt.visits import SPLITS, overlaps
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset, PreparedDataset
from pgt.windows import prepare as windows_of


def city(args: argparse.Namespace) -> None:
    """Simulate a city and write it."""
    from wherenext import city

    if (args.out / "visits.csv").exists() and not (args.out / "city.json").exists():
        raise DataError(
            f"{args.out} holds a visits.csv that no simulated town wrote; name another folder."
        )
    town = city.simulate(args.preset, args.seed)
    city.save(town, args.out)
    table = town.visits
    print(f"{town.name}: {table.user_id.nunique()} people, {len(town.places)} places, "
          f"{len(table)} visits, written to {args.out}")  # fmt: skip


def download(args: argparse.Namespace) -> None:
    """Fetch a data set from its owner, once its terms are accepted."""
    from pgt.io import download

    path = download.download_geolife(
        args.to, accept_licence=args.accept_licence, url=args.url or download.URL,
        n_trajectories=download.N_TRAJECTORIES, progress=not args.quiet,
    )  # fmt: skip
    print(f"verified: {path}")


def prepare(args: argparse.Namespace) -> None:
    """Read any source, write the visits table, print what is in it."""
    if args.engine:
        return scale.prepare(args)
    with scale.running(args):
        pass
    for place in (args.input, args.out):
        if isinstance(place, str):
            raise DataError(f"{place} is an address; only --engine reads and writes there.")
    require_writable(args.out, ".parquet")
    require_other(args.out, args.input)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)  # they are printed below
        table = read_visits(
            args.input, timezone=args.timezone, columns=args.columns, checkins=args.checkins,
            drop_duplicates=args.drop_duplicates,
        )  # fmt: skip
    read_as, notes = table.attrs.get("recognized", {}), table.attrs.get("notes", [])
    if read_as:
        print("read as: " + ", ".join(f"{ours} = {theirs!r}" for theirs, ours in read_as.items()))
    if "split" not in table.columns:
        table = visits.split_by_days(table)
    data = windows_of(table, days=args.days, min_visits=args.min_visits, protocol=args.protocol)
    tables.write(table, args.out)
    print(describe(table, data))
    for number, note in enumerate(notes, 1):
        print(f"note {number} of {len(notes)}: {plain(note)}")
    print(f"written to {args.out}")


def describe(table: pd.DataFrame, data: Dataset) -> str:
    """Say in a few lines what a table holds and which windows it yields."""
    people = set(table.user_id)
    idle = {name: people - set(getattr(data, name).users) for name in SPLITS}
    lines = [
        f"{len(people)} people, {table.location_id.nunique()} places, {len(table)} visits "
        f"({table.started_at.min():%Y-%m-%d} to {table.started_at.max():%Y-%m-%d}, "
        f"{table.started_at.dt.tz})",
        f"{overlaps(table)} visits begin before the same person's previous one has ended "
        "(kept)",
        f"{int(table.split.isna().sum())} visits without a split (kept, in no window)",
        "windows: " + ", ".join(f"{name} {n}" for name, n in data.counts().items()),
        f"people without any window: {len(set.intersection(*idle.values()))} ("
        + ", ".join(f"{name} {len(left)}" for name, left in idle.items()) + ")",
    ]  # fmt: skip
    return "\n".join(lines)


def train(args: argparse.Namespace) -> None:
    """Fit the predictor; or train PGT, resume it, save it, under ``torchrun`` as a team."""
    if not _is_pgt(args):
        predictor.train(args)
        return
    with joined() as device:
        args.device = device or args.device
        _train(args, Team.now())


def _is_pgt(args: argparse.Namespace) -> bool:
    """Whether PGT is to be trained."""
    given = [name for name, usual in args.of_pgt.items() if getattr(args, name) != usual]
    if args.model not in (None, "pgt") and given:
        raise DataError(
            f"--{given[0].replace('_', '-')} is an option of PGT; leave it out, or give "
            "--model pgt."
        )
    if args.model not in (None, "pgt"):
        return False
    in_buckets = is_prepared(args.visits)
    return args.model == "pgt" or bool(given) or in_buckets or "LOCAL_RANK" in os.environ


def _train(args: argparse.Namespace, team: Team) -> None:
    require_writable(args.out, ".safetensors")
    predictor.require_visits(args)
    windows = WindowConfig(args.days, args.min_visits, args.protocol)
    data = data_of(
        args.visits, windows, timezone=args.timezone, in_buckets=is_prepared(args.visits)
    )
    shape, config = PRESETS[args.preset].model, PRESETS[args.preset].training
    if args.target_time:
        shape = shape | {"target_time": args.target_time}
    config = replace(config, seed=args.seed, max_epochs=args.epochs or config.max_epochs)
    torch.manual_seed(args.seed)
    words = data.vocabulary
    net = model.PointerGeneratorTransformer(
        ModelConfig(words.n_locations, words.n_users, without=args.without, **shape)
    )
    run = args.checkpoint or args.out.with_suffix(".run.safetensors")
    require_writable(run, ".safetensors")
    if run.resolve() == args.out.resolve():
        raise DataError(f"--out and --checkpoint are both {run}; give them two names.")
    resume = not args.fresh or restarted()
    if team.leads:
        if run.exists() and resume:
            print(f"going on from {run}")
        print(f"{net.n_parameters():,} parameters; windows: "
              + ", ".join(f"{name} {n}" for name, n in data.counts().items()))  # fmt: skip
    try:
        history = fit(
            net, data.train, data.valid, config,
            checkpoint=run, resume=resume, device=args.device,
            progress=not args.quiet and team.leads,
        )  # fmt: skip
    except KeyboardInterrupt:
        kept = f"{run} is kept, the same command goes on from it" if run.exists() else "too early"
        raise KeyboardInterrupt(kept) from None
    if not team.leads:
        return
    best = history.rows[history.best_epoch - 1]
    notes = {
        "windows": data.counts(), "preset": args.preset, "seed": args.seed,
        "epochs": len(history.rows), "best": best, "seconds": history.seconds,
        "device": history.device,
    }  # fmt: skip
    checkpoint.save_model(args.out, net, words, notes, data.config)
    run.unlink(missing_ok=True)
    print(f"{len(history.rows)} epochs in {history.seconds:.0f} s on {history.device}; best: epoch "
          f"{history.best_epoch}, valid loss {best['valid_loss']:.3f}, "
          f"Acc@1 {best['valid_acc@1']:.1f} %; written to {args.out}")  # fmt: skip


def windows_config(path: Path, days: int | None = None) -> WindowConfig:
    """On which windows a model was trained; other days than those are refused."""
    config = checkpoint.load_windows_config(path)
    if days not in (None, config.days):
        raise DataError(
            f"{path.name} was trained on windows of {config.days} days, not of {days}; leave "
            f"--days out, or train another model with --days {days}."
        )
    return config


def data_of(
    place: Path | str,
    config: WindowConfig,
    vocabulary: Vocabulary | None = None,
    timezone: str | None = None,
    *,
    in_buckets: bool,
) -> PreparedDataset:
    """The windows of a table, or those of a folder or an address that an engine has prepared."""
    if not in_buckets:
        return windows_of(table_of(place, timezone), config=config, vocabulary=vocabulary)
    scale.refuse_zone(place, timezone)
    return scale.opened(place, config, vocabulary)


def table_of(path: Path | str, timezone: str | None = None) -> pd.DataFrame:
    """Read a table for a command that takes no other option for reading."""
    try:
        return read_visits(path, timezone=timezone)
    except DataError as error:
        raise DataError(reading(error)) from error
