# %% [markdown]
# # What the position bias learns
#
# The pointer has a number for each position in the past. Does it tell how fast people forget?
#
# *You will be able to* read a learned curve without being fooled: ask what else in the model can say the same, and whether
# other people would show it. *You need* [The pointer](07_pointer.ipynb) and [Training](10_training.ipynb). *It takes* half an
# hour to read and a minute to run, with or without a GPU.
#
# > **In one sentence.** A flat position bias does not mean that people do not forget: query and key may say it in its place,
# > and slow forgetting leaves little to see.

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
# about the visit; the bias is what its position says. Scores are measured in **logits**: a visit with 0.1 more gets about a
# tenth more attention than another, because $e^{0.1} = 1.105$.
#
# So train the model, draw $b_p$ from the last visit backwards, and read off how fast people forget? Read that way, our town's
# curve says that people do not forget at all. But they do: the town is simulated, and we know the rule by which they choose.

# %% tags=["hide-input"]
# @title Imports
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, MUTED, TRUTH, show
from wherenext.people import Behaviour
from wherenext.results import read_results

from pgt import plots
from pgt.windows import prepare

# %% [markdown]
# ## Ten curves, nearly flat
#
# Ten models were trained on the town as in [chapter 10](10_training.ipynb), with ten seeds. A position has one bias, but each
# visit a content of its own (the `scores` of [chapter 7](07_pointer.ipynb), before the bias is added). So we keep its *mean* at
# each position, over test windows of at least fifteen visits.

# %% tags=["hide-input"]
# @title Read the curves of the trained models
# A row is a model that a script trained: `what` names its world ("city" is
# our town), `variant` its training; b1, b2, ... are its bias at position 1
# (the last visit), 2, ..., and c1, c2, ... its mean content there.
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
trained = pd.concat([file.rows for file in files])


def curves(what, letter="b", variant="as documented"):
    """(models, 15) the bias (b) or the mean content (c)."""
    rows = trained.query("what == @what and variant == @variant")
    return rows[[f"{letter}{p}" for p in range(1, 16)]].to_numpy()


learned = curves("city")  # (10, 15)
mean_content = curves("city", "c")

# %% [markdown]
# Only differences of scores matter, so we draw every curve with a mean of zero.
#
# And the truth? A person with no routine at that hour may **return freely**: they choose among the places they know, and
# each past visit adds a weight to its place. The visit at position $p$ has the weight $0.97^{p-1}$, plus a part that does not
# fade ({{ always:.2f }}).
#
# Attention is made of $e^{s+b} = e^s e^b$. So if people did nothing but return freely, and the content said nothing about age,
# the right bias would be about the logarithm of this weight.

# %%
town = city.load()
always = town.truth["always"]  # `truth`: the simulator's own settings


def in_rule(decay):
    """(15,) the log of the weight at positions 1, 2, …, 15."""
    log = np.log(decay ** np.arange(15) + always)
    return log - log.mean()


truth = in_rule(town.truth["recency_decay"])

# %% tags=["hide-input"]
# @title Figure 12.1: ten curves, and the weight in the rule
fig, ax = plt.subplots(figsize=(6.4, 3.0))
plots.position_bias(learned, axes=ax)
ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none")
ax.text(4.4, 0.14, "log weight in the rule", color=TRUTH)
ax.text(8.5, 0.045, "learned, ten seeds and their mean", color=COPIED)
ax.set_xlim(0.5, 16.5)
show(
    fig,
    alt="Ten learned curves near zero. The weight in the rule falls steadily "
    "from above them to below them.",
    caption="The position bias after training, and the logarithm of a past "
    "visit's weight in a free return.",
)

# %% [markdown]
# The rule's weight falls, and the bias does not. What does the content of the same ten models say?

# %% tags=["hide-input"]
# @title Figure 12.2: content against bias
fig, ax = plt.subplots(figsize=(6.4, 3.0))
look = {"colour": EXTRA, "label": "mean content"}
plots.position_bias(mean_content, axes=ax, **look)
plots.position_bias(learned, axes=ax, label="bias")
ax.set(xlim=(0.5, 15.5), ylabel="logits")
ax.legend()
show(
    fig,
    alt="The bias is flat. The content is low at position 1, high at "
    "position 2, and without a trend from position 3 on.",
    caption="The two parts of the score, ten seeds and their means. (The "
    "bias is that of figure 12.1, at another scale.)",
)

# %% [markdown]
# The content has nearly all the shape. Its start is not about forgetting: people seldom stay where they are, so position 1 is
# low. They go out and come home again (home, work, home), so position 2 is high. We leave these two out (a choice made after
# seeing them).
#
# One number sums up the rest of a curve. Its **fall** is its mean at positions 3 to 5 minus its mean at positions 11 to 15 (two
# groups far apart), in logits: above zero, old visits count less.


# %%
def fall(table):
    """The mean at positions 3 to 5 minus that at 11 to 15, by row."""
    return table[..., 2:5].mean(-1) - table[..., 10:15].mean(-1)


data = prepare(town.visits, protocol="exact")
windows = data.train.subset(data.train.in_window)
why = windows.visits.why.iloc[windows.target]  # `target`: its row
free = 100 * (why == "return").mean()
by_rule, content = fall(truth), fall(mean_content)
by_content = content.mean()
print(f"log weight in the rule: {by_rule:.2f}")
print(f"bias: from {fall(learned).min():.2f} to {fall(learned).max():.2f}")
print(f"content: from {content.min():.2f} to {content.max():.2f}", end=", ")
print(f"mean {by_content:.2f}")
print(f"{free:.0f} % of the targets in the window are free returns")

# %% [markdown]
# By this measure the logarithm of the weight falls by {{ by_rule:.2f }}, and the bias does not fall at all. Why? There are
# two suspects:
#
# 1. *The content has said it already*: it falls with age, and nothing is left for the bias.
# 2. *There is little to say.* Only {{ free:.0f }} % of the targets in the window are free returns.
#
# If the first suspect were the only one, the content would fall by about {{ by_rule:.2f }}. In the mean of ten models, which
# scatter widely, it falls by {{ by_content:.2f }}. This speaks for the second suspect, but does not settle it: habits may hide
# a fall. Can a content take the bias's place at all? And how much is there to say?
#
# ## The first suspect: the content can say the same
#
# Take a visit whose content says $1.2$ and whose bias says nothing: its score is $1.2 + 0$. With less content and more bias,
# $0.9 + 0.3$, the score is the same. So is the attention, and so is the prediction.
#
# The content can make such an exchange, because it knows the position, too: the embedding of the position from the end, the
# sinusoid and "days ago" are all in the encoded visit. In general, let $\xi_p$ be any curve over positions:
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.1}
# $$
#
# What the bias loses, the content gains. If the content can say $\xi_p$, no prediction changes.
#
# Within a window the sum is the logarithm of the attention, up to a constant. So two models with the same attention have the
# same sum, and perhaps quite different biases. **The attention fixes the sum (up to the constant), but not the bias.**
#
# ## A world in which the answer is known
#
# When bias and content are both trained, which one learns what is true? Take a world with nothing else to learn: people only
# copy. They go where they were $p$ visits ago ($p = 1$: they stay) with a probability in proportion to $\kappa_p$, which shrinks
# by a fifth with every step back. The right scores are $\log \kappa_p$, a straight line with the slope $\log 0.8 = -0.223$.
#
# By copying alone, everybody would soon be at one place for ever. So one visit in five, on average, goes to a new place. Nobody
# can copy it, and we leave it out.


# %%
def live(kappa, people=100, visits=200):
    """(N, 20) whether the visit p steps back was at the next place."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(people):
        life = list(range(20))  # places; a past to begin with
        for unseen in range(20, 20 + visits):
            old = life[-1 - rng.choice(20, p=kappa / kappa.sum())]
            copies = rng.random() < 0.8
            life.append(old if copies else unseen)
            # The last twenty, newest first, against the place just visited:
            rows.append(np.array(life[-2:-22:-1]) == life[-1])
    hits = torch.tensor(np.array(rows))
    return hits[hits.any(1)]  # only what was copied


kappa = 0.8 ** np.arange(20)
hits = live(kappa)

# %% [markdown]
# A row of `hits` says which of the last twenty visits were at the place that came next. Several may have been, and a pointer
# is right with any of them.
#
# Our pointer sees nothing of a visit but its position. Each position has a key. There is one query, since all windows ask the
# same question. (Both have 16 numbers, so their product is divided by 4.) The score is a sum of two parts again: a bias, and a
# content that query and key make.
#
# The loss is that of a pointer alone, as in [chapter 7](07_pointer.ipynb): minus the logarithm of the attention on
# visits to the right place. Query and key begin with small random numbers, the bias with zeros. `inside` says which visits
# exist, and `faster` how many times as fast the bias learns as query and key.


# %%
def train(hits, inside, faster=1, content=True, steps=200, rate=0.01):
    """The trained bias and content, (L,) each, and the last loss."""
    bias = torch.zeros(hits.shape[1], requires_grad=True)
    # Without content, the query is zeros and is not trained.
    query = (content * 0.3 * torch.randn(16)).requires_grad_(content)
    key = (0.3 * torch.randn(len(bias), 16)).requires_grad_()
    fast = {"params": [bias], "lr": faster * rate}
    adam = torch.optim.Adam([fast, {"params": [query, key]}], rate)
    for _ in range(steps):
        score = (bias + key @ query / 4).masked_fill(~inside, -math.inf)
        loss = -(score.softmax(-1) * hits).sum(1).log().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    made = (key @ query / 4).detach()
    return bias.detach().numpy(), made.numpy(), loss.item()


# %% [markdown]
# **Change this**: how many times as fast the bias learns. Then see which part has the slope in the figure's middle panel.

# %%
faster = 1  # @param [0.3, 1, 3] {type:"raw"}
everywhere = torch.ones(1, 20, dtype=torch.bool)  # all twenty exist
torch.manual_seed(0)
pointers = {x: train(hits, everywhere, x) for x in (0.1, faster, 10)}
for times, (_, _, loss) in pointers.items():
    print(f"bias {times} times as fast: loss {loss:.3f}")
best = (hits * torch.tensor(kappa / kappa.sum())).sum(1).log().mean()
print(f"the truth itself: loss {-best:.3f}")

# %% tags=["hide-input"]
# @title Figure 12.3: who learns the line
line = np.log(kappa) - np.log(kappa).mean()
heads = ["bias", "content", "sum"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), sharey=True)
for ax, (times, (one, other, _)) in zip(axes, pointers.items(), strict=True):
    parts = np.stack([one, other, one + other], 1)  # (20, 3)
    parts = pd.DataFrame(parts - parts.mean(0), range(1, 21), heads)
    look = {"palette": [COPIED, EXTRA, INK], "legend": ax is axes[2]}
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
# All three pointers reach the loss of the truth, to three decimals, and all three have nearly the right sum. The slope goes to
# the part that learns faster: to the content on the left (there the bias can hardly move in 200 steps), to the bias on the
# right. At equal rates (middle) the content takes most of it, probably because both query and key move it. In small whole
# models, too, the part that learns faster takes it ([Evidence](evidence_model.ipynb)). **From the bias by itself you cannot
# tell how much the content has taken.**
#
# So the first suspect is possible. Whether it acts in a town, we shall see.
#
# ## The second suspect: how much is there to say?
#
# `city.simulate` makes a town of other people for each seed. With the same seeds we make three worlds:
# **the same people live in all three, and only the forgetting differs.**
#
# | world | fading per visit | towns |
# |---|---|---|
# | *short memory* | × 0.8 | three (a large effect needs few) |
# | *long memory* | × 0.97, as in our town | ten |
# | *no forgetting* | × 1 | ten |
#
# The last world is the **control**: the same people, without what we look for. In each we train a bias *alone*, with no content
# that could speak in its place (`content=False` holds the query at zero). It learns how often the answer lies at each position,
# whatever the reason. Habits may leave a curve even where nobody forgets. So we subtract the control's fall: the **change** is
# what there is to say.


# %%
def hits_of(windows):
    """(N, L) twice: is it at the place that came next; is it a visit?"""
    seen = windows.subset(windows.in_window)
    (batch,) = seen.batches(len(seen))  # all windows in one batch
    # The column of position p, from the end:
    at = batch.length[:, None] - 1 - torch.arange(batch.location.shape[1])
    place = batch.location.gather(1, at.clamp(min=0))  # the last visit first
    inside = at >= 0  # (N, L)
    target = batch.target[:, None]  # the place itself: its id
    return (place == target) & inside, inside


def alone(visits):
    """(15,) the bias of a pointer that sees positions only."""
    rows = hits_of(prepare(visits, protocol="exact").train)
    # For speed; more steps change little (evidence on the model).
    bias, _, _ = train(*rows, content=False, steps=60, rate=0.1)
    return bias[:15] - bias[:15].mean()


# %%
def towns(decay, n):
    """(n, 15) the bias alone, a town a row."""
    how = Behaviour(recency_decay=decay)  # the other settings as they are
    made = (city.simulate(seed=100 + i, behaviour=how) for i in range(n))
    return np.stack([alone(one.visits) for one in made])


worlds = {"short memory": towns(0.8, 3), "long memory": towns(0.97, 10)}
worlds["no forgetting"] = towns(1.0, 10)
# Without a seed, `simulate` makes the people of our town.
ageless = city.simulate(behaviour=Behaviour(recency_decay=1.0))
own_town = np.stack([alone(one.visits) for one in (ageless, town)])  # (2, 15)
rule = {"short memory": in_rule(0.8), "no forgetting": in_rule(1.0)}

# %% [markdown]
# In brackets stands a 95 % interval of the mean difference over towns (Student's $t$); SD is the standard deviation.

# %%
slow, none = fall(worlds["long memory"]), fall(worlds["no forgetting"])
changes = slow - none  # (10,) a town each
worth, apart = changes.mean(), slow.std(ddof=1)
half = 2.262 * changes.std(ddof=1) / 10**0.5  # the t quantile for ten
low, high = worth - half, worth + half
print(f"long memory: mean fall {slow.mean():.2f}, SD {apart:.2f}")
print(f"no forgetting: mean fall {none.mean():.2f}")
print(f"change: {worth:.2f} [{low:.2f}, {high:.2f}]")

# %% tags=["hide-input"]
# @title Figure 12.4: a bias alone
size = {"figsize": (7.4, 2.8), "width_ratios": (3, 2)}
fig, (left, right) = plt.subplots(1, 2, **size)
seen = [x[..., 2:] for x in (worlds["short memory"], rule["short memory"])]
table, true = (x - x.mean(-1, keepdims=True) for x in seen)


def shade(ax):
    """The two bands whose means make a fall."""
    for band in ((2.5, 5.5), (10.5, 15.5)):
        ax.axvspan(*band, color=MUTED, alpha=0.15, lw=0)


shade(left)
left.plot(range(3, 16), table.T, color=COPIED, lw=0.6, alpha=0.45)
left.plot(range(3, 16), table.mean(0), color=COPIED, lw=2.2)
left.plot(range(3, 16), true, "D", color=TRUTH, mfc="none", ms=4)
left.set(xlabel="position from the end", xticks=[3, 5, 10, 15])
left.set(ylabel="bias, alone (logits)")
left.set_title("short memory: 3 towns", fontsize=10)
right.axhline(0, color=MUTED, lw=0.8)
right.plot(np.zeros(10), changes, "o", color=COPIED, ms=5, alpha=0.5)
bar = {"color": COPIED, "ms": 7, "lw": 2.2}
right.errorbar(1, worth, half, fmt="o", **bar)
right.plot(2, np.diff(fall(own_town)), "*", color=INK, ms=11)
right.plot(3, by_rule, "D", color=TRUTH, mfc="none")
right.set(xlim=(-0.5, 3.5), ylabel="change of the fall (logits)")
ticks = ["10 towns", "their\nmean", "our\ntown", "the\nrule"]
right.set_xticks(range(4), ticks)
right.set_title("long memory − no forgetting", fontsize=10)
show(
    fig,
    alt="Left: with a short memory three curves fall, about half as far as "
    "the diamonds. Right: most of ten dots lie above zero; so does the "
    "interval of their mean. Our town lies just below zero, and the rule "
    "as high as the highest town.",
    caption="A bias without a content. Left, thin: a town each; thick: their "
    "mean; diamonds: the log weight in the rule (all with mean zero over "
    "positions 3 to 15). A fall is the mean over the left band minus that "
    "over the right one. Right: how much a long memory changes the fall; "
    "the mean has its 95 % interval over towns. Star: our town. Diamond: the "
    "rule, whose fall without forgetting is 0.",
)

# %% [markdown]
# A short memory is plain to see (left), though the bias falls only half as far as the diamonds. With a long one there *is*
# something to say, but little. A long memory changes the fall by {{ worth:.2f }} logits: about a tenth more attention. That is
# two fifths of the rule's {{ by_rule:.2f }}. In our town {{ free:.0f }} % of the targets are free returns; that this explains
# it is a guess. In the control the fall is about zero.
#
# One town cannot show so small an effect: with a long memory the falls of ten towns have an SD of {{ apart:.2f }}, because
# people differ, and because their visits are partly luck.
#
# ## The first suspect again, in whole models
#
# Does the content speak in the bias's place where there is much to say? One whole model was trained, as in
# [chapter 10](10_training.ipynb), on each of the three towns with a short memory, and one on each of the same towns without
# forgetting.

# %% tags=["hide-input"]
# @title Figure 12.5: whole models, bias and sum
name_in_file = {
    "short memory": "short memory", "no forgetting": "no recency"
}  # fmt: skip
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), sharey=True)
for ax, (world, what) in zip(axes, name_in_file.items(), strict=True):
    b, c = (curves(what, letter)[:, 2:] for letter in "bc")
    drawn = {"bias": (b, COPIED), "sum": (b + c, INK)}
    for name, (lines, colour) in drawn.items():
        lines = lines - lines.mean(1, keepdims=True)
        ax.plot(range(3, 16), lines.T, color=colour, lw=0.7, alpha=0.5)
        look = {"color": colour, "lw": 2.2, "label": name}
        ax.plot(range(3, 16), lines.mean(0), **look)
    shade(ax)
    ax.set_title(world, fontsize=10)
    ax.set(xlabel="position from the end", xticks=[3, 5, 10, 15])
axes[0].set_ylabel("logits")
axes[0].legend()
show(
    fig,
    alt="Two panels. With a short memory the bias is flat and the sum falls. "
    "Without forgetting neither falls much.",
    caption="The position bias and the sum of bias and mean content. Thin: a "
    "town each; thick: their mean. Each curve has mean zero over positions 3 "
    "to 15. Bands as in figure 12.4.",
)

# %% [markdown]
# Here are the same curves as numbers. *Rule* is the fall of the rule's weight, *alone* again that of a bias without content, in
# the same towns.


# %%
falls = {}
for world, what in name_in_file.items():
    same = worlds[world][:3]  # the first three: the same people
    falls[world] = {"rule": fall(rule[world]), "alone": fall(same).mean()}
    b, c = (curves(what, letter) for letter in "bc")
    falls[world] |= {"bias": fall(b).mean(), "sum": fall(b + c).mean()}
short = falls["short memory"]
table = pd.DataFrame(falls).T.round(2) + 0.0  # else it prints a -0.00
table.rename_axis("mean fall", axis=1)

# %% [markdown]
# With a short memory the bias of the whole model says nothing ({{ short["bias"]:.2f }}). But in the mean of the three towns the
# sum falls by {{ short["sum"]:.2f }}, nearly as far as a bias alone ({{ short["alone"]:.2f }}; only roughly comparable, as the
# sum is a mean over long test windows), and without forgetting it does not. So the content says it: here the first suspect is
# at work.
#
# A fall of {{ short["sum"]:.2f }} gives recent visits about twice the attention of old ones, but the rule falls by
# {{ short["rule"]:.2f }}: the sum tells *whether* a model has learned a fall, not how fast people forget.
#
# ## Back to our town
#
# Its flat *bias* (figure 12.1) is no evidence: at this learning rate it is flat even where there is much to say. What does a
# bias alone say, and how far do the sums of the ten models scatter?

# %%
ours_summed = fall(learned + mean_content)  # (10,) a model each
seeds_apart = ours_summed.std(ddof=1)
without, with_it = fall(own_town)
fewer = (changes < with_it - without).sum()
print(f"a bias alone: {with_it:.2f}, without forgetting {without:.2f}")
print(f"change {with_it - without:.2f}; of ten towns, {fewer} lie lower")
print(f"our ten sums: mean fall {ours_summed.mean():.2f}", end=", ")
print(f"SD over seeds {seeds_apart:.2f}")

# %% [markdown]
# Neither a bias alone nor the sum falls, and neither had to: in the mean of ten towns a long memory changes the fall by only
# {{ worth:.2f }}, and ours lies at their low end (the star in figure 12.4). There even a bias alone finds nothing, so there was
# nothing that the content could have taken: the second suspect is enough.
#
# One model would not have told us. Our ten learned from the same visits, yet the falls of their sums have an SD of
# {{ seeds_apart:.2f }}: **the seed alone moves the sum by about as much as a long memory does.** A bias alone has no such
# scatter, as it starts at zero and nothing can take its place; only towns differ.
#
# ## What to remember
#
# - A flat bias is no evidence that people do not forget: with a short memory the bias of a whole model falls by
#   {{ short["bias"]:.2f }}, and the sum by {{ short["sum"]:.2f }}.
# - Bias and content can exchange what both can say about positions, equation (12.1). In our runs the learning rates decided
#   which of them learns it.
# - A long memory changes the fall of a bias alone by {{ worth:.2f }} logits [{{ low:.2f }}, {{ high:.2f }}]. One town (SD
#   {{ apart:.2f }}) or one seed (SD {{ seeds_apart:.2f }}) cannot show it, and ten seeds are still one town.
# - Real people have no control: report the curve of a bias alone, with its spread over groups of people, and do not call it
#   forgetting: habits can leave curves, too (figure 12.2, positions 1 and 2).
#
# ## Exercises
#
# **Exercise 1** (quick). What is a control worth? With $n$ towns, the interval $\bar x \pm 2\sigma/\sqrt n$ excludes zero when
# $n > (2\sigma/\bar x)^2$. Take the mean $\bar x$ and the standard deviation $\sigma$ (`ddof=1`) of our ten towns. How large is
# this bound for the falls with a long memory (`slow`)? And for their differences from the control (`slow - none`)?

# %% tags=["try"]
unaided, beside = ..., ...
check.exercise("12.1", [unaided, beside])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
pair = slow, slow - none
unaided, beside = [(2 * x.std(ddof=1) / x.mean()) ** 2 for x in pair]
check.exercise("12.1", [unaided, beside])
print(f"bounds: {unaided:.1f} towns, {beside:.1f} with the control")
# With a control, a third of the towns will do, each made twice: what the
# same people do in both worlds cancels. (At the bound itself only about half
# of all such samples would exclude zero, and with so few towns Student's t
# asks for a few more.)

# %% [markdown]
# **Exercise 2** (quick, by hand). With a short memory the bias of a whole model falls by {{ short["bias"]:.2f }}, and the sum by
# {{ short["sum"]:.2f }}. Exchange as in equation (12.1), with $\xi_p = 0.1\,p$. By how much do bias, content and sum fall then?

# %% tags=["try"]
bias_falls, content_falls, sum_falls = ..., ..., ...
check.exercise("12.2", [bias_falls, content_falls, sum_falls])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
moved = fall(0.1 * np.arange(1, 16))  # 0.1 · 4 - 0.1 · 13 = -0.9
bias_falls = short["bias"] - moved
content_falls = short["sum"] - short["bias"] + moved
check.exercise("12.2", [bias_falls, content_falls, short["sum"]])
print(f"bias {bias_falls:.2f}, content {content_falls:.2f}")
# The same attention, and the same predictions. But now the bias by itself
# seems to say that people forget, and the content that old visits count more.

# %% [markdown]
# **Exercise 3** (longer). Make a world with a peak: `kappa` as above, but the seventh visit back counts as much as the last.
# Set the seed, `torch.manual_seed(0)`, and `train` on `live` of it (with `everywhere` as `inside`) with `faster=1`. By how many
# logits does the *sum* at position 7 lie above that at position 6? And what should it be, by `kappa`? (Counting from 0, these
# are entries 6 and 5.) Look at the bias, too: does it have the peak?

# %% tags=["try"]
jump, due = ..., ...
check.exercise("12.3", [jump, due])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
peaked = kappa.copy()
peaked[6] = peaked[0]
torch.manual_seed(0)
bias, keys_say, _ = train(live(peaked), everywhere)
jump = (bias + keys_say)[6] - (bias + keys_say)[5]
due = np.log(peaked[6] / peaked[5])  # five times -log 0.8
check.exercise("12.3", [jump, due])
print(f"the sum jumps by {jump:.2f}; {due:.2f} are due")
print(f"of it, the bias has {bias[6] - bias[5]:.2f}")
# The sum has the whole peak, apart from chance in `live`. The bias has
# a part of it; with other rates or another seed it has another part.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
