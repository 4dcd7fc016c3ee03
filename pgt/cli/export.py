"""The command that takes a trained model out of PyTorch; its arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd
from wherenext import city, live
from wherenext.weights_json import as_json

from pgt.checkpoint import load_model, read_info, shipped
from pgt.cli.model import table_of, windows_config
from pgt.cli.values import require_writable
from pgt.errors import DataError
from pgt.files import write_text
from pgt.io.onnx import write_onnx
from pgt.predictor import onnx as predictor_onnx
from pgt.predictor.contextual import Contextual
from pgt.predictor.estimator import NextLocation
from pgt.windows import prepare


def export(args: argparse.Namespace) -> None:
    """Write a model as JSON, as a page, as ONNX, or as all of them."""
    if not (args.out or args.html or args.onnx):
        raise DataError("Nothing to write; give --out FILE.json, --html FILE.html or --onnx FILE.")
    for path, suffix in ((args.out, ".json"), (args.html, ".html"), (args.onnx, ".onnx")):
        if path:
            require_writable(path, suffix)
    if args.visits and not args.html:
        raise DataError("--visits is for the page; give --html FILE.html as well.")
    if args.visits and not args.model:
        raise DataError("--visits needs --model, the model that was trained on that table.")
    source = args.model or shipped("city")
    if "predictor" in read_info(source):
        _predictor(args)
        return
    model, vocabulary = load_model(source)
    if args.out:
        write_text(args.out, json.dumps(as_json(model, vocabulary), separators=(",", ":")))
        _say(args.out, f"{model.n_parameters():,} weights")
    if args.html:
        shown = _own(args) if args.model else live.playground()
        shown.save(args.html)
        _say(args.html, "open it in a browser")
    if args.onnx:
        write_onnx(model, args.onnx)
        _say(args.onnx, "ONNX")


def _predictor(args: argparse.Namespace) -> None:
    """The networks of a predictor, which are asked where somebody goes next."""
    if args.out or args.html:
        raise DataError(
            f"{args.model.name} is a predictor, which is exported as --onnx FILE.onnx only; "
            "`python -m pgt live` makes a page of it."
        )
    fitted = NextLocation.load(args.model).fitted_
    if not isinstance(fitted, Contextual):
        raise DataError(f"{args.model.name} is a rule that counts, with no network to export.")
    predictor_onnx.write_onnx(fitted.bundle.next_place, args.onnx)
    _say(args.onnx, "ONNX")


def _own(args: argparse.Namespace) -> live.Playground:
    """The page of a reader's own model, with the people of its own table."""
    model, vocabulary = load_model(args.model)
    config = windows_config(args.model)
    if not args.visits:
        town = city.load()
        if not set(town.places.location_id) >= set(vocabulary.locations):
            raise DataError(
                "--html needs --visits, the table that the model was trained on: the page shows "
                "its people and places."
            )
        return live.of_town(model, vocabulary, town, config=config)
    table = table_of(args.visits)
    data = prepare(table, config=config, vocabulary=vocabulary)
    windows = next((w for w in (data.test, data.valid, data.train) if len(w)), None)
    if windows is None:
        raise DataError(
            f"{args.visits.name} yields no window of {config.min_visits} visits in {config.days} "
            "days; the page needs at least one."
        )
    columns = [c for c in ("location_id", "name", "lon", "lat") if c in table.columns]
    places: pd.DataFrame = table[columns].drop_duplicates("location_id")
    return live.build(
        model, windows, places=places, title=f"The live model of {args.model.stem}",
        caption="A trained model, computed in this page. The page holds the visits of its test "
        "windows: think before you share those of real people.",
    )  # fmt: skip


def _say(path: Path, what: str) -> None:
    print(f"written to {path} ({path.stat().st_size / 1e6:.2f} MB; {what})")
