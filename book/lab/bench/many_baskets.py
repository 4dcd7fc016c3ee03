"""Made baskets as large as TaFeng's: a grocer's customers, few of whom buy much.

The sizes are those that Yu et al. (2020, https://arxiv.org/abs/2006.11483) print for TaFeng: 9,841
people, 4,935 elements, 5.4 of them in a set, 7.5 sets a person. The long tails are ours.
"""

from __future__ import annotations

import numpy as np

from pgt.temporal_sets import Sequences, padded

SHARES = {"train": 0.7, "valid": 0.1, "test": 0.2}  # of the people, as in DC
REPEATS = 0.25  # how often an element is one of the person's own
MOST_SETS, MOST_ELEMENTS = 24, 50


def many_baskets(
    n_people: int = 9_841, n_elements: int = 4_935, seed: int = 0
) -> dict[str, Sequences]:
    """Baskets with popular elements, personal repeats and long tails.

    Popularity falls as one over the rank. A person has 4 to `MOST_SETS` sets, the last of which
    is the one to predict; sets hold 1 to `MOST_ELEMENTS` elements.

    Parameters
    ----------
    n_people : int
    n_elements : int
    seed : int

    Returns
    -------
    dict
        train, valid and test, each with people of its own.

    Examples
    --------
    >>> {part: len(one) for part, one in many_baskets(n_people=10, n_elements=50).items()}
    {'train': 7, 'valid': 1, 'test': 2}
    """
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1.0, n_elements + 1)
    reach = (popularity / popularity.sum()).cumsum()
    reach[-1] = 1.0
    everybody = [_sets(rng, reach) for _ in range(n_people)]
    ends = [0, *(round(n_people * share) for share in np.cumsum(list(SHARES.values())))]
    found = {}
    for part, first, last in zip(SHARES, ends[:-1], ends[1:], strict=True):
        own = everybody[first:last]
        found[part] = padded(
            [sets[:-1] for sets in own], [sets[-1] for sets in own], n_elements, range(first, last)
        )
    return found


def _sets(rng: np.random.Generator, reach: np.ndarray) -> list[list[int]]:
    """One person's sets in order of time; ``reach`` is the cumulated popularity."""
    n_sets = min(3 + rng.geometric(0.22), MOST_SETS)
    appetite = rng.lognormal(1.65, 0.5)  # elements a set, for this person
    sizes = np.clip(rng.poisson(appetite * rng.gamma(2, 0.5, n_sets)), 1, MOST_ELEMENTS)
    taken: list[int] = []
    sets = []
    for size in sizes:
        new = np.searchsorted(reach, rng.random(size), side="right").clip(max=len(reach) - 1)
        again = rng.random(size) < REPEATS
        if taken:
            new[again] = rng.choice(taken, int(again.sum()))
        sets.append(np.unique(new).tolist())
        taken += sets[-1]
    return sets
