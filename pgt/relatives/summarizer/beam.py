"""Writing a summary: word by word the most probable, or with a beam of several drafts.

The beam search is that of the published code (https://github.com/abisee/pointer-generator): drafts
compete by the sum of their log-probabilities, and finished ones by the mean over their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pgt.relatives.summarizer.model import PointerGenerator, mixture
from pgt.relatives.summarizer.parts import Memory
from pgt.relatives.summarizer.words import START, STOP, TextBatch, Words


@dataclass(frozen=True)
class Draft:
    """A summary, perhaps unfinished.

    Attributes
    ----------
    numbers : tuple of int
        Its words; the stop at its end counts as one.
    log_prob : float
        Of all its words together.
    p_gen : tuple of float
        Probability of generating, for each word.
    attention : tuple of Tensor
        For each word, the attention over the source it was written with; (L,) each.
    """

    numbers: tuple[int, ...] = ()
    log_prob: float = 0.0
    p_gen: tuple[float, ...] = ()
    attention: tuple[Tensor, ...] = ()

    @property
    def score(self) -> float:
        """Mean log-probability of a word."""
        return self.log_prob / max(len(self.numbers), 1)

    @property
    def finished(self) -> bool:
        """Whether it ends with the stop."""
        return self.numbers[-1:] == (STOP,)

    def words(self, vocabulary: Words, lent: Sequence[str]) -> list[str]:
        """It, in words."""
        return vocabulary.decode(self.numbers, lent)


@torch.no_grad()
def beam_search(
    model: PointerGenerator, batch: TextBatch, beam: int | None = None, min_words: int = 1,
    keep_greedy: bool = True,
) -> list[Draft]:  # fmt: skip
    """The best summary found for each source.

    Parameters
    ----------
    model : PointerGenerator
    batch : TextBatch
        Only its sources are used.
    beam : int, optional
        Drafts that are kept for each source; 1 is greedy. As in ``model.config`` unless given.
    min_words : int
        The fewest words of a summary, the stop included.
    keep_greedy : bool
        A beam may lose the greedy draft on the way and end with a worse one. With this the greedy
        summary competes at the end, so that the result never has a lower score.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from pgt.relatives.summarizer.model import SMALL
    >>> from pgt.relatives.summarizer.words import text_batch
    >>> words = Words(["at", "home"])
    >>> batch = text_batch([("at home at Elm Row".split(), "at Elm".split())], words)
    >>> model = PointerGenerator(replace(SMALL, n_words=len(words), max_summary=3))
    >>> one, four = (beam_search(model, batch, beam=k)[0] for k in (1, 4))
    >>> four.score >= one.score
    True
    """
    beam = model.config.beam if beam is None else beam
    if beam < 1:
        raise ValueError(f"beam={beam} must be at least 1.")
    memory, carried = model.read(batch)
    n = len(batch)
    rows = torch.arange(n, device=batch.source.device).repeat_interleave(beam)  # (n K,)
    memory, carried = Memory(*(part[rows] for part in memory)), carried.pick(rows)
    extended, n_lent = batch.extended[rows], batch.n_lent
    drafts = [[Draft()] for _ in range(n)]  # at first all K would be the same
    done: list[list[Draft]] = [[] for _ in range(n)]
    word = torch.full_like(rows, START)
    for at in range(model.config.max_summary):
        carried, fused, attention = model.decoder(model.embed(word), carried, memory)
        p_gen, vocabulary = model.speak(carried, fused)
        chances = mixture(p_gen, vocabulary, attention, extended, n_lent)
        if at + 1 < min_words:
            chances[:, STOP] = 0
        found = chances.log().topk(min(2 * beam, chances.shape[-1]), dim=-1)
        values, numbers = found.values.tolist(), found.indices.tolist()
        opened = p_gen.tolist()
        parent, following = list(range(n * beam)), [STOP] * (n * beam)
        for text in range(n):
            if len(done[text]) == beam or not drafts[text]:
                drafts[text] = []
                continue
            first = text * beam
            candidates = sorted(
                (
                    (draft.log_prob + value, first + k, number)
                    for k, draft in enumerate(drafts[text])
                    for value, number in zip(values[first + k], numbers[first + k], strict=True)
                ),
                key=lambda one: -one[0],
            )
            old, drafts[text] = drafts[text], []
            for log_prob, row, number in candidates:
                before = old[row - first]
                draft = Draft(
                    (*before.numbers, number), log_prob, (*before.p_gen, opened[row]),
                    (*before.attention, attention[row, : int(batch.length[text])]),
                )  # fmt: skip
                if number == STOP:
                    done[text].append(draft)
                else:
                    slot = first + len(drafts[text])
                    parent[slot], following[slot] = row, number
                    drafts[text].append(draft)
                if beam in (len(drafts[text]), len(done[text])):
                    break
        if not any(drafts):
            break
        carried = carried.pick(torch.tensor(parent, device=rows.device))
        word = torch.tensor(following, device=rows.device)
    best = [max(done[k] or drafts[k], key=lambda draft: draft.score) for k in range(n)]
    if keep_greedy and beam > 1:
        rivals = beam_search(model, batch, 1, min_words)
        pairs = zip(best, rivals, strict=True)
        # A finished summary is better than one that was cut off.
        best = [max(pair, key=lambda one: (one.finished, one.score)) for pair in pairs]
    return best
