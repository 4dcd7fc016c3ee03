"""The gate of every window, and what can be counted in one without any network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.model import PointerGeneratorTransformer
from pgt.predictor.memory import is_new, with_history
from pgt.windows import Dataset, Windows

NUMBERS = ("length", "unique_share", "top_share", "here_share", "here_first", "days", "stay")
NAMES = ("user_id", "hour", "weekday")
PENALTIES = (1.0, 3.0, 10.0, 30.0)


@torch.no_grad()
def gates(model: PointerGeneratorTransformer, windows: Windows) -> pd.DataFrame:
    """The gate of every window, one row each, beside what may explain it.

    Probabilities of the target are before the gate for pointer and generator; ``unique_share`` is
    different places / visits, ``hour`` and ``weekday`` (1 = Monday) are the last visit's.
    """
    model.eval()
    parts = []
    for batch in windows.batches(512, max_len=model.config.max_len):
        out = model(batch)
        last = (torch.arange(len(batch)), batch.length - 1)
        kinds = {"target": out.log_probs, "pointer": out.pointer_log_probs,
                 "generator": out.generator_log_probs}  # fmt: skip
        places = batch.location.sort(dim=1).values  # (B, L), padding first
        unique = (places.diff(dim=1, prepend=torch.zeros_like(places[:, :1])) > 0).sum(1)
        columns = {"gate": out.gate} | {
            f"{kind}_probability": log_probs.gather(1, batch.target[:, None]).squeeze(1).exp()
            for kind, log_probs in kinds.items()
        } | {
            "correct": out.log_probs.argmax(1) == batch.target, "length": batch.length,
            "unique_share": unique.double() / batch.length,
            "hour": batch.start_minute[last].int() // 60, "weekday": batch.weekday[last],
        }  # fmt: skip
        parts.append(pd.DataFrame({k: v.numpy() for k, v in columns.items()}, batch.index.numpy()))
    table = pd.concat(parts).sort_index().astype(dict.fromkeys(list(columns)[:4], float))
    table.insert(0, "user_id", windows.users)
    return table.assign(
        in_window=windows.in_window, known=windows.vocabulary.is_known(windows.targets)
    ).astype({"length": int, "hour": int, "weekday": int})


def features_of(windows: Windows) -> pd.DataFrame:
    """Simple facts about every window, known before its target: `NUMBERS` and `NAMES`.

    ``top_share`` and ``here_share``: of the visits to the most frequent place, and to the last
    visit's; ``here_first``: whether it is the only one there; ``stay``: hours of the last visit.
    """
    parts = []
    for batch in windows.batches(512):
        place, length = batch.location, batch.length  # (B, L), (B,)
        last = (torch.arange(len(length)), length - 1)
        real = torch.arange(place.shape[1]) < length[:, None]  # (B, L)
        same = (place[:, :, None] == place[:, None, :]) & real[:, None, :]  # (B, L, L)
        count = same.sum(2) * real  # (B, L) visits to the place of each visit
        first_of_day = torch.diff(batch.days_ago, dim=1, prepend=-torch.ones(len(length), 1)) != 0
        columns = {
            "length": length,
            # Each place adds up to one: every visit to it gives one part of its number of visits.
            "unique_share": torch.where(real, 1 / count.double(), 0).sum(1) / length,
            "top_share": count.amax(1).double() / length,
            "here_share": count[last].double() / length,
            "here_first": (count[last] == 1).double(),
            "days": (first_of_day & real).sum(1),
            "hour": batch.now_minute.int() // 60,
            "weekday": batch.weekday[last],
        }
        parts.append(pd.DataFrame({k: v.numpy() for k, v in columns.items()}, batch.index.numpy()))
    table = pd.concat(parts).sort_index()
    table.insert(0, "user_id", windows.users)
    ends = windows.visits.iloc[windows.target - 1]
    table["stay"] = (ends.finished_at - ends.started_at).dt.total_seconds().to_numpy() / 3600
    return table.astype(dict.fromkeys(("length", "days", *NAMES[1:]), int))


def forecast(
    data: Dataset, outcome: Callable[[Any], np.ndarray], numbers: Sequence[str] = NUMBERS
) -> dict[str, np.ndarray]:
    """(W,) probabilities of an outcome on "valid" and "test": a logistic regression.

    It is told who, when (`NAMES`) and these numbers.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, valid, test = (features_of(part) for part in (data.train, data.valid, data.test))
    fitted = []
    for penalty in PENALTIES:
        columns = make_column_transformer(
            (StandardScaler(), list(numbers)),
            (OneHotEncoder(handle_unknown="ignore"), list(NAMES)),
        )
        model = make_pipeline(columns, LogisticRegression(C=1 / penalty, max_iter=1000))
        model.fit(train, outcome(data.train))
        probability = model.predict_proba(valid)[:, 1]
        fitted.append((log_loss(outcome(data.valid), probability), probability, model))
    _, probability, model = min(fitted, key=lambda one: one[0])
    return {"valid": probability, "test": model.predict_proba(test)[:, 1]}


def first_visits(data: Dataset) -> dict[str, np.ndarray]:
    """By split, (W,) a forecast that the target is where its person has never been."""
    return forecast(with_history(data), lambda windows: is_new(windows)[windows.target])


ENDS = (2, 5, 10, 20, 50, 100, 200)  # of the groups of visits so far


def group_of(so_far: np.ndarray) -> np.ndarray:
    """(W,) the name of the group of each number of visits so far."""
    starts = (1, *(end + 1 for end in ENDS))
    names = [f"{start}-{end}" for start, end in zip(starts, ENDS, strict=False)]
    return np.array([*names, f"{ENDS[-1]}+"])[np.searchsorted(ENDS, so_far)]
