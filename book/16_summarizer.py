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
from collections import Counter
from dataclasses import replace

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from wherenext import city
from wherenext.figures import COPIED, GENERATED, INK, flowchart, show
from wherenext.results import read_results
from wherenext.summaries import write_diaries

from pgt import colours, plots, summarizer
from pgt.summarizer import SMALL, beam_search, text_batch

torch.set_num_threads(1)

# %% [markdown]
# The pointer-generator was not made for places. [See et al. (2017)](https://arxiv.org/abs/1704.04368) made it to summarize
# news, and the trouble with news is names. A network that chooses from a fixed list of words can only write "somebody scored".
# A network that can only copy cannot write "won" where the report says "beat". Theirs does both.
#
# How can a network write a name that it has never met? We build the original, whole. Its news we cannot ship, but we have a
# town, and people with days to write about.
#
# ## Trip diaries
#
# Here are the stays of one person in a few days, written by a rule, and below them their summary.

# %%
diaries = write_diaries(city.load())
story = diaries.test[9]  # one that fits on a page
print(*story.source)
print("->", *story.summary)

# %% [markdown]
# With two places away from home the days are *quiet*, with three *lively*, with more *busy*. A new place makes them days of
# *discovery*, otherwise of *routine*. "Mostly" is where the longest stay away from home was. Errands are stays to shop, to
# settle something or for a check-up.
#
# A summary needs names, more than a short vocabulary holds. It also needs the word "errand", which no diary has. So neither
# generating nor copying is enough.
#
# ## Words that nobody knows
#
# Our vocabulary takes the words that the most *people* use. It leaves out what few people write, above all the names of their
# places. To the network's embeddings all these unknown words are one word, `[UNK]`.
#
# How can one answer with a word that has no number? By lending it one. Each text gives its own unknown words the numbers after
# the end of the vocabulary, for this text only. This is an **extended vocabulary**.

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
# We begin with the last step, because you know it. At step $t$ the network gives each word $i$ of the text an attention
# $a_i^t$, and each word of the vocabulary a probability $P_\text{gen}$. The weight of the vocabulary is $p_\text{gen}$, one
# minus our gate. With words in place of locations, this is equation (8.4):
#
# $$
# P(\ell) = p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen}) \sum_{i:\, l_i = \ell} a_i^t . \tag{16.1}
# $$
#
# $l_i$ is the word at place $i$ of the text, and $\ell$ runs over the extended vocabulary: $V$ words and $O$ lent ones. A lent
# word has $P_\text{gen}(\ell) = 0$, so it can only be copied.
#
# In code `a` is the attention, and `said` is $P_\text{gen}$: what the vocabulary alone would say. In a batch, `source` is the
# text with `[UNK]` for every unknown word, `extended` has their lent numbers, and `n_lent` is $O$.


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
winter = len(words) + lent.index("Winter")  # its lent number
print(f"Winter {p[winter]:.2f}, the {p[the]:.2f}")

# %% [markdown]
# "Winter" is $0.8 \cdot 0.9 = 0.72$, all of it copied. "The" is $0.2 \cdot 0.7 + 0.8 \cdot 0.1 = 0.22$, from both sources.
#
# ## Reading
#
# Where do attention, $P_\text{gen}$ and $p_\text{gen}$ come from? From three LSTMs. An *LSTM* goes through words one by one.
# At each it updates two vectors: its *output*, which it shows, and its *cell*, its memory. This is how one word is written:

# %% tags=["hide-input"]
# @title Figure 16.1: how one word is written
LOOK, SAY = "attention $a_i^t$, context $c_t$", "vocabulary $P_{gen}$"
STEP = {  # name: x, y, colour, and where its arrows lead
    "words of the text": (-2.6, 4, INK, "two readers: $h_i$"),
    "two readers: $h_i$": (-2.6, 3, INK, LOOK),
    "last word": (0.4, 4, INK, "writer: $d_t$"),
    "last context $c_{t-1}$": (2.7, 4, INK, "writer: $d_t$"),
    "writer: $d_t$": (1.4, 3, colours.EXTRA, LOOK, SAY, "$p_{gen}$"),
    LOOK: (-2.6, 1.7, COPIED, "mixture", "$p_{gen}$", SAY),
    "$p_{gen}$": (0, 0.9, colours.GATE, "mixture"),
    SAY: (2.6, 0.9, GENERATED, "mixture"),
    "mixture": (0, -0.1, colours.TRUTH, "next word"),
    "next word": (0, -0.9, INK),
}
figure, axes = plt.subplots(figsize=(6.6, 3.3))
flowchart(axes, STEP)
show(
    figure,
    alt="Boxes and arrows. Readers and writer lead to attention and context; "
    "writer and context to vocabulary and p_gen; attention, vocabulary and "
    "p_gen to the mixture, which gives the next word.",
    caption="One step of writing. The readers work once for a text; all the "
    "rest is done again for every word.",
)

# %% [markdown]
# Follow the arrows. Two LSTMs read the text once, one from each end. Their two outputs at word $i$, side by side, are $h_i$,
# which so knows the words before and after. The third LSTM, the writer, gets the last word and what was looked at last, and
# updates its state $d_t$. From $h_i$ and $d_t$ comes the attention, and with it the **context** $c_t$: what is looked at now.
# State and context give $P_\text{gen}$ and $p_\text{gen}$.
#
# The readers first. From their last outputs and cells the writer's first ones are made, each by a linear layer and a ReLU.


# %%
class Reader(nn.Module):
    """A bidirectional LSTM, and the state that the writer starts from."""

    def __init__(self, D, H):  # widths of a word and of an LSTM
        super().__init__()
        self.lstm = nn.LSTM(D, H, batch_first=True, bidirectional=True)
        self.first_output = nn.Linear(2 * H, H)
        self.first_cell = nn.Linear(2 * H, H)

    def forward(self, x, length):
        """(B, L, D) -> (B, L, 2H) all h_i; first output and cell (B, H)."""
        packed = pack_padded_sequence(  # so that padding is not read
            x, length, batch_first=True, enforce_sorted=False
        )
        states, (output, cell) = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        output = torch.cat([output[0], output[1]], -1)  # both directions
        cell = torch.cat([cell[0], cell[1]], -1)
        output, cell = self.first_output(output), self.first_cell(cell)
        return states, output.relu(), cell.relu()



# %% [markdown]
# ## Looking back
#
# At every word the writer looks at the whole text. Its state $d_t$ asks: its cell and its output $o_t$ at step $t$, side by
# side. PGT would multiply query and key. The original has **additive attention**
# ([Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473)): add what asks and what is there, and let a small network say how
# well they fit.
#
# $$
# \begin{aligned}
# s_i^t &= v_\text{score}^\top \tanh\big( W_h h_i + W_d d_t + w_C C_i^t + b_h \big), \\
# a_i^t &= \frac{e^{s_i^t}}{\sum_j e^{s_j^t}} , \\
# c_t &= \sum_i a_i^t h_i .
# \end{aligned} \tag{16.2}
# $$
#
# These are the score of word $i$, its attention, and the context. Take the *coverage* $C_i^t$ as zero for now.


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
# The writer's input $x_t$ is fused from the previous word, a row of the embedding table $E$, and the previous context. Then
# the LSTM takes its step:
#
# $$
# \begin{aligned}
# x_t &= W_x \,[\, E_{\ell_{t-1},:} \,;\, c_{t-1} \,] + b_x , \\
# d_t &= \text{LSTM}(x_t, d_{t-1}).
# \end{aligned} \tag{16.3}
# $$
#
# This is called **input fusion**. A lent word comes in as `[UNK]`; the context tells which one it was. The new state attends,
# by equation (16.2), and then follows what the mixture needs:
#
# $$
# \begin{aligned}
# P_\text{gen} &= \operatorname{softmax}\big( W_2 \,( W_1 [\, o_t \,;\, c_t \,] + b_1 ) + b_2 \big), \\
# p_\text{gen} &= \sigma\big( w_g^\top [\, c_t \,;\, d_t \,;\, x_t \,] + b_g \big).
# \end{aligned} \tag{16.4}
# $$
#
# The vocabulary sees output and context; $p_\text{gen}$ sees the cell and the input, too.


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
# Networks that write tend to repeat themselves. The cure is **coverage** $C_i^t$: how much attention word $i$ of the text has
# had in all steps before. It is shown to the attention, equation (16.2), and looking at a word again is fined. With $\ell^*$
# for the true word, the loss of a step is
#
# $$
# \mathcal{L}_t = - \log P(\ell^*) + \sum_i \min\big( a_i^t , C_i^t \big) ,
# \qquad C_i^t = \sum_{t' < t} a_i^{t'} . \tag{16.5}
# $$
#
# In training the writer is given the true previous word, whatever it would have written itself: **teacher forcing**. A batch
# has these words as `given`, the words to write as `target`, and `taught`, which is 1 up to the stop and then 0.


# %%
class MySummarizer(nn.Module):
    def __init__(self, V, D, H):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.reader, self.writer = Reader(D, H), Writer(V, D, H)

    def forward(self, batch):
        """Mean over texts of the mean over their words, equation (16.5)."""
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
# With the same weights, [the package's](https://where-next-book.github.io/where-next/book/api.html) `PointerGenerator` has the
# same loss. It can also write, so from here on it stands for ours.

# %% tags=["hide-input"]
# @title Check: the loss of our network, and of the package's
torch.manual_seed(0)
theirs = summarizer.PointerGenerator(replace(SMALL, coverage=True))
ours = MySummarizer(len(words), SMALL.embedding, SMALL.hidden)
weights = theirs.state_dict().values()
ours.load_state_dict(dict(zip(ours.state_dict(), weights, strict=True)))
batch = text_batch([d.pair for d in [story, *diaries.test[:7]]], words)
with torch.no_grad():
    loss, package = ours(batch), theirs.loss(batch).total
torch.testing.assert_close(loss, package)  # raises an error if they differ
print(f"ours {loss:.6f}, the package's {package:.6f}")

# %% [markdown]
# ## A summary, word by word
#
# We train the small preset, by a loop like that of [chapter 10](10_training.ipynb). As in the paper, coverage is switched on
# only for the last {{ training.coverage_steps }} of {{ training.steps }} steps.

# %%
config = replace(SMALL, coverage=True)
training = summarizer.SummarizerTraining()
pairs = [d.pair for d in diaries.train]
model, steps = summarizer.fit_summarizer(config, training, words, pairs)
first, late = steps.words[:10].mean(), steps.words[-10:].mean()
print(f"{len(pairs)} diaries; loss a word: from {first:.1f} to {late:.1f}")

# %% [markdown]
# Now without a teacher. The simplest way to write is **greedy**: take the most probable word, feed it back, go on until the
# stop. (A **beam** keeps several drafts. Ours keeps one, so it is greedy.)

# %%
(draft,) = beam_search(model, single, beam=1)
text = draft.words(words, single.lent[0])
print("true:   ", *story.summary)
print("written:", *text)

# %% tags=["hide-input"]
# @title Figure 16.2: where each word of the summary comes from
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
# The short diagonals are the pointer at work: the words of a name are copied one after the other. No label ever said which to
# copy. Now compare the two printed lines: is it a name or a count that is wrong? (On another machine the network makes other
# mistakes.)
#
# Rename the place where this person ate, in the diary only. **Change this** to any word.

# %%
my_place = "Zanzibar"  # @param {type:"string"}
renamed = [my_place if w == "Winter" else w for w in story.source]
yours = text_batch([(renamed, [])], words)
(again,) = beam_search(model, yours, beam=1)
print(*again.words(words, yours.lent[0]))

# %% [markdown]
# The rest of the summary stays as it was, because all unknown words have one embedding.
#
# ## What the pointer is worth
#
# Networks with and without a pointer were trained with three seeds, without coverage, and scored on all test diaries. The one
# without a pointer knows *every* word of the training diaries.
#
# *Names*: of the words of the true summary that the small vocabulary lacks, the share that was written. Then the four
# sentences, each right or not. **ROUGE**-1 ([Lin, 2004](https://aclanthology.org/W04-1013)) counts the words that both share.

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
usual = Counter(d.summary[:5] for d in diaries.train).most_common(1)[0][0]
same = sum(d.summary[:5] == usual for d in diaries.test)  # 1st sentence
always = 100 * same / len(diaries.test)
train = {word for d in diaries.train for word in [*d.source, *d.summary]}
lacked = [word for word in asked if word not in words]
there = 100 * sum(word in train for word in lacked) / len(lacked)
by_rule = means.unknown_right["the rule"]
table = means.drop("the rule").rename(columns=measures).T
table = table.rename_axis("right, %", axis=1)
table.round(0).astype(int)

# %% [markdown]
# The names are the pointer's work. (A rule that prints the beginning of the diary gets {{ by_rule:.0f }} %.) The other network
# knows {{ there:.0f }} % of these words, and hardly ever writes the right one. To know a word is not to know that it is
# wanted here.
#
# But a pointer moves information; it does not work anything out. For the first sentence places must be counted, and only
# {{ means.days["pointer"]:.0f }} % are right. (Always writing the most frequent one gets {{ always:.0f }} %.) At counting
# errands it is no better than the network without a pointer.
#
# ROUGE hardly notices: it is {{ means.rouge1["pointer"]:.0f }} when {{ means.exact["pointer"]:.0f }} % of the summaries are
# entirely right. Coverage and beam search add nothing to such short ones
# ([Evidence: the relatives](evidence_relatives.ipynb)).
#
# ## What to remember
#
# - A pointer-generator writes from its vocabulary and its source. It can copy a word that it has never met, since the text
#   lends it a number.
# - PGT *kept* the mixture, *reversed* the gate ($g = 1 - p_\text{gen}$), and *replaced* the LSTMs by a Transformer and the
#   additive attention by a product.
# - It *dropped* the writer: PGT asks once, from the last visit. So nothing can be said twice, and coverage went, too.
# - Copying names is easy to learn. Counting is not, and ROUGE hardly notices.
#
# ## Exercises
#
# **Exercise 1** (quick). "The" has $P_\text{gen} = 0.1$ and is three times in the text, with attention 0.2, 0.1 and 0.05.
# The network has $p_\text{gen} = 0.6$. What does equation (16.1) give? Work it out, then check it with `mix`.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_hand = 0.6 * 0.1 + 0.4 * (0.2 + 0.1 + 0.05)
a, said = torch.tensor([[0.2, 0.1, 0.05, 0.65]]), torch.full((1, 9), 0.1)
few = replace(single, extended=torch.tensor([[5, 5, 5, 7]]), lent=([],))
by_code = mix(torch.tensor([[0.6]]), a, said, few)[0, 5]  # "the" is word 5
print(f"{by_hand:.2f} by hand, {by_code:.2f} by code")
# Four shares add up, so p_gen alone does not say whether a word was copied.

# %% [markdown]
# **Exercise 2** (medium). After the first word of a name is copied, the writer is fed `[UNK]`. How does it know to go on one
# word further? Equation (16.3) has a second input, the previous context. Cut that wire in the trained model, and let it write
# our story again. (In the package's `model`, our `writer.fuse` is `decoder.fuse`.)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def no_context(layer, inputs):
    """What the fusing layer gets instead: the word, and zeros."""
    word, context = inputs[0].split([SMALL.embedding, 2 * SMALL.hidden], -1)
    return torch.cat([word, torch.zeros_like(context)], -1)


wire = model.decoder.fuse.register_forward_pre_hook(no_context)
(cut,) = beam_search(model, single, beam=1)
wire.remove()
print(*cut.words(words, single.lent[0]))
# The context is what it looked at last. Without it the writer loses its way
# before it has come to a name.

# %% [markdown]
# **Next:** [Side by side](17_side_by_side.ipynb), where parent and child stand in one table.
