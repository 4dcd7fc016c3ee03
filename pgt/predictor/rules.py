"""Rules that vote for places of a person's own past: they take anybody's table, as the predictor.

What a rule says of a place is the place's share of all its votes, minus what "somewhere new" gets.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from lab.pretraining import ENOUGH
from torch import Tensor

from pgt import checkpoint
from pgt.baselines import ContextKernel, Last, MostFrequent, Rule, fit_baseline
from pgt.batch import Batch
from pgt.contextual import MEMORY, OLDER
from pgt.errors import DataError
from pgt.history import HistoryWindows, is_new
from pgt.predictor import answers
from pgt.predictor.answers import Model
from pgt.predictor.asking import Asked, ask, new_places
from pgt.predictor.bundle import Novelty
from pgt.predictor.fitted import FromPast, Question, in_order
from pgt.predictor.fitting import seen
from pgt.predictor.watching import Watcher

FORMAT = "rule-1"
LARGEST = 1e9  # a number of a rule


class Latest(Last):
    """`pgt.baselines.Last` with shares: a place gets 1 / (how many visits ago it was last seen).

    The order is the same.
    """

    def own_scores(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """1 over how many visits ago each location was last seen."""
        place, score = super().own_scores(batch)
        return place, (-1 / score).masked_fill(place < 0, -math.inf)


@dataclass(frozen=True)
class OwnPast(FromPast):
    """A rule over the visits of the person who is asked about.

    Attributes
    ----------
    novelty : Novelty
        How likely the next place is a new one.
    """

    predictor: Latest | MostFrequent | ContextKernel
    novelty: Novelty

    @classmethod
    def fit(cls, name: str, visits: pd.DataFrame, otherwise: Novelty) -> OwnPast:
        """Fit the rule; what is promised is fitted to the validation windows.

        Parameters
        ----------
        name : {"last", "most_frequent", "kernel"}
        visits : DataFrame
        otherwise : Novelty
            For a table with too few validation windows.

        Raises
        ------
        DataError
            There are no windows to choose the rule's numbers on.
        """
        data = seen(visits)
        if len(data.train) == 0 or (name == "kernel" and len(data.valid) == 0):
            raise DataError(
                "The table has no windows to choose the rule's numbers on; give more visits, or "
                "take NextLocation.pretrained()."
            )
        rule: Any = (
            Latest().fit(data.train) if name == "last"
            else fit_baseline(name, data.train, data.valid)
        )  # fmt: skip
        if len(data.valid) < ENOUGH:
            return cls(name, rule, np.empty(0), otherwise)
        valid = data.valid
        assert isinstance(valid, HistoryWindows)
        new = new_places(valid)
        novelty = Novelty.fit(new, is_new(valid)[valid.target])
        strange = answers.strangeness(rule, valid, novelty(new))
        return cls(name, rule, in_order(strange), novelty)

    def asked(self, question: Question) -> tuple[Model, Asked, np.ndarray]:
        """The rule, the windows, and (W,) how likely the next place is a new one."""
        self.refuse_time(question.at)
        asked = ask(question.of_person, memory=MEMORY, older=OLDER)
        return self.predictor, asked, self.novelty(asked.new)

    def reasons(self, question: Question, top: int) -> pd.DataFrame:
        """What the votes were for, see `pgt.predictor.answers.votes`."""
        _, asked, new = self.asked(question)
        return answers.votes(self.predictor, parts(self.predictor), asked, new, top)

    def watcher(self, visits: pd.DataFrame | None) -> Watcher:
        """Everybody's diary."""
        return Watcher(self.predictor, self.novelty, MEMORY, OLDER, visits)

    def save(self, path: str | Path) -> None:
        """Write the rule's numbers and what its promises rest on; there is no visit in it."""
        numbers = asdict(self.predictor) if isinstance(self.predictor, ContextKernel) else {}
        info = {
            "predictor": FORMAT, "rule": self.name, "numbers": numbers,
            "novelty": [self.novelty.mean, self.novelty.strength],
        }  # fmt: skip
        checkpoint.write(path, {"strange": torch.from_numpy(self.strange)}, info)

    @classmethod
    def of_file(cls, tensors: dict[str, Tensor], info: dict[str, Any]) -> OwnPast:
        """What `save` wrote."""
        kinds: dict[str, Any] = {
            "last": Latest, "most_frequent": MostFrequent, "kernel": ContextKernel
        }  # fmt: skip
        rule = kinds[info["rule"]](**{k: _number(v) for k, v in info["numbers"].items()})
        novelty = Novelty(*map(_number, info["novelty"]))
        return cls(info["rule"], rule, strangeness(tensors), novelty)


def parts(rule: Latest | MostFrequent | ContextKernel) -> dict[str, Rule]:
    """Rules whose votes add up to those of a rule, by what they are for.

    Examples
    --------
    >>> {name: part.same for name, part in parts(ContextKernel(same=2.0)).items()}
    {'age': 0.0, 'before': 2.0, 'clock': 0.0}
    """
    if not isinstance(rule, ContextKernel):
        return {"age" if isinstance(rule, Latest) else "count": rule}
    weights = {"age": "base", "before": "same", "clock": "clock"}
    silent: dict[str, Any] = dict.fromkeys(weights.values(), 0.0)
    return {
        name: replace(rule, **silent | {weight: getattr(rule, weight)})
        for name, weight in weights.items()
    }


def strangeness(tensors: dict[str, Tensor]) -> np.ndarray:
    """What the promises of a file rest on: how strange true answers were, 0 to 1.

    Raises
    ------
    ValueError
        Something is none.
    """
    strange: np.ndarray = tensors["strange"].double().numpy()
    if strange.ndim != 1 or not ((strange >= 0) & (strange <= 1)).all():
        raise ValueError("its promises rest on numbers that are no probabilities")
    return strange


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{value!r} is no number")
    return value
