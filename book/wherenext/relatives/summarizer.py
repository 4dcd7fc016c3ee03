"""The original: the pointer-generator network for summaries of See, Liu and Manning (2017).

See https://arxiv.org/abs/1704.04368. Chapter 16 builds it, chapter 17 puts it beside PGT.

A word that the vocabulary lacks is unknown (`UNK`) to the embeddings. Copying can still name it:
each source text lends its unknown words numbers of their own, ``len(words)``, ``len(words) + 1``, …

Shapes: B texts, L words of a source, T of a summary, V of the vocabulary, O lent ones; E = width of
the embeddings, H = hidden size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, takewhile
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

# The numbers of the published code (https://github.com/abisee/pointer-generator).
UNK, PAD, START, STOP = range(4)
SPECIAL = ("[UNK]", "[PAD]", "[START]", "[STOP]")

Text = Sequence[str]
Pair = tuple[Text, Text]  # a source and its summary


class Words:
    """The words that a model knows, whose numbers start after the four special ones."""

    def __init__(self, known: Iterable[str]) -> None:
        self.names = [*SPECIAL, *known]
        self.number = {word: k for k, word in enumerate(self.names)}

    @classmethod
    def most_frequent(cls, texts: Iterable[Text], n_words: int | None = None) -> Words:
        """The most frequent words, alphabetical where equal; ``n_words`` includes special ones."""
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

    def encode_summary(self, summary: Text, oov: Sequence[str]) -> list[int]:
        """Numbers of a summary's words, given the words that its source lends."""
        extended = {word: len(self) + k for k, word in enumerate(oov)}
        return [self.number.get(word, extended.get(word, UNK)) for word in summary]

    def decode(self, numbers: Iterable[int], oov: Sequence[str] = ()) -> list[str]:
        """Words of numbers, up to the stop."""
        names = [*self.names, *oov]
        return [names[number] for number in takewhile(lambda number: number != STOP, numbers)]


@dataclass(frozen=True)
class TextBatch:
    """Sources and summaries as numbers, padded at the end."""

    source: Tensor  # (B, L) numbers in the vocabulary
    extended: Tensor  # (B, L) the same, with lent numbers for unknown words
    length: Tensor  # (B,) words in each source
    given: Tensor  # (B, T) what the decoder is given when it is taught: the start, the summary
    target: Tensor  # (B, T) what it should answer: the summary, the stop; with lent numbers
    oov: tuple[list[str], ...]  # the words that each source lends

    @property
    def padding(self) -> Tensor:
        """(B, L) True where a source has no word."""
        return self.source == PAD

    @property
    def taught(self) -> Tensor:
        """(B, T) True where there is something to answer."""
        return self.target != PAD

    @property
    def n_oov(self) -> int:
        """The most words that a source of the batch lends."""
        return max(map(len, self.oov), default=0)

    def __len__(self) -> int:
        return len(self.source)


def text_batch(
    pairs: Sequence[Pair], words: Words, max_source: int = 400, max_summary: int = 100
) -> TextBatch:
    """Number and pad pairs of source and summary; longer ones are cut."""
    rows, oov = [], []
    for source, summary in pairs:
        extended, new = words.extend(source[:max_source])
        given = [START, *words.encode(summary)][:max_summary]
        target = [*words.encode_summary(summary, new), STOP][:max_summary]
        rows.append((words.encode(source[:max_source]), extended, given, target))
        oov.append(new)
    length = torch.tensor([len(row[0]) for row in rows])
    one, two, three, four = (
        pad_sequence([*map(torch.tensor, part)], batch_first=True, padding_value=PAD)
        for part in zip(*rows, strict=True)
    )
    return TextBatch(one, two, length, three, four, tuple(oov))


def one_bias(lstm: nn.LSTM | nn.LSTMCell) -> None:
    """Leave an LSTM one bias per gate, in place, with 1 for the forget gate as in TensorFlow."""
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(parameter)
            parameter.requires_grad_(name.startswith("bias_ih"))
        if name.startswith("bias_ih"):
            nn.init.ones_(parameter[lstm.hidden_size : 2 * lstm.hidden_size])


def masked_softmax(scores: Tensor, padding: Tensor) -> Tensor:
    """Softmax over the last axis, (..., L), in which padding has no part; a row needs one word."""
    return scores.masked_fill(padding, -torch.inf).softmax(-1)


def renormalised_softmax(scores: Tensor, padding: Tensor) -> Tensor:
    """The same in the order of the published code, which can divide zero by zero."""
    shares = scores.softmax(-1) * ~padding
    return shares / shares.sum(-1, keepdim=True)


class Encoder(nn.Module):
    """A bidirectional LSTM over embedded words, padding skipped."""

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True, bidirectional=True)
        one_bias(self.lstm)

    def forward(self, embedded: Tensor, length: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(B, L, E), (B,) -> (B, L, 2H) states, zero at padding; last (B, 2H) h and (B, 2H) c."""
        longest = embedded.shape[1]
        if bool((length == longest).all()):  # nothing to skip, and several times faster
            states, (h, c) = self.lstm(embedded)
        else:
            packed = pack_padded_sequence(embedded, length.cpu(), True, enforce_sorted=False)
            states, (h, c) = self.lstm(packed)  # h, c: (2, B, H), forward and backward
            states, _ = pad_packed_sequence(states, True, total_length=longest)  # (B, L, 2H)
        return states, (torch.cat([*h], dim=-1), torch.cat([*c], dim=-1))


class ReduceState(nn.Module):
    """The last states of both directions, reduced to the first state of the decoder."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.h = nn.Linear(2 * hidden, hidden)
        self.c = nn.Linear(2 * hidden, hidden)

    def forward(self, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 2H) and (B, 2H) -> (B, H) and (B, H)."""
        return self.h(h).relu(), self.c(c).relu()


class AdditiveAttention(nn.Module):
    """Bahdanau's attention (2015), https://arxiv.org/abs/1409.0473, with coverage by See et al."""

    def __init__(self, memory: int, state: int, coverage: bool = False) -> None:
        super().__init__()
        self.of_memory = nn.Linear(memory, memory, bias=False)
        self.of_state = nn.Linear(state, memory)
        self.of_coverage = nn.Parameter(torch.zeros(memory)) if coverage else None
        self.v = nn.Parameter(torch.empty(memory).uniform_(-(memory**-0.5), memory**-0.5))

    def forward(
        self, state: Tensor, memory: Tensor, features: Tensor, padding: Tensor,
        coverage: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """(B, S) state, (B, L, M) memory, `of_memory` of it -> (B, M) context, (B, L) attention."""
        inside = features + self.of_state(state)[:, None]  # (B, L, M)
        if self.of_coverage is not None and coverage is not None:
            inside = inside + coverage[..., None] * self.of_coverage
        attention = masked_softmax(inside.tanh() @ self.v, padding)
        return torch.bmm(attention[:, None], memory)[:, 0], attention


class Memory(NamedTuple):
    """What the decoder may look at, made once for each source text."""

    states: Tensor  # (B, L, 2H)
    features: Tensor  # (B, L, 2H)
    padding: Tensor  # (B, L)


class DecoderState(NamedTuple):
    """What the decoder carries from one word to the next."""

    h: Tensor  # (B, H)
    c: Tensor  # (B, H)
    context: Tensor  # (B, 2H)
    coverage: Tensor  # (B, L) the sum of all attention so far


class Decoder(nn.Module):
    """An LSTM that fuses each word with the previous context, and attends."""

    def __init__(self, embedding: int, hidden: int, coverage: bool = False) -> None:
        super().__init__()
        self.fuse = nn.Linear(embedding + 2 * hidden, embedding)
        self.cell = nn.LSTMCell(embedding, hidden)
        one_bias(self.cell)
        # The state that attends is the whole of it, h and c.
        self.attention = AdditiveAttention(2 * hidden, 2 * hidden, coverage)

    def start(
        self, states: Tensor, padding: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Memory, DecoderState]:
        """(B, L, 2H) states: at first there is no context, and nothing is covered."""
        context = states.new_zeros(len(h), states.shape[-1])
        memory = Memory(states, self.attention.of_memory(states), padding)
        return memory, DecoderState(h, c, context, states.new_zeros(padding.shape))

    def forward(
        self, embedded: Tensor, carried: DecoderState, memory: Memory
    ) -> tuple[DecoderState, Tensor, Tensor]:
        """One word: (B, E) -> what is carried on, the (B, E) fused input, the (B, L) attention."""
        fused = self.fuse(torch.cat([embedded, carried.context], dim=-1))
        h, c = self.cell(fused, (carried.h, carried.c))
        context, attention = self.attention(torch.cat([c, h], dim=-1), *memory, carried.coverage)
        return DecoderState(h, c, context, carried.coverage + attention), fused, attention


@dataclass(frozen=True)
class SummarizerConfig:
    """Everything that shapes a summarizer; as it comes, the paper's."""

    n_words: int = 50_000  # V, the four special words included
    embedding: int = 128  # E, shared by encoder and decoder
    hidden: int = 256  # H, of each direction of the encoder, and of the decoder
    max_source: int = 400  # the most words that are read
    max_summary: int = 100  # the most words that are written
    beam: int = 4
    pointer: bool = True  # without it, the sequence-to-sequence model with attention
    coverage: bool = False  # whether the attention sees its own past and is fined for going back


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
    """Reads a text, and writes its summary word by word: generated, or copied from the text."""

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

    def read(self, batch: TextBatch) -> tuple[Memory, DecoderState]:
        """Encode the sources: what the decoder looks at, and what it starts from."""
        states, last = self.encoder(self.embedding(batch.source), batch.length)
        return self.decoder.start(states, batch.padding, *self.reduce(*last))

    def embed(self, word: Tensor) -> Tensor:
        """(...) -> (..., E); a lent word has no embedding and goes as unknown."""
        return self.embedding(word.where(word < self.config.n_words, UNK))

    def speak(self, carried: DecoderState, fused: Tensor) -> tuple[Tensor, Tensor]:
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
        stacked = DecoderState(*(torch.stack(part, dim=1) for part in zip(*steps, strict=True)))
        p_gen, vocabulary = self.speak(stacked, torch.stack(inputs, dim=1))
        return Output(p_gen, torch.stack(attentions, 1), torch.stack(coverages, 1), vocabulary)

    def distribution(self, output: Output, batch: TextBatch) -> Tensor:
        """(B, T, V + O) probability of every known and every lent word; sums to one."""
        p_gen, attention, _, vocabulary = output
        extended = batch.extended[:, None].expand_as(attention)
        return mixture(p_gen, vocabulary, attention, extended, batch.n_oov)

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
        total = words + coverage if self.config.coverage else words
        return Loss(words, coverage, total, (output.p_gen * weight).sum(1).mean().detach())

    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


def mixture(
    p_gen: Tensor, vocabulary: Tensor, attention: Tensor, extended: Tensor, n_oov: int
) -> Tensor:
    """(...), (..., V), (..., L), (..., L) -> (..., V + O): generated or copied."""
    generated = p_gen[..., None] * vocabulary
    none = generated.new_zeros(*generated.shape[:-1], n_oov)
    copied = (1 - p_gen)[..., None] * attention
    return torch.cat([generated, none], dim=-1).scatter_add(-1, extended, copied)


@dataclass(frozen=True)
class Hypothesis:
    """A summary, perhaps unfinished."""

    numbers: tuple[int, ...] = ()  # its words; the stop at its end counts as one
    log_prob: float = 0.0  # of all its words together
    p_gen: tuple[float, ...] = ()  # probability of generating, for each word
    attention: tuple[Tensor, ...] = ()  # over the source, for each word; (L,) each

    @property
    def score(self) -> float:
        """Mean log-probability of a word."""
        return self.log_prob / max(len(self.numbers), 1)

    @property
    def finished(self) -> bool:
        """Whether it ends with the stop."""
        return self.numbers[-1:] == (STOP,)

    def words(self, vocabulary: Words, oov: Sequence[str]) -> list[str]:
        return vocabulary.decode(self.numbers, oov)


def _grown(
    drafts: Sequence[Hypothesis | None], rows: range, values: list[list[float]],
    numbers: list[list[int]],
) -> list[tuple[float, int, int, Hypothesis]]:  # fmt: skip
    """A text's drafts, each with each of its likeliest next words, the likeliest first."""
    longer = [
        (draft.log_prob + value, row, number, draft)
        for row in rows
        if (draft := drafts[row]) is not None
        for value, number in zip(values[row], numbers[row], strict=True)
    ]
    return sorted(longer, key=lambda one: -one[0])


@torch.no_grad()
def beam_search(model: PointerGenerator, batch: TextBatch, beam: int) -> list[Hypothesis]:
    """The best summary found for each source, of so many drafts at each word."""
    n, k = len(batch), beam
    memory, carried = model.read(batch)
    rows = torch.arange(n, device=batch.source.device).repeat_interleave(k)  # k rows a text
    memory = Memory(*(part[rows] for part in memory))
    carried = DecoderState(*(part[rows] for part in carried))
    word = torch.full_like(rows, START)
    # At first all k drafts of a text would be the same, so there is one.
    drafts = [Hypothesis() if row % k == 0 else None for row in range(n * k)]
    done: list[list[Hypothesis]] = [[] for _ in range(n)]
    for _ in range(model.config.max_summary):
        carried, fused, attention = model.decoder(model.embed(word), carried, memory)
        p_gen, vocabulary = model.speak(carried, fused)
        chances = mixture(p_gen, vocabulary, attention, batch.extended[rows], batch.n_oov)
        likeliest = chances.log().topk(min(2 * k, chances.shape[-1]), dim=-1)
        values, numbers = likeliest.values.tolist(), likeliest.indices.tolist()
        gates = p_gen.tolist()
        parent, following = list(range(n * k)), [STOP] * (n * k)
        longer: list[Hypothesis | None] = [None] * (n * k)
        for text in range(n):
            slot, end = text * k, (text + 1) * k
            for log_prob, row, number, draft in _grown(drafts, range(slot, end), values, numbers):
                if slot == end or len(done[text]) == k:
                    break
                seen = attention[row, : int(batch.length[text])]
                draft = Hypothesis((*draft.numbers, number), log_prob, (*draft.p_gen, gates[row]),
                              (*draft.attention, seen))  # fmt: skip
                if number == STOP:
                    done[text].append(draft)
                else:
                    parent[slot], following[slot], longer[slot] = row, number, draft
                    slot += 1
        drafts = longer
        if not any(drafts):
            break
        carried = DecoderState(*(part[parent] for part in carried))
        word = torch.tensor(following, device=rows.device)
    ends = [done[text] or drafts[text * k : (text + 1) * k] for text in range(n)]
    best = [max(filter(None, some), key=lambda draft: draft.score) for some in ends]
    if k == 1:
        return best
    # A finished summary is better than one that was cut off.
    pairs = zip(best, beam_search(model, batch, 1), strict=True)
    return [max(pair, key=lambda draft: (draft.finished, draft.score)) for pair in pairs]


@dataclass(frozen=True)
class SummarizerTraining:
    """How a summarizer is trained."""

    steps: int = 400  # batches without coverage
    coverage_steps: int = 120  # batches with coverage after them
    batch: int = 16  # texts in a batch
    # The paper has Adagrad with a learning rate of 0.15 and accumulators that start at 0.1.
    optimizer: Literal["adam", "adagrad"] = "adam"
    learning_rate: float = 0.005
    clip: float = 2.0  # the largest norm of a gradient
    seed: int = 0  # of the first weights and of the order of the texts


def stream(
    pairs: Sequence[Pair], words: Words, config: SummarizerConfig, training: SummarizerTraining
) -> Iterator[TextBatch]:
    """Batches without end, of one length each; what an epoch has left over comes in mixed ones."""
    size = training.batch
    for epoch in count():
        rng = np.random.default_rng(training.seed * 1000 + epoch)
        by_length: dict[int, list[int]] = {}
        for k in rng.permutation(len(pairs)).tolist():
            by_length.setdefault(len(pairs[k][0]), []).append(k)
        cut, rest = [], list[int]()
        for _, same in sorted(by_length.items()):
            whole = len(same) - len(same) % size
            cut += [same[at : at + size] for at in range(0, whole, size)]
            rest += same[whole:]
        cut += [rest[at : at + size] for at in range(0, len(rest), size)]
        for at in rng.permutation(len(cut)):
            some = [pairs[k] for k in cut[at]]
            yield text_batch(some, words, config.max_source, config.max_summary)


def new_summarizer(
    config: SummarizerConfig, training: SummarizerTraining, words: Words
) -> PointerGenerator:
    """An untrained one for these words, without coverage yet."""
    torch.manual_seed(training.seed)
    return PointerGenerator(replace(config, n_words=len(words), coverage=False))


def train(
    model: PointerGenerator, source: Iterator[TextBatch], steps: int, training: SummarizerTraining
) -> pd.DataFrame:
    """Learn from some batches, with a fresh optimizer: a row a step, all means over its words."""
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer: torch.optim.Optimizer = torch.optim.Adam(learned, lr=training.learning_rate)
    if training.optimizer == "adagrad":
        optimizer = torch.optim.Adagrad(
            learned, training.learning_rate, initial_accumulator_value=0.1
        )
    model.train()
    rows = []
    for batch in islice(source, steps):
        loss = model.loss(batch)
        optimizer.zero_grad()
        loss.total.backward()
        norm = torch.nn.utils.clip_grad_norm_(learned, training.clip)
        optimizer.step()
        said = {name: getattr(loss, name).item() for name in ("words", "coverage", "p_gen")}
        rows.append(said | {"gradient": norm.item()})
    return pd.DataFrame(rows)


def fit_summarizer(
    config: SummarizerConfig, training: SummarizerTraining, words: Words, pairs: Sequence[Pair]
) -> tuple[PointerGenerator, pd.DataFrame]:
    """Train a summarizer, without coverage and then with it: the model, and the rows of `train`."""
    model = new_summarizer(config, training, words)
    source = stream(pairs, words, config, training)
    history = train(model, source, training.steps, training).assign(phase="without coverage")
    if config.coverage:
        model = model.with_coverage()
        more = train(model, source, training.coverage_steps, training)
        history = pd.concat([history, more.assign(phase="with coverage")], ignore_index=True)
    return model.eval(), history
