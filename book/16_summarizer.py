# %% [markdown]
# # The original: a summarizer
#
# Before PGT pointed at places, its ancestor pointed at the names of football players. How can a network write a name that it
# has never met?
#
# *You will be able to* build the network that PGT is named after, and say what PGT made of its parts. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). LSTMs are explained in short;
# [Olah (2015) has pictures](https://colah.github.io/posts/2015-08-Understanding-LSTMs/). *It takes* forty-five minutes to read
# and about a minute to run.
#
# > **In one sentence.** A text lends a number to each word that the network does not know, so the network can copy a name that it
# > has never met: ours writes it right in {{ copied["never met"] }} % of {{ never }} diaries, of {{ n_people }} people
# > (without a pointer: {{ spoken["never met"] }} %; a rule that takes the diary's first place: {{ ruled["never met"] }} %).

# %% tags=["hide-input"]
# @title Setup: install the package (Colab)
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% tags=["hide-input"]
# @title Imports
from collections import Counter
from itertools import islice
from typing import NamedTuple

import pandas as pd
import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, GENERATED, INK, flowchart, show
from wherenext.relatives import summarizer
from wherenext.relatives.summarizer import SMALL, START, UNK, text_batch
from wherenext.results import read_results
from wherenext.summaries import (
    first_is_longest,
    sentence,
    write_diaries,
)

from pgt import colours, plots

torch.set_num_threads(1)

# %% [markdown]
# [See et al. (2017)](https://arxiv.org/abs/1704.04368) made the pointer-generator to summarize news. The trouble with news is
# names. A network that chooses from a fixed list of words can only write "somebody scored". One that only copies cannot
# write "won" where the report says "beat". Theirs does both.
#
# Predicting places has the same trouble: people go to places that training has never shown. PGT adopted half of the cure. We
# build the original. Instead of news it summarizes diaries of our town.
#
# ## Trip diaries
#
# A rule wrote this diary of a few days, and its summary:

# %%
diaries = write_diaries(city.load())
story = diaries.test[9]
print(*story.source)
print("->", *story.summary)

# %% [markdown]
# A summary has four sentences: how full the days are, and whether a place is new; the place of the longest single stay
# ("mostly"; the first of a tie); the other places, with "( new )" at a first visit; and the count of errands. So the network
# must copy names, and generate words such as "errand", which no diary has.
#
# ## Words that nobody knows
#
# Our vocabulary has $V = 120$ entries (`SMALL.n_words`): the words found in the most people's diaries, and four special tokens:
# `[UNK]` (number {{ UNK }}) for every unknown word, padding, a start and a stop. "Spoon" is in the vocabulary, "Street" is not.
#
# How can one answer with a word that has no number? Each text lends numbers to its own unknown words, from $V$ on. Vocabulary
# and lent words together are the **extended vocabulary**.

# %%
words = diaries.words(SMALL.n_words)  # words.number: word -> number


def extend(source):
    """The numbers of a text's words, and its unknown words, in order."""
    # oov: "out of vocabulary"
    oov = list(dict.fromkeys(w for w in source if w not in words))
    number = words.number | {w: len(words) + k for k, w in enumerate(oov)}
    return [number[w] for w in source], oov


numbers, oov = extend(story.source)
number_of = dict(zip(story.source, numbers, strict=True))
print({word: number_of[word] for word in ["the", "Spoon", *oov]})

# %% [markdown]
# ## One word, from two sources
#
# Say that the summary of our story stands at ", the", and "Winter" comes next. Suppose that the network does three things.
#
# - It looks at "Winter" with attention 0.9, at the "the" before it with 0.1.
# - It proposes words of its vocabulary, which lacks "Winter": "the" gets 0.7.
# - It weighs both: generating gets $0.2$, copying $0.8$.
#
# So "Winter" gets $0.8 \cdot 0.9 = 0.72$, all of it copied. But "the" has two sources: $0.2 \cdot 0.7 + 0.8 \cdot 0.1 = 0.22$.
#
# In symbols, step $t$ gives attention $a_i^t$ to word $i$ of the text, probability $P_\text{gen}(\ell)$ to word $\ell$ of the
# vocabulary, and the weight $p_\text{gen}$ to generating. (Capital $P$: a list of probabilities. Small $p$: one weight.) The
# next word is $\ell$ with probability
#
# $$
# P(\ell) = p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen}) \sum_{i:\, l_i = \ell} a_i^t , \tag{16.1}
# $$
#
# where $l_i$ is the word at position $i$. This is equation (8.4), with words in place of locations and $p_\text{gen} = 1 - g$.
# A lent word has $P_\text{gen}(\ell) = 0$: it can only be copied.
#
# The network gets a text twice: in `source` all unknown words have the number of `[UNK]`, in `extended` their lent ones. In a
# batch each text gets $V + O$ probabilities, $O$ being the most words that one of its texts lends. The unused ones stay 0.

# %%
# text_batch: `extend` for several texts, padded
single = text_batch([story.pair], words)  # source, extended: (1, 60)
assert single.extended[0].tolist() == numbers
at = story.source.index("Winter")
print("Winter:", single.source[0, at].item(), single.extended[0, at].item())


# %%
def mix(p_gen, said, a, batch):  # said: P_gen; a: the attention
    """a: (B, L), in training (T, B, L) -> P (..., V + O), O lent words."""
    zeros = torch.zeros(*said.shape[:-1], batch.n_oov)  # for lent words
    generated = torch.cat([p_gen * said, zeros], -1)
    where = batch.extended.expand_as(a)
    return generated.scatter_add(-1, where, (1 - p_gen) * a)


# %% [markdown]
# The step from above:

# %%
a = torch.zeros(single.source.shape)  # (1, L)
a[0, at - 1 : at + 1] = torch.tensor([0.1, 0.9])  # "the", "Winter"
said = torch.full((1, len(words)), 0.3 / (len(words) - 1))
said[0, words.number["the"]] = 0.7
p = mix(torch.tensor([[0.2]]), said, a, single)[0]
for word in ("Winter", "the"):
    print(f"{word} {p[number_of[word]]:.2f}")

# %% [markdown]
# Figure 16.1 shows which part makes which number; the next sections go through it.

# %% tags=["hide-input"]
# @title Figure 16.1: how one word is written
READ = "each word and what\nis around it: $h_i$"
WRITER = "writer: input $x_t$,\nstate $d_t$"
LOOK = "attention $a_i^t$:\nWinter 0.9, the 0.1"
SEEN = "context $c_t$:\nwhat is looked at"
SAY = "vocabulary $P_\\mathrm{gen}$:\nthe 0.7"
WEIGHT = "weight $p_\\mathrm{gen}$:\n0.2"
MIX = "next word:\nWinter 0.72, the 0.22"
STEP = {  # name: x, y, colour, and where its arrows lead
    "last context: $c_{t-1}$,\nlast state: $d_{t-1}$": (-3, 4, INK, WRITER),
    "previous word: the": (-0.2, 4, INK, WRITER),
    "words of the text": (3.2, 4, INK, READ),
    WRITER: (-1.6, 3, colours.EXTRA, LOOK, SAY, WEIGHT),
    READ: (3.2, 3, INK, LOOK),
    LOOK: (3.2, 2, COPIED, SEEN, MIX),
    SEEN: (0.9, 2, COPIED, SAY, WEIGHT),
    SAY: (-0.2, 0.9, GENERATED, MIX),
    WEIGHT: (-3.2, 0.9, colours.GATE, MIX),
    MIX: (1.8, -0.2, colours.TRUTH),
}
figure, axes = plt.subplots(figsize=(7.2, 3.6))
flowchart(axes, STEP)
show(
    figure,
    alt="Last step and previous word lead to the writer; it and the text's "
    "words to the attention, this to what is looked at; both to "
    "vocabulary and weight, all to the next word.",
    caption="One step of writing, with the numbers of our example. The "
    "text is read once, all else is done once for every word.",
)

# %% [markdown]
# ## Reading
#
# Readers and writer are LSTMs. An **LSTM** goes through words one by one and keeps two vectors: its *output*, which it shows,
# and its *cell*, its memory. At each word numbers from 0 to 1, made from the word and the last output, decide how much of the
# cell to keep and to show, and how much to write into it.
#
# Two readers (together: the *encoder*) go through the text, one from each end. Their outputs at word $i$, side by side, are
# $h_i$. So $h_i$ knows the words before and after: the network tells one `[UNK]` from another by where it stands.
#
# Two linear layers with ReLU turn the readers' last outputs and cells into the writer's first.


# %%
class Reader(nn.Module):  # both LSTMs, and what the writer starts from
    def __init__(self, D, H):  # widths of a word and of an LSTM
        super().__init__()
        self.lstm = nn.LSTM(D, H, batch_first=True, bidirectional=True)
        self.first_output = nn.Linear(2 * H, H)
        self.first_cell = nn.Linear(2 * H, H)

    def forward(self, e, length):
        """Words (B, L, D) -> all h_i (B, L, 2H), first output and cell."""
        packed = pack_padded_sequence(  # padding is not read
            e, length, batch_first=True, enforce_sorted=False
        )
        h, (last, cell) = self.lstm(packed)  # last, cell: (2, B, H)
        h, _ = pad_packed_sequence(h, batch_first=True)
        output = self.first_output(torch.cat([*last], -1)).relu()
        return h, output, self.first_cell(torch.cat([*cell], -1)).relu()


# %% [markdown]
# ## The writer's step
#
# The writer (the *decoder*) is an LSTM that makes one step for each word of the summary. Its cell and its output $o_t$, side by
# side, are its **state** $d_t$.
#
# What does it read at each step? The embedding $e_{t-1}$ of the previous word, here "the". But a copied name comes in as
# `[UNK]`, which says nothing. So the writer is also told what it looked at when it wrote that word: the **context** $c_{t-1}$,
# which the next section makes. At first it is zero. A layer fuses both into the input $x_t$:
#
# $$
# \begin{aligned}
# x_t &= W_x \,[\, e_{t-1} \,;\, c_{t-1} \,] + b_x , \\
# d_t &= \text{LSTM}(x_t, d_{t-1}).
# \end{aligned} \tag{16.2}
# $$
#
# `Step` holds what is carried on (output, cell, context) and what else the mixture needs (`a`, `x`).


# %%
class Step(NamedTuple):
    output: torch.Tensor  # (B, H) o_t
    cell: torch.Tensor  # (B, H)
    context: torch.Tensor  # (B, 2H) c_t
    a: torch.Tensor | None = None  # (B, L)
    x: torch.Tensor | None = None  # (B, D)


# %% [markdown]
# ## Looking back
#
# Now the state $d_t$ asks which words of the text matter. Each gets a score. In our step let "Winter" score $2.2$, "the" $0$,
# and all others far less. A softmax makes attention of the scores: as $e^{2.2} \approx 9$ and $e^0 = 1$, "Winter" gets 0.9 and
# "the" 0.1. The context is the mean of what is looked at, here $0.9\, h_\text{Winter} + 0.1\, h_\text{the}$.
#
# For a score PGT multiplies a query and a key. **Additive attention** ([Bahdanau et al.,
# 2015](https://arxiv.org/abs/1409.0473)) adds them, and a small network makes one number of the sum. In symbols:
#
# $$
# \begin{aligned}
# s_i^t &= v_\text{score}^\top \tanh\big( W_h h_i + W_d d_t + b_h \big), \\
# a_i^t &= \frac{e^{s_i^t}}{\sum_j e^{s_j^t}} , \\
# c_t &= \sum_i a_i^t h_i .
# \end{aligned} \tag{16.3}
# $$
#
# The keys $W_h h_i$ are the same at every step, so they are made once for a text.


# %%
class AdditiveAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.v = nn.Parameter(torch.randn(width) / width**0.5)
        self.key = nn.Linear(width, width, bias=False)  # W_h
        self.query = nn.Linear(width, width)  # W_d and b_h

    def forward(self, d, h, keys, padding):
        """d (B, 2H), h and its keys (B, L, 2H) -> context, a (B, L)."""
        s = (keys + self.query(d)[:, None]).tanh() @ self.v  # (B, L)
        a = s.masked_fill(padding, -torch.inf).softmax(-1)
        return (a[:, None] @ h)[:, 0], a  # the context has (B, 2H)


# %% [markdown]
# Equations (16.2) and (16.3) make one module:


# %%
class Ask(nn.Module):
    def __init__(self, D, H):
        super().__init__()
        self.fuse = nn.Linear(D + 2 * H, D)
        self.lstm = nn.LSTMCell(D, H)
        self.attention = AdditiveAttention(2 * H)

    def forward(self, word, last, memory):  # h, keys, padding
        """The previous word (B, D) and the last Step -> this Step."""
        x = self.fuse(torch.cat([word, last.context], -1))  # (B, D)
        output, cell = self.lstm(x, (last.output, last.cell))  # (B, H) twice
        d = torch.cat([cell, output], -1)  # (B, 2H)
        context, a = self.attention(d, *memory)
        return Step(output, cell, context, a, x)


# %% [markdown]
# ## Generate, or copy?
#
# Vocabulary and weight are left:
#
# $$
# \begin{aligned}
# P_\text{gen} &= \operatorname{softmax}\big( W_2 \,( W_1 [\, o_t \,;\, c_t \,] + b_1 ) + b_2 \big), \\
# p_\text{gen} &= \sigma\big( w_g^\top [\, c_t \,;\, d_t \,;\, x_t \,] + b_g \big).
# \end{aligned} \tag{16.4}
# $$
#
# $W_2$ has a row for each word of the vocabulary. In our step let $p_\text{gen}$ be $\sigma(-1.4) \approx 0.2$: rather copy.


# %%
class Speak(nn.Module):
    def __init__(self, V, D, H):
        super().__init__()
        self.gate = nn.Linear(4 * H + D, 1)
        self.narrow = nn.Linear(3 * H, H)  # W_1 and b_1
        self.generate = nn.Linear(H, V)  # W_2 and b_2

    def forward(self, now):
        """A Step -> p_gen (B, 1), P_gen (B, V)."""
        d = torch.cat([now.cell, now.output], -1)
        p_gen = self.gate(torch.cat([now.context, d, now.x], -1)).sigmoid()
        narrow = self.narrow(torch.cat([now.output, now.context], -1))
        return p_gen, self.generate(narrow).softmax(-1)


# %%
class MySummarizer(nn.Module):
    def __init__(self, V, D, H):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.reader, self.ask = Reader(D, H), Ask(D, H)
        self.speak = Speak(V, D, H)

    def read(self, batch):
        """-> (h, keys, padding), and what the writer starts from."""
        e = self.embedding(batch.source)  # (B, L, D), lent words as [UNK]
        h, output, cell = self.reader(e, batch.length)
        keys = self.ask.attention.key(h)
        first = Step(output, cell, torch.zeros_like(h[:, 0]))
        return (h, keys, batch.padding), first


# %% [markdown]
# ## Training
#
# In training the writer is fed the *true* previous words (**teacher forcing**). The loss of a word is $-\log P$ of the true one.
#
# A batch has `given`, what the writer is fed: the start, then the true words. `target` is what it is asked for: the true words,
# then the stop. `taught` is 0 where a summary has ended. Around "Winter" they are:

# %%
k = story.summary.index("Winter")
words_of = {"given": single.given[0], "target": single.target[0]}
columns = ["Winter", "Spoon", story.summary[k + 2]]
pd.DataFrame(words_of).iloc[k : k + 3].T.set_axis(columns, axis=1)

# %% [markdown]
# A column is headed by the word that is asked for. **As an input "Winter" is `[UNK]`, 0, as a target its lent number.** This is the
# trick of the whole network. Only a word that stands neither in vocabulary nor text is `[UNK]` as a target, too.


# %%
def loss_of(network, batch):
    """Mean over texts of the mean over their words."""
    memory, now = network.read(batch)
    steps = []
    for word in network.embedding(batch.given.T):  # T times (B, D)
        now = network.ask(word, now, memory)
        steps.append(now)
    # Of each field, T tensors become one.
    now = Step(*map(torch.stack, zip(*steps, strict=True)))
    p_gen, said = network.speak(now)  # of all steps
    p = mix(p_gen, said, now.a, batch)  # (T, B, V + O)
    true = p.gather(-1, batch.target.T[..., None])[..., 0]  # (T, B)
    # As in the paper; in logarithms it would be safer (chapter 9).
    loss = -true.log() * batch.taught.T
    return (loss.sum(0) / batch.taught.sum(1)).mean()


# %% [markdown]
# We train a small network, by a loop like that of [chapter 10](10_training.ipynb): {{ n_steps }} batches of {{ training.batch }}
# diaries, Adam with a rate of {{ training.learning_rate }}, gradients clipped at {{ training.clip:.0f }}. Guessing evenly costs
# $\ln 120 \approx 4.8$ a word.

# %%
training = summarizer.SummarizerTraining()
pairs = [d.pair for d in diaries.train]


def learn(network, known, n_steps):
    """Learn from a stream of training batches; the loss of each step."""
    adam = torch.optim.Adam(network.parameters(), training.learning_rate)
    batches, losses = summarizer.stream(pairs, known, SMALL, training), []
    for batch in islice(batches, n_steps):
        loss = loss_of(network, batch)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), training.clip)
        adam.step()
        losses.append(loss.item())
    return losses


# %%
n_steps, D, H = 520, 32, 32
torch.manual_seed(0)
model = MySummarizer(len(words), D, H)
losses = learn(model, words, n_steps)
print(f"loss a word from {losses[0]:.1f} to {losses[-1]:.1f}")

# %% [markdown]
# ## A summary, word by word
#
# The simplest way to write is **greedy**: take the most probable word, feed it back, go on until the stop.


# %%
@torch.no_grad()
def write(network, batch):
    """The words (B, T) as numbers, and each one's p_gen and attention."""
    memory, now = network.read(batch)
    word, found = torch.full((len(batch),), START), []
    for _ in range(SMALL.max_summary):  # decode cuts at the stop
        now = network.ask(network.embedding(word), now, memory)
        p_gen, said = network.speak(now)
        best = mix(p_gen, said, now.a, batch).argmax(-1)  # (B,) of V + O
        found.append((best, p_gen[:, 0], now.a))
        word = best.where(best < said.shape[-1], UNK)  # lent: as [UNK]
    return [torch.stack(part, 1) for part in zip(*found, strict=True)]


# %%
wrote, p_gen, attention = write(model, single)
draft = words.decode(wrote[0].tolist(), oov)  # numbers -> words
print("true: ", *story.summary)
print("yours:", *draft)

# %% [markdown]
# Which words are wrong, if any, differs from machine to machine: each adds up the same numbers in another order.

# %% tags=["hide-input"]
# @title Figure 16.2: where each word of the summary comes from
shares = {w: torch.zeros(len(draft)) for w in story.source}
for word, column in zip(story.source, attention[0].T, strict=True):
    shares[word] += column[: len(draft)]  # as in equation (16.1)
labels = [w for w, share in shares.items() if share.max() >= 0.15]
labels.sort(key=lambda w: w in (".", ","))
names = [{".": "full stop", ",": "comma"}.get(w, w) for w in labels]
figure, axes = plt.subplots(figsize=(7.4, 6.2))
grid = torch.stack([shares[w] for w in labels], 1)
plots.attention(grid, labels=names, axes=axes)
weights = p_gen[0, : len(draft)].tolist()
rows = [f"{w}  {p:.2f}" for w, p in zip(draft, weights, strict=True)]
axes.set_yticks(torch.arange(len(draft)) + 0.5, rows, fontsize=9)
label = r"summary as written, and $p_\mathrm{gen}$"
axes.set(xlabel="words of the diary", ylabel=label)
axes.tick_params(axis="x", rotation=90, labelsize=9.5)
for label, p in zip(axes.get_yticklabels(), weights, strict=True):
    label.set_color(GENERATED if p >= 0.5 else COPIED)
show(
    figure,
    alt="Heat map, summary by words of the diary; a bright diagonal where "
    "names are, a bright column at the full stop.",
    caption="Orange words are generated, blue ones copied; the number is "
    "the weight of the vocabulary. Each row is the attention of one step, "
    "summed over equal words of the diary; it is spread out in a dark row. "
    "Words that never get 0.15 of it are left out.",
)

# %% [markdown]
# The diagonal of figure 16.2 is names, copied word after word. The network also copies the full stops, the comma and "the",
# which it could generate. Where it generates, it mostly looks at the full stops (all together). The weight is nearly 0 or 1,
# unlike PGT's gate ([chapter 8](08_generator_and_gate.ipynb)): our explanation is that the words already written mostly say
# whether a name or a fixed phrase comes next.
#
# ## Names that training never had
#
# Rename the place where this person ate. **Change this** to any word that neither the vocabulary nor this diary has.

# %%
my_place = "Zanzibar"  # @param {type:"string"}
renamed = [my_place if w == "Winter" else w for w in story.source]
yours = text_batch([(renamed, [])], words)
print(*words.decode(write(model, yours)[0][0].tolist(), yours.oov[0]))

# %% [markdown]
# To the network nothing has changed: it reads `[UNK]` and answers with the same numbers. Only the list of lent words is new.
#
# Now the test: {{ n_train }} diaries are for training, and {{ n }} of other people for the test. How often is the second
# sentence right, "mostly at" and a name? In {{ never }} diaries this name was *never met*: at least one of its words is in no
# training text. (All others we call *met*.)

# %%
every = diaries.words()  # all words of the training diaries


def kind_of(named):
    return "met" if all(w in every for w in named) else "never met"


kinds = [kind_of(sentence(d.summary, 1)) for d in diaries.test]  # from 0
n_train, n, never = len(pairs), len(kinds), kinds.count("never met")


# %%
def summaries_of(network, known):
    """Its summaries of all test diaries."""
    batch = text_batch([d.pair for d in diaries.test], known)
    rows = zip(write(network, batch)[0].tolist(), batch.oov, strict=True)
    return [known.decode(row, oov) for row, oov in rows]


def second_right(summaries):
    """How often the second sentence is right, in %."""
    right = Counter()
    for own, d, kind in zip(summaries, diaries.test, kinds, strict=True):
        right[kind] += sentence(own, 1) == sentence(d.summary, 1)
    return {k: round(100 * right[k] / kinds.count(k)) for k in right}


ours = summaries_of(model, words)
copied = second_right(ours)
print("right, in %:", copied)

# %% [markdown]
# Do not compare {{ copied["never met"] }} with {{ copied["met"] }}: the {{ never }} diaries, of {{ n_people }} people, are
# easier (a rule that takes the diary's first place is right in {{ ruled["never met"] }} % of them, and in {{ ruled["met"] }} %
# of the others). What counts is that a network can write such a name at all. The next one cannot.
#
# ## What the pointer is worth
#
# We train the same network without a pointer: it looks back by equation (16.3), but the vocabulary gets all the weight. To be
# fair we let it know *every* word of the training diaries, {{ n_every }} instead of {{ SMALL.n_words }}. (So no training target
# is lent.)


# %%
class OnlySpeak(Speak):
    def forward(self, now):
        p_gen, said = super().forward(now)
        return torch.ones_like(p_gen), said


torch.manual_seed(0)
speaker = MySummarizer(len(every), D, H)
speaker.speak = OnlySpeak(len(every), D, H)
learn(speaker, every, n_steps)
spoken = second_right(summaries_of(speaker, every))
print("right, in %:", spoken)

# %% [markdown]
# Of the names that it has met it rarely writes the right one. Does it only need more training? The table has means of three
# seeds (ours, without a pointer, was a lucky one), also after {{ longer }} times as many steps.

# %% tags=["hide-input"]
# @title Table: what is right, with a pointer and without
results = read_results("summarizer")
longer, n_every = results.header["longer"], len(every)
whose = zip(diaries.test, kinds, strict=True)
n_people = len({d.user_id for d, kind in whose if kind == "never met"})
firsts = 100 * pd.Series(map(first_is_longest, diaries.test)).astype(float)
ruled = firsts.groupby(kinds).mean().round().astype(int)
rows = results.rows[results.rows.search != "beam"]
met = (n * rows.mostly - never * rows.mostly_never) / (n - never)
measures = ["met", "mostly_never", "exact"]
means = rows.assign(met=met).groupby("what")[measures].mean()
both = ["sequence to sequence, all words", "pointer-generator"]
table = means.loc[[*both, *(f"{name}, trained longer" for name in both)]]
table = table.T.round().astype(int)
table = table.set_axis(["name met", "name never met", "whole summary"])
soon = table.loc["whole summary"].iloc[1]
steps = [f"{n_steps} steps", f"{longer * n_steps} steps"]
table.columns = pd.MultiIndex.from_product([steps, ["no pointer", "pointer"]])
table.rename_axis(["", "right, %"], axis=1)

# %% [markdown]
# Names never met stay at 0: without a pointer the network has no number for them. **At names met it is catching up, and has not
# finished.** Our explanation: it learns for each word separately to turn what it looks at into that word. A pointer learns to copy
# once for all.
#
# Even with a pointer only {{ soon }} % of whole summaries are right after {{ n_steps }} steps: the second sentence is learned
# before the others.
#
# ## What PGT made of it
#
# PGT kept the mixture, with $g = 1 - p_\text{gen}$. It reads with a Transformer and asks by a dot product with a position bias
# ([chapter 17](17_side_by_side.ipynb) compares them). As one place is asked for, it needs no writer. It lends no numbers;
# [chapter 22](22_open_vocabulary.ipynb) repairs that.
#
# ## What to remember
#
# - A network can copy a name that it has never met, since the text lends the name a number.
# - Without a pointer it has no number for such a name, however long it trains. At names met it catches up slowly.
# - PGT kept the mixture and reversed the gate.
#
# ## Exercises
#
# **Exercise 1** (quick, by hand). A batch holds two texts; the vocabulary has 120 entries. The first text lends three words a
# number, the second five. How many probabilities does each text get in this batch? What is the number of the last lent
# word of the second text? And how many entries of the first text's row are zero whatever the network says?

# %% tags=["try"]
wide, last_lent, never_used = ..., ..., ...
check.exercise("16.1", [wide, last_lent, never_used])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
wide, last_lent, never_used = 120 + 5, 120 + 5 - 1, 5 - 3
check.exercise("16.1", [wide, last_lent, never_used])
# Numbers begin at 0, so the lent ones at 120. In the first text 123 and 124
# stand for no word: nothing there can be copied to them.

# %% [markdown]
# **Exercise 2** (medium). Networks that write tend to repeat themselves. The paper's cure, **coverage**, adds to the loss of step
# $t$ the penalty $\sum_i \min(a_i^t, C_i^t)$, where $C_i^t$ is all attention that position $i$ had before. (On our diaries
# [it does not help](evidence_relatives.ipynb).) Write `penalty(a)`, these penalties summed over all steps, for the attention `a`
# $(T, L)$. A text has four words, and four steps are written. How large is the sum if all look at the same word? If each looks
# at another? If each looks evenly at all four?

# %% tags=["try"]
def penalty(a):
    return ...


same_word, in_turn = torch.eye(4)[[0, 0, 0, 0]], torch.eye(4)
evenly = torch.full((4, 4), 0.25)
check.exercise("16.2", [penalty(a) for a in (same_word, in_turn, evenly)])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def penalty(a):
    covered = a.cumsum(0) - a  # before each step
    return torch.minimum(a, covered).sum()


check.exercise("16.2", [penalty(a) for a in (same_word, in_turn, evenly)])
# Looking everywhere costs as much as staring: all steps but the first look
# only where one has looked.

# %% [markdown]
# **Exercise 3** (medium). For PGT's first guess [the gate hardly matters](08_generator_and_gate.ipynb). And here? By hand: up
# to which $p_\text{gen}$ is "Winter" more probable than "the" in our step? In code: make every $p_\text{gen}$ the same. With
# the best of 0.3, 0.5, 0.7 and 0.9, how often is the second sentence right at most, over both groups? Look also at what
# `p_gen.round()` does.

# %% tags=["try"]
class Changed(Speak):
    def forward(self, now):
        p_gen, said = super().forward(now)
        return self.change(p_gen), said


changed = MySummarizer(len(words), D, H)
changed.speak = Changed(len(words), D, H)
changed.load_state_dict(model.state_dict())
changed.speak.change = lambda p_gen: p_gen
print(second_right(summaries_of(changed, words)))
limit, best = ..., ...  # the best in %
check.exercise("16.3", [limit, best])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def same(p_gen):
    return torch.full_like(p_gen, to)


changed.speak.change, best = same, 0
for to in (0.3, 0.5, 0.7, 0.9):
    best = max(best, *second_right(summaries_of(changed, words)).values())
    written = write(changed, single)[0][0, :12].tolist()
    print(to, *words.decode(written, oov))
changed.speak.change = torch.round
print("rounded:", second_right(summaries_of(changed, words)))
limit = 0.8 / 1.5  # where 0.9 (1 - p) = 0.7 p + 0.1 (1 - p)
check.exercise("16.3", [limit, best])
print(f"up to {limit:.2f}; best: {best} %")
# No constant will do: up to the middle the network copies a full stop that it
# looks at, above it generates where it should copy, and a wrong word is read
# at the next step. Rounded, nothing is lost: this gate is a switch.

# %% [markdown]
# **Next:** [Side by side](17_side_by_side.ipynb), where parent and child stand in one table.
