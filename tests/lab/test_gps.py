"""The report on real fixes: coarse, complete, and true where the truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from lab.gps import CLASSES, FEWEST, histogram


def test_classes_of_few_people_are_joined_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(1)
    what = "seconds between fixes"
    for _ in range(50):
        counts = pd.DataFrame(rng.poisson(0.4, (rng.integers(5, 12), len(CLASSES[what]))))
        rows = list(histogram(what, counts))
        if (counts.sum(axis=1) > 0).sum() < FEWEST:
            continue
        assert all(row["people"] >= FEWEST for row in rows)
        assert sum(row["n"] for row in rows) == counts.to_numpy().sum()
        assert [row["low"] for row in rows[1:]] == [row["high"] for row in rows[:-1]]
        assert rows[0]["low"] == 0 and rows[-1]["high"] is None
