"""What is recorded: each act is made anew by its test, and compared to its tape.

Record the tapes anew, all or those that are named (predictor, score, ranks, readme)::

    PYTHONPATH=book python -m tests.promises.acts predictor score

Do that only for what changes on purpose, in a commit of its own that changes the tape and says why.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpxpy.gpx
import pandas as pd
from wherenext import city
from wherenext.fixes import simulate_fixes

import pgt
from pgt.__main__ import main
from pgt.baselines import Last
from pgt.checkpoint import shipped

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


def of_some(step: int) -> pd.DataFrame:
    """The visits of every so manieth person of the town, who are numbered from 1."""
    return city.load().visits.query("user_id % @step == 1").copy()


def predictor() -> dict[str, Any]:
    """The predictor as it comes, asked about the town: at no time and at nine on a Wednesday."""
    visits, model = of_some(3), pgt.NextLocation.pretrained()
    columns = ["user_id", "rank", "location_id", "probability", "somewhere_new", "after"]
    return {
        "predict": model.predict(visits, top=5)[columns],
        "predict at": model.predict(visits, top=5, at=AT)[columns],
        "predict_set 0.9": model.predict_set(visits, coverage=0.9, at=AT)[columns],
        "explain": [model.explain(visits, user, top=2) for user in (1, 22)],
    }


def score() -> pd.DataFrame:
    """How good the predictor is for every fourth person, the rules beside it."""
    return pgt.NextLocation.pretrained().score(of_some(4))


def ranks() -> dict[str, list[list[int]]]:
    """(W, 2) places before the target, and tied with it, on the town's test windows."""
    model, vocabulary = pgt.load_model(shipped("city"))
    data = pgt.prepare(city.load().visits, protocol="exact", vocabulary=vocabulary)
    rules = (Last(), pgt.MostFrequent(), pgt.Markov(), pgt.ContextKernel())
    ranked = {type(rule).__name__: rule.fit(data.train) for rule in rules} | {"PGT": model}
    found = {name: pgt.evaluate(one, data.test) for name, one in ranked.items()}
    return {name: table[["better", "tied"]].to_numpy().tolist() for name, table in found.items()}


def files_for_commands(folder: Path) -> None:
    """Write what the README's commands read: visits of 17 people, and the tracks of one."""
    visits = of_some(4)
    for name in ("started_at", "finished_at"):
        visits[name] = visits[name].dt.strftime("%Y-%m-%d %H:%M")  # local, without a zone
    columns = ["user_id", "location_id", "started_at", "finished_at", "lon", "lat"]
    visits[columns].to_csv(folder / "visits.csv", index=False)
    tracks = simulate_fixes(city.load(), [4], days=12, every_s=300).drop(columns="visit")
    tracks.to_csv(folder / "tracks.csv", index=False)
    rows = zip(tracks.lat, tracks.lon, tracks.tracked_at, strict=True)
    points = [gpxpy.gpx.GPXTrackPoint(lat, lon, time=at) for lat, lon, at in rows]
    gpx = gpxpy.gpx.GPX()
    gpx.tracks.append(gpxpy.gpx.GPXTrack())
    gpx.tracks[0].segments.append(gpxpy.gpx.GPXTrackSegment(points))
    (folder / "my_tracks").mkdir()
    (folder / "my_tracks" / "a.gpx").write_text(gpx.to_xml())


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
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main(words)
        except SystemExit as stop:
            status = int(stop.code or 0)
    lines = printed.getvalue().replace(f"{folder}/", "IN/").splitlines()[:n_lines]
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or ["predictor", "score", "ranks", "readme"]:
        write(name, globals()[name]())
