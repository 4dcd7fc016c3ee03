"""Where people go next, for anybody's visits, with networks that were trained on simulated people.

The networks know places by their relations alone. A question is a window like any other, whose
target is not there yet: `ask` puts one empty row behind each person's visits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import nn

from pgt import checkpoint, files
from pgt.baselines import fit_baseline
from pgt.config import TargetTime
from pgt.errors import DataError
from pgt.metrics import compare, evaluate, gains
from pgt.model import evaluating
from pgt.predictor import contextual
from pgt.predictor.calibration import conformal_quantile
from pgt.predictor.contextual import MEMORY, OLDER, ContextualConfig
from pgt.predictor.features import FEATURES
from pgt.predictor.memory import is_new, sample, with_history
from pgt.predictor.pool import Experts
from pgt.predictor.questions import (
    Questions,
    find_user,
    in_groups,
    likeliest,
    moment,
    nobody_before,
    past_windows,
    share_of_new,
    until,
)
from pgt.readers import tables
from pgt.train import fit
from pgt.visits import REQUIRED, CheckedVisits
from pgt.windows import Dataset, prepare

PREDICTOR_FORMAT = "predictor-1"
# What the experts of each part know of the next visit's start: nothing, or weekday and minute.
NETWORKS: dict[str, TargetTime] = {"next_place": "unknown", "at_a_time": "time"}
FINE_TUNING = replace(contextual.TRAINING, learning_rate=2e-3, warmup_epochs=0, max_epochs=3)
ENOUGH_WINDOWS = 50  # fewer windows tell nothing of what to take, and carry no promise
CALIBRATION = 2000  # numbers in a file
KERNEL = 20_000  # validation windows that choose the kernel's numbers, at most
TRIAL = 3000  # training windows with which fine-tuning is tried, at most
# For a set, each person's own windows count fully, all others' together like so many of them
# (chosen on validation windows).
OTHERS = 40


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: on several, networks this small only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class NextLocation:
    """Says where people go next; people and places need not have been seen before.

    In all methods ``visits`` is a table or a path, whatever `pgt.readers.tables.read` reads; ``at``
    (Timestamp or text, local time if it names no offset) is when the next visit begins: later
    visits are not used, and without it nothing is known of that; ``user`` is a ``user_id``, or how
    it is written; ``top`` is a number of places. ``timezone`` is the local zone of tables whose
    times name none.

    Examples
    --------
    >>> import pgt
    >>> guesses = pgt.NextLocation.pretrained().predict(pgt.load_city(), top=3)
    >>> guesses.columns.tolist()[:5]
    ['user_id', 'rank', 'location_id', 'probability', 'somewhere_new']
    """

    experts: Any  # ModuleDict: the `Experts` of each of `NETWORKS`
    novelty: tuple[float, float]  # mean of the share of new places; how many visits it is worth
    calibration: np.ndarray  # 1 minus the probability of the truth, where nothing was trained
    notes: dict[str, Any] = field(default_factory=dict)  # where it comes from
    timezone: str | None = None
    # Networks, the past by which they were weighed last, and the weighed ones, for who asks again.
    _weighed: tuple[Any, Any, Any] = field(default=(None, None, None), repr=False, compare=False)

    @classmethod
    def pretrained(cls, *, timezone: str | None = None) -> Self:
        """The predictor as it comes: trained on simulated people, and on nobody else."""
        return cls.load(files.folder("checkpoints") / "nobody.safetensors", timezone=timezone)

    @classmethod
    def load(cls, path: str | Path, *, timezone: str | None = None) -> Self:
        """Read what `save` wrote; a `DataError` if it is missing, damaged, or something else."""
        tensors, info = checkpoint.read_tensors(path)
        name = Path(path).name
        if info.get("predictor") != PREDICTOR_FORMAT:
            raise DataError(
                f"{name} holds a network that knows the places of its training by name; open it "
                "with pgt.load_model, and ask it with pgt.predictor.trained.predict (a contextual "
                "pointer: pgt.load_contextual)."
            )
        with checkpoint.fitting(name):
            scores = tensors.pop("calibration").double().numpy()
            configs = {part: [ContextualConfig.from_dict(raw) for raw in info["models"][part]]
                       for part in NETWORKS}  # fmt: skip
            for config in (config for part in configs.values() for config in part):
                checkpoint.check_claims(config, tensors, name)
            experts = checkpoint.built(lambda: nn.ModuleDict({
                part: Experts([contextual.ContextualPointer(one) for one in some])
                for part, some in configs.items()
            }), tensors, name)  # fmt: skip
            mean, strength = map(float, info["novelty"])
            return cls(experts, (mean, strength), scores, dict(info["notes"]), timezone)

    def save(self, path: str | Path) -> None:
        """Write one safetensors file, whole or not at all; there is no visit in it."""
        tensors = {"calibration": torch.from_numpy(self.calibration).float()}
        models = {part: [asdict(expert.config) for expert in self.experts[part].experts]
                  for part in NETWORKS}  # fmt: skip
        info = {"predictor": PREDICTOR_FORMAT, "models": models, "memory": MEMORY, "older": OLDER,
                "novelty": self.novelty, "notes": self.notes}  # fmt: skip
        checkpoint.write_tensors(path, self.experts.state_dict() | tensors, info)

    @one_thread()
    def fit(self, visits: Any, *, seed: int = 42, progress: bool = False) -> Self:
        """Fit to these people: keep the networks, tune them, or train new ones.

        What foretells the validation windows best is taken, if there are enough of them;
        ``notes["selection"]`` has the scores, in percent. Without a ``split`` column each person's
        days are split in time. The last part, ``test``, is not looked at.
        """
        data = with_history(prepare(self._read(visits), protocol="exact"), MEMORY, OLDER)
        n_valid = len(data.valid)
        enough = min(len(data.train), n_valid) >= ENOUGH_WINDOWS
        names = ["pretrained", "fine_tuned", "trained"][: None if enough else 1]
        first, *rest = NETWORKS  # that by which they are compared; others only of what is taken
        weighed = self._weighed_for(data, [first])
        candidates = [self._candidate(name, weighed, data, seed, progress) for name in names]
        scores = [gains(evaluate(own[first], data.valid)) for own in candidates if n_valid]
        table = pd.DataFrame([100 * score[["acc@1", "mrr"]].mean() for score in scores])
        best = int(np.argmax(table.mrr)) if scores else 0
        if n_valid >= ENOUGH_WINDOWS:
            weighed = self._weighed_for(data, rest)
            others = self._candidate(names[best], weighed, data, seed, progress)
            self.experts = nn.ModuleDict(candidates[best] | others)
            self.novelty, self.calibration = promises(self.experts, data.valid)
        table.insert(0, "candidate", names[: len(table)])
        self.notes = {"selection": table.to_dict("records"), "taken": names[best], "seed": seed,
                      "windows": data.counts()}  # fmt: skip
        return self

    def _weighed_for(self, data: Dataset, parts: Iterable[str]) -> dict[str, Experts]:
        """The experts of these parts, weighed for these people."""
        return {part: self.experts[part].fit_weights(data.train) for part in parts}

    def _candidate(
        self, name: str, weighed: dict[str, Experts], data: Dataset, seed: int, progress: bool
    ) -> dict[str, Experts]:
        """The weighed experts as they are, or the best of them tuned, or new ones trained."""
        if name == "pretrained":
            return weighed
        experts = {}
        for part, pool in weighed.items():
            if name == "fine_tuned":
                best = int(pool.weights[: len(pool.experts)].argmax())
                network, training = deepcopy(pool.experts[best]), FINE_TUNING
            else:
                network = contextual.new_network(seed, NETWORKS[part])
                training = contextual.TRAINING
            fit(network, data.train, data.valid, replace(training, seed=seed), progress=progress)
            experts[part] = Experts([network]).eval()
        return experts

    @one_thread()
    def tuning(self, visits: Any, *, seed: int = 42, progress: bool = False) -> Any:
        """What fine-tuning adds on the validation windows: a table as of `compare`, tuned first.

        It learns from at most `TRIAL` windows. None where there are too few, or nothing to tune.
        """
        data = with_history(prepare(self._read(visits), protocol="exact"), MEMORY, OLDER)
        if min(len(data.train), len(data.valid)) < ENOUGH_WINDOWS or "selection" in self.notes:
            return None
        train, valid = (part.subset(sample(len(part), TRIAL)) for part in (data.train, data.valid))
        data = replace(data, train=train, valid=valid)
        weighed = self._weighed_for(data, ["next_place"])
        networks = {name: self._candidate(name, weighed, data, seed, progress)["next_place"]
                 for name in ("fine_tuned", "pretrained")}  # fmt: skip
        return compare({name: evaluate(network, data.valid) for name, network in networks.items()})

    @one_thread()
    def predict(
        self, visits: Any, *, top: int = 5, at: Any = None, user: Any = None
    ) -> pd.DataFrame:
        """Where everybody in a table goes after their last visit.

        Returns
        -------
        DataFrame
            One row a place, the likeliest first: ``user_id``, ``rank`` (from 1), ``location_id``,
            ``probability``, ``somewhere_new`` (that the person goes where they have never been;
            with it, all probabilities add up to 1), ``after`` (when the last visit began), and
            ``lon`` and ``lat`` where the visits have them.
        """
        experts, groups = self._asked(visits, at, user)
        parts = [asked.named(likeliest(experts, asked, top)) for asked in groups]
        return pd.concat(parts, ignore_index=True)

    @one_thread()
    def predict_set(
        self, visits: Any, *, coverage: float = 0.9, at: Any = None, user: Any = None
    ) -> pd.DataFrame:
        """For each person the answers that are to hold the truth as often as ``coverage`` says.

        The promise is kept on average over windows like those of the calibration, which are, as
        ``attrs["calibrated_on"]`` of the table says: "this table", the last quarter of everybody's
        visits, one's own most of all; or, if they are few, "simulated worlds"; or the validation
        windows of "fit". In five cities this held within three points from nine tenths on, and not
        at a half or four fifths.
        The likeliest answer is always there. A row without a ``location_id`` is "somewhere new".
        Source: Sadinle, Lei and Wasserman 2019, https://doi.org/10.1080/01621459.2017.1395341.
        """
        if isinstance(coverage, str) or not 0 < coverage < 1:
            raise DataError(f"coverage is {coverage!r}; it must lie between 0 and 1, say 0.9.")
        experts, groups = self._asked(visits, at, user)
        parts, scores, limit = [], None, conformal_quantile(self.calibration, 1 - coverage)
        whose = "fit" if "selection" in self.notes else "simulated worlds"
        for number, asked in enumerate(groups):
            # A network alone may know the table by heart.
            if number == 0 and experts.kernels and len(asked.late) >= ENOUGH_WINDOWS:
                scores, whose = nonconformity(experts, asked.late, self.novelty), "this table"
                calibrators = asked.late.users
            people = asked.windows.users
            limits = np.broadcast_to(limit, len(people))
            if scores is not None:
                limits = conformal_quantiles(scores, calibrators, people, 1 - coverage)
            parts.append(asked.named(held(experts, asked, limits)))
        answer = pd.concat(parts, ignore_index=True)
        answer.attrs["calibrated_on"] = whose
        return answer

    @one_thread()
    @torch.no_grad()
    def explain(self, visits: Any, user: Any, *, at: Any = None, top: int = 3) -> pd.DataFrame:
        """What spoke for each of a person's likeliest places, and how much.

        For each place and ``feature`` (``about``: in words) the ``effect``: the ``probability``
        with it minus that without it, in percentage points, what spoke for the place first. A
        feature that is left out says of all visits the same. ``visits``: how often it was visited.
        """
        experts, (asked, *_) = self._asked(visits, at, user)
        best = likeliest(experts, asked, top)
        table = asked.named(best)[["location_id", "probability"]].assign(
            visits=[int((asked.place == place).sum()) for place in best.place], rank=best["rank"]
        )
        parts = []
        for feature in experts.config.used_features:
            less = likeliest(experts.without(feature), asked).set_index("place").probability
            effect = 100 * (best.probability - less.reindex(best.place, fill_value=0).to_numpy())
            parts.append(
                table.assign(feature=feature, about=FEATURES[feature].about, effect=effect)
            )
        reasons = pd.concat(parts).sort_values(["rank", "effect"], ascending=[True, False])
        return reasons.drop(columns="rank").reset_index(drop=True)

    @one_thread()
    def map(
        self, visits: Any, user: Any, *, at: Any = None, top: int = 5, streets: bool = False
    ) -> Any:
        """Draw a person's places and the guesses: a folium.Map, whose ``save(path)`` is a page.

        Visits need ``lon`` and ``lat``. With ``streets`` these are shown at once, and a tile server
        learns the area.
        """
        from pgt.maps import places_map

        experts, (asked, *_) = self._asked(visits, at, user)
        guesses = asked.named(likeliest(experts, asked, top))
        mine = asked.visits[asked.visits.user_id == guesses.user_id[0]]
        return places_map(mine, guesses, streets=streets)

    @one_thread()
    def score(self, visits: Any) -> pd.DataFrame:
        """How good it is on the last part of each person's days, the rules beside it.

        The table is as of `pgt.metrics.compare`; the windows are those of the exact protocol.
        """
        week = prepare(self._read(visits), protocol="exact")
        data = with_history(week, MEMORY, OLDER)
        if len(data.test) == 0:
            raise DataError(
                "The table has no test windows (three visits within seven days, late in a person's "
                "record); give more visits."
            )
        valid = data.valid.subset(sample(len(data.valid), KERNEL))
        often = fit_baseline("most_frequent", data.train, valid)
        experts = self.experts["next_place"].fit_weights(data.train)
        ranked = {"contextual": evaluate(experts, data.test),
                  f"most frequent, {MEMORY} visits": evaluate(often, data.test),
                  "most frequent, 7 days": evaluate(often, week.test)}  # fmt: skip
        if len(valid):
            kernel = fit_baseline("kernel", data.train, valid)
            ranked[f"kernel, {MEMORY} visits"] = evaluate(kernel, data.test)
        return compare(ranked)

    def _read(self, source: Any) -> CheckedVisits:
        """The visits of whatever holds them, read and checked once."""
        if isinstance(source, CheckedVisits):
            return source
        return tables.visits_of(source, timezone=self.timezone)

    def _asked(self, visits: Any, at: Any, user: Any) -> tuple[Experts, Iterator[Questions]]:
        """The networks, weighed by everybody's past, and the questions, group by group."""
        table = self._read(visits).table
        when = None if at is None else moment(at, table)
        who = None if user is None else find_user(table, user)
        past = until(table, when)
        if past.empty or (who is not None and not (past.user_id == who).any()):
            raise nobody_before(when, user)
        networks = self.experts["next_place" if at is None else "at_a_time"]
        columns = past[past.columns.intersection([*REQUIRED, "utc_offset"])]
        known = (
            str(past.started_at.dt.tz),
            pd.util.hash_pandas_object(columns).to_numpy().tobytes(),
        )  # fmt: skip
        # The networks themselves are kept: an id is given again when they are gone.
        if self._weighed[0] is not networks or self._weighed[1] != known:
            self._weighed = networks, known, networks.fit_weights(past_windows(past))
        return self._weighed[2], in_groups(past, when, self.novelty, who)


def held(experts: Experts, asked: Questions, limits: np.ndarray) -> pd.DataFrame:
    """What is likely enough for a set: limits (W,) are 1 minus a probability; place -1 is new."""
    new = pd.DataFrame({"window": range(len(asked.new)), "place": -1, "probability": asked.new})
    answers = pd.concat([new, likeliest(experts, asked)])
    order = np.lexsort((-answers.probability, answers.window))
    answers = answers.iloc[order].reset_index(drop=True)
    answers["rank"] = answers.groupby("window").cumcount() + 1
    kept = (1 - answers.probability <= limits[answers.window]) | (answers["rank"] == 1)
    return answers[kept].reset_index(drop=True)


def promises(experts: Any, windows: Any) -> tuple[tuple[float, float], np.ndarray]:
    """The novelty and the calibration of `NextLocation`, on windows of no training."""
    happened = is_new(windows)[windows.target]
    mean = float(np.clip(happened.mean(), 0.01, 0.99))

    def loss(strength: float) -> float:
        p = np.clip(share_of_new(windows, mean, strength), 1e-4, 1 - 1e-4)
        return float(-np.where(happened, np.log(p), np.log(1 - p)).mean())

    strength = min((1.0, 3.0, 10.0, 30.0, 100.0, 300.0), key=loss)
    scores = nonconformity(experts["next_place"], windows, (mean, strength))
    at = np.linspace(0, len(scores) - 1, min(CALIBRATION, len(scores))).round().astype(int)
    return (mean, strength), np.sort(scores)[at]


@torch.no_grad()
def nonconformity(experts: Experts, windows: Any, novelty: tuple[float, float]) -> np.ndarray:
    """(W,) 1 minus the probability of what happened; 0 where nothing was likelier."""
    new = share_of_new(windows, *novelty)
    truth, most = np.zeros((2, len(windows)))
    with evaluating(experts):
        for batch in windows.batches(256):
            out = experts.mixture(batch)
            share, hit = out.pointer.double().exp(), out.place == batch.target[:, None]
            truth[batch.index], most[batch.index] = share.where(hit, 0).sum(1), share.amax(1)
    named = np.where(truth > 0, truth * (1 - new), new)
    best = np.maximum(most * (1 - new), new)
    return np.where(named >= best * (1 - 1e-6), 0.0, 1 - named)  # a tie is none by rounding


def conformal_quantiles(scores: np.ndarray, users: Any, asked: Any, alpha: float) -> np.ndarray:
    """(W,) of each person asked; all others together count as `OTHERS` windows of theirs."""
    users, asked = np.asarray(users), np.asarray(asked)
    # To somebody who has no window of their own all windows are alike.
    quantiles = dict.fromkeys(pd.unique(asked), conformal_quantile(scores, alpha))
    for user in pd.unique(asked[np.isin(asked, users)]):
        own = users == user
        quantiles[user] = conformal_quantile(
            scores, alpha, np.where(own, 1, OTHERS / max(1, (~own).sum()))
        )
    return np.array([quantiles[user] for user in asked])
