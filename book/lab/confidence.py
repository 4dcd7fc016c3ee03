"""How sure the models are, how sure they should be, and sets that hold the answer. For chapter 22.

    PGT_GEOLIFE=… python book/lab/run.py confidence

writes ``book/results/confidence.json``. Everything is chosen on validation windows and measured on
test windows. Temperatures, the three weights of a forecast and the thresholds share the validation
windows; so few numbers beside thousands of windows flatter the thresholds by very little. The rows
belong to several tables, told apart by ``table``; shares and probabilities are from 0 to 1, losses
in nats:

- ``temperature``: of all the model says (``temperature``) and among the places that it can name
  (``among_named``); mean losses on the test targets that have a probability, before and after;
  ``impossible``: share of the targets without one; ``new``: of those that cannot be named;
- ``new``: the probability of "somewhere new" against what happened;
- ``calibration`` and ``reliability``: the likeliest place, how sure and how often right; ``error``
  is the expected calibration error in ten bins of equal count, ``floor`` what luck alone makes of
  it, ``gap`` mean confidence minus accuracy, with a 95 % interval, people resampled; on validation
  windows too, to tell what does not fit from what has changed since;
- ``sets``: conformal sets by ``method``, share missed (``alpha``) and ``limits`` (one threshold for
  all, or one for each person), with ``group`` all, the targets' kind (new, named) and halves of
  each person's test windows (early, late); ``shuffled`` is the coverage if validation and test
  windows were exchangeable, ``by_name`` the share of all targets that a set holds by their name:
  somewhere new is a large answer, and larger for a model that remembers less;
- ``people``: how the coverage is spread over people.

``stage`` is what the probabilities went through: "as is"; "temperature"; "somewhere new", a
temperature among named places and a forecast of somewhere new, made of two: one from features of
the window, and how sure the model is among the places it can name. Bins and groups with too few
people behind them are left out; no person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from wherenext.predictions import Predictions, collect, recalibrated, top, with_unseen
from wherenext.window_features import first_visits

from lab import coverage, data_sets, forecasts, models
from lab.data_sets import DATA
from lab.grid import enough_people
from lab.models import Run
from lab.reports import Report
from pgt import calibration
from pgt.metrics import ends, resampled_means

DATA_SETS = ("city", "geolife_exact")
SEEDS = (42, 1, 2)
RUNS = (
    *(Run("contextual", seed=seed) for seed in SEEDS),
    *(Run("pgt", seed=seed) for seed in SEEDS),
    Run("kernel"),
)
ALPHAS = (0.2, 0.1, 0.05)
DETAILED = 0.1  # groups of windows are told apart at this one
STAGES = ("as is", "temperature", "somewhere new")
METHODS = ("simple", "adaptive", "adaptive, drawn")
BINS = (10, 8, 6, 5, 4)  # the first with many people in each
DRAWS = 300
Row = dict[str, Any]


def floor_of_error(
    p: np.ndarray, *, bins: int = 10, n_resamples: int = 200, seed: int = 0
) -> tuple[float, float]:
    """The calibration error that forecasts would show if they were perfect: mean, and 95 % of it.

    An expected calibration error is a mean of distances, never below zero: with few windows a bin,
    luck alone keeps it above. Here outcomes are drawn from the forecasts themselves; real ones,
    which go together within a person, have a floor that is higher still. The idea is Bröcker and
    Smith's (2007, https://doi.org/10.1175/WAF993.1).
    """
    p = np.asarray(p, dtype=float)
    bin_ = calibration.bins_of(p, bins)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_resamples):
        apart = p - (rng.uniform(size=len(p)) < p)
        found.append(np.abs(np.bincount(bin_, weights=apart)).sum() / len(p))
    return float(np.mean(found)), float(np.quantile(found, 0.95))


def opened(key: str, run: Run) -> dict[str, Predictions]:
    """What a run's model says, by split."""
    model, _ = models.trained(key, run)
    data = models.windows_of(key, run)
    known = data.vocabulary.n_known if run.model == "pgt" else 0  # others name what they copy
    return {split: collect(model, getattr(data, split), known) for split in ("valid", "test")}


def stages(
    predictions: dict[str, Predictions], never: dict[str, np.ndarray]
) -> tuple[Row, dict[str, Any]]:
    """The temperatures, and by stage and split the log-probabilities of the answers."""
    valid, test = predictions["valid"], predictions["test"]
    t = calibration.temperature(valid.log_probs, valid.target)
    among = calibration.temperature(valid.only_named(), valid.target)
    out: dict[str, Any] = {stage: {} for stage in STAGES}
    only = {
        split: calibration.scale(part.only_named(), among) for split, part in predictions.items()
    }
    # Where a model is unsure among the places it can name, it is likelier to be none of them.
    forecasts = {
        split: np.column_stack([never[split], np.exp(only[split].max(1))]) for split in predictions
    }
    for split, part in predictions.items():
        new = recalibrated(forecasts["valid"], valid.new, forecasts[split])
        out["as is"][split] = with_unseen(part.log_probs, part.named)
        out["temperature"][split] = with_unseen(part.at(t), part.named)
        out["somewhere new"][split] = with_unseen(only[split], part.named, new)
    before, after = (-calibration.of_target(test.at(one), test.target) for one in (1.0, t))
    possible = np.isfinite(before)
    row = {
        "temperature": t, "among_named": among, "n": len(before),
        "impossible": float(1 - possible.mean()), "new": float(test.new.mean()),
        "before": float(before[possible].mean()), "after": float(after[possible].mean()),
    }  # fmt: skip
    return row, out


def calibrated(predictions: Predictions, answers: np.ndarray) -> Iterator[Row]:
    """Rows of the tables ``calibration`` and ``reliability`` of one stage."""
    best = top(answers, predictions.answer)
    p, y = best.confidence.to_numpy(), best.hit.to_numpy(dtype=float)
    floor, high_floor = floor_of_error(p)
    low, high = ends(resampled_means([p - y], predictions.users, draws=DRAWS))
    parts = forecasts.brier(p, y)
    yield {
        "table": "calibration", "n": len(p), "confidence": float(p.mean()),
        "accuracy": float(y.mean()), "gap": float((p - y).mean()),
        "low": float(low), "high": float(high),
        "error": calibration.expected_calibration_error(p, y), "floor": floor,
        "floor_high": high_floor, "brier": parts.score, "skill": parts.skill,
        "auc": forecasts.auc(p, y),
        "loss": -float(calibration.of_target(answers, predictions.answer).mean()),
    }  # fmt: skip
    for bins in BINS:
        at = calibration.bins_of(p, bins)
        if all(enough_people(predictions.users[at == k]) for k in np.unique(at)):
            table = calibration.reliability(p, y, predictions.users, bins=bins)
            for k, row in enumerate(table.to_dict("records")):
                yield {"table": "reliability", "bin": k + 1} | row
            return


def foretold(predictions: Predictions, answers: np.ndarray) -> Row:
    """How good the probability of somewhere new is."""
    p, y = np.exp(answers[:, -1]), predictions.new.astype(float)
    return {
        "table": "new", "n": len(p), "forecast": float(p.mean()), "share": float(y.mean()),
        "error": calibration.expected_calibration_error(p, y),
        "floor": floor_of_error(p)[0],
        "skill": forecasts.brier(p, y).skill, "auc": forecasts.auc(p, y),
        "auc_within": forecasts.auc_within(p, y, predictions.users),
    }  # fmt: skip


def described(predictions: Predictions, held: np.ndarray, group: np.ndarray) -> Row:
    """Coverage and size of the sets of some windows."""
    covered = held[np.arange(len(held)), predictions.answer][group]
    by_name = covered & ~predictions.new[group]
    size, new = held.sum(1)[group], held[group, -1]
    low, high = ends(resampled_means([covered], predictions.users[group], draws=DRAWS))
    return {
        "n": int(group.sum()), "coverage": float(covered.mean()),
        "low": float(low), "high": float(high),
        "by_name": float(by_name.mean()),
        "size": float(size.mean()), "size_median": float(np.median(size)),
        "size_q90": float(np.quantile(size, 0.9)), "empty": float((size == 0).mean()),
        "single": float((size == 1).mean()), "holds_new": float(new.mean()),
    }  # fmt: skip


def strangeness(method: str, log_probs: np.ndarray) -> np.ndarray:
    """(N, A) scores by one of `METHODS`; draws are the same at every call."""
    probs = np.exp(log_probs)
    if method == "simple":
        return np.where(probs > 0, 1 - probs, np.inf)  # least ambiguous sets (Sadinle et al. 2019)
    u = np.random.default_rng(0).uniform(size=len(probs))
    return coverage.adaptive_scores(probs, u if method == "adaptive, drawn" else None)


def sets(
    stage: str, predictions: dict[str, Predictions], answers: dict[str, np.ndarray]
) -> Iterator[Row]:
    """Rows of the tables ``sets`` and ``people`` of one stage."""
    test, last = predictions["test"], stage == STAGES[-1]
    scored = {
        method: [strangeness(method, answers[name]) for name in predictions] for method in METHODS
    }
    for method, alpha in product(METHODS, ALPHAS):
        scores = dict(zip(predictions, scored[method], strict=True))
        own = {
            name: calibration.of_target(scores[name], part.answer)
            for name, part in predictions.items()
        }
        limits = {"all": np.full(len(test.target), calibration.threshold(own["valid"], alpha))}
        if last:
            limits["people"] = coverage.thresholds_by_group(
                own["valid"], predictions["valid"].users, test.users, alpha
            )
        shuffled = coverage.shuffled_coverage(np.concatenate(list(own.values())), alpha)
        for name, limit in limits.items():
            about = {"method": method, "alpha": alpha, "limits": name}
            held = coverage.members(scores["test"], limit)
            for group, mask in groups(test, all_of_them=last and alpha == DETAILED):
                more = {"shuffled": shuffled} if (group, name) == ("all", "all") else {}
                found = described(test, held, mask) | more
                yield {"table": "sets"} | about | {"group": group} | found
            covered = held[np.arange(len(held)), test.answer]
            yield {"table": "people"} | about | coverage.by_person(covered, test.users)


def groups(test: Predictions, all_of_them: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Names and masks of test windows, of those with many people in them."""
    yield "all", np.ones(len(test.target), dtype=bool)
    for name, mask in (("new", test.new), ("early", test.early)) if all_of_them else ():
        if enough_people(test.users[mask]) and enough_people(test.users[~mask]):
            yield name, mask
            yield {"new": "named", "early": "late"}[name], ~mask


def rows_of(predictions: dict[str, Predictions], never: dict[str, np.ndarray]) -> Iterator[Row]:
    """All rows of one model."""
    row, answers = stages(predictions, never)
    yield {"table": "temperature"} | row
    for stage, by_split in answers.items():
        about = {"stage": stage}
        for split, part in predictions.items():
            for one in calibrated(part, by_split[split]):
                if split == "test" or one["table"] == "calibration":
                    yield about | {"split": split} | one
        yield about | foretold(predictions["test"], by_split["test"])
        if stage != "temperature":
            yield from (about | one for one in sets(stage, predictions, by_split))


def measured() -> Iterator[Row]:
    """The rows of every data set and model."""
    for key in DATA_SETS:
        never = first_visits(data_sets.dataset(key))
        for run in RUNS:
            about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "model": run.model,
                     "variant": run.variant, "target_time": run.target_time,
                     "seed": run.seed}  # fmt: skip
            began = time.perf_counter()
            for row in rows_of(opened(key, run), never):
                if row["table"] in ("temperature", "calibration"):
                    print(key, run.key, row, flush=True)
                yield about | row
            print(f"{time.perf_counter() - began:.0f} s", flush=True)


REPORT = Report(
    question="How sure are the models, and which sets of places hold the next one?",
    rows=measured,
    data=DATA_SETS,
)
