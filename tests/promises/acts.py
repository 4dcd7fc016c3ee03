"""What is recorded: each act is made anew by its test, and compared to its tape.

An act returns dicts, lists, texts and numbers. Floats are close to those of the tape; all else is
equal. Ranks are arrays, in a file of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import pgt

from . import adaptor

TAPES = Path(__file__).parent / "tapes"
ZONE = "America/Regina"  # the town's
AT = pd.Timestamp("2023-03-01 09:00", tz=ZONE)
NUMBER = re.compile(r"[-+]?\d+\.\d+")


def tape(name: str) -> Any:
    """Read a tape."""
    return json.loads((TAPES / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, act: Any) -> None:
    """Write a tape, one list a line."""
    text = json.dumps(plain(act), ensure_ascii=False, separators=(",", ":"))
    text = re.sub(r'("[\w@ -]+":[\[{])', r"\n\1", text).strip()
    (TAPES / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Tables as dicts of columns, numbers as JSON has them, with nine digits."""
    if isinstance(value, pd.DataFrame):
        return {str(name): plain(value[name].tolist()) for name in value}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(f"{value:.9g}") if isinstance(value, float) else value


def differences(taped: Any, now: Any, near: float, where: str = "") -> Iterator[str]:
    """Say where something differs: floats by more than ``near``, relative to 1 or to the tape."""
    if isinstance(taped, dict) and isinstance(now, dict):
        for key in sorted(taped.keys() | now.keys()):
            yield from differences(taped.get(key), now.get(key), near, f"{where}/{key}")
    elif isinstance(taped, list) and isinstance(now, list):
        if len(taped) != len(now):
            yield f"{where}: {len(now)} instead of {len(taped)}"
        for i, (old, new) in enumerate(zip(taped, now, strict=False)):
            yield from differences(old, new, near, f"{where}[{i}]")
    elif isinstance(taped, float) and isinstance(now, (int, float)):
        if not abs(taped - now) <= near * max(1.0, abs(taped)):
            yield f"{where}: {now} instead of {taped}"
    elif taped != now:
        yield f"{where}: {now!r} instead of {taped!r}"


def compare(name: str, act: Any, near: float = 1e-5) -> None:
    """Fail, and say where, unless an act is as on its tape."""
    found = differences(tape(name), plain(act), near)
    assert list(itertools.islice(found, 10)) == []


def predictor() -> dict[str, Any]:
    """The predictor as it comes, asked about the town: at no time and at nine on a Wednesday."""
    visits, model = adaptor.town(), pgt.NextLocation.pretrained()
    few = visits[visits.user_id.isin(people(3))]
    columns = ["user_id", "rank", "location_id", "probability", "somewhere_new", "after"]
    return {
        "predict": model.predict(visits, top=5)[columns],
        "predict at": model.predict(visits, top=5, at=AT)[columns],
        "predict_set 0.5": model.predict_set(few, coverage=0.5)[columns],
        "predict_set 0.9": model.predict_set(few, coverage=0.9, at=AT)[columns],
        "explain": [
            model.explain(visits, user, at=at, top=2)
            for user, at in zip(people(22), (None, AT, None), strict=True)
        ],
    }


def score() -> pd.DataFrame:
    """How good the predictor is for every fourth person, the rules beside it."""
    visits = adaptor.town()
    few = visits[visits.user_id.isin(people(4))]
    return pgt.NextLocation.pretrained().score(few)


def people(step: int) -> list[int]:
    """Every so manieth person of the town."""
    return sorted(adaptor.town().user_id.unique().tolist())[::step]


def town_windows() -> tuple[pgt.PointerGeneratorTransformer, Any]:
    """The PGT that comes with the package, and the town's windows in its vocabulary."""
    model, vocabulary = pgt.load_model(adaptor.checkpoint())
    return model, pgt.prepare(adaptor.town(), protocol="exact", vocabulary=vocabulary)


@torch.no_grad()
def log_probabilities() -> dict[str, Any]:
    """What PGT says of 64 test windows."""
    model, data = town_windows()
    index = np.linspace(0, len(data.test) - 1, 64).astype(int)
    batch = data.test.batch(index)
    out = model(batch)
    top = out.log_probs.topk(20)
    return {
        "windows": data.counts(),
        "gate": out.gate.tolist(),
        "pointer attention": [
            row[:n].tolist()
            for row, n in zip(out.pointer_attention, batch.length.tolist(), strict=True)
        ],
        "top places": top.indices.tolist(),
        "top log-probabilities": top.values.tolist(),
        "target log-probability": out.log_probs.gather(1, batch.target[:, None])[:, 0].tolist(),
        # Over all places: what no list of the best can show.
        "sum of log-probabilities": out.log_probs.double().mean(1).tolist(),
        "sum of squares": out.log_probs.exp().double().square().sum(1).tolist(),
    }


def ranks() -> dict[str, np.ndarray]:
    """(W, 2) places before the target, and tied with it, on the town's test windows."""
    model, data = town_windows()
    rules = (adaptor.Last(), pgt.MostFrequent(), pgt.Markov(), pgt.ContextKernel())
    ranked = {type(rule).__name__: rule.fit(data.train) for rule in rules} | {"PGT": model}
    return {
        name: pgt.evaluate(one, data.test)[["better", "tied"]].to_numpy(np.int16)
        for name, one in ranked.items()
    }


def training() -> dict[str, Any]:
    """Two epochs of `pgt.fit`: of a new model, and of the trained one without dropout.

    The second knows nothing of first weights or of how dropout is drawn.
    """
    trained, data = town_windows()
    train, valid = (part.subset(np.arange(0, len(part), len(part) // n))
                    for part, n in ((data.train, 384), (data.valid, 128)))  # fmt: skip
    config = pgt.TrainConfig(max_epochs=2, warmup_epochs=1, batch_size=64, seed=3)
    torch.manual_seed(5)
    new = pgt.PointerGeneratorTransformer(trained.config)
    tuned = pgt.PointerGeneratorTransformer(replace(trained.config, dropout=0.0))
    tuned.load_state_dict(trained.state_dict())
    with one_thread():
        return {
            name: pgt.fit(model, train, valid, config, device="cpu", progress=False)
            .table().drop(columns="seconds", errors="ignore")
            .assign(learning_rate=lambda table: 1e4 * table.learning_rate)  # about 1, to compare
            for name, model in (("new", new), ("tuned", tuned))
        }  # fmt: skip


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def gps() -> dict[str, Any]:
    """From the positions of five people to their visits, and what each step kept."""
    recorded = adaptor.fixes([4, 8, 18, 32, 48], days=120, every_s=60)
    moments = recorded.tracked_at.astype("datetime64[s, UTC]").astype("int64")
    done = adaptor.journey(recorded, ZONE)
    visits = done.visits
    stays, places = done.staypoints, done.locations
    return {
        "fixes": {"n": len(recorded), "lon": float(recorded.lon.sum()),
                  "lat": float(recorded.lat.sum()), "minutes": float(moments.sum() / 60)},
        "counts": done.counts.astype(object).where(done.counts.notna(), None),
        "staypoints": {"n": len(stays), "lon": float(stays.lon.sum()),
                       "lat": float(stays.lat.sum())},
        "locations": {"n": len(places), "lon": float(places.lon.sum()),
                      "lat": float(places.lat.sum())},
        "visits": pd.DataFrame({
            "user_id": visits.user_id, "location_id": visits.location_id, "split": visits.split,
            "start": visits.started_at.dt.strftime("%y-%m-%d %H:%M:%S"),
            "minutes": ((visits.finished_at - visits.started_at).dt.total_seconds() / 60).round(2),
            "lon": visits.lon.round(6), "lat": visits.lat.round(6),
        }),
    }  # fmt: skip


def files_for_commands(folder: Path) -> None:
    """Write what the README's commands read: visits of 17 people, and the tracks of one."""
    visits = adaptor.town()
    visits = visits[visits.user_id.isin(people(4))]
    for name in ("started_at", "finished_at"):
        visits[name] = visits[name].dt.strftime("%Y-%m-%d %H:%M")  # local, without a zone
    columns = ["user_id", "location_id", "started_at", "finished_at", "lon", "lat"]
    visits[columns].to_csv(folder / "visits.csv", index=False)
    tracks = adaptor.fixes([4], days=12, every_s=300)
    tracks.to_csv(folder / "tracks.csv", index=False)
    points = "".join(
        f'<trkpt lat="{row.lat}" lon="{row.lon}"><time>{row.tracked_at:%Y-%m-%dT%H:%M:%SZ}</time>'
        "</trkpt>"
        for row in tracks.itertuples()
    )
    (folder / "my_tracks").mkdir()
    (folder / "my_tracks" / "a.gpx").write_text(
        '<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>'
        f"{points}</trkseg></trk></gpx>"
    )


# The commands of the README that stay; IN is a folder. Printed are the first lines, so many, since
# behind them may stand what a computer takes; of files, the table or the kind.
COMMANDS: dict[str, tuple[str, int, str]] = {
    "predict": ("predict IN/visits.csv --timezone ZONE", 12, ""),
    "predict, a table": ("predict IN/visits.csv --timezone ZONE --out IN/n.csv", 0, "n.csv"),
    "predict, at a time": (
        "predict IN/visits.csv --timezone ZONE --at 2023-03-01T09:00 --top 3 --out IN/at.csv",
        0, "at.csv",
    ),
    "predict, tracks": ("predict IN/my_tracks --person me --timezone ZONE", 9, ""),
    "explain": ("explain IN/visits.csv --timezone ZONE --user 5", 18, ""),
    "map": ("map IN/visits.csv --timezone ZONE --user 5 --out IN/map.html", 0, "map.html"),
    "visits": (
        "visits IN/tracks.csv --out IN/found.csv --timezone ZONE --everybody --quiet", 0,
        "found.csv",
    ),
    "evaluate": ("evaluate IN/visits.csv --timezone ZONE", 22, ""),
    "city": ("city IN/town", 1, ""),
    "no such file": ("predict IN/nothing.csv", 1, ""),
    "no zone": ("predict IN/visits.csv", 1, ""),
    "no command": ("prediction IN/visits.csv", 1, ""),
}  # fmt: skip
SLOW: dict[str, tuple[str, int, str]] = {
    "train": ("train IN/visits.csv --timezone ZONE --out IN/mine.safetensors", 0,
              "mine.safetensors"),
    "train pgt": (
        "train IN/visits.csv --timezone ZONE --model pgt --epochs 1 --quiet --device cpu "
        "--out IN/model.safetensors", 0, "model.safetensors",
    ),
    "predict with mine": (
        "predict IN/visits.csv IN/mine.safetensors --timezone ZONE --user 5", 0, ""),
    "evaluate pgt": (
        "evaluate IN/visits.csv IN/model.safetensors --timezone ZONE --baselines", 1, ""),
    "predict pgt": (
        "predict IN/visits.csv IN/model.safetensors --timezone ZONE --top 5 --out IN/p.csv", 0, ""),
}  # fmt: skip


def run(folder: Path, asked: tuple[str, int, str]) -> dict[str, Any]:
    """Run a command: its exit status, what it prints, what it writes."""
    line, n_lines, out = asked
    words = line.replace("IN/", f"{folder}/").replace("ZONE", ZONE).split()
    status, printed = adaptor.command(*words)
    lines = printed.replace(f"{folder}/", "IN/").splitlines()[:n_lines]
    return {
        "status": status,
        "words": [" ".join(NUMBER.sub("#", text).split()) for text in lines],
        "numbers": [float(text) for text in NUMBER.findall("\n".join(lines))],
        "written": _written(folder / out) if out else None,
    }


def _written(path: Path) -> Any:
    if path.suffix == ".csv":
        return pd.read_csv(path)
    return path.read_bytes()[8:9].decode() if path.suffix == ".safetensors" else path.is_file()


def quietly(act: Any, *arguments: Any) -> Any:
    """An act, without the notes on its data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return act(*arguments)
