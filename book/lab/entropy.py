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
    """Lempel-Ziv estimate of the entropy rate, in bits a symbol."""
    lengths = match_lengths(sequence)
    n = len(lengths)
    if n < 2:
        raise DataError(f"A sequence of {n} symbols has no entropy rate; pass at least 2.")
    return n * math.log2(n) / float(lengths.sum())


def shannon_entropy(sequence: ArrayLike) -> float:
    """Entropy of how often each symbol occurs, whatever the order, in bits."""
    return entropy_of(np.unique(np.asarray(sequence), return_counts=True)[1])


def entropy_of(weights: ArrayLike) -> float:
    """Entropy of a distribution given by weights that need not add up to one, in bits."""
    return float(stats.entropy(weights, base=2))


def max_predictability(entropy: float, n_states: int) -> float:
    """The accuracy that Fano's inequality allows at most, from 0 to 1.

    The root of entropy = H(x) + (1 - x) · log2(n_states - 1): the most surprise that is compatible
    with being right in a share x of the cases is that of errors spread evenly.
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


def accuracy_between(agreement: float) -> tuple[float, float]:
    """The least and the greatest accuracy that the best guess can have, given an agreement."""
    if not 0 <= agreement <= 1:
        raise DataError(f"agreement={agreement} is not between 0 and 1; pass a share.")
    return agreement, math.sqrt(agreement)


def _as_text(sequence: ArrayLike) -> str:
    """The sequence as one character a symbol, because searching text is fast."""
    codes, _ = pd.factorize(np.asarray(sequence))
    return "".join(chr(code + 1) for code in codes.tolist())
