# %% [markdown]
# # What the position bias learns
#
# Ten training runs can agree on a curve, and the curve can still say nothing true about people.
#
# *You will be able to* read a learned curve without being fooled by it: ask whether the parameter had time to learn, whether
# other parameters say the same thing in its place, and whether another sample would show the same picture. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It takes* half an hour
# to read and about thirty seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# The pointer has one number for each position from the end, the position bias $b_p$. Its curve seems to need no
# explanation: if it is high for $p = 1, 2, 3$ and lower for older visits, that is recency. The design
# documents ([the original specification](https://where-next-book.github.io/where-next/book/errata.html)) expect just that. So train the model, draw the curve, and read off
# how fast people forget.
#
# This chapter does so, and the curve is nearly flat. Then we let the bias learn faster, and its curve misleads.
# We can tell, because our towns are simulated: we know how fast their people forget.

# %%
RETRAIN = False  # True: train here, about a minute on two cores

# %%
import copy
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, MUTED, TRUTH, show
from wherenext.position_bias import (
    bias_of,
    by_position,
    faster_bias,
    refit,
)
from wherenext.results import read_results

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, PRESETS, ModelConfig
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import cross_entropy
from pgt.train import fit
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
known = data.vocabulary
size = ModelConfig(known.n_locations, known.n_users)
if RETRAIN:
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(size)
    fit(model, data.train, data.valid, CITY)
else:
    model, trained_on = load_model(shipped("city"))
    assert trained_on == known

# %% [markdown]
# ## Ten curves, nearly nothing
#
# The first command below trained the model ten times on the town and ten times on GeoLife. It kept two curves of each model, as columns of a table. Before the
# softmax, visit $i$ has the score $s_i + b_{p_i}$, equation (7.2).
#
# - `b1`, `b2`, … are the **position bias** by position from the end; position 1 is the last visit.
# - `c1`, `c2`, … are the *content* by position: the mean over test windows of $s_i$, query times key, at that position.
#
# Only differences of scores matter, so each curve is shifted to a mean of zero.

# %%
report = read_results("position_bias")
more = read_results("position_bias_towns")  # of the same shape
print(report.header["command"], more.header["command"], sep="\n")
towns = pd.concat([report.rows, more.rows])


def runs(what, variant):
    """The rows of one world and one way to train."""
    return towns[(towns.what == what) & (towns.variant == variant)]


def curves(what, variant, letter="b"):
    """(seeds, positions) the bias (b) or the mean content (c)."""
    upto = 20 if "kernel" in what else 15
    positions = [f"{letter}{p}" for p in range(1, upto + 1)]
    return runs(what, variant)[positions].to_numpy()


learned = {
    "town": curves("city", "as documented"),
    "GeoLife": curves("geolife", "as documented"),
}

# %% [markdown]
# In the town we also know the truth. A visit $p$ steps back counts $\text{decay}^{p - 1} + \text{always}$: one part fades
# with every visit since, the other never does. A bias adds to the log of the attention, so compare it with the log of
# this sum. (The unit of a score before the softmax is called a *logit*.)

# %%
rate, always = town.truth["recency_decay"], town.truth["always"]


def log_weight(rate, steps=15):
    """(steps,) log of what a past visit counts, with mean zero."""
    log = np.log(rate ** np.arange(steps) + always)
    return log - log.mean()


truth = log_weight(rate)

# %% tags=["hide-input"]
BACK = "position from the end (1 = last visit)"
LOGITS = "position bias $b_p$ (logits)"
DIAMOND = {"color": TRUTH, "mfc": "none", "ls": "", "marker": "D"}
RECENCY = "log of the town's recency"

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True)
for ax, (name, table) in zip(axes, learned.items(), strict=True):
    plots.position_bias(table, label="learned, ten seeds and mean", axes=ax)
    ax.set(title=name[0].upper() + name[1:], xlabel=BACK, ylabel="")
axes[0].plot(range(1, 16), truth, ms=5, label=RECENCY, **DIAMOND)
axes[0].set_ylabel(LOGITS)
axes[0].legend(loc="upper right", fontsize=8)
highest = {
    name: float(np.abs(table).max()) for name, table in learned.items()
}
sources = {source["name"]: source for source in report.header["data"]}
rate_there = sources["geolife"]["training"]["learning_rate"]
assert rate_there == PRESETS["geolife"].training.learning_rate
show(
    fig,
    alt="Learned position bias by position from the end, ten seeds. Town: "
    f"all values within {highest['town']:.2f} logits of zero, while the "
    f"town's own recency falls from {truth[0]:.2f} to {truth[-1]:.2f}. "
    f"GeoLife: within {highest['GeoLife']:.2f}.",
    caption="The position bias after training as documented. Diamonds: how "
    "much a past visit counts in the town, by its age.",
)

# %% tags=["hide-input"]
slopes = {
    name: 1000 * np.polyfit(np.arange(15), table.T, 1)[0]
    for name, table in learned.items()
}
assert highest["town"] < 0.2 * np.ptp(truth)
there, here = slopes["GeoLife"], slopes["town"]
Markdown(
    "The people of the town do prefer recent visits: the fifteenth visit "
    f"from the end counts {np.exp(-np.ptp(truth)):.2f} times as much as the "
    "last. The learned curves do not show it. Their values stay within "
    f"{highest['town']:.3f} logits of zero, and their slope is "
    f"{here.mean():+.1f} ± {here.std(ddof=1):.1f} thousandths of a logit a "
    "visit (mean and standard deviation over seeds); on GeoLife "
    f"{there.mean():+.1f} ± {there.std(ddof=1):.1f}. Over fourteen visits "
    f"GeoLife's slope changes a weight by {abs(1.4 * there.mean()):.0f} %."
)

# %% [markdown]
# > **Pitfall.** Without the diamonds, the axis would be shorter, and the same curves would look lively. Draw a curve on the scale of what
# > it could mean: a bias of $b$ multiplies a visit's weight by $e^b$, and here that is next to nothing. And never draw entry 0 of
# > the table. It belongs to padding, stays at exactly zero, and is easily taken for the last visit.
#
# ## Three suspects
#
# Why does the bias hardly move? Perhaps something *holds* it, perhaps it is *slow*, perhaps nothing *pulls* at it.
#
# Weight decay could hold it: it shrinks every number a little at each step. The learning rate could make it slow: AdamW
# moves a number by about the learning rate in each step, if all steps go one way. Both can be computed from the schedule.

# %%
steps = math.ceil(len(data.train) / CITY.batch_size)  # in an epoch
best = round(runs("city", "as documented").epochs.mean())  # weights kept
rates = np.array(
    [CITY.learning_rate_at(step, steps) for step in range(best * steps)]
)
decayed = 1 - np.prod(1 - rates * CITY.weight_decay)
pd.Series(
    {
        "steps until the best epoch": len(rates),
        "taken away by weight decay, %": 100 * decayed,
        "farthest that one number can travel, logits": rates.sum(),
        "farthest that a bias did travel, logits": highest["town"],
        "needed for the town's recency, logits": np.abs(truth).max(),
    }
).round(3).to_frame("")

# %% [markdown]
# Weight decay takes away next to nothing. The learning rate does limit the bias: even if all steps go one way, a number
# does not travel quite as far as the town's recency needs. But the biases went less far than they could. So look at what pulls.
#
# Exercise 3 of [chapter 7](07_pointer.ipynb) derives the slope of a pointer's loss along a score, equation (7.7): $a_i - r_i$. Here $a_i$
# is the attention that visit $i$ *gets*, and $r_i$ is what it *should* get: its share in the true place's probability. The
# bias is added to the score, so its slope is the same. The generator adds one factor: the *responsibility* $r$ of [chapter 8](08_generator_and_gate.ipynb), how much the pointer
# had to do with the answer. It has no index, because it is one number for the whole window:
#
# $$
# \frac{\partial(-\log P(\ell^*))}{\partial b_p} = r\,(a_i - r_i), \qquad r = \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)},
# \quad\text{for the visit } i \text{ at position } p_i = p . \tag{12.1}
# $$
#
# Average it over the windows. **The bias is at rest when attention gives each position, on average, what the answers give
# it.** If the keys do so already, nothing pulls at the bias, however strong recency is.


# %%
def pulls(model, windows, upto=15):
    """Two (W, upto): what each position gets and should get, times r."""
    gets, should = [], []
    with torch.no_grad():
        for batch in windows.batches(512):
            out = model(batch)
            a, own = out.pointer_attention, batch.target[:, None]
            hit = a * ((batch.location == own) & ~batch.padding)  # (B, L)
            copied = hit.sum(1, keepdim=True)  # (B, 1)
            p = out.log_probs.gather(1, own).exp()  # (B, 1)
            r = out.gate[:, None] * copied / p
            at = batch.length[:, None] - torch.arange(1, upto + 1)
            should_get = hit / copied.clamp(min=1e-30)
            for found, value in ((gets, r * a), (should, r * should_get)):
                value = value.gather(1, at.clamp(min=0))  # (B, upto)
                found.append(value * (at >= 0))
    return torch.cat(gets), torch.cat(should)


some = data.train.subset(np.arange(300))  # against autograd
gets, should = pulls(model, some)
model.zero_grad()
batch = some.batch(np.arange(300))
cross_entropy(model(batch).log_probs, batch.target).mean().backward()
slope = model.pointer.position_bias.grad[1:16]
assert torch.allclose((gets - should).mean(0), slope, atol=1e-6)

# %%
torch.manual_seed(42)
fresh = PointerGeneratorTransformer(size).eval()  # no step of training
stages = {
    "before training": pulls(fresh, data.train),
    "after training": pulls(model, data.train),
}
gap = {
    name: float((gets - should).mean(0).abs().max())
    for name, (gets, should) in stages.items()
}
assert gap["after training"] < 0.5 * gap["before training"]

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
looks = (
    ("attention", COPIED, "o-", None),
    ("answers", TRUTH, "s--", "none"),
)
for ax, (name, pair) in zip(axes, stages.items(), strict=True):
    for value, (label, colour, form, face) in zip(pair, looks, strict=True):
        share = value.mean(0) / value.mean(0).sum()
        style = {"color": colour, "ms": 5, "lw": 1.2, "mfc": face}
        ax.plot(range(1, 16), share, form, label=label, **style)
    ax.set(title=name[0].upper() + name[1:], xlabel=BACK)
    ax.set_xticks([1, 5, 10, 15])
axes[0].set(ylabel="mean share, weighted by $r$", ylim=(0, None))
axes[0].legend()
show(
    fig,
    alt="Mean attention and mean share of the answers by position. Before "
    "training they differ most at the newest positions, by "
    f"{gap['before training']:.3f} before normalising; after training the "
    "two lines lie on each other, the largest difference is "
    f"{gap['after training']:.3f}.",
    caption="What positions get (blue, circles) and what the answers give "
    "them (green, squares), on the training windows. Where both agree, "
    "nothing pulls at the bias. Compare the lines with each other: both fall "
    "in part because short windows have no far positions.",
)

# %% [markdown]
# After training the curves agree: attention has learned positions, but not through the bias. The keys know the
# position, too: position embedding, sinusoid and "days ago" are all in the encoded visit. Many numbers that move together change a score more in one
# step than one number can.
#
# At the start something did pull. How hard? If the slope has the same sign in every batch, Adam moves the bias by the full
# learning rate at each step. If the sign changes from batch to batch, the steps cancel, and the bias hardly moves. The
# table shows what fraction of a full step is left on average.


# %%
def part_of_step(gets, should):
    """(upto,) the part of the learning rate by which a bias moves."""
    slope = gets - should  # (W, upto)
    mean, noise = slope.mean(0), slope.var(0) / CITY.batch_size
    return (mean.abs() / (mean**2 + noise).sqrt()).numpy()


part = pd.DataFrame({n: part_of_step(*pair) for n, pair in stages.items()})
pd.DataFrame(
    {
        "position 1": part.iloc[0],
        "position 2": part.iloc[1],
        "others, mean": part.iloc[2:].mean(),
    }
).round(2)

# %% [markdown]
# What is left to win? `refit` finds the biases with the smallest loss on the training windows and leaves all else as it
# is.

# %% tags=["hide-input"]
change, gain = refit(model, data.train)
losses = [
    cross_entropy(model.scores(batch), batch.target)
    for batch in data.train.batches(512)
]
trained_loss = torch.cat(losses).mean().item()
assert gain < 0.005 and part["after training"].max() < 0.5
Markdown(
    "The best bias would lower the loss of the trained model by "
    f"**{gain:.4f}** nats, of {trained_loss:.2f}. So the bias is **slow, "
    "and in the end it is not needed**. At the start something pulls at it, "
    "most of all at the newest two positions. After training the keys do its "
    "work, and what still pulls is mostly noise."
)

# %% [markdown]
# ## Letting the bias run
#
# If the bias is slow, let it run: train again with a hundred times the learning rate for the bias alone
# (`faster_bias` of `wherenext.position_bias`). Ten seeds again.

# %%
fast = curves("city", "fast bias")
pairs = np.triu_indices(len(fast), 1)
together = np.corrcoef(fast)[pairs]  # of the curves of two seeds
low, high = fast.mean(0).argmin() + 1, fast.mean(0).argmax() + 1

# %% tags=["hide-input"]
ax = plots.position_bias(fast, label="bias with a hundred times the rate")
slow = {"color": MUTED, "ls": "--", "lw": 1.5, "label": "as documented, mean"}
ax.plot(range(1, 16), learned["town"].mean(0), **slow)
ax.plot(range(1, 16), truth, ms=5, label=RECENCY, **DIAMOND)
ax.set(xlabel=BACK, ylabel=LOGITS)
ax.legend(ncols=2, fontsize=8)
show(
    ax.figure,
    alt=f"Position bias of ten fast runs: they range from {fast.min():.2f} "
    f"to {fast.max():.2f} logits. Their mean is lowest at position {low} and "
    f"highest at position {high}; two seeds correlate by "
    f"{together.mean():.2f} on average. The town's recency falls evenly from "
    f"{truth[0]:.2f} to {truth[-1]:.2f}.",
    caption="The bias of ten runs with a hundred times its learning rate.",
)

# %% tags=["hide-input"]
assert together.mean() > 0.3
Markdown(
    "Now there are curves, and the seeds *agree*: the mean correlation "
    f"between two of them is **{together.mean():.2f}**. Position {low} lies "
    f"below the curve's mean in {(fast[:, low - 1] < 0).sum()} of "
    f"{len(fast)} runs, position {high} above it in "
    f"{(fast[:, high - 1] > 0).sum()}. Does that say something about people?"
)

# %% [markdown]
# > **Pitfall.** Ten seeds are not ten samples of people. All share the training windows, and so they share what these particular
# > people happened to do. A spread over seeds shows how sure you can be about *this data set*, and nothing about the
# > next.
#
# Our town is simulated, so there can be a next data set. Simulate ten more towns of other people who behave alike,
# and train one fast model on each (three come from the first command above, seven from the second).

# %%
others = curves("other people", "fast bias")


def agreement(table, first=1):
    """Correlations of two curves, from a position on, all pairs."""
    found = np.corrcoef(table[:, first - 1 :])
    return found[np.triu_indices(len(table), 1)]


here, apart = (agreement(table) for table in (fast, others))
older_here, older_apart = (agreement(table, 3) for table in (fast, others))
pd.DataFrame(
    {
        "one town": [here.mean(), older_here.mean()],
        "between towns": [apart.mean(), older_apart.mean()],
    },
    index=["all positions", "positions 3 and more"],
).round(2)

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
panels = {
    f"One town, {len(fast)} seeds": fast,
    f"{len(others)} towns": others,
}
for ax, (name, table) in zip(axes, panels.items(), strict=True):
    plots.position_bias(table, label="learned", axes=ax)
    ax.plot(range(1, 16), truth, ms=4, label="log of the recency", **DIAMOND)
    ax.set(title=name, xlabel=BACK, ylabel="")
axes[0].set_ylabel(LOGITS)
axes[0].legend(fontsize=8)
show(
    fig,
    alt="Two panels of fast biases. In one town two curves correlate by "
    f"{together.mean():.2f} on average; in {len(others)} towns with the same "
    f"behaviour by {apart.mean():.2f}.",
    caption="The same model, again and again. Left: the same people, other "
    "seeds. Right: other people with the same habits.",
)

# %% tags=["hide-input"]
ours, theirs = fast.mean(0), others.mean(0)
everywhere = np.vstack([ours, others])  # our town, and the others
assert (everywhere[:, 1] > 0).all()
assert older_apart.mean() < older_here.mean() / 2
Markdown(
    f"The trough at position {low}, {ours[low - 1]:+.2f} in our town, is "
    f"{theirs[low - 1]:+.2f} on average in the {len(others)} others. All "
    f"{len(everywhere)} towns have position 2 above zero ({ours[1]:+.2f} "
    f"here, {theirs[1]:+.2f} in the others): people go back where they came "
    "from. "
    f"Position 1 is below zero in {(everywhere[:, 0] < 0).sum()} of them: "
    "people seldom stay. Both are habits, not recency. "
    "We split the table at position 3 *after* we had seen this. From there "
    f"on, two curves correlate by {older_here.mean():.2f} in one town, "
    f"and by **{older_apart.mean():.2f}** between towns: the median of the "
    f"{len(apart)} pairs of towns is {np.median(older_apart):+.2f}, that of "
    f"the {len(here)} pairs of seeds {np.median(older_here):+.2f}. So "
    "much of what the seeds "
    "agreed on belongs to our particular people. GeoLife has one set of "
    "people, and nobody can draw the right-hand panel; one can only divide "
    "the people (exercise 3)."
)

# %% [markdown]
# ## Worlds in which the answer is known
#
# The town is a hard case, so take the simplest world there can be. One visit in five goes to a brand-new place, and windows
# with such a target are left out. All others are copies: with probability $\kappa_p$ people go where they were $p$ visits ago,
# $p = 1, \ldots, 20$. We call $\kappa_p$ the *kernel* of the world. There are two such worlds (`wherenext.recency_world`). In one,
# $\kappa_p$ fades by a fifth with every step; in the other it is flat: no recency. A pointer with
# $a_i = \kappa_{p_i}$ predicts as well as anybody can, so
#
# $$
# s_i + b_{p_i} = \log \kappa_{p_i} + C \tag{12.2}
# $$
#
# is the right answer. The model is small. It sees the places. It learns their order through the bias, through an embedding of
# the position from the end, or through both. With the embedding the content $s_i$ can depend on positions as well. Each of
# the ten seeds simulates its own people; all variants use the same ten groups.

# %%
shown = {
    "bias only": "Bias, no embedding",
    "both": "Bias and embedding",
    "embedding only": "Embedding, no bias",
}
more = {"neither": "Neither", "frozen": "Bias frozen at the truth"}


def slopes(what, variant, letter):
    """(seeds,) slope of each curve, in logits a visit."""
    table = curves(what, variant, letter)
    return np.polyfit(np.arange(table.shape[1]), table.T, 1)[0]


rows = {}
for what in ("fading kernel", "flat kernel"):
    for variant, name in {**shown, **more}.items():
        table = runs(what, variant)
        bias, content = (slopes(what, variant, x) for x in "bc")
        rows[what.split()[0], name] = {
            "bias": bias.mean(),
            "content": content.mean(),
            "sum": (bias + content).mean(),
            "± of bias": bias.std(ddof=1),
            "± of sum": (bias + content).std(ddof=1),
            "excess loss": (table.loss - table.best).mean(),
        }
slope_table = pd.DataFrame(rows).T
slope_table.round(3) + 0.0  # no zero below zero

# %% [markdown]
# The slopes are in logits a visit; ± is their standard deviation over seeds. The excess loss is how far the loss lies
# above that of the best possible pointer, in nats. *Neither* has no bias and no embedding, so nothing tells it the order. It loses in the
# flat world, too: a window holds a few visits that are too old to be copied, and it cannot tell which. In *Bias frozen at the truth* the bias is $\log \kappa_p$ and does not learn; there is no embedding.

# %% tags=["hide-input"]
kernels = {"fading kernel": 0.8 ** np.arange(20), "flat kernel": np.ones(20)}
logs = {what: np.log(kernel) for what, kernel in kernels.items()}
logs = {what: log - log.mean() for what, log in logs.items()}
fig, axes = plt.subplots(2, 3, figsize=(7.4, 4.8), sharex=True, sharey=True)
at, off = range(1, 21), {}
for row, (what, log) in zip(axes, logs.items(), strict=True):
    for ax, (variant, name) in zip(row, shown.items(), strict=True):
        bias, content = (curves(what, variant, x) for x in "bc")
        total = (bias + content).mean(0)
        plots.position_bias(bias, label="bias", axes=ax)
        plots.position_bias(
            content, label="content", colour=EXTRA, style="--", axes=ax
        )
        ax.plot(at, total, color=INK, lw=1.2, ls=":", label="sum, mean")
        ax.plot(at, log, ms=3, label="truth", **DIAMOND)
        ax.set(xlabel="", ylabel="")
        if what == "fading kernel":
            ax.set_title(name, fontsize=10)
            off[variant] = np.abs(total - log).mean()
    row[0].set_ylabel(f"logits; {what.split()[0]}")
axes[1, 1].set_xlabel(BACK)
handles = axes[0, 0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper center", ncols=4, fontsize=9)
both = slopes("fading kernel", "both", "b")
alone = slopes("fading kernel", "bias only", "b")
true_slope = math.log(0.8)
show(
    fig,
    alt="Bias and content by position in the two copying worlds. Fading "
    f"world, true slope {true_slope:.2f} logits a visit: with the bias alone "
    f"its slope is {alone.mean():.2f}; with the embedding as well, the bias "
    f"has {both.mean():.2f} and the content the rest; without a bias the "
    "content has it all. The sums differ from the truth by "
    f"{max(off.values()):.2f} on average at most. Flat world: all curves lie "
    "at zero.",
    caption="Bias and content by position. Bias (blue), mean content "
    "(ochre, dashed), their mean sum (dotted) and the truth (green), in a "
    "world with recency "
    "(above) and without (below); ten seeds.",
)

# %% tags=["hide-input"]
fading = slope_table.loc["fading"]
beside = fading.loc["Bias and embedding"]
assert beside["± of bias"] > beside["± of sum"]
assert abs(both.mean()) < 0.75 * abs(true_slope)
assert abs(alone.mean() - true_slope) < 0.03
assert slope_table.loc[("flat", "Neither"), "excess loss"] > 0.02
part = 100 * both / true_slope
Markdown(
    f"The bias alone finds the kernel: {alone.mean():.3f} logits a visit, "
    f"where $\\log 0.8$ = {true_slope:.3f}; and in the flat world it stays "
    "flat, as it should. Give the same model the embedding as well, and "
    "the bias of the *same people* has only "
    f"**{part.mean():.0f} %** of the true slope, from {part.min():.0f} to "
    f"{part.max():.0f} % in single runs. The content has the rest. "
    "All three models predict about equally well (last column of the "
    "table). Anyone who reads the bias of the middle panel as “how fast "
    "people forget” is off by a factor of "
    f"{100 / part.mean():.1f}, and no number of seeds puts it right."
)

# %% [markdown]
# What decides the share of the bias? Train the middle model again, with ten times the learning rate for the bias, and with a
# tenth of it. From here on, 100 % is the *learned* slope, that of the sum.

# %%
speeds = {
    "both, bias at a tenth": 0.1,
    "both": 1,
    "both, bias tenfold": 10,
}
share, total = {}, {}
for variant, times in speeds.items():
    bias, content = (slopes("fading kernel", variant, x) for x in "bc")
    share[times] = 100 * bias / (bias + content)
    total[times] = (bias + content).mean()

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.0, 2.9))
for times, values in share.items():
    every = np.full(len(values), times)
    ax.plot(every, values, "o", color=COPIED, ms=5, alpha=0.4)
    ax.plot(times, values.mean(), "D", color=INK, ms=7, mfc="none")
ax.set(xscale="log", ylabel="share of the slope, %", ylim=(-5, 110))
ax.set_xlabel("learning rate of the bias, relative to all other parameters")
ax.set_xticks(list(share), [f"{times:g}" for times in share])
ax.minorticks_off()
show(
    fig,
    alt="How much of the recency's slope sits in the bias, by its relative "
    "learning rate: "
    + ", ".join(
        f"{values.mean():.0f} % at {times:g}"
        for times, values in share.items()
    )
    + ". Dots are ten seeds.",
    caption="The share of the bias in the learned recency. Dots: seeds; "
    "diamonds: their means. The sum is nearly the same in all three cases.",
)

# %% tags=["hide-input"]
assert share[0.1].mean() < 15 and share[10].mean() > 85
assert max(abs(x - true_slope) for x in total.values()) < 0.03
Markdown(
    f"From left to right: **{share[0.1].mean():.0f} %**, "
    f"{share[1].mean():.0f} % and **{share[10].mean():.0f} %**. (The "
    f"{part.mean():.0f} % above are of the true slope, not of the learned.) "
    "People and model are the same, and the sum hardly changes "
    f"({total[0.1]:.3f}, {total[1]:.3f} and {total[10]:.3f} logits a visit). "
    "So the curve shows how the optimizer was set, not how people forget."
)

# %% [markdown]
# ## What cannot be known
#
# The reason fits in one line. For *any* curve $\xi_p$,
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.3}
# $$
#
# Whatever the content can say about positions can be moved from one bracket to the other, and no prediction changes.
# Bias and content are not **identifiable** one by one; their sum is, up to a constant. Some changes of the parameters
# leave every prediction *exactly* as it is:
#
# - all biases may rise by the same number, by equation (7.3);
# - entry 0 is looked up only for padding, which is masked, and the entries beyond the longest window never;
# - the bias of the key layer may take any value: it adds one number to all scores of a window, as in [chapter 9](09_model.ipynb).

# %%
parts = data.train, data.valid, data.test
longest = int(max(part.lengths.max() for part in parts))
batch = data.test.batch(np.arange(0, len(data.test), 40))
plain = copy.deepcopy(model).double()
edits = {
    "all biases + 5": slice(None),
    "entry 0 (padding) = 99": 0,
    f"entries beyond {longest} = 99": slice(longest + 1, None),
    "key's bias = 99": None,
}
exact = {}
for name, entries in edits.items():
    twin = copy.deepcopy(plain)
    with torch.no_grad():
        if entries is None:
            twin.pointer.key.bias[:] = 99
        elif entries == slice(None):
            twin.pointer.position_bias += 5
        else:
            twin.pointer.position_bias[entries] = 99
    moved = twin.scores(batch) - plain.scores(batch)
    exact[name] = float(moved.abs().max())
assert max(exact.values()) < 1e-9
found = pd.Series(exact, name="largest change of a log-probability")
found.map("{:.0e}".format).to_frame()

# %% [markdown]
# If the keys can read the position off the encoded visit, they can make up for a changed bias. How well? Draw a curve, any curve, and put it in the place of the bias. Then train query and key, and nothing else, to restore the attention
# that the model had before ("adapted" in the table). One of our two curves falls by a tenth of a logit with every visit; the other *rises* as fast,
# as if people preferred what is long past. In the table, *drawn* has the new bias only. *Probability
# moved* is the share of the probability that lies on other places than in the trained model.


# %%
def heard(model, windows):
    """What the pointer gets, batch by batch: context, visits, batch."""
    order = np.random.default_rng(0)
    with torch.no_grad():
        for batch in windows.batches(256, shuffle=order):
            x = model.embeddings(batch)
            encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
            rows = torch.arange(len(batch))
            yield encoded[rows, batch.length - 1], encoded, batch


inputs = list(heard(model, data.train))
with torch.no_grad():
    wanted = [model.pointer(*one) for one in inputs]  # (B, L) log-weights


def drawn(curve, epochs=10, rate=5e-3):
    """The model with a drawn bias, and after query and key adapted."""
    first = copy.deepcopy(model)
    with torch.no_grad():
        first.pointer.position_bias[1:] = torch.as_tensor(curve)
    last = copy.deepcopy(first)
    query, key = last.pointer.query, last.pointer.key
    layers = [*query.parameters(), *key.parameters()]
    adam, n = torch.optim.Adam(layers, rate), epochs * len(inputs)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(adam, n)
    for _ in range(epochs):
        for one, want in zip(inputs, wanted, strict=True):
            gap = want - last.pointer(*one)
            gap = gap.masked_fill(one[2].padding, 0)
            adam.zero_grad()
            (want.exp() * gap).sum(1).mean().backward()  # KL divergence
            adam.step()
            slower.step()
    return first, last


# %%
age = np.arange(1, model.config.max_len + 1, dtype="float32")
models = {"as trained": model}
for name, slope in (("falling", -0.1), ("rising", 0.1)):
    first, last = drawn(slope * age)
    models |= {f"{name}, drawn": first, f"{name}, adapted": last}

batches = list(data.test.batches(512))
target = torch.cat([batch.target for batch in batches])
log_probs = {}
with torch.no_grad():
    for name, one in models.items():
        found = [one.scores(batch) for batch in batches]  # (B, V) each
        log_probs[name] = torch.cat(found)  # (W, V)
before = log_probs["as trained"]
rows = {}
for name, one in models.items():
    now = log_probs[name]
    same = now.argmax(1) == before.argmax(1)
    moved = (now.exp() - before.exp()).abs().sum(1) / 2
    hits = gains(evaluate(one, data.test))["acc@1"]
    rows[name] = {
        "slope": np.polyfit(age[:15], bias_of(one, 15).numpy(), 1)[0],
        "Acc@1, %": 100 * hits.mean(),
        "loss, nats": cross_entropy(now, target).mean().item(),
        "same favourite, %": 100 * same.double().mean().item(),
        "probability moved, %": 100 * moved.mean().item(),
    }

# %%
table = pd.DataFrame(rows).T
digits = {"slope": 2, "Acc@1, %": 1, "loss, nats": 4}
table.round(digits | dict.fromkeys(table.columns[3:], 1))

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.1), sharey=True)
names = ("as trained", "falling, adapted", "rising, adapted")
sums, at = {}, range(1, 16)
for ax, name in zip(axes, names, strict=True):
    bias, content = by_position(models[name], data.test, 15)
    sums[name] = bias + content
    ax.plot(at, bias, "o-", color=COPIED, ms=3, lw=1.5, label="bias")
    ax.plot(at, content, "--", color=EXTRA, lw=1.5, label="content")
    ax.plot(at, sums[name], ":", color=INK, lw=1.8, label="sum")
    ax.set_title(name[0].upper() + name[1:], fontsize=10)
    ax.set_xticks([1, 5, 10, 15])
axes[0].set_ylabel("logits")
axes[1].set_xlabel(BACK)
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper center", ncols=3)
away = max(
    float(np.abs(each - sums["as trained"]).mean()) for each in sums.values()
)
show(
    fig,
    alt="Three models. Their biases are flat, falling and rising; their "
    f"content does the opposite. The sums differ by {away:.2f} logits on "
    "average at most.",
    caption="Three curves, nearly one model: bias (blue), mean content "
    "(ochre, dashed), sum (dotted).",
)

# %% tags=["hide-input"]
up, down = table.loc["rising, adapted"], table.loc["falling, adapted"]
least = min(up["same favourite, %"], down["same favourite, %"])
assert least > 90 and away < 0.3
worse = abs(up["loss, nats"] - table["loss, nats"]["as trained"])
drawn_only = [name for name in table.index if name.endswith("drawn")]
most = table.loc[drawn_only, "probability moved, %"].max()
Markdown(
    "The last model has a bias that *rises* with age, by a factor of "
    f"$e^{{1.4}}$ = {math.exp(1.4):.0f} over fourteen visits. It names the "
    f"same favourite as the trained model in {up['same favourite, %']:.0f} % "
    f"of the windows, moves {up['probability moved, %']:.1f} % of the "
    f"probability, and its loss differs by {worse:.4f} nats. Anyone who "
    "draws its curve concludes that people prefer the distant past. It is "
    "no exact twin, because the keys see positions only through the encoder, "
    "but no score in the table gives it away. The proof is weak, though: "
    "the model's predictions depend little on age. Even before query and key "
    f"make up for them, the drawn curves move at most {most:.1f} % of the "
    "probability."
)

# %% [markdown]
# ## Flat where there is recency, bent where there is none
#
# Now the towns again. Two variants of our town differ from it in a single number, the recency of a past visit. In *short
# memory* the part that fades shrinks by a fifth with each visit since; in *no recency* all remembered visits count alike.
# What does the bias say there, trained as documented and trained fast?

# %%
kinds = {"short memory": 0.8, "no recency": 1.0}
ways = ("as documented", "fast bias")


def fall(table):
    """(seeds,) the newest five positions minus the oldest five."""
    return table[:, :5].mean(1) - table[:, -5:].mean(1)


falls, rows = {}, {}
for what, decay in {"city": rate, **kinds}.items():
    truly = fall(log_weight(decay)[None])[0]
    for way in ways:
        found = {
            "bias": fall(curves(what, way, "b")),
            "content": fall(curves(what, way, "c")),
        }
        found["sum"] = found["bias"] + found["content"]
        falls[what, way] = found
        rows[what, way] = {"models": len(found["sum"])} | {
            name: f"{value.mean():+.2f} ± {value.std(ddof=1):.2f}"
            for name, value in found.items()
        }
        rows[what, way]["truth"] = f"{truly:+.2f}"
table = pd.DataFrame(rows).T.rename_axis(["town", "training"])
table.rename(index={"city": "our town"})

# %% [markdown]
# The table shows how far each curve falls, in logits: the mean of the newest five positions minus that of the oldest five,
# mean and standard deviation over towns (over seeds in our own).

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, 2, figsize=(7.4, 5.0), sharex=True, sharey=True)
text = "log of the recency"
for row, (what, decay) in zip(axes, kinds.items(), strict=True):
    for ax, way in zip(row, ways, strict=True):
        plots.position_bias(curves(what, way), label="bias", axes=ax)
        content = curves(what, way, "c")
        plots.position_bias(
            content, label="content", colour=EXTRA, style="--", axes=ax
        )
        ax.plot(range(1, 16), log_weight(decay), ms=4, label=text, **DIAMOND)
        ax.set_title(f"{what[0].upper()}{what[1:]}: {way}", fontsize=10)
        ax.set(xlabel="", ylabel="")
    row[0].set_ylabel("logits")
for ax in axes[1]:
    ax.set_xlabel(BACK)
handles = axes[0, 0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper center", ncols=3)
first = curves("no recency", "fast bias").mean(0)[0]
fell = {key: found["bias"].mean() for key, found in falls.items()}
documented, hurried = (
    " and ".join(f"{fell[what, way]:.2f}" for what in kinds) for way in ways
)
show(
    fig,
    alt="Bias and content in a town with short memory and in one without "
    f"recency. As documented, the bias falls by {documented} logits from new "
    f"to old positions; the fast bias by {hurried}. Without recency the fast "
    f"bias is {first:.2f} at the last visit.",
    caption="Two towns that differ in one number. Blue: bias; ochre, "
    "dashed: mean content; green: log of how much a past visit counts. "
    "Every thin line is one town.",
)

# %% tags=["hide-input"]
total = {key: found["sum"].mean() for key, found in falls.items()}
short, none = ("short memory", "no recency")
slow, quick = ways


def moves(fall):
    """How far a curve goes, in words."""
    return f"{'falls' if fall > 0 else 'rises'} by {abs(fall):.2f}"


true_fall, mild = (
    fall(log_weight(r)[None])[0] for r in (kinds[short], rate)
)
own = falls["city", slow]["sum"]
wrong = fell["city", quick] < 0 and total["city", quick] < 0
assert own.mean() + own.std(ddof=1) < mild
assert fell[short, quick] > 5 * abs(fell[short, slow])
assert fell[short, quick] - fell[none, quick] > 0.3
assert abs(fell[short, slow] - fell[none, slow]) < 0.1
assert total[short, slow] > total[none, slow] + 0.3
Markdown(
    "- **A flat curve does not exclude recency.** In the town with the "
    f"short memory the documented bias falls by {fell[short, slow]:.2f}, "
    f"while the town's recency falls by {true_fall:.2f}. Bias and content "
    f"*together* fall by {total[short, slow]:.2f}.\n"
    "- **A bent curve does not prove recency.** In the town without any, "
    f"the fast bias is {first:+.2f} for the last visit. Nobody prefers "
    "recent visits in that town; but people seldom go where they already "
    "are, and position 1 *is* where they are. The curve shows a habit of "
    "leaving, not of forgetting.\n"
    "- **The sum shows strong recency, however one trains.** It falls by "
    f"{total[short, slow]:.2f} and {total[none, slow]:.2f} in these two "
    f"towns as documented, by {total[short, quick]:.2f} and "
    f"{total[none, quick]:.2f} with the fast bias. **It misses weak "
    f"recency.** In our own town the recency falls by {mild:.2f}, and the "
    f"sum {moves(own.mean())} ± {own.std(ddof=1):.2f}. With the fast bias "
    f"the bias {moves(fell['city', quick])} and the sum "
    f"{moves(total['city', quick])}"
    + (": they point the wrong way." if wrong else ".")
)

# %% [markdown]
# So the sum does not *measure* the recency. The column *truth* shows how much *one visit* counts. Hours, habits and routine come on top,
# and the pointer can express all of this only through the same scores.
#
# ## Off, frozen, fitted
#
# What is the bias worth? Remove it; freeze it at the town's own recency; freeze it at the same curve *upside down*; or let
# it learn, slowly or fast. Here ± is the standard error over seeds.

# %%
ways = {
    "as documented": "Fitted, as documented",
    "fast bias": "Fitted, fast",
    "bias off": "Off",
    "frozen": "Frozen at the truth",
    "frozen upside down": "Frozen upside down",
}
common = runs("city", "bias off").seed  # seeds that all five have


def scores(variant, column):
    """(seeds,) Acc@1 or loss of the town's models."""
    return runs("city", variant).set_index("seed").loc[common, column]


worth = {}
for column, head, d in (("acc@1", "Acc@1, %", 2), ("loss", "loss, nats", 3)):
    own = {v: scores(v, column) for v in ways}
    gaps = {v: own[v] - own["as documented"] for v in ways}
    worth[head] = {ways[v]: f"{own[v].mean():.{d}f}" for v in ways}
    worth[f"{head}, difference"] = {
        ways[v]: f"{gap.mean():+.{d}f} ± {gap.sem():.{d}f}"
        for v, gap in gaps.items()
    }
print(f"{len(common)} seeds; differences are paired by seed")
pd.DataFrame(worth)

# %% tags=["hide-input"]
means = [scores(v, "acc@1").mean() for v in ways]
spread = np.ptp(means)
hurried, documented = (
    runs("city", v).set_index("seed")[["acc@1", "loss", "epochs"]]
    for v in ("fast bias", "as documented")
)
hurry = hurried - documented  # these two have all ten seeds
change, error = hurry.mean(), hurry.sem()
along = hurry.corr().loc["loss", "epochs"]
assert spread < 1 and along > 0.6
Markdown(
    f"All five means of accuracy lie within **{spread:.1f}** points. A bias "
    "that leans the wrong way, and may not move, changes accuracy by "
    f"{worth['Acc@1, %, difference']['Frozen upside down']} (standard "
    f"error, {len(common)} seeds). With all {len(hurry)} seeds the fast bias "
    f"changes it by {change['acc@1']:+.2f} ± {error['acc@1']:.2f} "
    f"points and the loss by {change.loss:+.3f} ± {error.loss:.3f} nats. But "
    f"the fast runs keep the weights of epoch {hurried.epochs.mean():.1f} on "
    f"average, the others of epoch {documented.epochs.mean():.1f}. Over "
    "seeds the differences in loss and in epochs correlate by "
    f"{along:.2f}: much of the rise may come from training longer. In the "
    "fading copying world, where nothing else can know the order, the model "
    "with neither bias nor embedding loses "
    f"{fading['excess loss']['Neither']:.2f} nats. In the town three other "
    "parts know the order: removing the bias changes accuracy by "
    f"{worth['Acc@1, %, difference']['Off']} points."
)

# %% [markdown]
# Try it yourself. Below is the shipped model's pointer: dots are what its keys say about each visit, sticks are its position
# bias. Multiply the bias: does the first guess change? ([Chapter 26](26_playground.ipynb) has the whole model.)

# %% tags=["hide-input"]
from wherenext.live import playground

playground(small="bias")

# %% [markdown]
# ## What to remember
#
# - A parameter's curve shows where *that parameter* stands, not what the model does, and still less what people do.
# - Before reading it, ask: how far could it travel? What pulls at it, equation (12.1)? Which other parameters can express the same, equation
#   (12.3)? Beside a position embedding, the optimizer decides how much of the recency the bias shows.
# - Spread over seeds is not spread over people. Ten seeds can agree about what one group of people happened to do.
# - Report the sum of bias and content, and compare it between worlds. It shows strong recency and can miss weak recency.
#   Do not read a curve alone.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8 = 0.223$ with each step back, and content says nothing. After how many steps back has
# attention halved? And by what factor does attention differ between positions 1 and 15? (Give both as numbers.)

# %% tags=["try"]
half, factor = ..., ...
check.exercise("12.1", [half, factor])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = math.log(0.5) / math.log(0.8)  # 0.8 ** half is one half
factor = 1 / 0.8**14  # fourteen steps from position 1 to position 15
check.exercise("12.1", [half, factor])

# %% [markdown]
# **Exercise 2** (medium). Write equation (12.1) for one window: given scores, biases by visit, which visits are to the true
# place, the gate and the generator's probability of the true place, return the slope of the loss along each visit's bias. No
# autograd; the check uses it.


# %% tags=["try"]
def slopes_by_hand(s, b, hit, g, generated):
    """(L,), (L,), (L,) of 0 and 1, two numbers -> (L,)."""
    return ...


def by_autograd(s, b, hit, g, generated):
    b = torch.tensor(b, requires_grad=True)
    a = (torch.tensor(s) + b).softmax(0)
    copied = (a * torch.tensor(hit)).sum()
    (-torch.log(g * copied + (1 - g) * generated)).backward()
    return b.grad


rng = np.random.default_rng(0)
s, b, hit = (
    rng.normal(size=6),
    rng.normal(size=6),
    np.array([0.0, 1, 0, 1, 0, 0]),
)
one, none = (s, b, hit, 0.7, 0.1), (s, b, 0 * hit, 0.7, 0.1)
cases = [one, none]  # in the second the target is not in the window
check.function(slopes_by_hand, by_autograd, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def slopes_by_hand(s, b, hit, g, generated):
    a = np.exp(s + b) / np.exp(s + b).sum()
    copied = (a * hit).sum()  # P_ptr of the true place
    if copied == 0:
        return np.zeros_like(a)  # r = 0: nothing pulls
    r = g * copied / (g * copied + (1 - g) * generated)
    return r * (a - a * hit / copied)


check.function(slopes_by_hand, by_autograd, *cases)

# %% [markdown]
# **Exercise 3** (medium). You have one town and cannot simulate another. Which part of the fast bias's curve would other
# people show as well? Divide the people into two random halves. On the windows of each half, train a new model with a fast
# bias (`faster_bias(model, 100)`) for three epochs. Correlate the two curves, over all positions and from position 3
# on.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
few = replace(CITY, max_epochs=3, warmup_epochs=1)


def bias_for(people):
    """(15,) the fast bias of a model that saw only these people."""
    torch.manual_seed(0)
    new = PointerGeneratorTransformer(size)
    train, valid = (
        windows.subset(np.isin(windows.users, people))
        for windows in (data.train, data.valid)
    )
    with faster_bias(new, 100):
        fit(new, train, valid, few, progress=False)
    bias = bias_of(new, 15).numpy()
    return bias - bias.mean()


people = np.unique(data.train.users)
people = np.random.default_rng(0).permutation(people)
halves = np.stack([bias_for(people[::2]), bias_for(people[1::2])])
by = pd.DataFrame(halves, ["one half", "the other"], range(1, 16))
print(by.round(2).to_string())
print(f"all positions: correlation {agreement(halves).item():.2f}")
print(f"from position 3 on: {agreement(halves, 3).item():.2f}")
# What both halves show may hold for other people, too. What only one shows
# belongs to its people or to its run. Two halves give one number: repeat it
# with other halves before you believe it.

# %% [markdown]
# **Exercise 4** (longer). The pull at the start of training, before the keys have learned: draw the mean slope of equation (12.1) by
# position for the fresh model, with a 95 % interval, people resampled. At which positions does the interval exclude zero?
# Which way would the bias go there, and what has that to do with recency?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
gets, should = stages["before training"]
batches = data.train.batches(512)
order = np.concatenate([b.index.numpy() for b in batches])  # of the rows
slope = pd.DataFrame((gets - should).numpy(), columns=range(1, 16))
slope = slope.groupby(data.train.users[order])
total, n = slope.sum().to_numpy(), slope.size().to_numpy()
rng = np.random.default_rng(0)
draws = [rng.integers(0, len(n), len(n)) for _ in range(300)]
means = np.array([total[at].sum(0) / n[at].sum() for at in draws])
low, high = np.quantile(means, [0.025, 0.975], axis=0)  # (15,) each
sure = np.flatnonzero((low > 0) | (high < 0)) + 1
print("excludes zero at positions", sure.tolist())
fig, ax = plt.subplots(figsize=(7.0, 2.8))
ax.vlines(range(1, 16), low, high, color=COPIED, lw=2)
ax.plot(range(1, 16), total.sum(0) / n.sum(), "o", color=COPIED)
ax.axhline(0, color=MUTED, lw=1)
ax.set(xlabel=BACK, ylabel="slope of the loss")
show(
    fig,
    alt="Mean slope of the loss along each bias before training, with "
    "intervals: positive at position 1, negative at position 2, near zero "
    "further back.",
    caption="A positive slope pushes the bias down. People leave (1) and go "
    "back (2); that is habit, and not a falling curve.",
)
# Farther back the slopes are several times smaller. Those at 4 and 6 push the
# bias up, as at 2: people go back and forth. No steady fall there either.

# %% [markdown]
# **Exercise 5** (project). In the town, take away everything else that knows the order (position embedding, sinusoid, "days
# ago"), let the bias run (`faster_bias`), and train for three epochs. Which of the two, bias or content, depends on the
# position now? Is there a curve of recency at last?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
few = replace(CITY, max_epochs=3, warmup_epochs=1)
torch.manual_seed(0)
order = ("position_from_end", "sinusoid", "recency")
lonely = PointerGeneratorTransformer(replace(size, without=order))
with faster_bias(lonely, 100):
    fit(lonely, data.train, data.valid, few, progress=False)
bias, content = by_position(lonely, data.test, 15)
by = pd.DataFrame({"bias": bias, "content": content}, index=range(1, 16))
print(by.round(2).T.to_string())
accuracy = 100 * gains(evaluate(lonely, data.test))["acc@1"].mean()
print(f"Acc@1 {accuracy:.1f} %")
# Now the bias depends on the position, and the content hardly (but for the
# last visit, whose vector is the context itself). What it says: not here
# (1), rather back where you came from (2). There is hardly a steady fall:
# the recency is mild, and hours and habits matter more.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
