"""The configuration of the contextual pointer."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from pgt.config import ModelConfig, TargetTime
from pgt.contextual.features import HISTORY_FEATURES, TARGET_FEATURES


@dataclass(frozen=True)
class ContextualConfig(ModelConfig):
    """A `ModelConfig` with what is new.

    Parameters
    ----------
    features : tuple of str
        Of `pgt.contextual.features.HISTORY_FEATURES`; none = PGT, whose ``target_time`` is
        "unknown" or "day".
    n_components : int
        How many sums of features can speak for a visit.
    interaction : int
        Width of the layer in which features interact; 0 = they only add up.
    scaled : bool
        Whether what is known of now scales the features.
    target_time : {"unknown", "day", "hour", "time"}
        What the model knows of the next visit's start: nothing; its day, from which PGT's recency
        counts back; its weekday and hour; or its weekday and time to the minute. Hour and time are
        for the features alone: with them, recency counts back from the last visit.
    encoder : bool
        Whether visits are encoded together; without, each has its own embedding only.
    content : bool
        Whether PGT's own pointer score (query · key + position bias) is added to the features.
    n_trained_ids : int
        Open vocabulary: how many location ids have weights of their own (padding and unknown
        included, so at least 2, and more if there is a generator). Higher ids can be copied, and
        look alike to the embeddings; ids 0 and 1 are never generated. 0 = a closed vocabulary: all
        have weights, as in PGT.
    recent : int
        So many of the latest visits are embedded and encoded; of the others only features speak.

    Raises
    ------
    ValueError
        When a field is out of its range, or two of them exclude each other.

    Examples
    --------
    >>> ContextualConfig(100, 10, target_time="hour").used_features[-1]
    'then_gap'
    """

    features: tuple[str, ...] = tuple(HISTORY_FEATURES)
    n_components: int = 3
    interaction: int = 32
    scaled: bool = True
    encoder: bool = True
    content: bool = True
    n_trained_ids: int = 0
    recent: int = 50
    max_len: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if strange := set(self.features) - set(HISTORY_FEATURES):
            raise ValueError(
                f"features names {min(strange)!r}; it can name {', '.join(HISTORY_FEATURES)}."
            )
        if self.has("pointer") and not (self.features or self.content):
            raise ValueError(
                "A pointer needs features or content, or there is nothing to weigh by."
            )
        if not self.has("pointer"):
            raise ValueError("The contextual pointer cannot do without its pointer.")
        if self.n_components < 1 or self.interaction < 0 or self.recent < 1:
            raise ValueError(
                f"n_components={self.n_components}, interaction={self.interaction} and "
                f"recent={self.recent} must be at least 1, 0 and 1."
            )
        if not 0 <= self.n_trained_ids <= self.n_locations:
            raise ValueError(
                f"n_trained_ids={self.n_trained_ids} must lie between 0 and "
                f"n_locations={self.n_locations}."
            )
        least = 3 if self.has("generator") else 2
        if 0 < self.n_trained_ids < least:
            raise ValueError(
                f"n_trained_ids={self.n_trained_ids} leaves no place to the model; count padding "
                f"and unknown too, which makes it at least {least}, or give 0 for a closed "
                "vocabulary."
            )

    def _check_target_time(self) -> None:
        choices = get_args(TargetTime)
        if self.target_time not in choices:
            raise ValueError(
                f"target_time is {self.target_time!r}; it must be one of {', '.join(choices)}."
            )
        if self.knows_time and not self.features:
            raise ValueError(
                f"target_time={self.target_time!r} needs features, which alone look at the next "
                "visit's hour; name some, or let target_time be 'unknown' or 'day'."
            )

    @property
    def knows_time(self) -> bool:
        """Whether the features know the hour or the time at which the next visit begins."""
        return self.target_time in ("hour", "time")

    @property
    def used_features(self) -> tuple[str, ...]:
        """The features, with those that a known target time allows."""
        return self.features + (tuple(TARGET_FEATURES) if self.knows_time else ())

    @property
    def inner(self) -> ModelConfig:
        """The configuration of PGT's parts, in which only known places have weights."""
        own = {field.name: getattr(self, field.name) for field in fields(ModelConfig)}
        own["n_locations"] = self.n_trained_ids or self.n_locations
        own["max_len"] = self.recent
        # Hour and time are for the features; recency then counts back from the last visit.
        own["target_time"] = "unknown" if self.knows_time else self.target_time
        return ModelConfig(**own)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ContextualConfig:
        """Read what `to_dict` wrote."""
        tuples = {name: tuple(raw[name]) for name in ("without", "features")}
        return cls(**{**raw, **tuples})


def kernel_config(config: ContextualConfig) -> ContextualConfig:
    """The configuration whose features can be the context kernel's and nothing else."""
    return replace(
        config, features=("age", "before", "clock"), n_components=3, interaction=0, scaled=False,
        encoder=False, content=False, without=("generator", "gate"), target_time="unknown",
    )  # fmt: skip
