"""How predictable is it at all? Bounds from entropy, from agreement, and from many guessers.

Three ways to ask how good the best predictor could be, each with its own bias:

*Entropy* (Song et al. 2010). How surprising a sequence is on average (`entropy_rate`) limits how
often its next symbol can be guessed (`max_predictability`). The estimate knows nothing but the
order of the symbols, converges slowly, and is no bound for a predictor that looks at the clock.

*Agreement.* If the next place has probabilities p, two draws from like situations agree with
probability a = sum of p². As max² ≤ sum of p² ≤ max · sum of p, the best guess is right with a
probability between a and the square root of a (`accuracy_between`).

*Oracles* (`oracle`). How often at least one of several models is right; more guesses are right
more often, whatever they know, so it is to be held against `hits_at` with as many guesses.

References
----------
Song et al. 2010, doi 10.1126/science.1177170; the estimator is that of Kontoyiannis et al. 1998,
doi 10.1109/18.669425. Traps: Xu et al. 2019, doi 10.1016/j.physa.2019.02.006 (logarithms of
different bases); Ikanovic and Mollgaard 2017, doi 10.1140/epjds/s13688-017-0107-7 (hours against
visits); Kulkarni et al. 2019, doi 10.3390/e21040432 (models above the "bound"). Agreement is the
argument of Cover and Hart 1967, doi 10.1109/TIT.1967.1053964.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq

from pgt.errors import DataError


def match_lengths(sequence: ArrayLike) -> np.ndarray:
    """(n,) the length of the shortest stretch from each position that did not occur before it.

    "Before" ends at the position itself: the earlier occurrence lies wholly in the past. Where all
    that is left of the sequence has occurred, the stretch is one longer than what is left.

    >>> match_lengths(list("abcabd")).tolist()
    [1, 1, 1, 3, 2, 1]
    """
    text = _as_text(sequence)
    n = len(text)
    lengths = np.zeros(n, dtype=np.int64)
    known = 0  # length of the longest stretch from i that has occurred
    for i in range(n):
        # What matched from the position before matches from here, less its first symbol.
        known = max(known - 1, 0)
        while i + known < n and text.find(text[i : i + known + 1], 0, i) >= 0:
            known += 1
        lengths[i] = known + 1
    return lengths


def entropy_rate(sequence: ArrayLike) -> float:
    """Lempel-Ziv estimate of the entropy rate, in bits a symbol.

    >>> always = [0] * 1000
    >>> entropy_rate(always) < 0.05
    True
    >>> coin = np.random.default_rng(0).integers(0, 2, 5000)
    >>> round(entropy_rate(coin), 1)
    1.0
    """
    lengths = match_lengths(sequence)
    n = len(lengths)
    if n < 2:
        raise DataError(f"A sequence of {n} symbols has no entropy rate; pass at least 2.")
    return n * math.log2(n) / float(lengths.sum())


def shannon_entropy(sequence: ArrayLike) -> float:
    """Entropy of how often each symbol occurs, whatever the order, in bits.

    >>> shannon_entropy(list("aabb"))
    1.0
    """
    return entropy_of(np.unique(np.asarray(sequence), return_counts=True)[1])


def entropy_of(weights: ArrayLike) -> float:
    """Entropy of a distribution given by weights that need not add up to one, in bits.

    >>> entropy_of([2, 1, 1])
    1.5
    """
    return float(stats.entropy(weights, base=2))


def max_predictability(entropy: float, n_states: int) -> float:
    """The accuracy that Fano's inequality allows at most, from 0 to 1.

    The root of entropy = H(x) + (1 - x) · log2(n_states - 1): the most surprise that is compatible
    with being right in a share x of the cases is that of errors spread evenly.

    >>> round(max_predictability(0.7219, 2), 3)  # a coin that shows heads four times in five
    0.8
    >>> max_predictability(0.0, 10), max_predictability(9.0, 4)
    (1.0, 0.25)
    """
    if n_states < 1 or not entropy >= 0:
        raise DataError(f"entropy={entropy} and n_states={n_states} must be >= 0 and >= 1.")
    if entropy == 0 or n_states == 1:
        return 1.0
    if entropy >= math.log2(n_states):
        return 1 / n_states

    def surplus(x: float) -> float:
        return entropy_of([x, 1 - x]) + (1 - x) * math.log2(n_states - 1) - entropy

    return float(brentq(surplus, 1 / n_states, 1.0))


def stationary(transitions: np.ndarray) -> np.ndarray:
    """(N,) the share of time that a chain with (N, N) ``transitions`` spends in each state.

    >>> stationary(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.667, 0.333]
    """
    n = len(transitions)
    equations = np.vstack([transitions.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(equations, np.r_[np.zeros(n), 1.0], rcond=None)[0]


def chain_truth(transitions: np.ndarray) -> tuple[float, float]:
    """Of a Markov chain: its true entropy rate in bits, and the accuracy of the best predictor.

    >>> chain_truth(np.array([[0.5, 0.5], [0.5, 0.5]]))
    (1.0, 0.5)
    """
    share = stationary(transitions)
    entropy = sum(s * entropy_of(row) for s, row in zip(share, transitions, strict=True))
    return float(entropy), float(share @ transitions.max(1))


def sample_chain(transitions: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """(n,) states of a Markov chain, the first one drawn from `stationary`.

    >>> sample_chain(np.array([[0.0, 1.0], [1.0, 0.0]]), 4).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    True
    """
    rng = np.random.default_rng(seed)
    steps = np.cumsum(transitions, axis=1)
    steps[:, -1] = 1.0  # rounding must not leave a gap at the end
    out = np.zeros(n, dtype=np.int64)
    share = stationary(transitions).clip(0)
    out[0] = rng.choice(len(transitions), p=share / share.sum())
    for i, u in enumerate(rng.random(n - 1), start=1):
        out[i] = np.searchsorted(steps[out[i - 1]], u, side="right")
    return out


def accuracy_between(agreement: float) -> tuple[float, float]:
    """The least and the greatest accuracy that the best guess can have, given an agreement.

    >>> accuracy_between(0.25)
    (0.25, 0.5)
    """
    if not 0 <= agreement <= 1:
        raise DataError(f"agreement={agreement} is not between 0 and 1; pass a share.")
    return agreement, math.sqrt(agreement)


def hits_at(ranks: pd.DataFrame, k: ArrayLike) -> np.ndarray:
    """(W,) how much of a hit each window is when a model may name its ``k`` best places.

    >>> ranks = pd.DataFrame({"better": [0, 1, 0], "tied": [1, 1, 2]})
    >>> hits_at(ranks, 1).tolist(), hits_at(ranks, [1, 2, 2]).tolist()
    ([1.0, 0.0, 0.5], [1.0, 1.0, 1.0])
    """
    better, tied = ranks.better.to_numpy(), ranks.tied.to_numpy()
    gain = np.clip((np.asarray(k) - better) / np.maximum(tied, 1), 0.0, 1.0)
    return gain * (tied > 0)


def oracle(tables: Sequence[pd.DataFrame]) -> np.ndarray:
    """(W,) whether any of several models is right with its first guess.

    Somebody who always knew which model to trust would do so well; nobody knows. Where models tie,
    the largest share of a hit counts, so that no luck is added.

    >>> one = pd.DataFrame({"better": [0, 1], "tied": [1, 1]})
    >>> other = pd.DataFrame({"better": [3, 0], "tied": [1, 2]})
    >>> oracle([one, other]).tolist()
    [1.0, 0.5]
    """
    if not tables or len({len(table) for table in tables}) > 1:
        raise DataError("An oracle needs tables of ranks of the same windows; pass at least one.")
    return np.max([hits_at(table, 1) for table in tables], axis=0)


def _as_text(sequence: ArrayLike) -> str:
    """The sequence as one character a symbol, because searching text is fast."""
    codes, _ = pd.factorize(np.asarray(sequence))
    return "".join(chr(code + 1) for code in codes.tolist())
