# %% [markdown]
# # What the position bias learns
#
# The pointer has a number for each age of a visit. Does it tell how fast people forget?
#
# *You will be able to* read a learned curve without being fooled: ask what else in the model can say the same, and whether
# other people would show it. *You need* [The pointer](07_pointer.ipynb). *It takes* half an hour to read and a minute and a
# half to run, with or without a GPU.
#
# > **In one sentence.** A learned position bias does not show how fast people forget, since queries and keys can say it in
# > its place: where people forget fast, a bias without content gives recent visits {{ ratio["alone"]:.1f }} times the attention
# > of old ones, and the bias of a whole model, trained as usual, {{ ratio["bias, same rate"]:.2f }} times.

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

# %% [markdown]
# The pointer has one number for each position from the end, the position bias $b_p$. Visit $i$ gets the score
# $s_i + b_{p_i}$, equation (7.2), and a softmax turns scores into attention. The **content** $s_i$ is what query and key say
# about the visit; the bias is what its position says. Scores before a softmax are also called **logits**: a visit whose
# logit is higher by 0.1 gets about a tenth more attention, because $e^{0.1} = 1.105$.
#
# So train the model, draw $b_p$ from the last visit backwards, and read off how fast people forget? Whoever reads our
# town's curve so will say that its people do not forget at all. But they do: the town is simulated, and we know the rule by which
# they choose.

# %% tags=["hide-input"]
# @title Imports
import copy
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, MUTED, TRUTH, show
from wherenext.live import playground
from wherenext.people import Behaviour
from wherenext.results import read_results

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.windows import prepare

# %%
town = city.load()
model, known = load_model(shipped("city"))
data = prepare(town.visits, protocol="exact", vocabulary=known)

# %% [markdown]
# ## Ten curves, nearly flat
#
# Ten models were trained on the town as in [chapter 10](10_training.ipynb), with ten seeds. Two scripts,
# `book/lab/position_bias.py` and `position_bias_towns.py`, trained all whole models of this chapter. In their tables a row is a
# model: its bias at position 1 (the last visit), 2, …, and the mean content there.

# %%
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
# The names of worlds and rates, most of which come later:
names = {"city": "our town", "other people": "slow memory"}
names |= {"no recency": "no forgetting", "as documented": "same rate"}
names |= {"fast bias": "×100"}
trained = pd.concat([file.rows for file in files]).replace(names)
ten = trained.query("what == 'our town'")
ten[["seed", "b1", "b2", "c1", "c2"]].head(2)

# %% [markdown]
# Only differences of scores matter, so all our curves have a mean of zero.
#
# One number sums up a curve. Its **fall** is its mean at positions 3 to 5 minus its mean at positions 11 to 15, in logits:
# above zero, old visits count less. (The two newest positions tell another story, as we shall see in Figure 12.2. We left them
# out after we had seen it.)


# %%
def curves(what, variant, letter="b", upto=15):
    """(models, upto) the bias (b) or the mean content (c)."""
    rows = trained.query("what == @what and variant == @variant")
    return rows[[f"{letter}{p}" for p in range(1, upto + 1)]].to_numpy()


def fall(table):
    """(models,) the mean at positions 3 to 5 minus that at 11 to 15."""
    return table[:, 2:5].mean(1) - table[:, 10:15].mean(1)


learned = curves("our town", "same rate")
print(f"the ten fall by {fall(learned).min():.2f}", end=" ")
print(f"to {fall(learned).max():.2f}")

# %% [markdown]
# And the truth? A person whom no routine sends anywhere may **return freely**: they choose among the places they know, and
# each past visit adds a weight to its place. A visit $k$ visits before the last one has the weight $0.97^k$, plus a
# part that does not fade ({{ always:.2f }}).
#
# Attention is made of $e^{s+b} = e^s e^b$. So if people did nothing but return freely, and the content said nothing about age,
# the right bias would be about the logarithm of this weight. (Only about: the rule also raises a place's sum to a power, and
# most free returns weigh the hour, too. So the weight is a yardstick, and no target.)


# %%
decay, always = town.truth["recency_decay"], town.truth["always"]
log = np.log(decay ** np.arange(15) + always)  # of positions 1, 2, …, 15
truth = log - log.mean()
drop = fall(truth[None])[0]
oldest = np.exp(log[-1] - log[0])  # what visit 15 counts; the last: 1
targets = data.train.target[data.train.in_window]
free = 100 * (data.train.visits.why.iloc[targets] == "return").mean()
print(f"visit 15 counts {oldest:.2f}; the weight falls by {drop:.2f}")
print(f"{free:.0f} % of the targets in the window are free returns")

# %% tags=["hide-input"]
# @title Figure 12.1: ten curves, and the weight in the rule
fig, ax = plt.subplots(figsize=(6.4, 3.0))
plots.position_bias(learned, axes=ax)
ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none")
ax.text(4.4, 0.14, "weight in the rule", color=TRUTH)
ax.text(9.5, 0.045, "learned, ten seeds and their mean", color=COPIED)
ax.set_xlim(0.5, 16.5)
show(
    fig,
    alt="Ten learned curves near zero. The weight in the rule falls steadily "
    "from above them to below them.",
    caption="The position bias after training, and the logarithm of a past "
    "visit's weight in a free return."
)

# %% [markdown]
# In a free return, the fifteenth visit from the end counts {{ oldest:.2f }} times as much as the last. The diamonds fall by
# {{ drop:.2f }}, and the learned curves do not fall at all. There are two suspects:
#
# 1. *The content has said it already*, so nothing is left for the bias.
# 2. *There is little to say.* Only {{ free:.0f }} % of the targets in the window are free returns. At the others the hour
#    decides: home, work or school.
#
# We take one after the other.
#
# > **Pitfall.** Without the diamonds the axis would zoom in, and the same curves would look lively.
#
# ## Draw a curve of your own
#
# Take a visit whose content says $1.2$ and whose bias says nothing: its score is $1.2 + 0$. With less content and more bias,
# $0.9 + 0.3$, the score is the same. So is the attention, and so is the prediction.
#
# The content can make such an exchange, because it knows the position, too: the position embedding, the sinusoid and "days
# ago" are all in the encoded visit. In general, let $\xi_p$ be any curve over positions:
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.1}
# $$
#
# What the bias loses, the content gains. If the content can say $\xi_p$, no prediction changes.
#
# And the sum? Within a window it is the logarithm of the attention, up to a constant. So two models with the same attention
# have the same sum, and may have quite different biases. We say that the attention **identifies** the sum, but not the bias.
#
# We replace the trained model's bias by a straight line. A slope above zero says that people prefer what is long past.
# **Change this** slope.

# %%
slope = 0.20  # @param {type:"slider", min:-0.3, max:0.3, step:0.05}
drawn = copy.deepcopy(model)
with torch.no_grad():
    age = torch.arange(1.0, model.config.max_len + 1)
    drawn.pointer.position_bias[1:] = slope * age  # 0 is padding's


# %% [markdown]
# Then we train only query and key, to restore the attention that the model had before. (The loss, the *KL divergence*, is the
# mean gap between the two logarithms of the attention, weighted by the wanted attention; it is zero only when they agree.) We
# measure what share of the attention has moved to other visits. If $(0.6, 0.4)$ has become $(0.5, 0.5)$, it is a tenth.


# %%
given = []  # the encoder stays as it is, so it runs only once
with torch.no_grad():
    for batch in data.train.batches(256, shuffle=np.random.default_rng(0)):
        x = model.embeddings(batch)
        encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
        last = encoded[torch.arange(len(batch)), batch.length - 1]
        wanted = model.pointer(last, encoded, batch)  # (B, L) log-weights
        given.append((last, encoded, batch, wanted))


# %%
def adapted(drawn, epochs=5):
    """A copy whose query and key give the attention of the model."""
    new = copy.deepcopy(drawn)
    layers = [*new.pointer.query.parameters(), *new.pointer.key.parameters()]
    adam = torch.optim.Adam(layers, 2e-3)
    for _ in range(epochs):
        for last, encoded, batch, wanted in given:
            gap = wanted - new.pointer(last, encoded, batch)  # (B, L)
            gap = gap.masked_fill(batch.padding, 0)
            adam.zero_grad()
            (wanted.exp() * gap).sum(1).mean().backward()  # KL divergence
            adam.step()
    return new


# %%
@torch.no_grad()
def elsewhere(other, batch):
    """(B,) share of the attention that is at another visit than it was."""
    was, now = (one(batch).pointer_attention for one in (model, other))
    # What moves is missing in one place and too much in another.
    return (was - now).abs().sum(1) / 2


# %%
@torch.no_grad()
def compared(other):
    """Attention elsewhere and right answers, in %, and the loss."""
    found = []
    for batch in data.test.batches(512):
        said, target = other(batch).log_probs, batch.target
        hit = said.argmax(1) == target
        loss = -said.gather(1, target[:, None])[:, 0]
        moved = elsewhere(other, batch)
        found.append(torch.stack([100 * moved, 100 * hit, loss]))
    return torch.cat(found, 1).mean(1).tolist()


# %% tags=["hide-input"]
# @title Table: before and after, on test
again = adapted(drawn)
even = copy.deepcopy(model)  # a yardstick: no visit is preferred
with torch.no_grad():
    for number in even.pointer.parameters():
        number.zero_()
others = {"as trained": model, "drawn": drawn}
others |= {"drawn, then adapted": again, "even attention": even}
heads = ["attention elsewhere, %", "first answer right, %", "loss, nats"]
kept = pd.DataFrame({name: compared(one) for name, one in others.items()})
kept.index = heads
moved, loss_of = kept.loc[heads[0]], kept.loc[heads[2]]
kept.T.round(dict(zip(heads, (1, 1, 2), strict=True)))

# %% [markdown]
# Your line moved {{ moved["drawn"]:.0f }} % of the attention. (If no visit were preferred to any other, last row, it would be
# {{ moved["even attention"]:.0f }} %.) With query and key adapted {{ moved["drawn, then adapted"]:.0f }} % are still elsewhere,
# but the loss is back at {{ loss_of["drawn, then adapted"]:.2f }}, from {{ loss_of["drawn"]:.2f }} (as trained:
# {{ loss_of["as trained"]:.2f }}).
#
# Now the two parts by position. A position has one bias, but every visit there has a content of its own, so we take the mean
# content. We get it from the sum, which is the logarithm of the attention. Only test windows of at least fifteen visits count:
# the same ones at every position.


# %%
@torch.no_grad()
def by_position(one, upto=15):
    """(2, upto) bias and mean content, both with a mean of zero."""
    bias = one.pointer.position_bias[1 : upto + 1]
    bias, sums = bias - bias.mean(), []
    for batch in data.test.subset(data.test.lengths >= upto).batches(512):
        both = one(batch).pointer_attention.log()  # (B, L) bias + content
        at = batch.length[:, None] - 1 - torch.arange(upto)
        both = both.gather(1, at)  # (B, upto), the last visit first
        sums.append(both - both.mean(1, keepdim=True))
    return torch.stack([bias, torch.cat(sums).mean(0) - bias]).numpy()

# %% tags=["hide-input"]
# @title Figure 12.2: content against bias
models = {"As trained": model, "Drawn and adapted": again}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (name, one) in zip(axes, models.items(), strict=True):
    bias, content = by_position(one)
    parts = pd.DataFrame({"bias": bias, "content": content})
    parts["sum"] = bias + content
    parts.index += 1
    sns.lineplot(parts, palette=[COPIED, EXTRA, MUTED], ax=ax)
    ax.set(title=name, xlabel="position from the end", xticks=[1, 5, 10, 15])
axes[0].get_legend().remove()
sns.move_legend(axes[1], "center left", bbox_to_anchor=(1, 0.5))
axes[0].set_ylabel("logits")
show(
    fig,
    alt="As trained the bias is flat; drawn and adapted it is a straight "
    "line, the content does the opposite, so the sum rises far less than "
    "the line.",
    caption="The bias, the mean content of the visits at a position, and "
    "their sum, which on the left hides the content.",
)

# %% [markdown]
# On the left the content has nearly all the shape. Its start is not about forgetting: people seldom stay where they are, so
# position 1 is low. They go out and come home again (home, work, home), so position 2 is high. That is why the fall begins at
# position 3.
#
# On the right the content does the opposite of your line. Query and key have undone most of what the line did, but not all: the
# sum still rises. (With forty epochs instead of five, about as much stays elsewhere. A linear query and key on a fixed encoder
# may be unable to say a straight line.) Whoever sees only this bias concludes that people prefer the distant past.
#
# ## A world in which the answer is known
#
# We drew that line by hand. When bias and content are both trained, which one learns what is true? Take a world with nothing
# else to learn: people only copy. They go where they were $p$ visits ago with a probability $\kappa_p$ that shrinks by a
# fifth with every step back. The right scores are $\log \kappa_p$, a straight line with the slope $\log 0.8 = -0.223$.
#
# So that this world does not die out, one visit in five, on average, goes to a new place. Nobody can copy it, and we
# leave it out.


# %%
def live(kappa, people=100, visits=200):
    """(N, 20) whether the visit p steps back was at the next place."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(people):
        life = list(range(20))  # places; a past to begin with
        for new in range(20, 20 + visits):
            old = life[-1 - rng.choice(20, p=kappa)]
            life.append(old if rng.random() < 0.8 else new)
            # The last twenty, newest first, against the place just visited:
            rows.append(np.array(life[-2:-22:-1]) == life[-1])
    hits = torch.tensor(np.array(rows))
    return hits[hits.any(1)]  # where somebody copied


kappa = 0.8 ** np.arange(20)
hits = live(kappa / kappa.sum())

# %% [markdown]
# A row of `hits` is all that a pointer needs here. It says which of the last twenty visits were at the place that came next.
# Several of them may have been, and a pointer is right with any of them.
#
# Our pointer sees nothing of a visit but its position. Each position has a key. There is one query, since all windows ask the
# same question. So the score is a sum of two parts again: a bias, and a content that query and key make.


# %%
class Positions(nn.Module):
    def __init__(self, n, d=16):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(n))
        self.query = nn.Parameter(0.3 * torch.randn(d))
        self.key = nn.Parameter(0.3 * torch.randn(n, d))

    def forward(self):
        return self.bias, self.key @ self.query / math.sqrt(len(self.query))


# %% [markdown]
# The loss is that of a pointer alone, as in [chapter 7](07_pointer.ipynb): minus the logarithm of the attention on
# visits to the right place. `inside` says which visits exist, and `faster` how many times as fast the bias learns as query
# and key.


# %%
def surprise(pointer, hits, inside):
    """Minus the log of the attention on visits that are hits, in nats."""
    scores = sum(pointer()).masked_fill(~inside, -math.inf)
    return -(scores.softmax(-1) * hits).sum(1).log().mean()


# %%
def train(hits, inside, faster=1, content=True, steps=200, rate=0.01):
    pointer, losses = Positions(hits.shape[1]), []
    bias, query, key = pointer.parameters()
    if not content:  # a query of zeros, which stays
        query.requires_grad_(False).zero_()
    groups = [{"params": [bias], "lr": faster * rate}]
    groups.append({"params": [query, key], "lr": rate})
    adam = torch.optim.Adam(groups)
    for _ in range(steps):
        loss = surprise(pointer, hits, inside)
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        adam.step()
    return [part.detach().numpy() for part in pointer()], losses


# %%
everywhere = torch.ones(1, 20, dtype=torch.bool)  # all twenty exist
torch.manual_seed(0)
ours = {times: train(hits, everywhere, times) for times in (0.1, 1, 10)}
best = torch.log(hits.double() @ torch.tensor(kappa / kappa.sum())).mean()
for times, (_, losses) in ours.items():
    print(f"bias {times} times as fast: {losses[0]:.3f} → {losses[-1]:.3f}")
print(f"who knows the truth: {-best:.3f}")

# %% tags=["hide-input"]
# @title Figure 12.3: who learns the line
line = np.log(kappa) - np.log(kappa).mean()
said = ["bias", "content", "sum"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), sharey=True)
for ax, (times, (parts, _)) in zip(axes, ours.items(), strict=True):
    parts = np.stack([*parts, sum(parts)], 1)  # (20, 3)
    parts = pd.DataFrame(parts - parts.mean(0), range(1, 21), said)
    look = {"palette": [COPIED, EXTRA, MUTED], "legend": ax is axes[2]}
    sns.lineplot(parts, ax=ax, **look)
    ax.plot(range(1, 21, 2), line[::2], "D", color=TRUTH, mfc="none", ms=4)
    ax.set(xlabel="position from the end", xticks=[1, 10, 20])
    ax.set_title(f"bias {times}× as fast", fontsize=10)
axes[0].set_ylabel("logits")
sns.move_legend(axes[2], "center left", bbox_to_anchor=(1, 0.5))
show(
    fig,
    alt="Three panels. The sum lies on the diamonds in all of them. The "
    "content has the slope on the left, both share it in the middle, and "
    "the bias has it on the right.",
    caption="Bias, content and sum after training, each with mean zero. "
    "Diamonds: the truth, log κ.",
)

# %% [markdown]
# All three pointers get as near to the truth as a pointer can, and all three have the right sum. That training finds the same
# attention each time is not arithmetic, but here it does, because the visits say enough about positions. Which part carries
# the slope depends on which learns faster.
#
# Is it so in whole models, too? Small ones were trained on such a world in four ways, ten seeds each. In the first only the
# bias can tell positions apart. In the other three the content can, too, by a position embedding. The table has the mean slope
# of ten curves, and in the last column the standard deviation of the ten slopes of the bias.

# %% tags=["hide-input"]
# @title Table: slopes of bias, content and sum
variants = {
    "bias alone": "bias only",
    "both; bias at a tenth of the rate": "both, bias at a tenth",
    "both; same rate": "both",
    "both; bias at ten times the rate": "both, bias tenfold",
}
rows = {}
for name, variant in variants.items():
    each = {}  # (10,) a slope a seed
    for part in ("bias", "content"):
        curve = curves("fading kernel", variant, part[0], upto=20)
        each[part] = np.polyfit(range(20), curve.T, 1)[0]
    row = {part: slope.mean() for part, slope in each.items()}
    row |= {"sum": row["bias"] + row["content"], "true": np.log(0.8)}
    rows[name] = row | {"SD of bias": each["bias"].std(ddof=1)}
slopes = pd.DataFrame(rows).T.round(2) + 0.0
slopes.rename_axis("slope of", axis=1)

# %% [markdown]
# Compare *sum* and *true*: in all four rows the sum is nearly right. Then look at the bias. It has all of the slope, a
# part, or next to nothing, as the optimizer was set. **Looking only at the bias, you cannot tell whether content took a part.**
#
# Why is the content so quick? In one step Adam moves each number by about the learning rate. A position has one bias, but
# query and key have many numbers, which together move a score faster. Once they have said what there is to say, nothing pulls
# at the bias any more ([Evidence: the model](evidence_model.ipynb) measures the pull). So the first suspect is real. It may be
# one reason why the town's bias stayed flat.
#
# ## How much is there to say?
#
# Now the second suspect. For it we need other worlds. `city.simulate` makes a town of other people for each seed. With the same
# seeds we make three worlds: **the same people live in all three, and only the forgetting differs.**
#
# | world | weight kept with each visit since | towns |
# |---|---|---|
# | *short memory* | 0.8 | three |
# | *slow memory* | 0.97, as in our town | ten |
# | *no forgetting* | 1 | ten |
#
# (Fast forgetting shows in three towns; slow forgetting needs ten.) In each we train a bias *alone*, with no content that could
# speak in its place. At ten times the rate, 60 steps do. `sights` makes the rows, position 1 first.


# %%
def sights(windows):
    """Which visits are at the target, and which exist, (N, L) each."""
    (batch,) = windows.subset(windows.in_window).batches(len(windows))
    at = batch.length[:, None] - 1 - torch.arange(batch.location.shape[1])
    place = batch.location.gather(1, at.clamp(min=0))  # the last visit first
    return (place == batch.target[:, None]) & (at >= 0), at >= 0


def alone(visits):
    """(15,) the bias of a pointer that sees positions only."""
    windows = prepare(visits, protocol="exact").train
    quick = {"content": False, "steps": 60, "rate": 0.1}
    (bias, _), _ = train(*sights(windows), **quick)
    return bias[:15] - bias[:15].mean()


# %%
def towns(recency_decay, n=3):
    """(n, 15) the bias alone, a town a row."""
    rule, found = Behaviour(recency_decay=recency_decay), []
    for seed in range(100, 100 + n):
        town = city.simulate(seed=seed, behaviour=rule)
        found.append(alone(town.visits))
    return np.stack(found)


worlds = {"short memory": towns(0.8), "slow memory": towns(0.97, 10)}
worlds["no forgetting"] = towns(1.0, 10)
worlds["our town"] = alone(town.visits)[None]  # (1, 15)

# %% tags=["hide-input"]
# @title Figure 12.4: a bias alone, from position 3 on
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), sharey=True)
for ax, name in zip(axes, [*worlds][:3], strict=True):
    table = worlds[name][:, 2:] - worlds[name][:, 2:].mean(1, keepdims=True)
    ax.axvspan(2.5, 5.5, color=MUTED, alpha=0.15, lw=0)
    ax.axvspan(10.5, 15.5, color=MUTED, alpha=0.15, lw=0)
    ax.plot(range(3, 16), table.T, color=COPIED, lw=0.6, alpha=0.45)
    ax.plot(range(3, 16), table.mean(0), color=COPIED, lw=2.2)
    ax.set(xlabel="position from the end", xticks=[3, 5, 10, 15])
    ax.set_title(f"{name}: {len(table)} towns", fontsize=10)
axes[1].plot(range(3, 16), truth[2:] - truth[2:].mean(), "D", color=TRUTH,
             mfc="none", ms=4)  # fmt: skip
axes[0].set_ylabel("bias, alone (logits)")
show(
    fig,
    alt="Three panels of curves. With a short memory they fall; in the other "
    "two panels they are nearly flat.",
    caption="A bias without a content. Thin: a town each; thick: their mean. "
    "Diamonds: the weight in the rule. The fall is the mean over the left "
    "band minus that over the right one.",
)

# %% [markdown]
# A short memory is plain to see. But the middle panel does not follow the diamonds, and hardly differs from the right one. So we
# measure the falls. The same ten populations live in the second and the third panel, so we can subtract town by town. *Low* and
# *high* are the ends of a 95 % interval of the mean over towns (Student's $t$).


# %%
def mean_of(each):
    """The mean of ten numbers and its interval, by Student's t."""
    t = 2.262  # the t quantile for ten values
    half = t * each.std(ddof=1) / len(each) ** 0.5
    return each.mean(), each.mean() - half, each.mean() + half


# %%
both = ["slow memory", "no forgetting"]
slow, none = (fall(worlds[name]) for name in both)
found = dict(zip(both, map(mean_of, (slow, none)), strict=True))
found["difference"] = mean_of(slow - none)
apart = slow.std(ddof=1)  # from town to town
print(f"standard deviation, slow memory: {apart:.2f}")
pd.DataFrame(found, ["mean fall, alone", "low", "high"]).T.round(2) + 0.0

# %% [markdown]
# The third row answers the second suspect. Slow forgetting *is* in the visits, but it is worth only
# {{ found["difference"][0]:.2f }} logits: less than half of the rule's {{ drop:.2f }}, as less than half of the targets are free
# returns. One town differs from another by more: the ten falls of slow memory have a standard deviation of {{ apart:.2f }}.
#
# > **Pitfall.** What a curve looks like when there is nothing to find must be measured, too. Without
# > forgetting, our fall is about zero (second row).
#
# ## Read the sum
#
# In whole models, too, is it the rate that decides who says it? And if the bias cannot show how fast people forget, can the sum?
#
# Whole models were trained on three towns with a short memory and on three without forgetting: at the *same rate* throughout,
# as [chapter 10](10_training.ipynb) does it, and with a bias that learns *×100* as fast. (Whole models are trained at a thirtieth
# of the small models' rate, so their bias needs a larger factor.) Between them stand the ten seeds of our town.

# %% tags=["hide-input"]
# @title Table: mean falls in three worlds
def summed(what, variant):
    """(models, 15) bias plus mean content."""
    return curves(what, variant) + curves(what, variant, "c")


falls = {}
for world in ("short memory", "our town", "no forgetting"):
    falls[world] = {"alone": fall(worlds[world][:3]).mean()}
    for variant in ("same rate", "×100"):
        falls[world][f"bias, {variant}"] = fall(curves(world, variant)).mean()
        falls[world][f"sum, {variant}"] = fall(summed(world, variant)).mean()
short, ours_fast = falls["short memory"], falls["our town"]["bias, ×100"]
town_alone = falls["our town"]["alone"]
ratio = {name: np.exp(each) for name, each in short.items()}
(pd.DataFrame(falls).T.round(2) + 0.0).rename_axis("mean fall", axis=1)

# %% [markdown]
# The first row shows it best: the same three towns, trained at two rates. The sum falls by {{ short["sum, same rate"]:.2f }} at the same rate and
# by {{ short["sum, ×100"]:.2f }} at ×100, a bias without content by {{ short["alone"]:.2f }}. But the bias of the whole models
# falls by {{ short["bias, same rate"]:.2f }} at the same rate, and by {{ short["bias, ×100"]:.2f }} at ×100. **Which part of the
# model says that people forget depends on the optimizer.** At the same rate the bias is nearly flat in all three worlds. At ×100
# it moves, but in our town it says the opposite of forgetting ({{ ours_fast:.2f }}).
#
# And why are the curves of *our* town flat, the question of the beginning? Even a bias without content does not
# fall there ({{ town_alone:.2f }}), so the second suspect is enough. The first is found in the towns with a short memory.
#
# So a sum can show a short memory. Can it show slow forgetting, which is worth only {{ found["difference"][0]:.2f }}? Two things
# blur it: the chance in training, and the people. (Slow memory was trained only at ×100.)

# %% tags=["hide-input"]
# @title Figure 12.5: ten seeds are not ten samples of people
panels = {
    "our town, ten seeds, same rate": summed("our town", "same rate"),
    "our town, ten seeds, ×100": summed("our town", "×100"),
    "slow memory, ten towns, ×100": summed("slow memory", "×100"),
    "no forgetting, three towns, ×100": summed("no forgetting", "×100"),
}
fig, ax = plt.subplots(figsize=(6.4, 2.8))
sums = {}
for row, (name, table) in enumerate(panels.items()):
    each = np.sort(fall(table))
    height = row - 0.1 - 0.16 * (np.arange(len(each)) % 2)  # no two alike
    ax.plot(each, height, "o", color=COPIED, alpha=0.5)
    ax.plot(each.mean(), row + 0.15, "D", color=INK, ms=5)
    if len(each) == 10:
        sums[name] = [each.std(ddof=1), *mean_of(each)]
        ax.plot(sums[name][2:], [row + 0.15] * 2, color=INK, lw=1.5)
ax.axvline(0, color=MUTED, lw=0.8)
ax.set(yticks=range(4), ylim=(3.5, -0.5), xlabel="fall of the sum (logits)")
ax.set_yticklabels(panels)
seeds_apart = sums["our town, ten seeds, same rate"][0]
show(
    fig,
    alt="Four rows of dots. The ten seeds at the same rate lie around zero, "
    "those at ×100 mostly left of it; the ten towns lie mostly right of "
    "it, and the three towns without forgetting mostly left.",
    caption="The falls of the sum, a dot a model; below the dots their mean "
    "with its 95 % interval (Student's t; not for three).",
)

# %% [markdown]
# *Training.* The ten models of the first row learned from the same visits. **Training alone moves the sum by about as much as
# slow forgetting is worth**: their falls have a standard deviation of {{ seeds_apart:.2f }}, much of it from one seed.
#
# *People.* From the seeds at ×100 alone we should conclude that old visits count *more*: their interval lies below zero. But
# it is an interval for the people of one town, and the mean of ten towns lies far outside. **Ten seeds are not ten samples of
# people.**
#
# Do the ten towns then show slow forgetting? Their interval just holds zero. And zero need not be the mark: without
# forgetting, three of the towns have a mean of {{ none_sum:.2f }}. In these three we can subtract.

# %%
pair = [fall(summed(one, "×100"))[:3] for one in both]
none_sum = pair[1].mean()
further = pair[0] - pair[1]
smallest = further.min()
further.round(2)

# %% [markdown]
# With slow memory the sum falls further in two of the three; {{ smallest:.2f }} in the third is less than the chance in
# training. Three towns are too few to say more.
#
# ## What to remember
#
# - Bias and content can exchange what both can say about positions, equation (12.1). Given the attention, only their sum is
#   fixed. So the bias does not tell how fast people forget.
# - Which of the two learns a shape depends on the optimizer: with a short memory a bias without content falls by
#   {{ short["alone"]:.2f }}, that of a whole model by {{ short["bias, same rate"]:.2f }} at the same rate, and by
#   {{ short["bias, ×100"]:.2f }} at ×100. A flat bias does not
#   exclude forgetting, and a steep one does not prove it.
# - How far the sum is fixed given the visits depends, it seems, on how much they say about positions: in the copying world wholly; in our
#   town training alone moves its fall by {{ seeds_apart:.2f }} (a standard deviation).
# - Spread over seeds is not spread over people.
# - To measure forgetting, fit a bias without content, in many populations, beside a control that does not forget. In ten towns
#   it found {{ found["difference"][0]:.2f }} [{{ found["difference"][1]:.2f }}, {{ found["difference"][2]:.2f }}]. With real
#   people there is no such control: report the curve, and do not call it forgetting.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8 = 0.223$ with each step back, and content says nothing. After how many
# steps back (a decimal number) has attention halved? And how many times the attention of position 15 does position 1 get?

# %% tags=["try"]
half, factor = ..., ...
check.exercise("12.1", [half, factor])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = np.log(0.5) / np.log(0.8)  # 0.8 ** half is one half
factor = 1 / 0.8**14  # fourteen steps from position 1 to position 15
check.exercise("12.1", [half, factor])

# %% [markdown]
# **Exercise 2** (quick, by hand). Here is the pointer of a trained model, alone. Dots are the content of each visit; sticks,
# nearly invisible at ×1, are its bias. By what must you multiply the bias until another place comes first? Which place is it,
# and why that one? (Without the live page: the first place has three visits with the contents 1.3, 0.8 and 1.6 and hardly any
# bias; its rival has one, with content 0.13 and bias 0.034. A place gets the sum of $e^{s+b}$ over its visits.)

# %%
playground(small="bias")

# %% tags=["try"]
times = ...  # 1, 3, 10, 30 or 100
check.exercise("12.2", times)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
times = 100
check.exercise("12.2", times)
# At ×1 the content decides alone. At ×100 the place of the last visit but one
# wins: position 2 has the largest bias of all, since people go out and come
# back.

# %% [markdown]
# **Exercise 3** (longer). Make a weekly world: `kappa` as above, but the seventh visit back counts as much as the last. Train
# a `Positions` on it, all rates alike. By how many logits does its *sum* at position 7 lie above that at position 6? And what
# should it be, by `kappa`? (Counting from 0, these are entries 6 and 5.) Look at the bias, too: has it the peak?

# %% tags=["try"]
jump, due = ..., ...
check.exercise("12.3", [jump, due])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
weekly = kappa.copy()
weekly[6] = weekly[0]
torch.manual_seed(0)
(bias, content), _ = train(live(weekly / weekly.sum()), everywhere)
jump = (bias + content)[6] - (bias + content)[5]
due = np.log(weekly[6] / weekly[5])  # five steps of log 0.8
check.exercise("12.3", [jump, due])
print(f"of it, the bias has {bias[6] - bias[5]:.2f}")
# The sum has the whole peak, give or take the chance in `live`. The bias has
# a part of it; with other rates or another seed it has another part.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
