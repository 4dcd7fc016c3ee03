"""Results files, read: the one place from which chapters and tests take measured numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pgt.errors import DataError
from pgt.files import folder
from pgt.metrics import interval_of_mean

KEYS = ["data", "protocol", "model", "variant", "target_time", "seed"]  # what tells runs apart


def results_folder() -> Path:
    """Where results files are: in the repository, or in the installed package."""
    return folder("results")


@dataclass(frozen=True)
class Results:
    """A results file, opened."""

    name: str
    header: dict[str, Any]  # how it was made
    rows: pd.DataFrame  # one per data, protocol, model, variant, seed, split, group; in percent
    folder: Path  # where the file, and the ranks beside it, lie

    def select(self, group: str = "all", split: str = "test", **where: Any) -> pd.DataFrame:
        """Rows of one group and split, and of one model, variant, … when given."""
        keep = (self.rows.group == group) & (self.rows.split == split)
        for column, value in where.items():
            keep &= self.rows[column] == value
        return self.rows[keep]

    def mean(self, metric: str = "acc@1", **where: Any) -> float:
        """Mean over seeds."""
        chosen = self.select(**where)
        if chosen.empty:
            raise KeyError(f"{self.name}.json has no row with {where}.")
        return float(chosen[metric].mean())

    def spread(self, metric: str = "acc@1", **where: Any) -> float:
        """Standard deviation over seeds; 0 for a single row."""
        return float(self.select(**where)[metric].std()) if len(self.select(**where)) > 1 else 0.0

    def ranks(self, **where: Any) -> Iterator[pd.DataFrame]:
        """The test ranks of every matching run, for `pgt.metrics`."""
        table = pd.read_parquet(self.folder / f"{self.name}.ranks.parquet")
        for column, value in where.items():
            table = table[table[column] == value]
        keys = [key for key in KEYS if key in table]
        for _, part in table.groupby(keys, observed=True, dropna=False):
            yield part.rename(columns={"user": "user_id"}).reset_index(drop=True)

    def interval(
        self, metric: str = "acc@1", group: str = "all", *, seeds: bool = True, **where: Any
    ) -> tuple[float, float]:
        """95 % interval of the mean over seeds, by resampling people and, if several, seeds."""
        runs = list(self.ranks(**where))
        if not runs:
            raise KeyError(f"{self.name}.ranks.parquet has no run with {where}.")
        return interval_of_mean(runs, metric, group=group, seeds=seeds)

    def difference(
        self, one: dict[str, Any], other: dict[str, Any], metric: str = "acc@1",
        group: str = "all", *, seeds: bool = True,
    ) -> tuple[float, float, float]:  # fmt: skip
        """Mean of ``one`` minus mean of ``other``, with its 95 % interval over people and seeds.

        Paired by window and, where both have several, by seed; a seed of one alone does not count.
        """
        runs = [list(self.ranks(**where)) for where in (one, other)]
        rows = [self.select(group, **where) for where in (one, other)]
        if min(map(len, runs)) > 1:
            both = set.intersection(*({run.seed.iloc[0] for run in some} for some in runs))
            runs = [[run for run in some if run.seed.iloc[0] in both] for some in runs]
            rows = [some[some.seed.isin(both)] for some in rows]
        low, high = interval_of_mean(runs[0], metric, against=runs[1], group=group, seeds=seeds)
        return float(rows[0][metric].mean() - rows[1][metric].mean()), low, high


def read_results(name: str, folder: Path | None = None) -> Results:
    """Open ``book/results/NAME.json``, or a file of another folder."""
    folder = folder or results_folder()
    path = folder / f"{name}.json"
    if not path.is_file():
        raise DataError(f"There is no {path.name}; make it with python book/lab/run.py {name}.")
    raw = json.loads(path.read_text(encoding="utf-8"))
    rows = pd.DataFrame([*map(dict, raw.pop("rows"))])
    return Results(name, raw, rows, folder)
