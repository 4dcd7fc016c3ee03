"""Ask a PGT of your own: where people go next, after the last visit that a table has of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.config import WindowConfig
from pgt.model import PointerGeneratorTransformer, evaluating
from pgt.predictor.questions import find_user, nobody_before, until
from pgt.visits import check
from pgt.vocabulary import PADDING, Vocabulary
from pgt.windows import DEFAULT, Windows, encode, history_starts


def latest_windows(
    visits: pd.DataFrame,
    vocabulary: Vocabulary,
    config: WindowConfig = DEFAULT,
    *,
    at: pd.Timestamp | None = None,
) -> Windows:
    """One window a person, whose target is yet to come: its place is padding (id 0).

    It is asked for ``at`` a moment, of which what begins later is not used, or else at the end of
    everybody's last visit. That visit is in the window however long ago it was.
    """
    visits = until(check(visits), at)
    last = np.flatnonzero(~visits.user_id.duplicated(keep="last"))
    there = visits.iloc[last]
    moment = there.finished_at if at is None else at.tz_convert(visits.started_at.dt.tz)
    # Behind each person's last visit, a row for the one that is asked for.
    table = pd.concat([visits, there.assign(started_at=moment, finished_at=moment)])
    table = table.take(np.argsort(np.append(np.arange(len(visits)), last), kind="stable"))
    table, asked = table.reset_index(drop=True), last + 1 + np.arange(len(last))
    features = encode(table, vocabulary)
    features[0, asked + 1] = PADDING
    first, _ = history_starts(table.user_id, features, config)
    return Windows(table, features, np.minimum(first[asked], asked - 1), asked, vocabulary)


@torch.no_grad()
def predict(
    model: PointerGeneratorTransformer,
    vocabulary: Vocabulary,
    visits: pd.DataFrame,
    *,
    windows: WindowConfig,
    user: Any = None,
    at: pd.Timestamp | None = None,
    top: int = 5,
    batch_size: int = 256,
) -> pd.DataFrame:
    """Predict the next location of every person in the table, or of one ``user``.

    One row a candidate, the likeliest first. ``location_id`` is None for a place that training has
    not seen, ``copied`` the share of the probability that the pointer copied from the window, and
    ``after`` the start of the last visit.
    """
    visits = check(visits)
    vocabulary.check_visits(visits)
    if user is not None:
        visits = visits[visits.user_id == find_user(visits, user)]
    questions = latest_windows(visits, vocabulary, windows, at=at)
    if len(questions) == 0:
        raise nobody_before(at, user)
    parts = []
    # Of very many places only a few windows' scores are written down at a time.
    batch_size = max(1, min(batch_size, 2**24 // model.config.n_locations))
    for start in range(0, len(questions), batch_size):
        index = np.arange(start, min(start + batch_size, len(questions)))
        batch = questions.batch(index, model.config.max_len)
        with evaluating(model):
            out = model(batch)
        out.log_probs[:, PADDING] = -torch.inf  # to which the generator gives a score, too
        # Of equal places the first comes first; `topk` names any.
        best, places = out.log_probs.sort(dim=1, descending=True, stable=True)
        best, places = best[:, :top], places[:, :top]  # (B, top)
        copied = out.gate[:, None] * out.pointer_log_probs.exp().gather(1, places) / best.exp()
        copied = copied.nan_to_num(0.0).clamp(0, 1)
        rows, ranks = np.nonzero((best > -torch.inf).numpy())
        last = questions.visits.iloc[questions.target[index] - 1]
        found = {
            "user_id": last.user_id.to_numpy()[rows],
            "rank": ranks + 1,
            "location_id": vocabulary.decode(places.numpy()[rows, ranks]),
            "probability": best.exp().numpy()[rows, ranks],
            "copied": copied.numpy()[rows, ranks],
            "gate": out.gate.numpy()[rows],
            "known_user": (batch.user > 0).numpy()[rows],
            "after": last.started_at.iloc[rows].reset_index(drop=True),
        }
        parts.append(pd.DataFrame(found))
    return pd.concat(parts, ignore_index=True)
