# %% [markdown]
# # Ten improvements
#
# Here are ten changes that the
# [design documents](https://where-next-book.github.io/where-next/book/documents.html) of this model propose. Most come from a
# paper, and all but one sound good. Which three would you bet on?
#
# *You will be able to* build ten parts that people add to a Transformer, in about ten lines each; see before any training
# what a part cannot do; and read two dozen comparisons at once without fooling yourself. *You need*
# [The encoder](06_position_and_encoder.ipynb), [Training](10_training.ipynb) and [Ablations](14_ablations.ipynb).
# *It takes* twenty minutes to read and half a minute to run.
#
# > **In one sentence.** Of ten proposed parts none makes the model better beyond luck, and none, on average, reaches the rule of
# > five numbers of [chapter 4](04_baselines.ipynb), which compares past visits with *now*.

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
import copy
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from wherenext import city
from wherenext.comparison import CLAIMS, compare
from wherenext.figures import COPIED, EXTRA, MUTED, show
from wherenext.results import read_results

from pgt.checkpoint import load_model, shipped
from pgt.config import CITY
from pgt.improvements import IMPROVEMENTS, improved
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.train import fit
from pgt.windows import prepare

data = prepare(city.load().visits, protocol="exact")
V, USERS = data.vocabulary.n_locations, data.vocabulary.n_users
model, _ = load_model(shipped("city"))  # PGT as it is, trained
D, FF = model.config.d_model, model.config.d_feedforward
torch.manual_seed(0)
batch = data.test.batch(np.arange(64))

# %% [markdown]
# ## First, a bet
#
# | the part, in code | the argument for it |
# |---|---|
# | `cross_attention` | let each place *ask* who the person is and what time it is |
# | `geglu` | a gate in the feed-forward network, at the same size |
# | `focal` or `balanced` | a loss that spends less on what is known, or on what is frequent |
# | `mixture_of_softmaxes` | one softmax is too narrow for people with several habits |
# | `relative_bias` | how far apart two visits are matters, not where they stand |
# | `recent_and_first` | the last visits matter most, and the first |
# | `post_norm` | none: it should be *worse* than the pre-norm that the model has |
# | `experts` | habit and exploration are different skills |
# | `multi_scale_time` | 23:45 and 0:00 are neighbours |
# | `adaptive_embeddings` | rare places need fewer numbers, says a paper (the proposal gives them more) |
#
# Write down three names. We settle the bet with five trainings of each.

# %%
bet = ["relative_bias", "geglu", "mixture_of_softmaxes"]  # change it

# %% [markdown]
# ## Four that a look can tell something about
#
# Before any training, a look at the code says something about each of these four.
#
# **Cross-attention.** Let every place ask the person and the times with attention, instead of standing beside
# them. It sounds right, so look at what it computes. There is *one* person in a window:

# %%
places = nn.Embedding(V, D)(batch.location)  # (B, L, D) ask
person = nn.Embedding(USERS, D)(batch.user)[:, None]  # (B, 1, D) answers
ask = nn.MultiheadAttention(D, 4, batch_first=True)
answer, weight = ask(places, person, person)
apart = float((answer - answer[:, :1]).abs().max().detach())
print(f"smallest weight {weight.min():.1f}, largest {weight.max():.1f}")
print(f"the answers to two places differ by at most {apart:.0e}")

# %% [markdown]
# A softmax over one score is 1, whatever is asked. So every place gets the same answer about the person: a linear layer
# with a long name. (Half of the proposal does do something: visits have several times.)
#
# **GeGLU.** [Shazeer (2020)](https://arxiv.org/abs/2002.05202) multiplies two hidden layers; one of them is a gate:
#
# $$
# \text{GeGLU}(x) = W_3 \big( W_1 x \odot \text{GELU}(W_2 x) \big). \tag{19.1}
# $$


# %%
class GeGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.value, self.gate = nn.Linear(d, hidden), nn.Linear(d, hidden)
        self.out = nn.Linear(hidden, d)

    def forward(self, x):
        """(B, L, D) -> (B, L, D)."""
        return self.out(self.value(x) * nn.functional.gelu(self.gate(x)))


def plain(d, hidden):
    """The feed-forward network that it replaces."""
    return nn.Sequential(
        nn.Linear(d, hidden), nn.GELU(), nn.Linear(hidden, d)
    )


def size(part):
    return sum(p.numel() for p in part.parameters())


print("plain:", size(plain(D, FF)), "numbers")
print("GeGLU, as wide:", size(GeGLU(D, FF)))
print("GeGLU, two thirds as wide:", size(GeGLU(D, round(FF * 2 / 3))))

# %% [markdown]
# Three matrices cost more than two. So the paper makes the hidden layer a third narrower, and so do we. Otherwise the
# experiment would test size.
#
# **Two losses.** The *focal loss* ([Lin et al., 2017](https://arxiv.org/abs/1708.02002)) turns down what the model knows
# already, by an exponent $\Omega$ (`focus` in the code). The *class-balanced loss* divides by how often a place is a target:
#
# $$
# \begin{aligned}
# \mathcal{L}_\text{focal} &= -\big(1 - P(\ell^*)\big)^{\Omega} \log P(\ell^*), \qquad \Omega = 2, \\
# \mathcal{L}_\text{balanced} &= -\frac{\text{windows}}{\text{places} \cdot \text{count}(\ell^*)} \log P(\ell^*).
# \end{aligned} \tag{19.2}
# $$


# %%
def focal(log_p, focus=2.0):
    """(B,) log P of the target -> (B,) loss."""
    return -((1 - log_p.exp()) ** focus) * log_p


def balanced(log_p, target, count):
    """The same, with (V,) how often each place is a target."""
    weight = len(data.train) / ((count > 0).sum() * count[target])
    return -weight * log_p


target = torch.tensor(data.train.targets)
count = torch.bincount(target, minlength=V)
nat = -torch.ones(len(target))  # suppose that every window costs one nat
weight = balanced(nat, target, count)
rare = count[target] == 1  # windows whose target is the only one to it
of_windows = 100 * float(rare.float().mean())
of_loss = 100 * float(weight[rare].sum() / weight.sum())

# %% [markdown]
# In the town {{ of_windows:.0f }} % of the windows have a target that occurs once. The balanced loss gives them
# {{ of_loss:.0f }} % of the say. Acc@1 counts windows, so it cares most about frequent targets. You may guess
# how this one ends.
#
# **A mixture of softmaxes.** How many habits can the generator hold? By equation (8.1) the log-probabilities of a window are
# $G c + b$, minus one number. Leave that number out, and write the windows under each other. With a single context number
# ($D = 1$) each row is $b$ plus a multiple of *one* list, the column of $G$. With $D$ numbers it is $b$ plus a mixture of $D$
# lists. So however many windows there are, at most $D + 1$ rows are independent, here 65: this is the *matrix rank*. People with
# more independent habits than that cannot be expressed ([Yang et al., 2018](https://arxiv.org/abs/1711.03953)). A mixture can do
# it, since the logarithm of a sum is not linear. From $c$ a linear layer and a tanh make several contexts $c_k$, each with a
# share $\pi_k$ and a softmax of its own:
#
# $$
# P_\text{gen}(\ell) = \sum_k \pi_k\, \frac{e^{G_\ell \cdot c_k + b_\ell}}{\sum_{\ell'} e^{G_{\ell'} \cdot c_k + b_{\ell'}}}. \tag{19.3}
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


# %%
def rank_of(log_probs):
    """Matrix rank of (N, V), without the constant of each row."""
    log_probs = log_probs.double()  # with the mean the constant goes, too
    values = torch.linalg.svdvals(log_probs - log_probs.mean(1)[:, None])
    return int((values > 1e-6 * values[0]).sum())


few = data.test.batch(np.arange(0, len(data.test), 7))
c = 3 * torch.randn(len(few), D).double()
with torch.no_grad():
    out = copy.deepcopy(model).double()(few)
    mixed = MixtureOfSoftmaxes(D, V).double()(c)
print(f"rank of {len(few)} rows, from")
print("PGT's generator:", rank_of(out.generator_log_probs))
print("a mixture of four softmaxes, untrained:", rank_of(mixed))
print("PGT's prediction:", rank_of(out.log_probs))

# %% [markdown]
# (The contexts are random and large, so that the untrained softmaxes differ.) The last line is the surprise: it is the highest
# rank that so few rows allow. **PGT was a mixture of softmaxes from the
# beginning**, one over the visits of the window and one over the vocabulary, weighted by the gate.
#
# ## Six that only training can judge
#
# Nothing in the code of these six says whether they help. Read them as a small catalogue, and skip what you know.
#
# **Relative position bias.** The encoder adds a sinusoid to each visit, so its positions are *absolute*.
# [Raffel et al. (2020)](https://arxiv.org/abs/1910.10683) leave it out and add a learned number to each attention score.
# It depends on the distance alone, with one table $\mathcal{B}$ for each head:
#
# $$
# s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}} + \mathcal{B}_{j-i}. \tag{19.4}
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
# (Rotary positions ([Su et al., 2021](https://arxiv.org/abs/2104.09864)) reach the same end without a table.)
#
# **A bias to recent and first visits.** Simpler still: each head learns six numbers. They are added to the score of visit $j$
# whoever asks: $s_{ij} + b_j$.


# %%
def recent_and_first(table, n):
    """(6, H) numbers -> (H, L): the first visit, the last five."""
    bias = torch.zeros(n, table.shape[1])
    bias[-5:] = table[1:].flip(0)[-n:]  # table[1] is for the last visit
    bias[0] += table[0]
    return bias.T


recent_and_first(torch.tensor([[9.0], [5], [4], [3], [2], [1]]), 8)

# %% [markdown]
# **Pre-norm or post-norm.** Where does the normalisation stand? Our model has pre-norm, so what can be measured is the
# step back ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)).


# %%
def pre_norm(x, part, norm):
    return x + part(norm(x))  # x itself runs through untouched


def post_norm(x, part, norm):
    return norm(x + part(x))  # squeezed after every part

# %% [markdown]
# In pre-norm the gradient can flow back through the sum unchanged, past all parts. That helps deep networks. Ours has two
# layers.
#
# **Experts.** Several feed-forward networks $h_k$, and a router that decides how much each counts
# ([Shazeer et al., 2017](https://arxiv.org/abs/1701.06538)). Ours are four whole ones, so this part is *not* compared at equal
# size:
#
# $$
# h(x) = \sum_k \pi_k(x)\, h_k(x), \qquad \sum_k \pi_k(x) = 1 . \tag{19.5}
# $$


# %%
class Experts(nn.Module):
    def __init__(self, d, hidden, n=4):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList(plain(d, hidden) for _ in range(n))

    def forward(self, x):
        """(B, L, D) -> (B, L, D)."""
        answers = torch.stack([one(x) for one in self.experts], -1)
        shares = self.router(x).softmax(-1)  # (B, L, n)
        return (answers * shares[..., None, :]).sum(-1)

# %% [markdown]
# **Multi-scale time.** PGT has a row of a table for each quarter of an hour, and no row knows its neighbours. Take a row for
# the hour instead, and beside it waves that go round the clock. With $\omega_k$ for $k$ turns in 24 hours,
#
# $$
# x = W \big[\, \text{row of the hour} ;\ \sin(\omega_k \cdot \text{time}) ;\ \cos(\omega_k \cdot \text{time})\,\big]. \tag{19.6}
# $$


# %%
class MultiScaleTime(nn.Module):
    def __init__(self, width, waves=4):
        super().__init__()
        self.hour = nn.Embedding(25, width, padding_idx=0)
        self.mix = nn.Linear(width + 2 * waves, width, bias=False)
        self.turns = torch.arange(1, waves + 1)  # in 24 hours

    def forward(self, quarter):
        """(B, L) quarters of an hour 1 … 96, 0 = padding -> vectors."""
        angle = 2 * math.pi * (quarter[..., None] - 0.5) / 96 * self.turns
        waves = torch.cat([angle.sin(), angle.cos()], -1)
        waves = waves * (quarter > 0)[..., None]
        hour = self.hour((quarter + 3) // 4)  # four quarters share a row
        return self.mix(torch.cat([hour, waves], -1))

# %% [markdown]
# **Adaptive embeddings.** Split the places into three groups by how often they occur. Each group has a table of its own
# width, and a matrix that brings its rows to $D$ numbers.


# %%
class AdaptiveEmbedding(nn.Module):
    def __init__(self, group, widths, d):
        """group (V,): 0 frequent, 1 medium, 2 rare; a width for each."""
        super().__init__()
        self.group, self.row = group, torch.zeros_like(group)
        sizes = torch.bincount(group, minlength=3).tolist()
        for k, n in enumerate(sizes):
            self.row[group == k] = torch.arange(n)  # its own table
        self.tables = nn.ModuleList(map(nn.Embedding, sizes, widths))
        self.up = nn.ModuleList(nn.Linear(w, d, bias=False) for w in widths)

    def forward(self, location):
        """(B, L) -> (B, L, D)."""
        out = torch.zeros(*location.shape, self.up[0].out_features)
        for k in range(3):
            here = self.group[location] == k
            own = self.tables[k](self.row[location[here]])
            out[here] = self.up[k](own)
        return out

# %% [markdown]
# Which group gets the wide table? The proposal says: the rare places. [Baevski and
# Auli (2019)](https://arxiv.org/abs/1809.10853), whom it cites, say the opposite: rare words get the *narrow* table, to keep
# them from overfitting. We measured both ([Evidence](evidence_improvements.ipynb)), and show the paper's way.
#
#
# ## The bet is settled
#
# The package has the same parts, with dropout. Every one was trained alone, five times, on the town and on GeoLife, and
# compared with the plain model of the same seed on the same windows. People and seeds are drawn again and again, as in
# [chapter 14](14_ablations.ipynb).
#
# There is one trap. We made {{ n_tried }} comparisons in the town: the eleven of the figure, and others like them
# ([Evidence](evidence_improvements.ipynb) has all).
# If an interval misses the truth one time in twenty, a few will show an "effect" by luck. So all intervals are widened
# until they hold *together* in ninety-five of a hundred draws. Such **simultaneous intervals** may be read as a column.

# %% tags=["hide-input"]
# @title The changes of all variants, and their simultaneous intervals
shown = ["cross_attention", "geglu", "focal", "balanced"]
shown += ["mixture_of_softmaxes", "relative_bias", "recent_and_first"]
shown += ["post_norm", "experts", "multi_scale_time", "adaptive_embeddings"]
results = read_results("improvements")
PLAIN = {"model": "improved", "variant": "plain"}
change, kernel = {}, {}
for source, title in (("city", "the town"), ("geolife", "GeoLife")):
    # GeoLife's settings have no label smoothing that one could take out.
    left_out = ("plain", "no_smoothing" if source == "geolife" else "")
    tried = [v for v in IMPROVEMENTS if v not in left_out]
    tried = {v: PLAIN | {"variant": v} for v in tried}
    one = compare(results, tried, PLAIN, draws=4000, data=source)
    change[title] = one.table()
    level = results.mean(**PLAIN, data=source)
    kernel[title] = results.mean(model="kernel", data=source) - level
n_tried = len(change["the town"])

# %% [markdown]
# **Change this.** Choose one of three parts, and it is trained here with seed 1, in about two minutes; a GPU makes
# little difference. Your diamond appears in the figure.

# %%
train_one = "none"  # @param ["none", "geglu", "post_norm", "balanced"]


# %% tags=["hide-input"]
# @title Figure 19.1: what each part changes
mine = None
if train_one != "none":
    torch.manual_seed(1)
    part = IMPROVEMENTS[train_one]
    network = improved(model.config, data.train, train_one)
    training = replace(CITY, seed=1, **part.training)
    learn, loss = part.windows(data.train), part.loss(data.train)
    fit(network, learn, data.valid, training, loss=loss, progress=False)
    hits = gains(evaluate(network, data.test))["acc@1"]
    plain_one = results.mean(**PLAIN, data="city", seed=1)
    mine = 100 * hits.mean() - plain_one

fig, panels = plt.subplots(1, 2, figsize=(7.4, 4.0), sharex=True, sharey=True)
rows = np.arange(len(shown))
for ax, (title, table) in zip(panels, change.items(), strict=True):
    found = table.loc[shown]
    ax.axvline(0, color=MUTED, lw=1)
    ax.axvline(kernel[title], color=EXTRA, ls="--")
    ax.hlines(rows, found.low_all, found.high_all, color=COPIED, lw=2)
    ax.plot(found["mean"], rows, "o", color=COPIED)
    ax.set_title(title, fontsize=10)
if mine is not None and train_one in shown:
    panels[0].plot(mine, shown.index(train_one), "D", color=EXTRA, ms=8)
panels[0].set_yticks(rows, CLAIMS.title[shown])
panels[0].invert_yaxis()
fig.supxlabel("change of Acc@1 against the plain model (points)", fontsize=10)
show(
    fig,
    alt="Forest plot of eleven parts on two data sets. All intervals but "
    "those of the class-balanced loss hold zero; the kernel lies to the "
    "right of all means.",
    caption="Mean over five seeds, and intervals that hold for all variants "
    "at once; a dot may hide a narrow one. Dashed: the rule of chapter 4.",
)

# %% tags=["hide-input"]
# @title Table: your bet
settled = {}
for title, table in change.items():
    rows = table.loc[bet, ["mean", "low_all", "high_all"]].to_numpy()
    settled[title] = [f"{m:+z.1f} [{a:+z.1f}, {b:+z.1f}]" for m, a, b in rows]
lost = -change["the town"]["mean"]["balanced"]
searched = read_results("geolife_exact")
TUNED = {"model": "pgt", "variant": "tuned"}
plain_runs = list(results.ranks(**PLAIN, data="geolife"))
lift = searched.mean(**TUNED) - results.mean(**PLAIN, data="geolife")
tuned_runs = list(searched.ranks(**TUNED))
lift_low, lift_high = interval_of_mean(tuned_runs, against=plain_runs)
pd.DataFrame(settled, CLAIMS.title[bet].rename("your bet"))

# %% [markdown]
# **No part is better beyond luck, on either data set.** Only one clearly does something: the balanced loss takes
# about {{ lost:.0f }} points from the first guesses of both, as its weights promised. Even *post-norm*, the step back, lies
# above zero in both, within luck: two layers are not deep.
#
# That does not show that the parts are useless. The intervals still leave room for a gain, and none of the parts
# was tuned. But look at the dashed line. It is the kernel of [chapter 4](04_baselines.ipynb), a rule with five numbers. The means
# of all parts lie to its left. In the town some intervals reach it; on GeoLife none comes near.
#
# Merely *searching* for better settings of the plain model on validation, with no new part, moves GeoLife by
# {{ lift:.1f }} points (95 % interval {{ lift_low:.1f }} to {{ lift_high:.1f }}; [chapter 23](23_real_cities.ipynb) shows that
# model). On average no part in the figure gains as much, and still the rule is ahead.
#
# Why nothing? All ten change how the *same* inputs are embedded, mixed, weighted or scored. None is given the kernel's two
# comparisons with *now*: was the visit before that one at the place where I am now, and how far is its hour from the present
# one? (Multi-scale time makes neighbouring hours alike, but to compare two visits by them the network must still learn.)
# That is a guess so far. [The next chapter](20_contextual_pointer.ipynb) tests it.
#
# ## What to remember
#
# - Look before you train. Attention to a single key is a linear layer; PGT is a mixture of softmaxes already; one proposal says
#   the opposite of its paper.
# - Compare at equal size.
# - Read many intervals only together. Of ten parts none was better beyond luck.
# - A better layer did not help. The rule that is ahead has a comparison with now.
#
# ## Exercises
#
# **Exercise 1** (quick). How good is a bet? Compare the mean change of your three parts with that of three drawn at random, a
# thousand times.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
rng = np.random.default_rng(0)
for name, found in change.items():
    means = found["mean"][shown]
    random = [rng.choice(means, 3, replace=False).mean() for _ in range(1000)]
    better = 100 * np.mean(means[bet].mean() > random)
    print(f"{name}: yours beats {better:.0f} % of the random bets")
# A random bet knows nothing. To show that you do, yours should beat 95 %.

# %% [markdown]
# **Exercise 2** (medium). Four experts replace a feed-forward network of width $F$. Write their number of parameters as a
# formula, and check it with `size`. How wide may each expert be if the four are to cost no more than the plain one?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def of_experts(d, hidden, n=4):
    one = 2 * d * hidden + hidden + d  # two matrices, two biases
    return n * one + d * n + n  # and the router


print(of_experts(D, FF), "=", size(Experts(D, FF)))
fits = [w for w in range(1, FF) if of_experts(D, w) <= size(plain(D, FF))]
print(f"at the plain cost each may have {fits[-1]} hidden units")

# %% [markdown]
# **Exercise 3** (longer). How many people would GeoLife need for intervals of one point to each side, for the part whose interval has
# the median width: in one comparison alone, and in all at once? Assume that intervals shrink with the square root of the number of people.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
(run,) = results.ranks(model="kernel", data="geolife")
people = run.user_id.nunique()
found = change["GeoLife"]
for kind, end in {"one alone": "", "all at once": "_all"}.items():
    half = (found["high" + end] - found["low" + end]).median() / 2
    needed = f"±1 needs {people * half**2:.0f}"
    print(f"{kind}: ±{half:.1f} with {people} people; {needed}")

# %% [markdown]
# **Next:** [Contextual pointer](20_contextual_pointer.ipynb), which gets what was not on the list.
