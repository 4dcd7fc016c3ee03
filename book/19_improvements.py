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
# 3. `adaptive_embeddings`: rare and frequent places need different widths.
# 4. `relative_bias`: how far apart two visits are matters, not where they stand.
# 5. `recent_and_first`: the last visits and the first deserve extra weight.
# 6. `geglu`: a gate makes a feed-forward network better at the same size.
# 7. `post_norm`, the control: it normalises later. Nobody expects a gain.
# 8. `experts`: habit and exploration are different skills.
# 9. `mixture_of_softmaxes`: one softmax is too narrow for several habits.
# 10. `focal` or `balanced`: the loss should spend less on the known, or the frequent.
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
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, MUTED, flowchart, show
from wherenext.relatives.improvements import (
    IMPROVEMENTS,
    improved,
    occurrences,
)
from wherenext.results import read_results

from pgt.checkpoint import load_model, shipped
from pgt.config import CITY
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
rest = "rest of a layer\n6, 7, 8"
boxes = {
    "embeddings\n1, 2, 3": (0, 0, COPIED, "attention\n4, 5"),
    "attention\n4, 5": (2, 0, COPIED, rest),
    rest: (4.2, 0, COPIED, "pointer", "gate", "generator\n9"),
    "pointer": (6.6, 0, MUTED, "mixture"),
    "gate": (6.6, -1, MUTED, "mixture"),
    "generator\n9": (6.6, -2, COPIED, "mixture"),
    "mixture": (8.6, -2, MUTED, "loss\n10"),
    "loss\n10": (10.2, -2, COPIED),
}
flowchart(axes, boxes)
show(
    fig,
    alt="Embeddings; attention; rest of a layer; three ends; mixture; loss.",
    caption="The model, and where the ten parts change it (blue). Pointer, "
    "gate and mixture stay as they are.",
)

# %% [markdown]
# Each part gets its idea, a look at what it computes, and our forecast for Acc@1: *better* (↑), *worse* (↓) or *no difference*
# (=). Then `tell` shows what came out: each part was trained alone, on the town and on GeoLife, with five seeds, and compared
# with the plain model of the same seed.

# %% tags=["hide-input"]
# @title tell(part, …): changes from the stored runs; size(part)
shown = ["cross_attention", "multi_scale_time", "adaptive_embeddings"]
shown += ["relative_bias", "recent_and_first", "geglu", "post_norm"]
shown += ["experts", "mixture_of_softmaxes", "focal", "balanced"]
FORECASTS = dict.fromkeys(shown, "=") | dict.fromkeys(bet, "↑")
FORECASTS["balanced"] = "↓"
results = read_results("improvements")
PLAIN = {"model": "improved", "variant": "plain"}
tried = {v: PLAIN | {"variant": v} for v in IMPROVEMENTS if v != "plain"}
change, rule, level = {}, {}, {}
for source, at in (("city", "the town"), ("geolife", "GeoLife")):
    one = compare(results, tried, PLAIN, draws=4000, data=source)
    change[at] = one.table()
    level[at] = results.mean(**PLAIN, data=source)
    rule[at] = results.mean(model="kernel", data=source)


def size(part):
    return sum(p.numel() for p in part.parameters())


def signed(number, digits=1):
    text = f"{round(number, digits) + 0.0:+.{digits}f}".replace("-", "−")
    return text if text.strip("+0.") else text[1:]  # 0 has no sign


told = pd.DataFrame({"forecast": FORECASTS})
for at, table in change.items():
    text = table.loc[shown].map(signed)
    told[at] = text["mean"] + " (" + text.low + " to " + text.high + ")"
sizes = [size(improved(model.config, data.train, part)) for part in shown]
told["size"] = [signed(100 * n / size(model) - 100, 0) + " %" for n in sizes]


def tell(*parts):
    return told.loc[[*parts]]


# %% [markdown]
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
# A softmax over one score is 1, whatever is asked. So every place gets the same answer: a linear layer of the person's row.
# The other half asks the times of *all* visits, and there the softmax does choose. The place plus both answers replaces the
# concatenated facts of [chapter 5](05_embeddings.ipynb).
#
# *Forecast: no difference (=).* The one half chooses nothing. What the half that asks the times sees, self-attention sees
# already.
#
# **2. Multi-scale time.** PGT has a row for each quarter of an hour, and no row knows its neighbours. Let sines and cosines
# go round the clock, one to four times:


# %%
def waves(quarter):
    """(…) quarters of an hour, 1 … 96 -> (…, 8)."""
    turns = torch.arange(1, 5)  # in 24 hours
    middle = quarter[..., None] - 0.5  # of the quarter
    angle = 2 * torch.pi * middle / 96 * turns
    return torch.cat([angle.sin(), angle.cos()], -1)


late = torch.tensor([1, 96])  # 0:00 and 23:45
rows = model.embeddings.tables["time"](late)  # PGT's, after training
own, new = (torch.cosine_similarity(*two, 0) for two in (rows, waves(late)))
print(f"similarity of 0:00 and 23:45: PGT's rows {own:.2f}, waves {new:.2f}")


# %% [markdown]
# The waves of neighbours are alike. The part appends these eight numbers to a row for the hour, and mixes all by a linear
# layer. The weekday, too, gets one such wave.


# %%
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
# **3. Adaptive embeddings.** Training sees a rare place too seldom to learn $D$ numbers for it. So group places by how
# often they occur in training windows: more than 1,000 times, 100 to 1,000 times, or less. Each group has a table of its own
# width, and a matrix that brings its rows to $D$ numbers ([Baevski and Auli, 2019](https://arxiv.org/abs/1809.10853)).


# %%
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
times = occurrences(data.train)  # (V,) in all windows; these overlap
group = (times <= 1000).long() + (times < 100).long()  # 0, 1 or 2
adaptive = AdaptiveEmbedding(group, widths=(D, D // 2, D // 4), d=D)
print([tuple(table.weight.shape) for table in adaptive.tables])
print(size(adaptive), "numbers in place of", V * D)

# %% [markdown]
# A narrow row has little room to overfit. So the paper; the documents argue for *wide* rows for rare places, which are in the
# [evidence](evidence_improvements.ipynb).
#
# *Forecast: no difference (=).* There are arguments for both ways.
#
# So what came out? `tell` shows the change of Acc@1 in points, with a 95 % interval over people and seeds, and by how much the
# town's model grows:

# %%
tell("cross_attention", "multi_scale_time", "adaptive_embeddings")

# %% [markdown]
# All six intervals hold zero: *better* is not confirmed for multi-scale time. Adaptive embeddings shrink the model by a
# quarter, at no loss that shows.
#
# ## Attention: parts 4 and 5
#
# **4. Relative position bias.** "Two visits ago" should mean the same early and late in a week. So leave out the sinusoid
# that says where a visit stands. Add to each attention score a learned number for the distance of the two visits, from one
# table $\mathcal{B}$ for each head ([Raffel et al., 2020](https://arxiv.org/abs/1910.10683)):
#
# $$
# s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}} + \mathcal{B}_{j-i}. \tag{19.1}
# $$
#
# One head adds this to the scores of four visits, if its table holds −2 to 2 for these distances:


# %%
def relative_bias(table, n):
    """(2R + 1, H) numbers -> (H, L, L) to add to scores; R is the reach."""
    reach = len(table) // 2  # further away counts as this far
    steps = torch.arange(n)
    apart = (steps - steps[:, None]).clamp(-reach, reach)  # j - i
    return table[apart + reach].permute(2, 0, 1)


relative_bias(torch.arange(-2.0, 3)[:, None], 4)[0]

# %% [markdown]
# Row $i$ looks at column $j$. Along a diagonal stands one number.
#
# *Forecast: better (↑).* Routines are made of such distances.
#
# **5. A bias to recent and first visits.** Each head learns six numbers, for the first visit and the last five. They are added
# to these visits' scores, whoever looks. To see where they land, take 9 for the first, 5 for the last, 4 for the one before,
# …; eight visits get:

# %%
def recent_and_first(table, n):
    """(6, H) numbers -> (H, L): the first visit, the last five."""
    bias = torch.zeros(n, table.shape[1])
    bias[-5:] = table[1:].flip(0)[-n:]  # table[1] is for the last visit
    bias[0] += table[0]
    return bias.T


recent_and_first(torch.tensor([[9.0], [5], [4], [3], [2], [1]]), 8)

# %% [markdown]
# *Forecast: no difference (=).* The pointer, which comes after, has such a bias $b_p$ for every position
# ([chapter 7](07_pointer.ipynb)).

# %%
tell("relative_bias", "recent_and_first")

# %% [markdown]
# All hold zero again: our second *better* is not confirmed either.
#
# ## The rest of a layer: parts 6 to 8
#
# **6. GeGLU.** Give a layer's feed-forward network two hidden layers side by side, and multiply them, so that one is a gate
# for the other ([Shazeer, 2020](https://arxiv.org/abs/2002.05202)):


# %%
class GeGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.value, self.gate = nn.Linear(d, hidden), nn.Linear(d, hidden)
        self.out = nn.Linear(hidden, d)

    def forward(self, x):
        return self.out(self.value(x) * nn.functional.gelu(self.gate(x)))


def plain(d, h):  # the feed-forward network that it replaces, h hidden units
    return nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, d))


print(size(GeGLU(D, FF * 2 // 3)), "numbers in place of", size(plain(D, FF)))

# %% [markdown]
# GeGLU has three matrices, not two. So its hidden layers are a third narrower.
#
# *Forecast: better (↑).* In the paper it helps at equal size.
#
# **7. Post-norm.** Where does the normalisation stand: before a part, or after its sum
# ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745))? Take a part that adds nothing:

# %%
x = 3 * torch.randn(1, 2, D)  # two visits; 3, so that a norm shows
norm, part = nn.LayerNorm(D), torch.zeros_like  # it adds nothing
sums = {"pre-norm": x + part(norm(x)), "post-norm": norm(x + part(x))}
for name, after in sums.items():
    print(f"{name}: x moves by {(after - x).abs().max():.1f}")

# %% [markdown]
# *Forecast: no difference (=).* In pre-norm $x$ runs through unchanged. That helps deep networks, but ours has two layers.
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

# %%
tell("geglu", "post_norm", "experts")

# %% [markdown]
# GeGLU, our third *better*, is not confirmed. But look at *post norm* on GeoLife: its interval leaves out zero. The control,
# from which nobody expected anything, is the first part that gains. An effect? Keep it in mind.
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

    def forward(self, c):  # (B, D) -> (B, V) log-probabilities
        c_k = torch.tanh(self.contexts(c)).view(len(c), self.n, -1)
        each = self.scores(c_k).log_softmax(-1)  # (B, n, V)
        prior = self.prior(c).log_softmax(-1)[..., None]
        return (prior + each).logsumexp(1)


# %% [markdown]
# *Forecast: no difference (=).* By equation (8.4), **PGT was a mixture of softmaxes from the beginning**: one over the visits,
# and one over the vocabulary.
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
loss = balanced(-torch.ones(len(target)), target, count)  # each costs 1
once = count[target] == 1  # windows whose target occurs once
of_all, of_loss = once.float().mean(), loss[once].sum() / loss.sum()
print(f"{of_all:.0%} of the windows, {of_loss:.0%} of the balanced loss")

# %% [markdown]
# These are the windows whose place is a target only once. Every place gets the same total of the balanced loss.
#
# *Forecast: balanced worse (↓), focal no difference (=).* Acc@1 counts all windows alike. The focal loss cuts windows that are
# right already, where the cross-entropy is small anyway.

# %%
tell("mixture_of_softmaxes", "focal", "balanced")

# %% [markdown]
# *Worse* held: the balanced loss costs about {{ lost:.0f }} points on both. The rest holds zero.
#
# ## Did the control win?
#
# Of the 22 intervals so far three leave out zero: both of the balanced loss, and that of post norm on GeoLife. But there is a
# trap. An ordinary interval misses the truth one time in twenty, and on GeoLife we made {{ n_tried }} comparisons: these
# eleven, and others such as wide rows for rare places. Even if no part did anything, luck would make about one "effect".
#
# So we need wider intervals. As in [chapter 14](14_ablations.ipynb), people and seeds are drawn again and again, and each
# redraw gives *all* changes of a data set anew. An ordinary interval holds its own redrawn change in nineteen of twenty
# redraws; **simultaneous intervals** hold all of them at once that often. They are about {{ wider:.1f }} times as wide, and
# one may look down a whole panel for an effect.

# %% [markdown]
# **Change this.** Train the first, second or third part of your bet here, in a few minutes. Its diamond appears in the figure.

# %%
train_mine = 0  # @param {type:"slider", min:0, max:3, step:1}

# %%
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

# %% tags=["hide-input"]
# @title Figure 19.2: what each part changes
geo = change["GeoLife"]
n_tried = (geo.high > geo.low).sum()  # one changes nothing there
wider = ((geo.high_all - geo.low_all) / (geo.high - geo.low)).mean()
ahead = rule["GeoLife"] - level["GeoLife"]
highest = geo.loc[shown, "high_all"].max()
lost, room = -geo["mean"]["balanced"], geo.loc[bet, "high_all"].max()
most = change["the town"].loc[bet, "high_all"].max()
control = geo.loc["post_norm"].map(signed)
runs = read_results("geolife_exact")  # ten seeds of the plain model
hits = runs.select(model="pgt", variant="full").set_index("seed")["acc@1"]
kept = [runs.header["runs"][f"pgt-full-unknown-{k:.0f}"] for k in hits.index]
ten, second = hits.mean(), hits[[run["epochs"] == 2 for run in kept]].mean()
post = level["GeoLife"] + geo["mean"]["post_norm"]
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.5), sharex=True, sharey=True)
rows = np.arange(len(shown))
for ax, (at, table) in zip(panels, change.items(), strict=True):
    found = table.loc[shown]
    ax.axvline(0, color=MUTED, lw=1)
    ax.axvline(rule[at] - level[at], color=EXTRA, ls="--")
    half = found.high_all - found["mean"]
    bar = {"fmt": "o", "ms": 6.5, "capsize": 3, "elinewidth": 1}
    ax.errorbar(found["mean"], rows, xerr=half, **bar)
    ax.hlines(rows, found.low, found.high, color=COPIED, lw=4.5)
    ax.set_title(f"{at} (plain: {level[at]:.1f} %)", fontsize=10)
if train_mine:
    panels[0].plot(gain, shown.index(mine), "D", color=EXTRA, ms=8)
labels = [f"{min(k, 10)} {v} {FORECASTS[v]}" for k, v in enumerate(shown, 1)]
panels[0].set_yticks(rows, [label.replace("_", " ") for label in labels])
for label, part in zip(panels[0].get_yticklabels(), shown, strict=True):
    label.set_weight("bold" if part in bet else "normal")
panels[0].invert_yaxis()
fig.supxlabel("change of Acc@1 against the plain model (points)", fontsize=10)
show(
    fig,
    alt="Eleven changes, two data sets. Thick bars miss zero for balanced, "
    "on GeoLife for post norm, too; thin ones only for balanced.",
    caption="Mean over five seeds. Thick: ordinary interval. Thin: "
    "simultaneous interval, for all comparisons on one data set. Dashed: the "
    "rule of five numbers. Bold: the bet. Arrows: forecasts.",
)

# %% [markdown]
# **No part is better beyond luck, on either data set.** On GeoLife the control's thick bar ({{ control.low }} to
# {{ control.high }}) leaves out zero, its thin one ({{ control.low_all }} to {{ control.high_all }}) does not.
#
# Is the control's gain real? It may be, as it does change the model. But look at the plain model on GeoLife. Its five seeds
# were unlucky: over ten it has {{ ten:.1f }} %, hardly less than post norm's {{ post:.1f }} %. And early stopping ([chapter
# 10](10_training.ipynb)) kept the second epoch of post norm with every seed, but mostly the first of the plain model. The five
# plain trainings of ten that kept their second have {{ second:.1f }} %. So one more epoch could explain the gain.
#
# Of our forecasts, *worse* held. *Better* is **not confirmed**: on GeoLife none of the three is worth more than about
# {{ room:.0f }} point; in the town the bars leave room for {{ most:.1f }}. *No difference* is **open**: most thin bars leave
# room for a gain of a point or more, and no part was tuned.
#
# All means lie to the left of the dashed line, the rule of five numbers. All ten parts change how the *same* inputs are
# embedded, mixed, weighted or scored. None is given the rule's two comparisons with *now*: did a visit come after the place
# where I am now, and how far is its hour from the present one? Attention could learn them, but the comparable hours of part 2
# brought no gain that shows. So we guess: these two comparisons are missing. [The next chapter](20_contextual_pointer.ipynb)
# tests it.
#
# ## What to remember
#
# - Look before you train. Attention to a single key is a linear layer; PGT is a mixture of softmaxes already.
# - Compare at equal size, or say where you do not.
# - Read many intervals only together. By its own interval the control won; together, none of the ten was better beyond luck.
# - None of the ten caught up with the rule. On GeoLife it is {{ ahead:.1f }} points ahead of the plain model, and no thin bar
#   reaches beyond {{ highest:.1f }}.
#
# ## Exercises
#
# **Exercise 1** (quick). Is your bet better than chance? In each panel, take the mean of your three dots
# (`change[...]["mean"]`). Draw three different dots at random, a thousand times, but not `balanced`. How often is your mean
# larger? Write this as a function; try it on four dots, where a mean of 1.5 beats half of the draws.

# %% tags=["try"]
four = np.array([0.0, 1.0, 2.0, 3.0])


def beaten(mean, dots):
    return ...  # the share of the draws whose mean is smaller


check.same(beaten(1.5, four), 0.5, name="your draws", atol=0.07)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
rng = np.random.default_rng(0)


def beaten(mean, dots):
    draws = [rng.choice(dots, 3, replace=False).mean() for _ in range(1000)]
    return np.mean(mean > np.array(draws))


check.same(beaten(1.5, four), 0.5, name="your draws", atol=0.07)
for name, found in change.items():
    dots = found["mean"][shown].drop("balanced").to_numpy()
    better = 100 * beaten(found["mean"][bet].mean(), dots)
    print(f"{name}: yours beats {better:.0f} % of the random bets")
# A bet that knows something should beat 95 %. Ours beats fewer than half.

# %% [markdown]
# **Exercise 2** (medium). How wide may each of four experts be if all, with the router's $4\,(D + 1)$ numbers, are to cost no
# more than the plain network?

# %% tags=["try"]
width = ...  # units of each expert
check.exercise("19.2", width)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
limit, widths = size(plain(D, FF)), range(1, FF)
width = max(w for w in widths if size(Experts(D, w)) <= limit)
check.exercise("19.2", width)

# %% [markdown]
# **Exercise 3** (quick, on paper). Suppose that no part does anything, and that the 22 ordinary intervals are independent. How
# many leave out zero, on average? How likely is it that at least one does?

# %% tags=["try"]
on_average, at_least_one = ..., ...  # a number, and percent
check.exercise("19.3", [on_average, at_least_one])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
check.exercise("19.3", [22 / 20, 100 * (1 - 0.95**22)])
# So a winner among 22 is what to expect from luck.

# %% [markdown]
# **Next:** [Contextual pointer](20_contextual_pointer.ipynb), which gets what was not on the list.
