"""What is recorded: each act is made anew by its test, and compared to its tape."""

from __future__ import annotations

import json
import math
import re
import tempfile
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
        if not abs(taped - now) <= near * max(1.0, abs(taped)):  # nan, too
            yield f"{where}: {now} instead of {taped}"
    elif taped != now:
        yield f"{where}: {now!r} instead of {taped!r}"


def predictor() -> dict[str, Any]:
    """The predictor as it comes, asked about the town: at no time and at nine on a Wednesday."""
    visits, model = adaptor.town(), pgt.NextLocation.pretrained()
    few = of_some(3)
    columns = ["user_id", "rank", "location_id", "probability", "somewhere_new", "after"]
    return {
        "predict": model.predict(visits, top=5)[columns],
        "predict at": model.predict(visits, top=5, at=AT)[columns],
        "predict_set 0.5": model.predict_set(few, coverage=0.5)[columns],
        "predict_set 0.9": model.predict_set(few, coverage=0.9, at=AT)[columns],
        "explain": [model.explain(visits, user, top=2) for user in (1, 23, 45)],
    }


def score() -> pd.DataFrame:
    """How good the predictor is for every fourth person, the rules beside it."""
    return pgt.NextLocation.pretrained().score(of_some(4))


def of_some(step: int) -> pd.DataFrame:
    """The visits of every so manieth person of the town, who are numbered from 1."""
    return adaptor.town().query("user_id % @step == 1").copy()


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
        "pointer attention": out.pointer_attention[~batch.padding].tolist(),
        "top places": top.indices.tolist(),
        "top log-probabilities": top.values.tolist(),
        "target log-probability": out.log_probs.gather(1, batch.target[:, None])[:, 0].tolist(),
        # Over all places: what no list of the best can show.
        "mean of log-probabilities": out.log_probs.double().mean(1).tolist(),
        "sum of squares": out.log_probs.exp().double().square().sum(1).tolist(),
    }


def ranks() -> dict[str, list[list[int]]]:
    """(W, 2) places before the target, and tied with it, on the town's test windows."""
    model, data = town_windows()
    rules = (adaptor.Last(), pgt.MostFrequent(), pgt.Markov(), pgt.ContextKernel())
    ranked = {type(rule).__name__: rule.fit(data.train) for rule in rules} | {"PGT": model}
    found = {name: pgt.evaluate(one, data.test) for name, one in ranked.items()}
    return {name: table[["better", "tied"]].to_numpy().tolist() for name, table in found.items()}


def training() -> dict[str, Any]:
    """Two epochs of `pgt.fit`: of a new model, and of the trained one without dropout."""
    trained, data = town_windows()
    train, valid = (part.subset(np.arange(0, len(part), len(part) // n))
                    for part, n in ((data.train, 384), (data.valid, 128)))  # fmt: skip
    config = pgt.TrainConfig(max_epochs=2, warmup_epochs=1, batch_size=64, seed=3)
    torch.manual_seed(5)
    new = pgt.PointerGeneratorTransformer(trained.config)
    tuned = pgt.PointerGeneratorTransformer(replace(trained.config, dropout=0.0))
    tuned.load_state_dict(trained.state_dict())
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order
    logs = {
        name: pgt.fit(model, train, valid, config, device="cpu", progress=False).table()
        for name, model in (("new", new), ("tuned", tuned))
    }
    torch.set_num_threads(n_threads)  # and learning rates of about 1, to compare
    return {name: 1e4 * log.drop(columns="seconds") for name, log in logs.items()}


def gps() -> dict[str, Any]:
    """From the positions of five people to their visits, and what each step kept."""
    recorded = adaptor.fixes([4, 8, 18, 32, 48], days=120, every_s=60)
    done = adaptor.journey(recorded, ZONE)
    visits = done.visits[["user_id", "location_id", "split"]].assign(
        start=done.visits.started_at.dt.strftime("%y-%m-%d %H:%M:%S"),
        minutes=(done.visits.finished_at - done.visits.started_at).dt.total_seconds() / 60,
        lon=done.visits.lon.round(6),
        lat=done.visits.lat.round(6),
    )
    parts = {"fixes": recorded, "staypoints": done.staypoints, "locations": done.locations}
    sums = {name: [len(x), float(x.lon.sum()), float(x.lat.sum())] for name, x in parts.items()}
    moments = recorded.tracked_at.astype("datetime64[s, UTC]").astype("int64")
    counts = done.counts.astype(object).where(done.counts.notna(), None)
    return {"sums": sums, "seconds": float(moments.sum()), "counts": counts, "visits": visits}


def files_for_commands(folder: Path) -> None:
    """Write what the README's commands read: visits of 17 people, and the tracks of one."""
    visits = of_some(4)
    for name in ("started_at", "finished_at"):
        visits[name] = visits[name].dt.strftime("%Y-%m-%d %H:%M")  # local, without a zone
    columns = ["user_id", "location_id", "started_at", "finished_at", "lon", "lat"]
    visits[columns].to_csv(folder / "visits.csv", index=False)
    tracks = adaptor.fixes([4], days=12, every_s=300)
    tracks.to_csv(folder / "tracks.csv", index=False)
    points = "".join(
        f'<trkpt lat="{row.lat}" lon="{row.lon}"><time>{row.tracked_at.isoformat()}</time></trkpt>'
        for row in tracks.itertuples()
    )
    (folder / "my_tracks").mkdir()
    gpx = f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>"
    (folder / "my_tracks" / "a.gpx").write_text(gpx)


def commands(slow: bool) -> dict[str, tuple[int, str, list[str]]]:
    """Of commands.txt, by name: lines of output to keep, a file, and the command."""
    text = (TAPES.parent / "commands.txt").read_text(encoding="utf-8")
    found = [line.split("|") for line in text.splitlines() if not line.startswith("#")]
    return {
        name.strip("* "): (int(n), out.strip(), line.split())
        for name, n, out, line in found
        if name.startswith("*") == slow
    }


def run(folder: Path, n_lines: int, out: str, line: list[str]) -> dict[str, Any]:
    """Run a command: its exit status, what it prints, what it writes."""
    words = [word.replace("IN/", f"{folder}/").replace("ZONE", ZONE) for word in line]
    status, printed = adaptor.command(words)
    lines = printed.replace(f"{folder}/", "IN/").splitlines()[:n_lines]
    return {
        "status": status,
        "words": [" ".join(NUMBER.sub("#", text).split()) for text in lines],
        "numbers": [float(text) for text in NUMBER.findall("\n".join(lines))],
        "written": pd.read_csv(folder / out) if out.endswith("csv") else (folder / out).exists(),
    }


def readme() -> dict[str, Any]:
    """All commands, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        files_for_commands(Path(folder))
        asked = commands(slow=False) | commands(slow=True)
        return {name: run(Path(folder), *asked[name]) for name in asked}
