"""The chart of the front page, as SVG; MyST-NB draws in notebooks only, and that page is none.

It says how often the first guess is right, in two cities. It is drawn from the files of results
when the book is built: a model that was not measured in a city has no row there, and nothing is
typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from evidence import sources
from wherenext.page_text import safe_html
from wherenext.results import Results, read_results

WIDTH, ROW, TOP = 400, 34, 8  # units of a panel, of a row, above the first row
LEFT, RIGHT = 168, 44  # units for the names, and for the numbers
BAR = 16
MOST = 60.0  # percent at the right end of the bars
STEPS = (0, 20, 40, 60)
WEEK, PAST = "week", "past"
SHIPPED = 42  # the seed of the predictor that comes with the package


@dataclass(frozen=True)
class Bar:
    """One row of the chart.

    Attributes
    ----------
    name : str
    sees : {"week", "past"}
        Seven days, or more of the person's past.
    value, low, high : float
        Acc@1 in percent, and its 95 % interval.
    windows : int
        How many test windows were asked.
    """

    name: str
    sees: str
    value: float
    low: float
    high: float
    windows: int


@dataclass(frozen=True)
class City:
    """One panel: where, on what terms, and from which files its rows come.

    Attributes
    ----------
    title, protocol : str
    data, key : str
        Its names in the files of results: of the data, and of the protocol.
    files : dict
        The file of each row, by the row's name in `ROWS`.
    names : dict
        Rows that have another name here.
    """

    title: str
    protocol: str
    data: str
    key: str
    files: dict[str, str]
    names: dict[str, str]


# What a row is called, what its model sees, and which rows of a file are its own.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTM, tuned": (WEEK, {"model": "lstm", "variant": "tuned"}),
    "MHSA, tuned": (WEEK, {"model": "mhsa", "variant": "tuned"}),
    "LSTM, as published": (WEEK, {"model": "lstm", "variant": "full"}),
    "MHSA, as published": (WEEK, {"model": "mhsa", "variant": "full"}),
    "PGT, tuned": (WEEK, {"model": "pgt", "variant": "tuned"}),
    "PGT, as documented": (WEEK, {"model": "pgt", "variant": "full"}),
    "Context kernel": (WEEK, {"model": "kernel"}),
    "Trained on nobody": (PAST, {"model": "predictor"}),
    "Kernel, 100 visits": (PAST, {"model": "kernel_memory"}),
    "Contextual, memory": (PAST, {"model": "contextual", "variant": "full"}),
}
BEYOND = ("Kernel, 100 visits", "Contextual, memory")
CITIES = (
    City(
        "GeoLife, Beijing", "exact protocol: name the very place", "geolife", "exact",
        dict.fromkeys(ROWS, "geolife_exact") | dict.fromkeys(BEYOND, "beyond")
        | {"Trained on nobody": "nobody"}, {},
    ),
    City(
        "New York check-ins", "unseen places count as one place", "new york",
        "published", dict.fromkeys(ROWS, "last_visit") | {"Trained on nobody": "nobody"},
        {"PGT, as documented": "PGT, default settings"},  # the documents name some for GeoLife alone
    ),
)  # fmt: skip


def own_rows(results: Results, **where: Any) -> pd.DataFrame:
    """A model's test rows, one a seed; of the predictor those of the network that is shipped.

    Parameters
    ----------
    results : Results
    where
        ``data``, ``protocol``, ``model``, …
    """
    rows = results.select(target_time="unknown", **where)
    if "table" in rows:  # nobody.json
        rows = rows[(rows.table == "zero-shot") & (rows.seed == SHIPPED)]
    return rows


def bars(city: City, folder: Path | None = None) -> list[Bar]:
    """The rows of a panel: all models that were measured there.

    Raises
    ------
    ValueError
        Windows do not go back from the last visit, so they hint at when the next one is.
    """
    found = []
    for name, (sees, which) in ROWS.items():
        results = read_results(city.files[name], folder)
        where = {"data": city.data, "protocol": city.key, **which}
        rows = own_rows(results, **where)
        if rows.empty:
            continue
        anchors = {
            data.get("anchor")
            for data in sources(results.header)
            if (data["name"], data["protocol"]) == (city.data, city.key)
        }
        if anchors != {"last_visit"}:
            raise ValueError(f"The windows of {results.name}.json hint at when the next visit is.")
        if "low" in rows:
            low, high = float(rows.low.mean()), float(rows.high.mean())
        else:
            low, high = results.interval(target_time="unknown", **where)
        found.append(
            Bar(
                name=city.names.get(name, name),
                sees=sees,
                value=float(rows["acc@1"].mean()),
                low=low,
                high=high,
                windows=int(rows.n.iloc[0]),
            )
        )
    return found


def panel(city: City, rows: list[Bar]) -> str:
    """One city as SVG."""
    scale = (WIDTH - LEFT - RIGHT) / MOST
    foot = TOP + ROW * len(rows)
    told = "; ".join(
        f"{bar.name} {bar.value:.1f} percent, interval {bar.low:.1f} to {bar.high:.1f}"
        for bar in rows
    )
    label = safe_html(f"{city.title}, {city.protocol}. First guesses that are right: {told}.")
    parts = [
        f'<line class="grid" x1="{LEFT + step * scale:.1f}" x2="{LEFT + step * scale:.1f}" '
        f'y1="{TOP}" y2="{foot}"/><text class="step" x="{LEFT + step * scale:.1f}" '
        f'y="{foot + 18}">{step}{" %" if step == STEPS[-1] else ""}</text>'
        for step in STEPS
    ]
    for i, bar in enumerate(rows):
        middle = TOP + ROW * (i + 0.5)
        low, high = (LEFT + end * scale for end in (bar.low, bar.high))
        parts.append(
            f'<text class="name" x="{LEFT - 10}" y="{middle}">{safe_html(bar.name)}</text>'
            f'<rect class="{bar.sees}" x="{LEFT}" y="{middle - BAR / 2}" height="{BAR}" '
            f'width="{bar.value * scale:.1f}"/>'
            f'<path class="interval" d="M{low:.1f} {middle}H{high:.1f}'
            f'M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8"/>'
            f'<text class="value" x="{max(high, LEFT + bar.value * scale) + 7:.1f}" y="{middle}">'
            f"{bar.value:.1f}</text>"
        )
    return (
        f'<div class="city"><p><b>{safe_html(city.title)}</b><br>{safe_html(city.protocol)}</p>'
        f'<svg viewBox="0 0 {WIDTH} {foot + 24}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg></div>"
    )


def caption(panels: list[list[Bar]]) -> str:
    """What the chart shows."""
    asked = " and ".join(f"{max((bar.windows for bar in rows), default=0):,}" for rows in panels)
    return (
        '<span class="key week">sees seven days</span> '
        '<span class="key past">sees more of the past</span> '
        "<span>How often the first guess is right (Acc@1) on test windows of real people, "
        f"{asked} of them. Each goes back from a person's last visit and tells nothing of when the next "
        "one is. Lines: 95 % intervals, which say how far a score moves if other people, or other random "
        "starts of training, had been drawn (for <i>Trained on nobody</i>, one network: other people). LSTM and MHSA are "
        "networks without a pointer. <i>Tuned</i> networks have the best of ten settings each, chosen on GeoLife's "
        "validation windows in the published protocol, where unseen places count as one. <i>As published</i> means the "
        "settings that their authors published for GeoLife. <i>As documented</i> means the "
        "settings that PGT's design documents name for GeoLife; elsewhere it has the package's default "
        "settings. The kernel is a rule with five numbers, chosen on the validation windows of each panel. "
        "<i>Trained on nobody</i> has seen simulated people alone. A model without a bar was not "
        "measured in that city.</span>"
    )


def chart(folder: Path | None = None) -> str:
    """The chart as HTML."""
    panels = [bars(city, folder) for city in CITIES]
    drawn = "".join(panel(city, rows) for city, rows in zip(CITIES, panels, strict=True))
    return (
        f'<figure class="front-chart" id="front-chart"><div class="cities">{drawn}</div>'
        f"<figcaption>{caption(panels)}</figcaption></figure>"
    )
