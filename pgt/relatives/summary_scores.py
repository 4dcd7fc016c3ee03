"""How good a summary is: ROUGE, names that the vocabulary lacks, repetition.

ROUGE (Lin 2004, https://aclanthology.org/W04-1013) counts the words, pairs of words and common
subsequences that a summary shares with a reference; the counting is that of the ``rouge-score``
library. A score is the F-measure, from 0 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from pgt.relatives.words import Text, Words

ROUGE = ("rouge1", "rouge2", "rougeL")


def rouge(summaries: Sequence[Text], references: Sequence[Text]) -> pd.DataFrame:
    """ROUGE-1, ROUGE-2 and ROUGE-L of each summary; columns as in `ROUGE`.

    Examples
    --------
    >>> rouge(["a quiet day".split()], ["one quiet day".split()]).round(2).iloc[0].tolist()
    [0.67, 0.5, 0.67]
    """
    from rouge_score.rouge_scorer import RougeScorer  # slow to import

    scorer = RougeScorer(list(ROUGE))
    found = (
        scorer.score(" ".join(reference), " ".join(summary))
        for summary, reference in zip(summaries, references, strict=True)
    )
    return pd.DataFrame([{name: one[name].fmeasure for name in ROUGE} for one in found])


def unknown_right(
    summary: Text, reference: Text, words: Words, source: Text
) -> tuple[int, int, int]:
    """How many words outside the vocabulary are right.

    Returns
    -------
    right, asked, said : int
        Such words of the reference that the summary has as well, each as often as it is in both;
        such words of the reference that the source has; and such words of the summary.

    Examples
    --------
    >>> words = Words(["at"])
    >>> unknown_right("at Elm Elm".split(), "at Elm Row".split(), words, "at Elm Row".split())
    (1, 2, 2)
    """
    asked = Counter(word for word in reference if word not in words and word in source)
    said = Counter(word for word in summary if word not in words)
    return (asked & said).total(), asked.total(), said.total()


def repeated(text: Text, n: int) -> tuple[int, int]:
    """How many of a text's ``n``-grams have been there before, and how many there are.

    Examples
    --------
    >>> repeated("the Elm , the Elm".split(), 2)
    (1, 4)
    """
    grams = [tuple(text[k : k + n]) for k in range(len(text) - n + 1)]
    return len(grams) - len(set(grams)), len(grams)
