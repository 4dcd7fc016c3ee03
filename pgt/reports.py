"""Results files, written: a complete header, flat rows, and the question whether they are stale."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import pgt
from pgt import runs
from pgt.provenance import code_mark
from pgt.results import Results, read_results
from pgt.train import pick_device

# Where the code of each report begins, beside the models that it takes from `pgt.runs`.
REPORTS: dict[str, tuple[str, ...]] = {
    "bias_report": ("pgt.bias_report:jobs", "pgt.bias_report:one"),
    "confidence_report": ("pgt.confidence_report:measured",),
    "gate_report": ("pgt.gate_report:measured",),
    "gps_report": ("pgt.gps_report:measured",),
    "newcomers_report": ("pgt.newcomers_report:measured",),
    "own_city_report": (
        "pgt.own_city_report:sampled", "pgt.own_city_report:as_checkins",
        "pgt.own_city_report:ends", "pgt.own_city_report:measured", "pgt.city:simulate",
        "pgt.commands:prepare", "pgt.commands:train", "pgt.commands:evaluate",
    ),
    "predictability_report": (
        "pgt.predictability_report:measured", "pgt.ceilings:biases",
    ),
    "traps_report": ("pgt.traps_report:measured",),
    "win_report": tuple(
        f"pgt.win_report:{name}" for name in (
            "models", "opened", "windows", "weights", "without", "together", "agree", "guesses",
            "cells",
        )
    ),
    "improvements.imbalance": (
        "pgt.improvements.imbalance:lengths", "pgt.improvements.imbalance:uneven",
    ),
    "relatives.side_by_side_report": tuple(
        f"pgt.relatives.side_by_side_report:{name}"
        for name in ("whole_models", "encoders", "trainings")
    ),
    "relatives.summarizer_report": ("pgt.relatives.summarizer_report:measured",),
    "relatives.temporal_sets_report": (
        "pgt.relatives.temporal_sets_report:baskets",
        "pgt.relatives.temporal_sets_report:measured",
    ),
}  # fmt: skip

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
    """What a header tells of an entry of `pgt.runs.DATA`."""
    data = runs.DATA[key]
    return {
        "name": data.name,
        "protocol": data.protocol,
        "fingerprint": runs.data_fingerprint(key),
        "windows": runs.dataset(key).counts(),
        "training": asdict(data.training),
    }


def write_results(
    path: Path, header: dict[str, Any], rows: Iterable[dict[str, Any]], decimals: int = 3
) -> Path:
    """Write a results file, one row a line, numbers rounded; a number that is none is null."""
    rounded = (_rounded(row, decimals) for row in rows)
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rounded)
    head = json.dumps(header, indent=1, allow_nan=False)[:-2]
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")
    half.write_text(head + f',\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    half.replace(path)
    return path


def write_report(
    path: Path,
    *,
    question: str,
    module: str,
    data: Iterable[str | dict[str, Any]],
    seconds: float,
    rows: Iterable[dict[str, Any]],
    results: Iterable[str] = (),
    models: Iterable[str] = (),
    **more: Any,
) -> Path:
    """Write the results of a module of the package that measures something of its own.

    Parameters
    ----------
    path : Path
        ``book/results/NAME.json``.
    question : str
        What it is for, in one line.
    module : str
        ``python -m pgt.MODULE`` makes the file; its code, with all that it imports, is what the
        file depends on.
    data : iterable of str or dict
        Entries of `pgt.runs.DATA` that were used; of other data, what there is to say of them.
    seconds : float
        How long it took.
    rows : iterable of dict
        Flat; no person, place or moment can be told from them.
    results : iterable of str
        Other results files, beside this one, from which it takes something.
    models : iterable of str
        The models of `pgt.runs` that it trains.
    more
        Further entries of the header.
    """
    sources = [about_data(one) if isinstance(one, str) else one for one in data]
    taken = {name: run_fingerprints(read_results(name, path.parent)) for name in results}
    header = {
        "experiment": path.stem,
        "question": question,
        "command": f"python -m pgt.{module}",
        "data": sources[0] if len(sources) == 1 else sources,
        "code": {name: _code_now(name) for name in (module, *models)},
        **({"results": taken} if taken else {}),
        **environment(),
        "seconds": round(seconds, 1),
        **more,
    }
    return write_results(path, header, rows)


def run_fingerprints(results: Results) -> dict[str, str]:
    """A short hash of what was measured of each model and variant, whichever code measured it.

    Examples
    --------
    >>> list(run_fingerprints(read_results("city")))[0]
    'kernel-full-unknown'
    """
    marks = {}
    for about, part in results.rows.groupby(["model", "variant", "when"]):
        # A column that other models have does not count.
        rows = part.dropna(axis=1, how="all").to_json(orient="records", double_precision=6)
        marks["-".join(about)] = hashlib.sha256(rows.encode()).hexdigest()[:12]
    return marks


def stale(results: Results) -> list[str]:
    """The models or modules of a results file whose code has changed since it was made."""
    marks: dict[str, str] = results.header["code"]
    return [name for name, mark in marks.items() if _code_now(name) != mark]


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


def _code_now(name: str) -> str:
    """The mark of a model's or a report's code; of one that is gone, none."""
    if name in runs.MAKERS:
        return runs.code_of(name)
    return code_mark((*REPORTS[name], *runs.SCORING)) if name in REPORTS else ""


def _rounded(row: dict[str, Any], decimals: int) -> dict[str, Any]:
    return {
        key: (round(value, decimals) if value == value else None)
        if isinstance(value, float)
        else value
        for key, value in row.items()
    }
