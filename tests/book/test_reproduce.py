"""The page that leads from downloads to tables: its recipe runs, its names are there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lab import run
from lab.data_sets import DATA
from lab.reports import NO_CODE
from wherenext.results import results_folder

import pgt

from ..helpers import ROOT

PAGE = (ROOT / "book" / "reproduce.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?s)```python\n(.*?)```", PAGE)
(RECIPE,) = (block for block in BLOCKS if "class Yours" in block)
(FASTMOB,) = (block for block in BLOCKS if "fastmob" in block)
TAKEN = "answers = past.groupby"  # the line that somebody else's model takes the place of


def recipe(model: Callable[[pd.DataFrame], pd.DataFrame] | None = None) -> dict[str, Any]:
    """Run the recipe, with a model in place of its own; what it leaves."""
    before, line, after = re.split(rf"(?m)^({TAKEN}.*\n)", RECIPE)
    left: dict[str, Any] = {}
    exec(before, left)
    if model is None:
        exec(line, left)
    else:
        left["answers"] = model(left["past"])
    exec(after, left)
    return left


def test_the_recipe_scores_a_model_as_the_package_scores_its_own() -> None:
    found = recipe()
    ours = pgt.evaluate(pgt.MostFrequent().fit(found["data"].train), found["windows"])
    assert found["ranks"][["better", "tied"]].equals(ours[["better", "tied"]])
    # A window's past is all of the person's visits before it, and nothing else.
    past, visits = found["past"], pgt.load_city()
    assert past.started_at.max() < visits.started_at.max()
    last = past.groupby("window").started_at.max()
    targets = pd.Series([found["windows"].target_of(w).started_at for w in range(len(last))])
    assert (last.to_numpy() < targets.to_numpy()).all()
    first = visits.groupby("user_id").started_at.min()
    begins = past.groupby("window").agg({"user_id": "first", "started_at": "min"})
    assert (begins.started_at == begins.user_id.map(first)).all()


def chain(past: pd.DataFrame) -> pd.DataFrame:
    """A Markov chain, which tells from each past alone."""
    now = past.groupby("window").location_id.transform("last")
    came = past.groupby("window").location_id.shift()
    steps = past[came == now].groupby(["window", "location_id"]).size().rename("steps")
    often = past.groupby(["window", "location_id"]).size().rename("often")
    both = pd.concat([steps, often], axis=1).fillna(0)
    return (both.steps + both.often / 1000).rename("score").reset_index()


def test_another_model_takes_the_place_of_one_line() -> None:
    counted, chained = (pgt.summarize(recipe(one)["ranks"], ["all"]) for one in (None, chain))
    assert chained["acc@1"].item() > counted["acc@1"].item() + 5


def test_fastmobs_chain_takes_it_too(tmp_path: Path) -> None:
    """Of two libraries in two environments, tables go back and forth."""
    python = os.environ.get("PGT_FASTMOB_PYTHON")
    if not python:
        pytest.skip("PGT_FASTMOB_PYTHON names no Python that has fastmob.")
    script = f"import pandas as pd\npast = pd.read_parquet('past')\n{FASTMOB}"

    def theirs(past: pd.DataFrame) -> pd.DataFrame:
        past[["window", "location_id", "started_at"]].to_parquet(tmp_path / "past")
        command = [python, "-c", f"{script}answers.to_parquet('answers')"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return pd.read_parquet(tmp_path / "answers")

    ours, other = (pgt.summarize(recipe(one)["ranks"], ["all"]) for one in (chain, theirs))
    assert abs(ours["acc@1"].item() - other["acc@1"].item()) < 2


def test_the_page_names_what_there_is() -> None:
    asked = {name for line in re.findall(r"run\.py ([a-z_ ]+)`", PAGE) for name in line.split()}
    assert asked <= set(run.names())
    needs = {data.needs for data in DATA.values() if data.needs}
    assert needs <= set(re.findall(r"PGT_[A-Z_]+", PAGE))
    # Every result on real people is led to.
    for path in results_folder().glob("*.json"):
        text = path.read_text(encoding="utf-8")
        real = re.search(r'"name": "(geolife|new york|hanover|phoenix|dc)\b', text)
        if real and path.stem not in NO_CODE | {"dense_days"}:
            assert path.stem in asked, path.stem
