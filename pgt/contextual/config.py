"""The configuration of the contextual pointer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pgt.config import ModelConfig
from pgt.contextual.features import TERMS, TOLD

QUESTIONS = ("where next", "at hour", "at time")


@dataclass(frozen=True)
class ContextualConfig(ModelConfig):
    """A `ModelConfig` with what is new.

    Parameters
    ----------
    terms : tuple of str
        Of `pgt.contextual.features.TERMS`; none = PGT, which can be told of the next visit's day
        (``when``) but not more, so ``asks`` is then "where next".
    reasons : int
        How many sums of terms can speak for a visit.
    interplay : int
        Width of the layer in which terms meet; 0 = they only add up.
    scaled : bool
        Whether what is known of now scales the terms.
    asks : {"where next", "at hour", "at time"}
        What is told of the next visit's start: nothing, its weekday and hour, or its weekday and
        time to the minute.
    encoder : bool
        Whether visits are encoded together; without, each has its own embedding only.
    content : bool
        Whether PGT's own pointer score (query · key + position bias) is added to the terms.
    n_known : int
        Open vocabulary: how many location ids have weights of their own (padding and unknown
        included, so at least 2, and more if there is a generator). Higher ids can be copied, and
        look alike to the embeddings; ids 0 and 1 are never generated. 0 = a closed vocabulary: all
        have weights, as in PGT.
    recent : int
        So many of the latest visits are embedded and encoded; of the others only terms speak.

    Examples
    --------
    >>> ContextualConfig(100, 10, asks="at hour").asked[-1]
    'then_gap'
    """

    terms: tuple[str, ...] = tuple(TERMS)
    reasons: int = 3
    interplay: int = 32
    scaled: bool = True
    asks: Literal["where next", "at hour", "at time"] = "where next"
    encoder: bool = True
    content: bool = True
    n_known: int = 0
    recent: int = 50
    max_len: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if strange := set(self.terms) - set(TERMS):
            raise ValueError(f"terms names {min(strange)!r}; it can name {', '.join(TERMS)}.")
        if self.asks not in QUESTIONS:
            raise ValueError(f"asks is {self.asks!r}; it must be one of {', '.join(QUESTIONS)}.")
        if self.told and not self.terms:
            raise ValueError(
                f"asks={self.asks!r} needs terms, which alone look at the next visit's start; "
                "name some, or let asks be 'where next'."
            )
        if self.has("pointer") and not (self.terms or self.content):
            raise ValueError("A pointer needs terms or content, or there is nothing to weigh by.")
        if not self.has("pointer"):
            raise ValueError("The contextual pointer cannot do without its pointer.")
        if self.reasons < 1 or self.interplay < 0 or self.recent < 1:
            raise ValueError(
                f"reasons={self.reasons}, interplay={self.interplay} and recent={self.recent} "
                "must be at least 1, 0 and 1."
            )
        if not 0 <= self.n_known <= self.n_locations:
            raise ValueError(
                f"n_known={self.n_known} must lie between 0 and n_locations={self.n_locations}."
            )
        least = 3 if self.has("generator") else 2
        if 0 < self.n_known < least:
            raise ValueError(
                f"n_known={self.n_known} leaves no place to the model; count padding and unknown "
                f"too, which makes it at least {least}, or give 0 for a closed vocabulary."
            )

    @property
    def told(self) -> bool:
        """Whether something is told of the next visit's time."""
        return self.asks != "where next"

    @property
    def asked(self) -> tuple[str, ...]:
        """The terms, with those that a told time allows."""
        told = tuple(TOLD) if self.terms and self.told else ()
        return self.terms + told

    @property
    def inner(self) -> ModelConfig:
        """The configuration of PGT's parts: only known places have weights."""
        names = ModelConfig.__dataclass_fields__
        own = {name: getattr(self, name) for name in names}
        known = self.n_known or self.n_locations
        return ModelConfig(**own | {"n_locations": known, "max_len": self.recent})

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ContextualConfig:
        """Read what `to_dict` wrote."""
        tuples = {name: tuple(raw[name]) for name in ("without", "terms")}
        return cls(**{**raw, **tuples})


def kernel_config(config: ContextualConfig) -> ContextualConfig:
    """The configuration whose terms can be the context kernel's and nothing else."""
    return replace(
        config, terms=("age", "before", "clock"), reasons=3, interplay=0, scaled=False,
        encoder=False, content=False, without=("generator", "gate"), asks="where next",
    )  # fmt: skip
