"""A live page as a picture, for notebooks that cannot run it."""

from __future__ import annotations

import io
import math

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from pgt.look import Look
from pgt.plots import mixture
from wherenext.figures import COPIED, INK, MUTED, TRUTH


def still(seen: Look, places: pd.DataFrame, *, pointer_alone: bool = False) -> bytes:
    """PNG: a window's attention on the map, and its likeliest places.

    ``places``: ``location_id``, ``name``, ``lon``, ``lat``; ``pointer_alone``: without generator.
    """
    spots = places.set_index("location_id")
    shares = seen.visits.groupby("location_id").attention.sum().sort_values(ascending=False)
    path, discs = spots.reindex(seen.visits.location_id), spots.reindex(shares.index)
    figure, (town, right) = plt.subplots(1, 2, figsize=(8.6, 3.4), width_ratios=(3, 2))
    shrink = math.cos(math.radians(path.lat.mean()))  # of a degree of longitude
    reach = 0.7 * max(shrink * np.ptp(path.lon), np.ptp(path.lat), 0.01)  # degrees of latitude
    east, north = (path.lon.max() + path.lon.min()) / 2, (path.lat.max() + path.lat.min()) / 2
    town.set(xlim=(east - reach / shrink, east + reach / shrink), xticks=[], aspect=1 / shrink)
    town.set(ylim=(north - reach, north + reach), yticks=[], title="pointer attention, per place")
    town.scatter(spots.lon, spots.lat, 4, MUTED, alpha=0.3, lw=0)
    town.plot(path.lon, path.lat, color=MUTED, lw=1)
    town.scatter(discs.lon, discs.lat, 1500 * shares, COPIED, alpha=0.5)
    town.plot(*path.iloc[-1][["lon", "lat"]], "X", color=INK, ls="", label="last visit")
    there = spots.reindex([seen.target.location_id])
    went = {"color": TRUTH, "mfc": "none", "mew": 2.5, "ms": 9, "label": "where they went"}
    town.plot(there.lon, there.lat, "D", **went)
    figure.legend(loc="outside lower center", ncols=2)
    likely = seen.candidates
    if pointer_alone:
        likely = shares.head(10).rename("copied").reset_index().assign(generated=0.0)
    gate = None if pointer_alone else seen.gate
    mixture(likely, gate=gate, names=dict(spots["name"]), axes=right)
    if pointer_alone:
        right.get_legend().remove()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    plt.close(figure)
    return buffer.getvalue()
