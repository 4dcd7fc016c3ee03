"""The contextual pointers of chapters 20 to 22: fewer features, another memory, PGT around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.baselines import ContextKernel
from pgt.config import TargetTime, TrainConfig
from pgt.predictor.contextual import (
    ALONE,
    MEMORY,
    OLDER,
    TRAINING,
    ContextualConfig,
    ContextualPointer,
    like_kernel,
)
from pgt.predictor.features import HISTORY_FEATURES
from pgt.predictor.memory import HistoryWindows, of_rows, with_history
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, Windows

# With all of PGT around them; many more weights, so a lower rate and more dropout.
AROUND: dict[str, Any] = {"dropout": 0.4, "interaction": 0}
SHARES = (0.3, 0.5, 0.7)  # of a person's training visits, after which unknown places are played
AROUND_TRAINING = replace(TRAINING, learning_rate=1e-3)


@dataclass(frozen=True)
class Variant:
    """One way to use the contextual pointer."""

    change: dict[str, Any] = field(default_factory=lambda: ALONE)  # of `ContextualConfig`
    memory: int = MEMORY  # of `pgt.with_history`
    older: int = OLDER
    pseudo_unknowns: bool = True  # in training, if there are unknown places (`has_unknown`)
    from_kernel: bool = True  # whether its first tables are those of the context kernel
    training: TrainConfig = TRAINING


# The story of chapter 20: the kernel's features first, then the others, one after the other.
STEPS: dict[str, tuple[str, ...]] = {
    "count_only": ("age",),
    "and_before": ("age", "before"),
    "and_clock": ("age", "before", "clock"),
    "and_day": ("age", "before", "clock", "ahead", "weekday", "days"),
    "and_stays": (
        "age", "before", "clock", "ahead", "weekday", "days", "stay", "stayed", "left", "gap",
    ),
}  # fmt: skip

VARIANTS: dict[str, Variant] = {
    "full": Variant(),
    "window": Variant(memory=0, older=0),
    "around": Variant(AROUND, training=AROUND_TRAINING),
    "around_window": Variant(AROUND, memory=0, older=0, training=AROUND_TRAINING),
    "no_scale": Variant(ALONE | {"scaled": False}),
    "interaction": Variant(ALONE | {"interaction": 32}),
    "one_component": Variant(ALONE | {"n_components": 1}, from_kernel=False),
    "random_start": Variant(from_kernel=False),
    "no_pseudo_unknowns": Variant(pseudo_unknowns=False),
} | {
    f"memory_{memory}": Variant(memory=memory, older=0) for memory in (10, 20, 50, 100, 200, 400)
} | {
    f"no_{name}": Variant(
        ALONE | {"features": tuple(feature for feature in HISTORY_FEATURES if feature != name)}
    )
    for name in HISTORY_FEATURES
} | {
    name: Variant(ALONE | {"features": features, "scaled": False}, older=0)
    for name, features in STEPS.items()
}  # fmt: skip


def has_unknown(data: Dataset) -> bool:
    """Whether places that training never shows are merged to one, and validation has it."""
    closed = data.vocabulary.n_known + 2 == data.vocabulary.n_locations
    return closed and bool((data.valid.features[0] == UNKNOWN).any())


def windows(data: Dataset, variant: Variant) -> Dataset:
    """The windows that a variant is trained and scored on."""
    seen = with_history(data, variant.memory, variant.older)
    if variant.pseudo_unknowns and has_unknown(data):
        return replace(seen, train=with_pseudo_unknowns(data, variant.memory, variant.older))
    return seen


def with_pseudo_unknowns(
    data: Dataset, memory: int = 0, older: int = 0, shares: Sequence[float] = SHARES
) -> HistoryWindows:
    """The training windows, and copies in which some of their places are unknown.

    Each share, between 0 and 1, plays the training days as if only that share of every person's
    visits had been known.
    """
    later = [as_if_earlier(data.train, share, whole_windows=not memory) for share in shares]
    parts = [data.train, *later]
    visits = pd.concat([part.visits for part in parts], ignore_index=True)
    features = [data.train.features[:, :1], *(part.features[:, 1:] for part in parts)]
    n = len(data.train.visits)
    first, target = (
        np.concatenate([getattr(part, name) + k * n for k, part in enumerate(parts)])
        for name in ("first", "target")
    )
    # Nobody remembers what happened to them in another copy.
    person, people = pd.factorize(visits.user_id)
    apart = visits.assign(user_id=person + len(people) * (np.arange(len(visits)) // n))
    memory = min(memory, n)
    (past,) = of_rows(apart, torch.cat(features, 1), data.vocabulary, [target], memory, older)
    inside = np.concatenate([part.in_window for part in parts])
    past = replace(past, visits=visits, inside=inside)
    return past if memory else replace(past, first=first, floor=first)


def as_if_earlier(train: Windows, share: float, *, whole_windows: bool) -> Windows:
    """The windows after a share of each person's visits; places that are new by then are unknown.

    With ``whole_windows`` even a window's first visit comes after, as in the splits.
    """
    visits = train.visits
    number = visits.groupby("user_id").cumcount()
    known_part = number < share * visits.user_id.map(visits.user_id.value_counts())
    place = visits.location_id
    is_number = pd.api.types.is_integer_dtype(place)
    nowhere = int(place.min()) - 1 if is_number else "\0nowhere"  # a location of no table
    names = place.where(place.isin(place[known_part].unique()), nowhere)
    features = train.features.clone()
    features[0, 1:] = torch.tensor(train.vocabulary.encode_locations(names))
    answered = (train.first if whole_windows else train.target).astype(int)
    later = replace(train, visits=visits.assign(location_id=names), features=features)
    return later.subset(~known_part.to_numpy()[answered])


def build(
    variant: Variant, data: Dataset, seed: int, target_time: TargetTime = "unknown"
) -> tuple[ContextualPointer, TrainConfig]:
    """A model with its first weights, and how to train it."""
    vocabulary = data.vocabulary
    known = vocabulary.n_known + 2
    torch.manual_seed(seed)
    config = ContextualConfig(
        vocabulary.n_locations, vocabulary.n_users, target_time=target_time,
        n_trained_ids=known if known < vocabulary.n_locations else 0, **variant.change,
    )  # fmt: skip
    model = ContextualPointer(config)
    if variant.from_kernel and model.scorer is not None:
        like_kernel(model.scorer, ContextKernel())
    return model, replace(variant.training, seed=seed)
