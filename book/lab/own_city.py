"""A table that nobody prepared, through the three commands of chapter 23, at full size.

    python book/lab/run.py own_city

writes ``book/results/own_city.json``: what `prepare`, `train` and `evaluate` took and printed for
the check-ins of 500 people of a simulated large town. The rows with ``table`` "command" tell each
command's seconds of processor time; "scores" are those of ``evaluate --json``, one a model and
group; "ends" compare two rules on the same visits with their ends and without, once with all
visits and once with those that were checked in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from wherenext import city

from lab.data_sets import sampled
from lab.reports import Report, Row
from pgt import metrics
from pgt.baselines import fit_baseline
from pgt.config import PRESETS
from pgt.windows import prepare

SEEDS, EPOCHS = (42, 1), 6
PEOPLE, SHARE = 500, 0.7  # of the town, and of their visits
PRESET = "city"
ZONE = "America/Regina"


def as_checkins(visits: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Visits as check-ins are found: other names, text ids, UTC, no ends, no order."""
    utc = visits.started_at.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    table = {
        "User ID": "u" + visits.user_id.astype(str),
        "Venue ID": "v" + visits.location_id.astype(str),
        "Latitude": visits.lat, "Longitude": visits.lon, "Check-in time": utc,
    }  # fmt: skip
    return pd.DataFrame(table).sample(frac=1, random_state=seed)


def ends(visits: pd.DataFrame, share: float) -> Iterator[dict[str, Any]]:
    """What two rules lose when a visit's end is taken away; test Acc@1 in percent.

    Parameters
    ----------
    visits : DataFrame
    share : float
        Of all visits, for the rows; 0 to 1.
    """
    for name, table in (
        ("known", visits),
        ("unknown", visits.assign(finished_at=visits.started_at)),
    ):
        data = prepare(table, protocol="exact")
        for model in ("most_frequent", "kernel"):
            ranks = metrics.evaluate(fit_baseline(model, data.train, data.valid), data.test)
            yield {"table": "ends", "share": share, "group": name, "model": model, "n": len(ranks),
                   "value": 100 * float(metrics.gains(ranks)["acc@1"].mean())}  # fmt: skip


def command(folder: Path, line: str) -> dict[str, Any]:
    """Run ``python -m pgt`` in a folder: what it printed, and the processor's seconds it took."""
    before = os.times()
    call = [sys.executable, "-m", "pgt", *line.split()]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    after = os.times()  # of the command alone, whatever else the machine does meanwhile
    print(f"pgt {line}\n{done.stdout}", flush=True)
    return {"table": "command", "command": line.split()[0], "line": f"python -m pgt {line}",
            "took": after.children_user + after.children_system
            - before.children_user - before.children_system}  # fmt: skip


def measured(folder: Path, table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The three commands on a table, the last two for every seed."""
    table.to_csv(folder / "checkins.csv", index=False)
    yield command(folder, f"prepare checkins.csv visits.parquet --checkins --timezone {ZONE}")
    for seed in SEEDS:
        yield command(
            folder,
            f"train visits.parquet --out model.safetensors --protocol exact --preset {PRESET} "
            f"--epochs {EPOCHS} --seed {seed} --device cpu --quiet",
        )
        # The baselines have no seed.
        beside = " --baselines" if seed == SEEDS[0] else ""
        yield command(folder, f"evaluate visits.parquet model.safetensors{beside} --json out.json")
        yield from (
            {"table": "scores"} | row for row in json.loads((folder / "out.json").read_text())
        )


def _lived() -> pd.DataFrame:
    return city.simulate(preset="large").visits.drop(columns="split")


def _rows() -> Iterator[dict[str, Any]]:
    lived = _lived()
    with tempfile.TemporaryDirectory() as folder:
        yield from measured(Path(folder), as_checkins(sampled(lived, PEOPLE)))
    for share in (SHARE, 1.0):
        yield from ends(sampled(lived, PEOPLE, share), share)


def _data(_: list[Row]) -> list[Row]:
    table = as_checkins(sampled(_lived(), PEOPLE))
    return [{
        "name": "simulated large town",
        "people": table["User ID"].nunique(),
        "share of their visits": SHARE,
        "places": table["Venue ID"].nunique(),
        "check-ins": len(table),
    }]  # fmt: skip


REPORT = Report(
    question="Do three commands take a table that nobody prepared to scores?",
    rows=_rows,
    data=_data,
    more={
        "training": {
            "preset": PRESET,
            "epochs": EPOCHS,
            "seeds": list(SEEDS),
            "learning_rate": PRESETS[PRESET].training.learning_rate,
        }
    },
)  # fmt: skip
