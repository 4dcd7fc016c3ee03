"""Sections of much at once: many people's intervals, staypoints at few places, many baskets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from bench_fresh import Watch, in_fresh_process
from bench_growth import made_ranks
from bench_rows import Row, Settings, cpu_name, row
from grown import grown
from many_baskets import many_baskets
from wherenext import city

from pgt.gps.locations import generate_locations
from pgt.metrics import interval_of_mean
from pgt.temporal_sets import VARIANTS, SetConfig, SetPredictor, SetTraining, fit, mean_of
from pgt.units import EARTH_RADIUS

RUNS, WINDOWS_EACH = 5, 5
PEOPLE_BUDGET, PEOPLE_MEMORY = 8.0, 100.0  # seconds, MiB
EPS, NOISE = 20.0, 4.0  # metres
BASKETS_BUDGET, BASKETS_MEMORY = 300.0, 1e9 / 2**20  # seconds, MiB


def bench_intervals(settings: Settings) -> Iterator[Row]:
    """Of one run, and of the mean of several less a rule: people, and runs, are resampled."""
    n = 500 if settings.quick else 200_000
    for runs, of in ((1, "one run"), (RUNS, f"{RUNS} runs against a rule")):
        found = in_fresh_process(f"{__name__}.intervals", n, runs, threads=1)
        title = f"{n:,} people: an interval of {of}"
        yield row(f"{title} (reference: the budget)", found["seconds"], PEOPLE_BUDGET, "s",
                  cpu_name(1), peak=found["peak"], n=n)  # fmt: skip
        yield row(f"{title}, memory (reference: the budget)", found["peak"], PEOPLE_MEMORY, "MiB",
                  cpu_name(1), n=n)  # fmt: skip


def intervals(n_people: int, n_runs: int) -> dict[str, float]:
    """Seconds, and memory beyond the tables of ranks."""
    users = np.repeat(np.arange(n_people), WINDOWS_EACH)
    runs = [made_ranks(users, seed) for seed in range(n_runs)]
    rule = [made_ranks(users, n_runs)] if n_runs > 1 else None
    interval_of_mean([run[:50] for run in runs])
    with Watch() as seen:
        interval_of_mean(runs, against=rule)
    return seen.found()


def bench_clustering(settings: Settings) -> Iterator[Row]:
    """Locations of staypoints when everybody stays at the same places."""
    n = 2_000 if settings.quick else 198_000
    ours, reference = (
        in_fresh_process(f"{__name__}.clustering", n, name, threads=1)
        for name in ("ours", "reference")
    )
    title = f"{n:,} staypoints at the town's places: locations"
    yield row(f"{title} (reference: scikit-learn)", ours["seconds"], reference["seconds"], "s",
              cpu_name(1), peak=ours["peak"], n=n)  # fmt: skip
    yield row(f"{title}, memory (reference: scikit-learn)", ours["peak"], reference["peak"], "MiB",
              cpu_name(1), n=n)  # fmt: skip
    if ours["places"] != reference["places"]:
        raise RuntimeError(f"we find {ours['places']} places, scikit-learn {reference['places']}")


def clustering(n: int, whose: str) -> dict[str, float]:
    """Seconds, memory beyond the table of staypoints, and how many places are found."""
    stays = shared_staypoints(n)
    work = {"ours": our_places, "reference": their_places}[whose]
    work(stays[:100])
    with Watch() as seen:
        places = work(stays)
    return seen.found() | {"places": places}


def our_places(stays: pd.DataFrame) -> int:
    """How many locations the package finds."""
    return len(generate_locations(stays, eps=EPS)[1])


def their_places(stays: pd.DataFrame) -> int:
    """How many clusters scikit-learn's DBSCAN finds."""
    from sklearn.cluster import DBSCAN

    radians = np.radians(stays[["lat", "lon"]].to_numpy())
    found = DBSCAN(eps=EPS / EARTH_RADIUS, min_samples=2, metric="haversine",
                   algorithm="ball_tree").fit(radians)  # fmt: skip
    return int(found.labels_.max(initial=-1)) + 1


def shared_staypoints(n: int) -> pd.DataFrame:
    """Staypoints of a town that has as many people as are needed, but no more places."""
    where = city.load().visits.drop_duplicates("location_id")[["lon", "lat"]]
    stays = grown(n, len(where))
    noise = np.random.default_rng(0).normal(0, np.degrees(NOISE / EARTH_RADIUS), (n, 2))
    noise[:, 0] /= np.cos(np.radians(where.lat.mean()))
    at = where.to_numpy()[stays.location_id] + noise
    return stays.drop(columns="location_id").assign(lon=at[:, 0], lat=at[:, 1])


def bench_baskets(settings: Settings) -> Iterator[Row]:
    """DNNTSP on made baskets of a grocer's size."""
    people, elements, epochs = (60, 80, 2) if settings.quick else (9_841, 4_935, 24)
    found = in_fresh_process(f"{__name__}.baskets", people, elements, epochs, threads=1)
    title = (
        f"{elements:,} elements, {people:,} people: DNNTSP, {epochs} epochs "
        f"(NDCG@10 {found['score']:.1f} %)"
    )
    yield row(f"{title} (reference: the budget)", found["seconds"], BASKETS_BUDGET, "s",
              cpu_name(1), peak=found["whole"], n=elements)  # fmt: skip
    yield row(f"{title}, memory of the whole process (reference: the budget)", found["whole"],
              BASKETS_MEMORY, "MiB", cpu_name(1), n=elements)  # fmt: skip


def baskets(n_people: int, n_elements: int, epochs: int) -> dict[str, float]:
    """Seconds, memory, and the test score in percent."""
    parts = many_baskets(n_people, n_elements)
    torch.manual_seed(42)
    model = SetPredictor(SetConfig(n_elements, **VARIANTS["full"]))
    training = SetTraining(epochs=epochs, patience=epochs)
    with Watch() as seen:
        fit(model, parts["train"], parts["valid"], training)
    return seen.found() | {"score": 100 * mean_of(model, parts["test"], "ndcg@10")}
