"""Properties of every reader, tried by Hypothesis: round trips, and accidents of any kind.

A file that we write is read as it was; a file that something happened to is read, or refused with
`DataError`, and nothing else happens. What once broke a reader lies in the folder ``corpus``, under
the name of the reader, and is tried in every run. Nothing is drawn at random: the same cases come
every time.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pgt.io.fixes import read_fixes
from pgt.io.fixes_base import Report
from pgt.io.sources import read_visits
from pgt.io.tables import write
from pgt.predictor.bundle import Bundle
from pgt.predictor.estimator import NextLocation
from pgt.scale import buckets, mapped, preparing
from wherenext import city
from wherenext.results import read_results

from pgt.checkpoint import load_model, load_windows_config, save_model
from pgt.config import TrainConfig
from pgt.contextual import ContextualConfig, ContextualPointer, load_contextual
from pgt.errors import DataError
from pgt.files import folder as shipped
from pgt.files import read
from pgt.files import write as write_tensors
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import model_of, refusal, routine_visits, tiny_config
from .test_fixes import geolife, gpx, some_fixes, zipped

CORPUS = Path(__file__).parent / "corpus"
ZONE = "Europe/Vienna"
steady = settings(
    derandomize=True, deadline=None, database=None, max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore")


# --- round trips

# What pandas takes for an empty cell is no name; nor is what no file in UTF-8 can hold.
EMPTY = {
    "#N/A",
    "#N/A N/A",
    "#NA",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
}
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
NAMES = st.text(LETTERS, min_size=1, max_size=8).filter(
    lambda text: text.strip() and text not in EMPTY
)
WORDS = NAMES.filter(lambda text: not _is_number(text))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in {"true", "false"}
    return True


@st.composite
def tables(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> pd.DataFrame:
    """Visits that `pgt.visits.check` takes, in its order."""
    n = draw(st.integers(1, 6))
    ids = [draw(st.lists(names, min_size=n, max_size=n)) for _ in range(2)]
    minutes = draw(st.lists(st.integers(0, 10**7), min_size=n, max_size=n, unique=True))
    lasting = draw(st.lists(st.integers(0, 10**4), min_size=n, max_size=n))
    start = pd.Timestamp("2010-01-01", tz="UTC") + pd.to_timedelta(minutes, unit="min")
    table = pd.DataFrame({
        "user_id": ids[0], "location_id": ids[1], "started_at": start.tz_convert(ZONE),
        "finished_at": (start + pd.to_timedelta(lasting, unit="min")).tz_convert(ZONE),
    })  # fmt: skip
    if draw(st.booleans()):
        degrees = st.floats(-90, 90, allow_subnormal=False)
        table["lon"], table["lat"] = (draw(st.lists(degrees, min_size=n, max_size=n)) for _ in "ab")
    if draw(st.booleans()):
        splits = st.sampled_from(["train", "valid", "test", None])
        table["split"] = pd.Series(draw(st.lists(splits, min_size=n, max_size=n)), dtype=object)
    return table.sort_values(["user_id", "started_at"], kind="stable", ignore_index=True)


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert set(found.columns) == set(expected.columns)
    for name in expected.columns:
        ours, theirs = expected[name], found[name]
        if name in ("lon", "lat"):
            assert np.allclose(ours, theirs, rtol=1e-15, atol=1e-300)
        elif name == "split":
            assert ours.fillna("").tolist() == theirs.astype(object).fillna("").tolist()
        else:
            assert ours.tolist() == theirs.tolist()


@steady
@given(st.one_of(tables(st.integers(-(2**63), 2**63 - 1)), tables(WORDS)))
def test_visits_are_read_as_they_were_written(table: pd.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "csv"):
            path = Path(folder) / f"v.{ending}"
            write(table, path)
            same(read_visits(path, timezone=ZONE), table)
        packed = Path(folder) / "v.csv.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        same(read_visits(packed, timezone=ZONE), table)


@steady
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(0, 400), st.integers(0, 1439)),
        min_size=3, max_size=12, unique_by=lambda row: (row[0], *row[2:]),
    ),
    st.integers(0, 6),
)  # fmt: skip
def test_windows_folders_are_read_as_they_were_written(
    rows: list[tuple[int, ...]], since: int
) -> None:
    raw = pd.DataFrame(rows, columns=["user_id", "location_id", "start_day", "start_min"])
    raw = raw.assign(id=range(len(raw)), weekday=(raw.start_day + since) % 7, duration=30)
    with tempfile.TemporaryDirectory() as folder:
        for number, split in enumerate(("train", "valid", "test")):
            raw[number::3].to_csv(f"{folder}/{split}.csv", index=False)
        visits = read_visits(folder)
    assert len(visits) == len(raw)
    found = visits.sort_values(["user_id", "started_at"], ignore_index=True)
    raw = raw.sort_values(["user_id", "start_day", "start_min"], ignore_index=True)
    at = found.started_at
    assert (at.dt.hour * 60 + at.dt.minute).tolist() == raw.start_min.tolist()
    assert at.dt.weekday.tolist() == raw.weekday.tolist()
    assert found[["user_id", "location_id"]].equals(raw[["user_id", "location_id"]])
    assert (found.finished_at - at == pd.Timedelta(minutes=30)).all()


@st.composite
def recordings(draw: st.DrawFn) -> pd.DataFrame:
    """One person's fixes, of six decimals and whole seconds."""
    n = draw(st.integers(2, 8))
    millionths = [st.integers(-most * 10**6, most * 10**6) for most in (180, 90)]
    lon, lat = (draw(st.lists(each, min_size=n, max_size=n)) for each in millionths)
    seconds = sorted(draw(st.lists(st.integers(0, 10**8), min_size=n, max_size=n, unique=True)))
    start = pd.Timestamp("2008-01-01", tz="UTC") + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame({
        "user_id": 3, "tracked_at": start.astype("datetime64[us, UTC]"),
        "lon": np.array(lon) / 1e6, "lat": np.array(lat) / 1e6, "trajectory": "20081023025304",
    })  # fmt: skip


@settings(steady, max_examples=30)
@given(recordings())
def test_recordings_are_read_as_they_were_written(fixes: pd.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        fixes.to_csv(home / "f.csv", index=False)
        fixes.to_parquet(home / "f.parquet")
        gpx(home / "f.gpx", fixes)
        zipped(geolife(home / "g", fixes), home / "g.zip")
        for name in ("f.csv", "f.parquet", "f.gpx", "g", "g.zip"):
            report = Report()
            (found,) = read_fixes(home / name, report=report)
            assert report.n_bad + len(found) == len(fixes)
            kept = fixes.set_index("tracked_at").loc[found.tracked_at]
            for column in ("lon", "lat"):
                assert np.allclose(found[column], kept[column], atol=1e-9)


@steady
@given(
    st.dictionaries(
        NAMES, st.tuples(st.lists(st.integers(0, 3), max_size=3),
                         st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool])),
        max_size=4,
    ),
    st.dictionaries(NAMES, st.one_of(st.integers(), st.booleans(), NAMES), max_size=4),
)  # fmt: skip
def test_tensors_are_read_as_they_were_written(
    shapes: dict[str, tuple[list[int], torch.dtype]], info: dict[str, Any]
) -> None:
    tensors = {name: torch.arange(math.prod(shape)).reshape(shape).to(kind)
               for name, (shape, kind) in shapes.items() if name != "__metadata__"}  # fmt: skip
    info = {name: value for name, value in info.items() if name != "notes"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        write_tensors(path, tensors, info)
        found, about = read(path)
    assert about == info and found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


@settings(steady, max_examples=12)
@given(st.lists(WORDS, min_size=2, max_size=2))
@example(["Old\rTown", "=1+1\n"])
def test_cities_are_read_as_they_were_written(names: list[str]) -> None:
    town = _town()
    places = town.places.assign(name=names[0], district=names[1])
    with tempfile.TemporaryDirectory() as folder:
        city.save(city.City(**vars(town) | {"places": places, "name": names[0]}), folder)
        again = city.load(folder)
    assert again.name == names[0]
    pd.testing.assert_frame_equal(again.places, places, check_dtype=False)
    assert again.visits.started_at.tolist() == town.visits.started_at.tolist()


@cache
def _town() -> city.City:
    """A few visits of the town, and the places and the person that are in them."""
    town = city.load()
    visits = town.visits.head(12)
    places = town.places[town.places.location_id.isin(visits.location_id)]
    people = town.people[town.people.user_id.isin(visits.user_id)]
    base = {**town.base, "features": town.base["features"][:2]}
    return city.City(town.name, town.timezone, places.reset_index(drop=True), people,
                     town.moves.head(1), visits, base, {})  # fmt: skip


# --- accidents


@cache
def _files() -> dict[str, tuple[bytes, Callable[[Path], object]]]:
    """Name of a file -> what it holds, and who reads it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        visits, fixes = _visits(), some_fixes((0, 3), n=6)
        few = visits.groupby("user_id").head(4)
        write(few, home / "v.csv")
        write(few, home / "v.parquet")
        (home / "v.csv.gz").write_bytes(gzip.compress((home / "v.csv").read_bytes()))
        fixes.to_csv(home / "f.csv", index=False)
        fixes.to_parquet(home / "f.parquet")
        gpx(home / "f.gpx", fixes)
        zipped(geolife(home / "g", fixes), home / "g.zip")
        data, model = _data(), _small()
        save_model(home / "m.safetensors", model, data.vocabulary, {"seed": 1}, data.config)
        size = data.vocabulary.n_locations, data.vocabulary.n_users
        contextual = ContextualPointer(ContextualConfig(*size))
        save_model(home / "c.safetensors", contextual, data.vocabulary, {}, data.config)
        with contextlib.suppress(InterruptedError):
            _train_on(home / "r.run.safetensors", after_epoch=_interrupt)
        shutil.copy(home / "r.run.safetensors", home / "t.run.safetensors")
        shutil.copy(shipped("checkpoints") / "nobody.safetensors", home / "p.safetensors")
        NextLocation("markov").fit(visits).save(home / "chain.safetensors")
        NextLocation("kernel").fit(visits).save(home / "rule.safetensors")
        (home / "r.json").write_text(
            json.dumps({"rows": [{"model": "pgt", "acc@1": 1.0}], "code": {}})
        )
        found = {file.name: file.read_bytes() for file in home.iterdir() if file.is_file()}
    return {name: (content, READERS[name]) for name, content in found.items()}


@cache
def _visits() -> pd.DataFrame:
    return routine_visits(users=2, days=50)


def _small() -> PointerGeneratorTransformer:
    """A PGT for these visits."""
    return model_of(tiny_config(_data(), d_model=8, d_feedforward=8, n_layers=1)).float()


@cache
def _data() -> Dataset:
    return prepare(_visits())


def _interrupt(row: dict[str, float]) -> None:
    raise InterruptedError


def _train_on(path: Path, after_epoch: Callable[[dict[str, float]], None] | None = None) -> None:
    """Two epochs, or what is left of them in the file of a run."""
    few = _data().train.subset(np.arange(16))
    try:
        fit(_small(), few, few, TrainConfig(max_epochs=2), device="cpu", checkpoint=path,
            progress=False, after_epoch=after_epoch)  # fmt: skip
    except FloatingPointError as error:  # of weights that are numbers, and beyond all measure
        raise DataError(str(error)) from error


def _model(path: Path) -> None:
    load_model(path)
    load_windows_config(path)


def _contextual(path: Path) -> None:
    load_contextual(path)
    load_windows_config(path)


READERS: dict[str, Callable[[Path], object]] = {
    "v.csv": read_visits, "v.csv.gz": read_visits, "v.parquet": read_visits,
    "f.csv": lambda path: list(read_fixes(path, report=Report())),
    "f.parquet": lambda path: list(read_fixes(path, report=Report())),
    "f.gpx": lambda path: list(read_fixes(path, report=Report())),
    "g.zip": lambda path: list(read_fixes(path, report=Report())),
    "m.safetensors": _model, "c.safetensors": _contextual, "r.run.safetensors": _model,
    "t.run.safetensors": _train_on, "chain.safetensors": NextLocation.load,
    "rule.safetensors": NextLocation.load, "p.safetensors": Bundle.load,
    "r.json": lambda path: read_results(path.stem, path.parent),
}  # fmt: skip


def read_or_refused(reader: Callable[[Path], object], path: Path) -> None:
    """Nothing but a value or one sentence."""
    assert "\n" not in refusal(lambda: reader(path))


ACCIDENTS = st.lists(
    st.tuples(st.integers(0, 2**20), st.sampled_from(["flip", "set", "cut", "insert", "remove"]),
              st.integers(0, 255)),
    min_size=1, max_size=4,
)  # fmt: skip


def damaged(whole: bytes, accidents: list[tuple[int, str, int]]) -> bytes:
    """A file after its accidents."""
    content = bytearray(whole)
    for where, act, value in accidents:
        at = where % max(len(content), 1)
        if act == "cut" or not content:
            del content[at:]
        elif act == "insert":
            content[at:at] = bytes([value]) * (1 + where % 3)
        elif act == "remove":
            del content[at : at + 1 + value % 8]
        else:
            content[at] = content[at] ^ 1 << value % 8 if act == "flip" else value
    return bytes(content)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    content, reader = _files()[name]

    @steady
    @given(ACCIDENTS)
    @example([(0, "cut", 0)])
    def tried(accidents: list[tuple[int, str, int]]) -> None:
        path = tmp_path / name
        path.write_bytes(damaged(content, accidents))
        read_or_refused(reader, path)

    tried()


@pytest.mark.parametrize("name", ["windows", "town", "buckets"])
def test_a_folder_with_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    whole, reader = tmp_path / name, read_visits
    if name == "town":
        city.save(_town(), whole)
    elif name == "windows":
        whole.mkdir()
        for split in ("train", "valid", "test"):
            text = "id,user_id,location_id,start_day,start_min,weekday\n1,1,2,0,9,0\n2,1,3,1,9,1\n"
            (whole / f"{split}.csv").write_text(text)
    else:
        write(routine_visits(users=2, days=50), tmp_path / "v.parquet")
        buckets.bucket([str(tmp_path / "v.parquet")], str(whole), n_buckets=1)
        preparing.prepare(str(whole))
        reader = lambda path: mapped.open_prepared(str(path), here=tmp_path / "here")  # noqa: E731
    read_or_refused(reader, whole)
    files = sorted(
        file for file in whole.rglob("*") if file.suffix in (".json", ".csv", ".geojson")
    )
    kept = {file: file.read_bytes() for file in files}

    @settings(steady, max_examples=30)
    @given(st.sampled_from(files), ACCIDENTS)
    @example(files[0], [(0, "cut", 0)])
    @example(files[-1], [(0, "cut", 0)])
    def tried(file: Path, accidents: list[tuple[int, str, int]]) -> None:
        preparing.vocabulary_of.cache_clear()
        file.write_bytes(damaged(kept[file], accidents))
        read_or_refused(reader, whole)
        file.write_bytes(kept[file])

    tried()


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=4), one, max_size=3),
    max_leaves=4,
)  # fmt: skip


@st.composite
def tampered(draw: st.DrawFn, whole: Any) -> Any:
    """JSON of which one part, however deep, is another or is gone."""
    if isinstance(whole, (dict, list)) and whole and draw(st.integers(0, 4)):
        keys = list(whole) if isinstance(whole, dict) else list(range(len(whole)))
        key = draw(st.sampled_from(keys))
        copy = dict(whole) if isinstance(whole, dict) else list(whole)
        if draw(st.integers(0, 3)):
            copy[key] = draw(tampered(whole[key]))
        else:
            del copy[key]
        return copy
    return draw(JSON)


TENSORS = [name for name in READERS if name.endswith(".safetensors")]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TENSORS, "r.json"])
def test_a_tampered_header_is_read_or_refused(name: str, tmp_path: Path) -> None:
    content, reader = _files()[name]
    path = tmp_path / name
    path.write_bytes(content)
    tensors: dict[str, Any] = {}
    if name == "r.json":
        info = json.loads(content)
    else:
        tensors, info = read(path)

    @settings(steady, max_examples=40 if name == "p.safetensors" else 100)
    @given(tampered(info))
    def tried(other: Any) -> None:
        if name == "r.json":
            path.write_text(json.dumps(other))
        else:
            write_tensors(path, tensors, other)
            read_or_refused(read, path)
        read_or_refused(reader, path)

    tried()


@st.composite
def tampered_tensors(draw: st.DrawFn, whole: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors of which one is another, is gone, or has a new name."""
    key = draw(st.sampled_from(sorted(whole)))
    others = {name: value for name, value in whole.items() if name != key}
    value = whole[key]
    act = draw(st.sampled_from(["gone", "name", "kind", "shape", "more", "number", "all"]))
    if act == "gone":
        return others
    if act == "name":
        return others | {draw(NAMES) if draw(st.booleans()) else f"{key}.more": value}
    if act == "kind":
        kinds = [torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool]
        return others | {key: value.to(draw(st.sampled_from(kinds)))}
    if act in ("shape", "more"):
        flat = value.reshape(-1)
        size = draw(st.lists(st.integers(0, 3), max_size=3))
        more = flat.repeat(2) if act == "more" else torch.zeros(size, dtype=value.dtype)
        return others | {key: more}
    number = draw(st.sampled_from([-1.0, 0.0, 1e9, -1e30, math.nan, math.inf, -math.inf]))
    if not value.is_floating_point():
        number = draw(st.sampled_from([-1, 0, 2**31, -(2**63), 2**63 - 1]))
    other = torch.full_like(value, number)
    if act == "number" and value.numel():
        other = value.clone().reshape(-1)
        other[draw(st.integers(0, value.numel() - 1))] = number
        other = other.reshape(value.shape)
    return others | {key: other}


@pytest.mark.slow
@pytest.mark.parametrize("name", TENSORS)
def test_tampered_tensors_are_read_or_refused(name: str, tmp_path: Path) -> None:
    content, reader = _files()[name]
    path = tmp_path / name
    path.write_bytes(content)
    tensors, info = read(path)

    @settings(steady, max_examples=40 if name == "p.safetensors" else 100)
    @given(tampered_tensors(tensors))
    def tried(other: dict[str, torch.Tensor]) -> None:
        write_tensors(path, other, info)
        read_or_refused(reader, path)

    tried()


# --- what broke a reader once


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: path.parent.name)
def test_what_broke_a_reader_breaks_none(path: Path, tmp_path: Path) -> None:
    name = path.parent.name
    here = tmp_path / name
    if path.suffix == ".header":  # of a model, whose weights are not kept
        here.write_bytes(_files()[name][0])
        tensors, _ = read(here)
        write_tensors(here, tensors, json.loads(path.read_text(encoding="utf-8")))
    else:
        here.write_bytes(path.read_bytes())
    read_or_refused(READERS[name], here)
