"""Words and their numbers: a vocabulary that is cut, and sources that extend it.

A word that the vocabulary lacks is unknown (`UNK`) to the embeddings. Copying can still name it:
each source text lends its unknown words numbers of their own, ``len(words)``, ``len(words) + 1``,
… in order of appearance. They mean something for this text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# The numbers of the published code (https://github.com/abisee/pointer-generator).
UNK, PAD, START, STOP = range(4)
SPECIAL = ("[UNK]", "[PAD]", "[START]", "[STOP]")

Text = Sequence[str]
Pair = tuple[Text, Text]  # a source and its summary


class Words:
    """The words that a model knows.

    Parameters
    ----------
    known : sequence of str
        In the order of their numbers, which start after the four special ones.

    Examples
    --------
    >>> words = Words(["home", "at"])
    >>> words.encode("at home in Elm Row".split())
    [5, 4, 0, 0, 0]
    >>> words.extend("at home in Elm Row".split())
    ([5, 4, 6, 7, 8], ['in', 'Elm', 'Row'])
    """

    def __init__(self, known: Iterable[str]) -> None:
        self.names = [*SPECIAL, *known]
        self.number = {word: k for k, word in enumerate(self.names)}
        if len(self.number) < len(self.names):
            raise ValueError("A word is in the vocabulary twice; list each word once.")

    @classmethod
    def most_frequent(cls, texts: Iterable[Text], n_words: int | None = None) -> Words:
        """The most frequent words of texts, ``n_words`` with the four special ones; None takes all.

        Equally frequent words are taken in alphabetical order.
        """
        counts = Counter(word for text in texts for word in text)
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ordered if n_words is None else ordered[: n_words - len(SPECIAL)])

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def encode(self, text: Text) -> list[int]:
        """Numbers of words; unknown ones are `UNK`."""
        return [self.number.get(word, UNK) for word in text]

    def extend(self, source: Text) -> tuple[list[int], list[str]]:
        """Numbers of a source's words, unknown ones with numbers of their own; and these words."""
        new = list(dict.fromkeys(word for word in source if word not in self.number))
        return self.encode_summary(source, new), new

    def encode_summary(self, summary: Text, lent: Sequence[str]) -> list[int]:
        """Numbers of a summary's words, given the words that its source lends."""
        extended = {word: len(self) + k for k, word in enumerate(lent)}
        return [self.number.get(word, extended.get(word, UNK)) for word in summary]

    def decode(self, numbers: Iterable[int], lent: Sequence[str] = ()) -> list[str]:
        """Words of numbers, up to the stop.

        Examples
        --------
        >>> Words(["at"]).decode([4, 5, 0, STOP, 4], ["Elm"])
        ['at', 'Elm', '[UNK]']
        """
        found = []
        for number in numbers:
            if number == STOP:
                break
            inside = number < len(self)
            found.append(self.names[number] if inside else lent[number - len(self)])
        return found


@dataclass(frozen=True)
class TextBatch:
    """Sources and summaries as numbers, padded at the end.

    Attributes
    ----------
    source : Tensor
        (B, L) numbers in the vocabulary.
    extended : Tensor
        (B, L) the same, with lent numbers for unknown words.
    length : Tensor
        (B,) words in each source.
    given : Tensor
        (B, T) what the decoder is given when it is taught: the start, then the summary.
    target : Tensor
        (B, T) what it should answer: the summary, then the stop; with lent numbers.
    lent : tuple of list of str
        The words that each source lends.
    """

    source: Tensor
    extended: Tensor
    length: Tensor
    given: Tensor
    target: Tensor
    lent: tuple[list[str], ...]

    @property
    def padding(self) -> Tensor:
        """(B, L) True where a source has no word."""
        return self.source == PAD

    @property
    def taught(self) -> Tensor:
        """(B, T) True where there is something to answer."""
        return self.target != PAD

    @property
    def n_lent(self) -> int:
        """The most words that a source of the batch lends."""
        return max(map(len, self.lent), default=0)

    def __len__(self) -> int:
        return len(self.source)


def text_batch(
    pairs: Sequence[Pair], words: Words, max_source: int = 400, max_summary: int = 100
) -> TextBatch:
    """Number and pad pairs of source and summary; longer ones are cut.

    Parameters
    ----------
    pairs : sequence of (source, summary)
        Each a sequence of words.
    words : Words
        The vocabulary.
    max_source, max_summary : int
        The most words of a source, and the most steps of the decoder.

    Examples
    --------
    >>> batch = text_batch([("at Elm Row".split(), ["Row"])], Words(["at"]))
    >>> batch.source.tolist(), batch.extended.tolist(), batch.lent
    ([[4, 0, 0]], [[4, 5, 6]], (['Elm', 'Row'],))
    >>> batch.given.tolist(), batch.target.tolist()
    ([[2, 0]], [[6, 3]])
    """
    rows: list[list[list[int]]] = [[], [], [], []]
    lent = []
    for source, summary in pairs:
        if not source:
            raise ValueError("A source text is empty; leave it out.")
        source = source[:max_source]
        extended, new = words.extend(source)
        answer = [*words.encode_summary(summary, new), STOP][:max_summary]
        given = [START, *words.encode(summary)][:max_summary]
        for row, numbers in zip(rows, (words.encode(source), extended, given, answer), strict=True):
            row.append(numbers)
        lent.append(new)
    length = torch.tensor([len(row) for row in rows[0]])
    source_, extended_, given_, target = (_padded(row) for row in rows)
    return TextBatch(source_, extended_, length, given_, target, tuple(lent))


def _padded(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
