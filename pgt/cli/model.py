"""What each command of the command line does; the arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from pgt import checkpoint, metrics, model, visits
from pgt.baselines import baselines, fit_baseline
from pgt.config import PRESETS, ModelConfig, WindowConfig
from pgt.intervals import interval
from pgt.io import tables
from pgt.io.sources import read_visits
from pgt.metrics import evaluate as rank_all
from pgt.parallel import Team, joined, restarted
from pgt.predict import predict as next_locations
from pgt.train import fit
from pgt.visits import SPLITS, DataError
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset, PreparedDataset
from pgt.windows import prepare as windows_of


def city(args: argparse.Namespace) -> None:
    """Simulate a city and write it."""
    from pgt import city

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
        from pgt.cli import scale

        return scale.prepare(args)
    for name in ("workers", "memory", "address", "buckets"):
        if getattr(args, name) is not None:
            raise DataError(f"--{name} goes with --engine; leave it out, or name an engine.")
    for place in (args.input, args.out):
        if isinstance(place, str):
            raise DataError(f"{place} is an address; only --engine reads and writes there.")
    require_writable(args.out, ".parquet")
    table = read_visits(
        args.input, timezone=args.timezone, columns=args.columns, checkins=args.checkins,
        drop_duplicates=args.drop_duplicates,
    )  # fmt: skip
    read_as = table.attrs.pop("recognized", {})
    if read_as:
        print("read as: " + ", ".join(f"{ours} = {theirs!r}" for theirs, ours in read_as.items()))
    if "split" not in table.columns:
        table = visits.split_by_days(table)
    data = windows_of(table, days=args.days, min_visits=args.min_visits)
    tables.write(table, args.out)
    print(describe(table, data))
    print(f"written to {args.out}")


def describe(table: pd.DataFrame, data: Dataset) -> str:
    """Say in a few lines what a table holds and which windows it yields."""
    people = set(table.user_id)
    idle = {name: people - set(getattr(data, name).users) for name in SPLITS}
    lines = [
        f"{len(people)} people, {table.location_id.nunique()} places, {len(table)} visits "
        f"({table.started_at.min():%Y-%m-%d} to {table.started_at.max():%Y-%m-%d}, "
        f"{table.started_at.dt.tz})",
        f"{visits.overlaps(table)} visits begin before the same person's previous one has ended "
        "(kept)",
        f"{int(table.split.isna().sum())} visits without a split (kept, in no window)",
        "windows: " + ", ".join(f"{name} {n}" for name, n in data.counts().items()),
        f"people without any window: {len(set.intersection(*idle.values()))} ("
        + ", ".join(f"{name} {len(left)}" for name, left in idle.items()) + ")",
    ]  # fmt: skip
    if far_from_sun(table):
        lines.append(
            f"note: at longitude {table.lon.median():.0f} the clocks of {table.started_at.dt.tz} "
            "are hours away from the sun's; are these local times? --timezone names the zone"
        )
    return "\n".join(lines)


def far_from_sun(table: pd.DataFrame, hours: float = 3.5) -> bool:
    """Whether the zone's noon is more than so many hours from the places' own.

    No country's clocks are further off; times that were left in UTC often are.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+00:00"])
    >>> far_from_sun(pd.DataFrame({"started_at": at, "lon": -109.0}))
    True
    """
    if "lon" not in table.columns:
        return False
    offset = table.started_at.iloc[0].utcoffset().total_seconds() / 3600
    apart = (offset - float(table.lon.median()) / 15 + 12) % 24 - 12  # around the clock
    return bool(abs(apart) > hours)


def train(args: argparse.Namespace) -> None:
    """Train, resume if there is something to resume, and save; under ``torchrun``, as a team."""
    with joined() as device:
        args.device = device or args.device
        _train(args, Team.now())


def _train(args: argparse.Namespace, team: Team) -> None:
    require_writable(args.out, ".safetensors")
    data = data_of(args.visits, WindowConfig(args.days, args.min_visits, args.protocol))
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


def evaluate(args: argparse.Namespace) -> None:
    """Rank every window's target and print the table."""
    net, vocabulary = checkpoint.load_model(args.model)
    config = windows_config(args.model, args.days)
    seed = checkpoint.read(args.model)[1].get("notes", {}).get("seed")
    data = data_of(args.visits, config, vocabulary)
    windows = getattr(data, args.split)
    if len(windows) == 0:
        raise DataError(f"There are no {args.split} windows in {args.visits}; try another --split.")
    predictors: dict[str, metrics.Predictor] = {"pgt": net}
    if args.baselines:
        predictors |= {name: fit_baseline(name, data.train, data.valid) for name in baselines()}
    rows, ranked = [], {}
    for name, predictor in predictors.items():
        ranks = ranked[name] = rank_all(predictor, windows)
        ours = predictor is net
        without = net.config.without if ours else ()
        about = {
            "data": args.visits.stem, "protocol": config.protocol,
            "target_time": net.config.target_time if ours else "unknown", "model": name,
            "variant": "_".join(("no", *without)) if without else "full",
            "seed": seed if ours else None, "split": args.split,
        }  # fmt: skip
        for group, row in metrics.summarize(ranks).set_index("group", drop=False).iterrows():
            low, high = interval(ranks, "acc@1", group=str(group))
            rows.append(about | {str(key): value for key, value in row.items()}
                        | {"acc@1_low": low, "acc@1_high": high})  # fmt: skip
    if args.json:
        plain = [{k: None if v != v else v for k, v in row.items()} for row in rows]
        write_text(args.json, json.dumps(plain, indent=1) + "\n")
    print(
        f"{args.split}: {len(windows)} windows of {len(set(windows.users))} people, protocol "
        f"{config.protocol}, in percent; [95 % interval of acc@1, resampling people]"
    )
    shown = pd.DataFrame(rows)
    span = [f"[{low:.1f}, {high:.1f}]" if low == low else ""
            for low, high in zip(shown["acc@1_low"], shown["acc@1_high"], strict=True)]  # fmt: skip
    table = shown[["model", "target_time", "group", "n", *metrics.METRICS]]
    table.insert(5, "interval", span)
    print(table.to_string(index=False, float_format="%.1f", na_rep="-"))
    if args.baselines:
        print(_lead(ranked))


def _lead(ranked: dict[str, pd.DataFrame]) -> str:
    """How the model does against the best of the baselines, in a sentence."""
    scores = {name: float(metrics.gains(ranks)["acc@1"].mean()) for name, ranks in ranked.items()}
    best = max((name for name in scores if name != "pgt"), key=lambda name: scores[name])
    low, high = interval(ranked["pgt"], "acc@1", against=ranked[best])
    gap = 100 * (scores["pgt"] - scores[best])
    return (f"acc@1 of pgt minus that of the best baseline ({best}): {gap:+.1f} points "
            f"[{low:+.1f}, {high:+.1f}]")  # fmt: skip


def predict(args: argparse.Namespace) -> None:
    """Print or write the likeliest next locations."""
    if args.out:
        require_writable(args.out, ".csv")
    net, vocabulary = checkpoint.load_model(args.model)
    windows = windows_config(args.model, args.days)
    table = table_of(args.visits)
    at = args.at
    if at is not None and at.tz is None:
        at = at.tz_localize(table.started_at.dt.tz, ambiguous=True, nonexistent="shift_forward")
    answer = next_locations(
        net, vocabulary, table, windows=windows, user=args.user, at=at, top=args.top
    )
    if args.out:
        tables.write(answer, args.out)
        print(f"{answer.user_id.nunique()} people, written to {args.out}")
        return
    for user, part in answer.groupby("user_id", sort=False):
        first = part.iloc[0]
        unseen = (
            "" if first.known_user else " (not seen in training: predicted as an unseen person)"
        )
        print(f"user {user}{unseen}, after the visit of {first.after:%Y-%m-%d %H:%M}, "
              f"gate {first.gate:.2f}")  # fmt: skip
        for _, row in part.iterrows():
            place = "a place not seen in training" if row.location_id is None else row.location_id
            print(f"  {row['rank']}. {place}  {row.probability:.3f}  ({row.copied:.0%} copied)")


def data_of(
    path: Path, config: WindowConfig, vocabulary: Vocabulary | None = None
) -> PreparedDataset:
    """The windows of a table, or those of a folder that an engine has prepared."""
    if (path / "prepared.json").is_file():
        from pgt.cli import scale

        return scale.opened(path, config, vocabulary)
    return windows_of(table_of(path), config=config, vocabulary=vocabulary)


def table_of(path: Path) -> pd.DataFrame:
    """Read a table for a command that takes none of the options for reading."""
    try:
        return read_visits(path)
    except DataError as error:
        hint = " Such options are those of 'prepare', which writes the table for this command."
        raise DataError(f"{error}{hint if ' --' in str(error) else ''}") from error


def require_writable(path: Path, *suffixes: str) -> None:
    """Refuse a name that cannot be written, before the work and not after it."""
    if path.suffix not in suffixes:
        raise DataError(f"Cannot write {path}: its name must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise DataError(f"Cannot write {path}: it is a folder; give a file name.")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
