# %% [markdown]
# # The original: a summarizer
#
# Before it pointed at places, this network pointed at the names of football players.
#
# *You will be able to* build and train the network from which PGT takes its name, decode with it word by word
# and with a beam, and say which of its parts PGT kept, reversed or dropped. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It
# takes* forty minutes to read and about a minute to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import rouge_score  # noqa: F401

    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q 'pgt[summarizer] @ "
        "https://github.com/where-next-book/where-next/archive/main.zip'",
    )

# %% [markdown]
# The pointer-generator was not made for places. [See et al. (2017)](https://arxiv.org/abs/1704.04368) made it to
# summarize news. The trouble with news is names: a summary of a football match needs the names of the players,
# and most of them are rare. A network that chooses from a fixed list of words can only write "somebody
# scored". A network that can only copy cannot write "won" where the report says "beat". Theirs does both.
# At every word one number decides between the two: the probability of generating, which is one minus our gate.
#
# In this chapter we build the original, whole: three LSTMs, attention, pointer, coverage, beam search. (An *LSTM* reads
# a text word by word, and at each word updates two vectors, its memory.) We
# cannot ship its news. But we have a town, and people with days to write about.
#
# ## Trip diaries
#
# Here is a stretch of days of one person, written by a rule: every stay with its time, its place, its purpose and
# its length. Below it is its summary.

# %%
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from wherenext import city
from wherenext.results import read_results
from wherenext.summaries import sentence, unknown_right, write_diaries
from wherenext.summaries import written as write_all

from pgt.summarizer import (
    DOCUMENT,
    SMALL,
    UNK,
    PointerGenerator,
    SummarizerTraining,
    beam_search,
    fit_summarizer,
    text_batch,
)

torch.set_num_threads(1)

# %% tags=["hide-input"]
from matplotlib import pyplot as plt
from wherenext.figures import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    INK,
    MUTED,
    TRUTH,
    show,
)

# %%
diaries = write_diaries(city.load())
story = next(
    d
    for d in diaries.test
    if 55 <= len(d.source) <= 62 and len(d.summary) >= 27
)
print(*story.source)
print("->", *story.summary)
print(
    len(diaries.train), "diaries to train on,", len(diaries.test), "to test"
)

# %% [markdown]
# To write the summary one has to find the longest stay away from home (the first, if several are equally long), name
# the other places, mark the new ones, count the days and judge how full they were, and count the errands: stays to shop, to settle
# something or for a check-up. Some of its words are in no diary at all:

# %%
in_diaries = {word for d in diaries.train for word in d.source}
in_summaries = {word for d in diaries.train for word in d.summary}
print(*sorted(in_summaries - in_diaries))

# %% [markdown]
# "Quiet" is two places besides home, "lively" three, "busy" four; the days are "of discovery" as soon as one of the
# places is new, and else "of routine". So neither copying nor generating is enough. And training has never met the people of the test
# diaries.
#
# ## Words that nobody knows
#
# A vocabulary has an end. Ours takes the words that the most *people* use. So it holds what everybody writes
# (hours, weekdays, "errands") and leaves out what belongs to somebody: the names of their places.

# %%
words = diaries.words(SMALL.n_words)
marked = [word if word in words else f"[{word}]" for word in story.source]
print(" ".join(marked))

# %% tags=["hide-input"]
summary_words = [word for d in diaries.test for word in d.summary]
unknown = np.mean([word not in words for word in summary_words])
Markdown(
    f"With {len(words)} words, **{100 * unknown:.0f} %** of the words in the "
    "test summaries are unknown. (Above, the unknown words of one diary are "
    "in brackets.) To the network's "
    "embeddings they are all the same word, `[UNK]`."
)

# %% [markdown]
# How can one answer with a word that has no number? By lending it one. Each text gives its own unknown words
# the numbers after the end of the vocabulary, in order of appearance. This is an **extended vocabulary**;
# [chapter 22](22_open_vocabulary.ipynb) will do the same for places. The numbers mean something for this text only.

# %%
numbers, lent = words.extend(story.source)
print(lent)
print(numbers)
print(words.encode_summary(story.summary, lent))

# %% [markdown]
# ## Reading
#
# Every word becomes a vector of width $D$, its row of the embedding table $E$. Then two LSTMs read the text, one from
# each end. Put the two states of a word side by side:
#
# $$
# h_i = \big[\, h_i^{\rightarrow} \,;\, h_i^{\leftarrow} \,\big]. \tag{16.1}
# $$
#
# $h_i$ knows the words before and after word $i$. Take the encoder of the package's small preset (`SMALL`), untrained,
# change one word, and see which states notice.

# %%
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
notice = (after - before)[0].abs().view(one.shape[1], 2, -1).mean(-1)

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 2.6))
axes.plot(notice[:, 0], color=COPIED, label="read forwards")
axes.plot(notice[:, 1], color=GENERATED, ls="--", label="read backwards")
axes.axvline(25, color=MUTED, lw=1, ls=":")
axes.set(xlabel="word of the source", ylabel="mean change of a number")
axes.legend()
show(
    fig,
    alt="Two curves over the words of the source. The forward one is zero "
    "before word 25, jumps there and fades; the backward one is its mirror "
    "image.",
    caption="Which states notice that word 25 was replaced: the forward half "
    "from there on, the backward half up to there.",
)

# %% [markdown]
# The LSTM that writes needs a state to start from. An LSTM carries two vectors, its output and its cell. Put the last
# outputs of both directions side by side as $h^\text{out}$, the last cells as $h^\text{cell}$. Each is twice as wide as
# the LSTM that writes, so a layer of its own with a ReLU reduces it. Call the two results together the state $d_t$,
# with $t = 0$ before the first word:
#
# $$
# d_0 = \big[\, \max(0,\, W_0^\text{cell} h^\text{cell} + b_0^\text{cell}) \,;\,
# \max(0,\, W_0^\text{out} h^\text{out} + b_0^\text{out}) \,\big]. \tag{16.2}
# $$

# %%
embedded = model.embedding(batch.source)  # (B, L, D)
states, (last_h, last_c) = model.encoder(embedded, batch.length)
start_h, start_c = model.reduce(last_h, last_c)  # (B, 2H) -> (B, H), twice
for name, x in {
    "embedded": embedded,
    "states": states,
    "start": start_h,
}.items():
    print(f"{name:10s}{tuple(x.shape)}")

# %% [markdown]
# ## Looking back
#
# At every word that it writes, the network looks at the whole text. PGT compares by a product of query and key.
# The original has an older way, the **additive attention** of
# [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473): add a vector of what is looked for to a vector of
# what is there, and let a small network say how well they fit. The score of word $i$ at step $t$, the attention and the context are
#
# $$
# \begin{aligned}
# s_i^t &= v_\text{score}^\top \tanh\big( W_h h_i + W_d d_t + w_C C_i^t + b_h \big), \\
# a_i^t &= \frac{e^{s_i^t}}{\sum_j e^{s_j^t}} , \\
# c_t &= \sum_i a_i^t h_i .
# \end{aligned} \tag{16.3}
# $$
#
# All weights in these formulas are learned. Forget $C_i^t$ for a while; it is zero. The context $c_t$ is what was seen.


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
start = torch.cat([start_c, start_h], -1)
s = scores(model.decoder.attention, states, start, nothing)
a = attend(s, batch.padding)
print(f"sums from {a.sum(1).min():.4f} to {a.sum(1).max():.4f}")
print(f"on padding {a[batch.padding].sum():.4f}")

# %% [markdown]
# The design documents of PGT ([the original specification](https://where-next-book.github.io/where-next/book/errata.html)) note a difference here. PGT puts $-\infty$ at padding, then
# takes the softmax. The original takes the softmax over everything, sets padding to zero, and divides by what is
# left. Let $m_i$ be 1 for a word and 0 for padding. Then the two are the same:
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


apart = (a - attend_as_documented(s, batch.padding)).abs().max()
print(f"largest difference: {apart:.0e}")
loud = torch.tensor([[0.0, 1.0, 200.0]])  # a high score where no word is
empty = torch.tensor([[False, False, True]])
print("mask first:", attend(loud, empty)[0].tolist())
print("mask last: ", attend_as_documented(loud, empty)[0].tolist())
most = PointerGenerator(DOCUMENT).decoder.attention.v.abs().sum()
print(f"untrained, with the documents' sizes: no score beyond ±{most:.1f}")

# %% [markdown]
# > **Pitfall.** Equal on paper is not equal in a computer. If padding scores about a hundred above every word, the
# > first softmax leaves nothing for the words, and masking last divides zero by zero. Then every weight of the
# > network is `nan` one step later. An untrained network of the documents' sizes cannot get there, as the last line
# > says (a $\tanh$ is at most 1), but training moves the weights. Mask before the softmax.
#
# ## Writing
#
# Now one step of the decoder. The previous word and the previous *context* are fused into one input, and the LSTM
# takes its step:
#
# $$
# x_t = W_x \,[\, E_{\ell_{t-1},:} \,;\, c_{t-1} \,] + b_x , \qquad d_t = \text{LSTM}(x_t, d_{t-1}). \tag{16.5}
# $$
#
# This is called **input fusion**. Keep it in mind: an unknown word that was copied
# comes in as `[UNK]`, like any other. How does the decoder know *which* one it has just written?
#
# The new state attends. Then its output $o_t$ and the context (but not the cell) go into two layers
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
    """One word for each text, and what is carried to the next one."""
    part = model.decoder
    known = word.where(word < len(words), UNK)  # a lent number has no row
    x = part.fuse(torch.cat([model.embedding(known), context], -1))  # (B, D)
    h, c = part.cell(x, (h, c))  # (B, H) twice
    d = torch.cat([c, h], -1)
    a = attend(scores(part.attention, states, d, covered), batch.padding)
    context = (a[..., None] * states).sum(1)  # (B, 2H)
    spoken = model.project(torch.cat([h, context], -1))
    spoken = model.generate(spoken).softmax(-1)  # (B, V)
    p_gen = model.gate(torch.cat([context, d, x], -1)).sigmoid()[:, 0]
    return p_gen, a, spoken, (h, c, context, covered + a)


# %% [markdown]
# And now the equation that you know. With the gate $g = 1 - p_\text{gen}$, and words in place of locations, it is
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
    copied = (1 - p_gen)[:, None] * a
    return generated.scatter_add(1, batch.extended, copied)


# %% [markdown]
# ## Not twice
#
# Networks that write tend to repeat themselves. The cure of the paper is **coverage**: remember how much
# attention each word of the source has had so far,
#
# $$
# C_i^t = \sum_{t' < t} a_i^{t'} , \tag{16.9}
# $$
#
# show it to the attention, as in equation (16.3), and add a fine for the overlap to the loss. With $\ell^*$ for the true word, the loss of
# a step is
#
# $$
# \mathcal{L}_t = - \log P(\ell^*) + \sum_i \min\big( a_i^t , C_i^t \big) . \tag{16.10}
# $$
#
# The fine is small if the network looks somewhere new, and at most 1. In training the decoder is given the true
# previous word, whatever it would have written itself: **teacher forcing**.


# %%
def loss():
    """Mean over texts of the mean over their words, by equation (16.10)."""
    context = torch.zeros(len(batch), 2 * SMALL.hidden)
    carried = start_h, start_c, context, nothing
    rows = []
    for given, target in zip(batch.given.T, batch.target.T, strict=True):
        covered = carried[-1]
        p_gen, a, spoken, carried = write_step(given, *carried)
        chance = mix(p_gen, a, spoken).gather(1, target[:, None])[:, 0]
        rows.append(-chance.log() + torch.minimum(a, covered).sum(1))
    rows = torch.stack(rows, dim=1)  # (B, T)
    return ((rows * batch.taught).sum(1) / batch.taught.sum(1)).mean()


theirs = model.loss(batch).total
assert torch.allclose(loss(), theirs, rtol=1e-5)
print(f"ours {loss().item():.6f}, the package's {theirs.item():.6f}")

# %% [markdown]
# That is the whole network. In [the package](https://where-next-book.github.io/where-next/book/api.html) it is `PointerGenerator` in `pgt.summarizer`.
#
# ## Is it really the original?
#
# There is a test that few rewritings pass by luck: the number of parameters. It depends on the width of each part's input,
# not on the order of the parts. [See et al. (2017)](https://arxiv.org/abs/1704.04368) report 21,499,600 for their baseline without
# pointer, 1153 more for the pointer, and 512 more for coverage. Here are ours, with the sizes that the design
# documents list for the original:

# %%
steps = {
    "without pointer": {"pointer": False},
    "with pointer": {},
    "and coverage": {"coverage": True},
}
for name, change in steps.items():
    size = PointerGenerator(replace(DOCUMENT, **change)).n_parameters()
    print(f"{name:16s}{size:>12,}")
sizes = ("n_words", "embedding", "hidden", "max_source", "max_summary")
pd.Series(asdict(DOCUMENT))[list(sizes)].to_frame("the original").T.rename(
    columns=lambda name: name.replace("n_", "").replace("max_", "most in ")
)

# %% [markdown]
# They agree exactly. The count also settles a question. In the documents' diagram the attention sees
# the decoder's output alone, in their table the "decoder state". The count comes out only if it sees output *and*
# cell, the whole of $d_t$. (PyTorch's LSTM has two biases where one is enough; one of them is frozen at zero here.)
#
# ## Training
#
# The small preset has the same parts with fewer numbers. The paper clips gradients, and
# switches coverage on only for the last steps. We do the same. (It trains with Adagrad, we with Adam: the rule of
# [chapter 10](10_training.ipynb) without weight decay.) When coverage comes in, its weights are
# zero, so nothing changes at that moment except the fine.

# %%
training = SummarizerTraining()
pairs = [d.pair for d in diaries.train]
model, history = fit_summarizer(config, training, words, pairs)
print(f"{model.n_parameters():,} parameters")
print(f"{len(history)} steps of {training.batch} diaries")

# %% tags=["hide-input"]
labels = {
    "words": ("nats a word", INK),
    "coverage": ("overlap a word", EXTRA),
    "p_gen": ("mean of p_gen", GATE),
}
smooth = history[list(labels)].rolling(20, min_periods=1).mean()
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.7), sharex=True)
for ax, (name, (label, colour)) in zip(axes, labels.items(), strict=True):
    ax.plot(smooth.index, smooth[name], color=colour)
    ax.axvline(training.steps, color=MUTED, lw=1, ls=":")
    ax.set(xlabel="step", title=label)
    ax.set_ylim(bottom=0)
on, end = smooth.coverage.iloc[[training.steps - 1, -1]]
show(
    fig,
    alt="Three curves over training steps. The loss of words falls. The "
    "overlap of attention falls slowly, then steeply when coverage is "
    f"switched on, from {on:.2f} to {end:.2f}. The mean probability of "
    "generating settles.",
    caption="Training, averaged over twenty steps. Dotted line: coverage is "
    "switched on.",
)

# %% [markdown]
# ## A summary, word by word
#
# Now without a teacher. The simplest way to write is **greedy**: take the most probable word, feed it back, go
# on until the stop.

# %%
single = text_batch([story.pair], words)
draft = beam_search(model, single, beam=1)[0]
written = draft.words(words, single.lent[0])
print("true:   ", *story.summary)
print("written:", *written)


# %% tags=["hide-input"]
def coloured(axes, text, values, per_line=8):
    """Words on backgrounds from blue (copied) to orange (generated)."""
    middle = {"ha": "center", "va": "center"}
    for k, (word, p) in enumerate(zip(text, values, strict=True)):
        x, y = k % per_line, -(k // per_line)
        back = GENERATED if p >= 0.5 else COPIED
        box = {"facecolor": back, "edgecolor": "none"}
        box["alpha"] = 0.15 + 0.6 * abs(p - 0.5)
        axes.text(x, y, word, fontsize=9, color=INK, bbox=box, **middle)
        below = f"{p:.2f}"
        axes.text(x, y - 0.38, below, fontsize=7, color=MUTED, **middle)
    bottom = -(len(text) - 1) // per_line - 0.3
    axes.set(xlim=(-0.6, per_line - 0.4), ylim=(bottom, 0.5))
    axes.axis("off")


fig, axes = plt.subplots(figsize=(7.4, 0.62 * (1 + len(written) // 8)))
coloured(axes, written, draft.p_gen[: len(written)])
by_word = list(zip(written, draft.p_gen, strict=False))
names = np.mean([p for w, p in by_word if w not in words] or [0])
others = np.mean([p for w, p in by_word if w in words])
show(
    fig,
    alt="The words of the summary with the probability of generating below "
    f"each: {names:.2f} on average for words outside the vocabulary, "
    f"{others:.2f} for the others.",
    caption="The probability of generating, word by word. Blue: rather "
    "copied; orange: rather generated.",
)

# %% tags=["hide-input"]
attention = torch.stack(draft.attention)[: len(written)].numpy()  # (T, L)
fig, axes = plt.subplots(figsize=(7.4, 5.0))
looks = {"aspect": "auto", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
image = axes.imshow(attention, **looks)
axes.set_xticks(range(len(story.source)), story.source)
axes.tick_params(axis="x", rotation=90, labelsize=6)
axes.set_yticks(range(len(written)), written, fontsize=7)
axes.set(xlabel="source", ylabel="summary as written")
axes.grid(visible=False)
fig.colorbar(image, label="attention", fraction=0.03)
show(
    fig,
    alt="Heat map of attention, a row for each word of the summary and a "
    "column for each word of the source. While a name is written the bright "
    "cell mostly moves one word to the right at each step.",
    caption="The attention that each word was written with. Names are short "
    "diagonals.",
)

# %% [markdown]
# The diagonals are the pointer at work: the words of a name are copied one after the other. The decoder is fed
# `[UNK]`, and still knows that it has to go on one word further. Equation (16.5) says how:
# the previous *context* comes in too, and the context is where it looked. Cut that wire and count the *names right*:
# of the unknown words in the true summary, the share that the network writes, in whatever order.

# %%
sample = diaries.test[:120]


def names_right(texts):
    """Of summaries of the sample, in %."""
    found = [
        unknown_right(text, d.summary, words, d.source)
        for text, d in zip(texts, sample, strict=True)
    ]
    right, asked, _ = np.sum(found, axis=0)
    return 100 * right / asked


def no_context(layer, inputs):
    """What the fusing layer gets instead: the word, and zeros."""
    widths = [SMALL.embedding, 2 * SMALL.hidden]
    word, context = inputs[0].split(widths, dim=-1)
    return torch.cat([word, torch.zeros_like(context)], dim=-1)


# %%
texts, drafts = write_all(model, words, sample, beam=1)
wire = model.decoder.fuse.register_forward_pre_hook(no_context)
cut, _ = write_all(model, words, sample, beam=1)
wire.remove()
print("true:   ", *sample[0].summary)
print("written:", *texts[0])
print("cut:    ", *cut[0])

# %% tags=["hide-input"]
Markdown(
    f"Names right: **{names_right(texts):.0f} %** with the wire, "
    f"**{names_right(cut):.0f} %** without it; the printed sentence falls "
    "apart too. (It was trained with the wire. One trained without it has "
    "to find another way; see exercise 4.) One network wrote these "
    f"summaries, of {len(sample)} test diaries; the table below has three "
    f"seeds and all {len(diaries.test)} diaries, so its numbers differ."
)

# %% [markdown]
# Attention must sum to one, so the network looks somewhere even while it *generates* a word. Where?

# %%
parked = {"generated": [], "copied": [], "evenly": []}
fillers = {".", ",", "hour", "hours"}
for one, d in zip(drafts, sample, strict=True):
    marks = torch.tensor([word in fillers for word in d.source])
    parked["evenly"].append(float(marks.float().mean()))
    for p, where in zip(one.p_gen, one.attention, strict=True):
        kind = "generated" if p > 0.5 else "copied"
        parked[kind].append(float(where[marks].sum()))
share = {name: 100 * np.mean(values) for name, values in parked.items()}

# %% tags=["hide-input"]
guess = (
    "Perhaps the network waits where there is nothing to name. It would have "
    "a reason to: with coverage, a network that looks at a name early pays "
    "for it later, when it must look again to copy the name. "
)
waits = share["generated"] > 1.3 * share["evenly"]
Markdown(
    "While a word is generated, full stops, commas and *hour(s)* have "
    f"**{share['generated']:.0f} %** of the attention; an even spread would "
    f"give them {share['evenly']:.0f} %. While a word is copied, they have "
    f"{share['copied']:.0f} %. {guess if waits else ''}So read a heat map "
    "together with $p_\\text{gen}$: it also shows looks that copied nothing."
)

# %% [markdown]
# ## When does it copy?
#
# In [See et al. (2017)](https://arxiv.org/abs/1704.04368), $p_\text{gen}$ was 0.53 on average at the end of training, and
# 0.17 at test time: left alone, the network copied almost everything. Their explanation is that
# the teacher helps. Given the true words so far, the next one is easier to guess without looking. Here is ours:


# %%
def kind(word):
    if word not in words:
        return "outside the vocabulary"
    known = word in in_diaries
    return "known, and in diaries" if known else "in no diary"


rows = [
    (kind(word), p)
    for text, one in zip(texts, drafts, strict=True)
    for word, p in zip(text, one.p_gen, strict=False)
]
p = pd.DataFrame(rows, columns=["the word is", "p_gen"])
at_test = p.p_gen.mean()
decided = 100 * np.mean((p.p_gen < 0.1) | (p.p_gen > 0.9))
at_training = history.tail(training.coverage_steps).p_gen.mean()
by_kind = p.groupby("the word is").p_gen.agg(["count", "mean", "median"])
by_kind.round(2).rename(columns={"count": "words"})

# %% tags=["hide-input"]
no_gap = (
    "There is hardly a gap here, perhaps because our summaries have one "
    "wording, so that a slip does not lead far from what training has seen."
)
small = abs(at_test - at_training) < 0.1
Markdown(
    "In the last steps of training the mean of $p_\\text{gen}$ is "
    f"**{at_training:.2f}**, in writing alone **{at_test:.2f}**. "
    + (no_gap if small else "So there is a gap here as well.")
    + f" The mean hides that the gate decides: for {decided:.0f} % of the "
    "written words $p_\\text{gen}$ is below 0.1 or above 0.9."
)

# %% [markdown]
# The network has learned to generate what no diary has. What the vocabulary lacks it can only copy. In the draft above
# it also copies full stops and commas, which it could generate.
#
# ## Several drafts
#
# Greedy writing cannot take a word back. A **beam** keeps several drafts, extends each by every word, and
# keeps the best few by their probability so far. Finished drafts are compared by the mean log-probability of
# a word, for otherwise the shortest would win. The paper keeps four; a beam of one is greedy.
#
# A beam can *lose* the greedy draft on the way, to drafts that look better then and end worse. The package's search
# keeps the greedy draft for the final comparison, so that the result never scores below it (if it was finished).

# %%
few = sample[:60]
chunk = text_batch([d.pair for d in few], words)
one = beam_search(model, chunk, beam=1)
four = beam_search(model, chunk, beam=4, keep_greedy=False)
safe = beam_search(model, chunk, beam=4)
for a, b in zip(one, safe, strict=True):
    assert b.score >= a.score - 1e-6 or not a.finished
both = list(zip(one, four, strict=True))
gain = np.array([b.score - a.score for a, b in both])
same = np.mean([a.numbers == b.numbers for a, b in both])

# %% tags=["hide-input"]
Markdown(
    f"In {100 * same:.0f} % of {len(few)} diaries the plain beam ends with "
    f"the greedy summary, in {100 * np.mean(gain > 1e-6):.0f} % with one "
    f"that scores higher, in {100 * np.mean(gain < -1e-6):.0f} % with one "
    "that scores lower. A higher probability need not be a better summary; "
    "the next section compares them."
)

# %% [markdown]
# ## Three seeds, with and without
#
# To compare, the networks were trained with three seeds (with Adagrad, one) and scored on all test diaries.
#
# - **ROUGE** of [Lin (2004)](https://aclanthology.org/W04-1013) counts shared words (ROUGE-1), pairs of words
#   (ROUGE-2) and the longest common subsequence (ROUGE-L).
# - *Names right* is the share counted above, of words outside the vocabulary.
# - *Triples repeated* is the share of three-word sequences that the summary has already used.
# - *All right* is the share of summaries without a mistake.
#
# Two rivals, *sequence to sequence*, have no pointer: one has the same vocabulary, the other knows *every* word of the
# training diaries. Two rows need no network: a rule that writes the first words of the diary, as many as a summary
# usually has, and the true summary itself.

# %%
results = read_results("summarizer")
print(results.header["command"])
columns = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "unknown_right": "names right",
    "repeated_3": "triples repeated",
    "exact": "all right",
}
rows = results.rows.assign(search=results.rows.search.fillna("none"))
rows["what"] = rows.what.replace({"reference": "the true summary"})


def spread(values):
    """Mean over seeds, and their standard deviation if there are several."""
    mean = f"{values.mean():.1f}"
    return mean if len(values) == 1 else f"{mean} ± {values.std():.1f}"


by_model = rows.groupby(["what", "search"], sort=False)[list(columns)]
by_model.agg(spread).rename(columns=columns)


# %% tags=["hide-input"]
def score(name, what, search="greedy"):
    """Mean over seeds."""
    return results.mean(name, what=what, search=search)


POINTER, COVERED = "pointer-generator", "pointer-generator, coverage"
PLAIN, ALL = "sequence to sequence", "sequence to sequence, all words"
DRAWN = {
    PLAIN: ("no pointer", MUTED, ""),
    ALL: ("no pointer,\nall words", GENERATED, "//"),
    POINTER: ("pointer", EXTRA, ".."),
    COVERED: ("pointer,\ncoverage", COPIED, ""),
}
blind = results.mean("unknown_right", what="first words")
right = {what: score("unknown_right", what) for what in DRAWN}

fig, axes = plt.subplots(figsize=(7.0, 2.9))
for k, (what, (_, colour, hatch)) in enumerate(DRAWN.items()):
    axes.bar(k, right[what], 0.6, color=colour, hatch=hatch)
    above = {"ha": "center", "va": "bottom"}
    axes.annotate(f"{right[what]:.0f}", (k, right[what]), **above)
axes.axhline(blind, color=INK, lw=1, ls="--")
axes.annotate("the beginning of the diary", (-0.35, blind), va="bottom")
axes.set_xticks(range(4), [label for label, _, _ in DRAWN.values()])
axes.set(ylabel="names right (%)", ylim=(0, 100))
show(
    fig,
    alt="Four bars, the share of unknown words right: "
    f"{right[PLAIN]:.0f} % without a pointer, {right[ALL]:.0f} % with all "
    f"words known, {right[POINTER]:.0f} % with a pointer, "
    f"{right[COVERED]:.0f} % with coverage. A dashed line for the beginning "
    f"of the diary at {blind:.0f} %.",
    caption="What the pointer is for. Dashed: a rule that prints the "
    "beginning of the diary.",
)

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 2.9))
grams = [1, 2, 3, 4]
lines = {
    POINTER: ("pointer-generator", EXTRA, "s"),
    COVERED: ("with coverage", COPIED, "o"),
    "reference": ("true summaries", TRUTH, "^"),
}
for what, (label, colour, mark) in lines.items():
    where = {"what": what}
    if what != "reference":
        where["search"] = "greedy"
    line = [results.mean(f"repeated_{n}", **where) for n in grams]
    axes.plot(grams, line, color=colour, marker=mark, label=label)
axes.set(xlabel="n", ylabel="n-grams repeated (%)", xticks=grams)
axes.legend()
show(
    fig,
    alt="Three falling curves, repeated n-grams for n from 1 to 4, without "
    "and with coverage and in the true summaries; the first two lie close "
    "together.",
    caption="Repeated sequences of n words (n-grams), mean over three "
    "seeds, drawn as in the paper.",
)

# %% tags=["hide-input"]
adagrad = score("rouge1", "pointer-generator, coverage, Adagrad")
rule = results.mean("rouge1", what="first words")
true = results.mean("repeated_3", what="reference")
greedy, beam = (score("rouge1", COVERED, s) for s in ("greedy", "beam"))
adds = score("rouge1", POINTER, "beam") - score("rouge1", POINTER)
adds = round(adds, 1) + 0  # no "-0.0"
Markdown(
    f"- **The pointer.** Without it, names are right in {right[PLAIN]:.0f} % "
    f"with the small vocabulary and {right[ALL]:.0f} % with all words; with "
    f"it in {right[POINTER]:.0f} %. A larger vocabulary adds "
    f"{right[ALL] - right[PLAIN]:.0f} points, the pointer "
    f"{right[POINTER] - right[PLAIN]:.0f}. A rule that prints the beginning "
    f"of the diary has {blind:.0f} % of the names.\n"
    f"- **Coverage.** Repeated triples: {score('repeated_3', POINTER):.1f} % "
    f"without, {score('repeated_3', COVERED):.1f} % with, {true:.1f} % in "
    "the true summaries. Both networks were trained for the same number of "
    "steps.\n"
    f"- **The beam** changes ROUGE-1 by {adds:+.1f} without coverage and "
    f"{beam - greedy:+.1f} with it.\n"
    "- **Adagrad**, as in the paper, with the same few steps (one seed): "
    f"ROUGE-1 {adagrad:.1f}.\n"
    "- **The rule** that prints the beginning of the diary: ROUGE-1 "
    f"{rule:.1f}."
)

# %% tags=["hide-input"]
parts = {
    "days": "how many days,\nhow full, new",
    "mostly": "the longest\nstay",
    "also": "the other\nplaces",
    "errands": "count of\nerrands",
}
change = {
    name: score(name, COVERED) - score(name, POINTER)
    for name in ("unknown_right", "rouge2", "exact", *parts)
}
lower = sum(change[name] < 0 for name in parts)
less = "Each" if lower == len(parts) else lower
by_seed = results.select(search="greedy").pivot_table(
    "rouge2", "seed", "what"
)
falls = by_seed[COVERED] < by_seed[POINTER]
Markdown(
    "The line on coverage deserves a second look. In the training curves the "
    "overlap of attention falls, as it should. What else changes with "
    "coverage, in points:\n\n"
    "| ROUGE-2 | all right | names right |\n"
    "|---|---|---|\n"
    f"| {change['rouge2']:+.1f} | {change['exact']:+.1f} | "
    f"{change['unknown_right']:+.1f} |\n\n"
    f"{less} of the four sentences is right less often. "
    f"Three seeds are few: ROUGE-2 falls in {falls.sum()} of {len(falls)}."
)

# %% [markdown]
# Perhaps there was little to repair: the summaries are short, and the fused context shows the decoder where it has just
# been. [See et al. (2017)](https://arxiv.org/abs/1704.04368) had articles
# that, before they were cut, were about ten times as long as our diaries, and summaries that did repeat themselves; there coverage brought repetition down to what
# people write.
#
# The rule that prints the beginning can be a serious rival. In their paper the rule "the first three sentences" has
# a higher ROUGE than each of their networks, because news puts the main thing first. A diary does not.
# Whether a rule wins is a property of the data; [chapter 23](23_real_cities.ipynb) meets that again.
#
# What is hard, then? Here is how often each of the four sentences is entirely right, beside two simple
# rules. One always writes the most frequent sentence of training. The other is given the names, and which of them are
# new. It takes the first place of the diary for the longest stay, and lists the rest as they come: both sentences are
# right, or neither is.


# %%
def names_of(summary):
    """The places of a summary, the longest stay first."""
    # without "mostly at" and "also"
    lists = *sentence(summary, 1)[2:], ",", *sentence(summary, 2)[1:]
    return " ".join(lists).replace(" ( new )", "").split(" , ")


def first_is_longest(diary):
    """Whether the first place in a diary is that of the longest stay."""
    text, names = " ".join(diary.source), names_of(diary.summary)
    return min(names, key=text.find) == names[0]


first = 100 * np.mean([first_is_longest(d) for d in diaries.test])
floors = dict.fromkeys(("mostly", "also"), first)
usual = {}
for name, k in {"days": 0, "errands": 3}.items():
    learned = [" ".join(sentence(d.summary, k)) for d in diaries.train]
    asked = [" ".join(sentence(d.summary, k)) for d in diaries.test]
    ((usual[name], _),) = Counter(learned).most_common(1)
    floors[name] = 100 * np.mean([text == usual[name] for text in asked])
print("most frequent:", *usual.values(), sep="\n")

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 3.1))
for k, what in enumerate((ALL, POINTER, COVERED)):
    _, colour, hatch = DRAWN[what]
    at = np.arange(len(parts)) + (k - 1) * 0.27
    heights = [score(name, what) for name in parts]
    axes.bar(at, heights, 0.25, color=colour, hatch=hatch, label=what)
for k, name in enumerate(parts):
    label = None if k else "a rule"
    line = (floors[name], k - 0.44, k + 0.44)
    axes.hlines(*line, color=INK, lw=2, label=label)
axes.set_xticks(range(len(parts)), list(parts.values()))
axes.set(ylabel="sentences right (%)", ylim=(0, 119))
axes.set_yticks(range(0, 101, 20))
axes.legend(fontsize=8, ncols=2, loc="upper center")
said = [
    f"{label.replace(chr(10), ' ')}: {score(name, POINTER):.0f} % with "
    f"pointer, {score(name, COVERED):.0f} % with coverage, "
    f"{floors[name]:.0f} % by the rule"
    for name, label in parts.items()
]
show(
    fig,
    alt="Bars for four sentences and three networks, with a line for a rule. "
    + "; ".join(said)
    + ".",
    caption="Which sentence is right as a whole, greedy, mean over three "
    "seeds. Lines: what a rule reaches, the most frequent sentence (first "
    "and last) or the first place (the other two).",
)

# %% tags=["hide-input"]
by = {name: score(name, POINTER) for name in ("rouge1", "exact", *parts)}
errands, wide = score("errands", ALL), results.spread("errands", what=ALL)
Markdown(
    f"ROUGE does not show it: ROUGE-1 is {by['rouge1']:.0f} when "
    f"{by['exact']:.0f} % of the summaries are entirely right. Sentence by "
    "sentence, the network with its pointer and the rule:\n\n"
    f"- The longest stay: {by['mostly']:.0f} %; the first place of the diary "
    f"would be right in {floors['mostly']:.0f} %.\n"
    f"- The other places: {by['also']:.0f} %, and {floors['also']:.0f} % by "
    "that rule, which is given the names.\n"
    f"- How many days, how full, how new: {by['days']:.0f} %, and "
    f"{floors['days']:.0f} % "
    "by the most frequent sentence.\n"
    f"- The errands: {by['errands']:.0f} %. A rule that always writes "
    f'"{usual["errands"]}" is right in {floors["errands"]:.0f} %. '
    f"Without the pointer, all words known, it is {errands:.0f} ± "
    f"{wide:.0f} %."
)

# %% [markdown]
# > **Note.** The pointer moves information. It does not work anything out. How many places there were, which were
# > new, how many errands: the LSTMs have to find that by themselves.
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
# Even with more steps, a fine for a second look would hardly suit PGT, since people do return to the same place.
#
# ## What to remember
#
# - A pointer-generator writes with a mixture of its vocabulary and its source. It can copy words that nobody has seen
#   before, since the text lends them a number.
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
    seen = (output.attention * hit).sum(-1)
    copied = ((1 - output.p_gen) * seen)[0]
responsibility = (copied / probability)[: len(written)]
gate = (1 - output.p_gen[0])[: len(written)]
columns = {"weight of copying": gate, "copied": responsibility}
both = pd.DataFrame(columns, index=written)
apart = (both["copied"] - both["weight of copying"]).abs().to_numpy()
both.iloc[apart.argsort()[::-1][:5]].round(
    2
)  # the five with the largest difference

# %% [markdown]
# <details class="solution"><summary>Answer to exercise 2</summary>
#
# Nearly; the table shows the largest differences. They come from words to which one side gives hardly any probability.
# Then the other side has written the word, even if $p_\text{gen}$ is not quite 0 or 1.
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
# all unknown words have one embedding
assert again == [other.get(word, word) for word in written]

# %% [markdown]
# **Exercise 4** (project). Train without the context in the fused input from the start, as many steps as the row
# "pointer-generator" of the table has. Does the network find another way to copy names of several words?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
from wherenext.summaries import scores as all_scores

from pgt.summarizer import new_summarizer, stream, train

RUN = False  # True trains three networks: about a minute
# what it printed for us
measured = {0: (78.5, 69.2), 1: (83.4, 73.4), 2: (77.2, 67.2)}


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
whole = [score(name, POINTER) for name in ("unknown_right", "mostly")]
print("names right, the longest stay right, in %")
print(f"without the wire: {names:.1f}, {longest:.1f}")
print(f"with it:          {whole[0]:.1f}, {whole[1]:.1f}")

# %% [markdown]
# <details class="solution"><summary>Answer to exercise 4</summary>
#
# It does find another way, and a worse one: it still writes most names, but both shares are lower. So the state of the
# decoder carries some of what the wire did.
#
# </details>
#
# **Next:** [Side by side](17_side_by_side.ipynb), where parent and child answer for every row of their comparison.
