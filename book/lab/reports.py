"""Results files, written: a complete header, flat rows, and the question whether they are stale."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from wherenext.results import Results, read_results

import pgt
from lab import data_sets, models, runs
from lab.provenance import code_mark
from pgt.config import PRESETS
from pgt.errors import DataError
from pgt.files import write_text
from pgt.train import pick_device

Row = dict[str, Any]

# The reports, by the name of their results file: the module of the laboratory that holds each.
REPORTS: dict[str, str] = {
    "anchors": "lab.anchors",
    "confidence": "lab.confidence",
    "gate": "lab.gate",
    "gps": "lab.gps",
    "imbalance": "lab.imbalance",
    "interval_coverage": "lab.interval_coverage",
    "llm_mob": "lab.llm_mob",
    "membership": "lab.membership",
    "newcomers": "lab.newcomers",
    "nobody": "lab.nobody",
    "own_city": "lab.own_city",
    "perspectives": "lab.perspectives",
    "position_bias": "lab.position_bias",
    "position_bias_towns": "lab.position_bias_towns",
    "predictability": "lab.predictability",
    "side_by_side": "lab.side_by_side",
    "summarizer": "lab.summarizer",
    "temporal_sets": "lab.temporal_sets",
    "traps": "lab.traps_report",
    "whom": "lab.whom",
    "wins": "lab.wins",
}
UNSTEADY = frozenset({"milliseconds", "cpu_seconds", "seconds", "took"})  # no run repeats these


@dataclass(frozen=True)
class Report:
    """A results file whose rows one module measures by itself.

    Attributes
    ----------
    question : str
        What it is for, in one line.
    rows : callable
        Makes the rows: flat, and no person, place or moment can be recognized in them.
    data : tuple of str, or callable
        Entries of `lab.data_sets.DATA` that are used; of other data, what there is to say of them,
        made from the rows.
    starts : tuple of str
        Definitions that do the measuring, where the mark of its code begins: of the module, or of
        another one as in ``wherenext.city:simulate``.
    models : tuple of str
        The models of `lab.models` that it trains.
    results : tuple of str
        Other results files from which it takes something.
    more : dict
        Further entries of the header.
    """

    question: str
    rows: Callable[[], Iterable[Row]]
    data: tuple[str, ...] | Callable[[list[Row]], list[Row]]
    starts: tuple[str, ...] = ("measured",)
    models: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    more: Row = field(default_factory=dict)


def report(name: str) -> Report:
    """The report that makes a results file."""
    found: Report = import_module(REPORTS[name]).REPORT
    return found


# Measurements of speed belong to a machine, not to a version of the code; CI measures them anew.
NO_CODE = frozenset({"bench"})


def environment() -> dict[str, Any]:
    """Versions and device, for a header; no host and no date, so equal runs give equal files."""
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        "pgt": pgt.__version__,
    }
    return {"versions": versions, "device": pick_device().type}


def about_data(key: str) -> dict[str, Any]:
    """What a header tells of an entry of `lab.data_sets.DATA`."""
    data = data_sets.DATA[key]
    return {
        "name": data.name,
        "protocol": data.protocol,
        "anchor": data.config.goes_back_from,
        "fingerprint": data_sets.data_fingerprint(key),
        "windows": data_sets.dataset(key).counts(),
        "training": asdict(PRESETS[data.preset].training),
    }


def write_results(
    path: Path, header: dict[str, Any], rows: Iterable[dict[str, Any]], decimals: int = 3
) -> Path:
    """Write a results file, one row a line, numbers rounded; a number that is none is null."""
    rounded = (_rounded(row, decimals) for row in rows)
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rounded)
    head = json.dumps(header, indent=1, allow_nan=False)[:-2]
    return write_text(path, head + f',\n "rows": [\n{lines}\n ]\n}}\n')


def write_report(name: str, folder: Path) -> Path:
    """Measure a report and write its results file."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    rows = list(report(name).rows())
    header = {
        "experiment": name,
        "question": report(name).question,
        "command": f"python book/lab/run.py {name}",
        "data": _sources(name, rows),
        **_marks(name, folder),
        **environment(),
        "seconds": round(time.perf_counter() - began, 1),
        **report(name).more,
    }
    return write_results(folder / f"{name}.json", header, rows)


def confirm_report(name: str, folder: Path) -> Path:
    """Measure again; when every row is as before, bring the marks up to date.

    Raises
    ------
    DataError
        When a row is another: the results are stale indeed.
    """
    torch.set_num_threads(1)
    path = folder / f"{name}.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    before = [_steady(row) for row in raw.pop("rows")]
    rows = list(report(name).rows())
    now = [_steady(json.loads(json.dumps(_rounded(row, 3)))) for row in rows]
    for number, (one, other) in enumerate(zip_longest(before, now), 1):
        if one != other:
            raise DataError(
                f"{name}.json is stale: row {number} was {one} and is {other} now; run python "
                f"book/lab/run.py {name} again."
            )
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return write_results(path, raw | {"data": _sources(name, rows)} | _marks(name, folder), kept)


def _sources(name: str, rows: list[Row]) -> Any:
    data = report(name).data
    sources = data(rows) if callable(data) else [about_data(key) for key in data]
    return sources[0] if len(sources) == 1 else sources


def _marks(name: str, folder: Path) -> Row:
    about = report(name)
    taken = {other: run_fingerprints(read_results(other, folder)) for other in about.results}
    code = {one: code_now(one) for one in (name, *about.models)}
    return {"code": code, **({"results": taken} if taken else {})}


def _steady(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in UNSTEADY}


def run_fingerprints(results: Results) -> dict[str, str]:
    """A short hash of what was measured of each model and variant, whichever code measured it.

    Examples
    --------
    >>> list(run_fingerprints(read_results("city")))[0]
    'kernel-full-unknown'
    """
    marks = {}
    for about, part in results.rows.groupby(["model", "variant", "target_time"]):
        # A column that other models have does not count.
        rows = part.dropna(axis=1, how="all").to_json(orient="records", double_precision=6)
        marks["-".join(about)] = hashlib.sha256(rows.encode()).hexdigest()[:12]
    return marks


def stale(results: Results) -> list[str]:
    """The models or modules of a results file whose code has changed since it was made."""
    marks: dict[str, str] = results.header["code"]
    return [name for name, mark in marks.items() if code_now(name) != mark]


def pending(lab: Path = Path(__file__).parent) -> dict[str, str]:
    """The results files that wait to be computed again, and why (``pending.toml``)."""
    path = lab / "pending.toml"
    if not path.is_file():
        return {}
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    return dict.fromkeys(raw["files"], " ".join(raw["reason"].split()))


def outdated(results: Results) -> list[str]:
    """The other results files that a file was made from and that tell something else now.

    Models that they have gained since do not matter.
    """
    marks: dict[str, dict[str, str]] = results.header.get("results", {})
    changed = []
    for name, then in marks.items():
        there = (results.folder / f"{name}.json").is_file()
        now = run_fingerprints(read_results(name, results.folder)) if there else {}
        if not then.items() <= now.items():
            changed.append(name)
    return changed


def code_now(name: str) -> str:
    """The mark of a model's or a report's code; of one that is gone, none."""
    if name in models.MAKERS:
        return runs.code_of(name)
    if name not in REPORTS:
        return ""
    return code_mark(starts_of(name))


def starts_of(name: str) -> tuple[str, ...]:
    """Where the code of a report begins."""
    module = REPORTS[name]
    own = (one if ":" in one else f"{module}:{one}" for one in report(name).starts)
    return (*own, *runs.SCORING)


def _rounded(row: dict[str, Any], decimals: int) -> dict[str, Any]:
    return {
        key: (round(value, decimals) if value == value else None)
        if isinstance(value, float)
        else value
        for key, value in row.items()
    }
