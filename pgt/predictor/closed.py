"""Models of one table's people and places: PGT and the Markov chain, which know them by name."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt import checkpoint
from pgt.baselines import Markov, fit_baseline
from pgt.batch import Batch
from pgt.config import PRESETS, ModelConfig, WindowConfig
from pgt.errors import DataError
from pgt.mixture import Mixture, MixtureModel, evaluating
from pgt.model import PointerGeneratorTransformer
from pgt.predict import latest
from pgt.predict import predict as next_locations
from pgt.predictor.fitted import Fitted, Question, in_order
from pgt.predictor.rules import FORMAT, strangeness
from pgt.refusals.chains import require_chain
from pgt.sparse import SharedRest, Transitions
from pgt.train import fit
from pgt.vocabulary import PADDING, UNKNOWN, Vocabulary
from pgt.windows import PreparedDataset, Windows, prepare

BATCH = 256
NUMBERS = 2**24  # of a batch, at most


class Shares(MixtureModel):
    """The Markov chain as a network's mixture: each place has its share of the score."""

    def __init__(self, rule: Markov) -> None:
        super().__init__()
        self.rule, self.config = rule, SimpleNamespace(max_len=None, target_time="unknown")

    def mixture(self, batch: Batch) -> Mixture:
        """(B, V) shares of everything that the rule can name."""
        score = self.rule.scores(batch).clamp(min=0)
        share = (score / score.sum(1, keepdim=True)).log()
        place = torch.arange(score.shape[1]).expand(len(score), -1)
        return Mixture(score.shape[1], score.new_full((len(score),), math.inf), place, share, None)


@dataclass(frozen=True)
class Closed(Fitted):
    """A model with a vocabulary: a place or a person that it does not know is "unknown" to it.

    Attributes
    ----------
    words : Vocabulary
    config : WindowConfig
        Of the windows that it was fitted to.
    """

    predictor: PointerGeneratorTransformer | Markov
    words: Vocabulary
    config: WindowConfig

    @classmethod
    def fit(cls, name: str, visits: pd.DataFrame, seed: int) -> Closed:
        """Train PGT as chapter 10 does, or count the chain's steps.

        Raises
        ------
        DataError
            There are no windows to train on, or none to stop on.
        """
        data = prepare(visits, protocol="exact")
        if len(data.train) == 0:
            raise DataError(
                "The table has no windows to train on; give more visits, or take "
                "NextLocation.pretrained()."
            )
        if name == "markov":
            model: Any = fit_baseline(name, data.train, data.valid)
        else:
            torch.manual_seed(seed)
            shape, training = PRESETS["default"].model, PRESETS["default"].training
            size = data.vocabulary.n_locations, data.vocabulary.n_users
            model = PointerGeneratorTransformer(ModelConfig(*size, **shape))
            fit(model, data.train, data.valid, replace(training, seed=seed), progress=False)
        made = cls(name, model, np.empty(0), data.vocabulary, data.config)
        return replace(made, strange=in_order(made._strange(data.valid)))

    @property
    def network(self) -> MixtureModel:
        """What gives a probability to every place."""
        return Shares(self.predictor) if isinstance(self.predictor, Markov) else self.predictor

    def windows(self, visits: pd.DataFrame) -> PreparedDataset:
        """Windows like those that it was fitted to."""
        return prepare(visits, config=self.config, vocabulary=self.words)

    @property
    def _batch_size(self) -> int:
        return max(1, min(BATCH, NUMBERS // self.words.n_locations))

    @torch.no_grad()
    def _strange(self, windows: Windows) -> np.ndarray:
        network, found = self.network, [np.empty(0)]
        with evaluating(network):
            for batch in windows.batches(self._batch_size, max_len=network.config.max_len):
                loss = network.mixture(batch).cross_entropy(batch.target)
                found.append(-np.expm1(-loss.double().numpy()))
        return np.concatenate(found)

    def best(self, question: Question, top: int) -> pd.DataFrame:
        """The likeliest places that it has a name for."""
        # One more: the place without a name may be among them.
        found = self._asked(question, top + 1)
        found = found[found.location_id.notna()]
        found = found.assign(rank=found.groupby("user_id").cumcount() + 1)
        found = found[found["rank"] <= top].reset_index(drop=True)
        return found.assign(location_id=found.location_id.astype(question.visits.location_id.dtype))

    def sets(self, question: Question, coverage: float) -> pd.DataFrame:
        """All answers that are no stranger than the promise allows."""
        limit = self.limit(coverage)
        # So many can be that likely, since together they are no likelier than 1.
        most = math.ceil(1 / (1 - limit)) if limit < 1 else self.words.n_locations
        found = self._asked(question, min(most, self.words.n_locations))
        return found[1 - found.probability <= limit].reset_index(drop=True)

    def _asked(self, question: Question, top: int) -> pd.DataFrame:
        """The answers of `pgt.predict.predict`, in the columns of the predictor."""
        network, visits = self.network, question.visits
        if network.config.target_time == "unknown":
            self.refuse_time(question.at)
        found = next_locations(network, self.words, visits, windows=self.config, top=top,
                               user=question.user, at=question.at,
                               batch_size=self._batch_size)  # fmt: skip
        new = self._nameless(question.of_person, question.at)
        out = found[["user_id", "rank", "location_id", "probability"]].assign(
            somewhere_new=found.user_id.map(new), after=found.after
        )
        where = visits.drop_duplicates("location_id", keep="last").set_index("location_id")
        for name in ("lon", "lat"):
            if name in visits.columns:
                out[name] = where[name].reindex(found.location_id).to_numpy()
        return out

    @torch.no_grad()
    def _nameless(self, visits: pd.DataFrame, at: pd.Timestamp | None) -> pd.Series:
        """By person, how likely the next place is one that the model has no name for.

        What a generator gives to padding, which is no place, belongs to it.
        """
        questions, network = latest(visits, self.words, self.config, at=at), self.network
        new = np.empty(len(questions))
        with evaluating(network):
            for batch in questions.batches(self._batch_size, max_len=network.config.max_len):
                mixture, none = network.mixture(batch), torch.zeros_like(batch.length)
                losses = [mixture.cross_entropy(none + i) for i in (PADDING, UNKNOWN)]
                new[batch.index.numpy()] = sum(np.exp(-loss.double().numpy()) for loss in losses)
        return pd.Series(new, questions.users)

    def save(self, path: str | Path) -> None:
        """Write PGT as `pgt.save_model` does, or the chain's counts; names are in the file."""
        if not isinstance(self.predictor, Markov):
            notes = {"strange": self.strange.round(5).tolist()}
            checkpoint.save_model(path, self.predictor, self.words, notes, self.config)
            return
        rule = self.predictor
        tensors = {"strange": torch.from_numpy(self.strange), "popularity": rule.popularity.scores}
        for name, steps in (("everybody", rule.everybody), ("own", rule.own)):
            tensors |= {f"{name}.keys": steps.keys, f"{name}.counts": steps.counts}
        info = {
            "predictor": FORMAT, "rule": self.name, "windows": self.config.to_dict(),
            "vocabulary": json.loads(self.words.to_json(people=True)),
        }  # fmt: skip
        checkpoint.write(path, tensors, info)

    @classmethod
    def of_pgt(cls, path: str | Path) -> Closed:
        """PGT, of a file of `pgt.save_model` that holds the windows' settings."""
        model, words = checkpoint.load_model(path)
        strange = checkpoint.read_info(path).get("notes", {}).get("strange", [])
        try:
            known = np.asarray(strange, dtype=float)
        except (TypeError, ValueError) as error:
            raise DataError(f"The notes of {Path(path).name} are damaged ({error}).") from error
        return cls("pgt", model, known, words, checkpoint.load_windows_config(path))

    @classmethod
    def of_file(cls, tensors: dict[str, Tensor], info: dict[str, Any]) -> Closed:
        """The chain that `save` wrote."""
        words = Vocabulary.from_json(json.dumps(info["vocabulary"]))
        rule, size = Markov(), words.n_locations
        require_chain(tensors, size, words.n_users)
        rule.n_locations, rule.popularity = size, SharedRest(tensors["popularity"].float())
        rule.everybody, rule.own = (
            Transitions(tensors[f"{name}.keys"].long(), tensors[f"{name}.counts"].float(), size)
            for name in ("everybody", "own")
        )
        config = WindowConfig.from_dict(info["windows"])
        return cls("markov", rule, strangeness(tensors), words, config)
