# %% [markdown]
# # What the position bias learns
#
# The pointer has a number for each age of a visit. Does it tell how fast people forget?
#
# *You will be able to* read a learned curve without being fooled: ask what else in the model can say the same, and whether
# other people would show it. *You need* [The pointer](07_pointer.ipynb). *It takes* half an hour to read and a minute to run,
# with or without a GPU.
#
# > **In one sentence.** A flat position bias does not mean that people do not forget: where memory is short, query and key say it in
# > its place (the bias falls by {{ usual_bias:.2f }}, bias and content together by {{ usual_sum:.2f }}), and where memory is long,
# > there is little to say.

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
from wherenext.live import playground
from wherenext.people import Behaviour
from wherenext.results import read_results

from pgt import plots
from pgt.windows import prepare

# %% [markdown]
# ## Ten curves, nearly flat
#
# Ten models were trained on the town as in [chapter 10](10_training.ipynb), with ten seeds. (Two scripts,
# `book/lab/position_bias.py` and `position_bias_towns.py`, trained all whole models of this chapter.) In their tables a row is a
# model: `what` names its world ("city" is our town), `variant` its training ("as documented": as in [chapter 10](10_training.ipynb)).
#
# The columns `b1`, `b2`, … are its bias at position 1 (the last visit), 2, …. A position has one bias, but every visit there
# has a content of its own. So `c1`, `c2`, … are the *mean* content there, over test windows of at least fifteen visits.

# %%
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
trained = pd.concat([file.rows for file in files])
ten = trained.query("what == 'city' and variant == 'as documented'")
ten[["what", "variant", "seed", "b1", "b2", "c1", "c2"]].head(2)


# %%
def curves(what, letter="b", variant="as documented"):
    """(models, 15) the bias (b) or the mean content (c)."""
    rows = trained.query("what == @what and variant == @variant")
    return rows[[f"{letter}{p}" for p in range(1, 16)]].to_numpy()


learned = curves("city")  # (10, 15)
mean_content = curves("city", "c")

# %% [markdown]
# Only differences of scores matter, so all our curves have a mean of zero, in the files already.
#
# And the truth? A person whom no routine sends anywhere may **return freely**: they choose among the places they know, and
# each past visit adds a weight to its place. The visit at position $p$ has the weight $0.97^{p-1}$, plus a part that does not
# fade ({{ always:.2f }}).
#
# Attention is made of $e^{s+b} = e^s e^b$. So if people did nothing but return freely, and the content said nothing about
# age, the right bias would be about the logarithm of this weight. (Only about: the rule has more parts. A place's total, for instance, is also
# raised to a power, below one in some returns and above one in others. So the diamonds below give the direction, not the exact size.)

# %%
town = city.load()
always = town.truth["always"]


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
    "bias is that of Figure 12.1, at another scale.)",
)

# %% [markdown]
# The content has nearly all the shape. Its start is not about forgetting: people seldom stay where they are, so position 1 is
# low. They go out and come home again (home, work, home), so position 2 is high. We leave these two out (a choice made after seeing
# them).
#
# One number sums up the rest of a curve. Its **fall** is its mean at positions 3 to 5 minus its mean at positions 11 to 15, in
# logits: above zero, old visits count less.


# %%
def fall(table):
    """The mean at positions 3 to 5 minus that at 11 to 15, by row."""
    return table[..., 2:5].mean(-1) - table[..., 10:15].mean(-1)


data = prepare(town.visits, protocol="exact")
windows = data.train.subset(data.train.in_window)
why = windows.visits.why.iloc[windows.target]  # a row of `visits` each
free = 100 * (why == "return").mean()
by_rule, content = fall(truth), fall(mean_content)
by_content = content.mean()
print(f"log weight in the rule: {by_rule:.2f}")
print(f"bias: from {fall(learned).min():.2f} to {fall(learned).max():.2f}")
print(f"content: from {content.min():.2f} to {content.max():.2f}")
print(f"{free:.0f} % of the targets in the window are free returns")

# %% [markdown]
# By this measure the logarithm of the weight falls by {{ by_rule:.2f }}, and the learned curves do not fall at all. Why? There are
# two suspects:
#
# 1. *The content has said it already*, so nothing is left for the bias.
# 2. *There is little to say.* Only {{ free:.0f }} % of the targets in the window are free returns. At the others the hour
#    decides: home, work or school.
#
# In our town the content hardly falls either, in the mean of ten models ({{ by_content:.2f }}, though they differ much). So in our
# town the content has not said it either, and the first suspect alone cannot explain the curves. But in other towns it may be at
# work.
#
# ## The content can say the same
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
# And the sum? Within a window it is the logarithm of the attention, up to a constant. So two models with the same attention
# have the same sum, and may have quite different biases. In the word of [chapter 7](07_pointer.ipynb): **the attention identifies
# the sum (up to the constant), and not the bias.** (And data do not quite fix the attention: where a place was visited twice,
# they tell only the sum of the two weights.)
#
# ## A world in which the answer is known
#
# When bias and content are both trained, which one learns what is true? Take a world with nothing else to learn: people only
# copy. They go where they were $p$ visits ago ($p = 1$: they stay) with a probability in proportion to $\kappa_p$, which shrinks by a fifth with every step back. The
# right scores are $\log \kappa_p$, a straight line with the slope $\log 0.8 = -0.223$.
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
            life.append(old if rng.random() < 0.8 else unseen)
            # The last twenty, newest first, against the place just visited:
            rows.append(np.array(life[-2:-22:-1]) == life[-1])
    hits = torch.tensor(np.array(rows))
    return hits[hits.any(1)]  # where somebody copied


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
# visits to the right place. `inside` says which visits exist, and `faster` how many times as fast the bias learns as query
# and key. Without `content` the query is zero and stays so; we shall need that later.


# %%
def train(hits, inside, faster=1, content=True, steps=200, rate=0.01):
    """The trained bias and content, (L,) each, and the last loss."""
    bias = torch.zeros(hits.shape[1], requires_grad=True)
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
ours = {x: train(hits, everywhere, x) for x in (0.1, faster, 10)}
for times, (_, _, loss) in ours.items():
    print(f"bias {times} times as fast: loss {loss:.3f}")
best = (hits * torch.tensor(kappa / kappa.sum())).sum(1).log().mean()
print(f"the truth itself: loss {-best:.3f}")

# %% tags=["hide-input"]
# @title Figure 12.3: who learns the line
line = np.log(kappa) - np.log(kappa).mean()
heads = ["bias", "content", "sum"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), sharey=True)
for ax, (times, (one, other, _)) in zip(axes, ours.items(), strict=True):
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
# All three pointers reach the loss of the truth, to three decimals, and all three have nearly the right sum, because there are
# enough visits to determine it. The slope goes to the part that learns faster: to the content on the left, to the bias on the right. At equal
# rates (middle) the content takes most of it. Small whole models do the same ([Evidence](evidence_model.ipynb)). **From the
# bias by itself you cannot tell how much the content has taken.**
#
# Why is the content so quick? Adam moves each number by about the learning rate. A step of the bias moves a score by just this. A
# step of a key moves it by about as much at first (16 small numbers, divided by 4); the step of the query comes on top, and as the query grows, each step of a key
# counts for more. Once
# query and key have said what there is to say, nothing pulls at the bias. So the first suspect is possible. Whether it acts in a town, we shall see.
#
# ## How much is there to say?
#
# Now the second suspect. `city.simulate` makes a town of other people for each seed. With the same
# seeds we make three worlds: **the same people live in all three, and only the forgetting differs.**
#
# | world | with each later visit, a weight is multiplied by | towns |
# |---|---|---|
# | *short memory* | 0.8 | three |
# | *long memory* | 0.97, as in our town | ten |
# | *no forgetting* | 1 | ten |
#
# The last world is the **control**: the same people, without what we look for. (A short memory shows in three towns; for a long
# one we take ten.) In each we train a bias *alone*, with no content that could speak in its place. It
# learns how often the answer lies at each position, whatever the reason: habits could leave a curve even if nobody forgets, and
# the control shows whether they do. We train 60 steps, at a learning
# rate of 0.1 instead of 0.01. (200 steps change no fall by more than 0.03, and the mean difference below by less than 0.01.) `sights` makes from windows what `live` made of visits: `hits`, and which visits are `inside`.


# %%
def sights(windows):
    """Was each visit at the place that came next? Does it exist?"""
    seen = windows.subset(windows.in_window)
    (batch,) = seen.batches(len(seen))  # all windows in one batch
    # The column of position p, from the end:
    at = batch.length[:, None] - 1 - torch.arange(batch.location.shape[1])
    place = batch.location.gather(1, at.clamp(min=0))  # the last visit first
    inside = at >= 0  # (N, L)
    return (place == batch.target[:, None]) & inside, inside


def alone(visits):
    """(15,) the bias of a pointer that sees positions only."""
    rows = sights(prepare(visits, protocol="exact").train)
    bias, _, _ = train(*rows, content=False, steps=60, rate=0.1)
    return bias[:15] - bias[:15].mean()


# %%
def towns(decay, n):
    """(n, 15) the bias alone, a town a row."""
    how = Behaviour(recency_decay=decay)
    made = (city.simulate(seed=100 + i, behaviour=how) for i in range(n))
    return np.stack([alone(one.visits) for one in made])


worlds = {"short memory": towns(0.8, 3), "long memory": towns(0.97, 10)}
worlds["no forgetting"] = towns(1.0, 10)
# Without a seed, `simulate` makes the people of our town.
ageless = city.simulate(behaviour=Behaviour(recency_decay=1.0))
own_town = np.stack([alone(one.visits) for one in (ageless, town)])  # (2, 15)
worlds["our town"] = own_town[1:]
rule = {"short memory": in_rule(0.8), "long memory": truth}
rule |= {"no forgetting": in_rule(1.0), "our town": truth}

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
sides = ["no forgetting", "long memory"]
pairs = np.stack([fall(worlds[name]) for name in sides])  # (2, 10)
right.plot(pairs, "o-", color=COPIED, lw=0.8, ms=4, alpha=0.45)
right.plot(pairs.mean(1), "o-", color=COPIED, lw=2.2)
right.plot([fall(rule[name]) for name in sides], "D", color=TRUTH, mfc="none")
right.plot([0.08, 1.08], fall(own_town), "*-", color=INK, lw=1, ms=10)
right.set(xlim=(-0.3, 1.3), ylabel="fall (logits)")
right.set_xticks([0, 1], sides)
right.set_title("10 towns, twice; ours: stars", fontsize=10)
show(
    fig,
    alt="Left: with a short memory three curves fall, about half as far as "
    "the diamonds. Right: ten lines, most of which rise from no forgetting "
    "to long memory; their mean rises less than half as far as the diamonds, "
    "and our town's line does not rise.",
    caption="A bias without a content. Thin: a town each; thick: their mean "
    "(left: with mean zero over positions 3 to 15). Diamonds: the logarithm "
    "of the weight in the rule, and its fall. Stars: our town. A fall is the "
    "mean over the left band minus that over the right one.",
)

# %% [markdown]
# A short memory is plain to see (left), though the bias falls only half as far as the diamonds. For long memory the right
# panel shows the falls. A line joins the same people without forgetting and with it. So we can subtract town by town. *Low*
# and *high* are the ends of a 95 % interval of the mean over towns (Student's $t$), SD is the standard deviation.


# %%
def mean_of(each):
    """The mean of ten numbers, its interval (Student's t), their SD."""
    half = 2.262 * each.std(ddof=1) / 10**0.5  # the t quantile for ten
    mean = each.mean()
    return mean, mean - half, mean + half, each.std(ddof=1)


slow, none = fall(worlds["long memory"]), fall(worlds["no forgetting"])
found = {"long memory": mean_of(slow), "no forgetting": mean_of(none)}
found["difference"] = mean_of(slow - none)
heads = ["mean fall, alone", "low", "high", "SD over towns"]
pd.DataFrame(found, heads).T.round(2)

# %% [markdown]
# The third row speaks for the second suspect. There *is* something to say, but little: the rule itself falls by only
# {{ by_rule:.2f }}, and a bias alone finds about two fifths of this, {{ worth:.2f }}. With a short memory it finds half. Several things in the rule may be why; we have not
# separated them. Only {{ free:.0f }} % of our town's targets in the window are free returns; in most of these the hour counts, too;
# totals are raised to a power; and visits before the window count. (In the control the fall is about zero.)
#
# We say that slow forgetting is *worth* {{ worth:.2f }}. One town cannot show so small an effect: the falls of the first row have an SD of
# {{ apart:.2f }}, because people differ, and because their visits are partly luck.
#
# ## Does the sum tell more?
#
# If the bias cannot show how fast people forget, can the sum? Whole models were trained on the three towns with a short memory, and on
# the same people without forgetting, each town twice: at the same rate throughout, as in [chapter 10](10_training.ipynb), and with a
# *fast bias*, which learns a hundred times as fast as the rest.

# %% tags=["hide-input"]
# @title Figure 12.5: whole models, bias and sum
kinds = {"usual rate": "as documented", "fast bias": "fast bias"}
files_of = {"short memory": "short memory", "no forgetting": "no recency"}
fig, axes = plt.subplots(2, 2, figsize=(7.4, 4.4), sharex=True, sharey=True)
for row, (rate, variant) in zip(axes, kinds.items(), strict=True):
    for ax, (world, what) in zip(row, files_of.items(), strict=True):
        b, c = (curves(what, letter, variant)[:, 2:] for letter in "bc")
        drawn = {"bias": (b, COPIED), "sum": (b + c, INK)}
        for name, (lines, colour) in drawn.items():
            lines = lines - lines.mean(1, keepdims=True)
            ax.plot(range(3, 16), lines.T, color=colour, lw=0.7, alpha=0.5)
            look = {"color": colour, "lw": 2.2, "label": name}
            ax.plot(range(3, 16), lines.mean(0), **look)
        shade(ax)
        ax.set_title(f"{world}, {rate}", fontsize=10)
        ax.set(xticks=[3, 5, 10, 15], ylabel="logits")
        ax.label_outer()
axes[0, 0].legend()
for ax in axes[1]:
    ax.set_xlabel("position from the end")
show(
    fig,
    alt="Four panels. With a short memory and the usual rate the bias is "
    "flat and the sum falls; with a fast bias both fall. Without "
    "forgetting neither falls much, at either rate.",
    caption="The position bias and the sum of bias and mean content. Thin: a "
    "town each; thick: their mean. Each curve has mean zero. Bands as in "
    "Figure 12.4.",
)

# %% [markdown]
# Here are the same curves as numbers, and in the middle row those of our town's ten models. *Rule* is the fall of the rule's
# weight, *alone* again that of a bias without content, in the same towns.


# %%
kept = files_of | {"our town": "city"}  # their names in the files
falls, sums = {}, {}
for world in ("short memory", "our town", "no forgetting"):
    same = worlds[world][:3]  # the first three: the same people
    falls[world] = {"rule": fall(rule[world]), "alone": fall(same).mean()}
    for rate, variant in kinds.items():
        b, c = (curves(kept[world], letter, variant) for letter in "bc")
        falls[world][f"bias, {rate.split()[0]}"] = fall(b).mean()
        sums[world, rate] = fall(b + c)  # of each model
        falls[world][f"sum, {rate.split()[0]}"] = sums[world, rate].mean()
table = pd.DataFrame(falls).T.round(2) + 0.0  # else it prints a -0.00
table.rename_axis("mean fall", axis=1)

# %% tags=["hide-input"]
# @title Four more numbers, and some for the text
short, here, never = falls.values()
usual_bias, usual_sum = short["bias, usual"], short["sum, usual"]
usual, fast = (sums["our town", rate] for rate in kinds)
change, least, most, _ = mean_of(usual - fast)
worth, low, high, _ = found["difference"]
apart = slow.std(ddof=1)
without, with_it = fall(own_town)
fewer = (slow - none < with_it - without).sum()
seeds_apart = usual.std(ddof=1)
attention_ratio = np.exp(usual_sum)
more, up = short["sum, fast"] - usual_sum, -here["bias, fast"]
print(f"our town's sums, usual minus fast rate: {change:.2f}", end=" ")
print(f"[{least:.2f}, {most:.2f}]")
print(f"our town's ten sums, usual rate: SD {seeds_apart:.2f}")
print(f"a bias alone: with forgetting {with_it:.2f}, without {without:.2f}")
print(f"of ten towns, changed by forgetting less than ours: {fewer}")

# %% [markdown]
# With a short memory the bias of the whole model says nothing about it ({{ usual_bias:.2f }}). But the sum falls by
# {{ usual_sum:.2f }}, nearly as far as a bias that is alone ({{ short["alone"]:.2f }}), and without forgetting it hardly falls. So
# the content says that people forget: here the first suspect is at work. (A fall of {{ usual_sum:.2f }} means that recent visits
# typically get {{ attention_ratio:.1f }} times the attention of old ones, in a geometric mean over windows.)
#
# With a *fast bias*, in the same towns, the bias does speak: it falls by {{ short["bias, fast"]:.2f }}, and the sum by
# {{ short["sum, fast"]:.2f }}. **Which part of the model says that people forget depends on the optimizer.**
#
# So the sum tells more than the bias: it says *whether* this model has learned a fall. It does not say how large the fall is among
# people. With a short memory it finds about half of the rule's {{ short["rule"]:.2f }}. And it moves with the optimizer, not always
# the same way: with a fast bias it falls by {{ more:.2f }} more where memory is short, and by {{ change:.2f }} less in our town.
#
# There the ten *biases* even rise with age, by {{ up:.2f }}, and the content takes most of this back. All ten seeds agree, and still it
# is one town's visits: no sign that old visits count more ([evidence](evidence_model.ipynb)).
#
# ## Back to our town
#
# So why are the curves of our town flat? Its flat *bias* (figure 12.1) is no evidence: at this rate it stays flat even where there is
# much to say. So look at the sum and at a bias alone. At the usual rate both are flat, too, and the bias alone has a control, the left star of
# figure 12.4: without forgetting its fall is {{ without:.2f }}, with it {{ with_it:.2f }}. In only {{ fewer:.0f }} of ten other
# towns did forgetting change the fall by less. So the second suspect is enough: there is little to say, and in our town,
# probably by luck, forgetting leaves less trace than in most.
#
# The sum of one model would not have told us. Our ten models learned from the same visits, yet the falls of their sums have an SD of
# {{ seeds_apart:.2f }}: **the seed alone moves the sum by about as much as slow forgetting is worth.** More seeds average this out,
# but they are still one town.
#
# ## What to remember
#
# - Our town's bias would be flat in any case, at this learning rate. That the sum is flat, too, is because there is little to say, and
#   probably luck: slow forgetting is worth {{ worth:.2f }} logits, and towns differ by more (SD {{ apart:.2f }}).
# - Bias and content can exchange what both can say about positions, equation (12.1). Given the attention, only their sum is
#   fixed. So a flat bias does not exclude forgetting: with a short memory the bias of a whole model falls by
#   {{ usual_bias:.2f }}, and the sum by {{ usual_sum:.2f }}.
# - Which of the two learns a shape depends on the optimizer. Even the sum moves with it, by as much as slow forgetting is worth.
# - Spread over seeds is not spread over people.
# - A bias without content, in many towns and beside a control, tells *whether* people forget ({{ worth:.2f }}
#   [{{ low:.2f }}, {{ high:.2f }}]). It shows only a part of the rule's fall, and without a simulator nobody knows which part. Real
#   people have no control: report the curve of a bias alone, with its spread over groups of people, and do not call it forgetting.
#
# ## Exercises
#
# **Exercise 1** (quick). What is a control worth? With $n$ towns, the interval $\bar x \pm 2\sigma/\sqrt n$ excludes zero when
# $n > (2\sigma/\bar x)^2$. Take the mean $\bar x$ and the standard deviation $\sigma$ (`ddof=1`) of our ten towns. How large is
# this bound for a long memory alone (`slow`)? And beside the control, town by town (`slow - none`)?

# %% tags=["try"]
unaided, beside = ..., ...
check.exercise("12.1", [unaided, beside])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
pair = slow, slow - none
unaided, beside = [(2 * x.std(ddof=1) / x.mean()) ** 2 for x in pair]
check.exercise("12.1", [unaided, beside])
print(f"bounds: {unaided:.1f} towns alone, {beside:.1f} beside the control")
# With a control, a third of the towns will do, each made twice: what the
# same people do in both worlds cancels. (At the bound itself only about half
# of all such samples would exclude zero, and with so few towns Student's t
# asks for a few more.)

# %% [markdown]
# **Exercise 2** (quick, by hand). Here is the pointer of a trained model, alone. Dots are the content of each visit; sticks,
# nearly invisible at ×1, are its bias. Which of ×1, ×3, ×10, ×30, ×100 is the first at which another place leads? Which
# place, and why that one? A place gets the sum of $e^{s+b}$ over its visits.
#
# (Without the live page: the leader has three visits with the contents 1.3, 0.8 and 1.6; take their bias as zero. Its rival, not the
# second of the list, has one visit, with content 0.13 and bias 0.034.)

# %%
playground(small="bias")

# %% tags=["try"]
times = ...  # 1, 3, 10, 30 or 100
check.exercise("12.2", times)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
times = 100
check.exercise("12.2", times)
# By hand: log(e**1.3 + e**0.8 + e**1.6) = 2.38, so the rival leads from
# about (2.38 - 0.13) / 0.034 = 66 on. It is the place of the last visit but
# one: position 2 has the largest bias of all.

# %% [markdown]
# **Exercise 3** (longer). Make a world with a peak: `kappa` as above, but the seventh visit back counts as much as the last.
# Set the seed, `torch.manual_seed(0)`, and `train` on it with `faster=1`. By how many logits does the *sum* at position 7 lie
# above that at position 6? And what should it be, by `kappa`? (Counting from 0, these are entries 6 and 5.) Look at the bias,
# too: does it have the peak?

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
# The sum has the whole peak, give or take the chance in `live`. The bias has
# a part of it; with other rates or another seed it has another part.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
