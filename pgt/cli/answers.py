"""What the commands do that use a trained model; the arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from pgt import checkpoint, metrics
from pgt.baselines import baselines, fit_baseline, looking_back
from pgt.cli import predictor, scale
from pgt.cli.model import data_of, table_of, windows_config
from pgt.cli.values import plain, require_other, require_writable
from pgt.contextual import MEMORY
from pgt.errors import DataError
from pgt.files import write_text
from pgt.history import with_history
from pgt.metrics import evaluate as rank_all
from pgt.metrics import interval
from pgt.predict import predict as next_locations
from pgt.scale.engines import Engine
from pgt.scale.evaluating import evaluate as evaluate_buckets
from pgt.windows import PreparedDataset, Windows


def evaluate(args: argparse.Namespace) -> None:
    """Rank every window's target and print the table."""
    if predictor.is_predictor(args.model):
        predictor.evaluate(args)
        return
    predictor.require_visits(args)
    in_buckets = scale.in_buckets(args)
    if args.json:
        require_writable(args.json, ".json")
    net, vocabulary = checkpoint.load_model(args.model)
    config = windows_config(args.model, args.days)
    seed = checkpoint.read_info(args.model).get("notes", {}).get("seed")
    data = data_of(args.visits, config, vocabulary, args.timezone, in_buckets=in_buckets)
    windows = getattr(data, args.split)
    if len(windows) == 0:
        raise DataError(f"There are no {args.split} windows in {args.visits}; try another --split.")
    predictors: dict[str, metrics.Predictor] = {"pgt": net}
    if args.baselines:
        predictors |= {name: fit_baseline(name, data.train, data.valid) for name in baselines()}
    with scale.running(args) as engine:
        ranked = {name: _ranks(args, engine, model, windows)
                  for name, model in predictors.items()}  # fmt: skip
        if args.baselines and not in_buckets:
            ranked |= _remembering(data, args.split)
    rows = []
    for name, ranks in ranked.items():
        ours = name == "pgt"
        without = net.config.without if ours else ()
        about = {
            "data": Path(args.visits).stem, "protocol": config.protocol,
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
        print(predictor.verdict(shown[shown.group == "all"]))
        print(_lead(ranked))


def _remembering(data: PreparedDataset, split: str) -> dict[str, pd.DataFrame]:
    """The ranks of two rules that look back at a hundred visits instead of a week."""
    seen = with_history(data, MEMORY)
    return {
        looking_back(name, MEMORY): rank_all(
            fit_baseline(name, seen.train, seen.valid), getattr(seen, split)
        )
        for name in ("most_frequent", "kernel")
    }


def _ranks(
    args: argparse.Namespace, engine: Engine | None, predictor: metrics.Predictor, windows: Windows
) -> pd.DataFrame:
    """The rank of every window's target; on an engine, bucket by bucket."""
    if engine is None:
        return rank_all(predictor, windows)
    return evaluate_buckets(str(args.visits), predictor, split=args.split, engine=engine)


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
        require_other(args.out, args.visits, args.model)
    if predictor.is_predictor(args.model):
        predictor.predict(args)
        return
    predictor.require_visits(args)
    windows = windows_config(args.model, args.days)
    if in_buckets := scale.in_buckets(args):
        scale.refuse_zone(args.visits, args.timezone)
    with scale.running(args) as engine:
        if in_buckets and args.user is None:
            answer = scale.predict(args, engine)
        else:
            table = (scale.table_of(args.visits, args.user) if in_buckets
                     else table_of(args.visits, args.timezone))  # fmt: skip
            net, vocabulary = checkpoint.load_model(args.model)
            answer = next_locations(
                net, vocabulary, table, windows=windows, user=args.user,
                at=scale.local(args.at, table), top=args.top,
            )  # fmt: skip
    if predictor.written(answer, args.out):
        return
    for user, part in answer.groupby("user_id", sort=False):
        first = part.iloc[0]
        unseen = (
            "" if first.known_user else " (not seen in training: predicted as an unseen person)"
        )
        print(f"user {plain(user)}{unseen}, after the visit of {first.after:%Y-%m-%d %H:%M}, "
              f"gate {first.gate:.2f}")  # fmt: skip
        for _, row in part.iterrows():
            place = row.location_id
            place = "a place not seen in training" if place is None else plain(place)
            print(f"  {row['rank']}. {place}  {row.probability:.3f}  ({row.copied:.0%} copied)")
