"""The parts of the pointer-generator network of See et al. (2017), "Get To The Point"
(https://arxiv.org/abs/1704.04368): encoder, state reduction, attention, decoder.

They follow the published code (https://github.com/abisee/pointer-generator) down to the number of
parameters; the words and lines here are this project's own.

Shapes: B texts in a batch, L words in a source text, T words in a summary, E = width of the
embeddings, H = hidden size of one LSTM.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def one_bias(lstm: nn.LSTM | nn.LSTMCell) -> None:
    """Leave an LSTM one bias per gate, with 1 for the forget gate; in place.

    PyTorch keeps two biases that are only ever added up. The second is frozen at zero, so that the
    trainable parameters are those of the paper. A forget gate that starts open is what TensorFlow's
    cell does.
    """
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias_hh"):
            parameter.requires_grad_(False).zero_()
        elif name.startswith("bias_ih"):
            with torch.no_grad():
                parameter.zero_()
                parameter[lstm.hidden_size : 2 * lstm.hidden_size] = 1.0


def masked_softmax(scores: Tensor, padding: Tensor) -> Tensor:
    """Softmax over the last axis in which padding has no part.

    Parameters
    ----------
    scores : Tensor
        (..., L).
    padding : Tensor
        (..., L) True where there is no word; at least one word in each row.

    Examples
    --------
    >>> masked_softmax(torch.zeros(1, 3), torch.tensor([[False, False, True]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    return scores.masked_fill(padding, -torch.inf).softmax(-1)


def renormalised_softmax(scores: Tensor, padding: Tensor) -> Tensor:
    """The same in the order of the published code: softmax, then the mask, then the sum made one.

    Equal to `masked_softmax` for real numbers. In floating point it divides zero by zero when
    padding has a score so high that all words underflow.

    Examples
    --------
    >>> renormalised_softmax(torch.zeros(1, 3), torch.tensor([[False, False, True]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    shares = scores.softmax(-1) * ~padding
    return shares / shares.sum(-1, keepdim=True)


class Encoder(nn.Module):
    """A bidirectional LSTM over embedded words, padding skipped.

    Parameters
    ----------
    embedding : int
        E, width of the embeddings.
    hidden : int
        H, hidden size of each direction.

    Examples
    --------
    >>> states, (h, c) = Encoder(8, 5)(torch.randn(2, 7, 8), torch.tensor([7, 3]))
    >>> states.shape, h.shape
    (torch.Size([2, 7, 10]), torch.Size([2, 10]))
    >>> bool((states[1, 3:] == 0).all())
    True
    """

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True, bidirectional=True)
        one_bias(self.lstm)

    def forward(self, embedded: Tensor, length: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(B, L, E), (B,) -> (B, L, 2H) states, zero at padding; last (B, 2H) h and (B, 2H) c."""
        if bool((length == embedded.shape[1]).all()):  # nothing to skip, and several times faster
            states, (h, c) = self.lstm(embedded)
        else:
            packed = pack_padded_sequence(
                embedded, length.cpu(), batch_first=True, enforce_sorted=False
            )
            states, (h, c) = self.lstm(packed)  # h, c: (2, B, H), forward and backward
            states, _ = pad_packed_sequence(
                states, batch_first=True, total_length=embedded.shape[1]
            )  # (B, L, 2H)
        return states, (torch.cat([*h], dim=-1), torch.cat([*c], dim=-1))


class ReduceState(nn.Module):
    """The last states of both directions, reduced to the first state of the decoder.

    Examples
    --------
    >>> h, c = ReduceState(5)(torch.randn(2, 10), torch.randn(2, 10))
    >>> h.shape, bool((h >= 0).all())
    (torch.Size([2, 5]), True)
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.h = nn.Linear(2 * hidden, hidden)
        self.c = nn.Linear(2 * hidden, hidden)

    def forward(self, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 2H) and (B, 2H) -> (B, H) and (B, H)."""
        return self.h(h).relu(), self.c(c).relu()


class AdditiveAttention(nn.Module):
    """Bahdanau's attention with the coverage term of See et al., padding left out.

    The score of word i is v·tanh(W_h h_i + W_s s + w_c c_i + b). Bahdanau, Cho and Bengio,
    "Neural machine translation by jointly learning to align and translate"
    (https://arxiv.org/abs/1409.0473).

    Parameters
    ----------
    memory : int
        Width of what is attended to; the attention's own width as well.
    state : int
        Width of the state that attends.
    coverage : bool
        Whether a score sees how much attention its word has had. Its weights start at zero, so
        that a trained network to which coverage is added goes on as it was.

    Examples
    --------
    >>> attend, memory = AdditiveAttention(10, 6), torch.randn(2, 7, 10)
    >>> padding = torch.arange(7) >= torch.tensor([[7], [3]])
    >>> context, attention = attend(torch.randn(2, 6), memory, attend.features(memory), padding)
    >>> context.shape, attention.shape
    (torch.Size([2, 10]), torch.Size([2, 7]))
    """

    def __init__(self, memory: int, state: int, coverage: bool = False) -> None:
        super().__init__()
        self.of_memory = nn.Linear(memory, memory, bias=False)
        self.of_state = nn.Linear(state, memory)
        self.of_coverage = nn.Parameter(torch.zeros(memory)) if coverage else None
        self.v = nn.Parameter(torch.empty(memory).uniform_(-(memory**-0.5), memory**-0.5))

    def features(self, memory: Tensor) -> Tensor:
        """(B, L, M) -> (B, L, M); the part of the score that is the same at every step."""
        return self.of_memory(memory)

    def scores(self, state: Tensor, features: Tensor, coverage: Tensor | None = None) -> Tensor:
        """(B, S), (B, L, M), (B, L) -> (B, L) before the softmax."""
        inside = features + self.of_state(state)[:, None]  # (B, L, M)
        if self.of_coverage is not None and coverage is not None:
            inside = inside + coverage[..., None] * self.of_coverage
        return inside.tanh() @ self.v

    def forward(
        self, state: Tensor, memory: Tensor, features: Tensor, padding: Tensor,
        coverage: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """-> (B, M) context and (B, L) attention; the context is made with this very attention."""
        attention = masked_softmax(self.scores(state, features, coverage), padding)
        return torch.bmm(attention[:, None], memory)[:, 0], attention


class Memory(NamedTuple):
    """What the decoder may look at, made once for each source text."""

    states: Tensor  # (B, L, 2H)
    features: Tensor  # (B, L, 2H)
    padding: Tensor  # (B, L)


class Carried(NamedTuple):
    """What the decoder carries from one word to the next."""

    h: Tensor  # (B, H)
    c: Tensor  # (B, H)
    context: Tensor  # (B, 2H)
    coverage: Tensor  # (B, L) the sum of all attention so far

    def pick(self, rows: Tensor) -> Carried:
        """Some rows, in this order."""
        return Carried(*(part[rows] for part in self))


class Decoder(nn.Module):
    """An LSTM that fuses each word with the previous context, and attends.

    Parameters
    ----------
    embedding, hidden : int
        E and H.
    coverage : bool
        Whether the attention sees its own past.

    Examples
    --------
    >>> decoder, states = Decoder(8, 5), torch.randn(2, 7, 10)
    >>> memory = decoder.remember(states, torch.zeros(2, 7, dtype=torch.bool))
    >>> start = decoder.start(torch.zeros(2, 5), torch.zeros(2, 5), memory)
    >>> carried, fused, attention = decoder(torch.randn(2, 8), start, memory)
    >>> fused.shape, attention.shape
    (torch.Size([2, 8]), torch.Size([2, 7]))
    """

    def __init__(self, embedding: int, hidden: int, coverage: bool = False) -> None:
        super().__init__()
        self.fuse = nn.Linear(embedding + 2 * hidden, embedding)
        self.cell = nn.LSTMCell(embedding, hidden)
        one_bias(self.cell)
        # The state that attends is the whole of it, h and c.
        self.attention = AdditiveAttention(2 * hidden, 2 * hidden, coverage)

    def remember(self, states: Tensor, padding: Tensor) -> Memory:
        """(B, L, 2H) states, (B, L) padding -> what every step looks at."""
        return Memory(states, self.attention.features(states), padding)

    def start(self, h: Tensor, c: Tensor, memory: Memory) -> Carried:
        """Before the first word there is no context, and nothing is covered."""
        context = memory.states.new_zeros(len(h), memory.states.shape[-1])
        return Carried(h, c, context, memory.states.new_zeros(memory.padding.shape))

    def forward(
        self, embedded: Tensor, carried: Carried, memory: Memory
    ) -> tuple[Carried, Tensor, Tensor]:
        """One word: (B, E) -> what is carried on, the (B, E) fused input, the (B, L) attention."""
        fused = self.fuse(torch.cat([embedded, carried.context], dim=-1))
        h, c = self.cell(fused, (carried.h, carried.c))
        context, attention = self.attention(torch.cat([c, h], dim=-1), *memory, carried.coverage)
        return Carried(h, c, context, carried.coverage + attention), fused, attention
