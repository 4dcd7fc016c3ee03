"""The command line on tables that do not fit into memory; its arguments are in `pgt.cli.parser`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.predictor.arguments import moment
from pgt.scale.buckets import MANIFEST, bucket, number_of, numbers_of, visits_name
from pgt.scale.duck import Reading
from pgt.scale.engines import Engine
from pgt.scale.engines import engine as start
from pgt.scale.evaluating import predict as predict_buckets
from pgt.scale.mapped import is_prepared, open_prepared
from pgt.scale.preparing import PREPARED, prepared, require_windows, vocabulary_of
from pgt.scale.preparing import prepare as prepare_buckets
from pgt.scale.storage import Folder
from pgt.vocabulary import Vocabulary
from pgt.windows import PreparedDataset

OPTIONS = ("workers", "address", "memory", "buckets")


@contextmanager
def running(args: argparse.Namespace) -> Iterator[Engine | None]:
    """The engine that was asked for, if any; options that go with none are refused."""
    if not getattr(args, "engine", None):
        for name in OPTIONS:
            if getattr(args, name, None) is not None:
                raise DataError(f"--{name} goes with --engine; leave it out, or name an engine.")
        yield None
        return
    with start(args.engine, args.workers or 1, args.address) as started:
        if dashboard := getattr(started, "dashboard", None):
            print(f"dashboard: {dashboard}")
        yield started


def prepare(args: argparse.Namespace) -> None:
    """Deal the people out to buckets, prepare every bucket, print what is in them."""
    folder, memory, workers = str(args.out), args.memory or "1GB", args.workers or 1
    if Path(folder).is_file():
        raise DataError(f"Cannot write {folder}: it is a file; with --engine give a folder.")
    reading = Reading(args.timezone, args.columns or {}, args.checkins, args.drop_duplicates)
    config = WindowConfig(args.days, args.min_visits, args.protocol)
    with running(args) as started:
        numbers = bucket(
            [str(args.input)], folder, n_buckets=args.buckets, reading=reading, memory=memory,
            workers=workers, engine=started,
        )  # fmt: skip
        counts = prepare_buckets(folder, config, memory=memory, engine=started)
    out = Folder(folder)
    words = vocabulary_of(folder, prepared(out)["vocabulary"])
    rows = sum(out.read_json(MANIFEST)["visits"].values())
    print(f"{rows} rows in {len(numbers)} buckets, {len(words.users)} people and {words.n_known} "
          "places in training")  # fmt: skip
    print("windows: " + ", ".join(f"{name} {n}" for name, n in counts.items()))
    print(f"written to {folder}")


def in_buckets(args: argparse.Namespace) -> bool:
    """Whether VISITS is a folder, or with an engine an address, that 'prepare --engine' wrote.

    Raises
    ------
    DataError
        An engine is asked for and has no buckets to work through, or an address is given and no
        engine.
    """
    place = args.visits
    is_address = isinstance(place, str)
    if is_address and not args.engine:
        raise DataError(
            f"{place} is an address, which only --engine reads; add --engine process if 'pgt "
            "prepare --engine' wrote there, or download it first."
        )
    there = Folder(place).has(PREPARED) if is_address else is_prepared(place)
    if args.engine and not there:
        remedy = "check the address" if is_address else "leave --engine out"
        raise DataError(
            f"{place} holds no buckets for an engine to work through; make them with 'pgt prepare "
            f"--engine', or {remedy}."
        )
    return there


def refuse_zone(path: Path | str, timezone: str | None) -> None:
    """Refuse a zone for a prepared folder, whose times have theirs.

    Raises
    ------
    DataError
    """
    if timezone:
        raise DataError(f"{path} was prepared in its zone; leave --timezone out.")


def table_of(folder: Path | str, user: str) -> pd.DataFrame:
    """The visits of a person's bucket."""
    out = Folder(str(folder))
    number = number_of(out, user)
    if number not in numbers_of(out):
        raise DataError(f"There is no user {user!r} in {folder}.")
    return out.read_table(visits_name(number))


def predict(args: argparse.Namespace, engine: Engine | None) -> pd.DataFrame:
    """Predict everybody of a prepared folder, bucket by bucket."""
    out = Folder(str(args.visits))
    first = out.read_table(visits_name(numbers_of(out)[0]))
    return predict_buckets(
        out.url, args.model, at=local(args.at, first), top=args.top, engine=engine
    )


def local(at: pd.Timestamp | None, visits: pd.DataFrame) -> pd.Timestamp | None:
    """The moment in the visits' own zone.

    Examples
    --------
    >>> table = pd.DataFrame({"started_at": pd.to_datetime(["2024-05-01 09:00+02:00"])})
    >>> str(local(pd.Timestamp("2024-05-01 12:00"), table))
    '2024-05-01 12:00:00+02:00'
    """
    return None if at is None else moment(at, visits.started_at.dt.tz)


def opened(
    place: Path | str, config: WindowConfig, vocabulary: Vocabulary | None
) -> PreparedDataset:
    """A prepared folder, which must hold the windows that are asked for.

    The arrays of a store elsewhere are copied into a passing folder of this machine; what is
    mapped stays until nobody uses it.
    """
    require_windows(str(place), config)
    with TemporaryDirectory() as here:
        data = open_prepared(str(place), here=None if Folder(str(place)).is_local else here)
    if vocabulary is not None and vocabulary != data.vocabulary:
        raise DataError(
            f"The model was trained with another vocabulary than that of {place}; use the table or "
            "the folder that it was trained on."
        )
    if vocabulary is not None and _strangers(vocabulary, data.vocabulary):
        raise DataError(
            f"The people of {place} have the ids of those that the model was trained on, and other "
            "visits; use the table or the folder that it was trained on."
        )
    return data


def _strangers(one: Vocabulary, other: Vocabulary) -> bool:
    """Whether two vocabularies with the same ids are surely of different people."""
    return bool(one.people and other.people) and not {*one.people} & {*other.people}
