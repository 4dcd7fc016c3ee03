"""Traps of evaluation, measured on visits; `lab.traps_report` says what the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from wherenext.results import Results

from lab import data_sets, models
from lab.reports import Row
from pgt import metrics
from pgt.baselines import fit_baseline
from pgt.config import WindowConfig
from pgt.model import cross_entropy
from pgt.train import fit
from pgt.visits import SPLITS
from pgt.windows import Dataset, prepare

PAST_DAYS = (7, 14, 28, 56)


def row(what: str, value: Any, unit: str = "%", **more: Any) -> Row:
    """One measured number."""
    return {"what": what, "value": float(value), "unit": unit, **more}


def accuracy(data: Dataset, name: str = "kernel") -> tuple[float, pd.DataFrame]:
    """Test Acc@1 in percent of a baseline chosen on validation, and its ranks."""
    ranks = metrics.evaluate(fit_baseline(name, data.train, data.valid), data.test)
    return 100 * float(metrics.gains(ranks)["acc@1"].mean()), ranks


def unknown_token(published: Results, visits: pd.DataFrame) -> Iterator[Row]:
    """How many points a model gets for answering "some place nobody has seen"."""
    for split in SPLITS:
        part: Any = getattr(data_sets.dataset("geolife_published"), split)
        share = 100 * float((~part.vocabulary.is_known(part.targets)).mean())
        yield row(f"{split} targets that are the unknown token", share, n=len(part))
    models = {
        "kernel": {"model": "kernel"},
        "PGT": {"model": "pgt", "variant": "full", "target_time": "day"},
        "PGT without pointer": {"model": "pgt", "variant": "no_pointer", "target_time": "day"},
    }
    for name, where in models.items():
        for group in ("all", "known", "unknown"):
            yield row(f"{name}: {group}", published.mean(group=group, **where))
    for group in ("all", "known"):
        gap, low, high = published.difference(
            models["PGT"], models["PGT without pointer"], group=group
        )
        yield row(f"what the pointer adds: {group}", gap, "points", low=low, high=high)
    # The same people, the same visits, the same kernel: only the name of unseen places changes.
    merged, exact = (prepare(visits, config=windows(p)) for p in ("published", "exact"))
    yield row("kernel, unknown places merged", accuracy(merged)[0], n=len(merged.test))
    yield row("kernel, unknown places by name", accuracy(exact)[0], n=len(exact.test))
    unseen = exact.test.vocabulary.n_locations - exact.vocabulary.n_known - 2
    yield row("places behind the unknown token", unseen, "places")


def windows(protocol: str, days: int = 7) -> WindowConfig:
    """Windows that differ in the names of unseen places and in nothing else."""
    return WindowConfig(days, protocol=protocol, anchor="last_visit")  # type: ignore[arg-type]


def knows_the_day(published: Results) -> Iterator[Row]:
    """What counting recency back from the target's day gives away."""
    informed, blind = (
        {"model": "pgt", "variant": "full", "target_time": w} for w in ("day", "unknown")
    )
    yield row("PGT knowing the target's day", published.mean(**informed))
    yield row("PGT knowing nothing of the target", published.mean(**blind))
    gap, low, high = published.difference(informed, blind)
    yield row("what the day is worth", gap, "points", low=low, high=high)
    data = data_sets.dataset("geolife_published").test
    gap_days = torch.cat([batch.gap_days for batch in data.batches(512)]).numpy()
    for days in (0, 1):
        yield row(
            f"targets {days} days after the last visit", 100 * float((gap_days == days).mean())
        )


def few_people(published: Results) -> Iterator[Row]:
    """How much wider an interval is that resamples people instead of windows."""
    (ranks,) = published.ranks(model="kernel")
    counts = ranks.user_id.value_counts()
    yield row("people", len(counts), "people")
    yield row("windows of the five most recorded people", 100 * counts.head(5).sum() / len(ranks))
    low, high = metrics.interval(ranks)
    yield row("half-width, people resampled", (high - low) / 2, "points")
    alone = ranks.assign(user_id=np.arange(len(ranks)))
    low, high = metrics.interval(alone)
    yield row("half-width, windows resampled", (high - low) / 2, "points")
    by_person = metrics.gains(ranks)["acc@1"].groupby(ranks.user_id).mean()
    yield row("kernel, mean over windows", 100 * float(metrics.gains(ranks)["acc@1"].mean()))
    yield row("kernel, mean over people", 100 * float(by_person.mean()))


def copy_ceiling(visits: pd.DataFrame) -> Iterator[Row]:
    """How many targets a pure pointer could name, by protocol and by length of memory."""
    for protocol, label in (("published", "unknown merged"), ("exact", "real places")):
        data = prepare(visits, config=windows(protocol))
        yield row(f"target in the window, {label}", 100 * data.test.in_window.mean(),
                  n=len(data.test))  # fmt: skip
    test = prepare(visits, protocol="exact").test
    targets = test.visits.iloc[test.target]
    past = visits.sort_values(["user_id", "started_at"])
    first = past.groupby(["user_id", "location_id"]).started_at.first()
    keys = pd.MultiIndex.from_frame(targets[["user_id", "location_id"]])
    seen = first.reindex(keys).to_numpy() < targets.started_at.to_numpy()
    yield row("target visited before, ever", 100 * seen.mean(), n=len(targets))
    merged = pd.merge_asof(
        targets.sort_values("started_at"),
        past[["user_id", "location_id", "started_at"]].assign(before=past.started_at)
        .sort_values("started_at"),
        on="started_at", by=["user_id", "location_id"], allow_exact_matches=False,
    )  # fmt: skip
    days = merged.started_at.dt.normalize() - merged.before.dt.normalize()
    for limit in PAST_DAYS:
        share = 100 * float((days <= pd.Timedelta(days=limit)).mean())
        yield row(f"target visited in the past {limit} days", share, n=len(targets))


def one_seed(ablations: Results) -> Iterator[Row]:
    """How often an ablation made with one seed has the wrong sign."""
    about = {"data": "geolife", "protocol": "published"}
    table = ablations.select(**about)
    scores = table.pivot(index="variant", columns="seed", values="acc@1")
    for variant in scores.index.drop("full"):
        # One seed for the whole model, one for the ablated: all pairs that one might draw.
        change = scores.loc[variant].to_numpy()[:, None] - scores.loc["full"].to_numpy()
        wrong = np.sign(change) != np.sign(change.mean())
        yield row(variant, 100 * wrong.mean(), **about, n=change.size, mean=float(change.mean()),
                  lowest=float(change.min()), highest=float(change.max()))  # fmt: skip


def twins(visits: pd.DataFrame) -> Iterator[Row]:
    """Visits that are filed under two people, and what they give away."""
    test = prepare(visits, protocol="exact").test
    targets = test.visits.iloc[test.target][["user_id", "started_at", "finished_at"]]
    pairs = targets.merge(visits, on=["started_at", "finished_at"], suffixes=("", "_other"))
    pairs = pairs[pairs.user_id != pairs.user_id_other]
    for split in SPLITS:
        shared = pairs[pairs.split == split][["user_id", "started_at"]].drop_duplicates()
        yield row(f"test targets with a twin in {split}", 100 * len(shared) / len(targets),
                  n=len(shared))  # fmt: skip
    shared = visits.duplicated(["started_at", "finished_at"], keep=False)
    yield row("people with a twin", visits[shared].user_id.nunique(), "people")


def chosen_on_test(data: Dataset) -> Iterator[Row]:
    """What choosing the kernel's five numbers on the test windows would have added."""
    for what, part in (("validation", data.valid), ("test", data.test)):
        ranks = metrics.evaluate(fit_baseline("kernel", data.train, part), data.test)
        yield row(f"kernel chosen on {what}", 100 * float(metrics.gains(ranks)["acc@1"].mean()))


def stopping() -> Iterator[Row]:
    """What early stopping on the loss looks at: validation loss by group, epoch by epoch."""
    key = "geolife_published"
    data = data_sets.dataset(key)
    model, training = models.untrained(key, models.Run("pgt", "full", "day", 42))
    training = replace(training, patience=10, max_epochs=20)
    rows: list[Row] = []

    @torch.no_grad()
    def listen(epoch: dict[str, float]) -> None:
        losses, known = [], []
        for batch in data.valid.batches(512):
            losses.append(cross_entropy(model(batch).log_probs, batch.target))
            known.append(torch.from_numpy(data.vocabulary.is_known(batch.target.numpy())))
        loss, seen = torch.cat(losses), torch.cat(known)
        for group, mask in (("known", seen), ("unknown", ~seen), ("all", seen | ~seen)):
            value = float(loss[mask].mean())
            rows.append(row(f"loss, {group}", value, "nats", epoch=int(epoch["epoch"])))
        rows.append(row("Acc@1", epoch["valid_acc@1"], epoch=int(epoch["epoch"])))

    fit(model, data.train, data.valid, training, progress=False, after_epoch=listen)
    yield from rows


def mixed_protocols(visits: pd.DataFrame) -> Iterator[Row]:
    """One kernel, one set of visits, and as many scores as there are protocols."""
    for days in (7, 28):
        for protocol in ("published", "exact"):
            data = prepare(visits, config=windows(protocol, days))
            score, ranks = accuracy(data)
            yield row(f"{protocol}, {days} days", score, n=len(ranks))
            hits = 100 * metrics.gains(ranks)["acc@1"]
            for only, mask in (("known targets", ranks.known),
                               ("targets in the window", ranks.in_window)):  # fmt: skip
                yield row(f"{protocol}, {days} days, {only} only", hits[mask].mean(),
                          n=int(mask.sum()))  # fmt: skip
