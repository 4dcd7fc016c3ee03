"""How long an answer takes, from a file to the table: processor seconds, beside what people use.

Each command runs in a process of its own, ours and the reference in turn; the median of five runs.
fastmob is compared where PGT_FASTMOB_PYTHON names a Python that has it, and an earlier version of
this package where PGT_BEFORE names a checkout of it; New York is fitted where PGT_NEW_YORK is set.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FASTMOB, BEFORE = "PGT_FASTMOB_PYTHON", "PGT_BEFORE"
ROOT = Path(__file__).resolve().parents[3]
RUNS = 5
READ = "import pandas as pd, time; t = time.process_time(); pd.{}; print(time.process_time() - t)"
OURS = (
    "import warnings; warnings.simplefilter('ignore'); import time; "
    "from pgt.readers import tables; "
    "t = time.process_time(); tables.read({!r}); print(time.process_time() - t)"
)
ASK = (
    "import warnings; warnings.simplefilter('ignore'); import time, pgt; "
    "model = pgt.NextLocation.pretrained(); t = time.process_time(); model.predict({0!r}); "
    "one = time.process_time(); model.predict({0!r}); print(time.process_time() - one)"
)
MANY = (
    "import warnings; warnings.simplefilter('ignore'); import time, resource, pandas as pd, pgt; "
    "v = pd.read_parquet({!r}); model = pgt.NextLocation.pretrained(); t = time.process_time(); "
    "model.predict(v); print(time.process_time() - t, "
    "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
)
FIT = (
    "import warnings; warnings.simplefilter('ignore'); import time, pgt, torch; "
    "from lab.data_sets import DATA; torch.set_num_threads(1); v = DATA['new_york'].load(); "
    "v = v[v.user_id.isin(sorted(v.user_id.unique())[:60])]; "
    "model = pgt.NextLocation.pretrained(); t = time.process_time(); "
    "model.fit(v); print(time.process_time() - t)"
)
MAP = (
    "import time, numpy as np, pandas as pd, folium; from pgt.maps import places_map; "
    "n, rng = 5000, np.random.default_rng(0); v = pd.DataFrame({'location_id': range(n), "
    "'lon': 16 + rng.random(n), 'lat': 48 + rng.random(n)}); t = time.process_time(); "
    "places_map(v).get_root().render(); print(time.process_time() - t)"
)
MARKERS = (
    "import time, numpy as np, folium; n, rng = 5000, np.random.default_rng(0); "
    "lon, lat = 16 + rng.random(n), 48 + rng.random(n); t = time.process_time(); m = folium.Map(); "
    "[folium.CircleMarker(at, popup='1').add_to(m) for at in zip(lat, lon)]; "
    "m.get_root().render(); print(time.process_time() - t)"
)
LAYER = (
    "import time, numpy as np, folium; n, rng = 5000, np.random.default_rng(0); "
    "at = np.stack([16 + rng.random(n), 48 + rng.random(n)], 1).tolist(); t = time.process_time(); "
    "m = folium.Map(); f = [dict(type='Feature', properties=dict(text='1'), "
    "geometry=dict(type='Point', coordinates=one)) for one in at]; "
    "folium.GeoJson(dict(type='FeatureCollection', features=f), "
    "marker=folium.CircleMarker()).add_to(m); m.get_root().render(); print(time.process_time() - t)"
)
STAYS = (
    "import time, pandas as pd; from pgt.readers import gps; "
    "fixes, _ = gps.clean_fixes(pd.read_parquet({!r})); t = time.process_time(); "
    "gps.generate_staypoints(fixes); print(time.process_time() - t)"
)
THEIR_STAYS = (
    "import time, pandas as pd, fastmob; fixes = fastmob.Positionfixes(pd.read_parquet({!r}), "
    "datetime_col='tracked_at', lat_col='lat', lng_col='lon', uid_col='user_id'); "
    "t = time.process_time(); fixes.generate_staypoints(minutes_for_a_stop=30, "
    "spatial_radius_km=0.2); print(time.process_time() - t)"
)


def printed(code: str, python: str = sys.executable, checkout: str | Path = ROOT) -> list[float]:
    """What a program of one line prints, with the package of a checkout."""
    path = os.pathsep.join([str(checkout), str(Path(checkout) / "book")])
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True,
                          cwd=checkout, env=os.environ | {"PYTHONPATH": path})  # fmt: skip
    return [float(word) for word in done.stdout.split()]


def processor_time(command: list[str]) -> float:
    """Seconds of the processor that a command takes, whatever it exits with."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def usage(command: list[str]) -> tuple[float, float]:
    """Seconds of the processor that a command takes, and MiB of memory at most."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True, "
        "check=True); u = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True,
                          check=True)  # fmt: skip
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def in_turn(ours: Any, reference: Any, runs: int = RUNS) -> tuple[float, float]:
    """The medians of two measurements that are taken one after the other, again and again."""
    pairs = [(ours(), reference()) for _ in range(runs)]
    return tuple(map(statistics.median, zip(*pairs, strict=True)))  # type: ignore[return-value]


def people(n: int, visits: int = 50) -> pd.DataFrame:
    """Visits of so many invented people, in one zone, within a year: two offsets from UTC."""
    rng = np.random.default_rng(0)
    minute = np.sort(rng.integers(0, 60 * 24 * 365, (n, visits)), 1).ravel()
    begin = pd.Timestamp("2024-01-01", tz="Europe/Vienna") + pd.to_timedelta(minute, unit="min")
    user = np.repeat(np.arange(n), visits)
    place = (user * 7 + rng.zipf(1.8, n * visits) % 12) % 50_000
    table = pd.DataFrame({"user_id": user, "location_id": place, "started_at": begin})
    table["finished_at"] = table.started_at
    return table.drop_duplicates(["user_id", "location_id", "started_at"])


def fixes(n: int = 20, each: int = 28_906) -> pd.DataFrame:
    """A fix a minute of people who stay at ten places for up to ten hours, with 8 m of noise."""
    rng, parts = np.random.default_rng(0), []
    for user in range(n):
        places, steps = rng.normal(0, 0.03, (10, 2)), []
        here, count = places[0], 0
        while count < each:
            stay, way = rng.integers(40, 600), rng.integers(10, 40)
            there, share = places[rng.integers(10)], np.linspace(0, 1, way)[:, None]
            steps += [np.tile(here, (stay, 1)), here * (1 - share) + there * share]
            here, count = there, count + stay + way
        at = np.concatenate(steps)[:each] + rng.normal(0, 8 / 111_000, (each, 2))
        when = pd.date_range("2024-01-01", periods=each, freq="min", tz="UTC")
        table = pd.DataFrame({"tracked_at": when, "lon": 16.37 + 1.5 * at[:, 0], "lat": 48.2})
        parts.append(table.assign(user_id=user, lat=table.lat + at[:, 1]))
    return pd.concat(parts, ignore_index=True)


def bench_answers() -> Iterator[tuple[str, float, float | None, float | None]]:
    """Name, our seconds, those of the reference, and MiB at most, of each row."""
    python, pgt = [sys.executable, "-c"], [sys.executable, "-m", "pgt"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        town, big = folder / "town.csv", folder / "big"
        subprocess.run([*pgt, "city", str(town)], capture_output=True, check=True)
        (folder / "bad.csv").write_text("user_id,started_at\n1,now\n")
        table = people(1000, 145)
        table = table.assign(lon=16.2 + table.location_id % 60 * 0.005,
                             lat=48.1 + table.location_id % 40 * 0.004)  # fmt: skip
        table.to_csv(f"{big}.csv", index=False)
        table.to_parquet(f"{big}.parquet", index=False)

        def command(*words: str) -> Any:
            return lambda: processor_time([*words])

        def inside(code: str) -> Any:
            return lambda: printed(code)[0]

        dates = f"read_csv('{big}.csv', parse_dates=['started_at', 'finished_at'])"
        pairs = {
            "import pgt.readers.tables (reference: import pandas)":
                (command(*python, "import pgt.readers.tables"), command(*python, "import pandas")),
            "pgt predict on the town (reference: import torch)":
                (command(*pgt, "predict", str(town)), command(*python, "import torch")),
            "the second answer about the town (reference: import torch)":
                (inside(ASK.format(str(town))), command(*python, "import torch")),
            "pgt --help (reference: python -c pass)":
                (command(*pgt, "--help"), command(*python, "pass")),
            "a refused file (reference: import pandas)":
                (command(*pgt, "predict", str(folder / "bad.csv")),
                 command(*python, "import pandas")),
            f"a CSV of {len(table):,} visits (reference: pandas.read_csv)":
                (inside(OURS.format(f"{big}.csv")), inside(READ.format(dates))),
            "the same as Parquet (reference: pandas.read_parquet)":
                (inside(OURS.format(f"{big}.parquet")),
                 inside(READ.format(f"read_parquet('{big}.parquet')"))),
        }  # fmt: skip
        for about, (ours, reference) in pairs.items():
            yield about, *in_turn(ours, reference), None
        for n in (1000, 10_000, 100_000):
            path = folder / f"{n}.parquet"
            people(n).to_parquet(path)
            seconds, peak = printed(MANY.format(str(path)))
            yield f"predict of {n:,} people, 50 visits each", seconds, None, peak
        out = str(folder / "answer.parquet")
        seconds, peak = usage([*pgt, "predict", str(path), "--out", out])
        yield "pgt predict --out of 5 million visits", seconds, None, peak
        yield from against_before(folder / "10000.parquet", town)
        for reference, code in {
            "as many markers of folium": MARKERS,
            "one bare layer": LAYER,
        }.items():
            both = in_turn(inside(MAP), inside(code))
            yield f"a map of 5,000 places (reference: {reference})", *both, None
        path = folder / "fixes.parquet"
        fixes().to_parquet(path)
        theirs, ours = os.environ.get(FASTMOB), inside(STAYS.format(str(path)))
        code = THEIR_STAYS.format(str(path))
        both = in_turn(ours, lambda: printed(code, theirs)[0]) if theirs else (ours(), None)
        yield "staypoints of 578,120 fixes (reference: fastmob 0.3.2)", *both, None


def against_before(
    many: Path, town: Path
) -> Iterator[tuple[str, float, float | None, float | None]]:
    """The rows whose reference is an earlier version of the package."""
    if (before := os.environ.get(BEFORE)) is None:
        return
    rows = {
        "predict of 10,000 people (reference: before)": (MANY.format(str(many)), 1),
        "the second answer about the town (reference: before)": (ASK.format(str(town)), RUNS),
    }
    if "PGT_NEW_YORK" in os.environ:
        rows["fit to 60 people of New York (reference: before)"] = (FIT, 3)
    for about, (code, runs) in rows.items():
        both = in_turn(
            lambda: printed(code)[0],  # noqa: B023
            lambda: printed(code, checkout=before)[0],  # noqa: B023
            runs,
        )
        yield about, *both, None
