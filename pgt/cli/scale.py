"""The command line on tables that do not fit into memory; its arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
from pathlib import Path

from pgt.config import WindowConfig
from pgt.scale.buckets import MANIFEST, bucket
from pgt.scale.duck import Reading
from pgt.scale.engines import engine
from pgt.scale.mapped import open_prepared
from pgt.scale.preparing import prepare as prepare_buckets
from pgt.scale.preparing import prepared, vocabulary_of
from pgt.scale.storage import Folder
from pgt.visits import DataError
from pgt.vocabulary import Vocabulary
from pgt.windows import PreparedDataset


def prepare(args: argparse.Namespace) -> None:
    """Deal the people out to buckets, prepare every bucket, print what is in them."""
    folder, memory, workers = str(args.out), args.memory or "1GB", args.workers or 1
    if Path(folder).is_file():
        raise DataError(f"Cannot write {folder}: it is a file; with --engine give a folder.")
    reading = Reading(args.timezone, args.columns or {}, args.checkins, args.drop_duplicates)
    config = WindowConfig(args.days, args.min_visits, args.protocol)
    with engine(args.engine, workers, args.address) as running:
        if dashboard := getattr(running, "dashboard", None):
            print(f"dashboard: {dashboard}")
        numbers = bucket(
            [str(args.input)], folder, n_buckets=args.buckets, reading=reading, memory=memory,
            workers=workers, engine=running,
        )  # fmt: skip
        counts = prepare_buckets(folder, config, memory=memory, engine=running)
    out = Folder(folder)
    words = vocabulary_of(folder, prepared(out)["vocabulary"])
    rows = sum(out.read_json(MANIFEST)["visits"].values())
    print(f"{rows} rows in {len(numbers)} buckets, {len(words.users)} people and {words.n_known} "
          "places in training")  # fmt: skip
    print("windows: " + ", ".join(f"{name} {n}" for name, n in counts.items()))
    print(f"written to {folder}")


def opened(path: Path, config: WindowConfig, vocabulary: Vocabulary | None) -> PreparedDataset:
    """A prepared folder, which must hold the windows that are asked for."""
    data = open_prepared(str(path))
    for name, asked in config.to_dict().items():
        if (has := getattr(data.config, name)) != asked:
            raise DataError(
                f"{path} was prepared with {name} {has}, not {asked}; prepare it anew, or ask for "
                "the same."
            )
    if vocabulary is not None and vocabulary != data.vocabulary:
        raise DataError(
            f"The model was trained with another vocabulary than that of {path}; use the table or "
            "the folder that it was trained on."
        )
    return data
