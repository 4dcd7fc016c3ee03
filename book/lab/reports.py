"""Results files, written: a complete header, flat rows, and the files that they came from."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from wherenext.results import Results, read_results

from lab import data_sets
from lab.provenance import environment, imported
from pgt.config import PRESETS
from pgt.files import write_text

Row = dict[str, Any]

# The reports, by the name of their results file: the module of the laboratory that holds each.
REPORTS: dict[str, str] = {
    "anchors": "lab.anchors",
    "confidence": "lab.confidence",
    "equal_pasts": "lab.equal_pasts",
    "equal_pasts_new_york": "lab.equal_pasts_new_york",
    "fastmob": "lab.fastmob_markov",
    "gate": "lab.gate",
    "getnext": "lab.getnext",
    "gps": "lab.gps",
    "imbalance": "lab.imbalance",
    "interval_coverage": "lab.interval_coverage",
    "kernel_grid": "lab.kernel_grid",
    "last_epoch": "lab.last_epoch",
    "leaderboard": "lab.leaderboard",
    "llm_mob": "lab.llm_mob",
    "membership": "lab.membership",
    "newcomers": "lab.newcomers",
    "nobody": "lab.nobody",
    "nobody_learning": "lab.nobody_learning",
    "own_city": "lab.own_city",
    "parts": "lab.parts",
    "perspectives": "lab.perspectives",
    "position_bias": "lab.position_bias",
    "position_bias_towns": "lab.position_bias_towns",
    "pool": "lab.pool",
    "predictability": "lab.predictability",
    "prompts": "lab.prompts",
    "reach": "lab.reach",
    "side_by_side": "lab.side_by_side",
    "summarizer": "lab.summarizer",
    "temporal_sets": "lab.temporal_sets",
    "temporal_sets_town": "lab.temporal_sets_town",
    "traps": "lab.traps_report",
    "tuning": "lab.tuning",
    "whom": "lab.scores_by_habit",
    "wins": "lab.kernel_against_pgt",
}


@dataclass(frozen=True)
class Report:
    """A results file whose rows one module measures by itself."""

    question: str  # what it is for, in one line
    rows: Callable[[], Iterable[Row]]
    data: tuple[str, ...] | Callable[[list[Row]], list[Row]]
    results: tuple[str, ...] = ()  # other results files from which it takes something
    more: Row = field(default_factory=dict)  # further entries of the header
    decimals: int = 3  # of the numbers


def report(name: str) -> Report:
    """The report that makes a results file."""
    found: Report = import_module(REPORTS[name]).REPORT
    return found


# These belong to a machine or to Colab, not to a version of the code.
NO_CODE = frozenset({"answers", "bench", "suite", "colab"})


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


def write_report(name: str, folder: Path, *, commit: str | None = None) -> Path:
    """Measure a report by the code of a commit and write its results file."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    rows = list(report(name).rows())
    header = {
        "experiment": name,
        "question": report(name).question,
        "command": f"python book/lab/run.py {name}",
        "data": _sources(name, rows),
        "code": {"commit": commit, "files": imported()},
        **_taken(name, folder),
        **environment(),
        "seconds": round(time.perf_counter() - began, 1),
        **report(name).more,
    }
    return write_results(folder / f"{name}.json", header, rows, report(name).decimals)


def _sources(name: str, rows: list[Row]) -> Any:
    data = report(name).data
    sources = data(rows) if callable(data) else [about_data(key) for key in data]
    return sources[0] if len(sources) == 1 else sources


def _taken(name: str, folder: Path) -> Row:
    """Of each results file that a report takes something from, what it said."""
    others = report(name).results
    taken = {other: run_fingerprints(read_results(other, folder)) for other in others}
    return {"results": taken} if taken else {}


def run_fingerprints(results: Results) -> dict[str, str]:
    """A short hash of what was measured of each model and variant, whichever code measured it."""
    marks = {}
    for about, part in results.rows.groupby(["model", "variant", "target_time"]):
        # A column that other models have does not count.
        rows = part.dropna(axis=1, how="all").to_json(orient="records", double_precision=6)
        marks["-".join(about)] = hashlib.sha256(rows.encode()).hexdigest()[:12]
    return marks


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


def _rounded(row: dict[str, Any], decimals: int) -> dict[str, Any]:
    return {
        key: (round(value, decimals) if value == value else None)
        if isinstance(value, float)
        else value
        for key, value in row.items()
    }
