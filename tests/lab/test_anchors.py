"""What windows tell of the time of the next visit, where the truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from lab.anchors import given_away

from pgt.config import WindowConfig
from pgt.windows import prepare

from ..helpers import random_visits


def with_pauses(seed: int) -> pd.DataFrame:
    """Visits with pauses of some days that nothing before them foretells."""
    rng = np.random.default_rng(seed)
    visits = random_visits(seed, users=4, visits=900)
    pause = pd.to_timedelta(rng.choice([0, 0, 0, 1, 2], len(visits)), unit="D")
    moved = pause.to_series(index=visits.index).groupby(visits.user_id).cumsum()
    return visits.assign(started_at=visits.started_at + moved,
                         finished_at=visits.finished_at + moved)  # fmt: skip


def test_only_windows_that_go_back_from_the_target_tell_when_it_is() -> None:
    visits = with_pauses(0)
    from_target = prepare(visits, config=WindowConfig(protocol="exact", anchor="target_day")).test
    from_last = prepare(visits, protocol="exact").test
    one, other = given_away(from_target, 7), given_away(from_last, 7)
    assert one["proved"] > 10 and other["proved"] == 0
    assert one["auc"] > other["auc"] + 0.2
    assert one["bits"] > 5 * other["bits"]
