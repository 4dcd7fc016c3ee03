"""How predictable is a sequence at all? A bound from its entropy (Song et al. 2010).

How surprising a sequence is on average (`entropy_rate`) limits how often its next symbol can be
guessed (`max_predictability`). The estimate knows nothing but the order of the symbols, converges
slowly, and is no bound for a predictor that looks at the clock.

References
----------
Song et al. 2010, doi 10.1126/science.1177170; the estimator is that of Kontoyiannis et al. 1998,
doi 10.1109/18.669425. Traps: Xu et al. 2019, doi 10.1016/j.physa.2019.02.006 (logarithms of
different bases); Ikanovic and Mollgaard 2017, doi 10.1140/epjds/s13688-017-0107-7 (hours against
visits); Kulkarni et al. 2019, doi 10.3390/e21040432 (models above the "bound").
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq


def match_lengths(sequence: ArrayLike) -> np.ndarray:
    """(n,) the length of the shortest stretch from each position that did not occur before it.

    "Before" ends at the position itself: the earlier occurrence lies wholly in the past. Where all
    that is left of the sequence has occurred, the stretch is one longer than what is left.
    """
    codes, _ = pd.factorize(np.asarray(sequence))
    text = "".join(chr(code + 1) for code in codes.tolist())  # searching text is fast
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
    return n * math.log2(n) / float(lengths.sum())


def max_predictability(entropy: float, n_states: int) -> float:
    """The accuracy that Fano's inequality allows at most, from 0 to 1.

    The root of entropy = H(x) + (1 - x) · log2(n_states - 1): the most surprise that is compatible
    with being right in a share x of the cases is that of errors spread evenly.
    """
    if entropy == 0 or n_states == 1:
        return 1.0
    if entropy >= math.log2(n_states):
        return 1 / n_states

    def surplus(x: float) -> float:
        even = (1 - x) * math.log2(n_states - 1)
        return float(stats.entropy([x, 1 - x], base=2)) + even - entropy

    return float(brentq(surplus, 1 / n_states, 1.0))
