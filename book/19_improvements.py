# %% [markdown]
# # Ten improvements
#
# The rule of five numbers of [chapter 4](04_baselines.ipynb) guesses better than our Transformer, most clearly on GeoLife.
# Would a better Transformer catch up? The [documents](https://where-next-book.github.io/where-next/book/documents.html) from
# which this book grew argue for nine changes; a control is the tenth. Here they are, from what goes in to what comes out.
# Which three would you bet on?
#
# 1. `cross_attention`: each place should *ask* who the person is and what time it is.
# 2. `multi_scale_time`: 23:45 and 0:00 are neighbours.
# 3. `adaptive_embeddings`: rare places and frequent ones should get vectors of different widths.
# 4. `relative_bias`: how far apart two visits are matters, not where they stand.
# 5. `recent_and_first`: the last visits deserve extra weight, and so does the first, where the week begins.
# 6. `geglu`: a gate makes a feed-forward network better at the same size.
# 7. `post_norm`, the control: it normalises later. Nobody expects a gain from it, so it shows what luck can do.
# 8. `experts`: habit and exploration are different skills.
# 9. `mixture_of_softmaxes`: one softmax is too narrow for people with several habits.
# 10. `focal` or `balanced`: the loss should spend less on what is known, or on what is frequent.
#
# *You will be able to* build ten parts of a Transformer, see before training what a part cannot do, and read two dozen
# comparisons without fooling yourself. *You need* [The encoder](06_position_and_encoder.ipynb), [Training](10_training.ipynb)
# and [Ablations](14_ablations.ipynb). *It takes* twenty minutes to read and half a minute to run.
#
# > **In one sentence.** Look at what a part computes before you train it; then train with several seeds and read all
# > comparisons together, as luck alone can make a winner.

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
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from wherenext import city
from wherenext.comparison import compare
from wherenext.figures import COPIED, EXTRA, MUTED, flowchart, show
from wherenext.results import read_results

from pgt.checkpoint import load_model, shipped
from pgt.config import CITY
from pgt.improvements import IMPROVEMENTS, improved, occurrences
from pgt.metrics import evaluate, gains
from pgt.train import fit
from pgt.windows import prepare

# %%
data = prepare(city.load().visits, protocol="exact")
V, USERS = data.vocabulary.n_locations, data.vocabulary.n_users
model, _ = load_model(shipped("city"))  # PGT as it is, trained
D, FF = model.config.d_model, model.config.d_feedforward
torch.manual_seed(0)
batch = data.test.batch(np.arange(64))

# %%
bet = ["multi_scale_time", "relative_bias", "geglu"]  # ours; write yours

# %% tags=["hide-input"]
# @title Figure 19.1: where the ten parts sit
fig, axes = plt.subplots(figsize=(7.4, 2.1))
boxes = {
    "embeddings\n1, 2, 3": (0, 0, COPIED, "attention\n4, 5"),
    "attention\n4, 5": (2, 0, COPIED, "rest of a layer\n6, 7, 8"),
    "rest of a layer\n6, 7, 8": (
        4.2, 0, COPIED, "pointer", "gate", "generator\n9"
    ),
    "pointer": (6.6, 0, MUTED, "mixture"),
    "gate": (6.6, -1, MUTED, "mixture"),
    "generator\n9": (6.6, -2, COPIED, "mixture"),
    "mixture": (8.6, -2, MUTED, "loss\n10"),
    "loss\n10": (10.2, -2, COPIED),
}
flowchart(axes, boxes)
show(
    fig,
    alt="Embeddings 1, 2, 3; attention 4, 5; rest of a layer 6, 7, 8; then "
    "pointer, gate and generator 9 side by side; mixture; loss 10.",
    caption="The model, and where the ten parts change it (blue). Pointer, "
    "gate and mixture stay as they are.",
)

# %% [markdown]
# Each part gets its idea, a look at what it computes, and our forecast for Acc@1: *better* (↑), *worse* (↓) or *no difference*
# (=). All results come at the end.
#
# ## What goes in: parts 1 to 3
#
# **1. Cross-attention.** Let each visit's place ask, with attention: who is the person, and what time is it? But a window has
# *one* person. Here is that half of the part:

# %%
places = nn.Embedding(V, D)(batch.location)  # (B, L, D) ask
person = nn.Embedding(USERS, D)(batch.user)[:, None]  # (B, 1, D) answers
ask = nn.MultiheadAttention(D, 4, batch_first=True)
answer, _ = ask(places, person, person)
apart = (answer - answer[:, :1]).abs().max()
print(f"the answers to two places differ by at most {apart:.6f}")

# %% [markdown]
# A softmax over one score is 1, whatever is asked. So every place gets the same answer: this half is a linear layer of the
# person's row. The other half asks the times of *all* visits, and there the softmax does choose. Both answers are added to the
# place's own vector.
#
# *Forecast: no difference (=).* The one half chooses nothing. What the other sees, self-attention sees already.
#
# **2. Multi-scale time.** PGT has a row for each quarter of an hour, and no row knows its neighbours. Let sines and cosines
# go round the clock, one to four times a day:


# %%
def waves(quarter):
    """(…) quarters of an hour, 1 … 96 -> (…, 8)."""
    turns = torch.arange(1, 5)  # in 24 hours
    middle = quarter[..., None] - 0.5  # of the quarter
    angle = 2 * torch.pi * middle / 96 * turns
    return torch.cat([angle.sin(), angle.cos()], -1)


hours = waves(torch.tensor([1, 96, 49]))  # 0:00, 23:45 and 12:00
like = torch.cosine_similarity(hours[:1], hours)
print(f"similarity of 0:00 to 23:45 {like[1]:.2f}, to 12:00 {like[2]:.2f}")


# %% [markdown]
# Neighbours are alike now. (At 12:00 two of the waves are as at 0:00 and two are opposite, which cancels.) The part appends
# these eight numbers to a row for the hour, and mixes all by a linear layer. The weekday, too, gets one such wave.


# %% tags=["hide-input"]
# @title MultiScaleTime(width): a row for the hour, and the waves


class MultiScaleTime(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hour = nn.Embedding(25, width, padding_idx=0)
        self.mix = nn.Linear(width + 8, width, bias=False)

    def forward(self, quarter):
        real = (quarter > 0)[..., None]  # 0 is padding
        hour = self.hour((quarter + 3) // 4)  # four quarters share a row
        return self.mix(torch.cat([hour, waves(quarter) * real], -1))


# %% [markdown]
# *Forecast: better (↑).* What is learned at 23:45 helps at 0:00.
#
# **3. Adaptive embeddings.** Training sees a rare place too seldom to learn $D$ numbers for it. So group the places by how
# often they occur in training windows: more than 1,000 times, 100 to 1,000 times, or less. Each group has a table of its own
# width, and a matrix that brings its rows to $D$ numbers ([Baevski and Auli, 2019](https://arxiv.org/abs/1809.10853)).


# %% tags=["hide-input"]
# @title AdaptiveEmbedding(group, widths, d): three tables


class AdaptiveEmbedding(nn.Module):
    def __init__(self, group, widths, d):
        super().__init__()
        self.group, self.row = group, torch.zeros_like(group)
        sizes = torch.bincount(group, minlength=3).tolist()
        for k, n in enumerate(sizes):
            self.row[group == k] = torch.arange(n)  # its own table
        self.tables = nn.ModuleList(map(nn.Embedding, sizes, widths))
        self.up = nn.ModuleList(nn.Linear(w, d, bias=False) for w in widths)

    def forward(self, location):
        out = torch.zeros(*location.shape, self.up[0].out_features)
        for k in range(3):
            here = self.group[location] == k
            out[here] = self.up[k](self.tables[k](self.row[location[here]]))
        return out

# %%
def size(part):
    return sum(p.numel() for p in part.parameters())


times = occurrences(data.train)  # (V,) in all windows; these overlap
group = (times <= 1000).long() + (times < 100).long()  # 0, 1 or 2
adaptive = AdaptiveEmbedding(group, widths=(D, D // 2, D // 4), d=D)
print([tuple(table.weight.shape) for table in adaptive.tables])
print(size(adaptive), "numbers in place of", V * D)

# %% [markdown]
# A third of the numbers is left, and a narrow row has little room to overfit. (The documents give the *rare* places wide rows,
# which was [measured, too](evidence_improvements.ipynb).)
#
# *Forecast: no difference (=).* There are arguments for both ways.
#
# ## How visits look at each other: parts 4 and 5
#
# **4. Relative position bias.** "Two visits ago" should mean the same early and late in a week. So leave out the sinusoid
# that says where a visit stands. Add to each attention score a learned number for the distance of the two visits, from one
# table $\mathcal{B}$ for each head ([Raffel et al., 2020](https://arxiv.org/abs/1910.10683)):
#
# $$
# s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}} + \mathcal{B}_{j-i}. \tag{19.1}
# $$


# %%
def relative_bias(table, n):
    """(2R + 1, H) numbers -> (H, L, L) to add to scores; R is the reach."""
    reach = len(table) // 2  # further away counts as this far
    steps = torch.arange(n)
    apart = (steps - steps[:, None]).clamp(-reach, reach)  # j - i
    return table[apart + reach].permute(2, 0, 1)


# One head, and a table that holds the distances −2 to 2.
relative_bias(torch.arange(-2.0, 3)[:, None], 5)[0]

# %% [markdown]
# Each row is a visit that looks, each column one that is seen. Along a diagonal stands one number: same distance, same bias.
# (Rotary positions, [Su et al., 2021](https://arxiv.org/abs/2104.09864), do this without a table.)
#
# *Forecast: better (↑).* Routines are made of such distances.
#
# **5. A bias to recent and first visits.** Each head learns six numbers, for the first visit and the last five. They are added
# to these visits' scores, whoever looks.


# %%
def recent_and_first(table, n):
    """(6, H) numbers -> (H, L): the first visit, the last five."""
    bias = torch.zeros(n, table.shape[1])
    bias[-5:] = table[1:].flip(0)[-n:]  # table[1] is for the last visit
    bias[0] += table[0]
    return bias.T


# 9 for the first of eight visits, 5 for the last, 4 for the one before …
recent_and_first(torch.tensor([[9.0], [5], [4], [3], [2], [1]]), 8)

# %% [markdown]
# *Forecast: no difference (=).* The pointer, which comes after, has such a bias $b_p$ for every position
# ([chapter 7](07_pointer.ipynb)).
#
# ## The rest of a layer: parts 6 to 8
#
# After attention, a layer has a feed-forward network, and it normalises.
#
# **6. GeGLU.** Give the feed-forward network two hidden layers side by side, and multiply them, so that one is a gate for the
# other ([Shazeer, 2020](https://arxiv.org/abs/2002.05202)):


# %%
class GeGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.value, self.gate = nn.Linear(d, hidden), nn.Linear(d, hidden)
        self.out = nn.Linear(hidden, d)

    def forward(self, x):
        return self.out(self.value(x) * nn.functional.gelu(self.gate(x)))


def plain(d, hidden):  # the feed-forward network that it replaces
    wide, narrow = nn.Linear(d, hidden), nn.Linear(hidden, d)
    return nn.Sequential(wide, nn.GELU(), narrow)


print("plain:", size(plain(D, FF)), "numbers")
print("GeGLU, as wide:", size(GeGLU(D, FF)))
print("GeGLU, two thirds as wide:", size(GeGLU(D, round(FF * 2 / 3))))

# %% [markdown]
# Three matrices cost more than two. So the hidden layer is a third narrower, as in the paper.
#
# *Forecast: better (↑).* In the paper it helps at equal size.
#
# **7. Post-norm.** Where does the normalisation stand: before a part, or after its sum
# ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745))? Take a part that adds nothing:


# %%
def pre_norm(x, part, norm):
    return x + part(norm(x))


def post_norm(x, part, norm):
    return norm(x + part(x))


x = 3 * torch.randn(1, 2, D)  # two visits; 3, so that a norm shows
for order in (pre_norm, post_norm):
    after = order(x, torch.zeros_like, nn.LayerNorm(D))
    print(f"{order.__name__}: x moves by {(after - x).abs().max():.1f}")

# %% [markdown]
# In pre-norm $x$ runs through unchanged. That helps deep networks.
#
# *Forecast: no difference (=).* Ours has two layers.
#
# **8. Experts.** Let one network serve habit, and another exploration. Take four feed-forward networks $h_k$ and a router (a
# linear layer and a softmax), which decides at each visit what share $\pi_k$ of the answer each of them has
# ([Shazeer et al., 2017](https://arxiv.org/abs/1701.06538)):


# %%
class Experts(nn.Module):
    def __init__(self, d, hidden, n=4):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList(plain(d, hidden) for _ in range(n))

    def forward(self, x):
        answers = torch.stack([one(x) for one in self.experts], -1)
        shares = self.router(x).softmax(-1)  # (B, L, n)
        return (answers * shares[..., None, :]).sum(-1)


print(size(Experts(D, FF)), "numbers in place of", size(plain(D, FF)))

# %% [markdown]
# *Forecast: no difference (=).* Nothing tells an expert which skill is its own. And at four times the size, a gain could come
# from size alone.
#
# ## What comes out: parts 9 and 10
#
# **9. A mixture of softmaxes.** Can one softmax say "gym or home, but not the office"? Let the context $c$ and each place's
# vector $G_\ell$ be one number instead of $D$, and $c \cdot G_\ell$ the place's score:

# %%
G = torch.tensor([1.0, 0.0, -1.0])  # gym, office, home
one, other = (3 * G).softmax(0), (-3 * G).softmax(0)  # contexts 3 and −3
toy = torch.stack([one, other, (one + other) / 2]).round(decimals=2)
pd.DataFrame(toy, ["c = 3", "c = −3", "mixed"], ["gym", "office", "home"])

# %% [markdown]
# The office's score always lies between the other two, so no $c$ can say it. (A bias $b_\ell$ could push the office down, but
# in every context alike.) A half-and-half mixture of two softmaxes can. With $D$ numbers the limit is wider, but it is still
# there ([Yang et al., 2018](https://arxiv.org/abs/1711.03953)).
#
# So a linear layer and a tanh make several contexts $c_k$ from $c$, and another layer and a softmax their shares $\pi_k$:
#
# $$
# P_\text{gen}(\ell) = \sum_k \pi_k\, \frac{e^{G_\ell \cdot c_k + b_\ell}}{\sum_{\ell'} e^{G_{\ell'} \cdot c_k + b_{\ell'}}}.
# \tag{19.2}
# $$


# %%
class MixtureOfSoftmaxes(nn.Module):
    def __init__(self, d, v, n=4):
        super().__init__()
        self.contexts, self.prior = nn.Linear(d, n * d), nn.Linear(d, n)
        self.scores, self.n = nn.Linear(d, v), n

    def forward(self, c):
        """(B, D) -> (B, V) log-probabilities."""
        c_k = torch.tanh(self.contexts(c)).view(len(c), self.n, -1)
        each = self.scores(c_k).log_softmax(-1)  # (B, n, V)
        prior = self.prior(c).log_softmax(-1)[..., None]
        return (prior + each).logsumexp(1)


# %% [markdown]
# *Forecast: no difference (=).* By equation (8.4), **PGT was a mixture of softmaxes from the beginning**: one over the visits,
# one over the vocabulary, weighted by the gate.
#
# **10. Two losses.** Both give each window's cross-entropy a weight. In the *focal loss*
# ([Lin et al., 2017](https://arxiv.org/abs/1708.02002)) it is $(1 - P(\ell^*))^{\Omega}$ with $\Omega = 2$, small where the
# model is sure and right. In the *class-balanced loss* it is one over how often the place is a target in training, scaled so
# that the mean weight is 1:


# %%
def focal(log_p, focus=2.0):  # Ω
    """(B,) log P of the target -> (B,) loss."""
    return -((1 - log_p.exp()) ** focus) * log_p


def balanced(log_p, target, count):
    """The same; count (V,) says how often each place is a target."""
    weight = len(data.train) / ((count > 0).sum() * count[target])
    return -weight * log_p


# %%
target = torch.tensor(data.train.targets)
count = torch.bincount(target, minlength=V)
log_p = -torch.ones(len(target))  # suppose that every window costs 1
weight = balanced(log_p, target, count)
once = count[target] == 1  # windows whose target occurs once
of_all, of_loss = once.float().mean(), weight[once].sum() / weight.sum()
print(f"{of_all:.0%} of the windows, {of_loss:.0%} of the balanced loss")

# %% [markdown]
# Every place gets the same total of the balanced loss, and nearly half of these places are a target only once.
#
# *Forecast: balanced worse (↓), focal no difference (=).* Acc@1 counts all windows alike. The focal loss cuts windows that are
# right already, where the cross-entropy is small anyway.
#
# ## Which forecasts held?
#
# Every part was trained alone, on the town and on GeoLife, with five seeds. Each training is compared with the plain model of
# the same seed. Three parts make the town's model clearly larger: experts by {{ grown["experts"]:.0f }} %, cross-attention by
# {{ grown["cross_attention"]:.0f }} %, the mixture of softmaxes by {{ grown["mixture_of_softmaxes"]:.0f }} %.
#
# There is one trap. In the town we made {{ n_tried }} such comparisons (on GeoLife one fewer): the eleven of figure 19.2, and
# others such as more numbers for rare places ([evidence](evidence_improvements.ipynb)). An ordinary interval misses the truth
# one time in twenty. So even if no part did anything, luck alone would make about one "effect".
#
# So our intervals are wider. As in [chapter 14](14_ablations.ipynb), people and seeds are drawn again and again, and each
# redraw gives *all* changes anew. An ordinary interval holds its *own* redrawn change in nineteen of twenty redraws. Ours are
# stretched, all by one factor, until they hold *all* redrawn changes at once that often. That makes them about
# {{ wider:.1f }} times as wide. With such **simultaneous intervals** one may look down the whole column, and call an effect
# what leaves out zero.

# %% tags=["hide-input"]
# @title Changes and simultaneous intervals
shown = ["cross_attention", "multi_scale_time", "adaptive_embeddings"]
shown += ["relative_bias", "recent_and_first", "geglu", "post_norm"]
shown += ["experts", "mixture_of_softmaxes", "focal", "balanced"]
FORECASTS = dict.fromkeys(shown, "=") | dict.fromkeys(bet, "↑")
FORECASTS["balanced"] = "↓"
results = read_results("improvements")
PLAIN = {"model": "improved", "variant": "plain"}
change, kernel, level = {}, {}, {}
for source, title in (("city", "the town"), ("geolife", "GeoLife")):
    tried = {*results.select(model="improved", data=source).variant}
    tried = {v: PLAIN | {"variant": v} for v in sorted(tried - {"plain"})}
    one = compare(results, tried, PLAIN, draws=4000, data=source)
    change[title] = one.table()
    level[title] = results.mean(**PLAIN, data=source)
    rule = results.mean(model="kernel", data=source)
    kernel[title] = rule - level[title]
town = change["the town"]
n_tried, lost = len(town), -town["mean"]["balanced"]
wider = ((town.high_all - town.low_all) / (town.high - town.low)).mean()
room = change["GeoLife"].loc[bet, "high_all"].max()
one = change["GeoLife"].loc["post_norm"].map("{:+.1f}".format)
one = one.str.replace("-", "−")
ten = read_results("geolife_exact").mean(model="pgt", variant="full")
grown = {}  # by how many percent each part makes the town's model larger
for part in shown[:9]:
    larger = size(improved(model.config, data.train, part))
    grown[part] = 100 * larger / size(model) - 100

# %% [markdown]
# **Change this.** Train the first, second or third part of your bet here, in a few minutes. Its diamond appears in the figure.

# %%
train_mine = 0  # @param {type:"slider", min:0, max:3, step:1}


# %% tags=["hide-input"]
# @title Figure 19.2: what each part changes
if train_mine:
    torch.manual_seed(1)
    mine = bet[train_mine - 1]
    part = IMPROVEMENTS[mine]
    network = improved(model.config, data.train, mine)
    training = replace(CITY, seed=1, **part.training)
    learn, loss = part.windows(data.train), part.loss(data.train)
    fit(network, learn, data.valid, training, loss=loss, progress=False)
    hits = 100 * gains(evaluate(network, data.test))["acc@1"].mean()
    gain = hits - results.mean(**PLAIN, data="city", seed=1)

fig, panels = plt.subplots(1, 2, figsize=(7.4, 4.0), sharex=True, sharey=True)
rows = np.arange(len(shown))
for ax, (title, table) in zip(panels, change.items(), strict=True):
    found = table.loc[shown]
    ax.axvline(0, color=MUTED, lw=1)
    ax.axvline(kernel[title], color=EXTRA, ls="--")
    half = found.high_all - found["mean"]
    ax.errorbar(found["mean"], rows, xerr=half, fmt="o", ms=4, capsize=4)
    ax.set_title(f"{title} (plain: {level[title]:.1f} %)", fontsize=10)
if train_mine:
    panels[0].plot(gain, shown.index(mine), "D", color=EXTRA, ms=8)
labels = [
    f"{min(k, 10)} {part.replace('_', ' ')} {FORECASTS[part]}"
    for k, part in enumerate(shown, start=1)
]
panels[0].set_yticks(rows, labels)
for label, part in zip(panels[0].get_yticklabels(), shown, strict=True):
    label.set_weight("bold" if part in bet else "normal")
panels[0].invert_yaxis()
fig.supxlabel("change of Acc@1 against the plain model (points)", fontsize=10)
show(
    fig,
    alt="Eleven changes, two data sets: only the balanced loss misses zero.",
    caption="Mean over five seeds, with simultaneous intervals over people "
    "and seeds. Dashed: the rule of five numbers. Bold: the bet. Arrows: "
    "forecasts. (GeoLife's plain model has five seeds here. With ten, as "
    f"elsewhere in the book, it has {ten:.1f} %.)",
)

# %% [markdown]
# **No part is better beyond luck, on either data set.** The forecasts, one kind after the other:
#
# - *Better* (↑, our bet): **not shown.** All six intervals hold zero. On GeoLife none of the three is worth more than about
#   {{ room:.0f }} point.
# - *Worse* (↓, the balanced loss): **held.** It costs about {{ lost:.0f }} points of Acc@1 on both.
# - *No difference* (=, the other seven): **open.** All their intervals hold zero, but most leave room for a gain of a point or
#   more, and no part was tuned.
#
# Look at *post norm*, the control: on GeoLife its mean is the figure's best. By itself its interval would be {{ one.low }} to
# {{ one.high }}, an "effect"; among all comparisons it is {{ one.low_all }} to {{ one.high_all }}. All means lie to the left
# of the dashed line, the rule of five numbers.
#
# Why? All ten change how the *same* inputs are embedded, mixed, weighted or scored. None is given the rule's two comparisons
# with *now*: did a visit come after the place where I am now, and how far is its hour from the present one? So we guess, and
# [the next chapter](20_contextual_pointer.ipynb) tests it.
#
# ## What to remember
#
# - Look before you train. Attention to a single key is a linear layer; PGT is a mixture of softmaxes already.
# - Compare at equal size, or say where you do not.
# - Read many intervals only together. Of ten parts none was better beyond luck, and no mean reached the rule of five numbers.
#
# ## Exercises
#
# **Exercise 1** (quick). Is your bet better than three parts drawn at random? In each panel of figure 19.2, take the mean of
# your three dots (`change[...]["mean"]` has them). Draw three dots at random, a thousand times. How often is your mean larger?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
rng = np.random.default_rng(0)
for name, found in change.items():
    means = found["mean"][shown]
    random = [rng.choice(means, 3, replace=False).mean() for _ in range(1000)]
    better = 100 * np.mean(means[bet].mean() > random)
    print(f"{name}: yours beats {better:.0f} % of the random bets")
# A random bet knows nothing. To show that you do, yours should beat 95 %.
# Ours does not: more than four in ten random bets do as well or better.

# %% [markdown]
# **Exercise 2** (medium). How wide may each of four experts be if all, with the router's $4\,(D + 1)$ numbers, are to cost no
# more than the plain network?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
cost = size(plain(D, FF))
fits = [w for w in range(1, FF) if size(Experts(D, w)) <= cost]
print(f"at the plain cost each may have {fits[-1]} hidden units")

# %% [markdown]
# **Next:** [Contextual pointer](20_contextual_pointer.ipynb), which gets what was not on the list.
