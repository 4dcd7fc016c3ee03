"""A world in which people do nothing but copy their past, by a recency kernel that is known.

No hours, no homes, no reasons: the next place is that of the visit ``a`` steps back, and ``a`` is
drawn from a kernel that one chooses. Now and then somebody goes to a place where they have not been
for long. Whatever a position bias claims to have learned can be compared with the kernel here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

MEMORY = 20  # visits that a person remembers
APART = 30  # a place that was not visited for so many visits is in no window any more
PLACES = 80  # of the whole world, shared by everybody


def fading(share: float = 0.8, memory: int = MEMORY) -> np.ndarray:
    """(memory,) a kernel that falls by a constant factor with each step back; sums to one."""
    kernel = share ** np.arange(memory)
    return kernel / kernel.sum()


VISITS, NOVELTY = 220, 0.2  # of each person; the share of visits to other places


def simulate_copying(kernel: np.ndarray, *, people: int = 150, seed: int = 0) -> pd.DataFrame:
    """Visits of people who copy the visit ``a`` steps back with probability ``kernel[a - 1]``.

    A share `NOVELTY` of the visits is to a place that the person has not visited for `APART`
    visits, so that the world does not die out. There are three visits a day: a window of seven days
    holds 22 to 24, enough for everything that people remember and too few to show a place out of
    sight. So a target is in its window exactly if it was copied.
    """
    kernel = np.asarray(kernel, dtype=float)
    rng = np.random.default_rng(seed)
    memory, everywhere = len(kernel), np.arange(PLACES)
    parts = []
    for person in range(people):
        steps = rng.permutation(PLACES)[:memory].tolist()  # a past to begin with
        for _ in range(VISITS):
            if rng.random() < NOVELTY:
                steps.append(int(rng.choice(np.setdiff1d(everywhere, steps[-APART:]))))
            else:
                steps.append(steps[-1 - rng.choice(memory, p=kernel)])
        parts.append(pd.DataFrame({"user_id": person, "location_id": steps[memory:]}))
    table = pd.concat(parts, ignore_index=True)
    number = table.groupby("user_id").cumcount()
    morning = pd.Timestamp("2024-01-01 08:00", tz="UTC")
    table["started_at"] = morning + pd.to_timedelta(number // 3 * 24 + number % 3 * 4, unit="h")
    table["finished_at"] = table.started_at + pd.Timedelta(hours=2)
    return table
