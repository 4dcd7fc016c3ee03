"""The chart of the front page; MyST-NB draws in notebooks only, and that page is none.

It says how often the first guess is right, in two cities. It is drawn from the files of results
when the book is built: a model that was not measured in a city has no row there, and nothing is
typed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from evidence import sources
from wherenext.page_text import safe_html
from wherenext.results import Results, read_results

MOST = 60.0  # percent at the right end of the bars
WEEK, PAST = "week", "past"  # what a model sees: seven days, or more of the person's past
SHIPPED = 42  # the seed of the predictor that comes with the package


class Bar(NamedTuple):
    """One row of the chart: Acc@1 in percent with its 95 % interval, over so many test windows."""

    name: str
    sees: str
    value: float
    low: float
    high: float
    windows: int


class City(NamedTuple):
    """One panel: where, on what terms, and from which files its rows come."""

    title: str
    protocol: str
    where: dict[str, str]  # its names in the files of results
    files: dict[str, str]  # the file of each row, by the row's name in `ROWS`
    names: dict[str, str]  # rows that have another name here


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
CITIES = (
    City(
        "GeoLife, Beijing", "exact protocol: name the very place",
        {"data": "geolife", "protocol": "exact"},
        dict.fromkeys(ROWS, "geolife_exact")
        | {"Kernel, 100 visits": "beyond", "Contextual, memory": "beyond"}
        | {"Trained on nobody": "nobody"}, {},
    ),
    City(
        "New York check-ins", "unseen places count as one place",
        {"data": "new york", "protocol": "published"},
        dict.fromkeys(ROWS, "last_visit") | {"Trained on nobody": "nobody"},
        {"PGT, as documented": "PGT, default settings"},  # the documents name some for GeoLife alone
    ),
)  # fmt: skip


def own_rows(results: Results, **where: Any) -> pd.DataFrame:
    """A model's test rows, one a seed; of the predictor those of the network that is shipped."""
    rows = results.select(target_time="unknown", **where)
    if "table" in rows:  # nobody.json
        rows = rows[(rows.table == "zero-shot") & (rows.seed == SHIPPED)]
    return rows


def bars(city: City, folder: Path | None = None) -> list[Bar]:
    """The rows of a panel: all models that were measured there."""
    found = []
    for name, (sees, which) in ROWS.items():
        results = read_results(city.files[name], folder)
        where = {**city.where, **which}
        rows = own_rows(results, **where)
        if rows.empty:
            continue
        used = [data for data in sources(results.header)
                if (data["name"], data["protocol"]) == tuple(city.where.values())]  # fmt: skip
        if {data.get("anchor") for data in used} != {"last_visit"}:
            raise ValueError(f"The windows of {results.name}.json hint at when the next visit is.")
        if "low" in rows:
            low, high = float(rows.low.mean()), float(rows.high.mean())
        else:
            low, high = results.interval(target_time="unknown", **where)
        value, windows = float(rows["acc@1"].mean()), int(rows.n.iloc[0])
        found.append(Bar(city.names.get(name, name), sees, value, low, high, windows))
    return found


def panel(city: City, rows: list[Bar]) -> str:
    """One city as a table, whose bars are drawn by ``front.css``."""
    drawn = "".join(
        f'<tr><th scope="row">{safe_html(bar.name)}</th><td><span class="bar {bar.sees}" style="'
        f"--value: {bar.value / MOST:.1%}; --low: {bar.low / MOST:.1%}; "
        f'--high: {bar.high / MOST:.1%}"></span></td><td class="value">{bar.value:.1f}'
        f'<span class="visually-hidden"> [{bar.low:.1f}, {bar.high:.1f}]</span></td></tr>'
        for bar in rows
    )
    return (
        f"<table><caption><b>{safe_html(city.title)}</b><br>{safe_html(city.protocol)}</caption>"
        f'<thead class="visually-hidden"><tr><th scope="col">Model</th><th scope="col">Drawn</th>'
        f'<th scope="col">Right, in percent</th></tr></thead><tbody>{drawn}</tbody></table>'
    )


def caption(panels: list[list[Bar]]) -> str:
    """What the chart shows."""
    asked = " and ".join(f"{max((bar.windows for bar in rows), default=0):,}" for rows in panels)
    return (
        '<span class="key week">sees seven days</span> '
        '<span class="key past">sees more of the past</span> '
        "<span>How often the first guess is right (Acc@1), on "
        f"{asked} test windows of real people. Lines: 95 % intervals, as if other people, or other "
        "random starts of training, had been drawn.</span>"
    )


NAMES = (
    "LSTM and MHSA are networks without a pointer. <i>Tuned</i> networks have the best of ten settings "
    "each, chosen on GeoLife's validation windows in the published protocol, where unseen places count "
    "as one. <i>As published</i> means the settings that their authors published for GeoLife. <i>As "
    "documented</i> means the settings that PGT's design documents name for GeoLife; elsewhere it has "
    "the package's default settings. The kernel is a rule with five numbers, chosen on the validation "
    "windows of each panel. <i>Trained on nobody</i> has seen simulated people alone; it is one "
    "network, so its interval is over people. Windows go back from a person's last visit and tell "
    "nothing of when the next one is. A model without a bar was not measured in that city."
)


def chart(folder: Path | None = None) -> str:
    """The chart as HTML."""
    panels = [bars(city, folder) for city in CITIES]
    drawn = "".join(panel(city, rows) for city, rows in zip(CITIES, panels, strict=True))
    return (
        f'<figure class="front-chart" id="front-chart"><div class="cities">{drawn}</div>'
        f"<figcaption>{caption(panels)}</figcaption></figure>"
        f'<details class="front-more"><summary>What the names mean</summary><p>{NAMES}</p></details>'
    )
