# %% [markdown]
# # The original: a summarizer
#
# Before it pointed at places, this network pointed at the names of football players.
#
# *You will be able to* build the network from which PGT takes its name, watch it copy a name that it has never met, and say
# which of its parts PGT kept, reversed or dropped. *You need* [The pointer](07_pointer.ipynb) and
# [The generator and the gate](08_generator_and_gate.ipynb). *It takes* twenty minutes to read and about a minute to run.
#
# > **In one sentence.** A network that may copy gets {{ names_right:.0f }} % of the names that a small vocabulary
# > lacks; one that may not gets {{ without_pointer:.0f }} %, even with every word of the training texts in its vocabulary.

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

# %%
from dataclasses import replace

import pandas as pd
import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from wherenext import city
from wherenext.figures import COPIED, GENERATED, show
from wherenext.results import read_results
from wherenext.summaries import unknown_right, write_diaries, written

from pgt import plots, summarizer
from pgt.summarizer import SMALL, beam_search, text_batch

torch.set_num_threads(1)

# %% [markdown]
# The pointer-generator was not made for places. [See et al. (2017)](https://arxiv.org/abs/1704.04368) made it to summarize
# news. The trouble with news is names. A network that chooses from a fixed list of words can only write "somebody scored".
# A network that can only copy cannot write "won" where the report says "beat". Theirs does both. At every word one number
# decides between the two: the probability of generating, which is one minus our gate.
#
# In this chapter we build the original, whole. It has three LSTMs. (An *LSTM* reads a text word by word, and at each word
# updates two vectors: its *output*, which it shows, and its *cell*, its memory.) We cannot ship its news. But we have a town,
# and people with days to write about.
#
# ## Trip diaries
#
# Here is a stretch of days of one person, written by a rule: every stay with its time, place, purpose and length. Below it
# is its summary.

# %%
diaries = write_diaries(city.load())
story = diaries.test[9]  # one that fits on a page
print(*story.source)
print("->", *story.summary)

# %% [markdown]
# With at most two places away from home the days are called *quiet*, with three *lively*, with more *busy*. A new place
# makes them days of *discovery*, otherwise of *routine*. "Mostly" is where the longest single stay away from home was (of
# equals, the first). Errands are stays to shop, to settle something or for a check-up. Training has never met the people of
# the test diaries. And no diary contains the word "errand"; only summaries do. So
# neither copying nor generating is enough.
#
# ## Words that nobody knows
#
# A vocabulary has an end. Ours takes the words, of diaries and of summaries, that the most *people* use. So it holds what
# everybody writes (hours, weekdays, "errands", also the Spoon of many restaurants) and leaves out what few people write, above
# all the names of their places. To the network's embeddings all unknown words are the same word, `[UNK]`. How can one answer
# with a word that has no number? By lending it one. Each text gives its own unknown words the numbers after the end of the
# vocabulary. This is an **extended vocabulary**; [chapter 22](22_open_vocabulary.ipynb) does the same for places. The
# numbers mean something for this text only.

# %%
words = diaries.words(SMALL.n_words)
_, lent = words.extend(story.source)
print({word: len(words) + k for k, word in enumerate(lent)})
print(words.encode_summary(story.summary, lent))
asked = [word for d in diaries.test for word in d.summary]
unknown = 100 * sum(word not in words for word in asked) / len(asked)
print(f"unknown: {unknown:.0f} % of the words in the test summaries")

# %% [markdown]
# ## One word, from two sources
#
# Before the network, its last step, which you know. The network gives each word of the vocabulary a probability
# $P_\text{gen}$, each word $i$ of the text an attention $a_i^t$ at step $t$, and says with $p_\text{gen}$ how much to trust the
# vocabulary. With the gate $g = 1 - p_\text{gen}$, and words in place of locations, it is equation (8.4):
#
# $$
# P(\ell) = p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen}) \sum_{i:\, l_i = \ell} a_i^t . \tag{16.1}
# $$
#
# $l_i$ is the word at place $i$ of the text, and $\ell$ runs over the extended vocabulary: $V$ words and $O$ lent ones. A lent
# word has $P_\text{gen}(\ell) = 0$, so it can only be copied. In a batch, `source` is the text with `[UNK]` for every unknown
# word, `extended` has their lent numbers, and `n_lent` is $O$.


# %%
def mix(p_gen, a, said, batch):
    """-> (B, V + O) over the vocabulary and the lent words."""
    none = torch.zeros(len(said), batch.n_lent)  # no lent word is generated
    generated = torch.cat([p_gen * said, none], dim=1)
    return generated.scatter_add(1, batch.extended, (1 - p_gen) * a)


# %% [markdown]
# Once by hand. Suppose that the network looks at "Winter" with 0.9 and at one "the" with 0.1, would generate "the" with 0.7,
# and weighs the vocabulary with 0.2:

# %%
single = text_batch([story.pair], words)  # our story, a batch of one
a = torch.zeros(single.source.shape)  # (1, L)
a[0, story.source.index("Winter")] = 0.9
a[0, story.source.index("the")] = 0.1
said = torch.full((1, len(words)), 0.3 / (len(words) - 1))
the = words.encode_summary(["the"], [])[0]
said[0, the] = 0.7
p = mix(torch.tensor([[0.2]]), a, said, single)[0]
winter = len(words) + lent.index("Winter")
print(f"Winter {p[winter]:.2f}, the {p[the]:.2f}")

# %% [markdown]
# "Winter" is $0.8 \cdot 0.9 = 0.72$, all of it copied. "The" is $0.2 \cdot 0.7 + 0.8 \cdot 0.1 = 0.22$, from both sources. The
# rest of the chapter makes these three: attention, $P_\text{gen}$ and $p_\text{gen}$.
#
# ## Reading
#
# Every word becomes a vector of width $D$, its row of the embedding table $E$. Then two LSTMs read the text, one from each
# end. Put their two outputs at word $i$ side by side:
#
# $$
# h_i = \big[\, h_i^{\rightarrow} \,;\, h_i^{\leftarrow} \,\big]. \tag{16.2}
# $$
#
# So $h_i$ knows the words before and after word $i$. A third LSTM will write. Its first output and its first cell are made from
# the readers' last ones, each by a linear layer and a ReLU.


# %%
class Reader(nn.Module):
    """A bidirectional LSTM, and the state that the writer starts from."""

    def __init__(self, D, H):
        super().__init__()
        self.lstm = nn.LSTM(D, H, batch_first=True, bidirectional=True)
        self.first_output = nn.Linear(2 * H, H)
        self.first_cell = nn.Linear(2 * H, H)

    def forward(self, x, length):
        """(B, L, D) -> (B, L, 2H) states h; first output and cell (B, H)."""
        packed = pack_padded_sequence(  # so that padding is not read
            x, length, batch_first=True, enforce_sorted=False
        )
        states, (output, cell) = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        output = torch.cat([output[0], output[1]], -1)  # both directions
        cell = torch.cat([cell[0], cell[1]], -1)
        output, cell = self.first_output(output), self.first_cell(cell)
        return states, output.relu(), cell.relu()


torch.manual_seed(0)
D, H = SMALL.embedding, SMALL.hidden  # widths of a word and of an LSTM
embed = nn.Embedding(len(words), D)
states, *_ = Reader(D, H)(embed(single.source), single.length)
print(f"{states.shape[1]} words, {states.shape[2]} numbers for each")

# %% [markdown]
# ## Looking back
#
# At every word that it writes, the network looks at the whole text. PGT compares by a product of query and key. The original
# has an older way, the **additive attention** of [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473): add a vector of
# what is looked for to a vector of what is there, and let a small network say how well they fit. The score of word $i$ at
# step $t$, the attention and the context are
#
# $$
# \begin{aligned}
# s_i^t &= v_\text{score}^\top \tanh\big( W_h h_i + W_d d_t + w_C C_i^t + b_h \big), \\
# a_i^t &= \frac{e^{s_i^t}}{\sum_j e^{s_j^t}} , \\
# c_t &= \sum_i a_i^t h_i .
# \end{aligned} \tag{16.3}
# $$
#
# Here $d_t = [\, \text{cell} \,;\, o_t \,]$ is the cell and the output $o_t$ of the writing LSTM at step $t$, and all weights
# are learned. Forget the *coverage* $C_i^t$ for a while; it is zero until the section after the next. The context $c_t$ is
# what was seen.


# %%
class AdditiveAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.of_coverage = nn.Parameter(torch.zeros(width))  # w_C
        self.v = nn.Parameter(torch.randn(width) / width**0.5)
        self.of_memory = nn.Linear(width, width, bias=False)  # W_h
        self.of_state = nn.Linear(width, width)  # W_d and b_h

    def forward(self, d, states, covered, padding):
        """(B, 2H) asks, (B, L, 2H) is there -> (B, L), (B, 2H) context."""
        inside = self.of_memory(states)  # (B, L, 2H)
        inside = inside + self.of_state(d)[:, None]
        inside = inside + covered[..., None] * self.of_coverage
        s = inside.tanh() @ self.v  # (B, L)
        a = s.masked_fill(padding, -torch.inf).softmax(-1)
        return a, (a[..., None] * states).sum(1)


# %% [markdown]
# ## Writing
#
# Now one step of the decoder. The previous word, a row of $E$, and the previous *context* are fused into one input, and the
# LSTM takes its step:
#
# $$
# \begin{aligned}
# x_t &= W_x \,[\, E_{\ell_{t-1},:} \,;\, c_{t-1} \,] + b_x , \\
# d_t &= \text{LSTM}(x_t, d_{t-1}).
# \end{aligned} \tag{16.4}
# $$
#
# This is called **input fusion**. A lent word comes in as `[UNK]`, like any other unknown word; the context tells which one it
# was.
#
# The new state attends, by equation (16.3). Then its output $o_t$ and the context (but not the cell) go into two layers without
# a nonlinearity between them, then a softmax over the vocabulary:
#
# $$
# P_\text{gen} = \operatorname{softmax}\big( W_2 \,( W_1 [\, o_t \,;\, c_t \,] + b_1 ) + b_2 \big). \tag{16.5}
# $$
#
# One number says whether to speak from the vocabulary or from the text. It sees context, cell, output and input:
#
# $$
# p_\text{gen} = \sigma\big( w_g^\top [\, c_t \,;\, d_t \,;\, x_t \,] + b_g \big). \tag{16.6}
# $$


# %%
class Writer(nn.Module):
    def __init__(self, V, D, H):
        super().__init__()
        self.fuse = nn.Linear(D + 2 * H, D)
        self.cell = nn.LSTMCell(D, H)
        self.attention = AdditiveAttention(2 * H)
        self.gate = nn.Linear(4 * H + D, 1)
        self.project = nn.Linear(3 * H, H)
        self.generate = nn.Linear(H, V)

    def forward(self, word, carried, states, padding):
        """(B, D) the last word, and what is carried from step to step."""
        o, cell, context, covered = carried
        x = self.fuse(torch.cat([word, context], -1))  # (B, D)
        o, cell = self.cell(x, (o, cell))  # (B, H) twice
        d = torch.cat([cell, o], -1)  # (B, 2H)
        a, context = self.attention(d, states, covered, padding)
        p_gen = self.gate(torch.cat([context, d, x], -1)).sigmoid()  # (B, 1)
        said = self.generate(self.project(torch.cat([o, context], -1)))
        return p_gen, a, said.softmax(-1), (o, cell, context, covered + a)


# %% [markdown]
# ## Not twice
#
# Networks that write tend to repeat themselves. (Ours will not: its summaries are short.) The cure of the paper is
# **coverage**: remember how much attention each word of the source has had so far,
#
# $$
# C_i^t = \sum_{t' < t} a_i^{t'} , \tag{16.7}
# $$
#
# show it to the attention, as in equation (16.3), and add a fine for the overlap to the loss. With $\ell^*$ for the true
# word, the loss of a step is
#
# $$
# \mathcal{L}_t = - \log P(\ell^*) + \sum_i \min\big( a_i^t , C_i^t \big) . \tag{16.8}
# $$
#
# The fine is at most 1, and small if the network looks somewhere new. In training the decoder is given the true previous
# word, whatever it would have written itself: **teacher forcing**. A batch has these words as `given`, the words to write as
# `target` (in the extended vocabulary), and `taught`, which is 1 up to the stop and then 0. Here is the whole network, with its
# loss:


# %%
class MySummarizer(nn.Module):
    def __init__(self, V, D, H):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.reader, self.writer = Reader(D, H), Writer(V, D, H)

    def forward(self, batch):
        """Mean over texts of the mean over their words, equation (16.8)."""
        x = self.embedding(batch.source)  # (B, L, D)
        states, o, cell = self.reader(x, batch.length)
        covered = torch.zeros(batch.source.shape)  # (B, L)
        carried = o, cell, torch.zeros_like(states[:, 0]), covered
        rows = []
        for given, true in zip(batch.given.T, batch.target.T, strict=True):
            covered = carried[-1]
            p_gen, a, said, carried = self.writer(
                self.embedding(given), carried, states, batch.padding
            )
            p = mix(p_gen, a, said, batch).gather(1, true[:, None])[:, 0]
            rows.append(-p.log() + torch.minimum(a, covered).sum(1))
        rows = torch.stack(rows, 1) * batch.taught  # (B, T), 0 after the end
        return (rows.sum(1) / batch.taught.sum(1)).mean()


# %% [markdown]
# In [the package](https://where-next-book.github.io/where-next/book/api.html) it is `PointerGenerator` in `pgt.summarizer`.
# With the same untrained weights, both have the same loss, so
# from here on the package's, which can also write, stands for ours:

# %% tags=["hide-input"]
# @title Check: the loss of our network, and of the package's
torch.manual_seed(0)
theirs = summarizer.PointerGenerator(replace(SMALL, coverage=True))
ours = MySummarizer(len(words), D, H)
weights = theirs.state_dict().values()
ours.load_state_dict(dict(zip(ours.state_dict(), weights, strict=True)))
batch = text_batch([d.pair for d in [story, *diaries.test[:7]]], words)
with torch.no_grad():
    loss, package = ours(batch), theirs.loss(batch).total
torch.testing.assert_close(loss, package)  # raises an error if they differ
print(f"ours {loss:.6f}, the package's {package:.6f}")

# %% [markdown]
# ## Training
#
# We train the small preset, which has the same parts with fewer numbers, by a loop like that of
# [chapter 10](10_training.ipynb). As in
# the paper, gradients are clipped, and coverage is switched on only for the last
# {{ training.coverage_steps }} of {{ training.steps }} steps.

# %%
config = replace(SMALL, coverage=True)
training = summarizer.SummarizerTraining()
pairs = [d.pair for d in diaries.train]
model, steps = summarizer.fit_summarizer(config, training, words, pairs)
first, late = steps.words[:10].mean(), steps.words[-10:].mean()
print(f"{len(pairs)} diaries; loss a word: from {first:.1f} to {late:.1f}")

# %% [markdown]
# ## A summary, word by word
#
# Now without a teacher. The simplest way to write is **greedy**: take the most probable word, feed it back, go on until the
# stop. (A **beam** keeps several drafts. Ours keeps one, so it is greedy.)

# %%
(draft,) = beam_search(model, single, beam=1)
text = draft.words(words, single.lent[0])
print("true:   ", *story.summary)
print("written:", *text)

# %% tags=["hide-input"]
# @title Figure 16.1: where each word of the summary comes from
attention = torch.stack(draft.attention)[: len(text)].numpy()  # (T, L)
figure, axes = plt.subplots(figsize=(7.4, 4.4))
seen = attention.max(0) > 0.1  # leave out words that nothing looks at
labels = [w for w, some in zip(story.source, seen, strict=True) if some]
plots.attention(attention[:, seen], labels=labels, axes=axes)
axes.set_yticks(torch.arange(len(text)) + 0.5, text)
axes.set(xlabel="diary (in part)", ylabel="summary as written")
axes.set_aspect("auto")
axes.tick_params(labelsize=8)
axes.tick_params(axis="x", rotation=90)
for word, p in zip(axes.get_yticklabels(), draft.p_gen, strict=False):
    word.set_color(GENERATED if p >= 0.5 else COPIED)
show(
    figure,
    alt="Heat map, summary by diary; bright diagonals where names are. The "
    "names are blue, most words that no diary has are orange.",
    caption="The attention that each word was written with. Orange: rather "
    "generated; blue: rather copied. Words of the diary that never get a "
    "tenth of it are left out.",
)

# %% [markdown]
# Blue words were rather copied ($p_\text{gen}$ below one half), orange words rather generated. The short diagonals are the
# pointer at work: the words of a name are copied one after the other. Words that the network could have generated are blue,
# too, such as "at". No label ever said which is which. (Attention must sum to one in every row. In a dark row it is spread
# over words that the figure leaves out.)
#
# Compare the two printed lines. The names are spelled right. If the lines differ, look whether it is a name or a count.
# (Another machine rounds otherwise, and its network makes other mistakes.)
#
# ## A name of your own
#
# Let us rename the place where this person ate, in the diary only. Any word will do.

# %%
my_place = "Zanzibar"  # @param {type:"string"}
renamed = [my_place if w == "Winter" else w for w in story.source]
yours = text_batch([(renamed, [])], words)
(again,) = beam_search(model, yours, beam=1)
print(*again.words(words, yours.lent[0]))

# %% [markdown]
# Change the name: the rest of the summary stays, because all unknown words have one embedding. Then try `busy`, which the
# vocabulary has and which has an embedding of its own. Now other words may change, too.
#
# ## What the pointer is worth
#
# To compare, networks were trained with three seeds and scored on all test diaries. *Names*: of the words of the true
# summary that our vocabulary lacks, the share that was written. Then the four sentences of a summary, one by one, each right or
# not. **ROUGE**-1 of [Lin (2004)](https://aclanthology.org/W04-1013), the usual score of summaries, counts the words that both
# share. Beside the networks stands a *rule* that prints the first words of the diary, as many as a summary usually has, so it
# gets the names that stand there. The network without a pointer knows *every* word of the training diaries; neither has
# coverage.

# %% tags=["hide-input"]
# @title Table: what is right, with a pointer and without
MODELS = {
    "first words": "the rule",
    "sequence to sequence, all words": "no pointer",
    "pointer-generator": "pointer",
}
measures = {
    "unknown_right": "names",
    "days": "first sentence: what days",
    "mostly": "second: mostly where",
    "also": "third: where else",
    "errands": "fourth: how many errands",
    "exact": "the whole summary",
    "rouge1": "ROUGE-1",
}
rows = read_results("summarizer").rows
means = rows[rows.search != "beam"].groupby("what").mean(numeric_only=True)
means = means.rename(MODELS).loc[[*MODELS.values()], [*measures]]
names_right, without_pointer = means.unknown_right[["pointer", "no pointer"]]
no_errand = [d.summary[-3] == "no" for d in diaries.test]
always = 100 * sum(no_errand) / len(no_errand)
train = {word for d in diaries.train for word in [*d.source, *d.summary]}
there = [word in train for word in asked if word not in words]
there = 100 * sum(there) / len(there)
table = means.rename(columns=measures).T
table = table.rename_axis("right, %, mean of three seeds", axis=1)
table.round(0).astype(int)

# %% [markdown]
# The names are the pointer's work. The other network knows {{ there:.0f }} % of these words, and hardly ever writes the right one.
# To know a word is not to know that it is wanted here.
#
# But a pointer moves information, and does not work anything out. It does not help to count errands (always writing "no
# errands" is right in {{ always:.0f }} %), and it is poor at the first sentence, for which places must be counted and
# compared. And ROUGE flatters: it is {{ means.rouge1["pointer"]:.0f }} when {{ means.exact["pointer"]:.0f }} % of the
# summaries are entirely right.
#
# Coverage and beam search add nothing to such short summaries ([Evidence: the relatives](evidence_relatives.ipynb)).
#
# ## What became of it in PGT
#
# PGT *kept* the mixture of equation (16.1), with places for words. It *reversed* the gate: $g = 1 - p_\text{gen}$. It
# *replaced* the bidirectional LSTM by a Transformer and the additive attention by a product. And it *dropped* the decoder,
# since it answers only once: the last visit asks. Without a second step nothing can be said twice, so coverage went too. [The
# next chapter](17_side_by_side.ipynb) puts the two side by side.
#
# ## What to remember
#
# - A pointer-generator writes with a mixture of its vocabulary and its source. It can copy words that nobody has seen before,
#   since the text lends them a number.
# - $p_\text{gen} = 1 - g$. The equation is the same as in PGT. But PGT asks once, from the last visit; the summarizer asks at
#   every word.
# - Coverage is a memory of one's own attention, and a fine for looking twice.
# - Copying names is easy to learn. Counting is not, and ROUGE hardly notices: the count is one word of some thirty.
#
# ## Exercises
#
# **Exercise 1** (quick). "The" is in the vocabulary, with $P_\text{gen} = 0.1$, and three times in the text, with attention
# 0.2, 0.1 and 0.05. The network has $p_\text{gen} = 0.6$. What does equation (16.1) give? Work it out, then check it with
# `mix`.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_hand = 0.6 * 0.1 + 0.4 * (0.2 + 0.1 + 0.05)
a, said = torch.tensor([[0.2, 0.1, 0.05, 0.65]]), torch.full((1, 9), 0.1)
few = replace(single, extended=torch.tensor([[5, 5, 5, 7]]), lent=([],))
by_code = mix(torch.tensor([[0.6]]), a, said, few)[0, 5]  # "the" is word 5
print(f"{by_hand:.2f} by hand, {by_code:.2f} by code")
# Four shares add up, so p_gen alone does not say whether a word was copied.

# %% [markdown]
# **Exercise 2** (medium). Write `responsibility`, the share of each written word's probability that came from copying
# ([chapter 8](08_generator_and_gate.ipynb)), for the draft of the story. Does $1 - p_\text{gen}$ tell the same story?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
with torch.no_grad():
    taught = text_batch([(story.source, text)], words)
    output = model(taught)
    probability = model.of_target(output, taught)[0]  # (T,)
hit = taught.extended[:, None] == taught.target[..., None]  # (1, T, L)
both = pd.DataFrame({"weight of copying": 1 - output.p_gen[0]})
both["copied"] = (output.attention * hit).sum(-1)[0] / probability
both["copied"] *= both["weight of copying"]
both = both[: len(text)].set_axis(text)
apart = both.diff(axis=1).abs()["copied"]
both.iloc[apart.argsort()[::-1][:5]].round(2)  # the five largest differences
# Nearly. They differ where one side gives the word hardly any probability:
# then the other has written it, even if p_gen is not quite 0 or 1.

# %% [markdown]
# **Exercise 3** (longer). (`model` is the package's: its `decoder.fuse` is our `writer.fuse`.) After the first word of a name
# is copied, the decoder is fed `[UNK]`. How does it know to go on one word further? Equation (16.4) has a second input, the
# previous context. Cut that wire in the trained model, and count the names right on the first 120 test diaries.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
sample = diaries.test[:120]
texts, _ = written(model, words, sample, beam=1)


def names(texts):
    found = [
        unknown_right(text, d.summary, words, d.source)
        for text, d in zip(texts, sample, strict=True)
    ]
    right, asked, _ = map(sum, zip(*found, strict=True))
    return f"{100 * right / asked:.0f} %"


def no_context(layer, inputs):
    """What the fusing layer gets instead: the word, and zeros."""
    word, context = inputs[0].split([SMALL.embedding, 2 * SMALL.hidden], -1)
    return torch.cat([word, torch.zeros_like(context)], -1)


wire = model.decoder.fuse.register_forward_pre_hook(no_context)
cut, _ = written(model, words, sample, beam=1)
wire.remove()
print("cut:", *cut[0])
print("names right:", names(texts), "with the wire,", names(cut), "without")
# The context is where it looked. A network that is trained without the wire
# finds another way, and a worse one.

# %% [markdown]
# **Next:** [Side by side](17_side_by_side.ipynb), where parent and child stand in one table.
