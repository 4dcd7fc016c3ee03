"""All windows at once, by district: where attention points, and where people went.

For each pair of districts a flow: from where people are (the last visit) to where the pointer
looks, to where they went, or to where their past visits lie. Shares of districts over many people
tell of nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows
from wherenext.city import City
from wherenext.page_text import options
from wherenext.viz.basemap import MapFigure, arch, dot, map_figure, of_town

SHOWN = 24  # flows a layer


@torch.no_grad()
def flows(
    model: PointerGeneratorTransformer,
    windows: Windows,
    group_of: pd.Series,
    batch_size: int = 512,
) -> pd.DataFrame:
    """Shares of visits, attention and answers between groups of places.

    Only windows whose target is in the window count, so that attention could be right everywhere.

    Parameters
    ----------
    model : PointerGeneratorTransformer
        One with a pointer.
    windows : Windows
    group_of : Series
        The group (a district) of each place, by ``location_id``.
    batch_size : int
        Windows in one forward pass.

    Returns
    -------
    DataFrame
        One row for each pair of groups between which anything flows: ``here`` (the group of the
        last visit), ``there``, and in percent of all such windows ``visits`` (if every visit of a
        window had the same weight), ``attention`` (the pointer's) and ``answers`` (targets). Each
        column adds up to 100.

    Raises
    ------
    ValueError
        The target is in none of the windows.

    Examples
    --------
    >>> import wherenext.city, pgt.windows
    >>> from pgt.config import ModelConfig
    >>> town = wherenext.city.load()
    >>> data = pgt.windows.prepare(town.visits, protocol="exact")
    >>> v = data.vocabulary
    >>> model = PointerGeneratorTransformer(ModelConfig(v.n_locations, v.n_users))
    >>> table = flows(model, data.valid, town.places.set_index("location_id").district)
    >>> table[["visits", "attention", "answers"]].sum().round(1).tolist()
    [100.0, 100.0, 100.0]
    """
    if not windows.in_window.any():
        raise ValueError("No window has its target among its visits; give other windows.")
    model.eval()
    names = pd.Index(sorted(group_of.unique()))
    size = len(names)
    codes = pd.Series(names.get_indexer(group_of), index=group_of.index)
    groups = np.zeros(model.config.n_locations, dtype=np.int64)  # (V,)
    groups[windows.vocabulary.encode_locations(codes.index.to_series())] = codes
    group = torch.from_numpy(groups)
    totals = torch.zeros(3, size * size, dtype=torch.double)
    for whole in windows.batches(batch_size, max_len=model.config.max_len):
        inside = [int(i) for i in whole.index if windows.in_window[int(i)]]
        if not inside:
            continue
        batch = windows.batch(inside, model.config.max_len)
        attention = model(batch).pointer_attention  # (B, L)
        real = ~batch.padding
        here = group[batch.location.gather(1, batch.length[:, None] - 1)]  # (B, 1)
        cell = here * size + group[batch.location]  # (B, L)
        even = real / batch.length[:, None]
        for total, weight in zip(totals, (even, attention), strict=False):
            total.index_add_(0, cell[real], weight[real].double())
        goal = here.squeeze(1) * size + group[batch.target]  # (B,)
        totals[2].index_add_(0, goal, torch.ones(len(batch), dtype=torch.double))
    shares = (100 * totals / totals.sum(1, keepdim=True)).numpy()
    table = pd.DataFrame(shares.T, columns=["visits", "attention", "answers"])
    table.insert(0, "here", np.repeat(names, size))
    table.insert(1, "there", np.tile(names, size))
    return table[shares.sum(0) > 0].reset_index(drop=True)


def flow_map(city: City, table: pd.DataFrame, *, title: str, caption: str) -> MapFigure:
    """Flows between a town's districts, with a choice of what is drawn.

    Parameters
    ----------
    city : City
    table : DataFrame
        Of `flows`, by the town's districts.
    title, caption : str
        For screen readers, and below the map.

    Returns
    -------
    MapFigure
        With the flows drawn as a table; its columns are in percent.
    """
    middles = {
        str(f["properties"]["name"]): np.array(f["geometry"]["coordinates"][0])[:, ::-1].mean(0)
        for f in city.base["features"]
        if f["properties"]["kind"] == "district"
    }
    number = {name: i for i, name in enumerate(middles)}
    table = table.assign(difference=table.attention - table.answers)
    layers = [
        _layer(table, "difference", number, "copied", "truth",
               "Where the pointer looks too often (solid) and too seldom (dashed)."),
        _layer(table, "attention", number, "copied", "copied",
               "Where the pointer looks from here."),
        _layer(table, "answers", number, "truth", "truth", "Where people went from here."),
        _layer(table, "visits", number, "muted", "muted", "Where people's past visits lie."),
    ]  # fmt: skip
    shown = options(
        ["attention minus trips", "pointer attention", "trips", "past visits, evenly weighted"]
    )
    largest = table.loc[table.difference.abs().sort_values(ascending=False).index].head(SHOWN)
    return map_figure(
        of_town(city, [(*spot, name) for name, spot in middles.items()]) | {"layers": layers},
        "map_flows.js", title=title, caption=caption,
        table=largest.round(2).reset_index(drop=True),
        legend=[
            (dot("flow copied"), "attention within a district"),
            (dot("flow truth"), "trips within a district"),
            (arch("flow copied"), "between districts, bending to the left"),
            (arch("flow truth", "3 2"), "dashed: more trips than attention"),
        ],
        before='<div class="live-row map-choose"><label>Draw <select data-live="choice">'
        f"{shown}</select></label></div>",
        after='<p class="map-panel"><output data-live="told" aria-live="polite"></output></p>',
    )  # fmt: skip


def _layer(
    table: pd.DataFrame, column: str, number: dict[str, int], colour: str, other: str, about: str
) -> dict[str, Any]:
    """The largest flows of one column, ready for the script."""
    part = table[table.here.isin(list(number)) & table.there.isin(list(number))]
    part = part.loc[part[column].abs().sort_values(ascending=False).index].head(SHOWN)
    return {
        "about": about,
        "colour": colour,
        "other": other,
        "difference": column == "difference",
        "largest": round(float(part[column].abs().max()), 3),
        "flows": [
            [number[here], number[there], round(float(value), 3)]
            for here, there, value in zip(part.here, part.there, part[column], strict=True)
        ],
    }
