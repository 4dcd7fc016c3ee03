"""Chapter 25 deals and asks alike with Colab's DuckDB, Dask and pandas as with the book's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jupytext
import pytest
from packaging.utils import canonicalize_name

from ..helpers import ROOT, give_up
from .test_environment import there

CHAPTER = ROOT / "book" / "25_scale.py"
# What differs between the two, and what the readers of tables need besides.
VARIED = ["dask", "duckdb", "numpy", "pandas", "pyarrow"]
ALSO = ["gpxpy", "narwhals", "pooch", "safetensors", "scikit-learn", "scipy", "timezonefinder"]
BEFORE = """
import json, tempfile
from pathlib import Path
import dask, duckdb
import pandas as pd
from pgt import read_visits
from pgt import visits as tables
from wherenext import city
town = city.load()
"""
AFTER = """
table, files = dealt(40_000, 4)
with open(OUT, "w") as out:
    whole = read_visits(table, **zone)
    parts = [read_visits(file, **zone) for file in files]
    asked = ask(places_of, files).astype(str)
    json.dump({
        "versions": [duckdb.__version__, dask.__version__, pd.__version__],
        "clock": str(whole.started_at.dt.tz),
        "parts": [[len(part), sorted(map(int, part.user_id.unique()))] for part in parts],
        "first": [str(part.started_at.min()) for part in [whole, *parts]],
        "type": str(duckdb.sql(f"SELECT started_at FROM '{files[0]}'").types[0]),
        "places": asked.sort_values(list(asked), ignore_index=True).to_json(),
    }, out)
"""


def book() -> dict[str, str]:
    """The book's packages and their versions."""
    lines = (ROOT / "requirements.in").read_text().splitlines()
    pins = [line.split(" ")[0].split("==") for line in lines if "==" in line]
    return {canonicalize_name(pin[0]): pin[1] for pin in pins}


def dealt_with(versions: dict[str, str], folder: Path) -> dict[str, Any]:
    """What the chapter's own functions give with some versions."""
    if (uv := shutil.which("uv")) is None:
        give_up("There is no uv, which brings the other versions: pip install uv.")
    pins = [f"{name}=={versions[name]}" for name in VARIED]
    subprocess.run([uv, "venv", "-q", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *pins, *ALSO], check=True)
    named = ("zone = ", "def places_of", "def repeated", "def dealt", "def ask")
    cells = [cell.source for cell in jupytext.read(CHAPTER).cells if cell.cell_type == "code"]
    cells = [source.split("\ntable, files = dealt")[0] for source in cells]
    cells = [source.split("\nwho_where = ")[0] for source in cells]
    told = [source for source in cells if any(name in source for name in named)]
    out = folder / "out.json"
    code = "\n".join([BEFORE, *told, f"OUT = {str(out)!r}", AFTER])
    path = os.pathsep.join(str(ROOT / part) for part in (".", "book"))
    subprocess.run(
        [python, "-c", code], check=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(folder)},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(out.read_text())
    assert found.pop("versions") == [versions[name] for name in ("duckdb", "dask", "pandas")]
    return found


@pytest.mark.slow
def test_chapter_25_gives_the_same_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "colab").mkdir()
    (tmp_path / "book").mkdir()
    ours = dealt_with(book(), tmp_path / "book")
    theirs = dealt_with(there(), tmp_path / "colab")
    assert len(ours["parts"]) == 4 and ours == theirs
    people = [person for _, part in ours["parts"] for person in part]
    assert len(people) == len(set(people))  # nobody is torn in two
