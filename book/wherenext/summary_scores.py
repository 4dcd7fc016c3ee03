"""How good a summary is: ROUGE, names that the vocabulary lacks, repetition.

ROUGE (Lin 2004, https://aclanthology.org/W04-1013) counts the words, pairs of words and common
subsequences that a summary shares with a reference; the counting is that of the ``rouge-score``
library. A score is the F-measure, from 0 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

import wherenext.rouge_library  # noqa: F401  says what to install
from pgt.summarizer import Draft, PointerGenerator, Text, Words, beam_search, text_batch
from wherenext.diaries import Diary

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
    right, wanted, written : int
        Such words of the reference that the summary has as well, each as often as it is in both;
        such words of the reference that the source has; and such words of the summary.

    Examples
    --------
    >>> words = Words(["at"])
    >>> unknown_right("at Elm Elm".split(), "at Elm Row".split(), words, "at Elm Row".split())
    (1, 2, 2)
    """
    wanted = Counter(word for word in reference if word not in words and word in source)
    written = Counter(word for word in summary if word not in words)
    return (wanted & written).total(), wanted.total(), written.total()


def repeated(text: Text, n: int) -> tuple[int, int]:
    """How many of a text's ``n``-grams have been there before, and how many there are.

    Examples
    --------
    >>> repeated("the Elm , the Elm".split(), 2)
    (1, 4)
    """
    grams = [tuple(text[k : k + n]) for k in range(len(text) - n + 1)]
    return len(grams) - len(set(grams)), len(grams)


SENTENCES = ("days", "mostly", "also", "errands")


CHUNK = 64


def scores(summaries: Sequence[Text], diaries: Sequence[Diary], words: Words) -> dict[str, float]:
    """What summaries are worth, in percent."""
    references = [diary.summary for diary in diaries]
    both = list(zip(summaries, diaries, strict=True))
    found = 100 * rouge(summaries, references).mean()
    values = found.to_dict()
    right, wanted, written = np.sum(
        [unknown_right(text, one.summary, words, one.source) for text, one in both], axis=0
    )
    values["unknown_right"] = 100 * right / wanted
    values["unknown_precision"] = 100 * right / written if written else np.nan
    for n in (1, 2, 3, 4):
        again, every = np.sum([repeated(text, n) for text in summaries], axis=0)
        values[f"repeated_{n}"] = 100 * again / max(every, 1)
    values["exact"] = 100 * np.mean([tuple(text) == one.summary for text, one in both])
    for k, name in enumerate(SENTENCES):
        values[name] = 100 * np.mean(
            [sentence(text, k) == sentence(one.summary, k) for text, one in both]
        )
    values["length"] = float(np.mean([len(text) for text in summaries]))
    return {name: float(value) for name, value in values.items()}


def sentence(text: Text, k: int) -> list[str]:
    """The ``k``-th sentence, from 0; empty if there is none.

    Examples
    --------
    >>> sentence("one day . no errands .".split(), 1)
    ['no', 'errands']
    """
    parts = " ".join(text).split(" .")
    return parts[k].split() if k < len(parts) else []


def written(
    model: PointerGenerator, words: Words, diaries: Sequence[Diary], beam: int
) -> tuple[list[list[str]], list[Draft]]:
    """The summaries of diaries, and the drafts they come from."""
    texts, drafts = [], []
    for start in range(0, len(diaries), CHUNK):
        part = [diary.pair for diary in diaries[start : start + CHUNK]]
        batch = text_batch(part, words, model.config.max_source, model.config.max_summary)
        found = beam_search(model, batch, beam)
        drafts += found
        texts += [one.words(words, lent) for one, lent in zip(found, batch.lent, strict=True)]
    return texts, drafts
