"""What a reader of Colab installs leaves in place what Colab has."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import elsewhere
import nbformat
import notebooks
import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pgt.readers.clocks import zones_at

from ..helpers import ROOT, give_up

LIST = ROOT / "tests" / "colab" / "colab.txt"


def there() -> dict[str, str]:
    """Colab's packages and their versions."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}


def asked() -> list[str]:
    """What a chapter's first cell asks for, with the extra of chapter 25."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    scale: list[str] = project["optional-dependencies"]["scale"]
    return [*project["dependencies"], *scale]


def test_colab_has_nothing_that_is_too_old_or_too_new() -> None:
    found = there()
    wanted = {canonicalize_name(one.name): one.specifier for one in map(Requirement, asked())}
    assert {"numpy", "pandas", "torch", "pyarrow", "duckdb", "dask"} <= wanted.keys() & found.keys()
    wrong = [name for name in wanted.keys() & found.keys() if found[name] not in wanted[name]]
    assert wrong == []


def resolved(folder: Path, wanted: list[str], *constraints: Path) -> dict[str, str]:
    """What a resolver takes for Colab's Python."""
    if (uv := shutil.which("uv")) is None:
        give_up("There is no uv, which resolves what is asked for: pip install uv.")
    file = folder / "wanted.in"
    file.write_text("\n".join(wanted))
    command = [uv, "pip", "compile", "-q", "--no-header", "--no-annotate", file]
    command += ["--python-version", "3.13", *(f"--constraints={path}" for path in constraints)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {canonicalize_name(a): b for a, b in (x.split("==") for x in done.stdout.split())}


@pytest.mark.slow
def test_an_installation_replaces_nothing_of_colabs(tmp_path: Path) -> None:
    """Of what Colab lacks, pip takes the newest: all that this asks for must be there already."""
    old, wanted = there(), asked()
    lacking = [one for one in wanted if canonicalize_name(Requirement(one).name) not in old]
    assert {"gpxpy", "timezonefinder"} <= {Requirement(one).name for one in lacking}
    newest = resolved(tmp_path, lacking)
    pinned = [f"{name}=={version}" for name, version in newest.items() if name not in old]
    assert resolved(tmp_path, [*wanted, *pinned], LIST)  # else there is no solution


def test_places_have_the_clocks_of_other_years() -> None:
    """Zones that are alike today differed in 2013."""
    lon, lat = pd.Series([28.98, -34.9]), pd.Series([41.01, -8.05])
    day = pd.Timestamp("2013-01-15 12:00", tz="UTC")
    hours = [day.tz_convert(zone).utcoffset() / pd.Timedelta("1h") for zone in zones_at(lon, lat)]
    assert hours == [2, -3]  # Istanbul, Recife


def test_every_notebook_has_run_there_without_an_error_or_a_warning() -> None:
    told = json.loads((ROOT / "book" / "results" / "colab.json").read_text("utf-8"))
    assert [row["notebook"] for row in told["rows"]] == [one.stem for one in notebooks.chapters()]
    bad = [
        row["notebook"] for row in told["rows"] if row["error"] or row["warnings"] or row["left"]
    ]
    assert bad == []
    python, *others = told["versions"].items()
    assert python[1].startswith("3.13.") and dict(others).items() <= there().items()


def test_a_difference_is_seen() -> None:
    def said(*lines: str) -> list[Any]:
        return [nbformat.v4.new_output("stream", name="stdout", text="\n".join(lines))]

    table = [nbformat.v4.new_output("execute_result", {"text/plain": "a 1", "text/html": "<b>"})]
    plain = [nbformat.v4.new_output("execute_result", {"text/plain": "a 1"})]
    here = [said("one", "two"), said("three", "<at 0x7f12>"), table]
    assert list(elsewhere.differences(here, here)) == []
    lines = list(elsewhere.differences([said("one", "2"), said("three", "<at 0x1f>"), plain], here))
    assert [line[:6] for line in lines] == ["cell 1", "cell 1", "cell 3"]
    assert lines[:2] == ["cell 1: -two", "cell 1: +2"]
