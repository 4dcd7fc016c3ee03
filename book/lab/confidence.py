"""How sure the contextual pointer is, how sure it should be, and sets that hold the answer.

    PGT_GEOLIFE=… python book/lab/run.py confidence

writes ``book/results/confidence.json``, for chapter 22. Everything is chosen on validation windows
and measured on test windows. Shares and probabilities are from 0 to 1. By ``table``:

- ``calibration`` and ``reliability``: the likeliest place, how sure and how often right; ``error``
  is the expected calibration error in ten bins of equal count;
- ``sets``: conformal sets that are to miss a share ``alpha``, with one threshold for all, or one
  for each person (``limits``); ``by_name`` is the share of all targets that a set holds by their
  name: somewhere new is a large answer;
- ``people``: how the coverage is spread over people, and ``sd_luck``, how it would be by luck.

``stage`` is what the probabilities went through: "as is"; "temperature"; "somewhere new", a
temperature among named places and a forecast of somewhere new, made of two: one from features of
the window, and how sure the model is among the places it can name. Bins with too few people behind
them are left out; no person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from wherenext.predictions import Predictions, collect, recalibrated, top, with_unseen
from wherenext.window_features import first_visits

from lab import data_sets, models
from lab.anonymity import WINDOWS, enough_people, means_of_people
from lab.data_sets import DATA
from lab.models import Run
from lab.reports import Report, Row
from pgt.predictor import calibration

DATA_SETS = ("city", "geolife_exact")
SEEDS = (42, 1, 2)
ALPHA = 0.1
STAGES = ("as is", "temperature", "somewhere new")
BINS = (10, 8, 6, 5, 4)  # the first with many people in each


def opened(key: str, run: Run) -> dict[str, Predictions]:
    """What a run's model, which names what it copies, says by split."""
    model, _ = models.trained(key, run)
    data = models.windows_of(key, run)
    return {split: collect(model, getattr(data, split), 0) for split in ("valid", "test")}


def stages(
    predictions: dict[str, Predictions], never: dict[str, np.ndarray]
) -> dict[str, dict[str, np.ndarray]]:
    """By stage and split, the log-probabilities of the answers."""
    valid = predictions["valid"]
    t = calibration.temperature(valid.log_probs, valid.target)
    among = calibration.temperature(valid.only_named(), valid.target)
    only = {
        split: calibration.scale(part.only_named(), among) for split, part in predictions.items()
    }
    # Where a model is unsure among the places it can name, it is likelier to be none of them.
    forecasts = {
        split: np.column_stack([never[split], np.exp(only[split].max(1))]) for split in predictions
    }
    out: dict[str, dict[str, np.ndarray]] = {stage: {} for stage in STAGES}
    for split, part in predictions.items():
        new = recalibrated(forecasts["valid"], valid.new, forecasts[split])
        out["as is"][split] = with_unseen(part.log_probs, part.named)
        out["temperature"][split] = with_unseen(part.at(t), part.named)
        out["somewhere new"][split] = with_unseen(only[split], part.named, new)
    return out


def calibrated(predictions: Predictions, answers: np.ndarray) -> Iterator[Row]:
    """Rows of the tables ``calibration`` and ``reliability`` of one stage."""
    best = top(answers, predictions.answer)
    p, y = best.confidence.to_numpy(), best.hit.to_numpy(dtype=float)
    yield {
        "table": "calibration", "n": len(p), "confidence": float(p.mean()),
        "accuracy": float(y.mean()), "error": calibration.expected_calibration_error(p, y),
    }  # fmt: skip
    for bins in BINS:
        at = calibration.bins_of(p, bins)
        if all(enough_people(predictions.users[at == k]) for k in np.unique(at)):
            table = calibration.reliability(p, y, bins=bins)
            for k, row in enumerate(table.to_dict("records")):
                yield {"table": "reliability", "bin": k + 1} | row
            return


def sets(
    stage: str, predictions: dict[str, Predictions], answers: dict[str, np.ndarray]
) -> Iterator[Row]:
    """Rows of the tables ``sets`` and ``people`` of one stage."""
    valid, test = predictions["valid"], predictions["test"]
    # Least ambiguous sets; what is impossible is in none.
    scores = {split: np.where(np.isfinite(answer), 1 - np.exp(answer), np.inf)
              for split, answer in answers.items()}  # fmt: skip
    own = calibration.of_target(scores["valid"], valid.answer)
    limits = {"all": np.full(len(test.target), calibration.conformal_quantile(own, ALPHA))}
    if stage == STAGES[-1]:
        limits["people"] = thresholds_by_person(own, valid.users, test.users, ALPHA)
    for name, limit in limits.items():
        held = (scores["test"] <= limit[:, None]) & np.isfinite(scores["test"])
        covered = held[np.arange(len(held)), test.answer]
        about = {"method": "simple", "alpha": ALPHA, "limits": name}
        yield {
            "table": "sets", **about, "group": "all", "n": len(held),
            "coverage": float(covered.mean()), "by_name": float((covered & ~test.new).mean()),
            "size": float(held.sum(1).mean()),
        }  # fmt: skip
        yield {"table": "people", **about, **spread(covered, test.users)}


def thresholds_by_person(
    scores: np.ndarray, users: np.ndarray, of: np.ndarray, alpha: float
) -> np.ndarray:
    """The threshold of each person in ``of``, from their own calibration windows if enough.

    What is promised then holds for each of them; the others together are one person more. Source:
    Vovk, Gammerman and Shafer 2005, https://doi.org/10.1007/b106715 (Mondrian prediction).
    """
    table, size = pd.Series(scores), pd.Series(users).value_counts()
    own = np.isin(users, size.index[size >= WINDOWS])
    each = (
        table[own]
        .groupby(users[own])
        .apply(lambda part: calibration.conformal_quantile(part, alpha))
    )
    rest = calibration.conformal_quantile(table if own.all() else table[~own], alpha)
    return pd.Series(of).map(each.to_dict()).fillna(rest).to_numpy(dtype=float)


def spread(covered: np.ndarray, users: np.ndarray) -> Row:
    """How coverage is spread over people, and how much of that is luck."""
    own = means_of_people(covered, users)
    share = float(np.average(own["mean"], weights=own["size"]))
    luck = float(np.sqrt((share * (1 - share) / own["size"]).mean()))
    ends = {f"q{round(100 * q)}": float(own["mean"].quantile(q)) for q in (0.1, 0.9)}
    return {"people": len(own), "sd": float(own["mean"].std()), "sd_luck": luck, **ends}


def rows_of(predictions: dict[str, Predictions], never: dict[str, np.ndarray]) -> Iterator[Row]:
    """All rows of one model."""
    for stage, by_split in stages(predictions, never).items():
        found = calibrated(predictions["test"], by_split["test"])
        yield from ({"stage": stage, "split": "test"} | one for one in found)
        if stage != "temperature":
            yield from ({"stage": stage} | one for one in sets(stage, predictions, by_split))


def measured() -> Iterator[Row]:
    """The rows of every data set and seed."""
    for key in DATA_SETS:
        never = first_visits(data_sets.dataset(key))
        for seed in SEEDS:
            run = Run("contextual", seed=seed)
            about: Row = {"data": DATA[key].name, "protocol": DATA[key].protocol,
                          "model": run.model, "variant": run.variant,
                          "target_time": run.target_time, "seed": seed}  # fmt: skip
            yield from (about | row for row in rows_of(opened(key, run), never))


REPORT = Report(
    question="How sure is the contextual pointer, and which sets of places hold the next one?",
    rows=measured,
    data=DATA_SETS,
)
