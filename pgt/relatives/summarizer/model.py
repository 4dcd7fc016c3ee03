"""The pointer-generator network of See et al. (2017), which writes summaries.

"Get To The Point: Summarization with Pointer-Generator Networks"
(https://arxiv.org/abs/1704.04368). The parts are in `pgt.relatives.summarizer.parts`; here they are
put together, with the mixture over the extended vocabulary and the loss.

Shapes: B texts in a batch, L words in a source, T words in a summary, E = width of the embeddings,
H = hidden size, V words in the vocabulary, O = the most words that a source of the batch lends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pgt.mixture import PlaceModel
from pgt.relatives.summarizer.parts import (
    Carried,
    Decoder,
    Encoder,
    Memory,
    ReduceState,
)
from pgt.relatives.summarizer.words import UNK, TextBatch


@dataclass(frozen=True)
class SummarizerConfig:
    """Everything that shapes a summarizer.

    Parameters
    ----------
    n_words : int
        V, size of the vocabulary with its four special words.
    embedding : int
        E, width of the word embeddings, which encoder and decoder share.
    hidden : int
        H, hidden size of each direction of the encoder, and of the decoder.
    max_source, max_summary : int
        The most words that are read, and written.
    beam : int
        Width of the beam search.
    pointer : bool
        Whether it can copy. Without it this is the sequence-to-sequence model with attention.
    coverage : bool
        Whether the attention sees its own past and is fined for going back.
    coverage_weight : float
        Weight of that fine in the loss.

    Examples
    --------
    >>> DOCUMENT.n_words, DOCUMENT.hidden, replace(SMALL, coverage=True).coverage
    (50000, 256, True)
    """

    n_words: int = 50_000
    embedding: int = 128
    hidden: int = 256
    max_source: int = 400
    max_summary: int = 100
    beam: int = 4
    pointer: bool = True
    coverage: bool = False
    coverage_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("embedding", "hidden", "max_source", "max_summary", "beam"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        if self.n_words < 5:
            raise ValueError(f"n_words={self.n_words} leaves no word beside the four special ones.")
        if self.coverage_weight < 0:
            raise ValueError(f"coverage_weight={self.coverage_weight} must not be negative.")


DOCUMENT = SummarizerConfig()
SMALL = SummarizerConfig(n_words=120, embedding=32, hidden=32, max_source=160, max_summary=60)


class Output(NamedTuple):
    """What the network says at each word of a summary that it is given."""

    p_gen: Tensor  # (B, T) probability of generating; 1 without a pointer
    attention: Tensor  # (B, T, L) over the words of the source
    coverage: Tensor  # (B, T, L) the sum of the attention before each step
    vocabulary: Tensor  # (B, T, V) probability of each known word, if it generates


class Loss(NamedTuple):
    """Means over texts of means over their words."""

    words: Tensor  # nats a word
    coverage: Tensor  # attention paid again, a word
    total: Tensor
    p_gen: Tensor  # mean probability of generating; no part of the total


class PointerGenerator(nn.Module):
    """Reads a text, and writes its summary word by word: generated, or copied from the text.

    Parameters
    ----------
    config : SummarizerConfig

    Examples
    --------
    >>> from pgt.relatives.summarizer.words import Words, text_batch
    >>> words = Words(["at", "home"])
    >>> batch = text_batch([("at home at Elm Row".split(), "at Elm".split())], words)
    >>> model = PointerGenerator(replace(SMALL, n_words=len(words)))
    >>> model.distribution(model(batch), batch).shape  # 6 known words and 2 lent ones
    torch.Size([1, 3, 8])
    """

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.embedding, config.hidden
        self.embedding = nn.Embedding(config.n_words, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.encoder = Encoder(width, hidden)
        self.reduce = ReduceState(hidden)
        self.decoder = Decoder(width, hidden, config.coverage)
        # context 2H, cell and state H each, fused input E
        self.gate = nn.Linear(4 * hidden + width, 1) if config.pointer else None
        self.project = nn.Linear(3 * hidden, hidden)
        self.generate = nn.Linear(hidden, config.n_words)

    def with_coverage(self) -> PointerGenerator:
        """A copy that goes on with coverage; at first it says the same."""
        extended = PointerGenerator(replace(self.config, coverage=True)).to(self.embedding.weight)
        extended.load_state_dict(self.state_dict(), strict=False)
        return extended

    def read(self, batch: TextBatch) -> tuple[Memory, Carried]:
        """Encode the sources: what the decoder looks at, and what it starts from."""
        states, last = self.encoder(self.embedding(batch.source), batch.length)
        memory = self.decoder.remember(states, batch.padding)
        return memory, self.decoder.start(*self.reduce(*last), memory)  # type: ignore[call-arg]

    def embed(self, word: Tensor) -> Tensor:
        """(...) -> (..., E); a lent word has no embedding and goes as unknown."""
        return self.embedding(word.where(word < self.config.n_words, UNK))

    def speak(self, carried: Carried, fused: Tensor) -> tuple[Tensor, Tensor]:
        """What is carried, with any leading axes -> (...) p_gen and (..., V) probabilities."""
        h, c, context, _ = carried
        vocabulary = self.generate(self.project(torch.cat([h, context], dim=-1))).softmax(-1)
        if self.gate is None:
            return torch.ones_like(h[..., 0]), vocabulary
        p_gen = self.gate(torch.cat([context, c, h, fused], dim=-1)).sigmoid()[..., 0]
        return p_gen, vocabulary

    def forward(self, batch: TextBatch) -> Output:
        """Teacher forcing: at each step the true previous word is given."""
        memory, carried = self.read(batch)
        steps, inputs, attentions, coverages = [], [], [], []
        for embedded in self.embed(batch.given).unbind(1):  # (B, E)
            coverages.append(carried.coverage)
            carried, fused, attention = self.decoder(embedded, carried, memory)
            steps.append(carried)
            inputs.append(fused)
            attentions.append(attention)
        # Only the recurrence needs the loop; all steps speak at once.
        stacked = Carried(*(torch.stack(part, dim=1) for part in zip(*steps, strict=True)))
        p_gen, vocabulary = self.speak(stacked, torch.stack(inputs, dim=1))
        return Output(p_gen, torch.stack(attentions, 1), torch.stack(coverages, 1), vocabulary)

    def distribution(self, output: Output, batch: TextBatch) -> Tensor:
        """(B, T, V + O) probability of every known and every lent word; sums to one."""
        p_gen, attention, _, vocabulary = output
        extended = batch.extended[:, None].expand_as(attention)
        return mixture(p_gen, vocabulary, attention, extended, batch.n_lent)

    def of_target(self, output: Output, batch: TextBatch) -> Tensor:
        """(B, T) probability of the true words, without the whole of `distribution`."""
        size = self.config.n_words
        # Without a pointer a lent word cannot be written; it is trained to write "unknown" instead.
        target = batch.target
        if self.gate is None:
            target = target.where(target < size, UNK)
        inside = target < size
        generated = output.vocabulary.gather(-1, target.where(inside, UNK)[..., None])[..., 0]
        copied = (output.attention * (batch.extended[:, None] == target[..., None])).sum(-1)
        return output.p_gen * generated * inside + (1 - output.p_gen) * copied

    def loss(self, batch: TextBatch) -> Loss:
        """What training makes small; padding has no part in it."""
        output = self(batch)
        tiny = torch.finfo(output.p_gen.dtype).tiny
        surprise = -self.of_target(output, batch).clamp_min(tiny).log()  # (B, T)
        again = torch.minimum(output.attention, output.coverage).sum(-1)  # (B, T)
        taught = batch.taught.to(surprise)
        weight = taught / taught.sum(1, keepdim=True)  # (B, T) sums to 1 in each text
        words = (surprise * weight).sum(1).mean()
        coverage = (again * weight).sum(1).mean()
        fine = self.config.coverage_weight if self.config.coverage else 0.0
        p_gen = (output.p_gen * weight).sum(1).mean()
        return Loss(words, coverage, words + fine * coverage, p_gen.detach())

    n_parameters = PlaceModel.n_parameters


def mixture(
    p_gen: Tensor, vocabulary: Tensor, attention: Tensor, extended: Tensor, n_lent: int
) -> Tensor:
    """(...), (..., V), (..., L), (..., L) -> (..., V + O): generated or copied.

    Examples
    --------
    >>> source = torch.tensor([4, 5, 5])  # the vocabulary ends at 4; 5 is lent
    >>> mixture(torch.tensor(0.5), torch.full((5,), 0.2), torch.full((3,), 1 / 3), source, 1)
    tensor([0.1000, 0.1000, 0.1000, 0.1000, 0.2667, 0.3333])
    """
    generated = p_gen[..., None] * vocabulary
    none = generated.new_zeros(*generated.shape[:-1], n_lent)
    copied = (1 - p_gen)[..., None] * attention
    return torch.cat([generated, none], dim=-1).scatter_add(-1, extended, copied)
