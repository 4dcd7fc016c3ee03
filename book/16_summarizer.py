# %% [markdown]
# # The original: a summarizer
#
# *You will be able to* build and train the network from which PGT has its name, decode with it word by word
# and with a beam, and say which of its parts PGT kept, turned round or dropped. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It
# takes* forty minutes to read and less than a minute to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import rouge_score  # noqa: F401

    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q 'pgt[summarizer] @ https://github.com/where-next-book/where-next/archive/main.zip'",
    )

# %% [markdown]
# The pointer-generator was not made for places. [See et al. (2017)](https://arxiv.org/abs/1704.04368) made it to
# summarize news. The trouble with news is names: a summary of a football match needs the names of the players,
# and most of them are rare. A network that chooses from a fixed list of words can only write "somebody
# scored". A network that can only copy cannot write "won" where the report says "beat". So theirs does both,
# and a number decides at every word. You know that number. It is one minus the gate.
#
# In this chapter we build the original, whole: two LSTMs, attention, pointer, coverage, beam search. We
# cannot ship its news. But we have a town, and people with days to tell of.
#
# ## Trip diaries
#
# Here is a stretch of days of one person, told by a rule: every stay with its time, its place, its purpose and
# its length. And here is its summary.

# %%
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt

from pgt import city
from pgt.analysis.results import read_results
from pgt.relatives.summarizer.diaries import write_diaries
from pgt.viz.figures import COPIED, EXTRA, GATE, GENERATED, INK, MUTED, TRUTH, show

torch.set_num_threads(1)
diaries = write_diaries(city.load())
story = next(d for d in diaries.test if 55 <= len(d.source) <= 62 and len(d.summary) >= 27)
print(*story.source)
print("->", *story.summary)
print(len(diaries.train), "diaries to train on,", len(diaries.test), "to test on")

# %% [markdown]
# To write the summary one has to find the longest stay, name every other place once, mark those that
# were new, judge how full the days were, and count the errands. Some of its words stand in the diary. Others
# stand in no diary at all:

# %%
in_diaries = {word for d in diaries.train for word in d.source}
print(*sorted({word for d in diaries.train for word in d.summary} - in_diaries))

# %% [markdown]
# "Quiet" is two places beside home, "lively" three, "busy" four; and it is "discovery" as soon as one of them is new.
#
# Neither copying nor generating is enough. The people of the test diaries are people whom training has never
# met.
#
# ## Words that nobody knows
#
# A vocabulary has an end. Ours takes the words that the most *people* use. So it holds what everybody writes,
# hours, weekdays, "errands", and leaves out what belongs to somebody: the names of their places.

# %%
from pgt.relatives.summarizer.model import DOCUMENT, SMALL

words = diaries.words(SMALL.n_words)
print(" ".join(word if word in words else f"[{word}]" for word in story.source))

# %% tags=["hide-input"]
summary_words = [word for d in diaries.test for word in d.summary]
unknown = np.mean([word not in words for word in summary_words])
Markdown(
    f"With {len(words)} words, **{100 * unknown:.0f} %** of the words in the test summaries are unknown (in brackets "
    "above). To the network's embeddings they are all the same word, `[UNK]`."
)

# %% [markdown]
# How can one answer with a word that has no number? By lending it one. Each text gives its own unknown words
# the numbers after the end of the vocabulary, in order of appearance. This is an **extended vocabulary**.
# [Chapter 22](22_open_vocabulary.ipynb) will give places the same. The numbers mean something for this text only.

# %%
numbers, lent = words.extend(story.source)
print(lent)
print(numbers)
print(words.encode_summary(story.summary, lent))

# %% [markdown]
# ## Reading
#
# Every word becomes a vector of width $D$, its row of $E$. Then the text is read twice by an LSTM, once from
# each end. Put the two states of a word side by side:
#
# $$
# h_i = \big[\, h_i^{\rightarrow} \,;\, h_i^{\leftarrow} \,\big]. \tag{16.1}
# $$
#
# $h_i$ knows the words before and the words after word $i$. Let us take the package's encoder, untrained,
# change one word, and see which states notice.

# %%
from pgt.relatives.summarizer.model import PointerGenerator
from pgt.relatives.summarizer.words import UNK, text_batch

torch.manual_seed(0)
config = replace(SMALL, coverage=True)
model = PointerGenerator(config).eval()
batch = text_batch([d.pair for d in [story, *diaries.test[:7]]], words)
with torch.no_grad():
    one = batch.source[:1, : len(story.source)]  # (1, L)
    length = torch.tensor([one.shape[1]])
    before = model.encoder(model.embedding(one), length)[0]  # (1, L, 2H)
    changed = one.clone()
    changed[0, 25] = words.encode(["sunday"])[0]
    after = model.encoder(model.embedding(changed), length)[0]
notice = (after - before)[0].abs().view(one.shape[1], 2, -1).mean(-1)  # (L, 2)

# %%
fig, axes = plt.subplots(figsize=(7.0, 2.6))
axes.plot(notice[:, 0], color=COPIED, label="read forwards")
axes.plot(notice[:, 1], color=GENERATED, ls="--", label="read backwards")
axes.axvline(25, color=MUTED, lw=1, ls=":")
axes.set(xlabel="word of the source", ylabel="mean change of a number")
axes.legend()
show(
    fig,
    alt="Two curves over the words of the source. The forward one is zero before word 25, jumps there and fades; the "
    "backward one is its mirror image.",
    caption="Which states notice that word 25 was replaced: the forward half from there on, the backward half up to "
    "there.",
)

# %% [markdown]
# One vector has to start the writing. Take the last state of each direction, side by side, as $h$. It is twice
# as wide as the LSTM that writes, so a layer with a ReLU reduces it. An LSTM carries two vectors, its output
# and its cell; each is reduced by a layer of its own. Call both together the state $d_t$, with $t = 0$ before
# the first word:
#
# $$
# d_0 = \max\big(0,\; W_0 \, h + b_0 \big). \tag{16.2}
# $$

# %%
embedded = model.embedding(batch.source)  # (B, L, D)
states, (last_h, last_c) = model.encoder(embedded, batch.length)  # (B, L, 2H), (B, 2H) twice
start_h, start_c = model.reduce(last_h, last_c)  # (B, H) twice
for name, x in {"embedded": embedded, "states": states, "start": start_h}.items():
    print(f"{name:10s}{tuple(x.shape)}")

# %% [markdown]
# ## Looking back
#
# At every word that it writes, the network looks at the whole text. PGT compares by a product of query and key.
# The original has an older way, **additive attention** of
# [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473): add what is looked for to what is there, and let
# a small network say how well they fit. The score of word $i$ at step $t$ and the attention are
#
# $$
# \begin{aligned}
# s_i^t &= w_h^\top \tanh\big( W_h h_i + W_d d_t + w_C C_i^t + b_h \big), \\
# a_i^t &= \frac{e^{s_i^t}}{\sum_j e^{s_j^t}} , \\
# c_t &= \sum_i a_i^t h_i .
# \end{aligned} \tag{16.3}
# $$
#
# Forget $C_i^t$ for a while; it is zero. $c_t$ is the context: what was seen.


# %%
def scores(part, h, d, covered):
    """(B, L, 2H) states, (B, 2H) state, (B, L) coverage -> (B, L) scores."""
    inside = part.of_memory(h) + part.of_state(d)[:, None]  # (B, L, 2H)
    inside = inside + covered[..., None] * part.of_coverage
    return inside.tanh() @ part.v


def attend(s, padding):
    """(B, L) scores -> attention that leaves padding out."""
    return s.masked_fill(padding, -torch.inf).softmax(-1)


nothing = torch.zeros(batch.source.shape)
s = scores(model.decoder.attention, states, torch.cat([start_c, start_h], -1), nothing)
a = attend(s, batch.padding)
print(f"sums from {a.sum(1).min():.4f} to {a.sum(1).max():.4f}, on padding {a[batch.padding].sum():.4f}")

# %% [markdown]
# The design documents note a difference between the original and PGT here. PGT puts $-\infty$ at padding, then
# takes the softmax. The original takes the softmax over everything, sets padding to zero, and divides by what is
# left. Let $m_i$ be 1 for a word and 0 for padding. Then it is one and the same:
#
# $$
# \frac{m_i\, e^{s_i} / \sum_j e^{s_j}}{\sum_j m_j\, e^{s_j} / \sum_j e^{s_j}}
# = \frac{m_i\, e^{s_i}}{\sum_j m_j\, e^{s_j}} . \tag{16.4}
# $$


# %%
def attend_as_documented(s, padding):
    """Softmax, mask, renormalise."""
    shares = s.softmax(-1) * ~padding
    return shares / shares.sum(-1, keepdim=True)


print("largest difference:", (a - attend_as_documented(s, batch.padding)).abs().max().item())
loud = torch.tensor([[0.0, 1.0, 200.0]])  # a high score where there is no word
empty = torch.tensor([[False, False, True]])
print(attend(loud, empty).tolist(), attend_as_documented(loud, empty).tolist())
most = PointerGenerator(DOCUMENT).decoder.attention.v.abs().sum()  # tanh is at most 1
print(f"untrained, with the documents' sizes: no score beyond ±{most:.1f}")

# %% [markdown]
# > **Pitfall.** Equal on paper is not equal in a computer. If padding scores about a hundred above every word, the
# > first softmax leaves nothing for the words, and the second line divides zero by zero. Then every weight of the
# > network is `nan` one step later. An untrained network of the documents' sizes cannot get there, as the last line
# > says. But nothing holds the weights where they began. Mask before the softmax.
#
# ## Writing
#
# One step of the decoder. The previous word and the previous *context* are fused into one input, and the LSTM
# takes its step:
#
# $$
# x_t = W_x \,[\, E_{\ell_{t-1},:} \,;\, c_{t-1} \,] + b_x , \qquad d_t = \text{LSTM}(x_t, d_{t-1}). \tag{16.5}
# $$
#
# This is called **input fusion**. It looks like a detail. Keep it in mind: an unknown word that was copied
# comes in as `[UNK]`, like any other. What tells the decoder *which* one it has just written?
#
# The new state attends. Then its output, $o_t$, and the context speak together; the cell keeps silent. Two layers
# without a nonlinearity between them, then a softmax over the vocabulary:
#
# $$
# P_\text{gen} = \operatorname{softmax}\big( W_2 \,( W_1 [\, o_t \,;\, c_t \,] + b_1 ) + b_2 \big). \tag{16.6}
# $$
#
# One number says whether to speak from the vocabulary or from the text. It sees context, cell, output and input:
#
# $$
# p_\text{gen} = \sigma\big( w_g^\top [\, c_t \,;\, d_t \,;\, x_t \,] + b_g \big). \tag{16.7}
# $$


# %%
def write_step(word, h, c, context, covered):
    """One word: (B,) numbers and what is carried -> p_gen, attention, P_gen, what is carried on."""
    part = model.decoder
    known = word.where(word < len(words), UNK)  # a lent number has no embedding
    x = part.fuse(torch.cat([model.embedding(known), context], -1))  # (B, D)
    h, c = part.cell(x, (h, c))  # (B, H) twice
    a = attend(scores(part.attention, states, torch.cat([c, h], -1), covered), batch.padding)
    context = (a[..., None] * states).sum(1)  # (B, 2H)
    spoken = model.generate(model.project(torch.cat([h, context], -1))).softmax(-1)  # (B, V)
    p_gen = model.gate(torch.cat([context, c, h, x], -1)).sigmoid()[:, 0]  # (B,)
    return p_gen, a, spoken, (h, c, context, covered + a)


# %% [markdown]
# And now the equation that you know. With the gate $g = 1 - p_\text{gen}$, and a word in the part of a place, it is
# equation (8.4) of this book:
#
# $$
# P(\ell) = p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen}) \sum_{i:\, l_i = \ell} a_i^t . \tag{16.8}
# $$
#
# $\ell$ runs over the extended vocabulary. A lent word has $P_\text{gen}(\ell) = 0$, so it can only be copied. A word
# that is neither in the vocabulary nor in this text has probability zero, exactly.


# %%
def mix(p_gen, a, spoken):
    """-> (B, V + O) over the vocabulary and the lent words."""
    none = torch.zeros(len(spoken), batch.n_lent)
    generated = torch.cat([p_gen[:, None] * spoken, none], dim=1)
    return generated.scatter_add(1, batch.extended, (1 - p_gen)[:, None] * a)


# %% [markdown]
# ## Not twice
#
# Networks that write tend to say the same thing again and again. The cure of the paper is **coverage**: remember how much
# attention each word of the source has had so far,
#
# $$
# C_i^t = \sum_{t' < t} a_i^{t'} , \tag{16.9}
# $$
#
# show it to the attention, as in equation (16.3), and fine the overlap. With $\ell^*$ for the true word, the loss of
# a step is
#
# $$
# \mathcal{L}_t = - \log P(\ell^*) + \sum_i \min\big( a_i^t , C_i^t \big) . \tag{16.10}
# $$
#
# The fine is small for looking somewhere new, and at most 1. In training the decoder is given the true
# previous word, whatever it would have written itself: **teacher forcing**.


# %%
def loss():
    """Mean over texts of the mean over their words, by equation (16.10)."""
    carried = start_h, start_c, torch.zeros(len(batch), 2 * SMALL.hidden), nothing
    rows = []
    for given, target in zip(batch.given.T, batch.target.T, strict=True):
        covered = carried[-1]
        p_gen, a, spoken, carried = write_step(given, *carried)
        chance = mix(p_gen, a, spoken).gather(1, target[:, None])[:, 0]
        rows.append(-chance.log() + torch.minimum(a, covered).sum(1))
    rows = torch.stack(rows, dim=1)  # (B, T)
    return ((rows * batch.taught).sum(1) / batch.taught.sum(1)).mean()


assert torch.allclose(loss(), model.loss(batch).total, rtol=1e-5)
print(f"ours {loss().item():.6f}, the package's {model.loss(batch).total.item():.6f}")

# %% [markdown]
# That is the whole network. In the package it is `PointerGenerator` in `pgt.relatives.summarizer.model`.
#
# ## Is it really the original?
#
# There is a test that few rewritings pass by luck: the number of parameters. It sees what each part is given, though
# not in which order. [See et al. (2017)](https://arxiv.org/abs/1704.04368) report 21,499,600 for their baseline without
# pointer, 1153 more for the pointer, and 512 more for coverage. Ours, with the dimensions that the design documents
# list for the original:

# %%
sizes = {}
for name, change in {
    "without pointer": {"pointer": False},
    "with pointer": {},
    "and coverage": {"coverage": True},
}.items():
    sizes[name] = PointerGenerator(replace(DOCUMENT, **change)).n_parameters()
    print(f"{name:16s}{sizes[name]:>12,}")
print(DOCUMENT)

# %% [markdown]
# They agree to the last one. The count also settles a question. In the design documents' diagram the attention sees
# the decoder's output alone, in their table the "decoder state". The count comes out only if it sees output *and*
# cell, the whole of $d_t$. (PyTorch's LSTM has two biases where one is enough; one of them is frozen at zero here.)
#
# ## Training
#
# The small preset has the same parts with fewer numbers. The paper trains with Adagrad, clips gradients, and
# switches coverage on only for the last steps. We do the same with Adam; a row below tells what Adagrad makes of
# as many steps. When coverage comes in, its weights are zero, so nothing changes at that moment except
# the fine.

# %%
from pgt.relatives.summarizer.training import SummarizerTraining, fit_summarizer

training = SummarizerTraining()
model, history = fit_summarizer(config, training, words, [d.pair for d in diaries.train])
print(f"{model.n_parameters():,} parameters, {len(history)} steps of {training.batch} diaries")

# %%
smooth = history[["words", "coverage", "p_gen"]].rolling(20, min_periods=1).mean()
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.7), sharex=True)
labels = {"words": "nats a word", "coverage": "overlap a word", "p_gen": "mean of p_gen"}
for ax, (name, label), colour in zip(axes, labels.items(), (INK, EXTRA, GATE), strict=True):
    ax.plot(smooth.index, smooth[name], color=colour)
    ax.axvline(training.steps, color=MUTED, lw=1, ls=":")
    ax.set(xlabel="step", title=label)
    ax.set_ylim(bottom=0)
switch = smooth.iloc[[training.steps - 1, -1]].coverage.round(2).tolist()
show(
    fig,
    alt="Three curves over training steps. The loss of words falls. The overlap of attention falls slowly, then steeply "
    f"when coverage is switched on, from {switch[0]} to {switch[1]}. The mean probability of generating settles.",
    caption="Training, averaged over twenty steps. Dotted line: coverage is switched on.",
)

# %% [markdown]
# ## A summary, word by word
#
# Now without a teacher. The simplest way to write is **greedy**: take the most probable word, feed it back, go
# on until the stop.

# %%
from pgt.relatives.summarizer.beam import beam_search

single = text_batch([story.pair], words)
draft = beam_search(model, single, beam=1)[0]
written = draft.words(words, single.lent[0])
print("true:   ", *story.summary)
print("written:", *written)


# %%
def coloured(axes, text, values, per_line=8):
    """Words on backgrounds from blue (copied) to orange (generated), p_gen below each."""
    for k, (word, p) in enumerate(zip(text, values, strict=True)):
        x, y = k % per_line, -(k // per_line)
        back = GENERATED if p >= 0.5 else COPIED
        box = {"facecolor": back, "alpha": 0.15 + 0.6 * abs(p - 0.5), "edgecolor": "none"}
        axes.text(x, y, word, ha="center", va="center", fontsize=9, color=INK, bbox=box)
        axes.text(x, y - 0.38, f"{p:.2f}", ha="center", va="center", fontsize=7, color=MUTED)
    axes.set(xlim=(-0.6, per_line - 0.4), ylim=(-(len(text) - 1) // per_line - 0.3, 0.5))
    axes.axis("off")


fig, axes = plt.subplots(figsize=(7.4, 0.62 * (1 + len(written) // 8)))
coloured(axes, written, draft.p_gen[: len(written)])
names = [p for w, p in zip(written, draft.p_gen, strict=False) if w not in words]
others = [p for w, p in zip(written, draft.p_gen, strict=False) if w in words]
show(
    fig,
    alt=f"The words of the summary with the probability of generating below each: {np.mean(names or [0]):.2f} on average for "
    f"words outside the vocabulary, {np.mean(others):.2f} for the others.",
    caption="The probability of generating, word by word. Blue: rather copied; orange: rather generated.",
)

# %%
attention = torch.stack(draft.attention)[: len(written)].numpy()  # (T, L)
fig, axes = plt.subplots(figsize=(7.4, 5.0))
image = axes.imshow(attention, aspect="auto", vmin=0, vmax=1, interpolation="nearest")
axes.set_xticks(range(len(story.source)), story.source, rotation=90, fontsize=6)
axes.set_yticks(range(len(written)), written, fontsize=7)
axes.set(xlabel="source", ylabel="summary as written")
axes.grid(visible=False)
fig.colorbar(image, label="attention", fraction=0.03)
show(
    fig,
    alt="Heat map of attention, a row for each word of the summary and a column for each word of the source. While a name "
    "is written the bright cell moves one word to the right at each step.",
    caption="The attention that each word was written with. Names are short diagonals.",
)

# %% [markdown]
# The diagonals are the pointer at work: the words of a name are copied one after the other. How does the decoder know
# that it has to go on one word further? All that it is fed is `[UNK]`. Equation (16.5) has the answer:
# the previous *context* comes in too, and the context is where it looked. Cut that wire and see.

# %%
from pgt.relatives.summarizer.scores import rouge, unknown_right
from pgt.relatives.summarizer.scores import written as write_all

sample = diaries.test[:120]


def names_right(texts):
    """Share of the words outside the vocabulary that are right, in percent."""
    found = [unknown_right(t, d.summary, words, d.source) for t, d in zip(texts, sample, strict=True)]
    right, asked, _ = np.sum(found, axis=0)
    return 100 * right / asked


texts, drafts = write_all(model, words, sample, beam=1)
whole = names_right(texts)


def no_context(layer, inputs):
    """What the fusing layer gets instead: the word, and zeros."""
    word, context = inputs[0].split([SMALL.embedding, 2 * SMALL.hidden], dim=-1)
    return torch.cat([word, torch.zeros_like(context)], dim=-1)


wire = model.decoder.fuse.register_forward_pre_hook(no_context)
cut, _ = write_all(model, words, sample, beam=1)
wire.remove()
print("true:   ", *sample[0].summary)
print("written:", *texts[0])
print("cut:    ", *cut[0])

# %% tags=["hide-input"]
Markdown(
    f"With the wire **{whole:.0f} %** of the unknown words are right in {len(sample)} test diaries, without it "
    f"**{names_right(cut):.0f} %**, and the sentences around them fall apart too: the decoder goes by where it looked in "
    "everything it does. (It was trained with the wire. One trained without it would have to find another way; see "
    "exercise 4.)"
)

# %% [markdown]
# Look at the heat map once more, at the rows of words that were *generated*. They look somewhere, too, as they
# must: attention sums to one. Where does it go when nothing has to be copied?

# %%
parked = {"generated": [], "copied": [], "evenly": []}
for one, d in zip(drafts, sample, strict=True):
    marks = torch.tensor([word in {".", ",", "hour", "hours"} for word in d.source])
    parked["evenly"].append(float(marks.float().mean()))
    for p, where in zip(one.p_gen, one.attention, strict=True):
        parked["generated" if p > 0.5 else "copied"].append(float(where[marks].sum()))
share = {name: 100 * np.mean(values) for name, values in parked.items()}

# %% tags=["hide-input"]
Markdown(
    f"On points, commas and the word *hour*: **{share['generated']:.0f} %** of the attention while a word is generated, "
    f"where an even spread would give {share['evenly']:.0f} %, and {share['copied']:.0f} % while one is copied. "
    + (
        "Perhaps it waits where there is nothing to name. It would have a reason to: with coverage, a look at a name is "
        "paid for, and fined when the name's turn comes. "
        if share["generated"] > 1.3 * share["evenly"]
        else ""
    )
    + "A heat map shows where the network looked. What it did with it stands in $p_\\text{gen}$."
)

# %% [markdown]
# ## When does it copy?
#
# [See et al. (2017)](https://arxiv.org/abs/1704.04368) noticed something odd about their number. At the end of training it was 0.53
# on average, and at test time 0.17: left alone, the network copied almost everything. Their explanation is that
# the teacher helps. Given the true words so far, the next one is easier to guess without looking. Ours:

# %%
p = pd.DataFrame(
    [
        {"word": w, "p_gen": p, "kind": kind}
        for text, one in zip(texts, drafts, strict=True)
        for w, p in zip(text, one.p_gen, strict=False)
        for kind in ["outside the vocabulary" if w not in words else "in no diary" if w not in in_diaries
                     else "known, and in diaries"]
    ]
)  # fmt: skip
at_test = float(p.p_gen.mean())
at_training = float(history.tail(training.coverage_steps).p_gen.mean())
p.groupby("kind").p_gen.describe()[["count", "mean", "50%"]].round(2)

# %% tags=["hide-input"]
Markdown(
    f"In the last steps of training the mean of $p_\\text{{gen}}$ is **{at_training:.2f}**, in writing alone "
    f"**{at_test:.2f}**. "
    + (
        "There is hardly a gap here. Perhaps because our summaries have one wording, so that a slip does not lead far from "
        "what training has seen."
        if abs(at_test - at_training) < 0.1
        else "So there is a gap here as well."
    )
)

# %% [markdown]
# The table holds more than the mean. The network generates what no diary has, and copies what no vocabulary has;
# that it had to learn. But it also copies points and commas, which it could generate just as well. And look at the
# third curve of the training again: the mean of $p_\text{gen}$ began near one half, and hardly moved. At the start
# every word was a tossed coin; at the end the switch is thrown one way or the other. A mean does not tell them apart.
#
# ## Several drafts
#
# Greedy writing cannot take a word back. A **beam** keeps several drafts, extends each by every word, and
# keeps the best few by their probability so far. Finished drafts are compared by the mean log-probability of
# a word, for otherwise the shortest would win. One draft is greedy. The paper has four.
#
# Is a beam always at least as good? One would think so, since it looks at more. But it can *lose* the greedy draft
# on the way, to drafts that look better then and end worse. The package's search keeps the greedy draft for the
# final comparison, so its result never scores below it. With that, and provided that the greedy draft was finished, it
# is a theorem.

# %%
few = sample[:60]
chunk = text_batch([d.pair for d in few], words)
one = beam_search(model, chunk, beam=1)
four = beam_search(model, chunk, beam=4, keep_greedy=False)
safe = beam_search(model, chunk, beam=4)
gain = np.array([b.score - a.score for a, b in zip(one, four, strict=True)])
assert all(b.score >= a.score - 1e-6 for a, b in zip(one, safe, strict=True) if a.finished)
same = np.mean([a.numbers == b.numbers for a, b in zip(one, four, strict=True)])

# %% tags=["hide-input"]
references = [d.summary for d in few]
by_search = {
    name: 100 * rouge([x.words(words, own) for x, own in zip(found, chunk.lent, strict=True)], references).rouge1.mean()
    for name, found in {"greedy": one, "a beam of four": safe}.items()
}
results = read_results("summarizer")
means = results.rows.groupby(["what", "search"]).rouge1.mean()
gains = means.xs("beam", level="search") - means.xs("greedy", level="search")
gains = gains.round(1) + 0.0  # no "-0.0"
Markdown(
    f"In {100 * same:.0f} % of {len(few)} diaries the plain beam ends with the greedy summary, in "
    f"{100 * np.mean(gain > 1e-6):.0f} % with one that scores higher, in {100 * np.mean(gain < -1e-6):.0f} % "
    "with one that scores lower. ROUGE-1: "
    + ", ".join(f"{name} {value:.1f}" for name, value in by_search.items())
    + ".\n\nA higher probability is a claim of the model about itself. Over three seeds and all test diaries (below) the beam "
    f"adds {gains['pointer-generator']:.1f} points of ROUGE-1 without coverage and {gains['pointer-generator, coverage']:.1f} with it."
)

# %% [markdown]
# ## Three seeds, with and without
#
# To compare, everything was trained with three seeds and scored on all test diaries. **ROUGE** of
# [Lin (2004)](https://aclanthology.org/W04-1013) counts shared words (ROUGE-1), pairs of words (ROUGE-2) and the longest
# common subsequence (ROUGE-L). *Names right* is the share of the true summary's words outside the vocabulary that are
# written, order aside; *all right*, the share of summaries without a mistake. Two rivals have no pointer: one with the
# same vocabulary, and one that knows *every* word of the training diaries.

# %%
results = read_results("summarizer")
print(results.header["command"])
display(pd.DataFrame([results.header["data"]]).set_index("name"))
columns = {
    "rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "unknown_right": "names right",
    "repeated_3": "triples repeated", "exact": "all right",
}  # fmt: skip
rows = results.rows.assign(search=results.rows.search.fillna("rule"))
table = rows.groupby(["what", "search"], sort=False)[list(columns)].agg(["mean", "std"])
shown = pd.DataFrame(
    {
        label: [
            f"{m:.1f}" + (f" ± {s:.1f}" if s == s else "")
            for m, s in table[name].itertuples(index=False)
        ]
        for name, label in columns.items()
    },
    index=table.index,
)
display(shown)


# %%
def score(name, what, search="greedy"):
    """Mean over seeds."""
    return results.mean(name, what=what, search=search)


POINTER, COVERED = "pointer-generator", "pointer-generator, coverage"
PLAIN, ALL = "sequence to sequence", "sequence to sequence, all words"
blind = results.mean("unknown_right", what="first words")

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 2.9))
for k, (what, colour) in enumerate({PLAIN: MUTED, ALL: GENERATED, POINTER: EXTRA, COVERED: COPIED}.items()):
    value = score("unknown_right", what)
    axes.bar(k, value, 0.6, color=colour, hatch=("", "//", "..", "")[k])
    axes.annotate(f"{value:.0f}", (k, value), ha="center", va="bottom")
axes.axhline(blind, color=INK, lw=1, ls="--")
axes.annotate("the beginning of the diary", (-0.35, blind), va="bottom", color=INK, fontsize=9)
axes.set_xticks(range(4), ["no pointer", "no pointer,\nall words", "pointer", "pointer,\ncoverage"])
axes.set(ylabel="names right (%)", ylim=(0, 100))
show(
    fig,
    alt=f"Four bars, the share of unknown words right: {score('unknown_right', PLAIN):.0f} % without a pointer, "
    f"{score('unknown_right', ALL):.0f} % with all words known, {score('unknown_right', POINTER):.0f} % with a pointer, "
    f"{score('unknown_right', COVERED):.0f} % with coverage. A dashed line for the beginning of the diary at {blind:.0f} %.",
    caption="What the pointer is for. Dashed: a rule that prints the beginning of the diary.",
)

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 2.9))
grams = [1, 2, 3, 4]
for what, search, colour, mark in (
    (POINTER, "greedy", EXTRA, "s"), (COVERED, "greedy", COPIED, "o"), ("reference", None, TRUTH, "^"),
):  # fmt: skip
    where = {"what": what} | ({"search": search} if search else {})
    line = [results.mean(f"repeated_{n}", **where) for n in grams]
    axes.plot(grams, line, color=colour, marker=mark, label=what.removeprefix("pointer-generator, "))
axes.set(xlabel="n", ylabel="n-grams repeated (%)", xticks=grams)
axes.legend()
show(
    fig,
    alt="Three falling curves, repeated n-grams for n from 1 to 4, without and with coverage and in the true summaries; "
    "the first two lie close together.",
    caption="What coverage is for, drawn as in the paper.",
)

# %% tags=["hide-input"]
adagrad = score("rouge1", "pointer-generator, coverage, Adagrad")
rule = results.mean("rouge1", what="first words")
Markdown(
    f"- **The pointer.** Without it, names are right in {score('unknown_right', PLAIN):.0f} % with the small vocabulary "
    f"and {score('unknown_right', ALL):.0f} % with all words; with it in {score('unknown_right', POINTER):.0f} %. Knowing "
    "every word is not the point. One has to know which of them was there: a rule that prints the beginning of the diary "
    f"has {blind:.0f} % of the names.\n"
    f"- **Coverage.** Repeated triples: {score('repeated_3', POINTER):.1f} % without, {score('repeated_3', COVERED):.1f} % "
    f"with, {results.mean('repeated_3', what='reference'):.1f} % in the true summaries. Both networks had the same "
    "number of steps, so it is not longer training.\n"
    f"- **The beam.** ROUGE-1 with coverage: greedy {score('rouge1', COVERED):.1f}, beam "
    f"{score('rouge1', COVERED, 'beam'):.1f}.\n"
    f"- **Adagrad**, as in the paper, with the same few steps (one seed): ROUGE-1 {adagrad:.1f}.\n"
    f"- **The rule** that prints the beginning of the diary: ROUGE-1 {rule:.1f}."
)

# %% tags=["hide-input"]
parts = {"days": "how full,\nhow new", "mostly": "the longest\nstay", "also": "the other\nplaces",
         "errands": "count of\nerrands"}  # fmt: skip
change = {name: score(name, COVERED) - score(name, POINTER) for name in ("unknown_right", *parts)}
lower = sum(change[name] < 0 for name in parts)
by_seed = results.select(search="greedy").pivot_table("rouge2", "seed", "what")
falls = by_seed[COVERED] < by_seed[POINTER]
Markdown(
    "The line on coverage is the surprise. The training curves show that it does what it should: the overlap of attention "
    "falls steeply. But nearly everything else is a little worse with it: ROUGE-2 "
    f"{score('rouge2', COVERED):.1f} instead of {score('rouge2', POINTER):.1f}, {score('exact', COVERED):.1f} % without a "
    f"mistake instead of {score('exact', POINTER):.1f} %, and {'each' if lower == len(parts) else lower} of the four "
    f"sentences right less often. Names right: {change['unknown_right']:+.1f} points. "
    f"Three seeds are few: ROUGE-2 falls in {falls.sum()} of {len(falls)}."
)

# %% [markdown]
# There was little to repair. The summaries are short, and the fused context tells the decoder where it has just been. A
# cure does little for patients who are not ill. [See et al. (2017)](https://arxiv.org/abs/1704.04368) had articles
# about ten times as long, and summaries that did repeat themselves; there coverage brought repetition down to what
# people write.
#
# The line on the rule is no joke. In [See et al. (2017)](https://arxiv.org/abs/1704.04368) the rule "the first three sentences" has
# a higher ROUGE than every network of the paper, because news tells the main thing first. A diary does not.
# Whether a rule wins is a property of the data. You will meet that again in [chapter 23](23_real_cities.ipynb).
#
# What is hard, then? Here is how often each of the four sentences is entirely right, and how often two rules are that
# compare nothing. One always writes the most frequent sentence of training. The other takes the first place of the
# diary for the longest stay, and lists the rest as they come (it knows which words are names, and marks what was
# there for the first time).

# %%
from collections import Counter

from pgt.relatives.summarizer.scores import sentence


def names_of(summary):
    """The places of a summary, the longest stay first."""
    lists = *sentence(summary, 1)[2:], ",", *sentence(summary, 2)[1:]  # without "mostly at", "also"
    return " ".join(lists).replace(" ( new )", "").split(" , ")


def first_is_longest(diary):
    """Whether the first place that a diary names is that of the longest stay."""
    diary_text, names = " ".join(diary.source), names_of(diary.summary)
    return min(names, key=diary_text.find) == names[0]


# %%
floors = dict.fromkeys(("mostly", "also"), 100 * np.mean([first_is_longest(d) for d in diaries.test]))
usual = {}
for name, k in {"days": 0, "errands": 3}.items():
    ((usual[name], _),) = Counter(" ".join(sentence(d.summary, k)) for d in diaries.train).most_common(1)
    floors[name] = 100 * np.mean([" ".join(sentence(d.summary, k)) == usual[name] for d in diaries.test])
print(usual)

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 3.1))
for k, (what, colour, hatch) in enumerate(((ALL, GENERATED, "//"), (POINTER, EXTRA, ".."), (COVERED, COPIED, ""))):
    at = np.arange(len(parts)) + (k - 1) * 0.27
    axes.bar(at, [score(name, what) for name in parts], 0.25, color=colour, hatch=hatch, label=what)
for k, name in enumerate(parts):
    axes.hlines(floors[name], k - 0.44, k + 0.44, color=INK, lw=2, label=None if k else "a rule")
axes.set_xticks(range(len(parts)), list(parts.values()))
axes.set(ylabel="sentences right (%)", ylim=(0, 119), yticks=range(0, 101, 20))
axes.legend(fontsize=8, ncols=2, loc="upper center")
show(
    fig,
    alt="Bars for four sentences and three networks, with a line for a rule. "
    + "; ".join(
        f"{label.replace(chr(10), ' ')}: {score(name, POINTER):.0f} % with pointer, {score(name, COVERED):.0f} % with "
        f"coverage, {floors[name]:.0f} % by the rule"
        for name, label in parts.items()
    )
    + ".",
    caption="Which sentence is right as a whole, greedy, mean over three seeds. Lines: what a rule reaches, the most "
    "frequent sentence (first and last) or the first place (the other two).",
)

# %% tags=["hide-input"]
Markdown(
    f"ROUGE hardly sees this: ROUGE-1 is {score('rouge1', POINTER):.0f} when {score('exact', POINTER):.0f} % of the "
    f"summaries are entirely right. The longest stay is mostly found, in {score('mostly', POINTER):.0f} %; the first place "
    f"of the diary would be right in {floors['mostly']:.0f} %. But the other places are then right in {floors['also']:.0f} % "
    f"too, and the network has {score('also', POINTER):.0f} %. How full and how new is hardest: "
    f"{score('days', POINTER):.0f} %, where the most frequent sentence has {floors['days']:.0f} %. And always to write "
    f'"{usual["errands"]}" would be right in {floors["errands"]:.0f} %, so of the counting less has been learned than the bar '
    f"suggests, and there the pointer is no help: {score('errands', POINTER):.0f} % with it, "
    f"{score('errands', ALL):.0f} ± {results.spread('errands', what=ALL):.0f} % without it, all words known."
)

# %% [markdown]
# > **Note.** The pointer moves information. It does not work anything out. How many places there were, which were
# > new, how many errands, the LSTMs have to find by themselves.
#
# ## What became of it in PGT
#
# | the original | PGT |
# |---|---|
# | word, vocabulary, extended vocabulary | location, vocabulary; ids reserved beforehand ("exact" protocol) |
# | bidirectional LSTM | Transformer ([chapter 6](06_position_and_encoder.ipynb)) |
# | decoder, many steps | one step, no decoder |
# | state of the decoder asks | the last visit asks |
# | additive attention | scaled product and a position bias ([chapter 7](07_pointer.ipynb)) |
# | $p_\text{gen}$ of context, cell, output and input | $g = 1 - p_\text{gen}$ of the context ([chapter 8](08_generator_and_gate.ipynb)) |
# | coverage | none: there is no second step that could repeat the first |
# | greedy or beam | the list of the most probable places |
#
# And one that is not in any table: the original fines itself for looking twice at the same spot. People do the
# opposite. They go back.
#
# ## Summary
#
# - A pointer-generator writes with a mixture of its vocabulary and its source. Words that nobody has seen before can
#   be copied, since the text lends them a number.
# - $p_\text{gen} = 1 - g$. The equation is the same as in PGT; what asks, and how often, is not.
# - Coverage is a memory of one's own attention, and a fine for looking twice.
# - A count of parameters can settle what a diagram leaves open.
#
# ## Exercises
#
# **Exercise 1** (quick). Why can the network copy "the", which is in the vocabulary, and what does equation (16.8) do
# with a word that is both in the vocabulary and three times in the text?

# %% [markdown]
# <details class="solution"><summary>Solution 1</summary>
#
# Copying does not ask whether a word is known. Its probability is the sum of four shares: the generated one and the
# attention on each of the three. That is why $p_\text{gen}$ alone does not say whether a word was copied; the
# responsibility of [chapter 8](08_generator_and_gate.ipynb) does.
#
# </details>

# %% [markdown]
# **Exercise 2** (medium). Write `responsibility`, the share of each written word's probability that came from
# copying, for the draft of the story. Does $1 - p_\text{gen}$ tell the same story?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
with torch.no_grad():
    taught = text_batch([(story.source, written)], words)
    output = model(taught)
    probability = model.of_target(output, taught)[0]  # (T,)
    hit = taught.extended[:, None] == taught.target[..., None]  # (1, T, L)
    copied = ((1 - output.p_gen) * (output.attention * hit).sum(-1))[0]
responsibility = (copied / probability)[: len(written)]
both = pd.DataFrame(
    {"1 − p_gen": (1 - output.p_gen[0])[: len(written)], "copied": responsibility}, index=written
)
apart = (both["copied"] - both["1 − p_gen"]).abs().to_numpy()
both.iloc[apart.argsort()[::-1][:5]].round(2)  # the five with the largest difference

# %% [markdown]
# <details class="solution"><summary>Answer to exercise 2</summary>
#
# Nearly. They differ only where the switch is not thrown all the way, as at some commas and brackets. There the mixture
# weighs two offers, and one side hardly offers this word, so the other side has said it, whatever $p_\text{gen}$ was.
#
# </details>

# %% [markdown]
# **Exercise 3** (longer). Give the network a diary with names from another world, say "Mos Eisley". Which words of the
# summary change, and why can nothing else happen?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
other = {name: f"Eisley-{k}" for k, name in enumerate(lent)}
renamed = [other.get(word, word) for word in story.source]
there = text_batch([(renamed, [])], words)
again = beam_search(model, there, beam=1)[0].words(words, there.lent[0])
print(*again)
assert again == [other.get(word, word) for word in written]  # all unknown words have one embedding

# %% [markdown]
# **Exercise 4** (project). Train without the context in the fused input from the start, as many steps as the row
# "pointer-generator" of the table has. Does the network find another way to copy names of several words?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
from pgt.relatives.summarizer.scores import scores as all_scores
from pgt.relatives.summarizer.training import new_summarizer, stream, train

RUN = False  # True trains three networks: about a minute
measured = {0: (78.5, 69.2), 1: (83.4, 73.4), 2: (77.2, 67.2)}  # what it printed for us


def without_wire(seed):
    """Names right and longest stay right on all test diaries, in percent."""
    here = replace(training, seed=seed)
    cut_off = new_summarizer(SMALL, here, words)
    cut_off.decoder.fuse.register_forward_pre_hook(no_context)
    lessons = stream([d.pair for d in diaries.train], words, SMALL, here)
    train(cut_off, lessons, here.steps + here.coverage_steps, here)
    found, _ = write_all(cut_off.eval(), words, diaries.test, beam=1)
    values = all_scores(found, diaries.test, words)
    return round(values["unknown_right"], 1), round(values["mostly"], 1)


if RUN:
    measured = {seed: without_wire(seed) for seed in measured}
    print(measured)
names, longest = np.mean(list(measured.values()), axis=0)
print(f"without the wire: names right {names:.1f} %, the longest stay right {longest:.1f} %")
print(f"with it: {score('unknown_right', POINTER):.1f} % and {score('mostly', POINTER):.1f} %")

# %% [markdown]
# <details class="solution"><summary>Answer to exercise 4</summary>
#
# It does find another way, and a worse one. It still writes most names, but stops within some of them: "the Otter
# Curry" instead of "the Otter Curry House". ROUGE hardly notices; a sentence with half a name is wrong. The
# state of the decoder carries some of what the wire did, perhaps by counting how far into a name it is.
#
# </details>
#
# **Next:** [Side by side](17_side_by_side.ipynb), where parent and child answer for every row of their comparison.
