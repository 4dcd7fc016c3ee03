"""The command line of the predictor, which needs no training; arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from lab import pretraining
from wherenext import live_predictor as pages

from pgt import checkpoint
from pgt.cli import scale
from pgt.cli.values import plain, reading, require_writable
from pgt.errors import DataError
from pgt.files import write_text
from pgt.io import tables
from pgt.io.recordings import is_recording
from pgt.predictor import buckets
from pgt.predictor.contextual import Contextual
from pgt.predictor.estimator import NextLocation
from pgt.predictor.fitted import Question
from pgt.predictor.frames import as_visits
from pgt.scale.engines import Engine
from pgt.scale.mapped import is_prepared


def is_predictor(model: Path | None) -> bool:
    """Whether a command is to use the predictor: no file is named, or one of its own."""
    return model is None or "predictor" in checkpoint.read_info(model)


def opened(args: argparse.Namespace) -> NextLocation:
    """The predictor of a file, or the one that comes with the package."""
    if getattr(args, "days", None) is not None:
        raise DataError("--days is for models of 'train --model pgt'; leave it out.")
    return NextLocation.load(args.model) if args.model else NextLocation.pretrained()


def require_visits(args: argparse.Namespace) -> None:
    """Refuse a recording for a PGT, and a person where there is none to name."""
    if is_recording(args.visits):
        raise DataError(
            f"{args.visits} is a recording of positions, and a PGT knows places by the ids of its "
            "training; make visits of it first with python -m pgt visits."
        )
    _refuse_person(args)


def predict(args: argparse.Namespace) -> None:
    """Print or write the likeliest next locations."""
    model, asked = opened(args), {"at": args.at, "top": args.top}
    with _engine(args) as (there, engine):
        if there and args.user is None:
            answer = buckets.predict(model, str(args.visits), **asked, engine=engine)
        else:
            model, visits = _question(args, model, there, engine)
            answer = model.predict(visits, user=args.user, **asked)
    if written(answer, args.out):
        return
    for user, part in answer.groupby("user_id", sort=False):
        first = part.iloc[0]
        print(f"user {plain(user)}, after the visit of {first.after:%Y-%m-%d %H:%M}")
        for row in part.itertuples():
            print(f"  {row.rank}. {plain(row.location_id)}  {row.probability:.3f}")
        print(f"  -  somewhere new  {first.somewhere_new:.3f}")


def written(answer: pd.DataFrame, out: Path | None) -> bool:
    """Write an answer if a file is named for it; whether one is."""
    if out is None:
        return False
    tables.write(answer, out)
    print(f"{answer.user_id.nunique()} people, written to {out}")
    return True


def explain(args: argparse.Namespace) -> None:
    """Print what spoke for a person's likeliest places."""
    model, visits = _question(args, opened(args), _in_buckets(args))
    found = model.explain(visits, args.user, at=args.at, top=args.top)
    for place, part in found.groupby("location_id", sort=False):
        first = part.iloc[0]
        visits = "1 visit" if first.visits == 1 else f"{first.visits} visits"
        print(f"{plain(place)}: {first.probability:.3f}, {visits}")
        for row in part.head(args.reasons).itertuples():
            print(f"  {row.effect:+6.1f} points  {row.about}")


def map(args: argparse.Namespace) -> None:
    """Write a page with a person's places and the guesses."""
    require_writable(args.out, ".html")
    model, visits = _question(args, opened(args), _in_buckets(args))
    drawn = model.map(visits, args.user, at=args.at, top=args.top, streets=args.streets)
    write_text(args.out, drawn.get_root().render())
    print(f"written to {args.out}; open it in a browser")
    print("It loads Leaflet from a CDN. " + ("Streets are on: their server learns the area."
          if args.streets else "Streets are off until you switch them on: their server learns "
          "the area."))  # fmt: skip


def live(args: argparse.Namespace) -> None:
    """Write a page in which the networks answer, with visits in it if a table is named."""
    require_writable(args.out, ".html")
    for name in ("user", "timezone", "person"):
        if getattr(args, name) is not None and args.visits is None:
            raise DataError(f"--{name} needs VISITS, the table that it is about.")
    fitted = opened(args).fitted_
    if not isinstance(fitted, Contextual):
        raise DataError(
            f"The page is for the networks of the predictor, not for {fitted.name!r}; take the "
            "model 'contextual', or leave MODEL out."
        )
    visits = None
    if args.visits is not None:
        visits = Question(_visits(args, _in_buckets(args)), user=args.user).of_person
    shown = pages.live(fitted.bundle, visits)
    shown.save(args.out)
    print(plain(shown.caption))
    print(f"written to {args.out} ({args.out.stat().st_size / 1e6:.2f} MB); open it in a browser")


def evaluate(args: argparse.Namespace) -> None:
    """Print the predictor's scores beside those of the rules, and say which to use."""
    if args.split != "test" or args.json:
        raise DataError("--split and --json are for models of 'train --model pgt'.")
    model = opened(args)
    with _engine(args) as (there, engine):
        if there:
            table = buckets.evaluate(model, str(args.visits), engine=engine)
        else:
            table = model.score(_visits(args, there))
    every = table[table.group == "all"]
    n = int(every.n.iloc[0])
    print(f"test: {n} windows, protocol exact, in percent; [95 % interval of acc@1]")
    span = [f"[{low:.1f}, {high:.1f}]" if low == low else ""
            for low, high in zip(table.low, table.high, strict=True)]  # fmt: skip
    shown = table.assign(interval=span)
    columns = ["model", "group", "n", "acc@1", "interval", "acc@5", "acc@10", "mrr"]
    print(shown[columns].to_string(index=False, float_format="%.1f", na_rep="-"))
    print(verdict(every))


def verdict(every: pd.DataFrame) -> str:
    """In one sentence, which model to use."""
    ours, rules = every.iloc[0], every.iloc[1:]
    name = "the predictor" if ours.model == "contextual" else str(ours.model)
    best = rules.loc[rules["acc@1"].idxmax()]
    own, other = f"{ours['acc@1']:.1f} %", f"{best['acc@1']:.1f} %"
    if ours["acc@1"] >= best["acc@1"]:
        return (
            f"Use {name}: its first guess is right in {own}, that of the best rule "
            f"({best.model}) in {other}."
        )
    return (
        f"Use the rule ({best.model}): its first guess is right in {other}, that of {name} in "
        f"{own}; or fit the predictor to these people (python -m pgt train)."
    )


def train(args: argparse.Namespace) -> None:
    """Fit the predictor to these people, and say what was taken and why."""
    require_writable(args.out, ".safetensors")
    name = args.model or "contextual"
    model = NextLocation(name, seed=args.seed).fit(_visits(args, _in_buckets(args)))
    model.save(args.out)
    if name == "contextual":
        print(model.selection_.to_string(index=False, float_format="%.1f", na_rep="-"))
    print(f"written to {args.out}")


def pretrain(args: argparse.Namespace) -> None:
    """Make the weights that are shipped, or those of another seed."""
    require_writable(args.out, ".safetensors")
    made = pretraining.pretrain(args.seed, workers=args.workers, progress=not args.quiet)
    made.save(args.out)
    print(f"{made.notes['trained on']}; acc@1 in worlds that were held out: "
          f"{made.notes['acc@1 there']} %; written to {args.out}")  # fmt: skip


def _in_buckets(args: argparse.Namespace) -> bool:
    """Whether VISITS is what 'prepare --engine' wrote, which has its zone and its people."""
    there = scale.in_buckets(args) if "engine" in args else is_prepared(args.visits)
    if there:
        scale.refuse_zone(args.visits, args.timezone)
        _refuse_person(args)
    return there


@contextmanager
def _engine(args: argparse.Namespace) -> Iterator[tuple[bool, Engine | None]]:
    """Whether VISITS is a prepared folder, and the engine that is asked for to go through it."""
    there = _in_buckets(args)
    with scale.running(args) as engine:
        yield there, engine


def _question(
    args: argparse.Namespace, model: NextLocation, there: bool, engine: Engine | None = None
) -> tuple[NextLocation, pd.DataFrame]:
    """The predictor, weighed by all buckets if they are there, and a table to ask about."""
    visits = _visits(args, there)
    if there:
        model = buckets.weighed(model, str(args.visits), at=args.at, engine=engine)
    return model, visits


def _visits(args: argparse.Namespace, there: bool) -> pd.DataFrame:
    """The table, or where a prepared folder is there the bucket of the person asked about."""
    if there:
        if getattr(args, "user", None) is None:
            raise DataError(
                f"{args.visits} is what 'prepare --engine' wrote, and this command wants a table, "
                "or one person (--user); give the table that the folder was made from."
            )
        return scale.table_of(args.visits, args.user)
    if is_recording(args.visits):
        from pgt.cli import gps  # what clusters positions is slow to load

        return gps.visits_of(args.visits, args.timezone, args.person)
    require_visits(args)
    try:
        return as_visits(args.visits, timezone=args.timezone)
    except DataError as error:
        raise DataError(reading(error)) from error


def _refuse_person(args: argparse.Namespace) -> None:
    if args.person is not None:
        raise DataError(f"{args.visits} is no GPX; --person is for GPX, leave it out.")
