"""The contextual pointer as it is measured: its settings, its variants, and its training.

One set of settings serves every data set; each variant changes what its name says and nothing
else. All were chosen on validation windows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pgt.baselines import ContextKernel
from pgt.config import TargetTime, TrainConfig
from pgt.contextual.config import ContextualConfig
from pgt.contextual.features import HISTORY_FEATURES
from pgt.contextual.history import with_history
from pgt.contextual.model import ContextualPointer
from pgt.contextual.pseudo_unknown import with_pseudo_unknowns
from pgt.contextual.scorer import like_kernel
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset

MEMORY = 100  # visits
OLDER = 100  # summaries of places further back

TRAINING = TrainConfig(
    learning_rate=5e-3, weight_decay=1e-2, betas=(0.9, 0.99), batch_size=64, label_smoothing=0.03,
    warmup_epochs=1, max_epochs=5, patience=2, clip=1.0, monitor="acc@1",
)  # fmt: skip

# Reasons alone: neither PGT's embeddings nor its encoder, generator and gate.
ALONE: dict[str, Any] = {
    "encoder": False, "content": False, "without": ("generator", "gate"), "dropout": 0.2,
    "interaction": 0,
}  # fmt: skip
# With all of PGT around them; many more weights, so a lower rate and more dropout.
AROUND: dict[str, Any] = {"dropout": 0.4, "interaction": 0}
AROUND_TRAINING = replace(TRAINING, learning_rate=1e-3)


@dataclass(frozen=True)
class Variant:
    """One way to use the contextual pointer.

    Attributes
    ----------
    change : dict
        Fields of `ContextualConfig`.
    memory, older : int
        Of `pgt.contextual.history.with_history`.
    pseudo_unknowns : bool
        Whether training has pseudo-unknown places, if there are unknown ones (see `has_unknown`).
    from_kernel : bool
        Whether its first tables are those of the context kernel.
    training : TrainConfig
    """

    change: dict[str, Any] = field(default_factory=lambda: ALONE)
    memory: int = MEMORY
    older: int = OLDER
    pseudo_unknowns: bool = True
    from_kernel: bool = True
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


VARIANTS_WHERE_NOTHING_IS_MERGED = tuple(name for name in VARIANTS if name != "no_pseudo_unknowns")
VARIANTS_WITH_UNKNOWN = ("full", "window", "around", "around_window", "no_pseudo_unknowns")


def has_unknown(data: Dataset) -> bool:
    """Whether places that training never shows are merged to one location, "unknown".

    The vocabulary alone cannot tell: where nobody finds a new place later, it is the same under
    both protocols. But then neither merges any, and there is nothing to teach. The validation
    visits decide; the test visits have no say.
    """
    closed = data.vocabulary.n_known + 2 == data.vocabulary.n_locations
    return closed and bool((data.valid.features[0] == UNKNOWN).any())


def windows(data: Dataset, variant: Variant) -> Dataset:
    """The windows that a variant is trained and scored on."""
    seen = with_history(data, variant.memory, variant.older)
    if variant.pseudo_unknowns and has_unknown(data):
        return replace(seen, train=with_pseudo_unknowns(data, variant.memory, variant.older))
    return seen


def build(
    variant: Variant, data: Dataset, seed: int, target_time: TargetTime = "unknown"
) -> tuple[ContextualPointer, TrainConfig]:
    """A model with its first weights, and how to train it.

    Parameters
    ----------
    variant : Variant
    data : Dataset
        Its vocabulary decides: with places beyond the known ones it is an open one.
    seed : int
    target_time : {"unknown", "day", "hour", "time"}
        What the model knows of the next visit's start; see `ContextualConfig`.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits, protocol="exact")
    >>> model, training = build(VARIANTS["full"], data, seed=1)
    >>> model.n_parameters() < 20_000, training.seed
    (True, 1)
    """
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
