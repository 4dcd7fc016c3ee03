# %% [markdown]
# # Ten improvements
#
# On GeoLife the rule of five numbers of [chapter 4](04_baselines.ipynb) guesses better than our Transformer. Would a better
# Transformer catch up? Here are ten changes that the
# [design documents](https://where-next-book.github.io/where-next/book/documents.html) of this model propose. Which three would
# you bet on, and how would you find out?
#
# | the part, in code | the argument for it |
# |---|---|
# | `cross_attention` | each place should *ask* who the person is and what time it is |
# | `geglu` | a gate makes a feed-forward network better at the same size |
# | `focal` or `balanced` | the loss should spend less on what is known, or on what is frequent |
# | `mixture_of_softmaxes` | one softmax is too narrow for people with several habits |
# | `relative_bias` | how far apart two visits are matters, not where they stand |
# | `recent_and_first` | the last visits matter most, and the first |
# | `post_norm` | none: it should be *worse* than the pre-norm that the model has |
# | `experts` | habit and exploration are different skills |
# | `multi_scale_time` | 23:45 and 0:00 are neighbours |
# | `adaptive_embeddings` | rare places need fewer numbers |
#
# Write down three names.
#
# *You will be able to* build ten parts that people add to a Transformer, in about ten lines each; see before any training
# what a part cannot do; and read two dozen comparisons at once without fooling yourself. *You need*
# [The encoder](06_position_and_encoder.ipynb), [Training](10_training.ipynb) and [Ablations](14_ablations.ipynb).
# *It takes* twenty minutes to read and half a minute to run.
#
# > **In one sentence.** Look at what a part computes before you train it, then train it with several seeds and read all
# > comparisons together: among many of them luck alone can make a winner.

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
from pgt.metrics import evaluate, gains
from pgt.train import fit
from pgt.windows import prepare

data = prepare(city.load().visits, protocol="exact")
V, USERS = data.vocabulary.n_locations, data.vocabulary.n_users
model, _ = load_model(shipped("city"))  # PGT as it is, trained
D, FF = model.config.d_model, model.config.d_feedforward
torch.manual_seed(0)
batch = data.test.batch(np.arange(64))

# %%
bet = ["relative_bias", "geglu", "mixture_of_softmaxes"]  # yours

# %% [markdown]
# ## Four that a look can tell something about
#
# **Cross-attention.** So far a visit's place stands beside its person and its times. Let each place ask these with attention
# instead. A window has *one* person:

# %%
places = nn.Embedding(V, D)(batch.location)  # (B, L, D) ask
person = nn.Embedding(USERS, D)(batch.user)[:, None]  # (B, 1, D) answers
ask = nn.MultiheadAttention(D, 4, batch_first=True)
answer, weight = ask(places, person, person)
apart = float((answer - answer[:, :1]).abs().max().detach())
print(f"smallest weight {weight.min():.1f}, largest {weight.max():.1f}")
print(f"the answers to two places differ by at most {apart:.0e}")

# %% [markdown]
# *The bet.* A softmax over one score is 1, whatever is asked. So every place gets the same answer about the person: a linear
# layer with a long name. Only the other half of the proposal can do something, since there are several times.
#
# **GeGLU.** Multiply two hidden layers, so that one is a gate for the other
# ([Shazeer, 2020](https://arxiv.org/abs/2002.05202)):
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


# %%
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
# *The bet.* Three matrices cost more than two. So the paper makes the hidden layer a third narrower, and so do we. Otherwise
# you would bet on size.
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


# %%
target = torch.tensor(data.train.targets)
count = torch.bincount(target, minlength=V)
nat = -torch.ones(len(target))  # suppose that every window costs one nat
weight = balanced(nat, target, count)
rare = count[target] == 1  # windows whose target is the only one to it
of_windows = 100 * float(rare.float().mean())
of_loss = 100 * float(weight[rare].sum() / weight.sum())

# %% [markdown]
# *The bet.* In the town {{ of_windows:.0f }} % of the windows have a target that occurs once. The balanced loss gives them
# {{ of_loss:.0f }} % of the say. Acc@1 counts windows, so it cares most about frequent targets.
#
# **A mixture of softmaxes.** How many habits fit into one softmax? Take three places, let the context and each place be one
# number instead of $D$, and leave out the biases:

# %%
G = torch.tensor([1.0, 0.0, -1.0])  # gym, office, home
one, other = (3 * G).softmax(0), (-3 * G).softmax(0)  # contexts 3 and −3
toy = torch.stack([one, other, (one + other) / 2])
rows = ["context 3", "context −3", "half of each"]
pd.DataFrame(toy, rows, ["gym", "office", "home"]).round(2)

# %% [markdown]
# Whatever the context, the office's score lies between the other two. So one softmax cannot express somebody who is either
# at the gym or at home. Half of each of two can. With more numbers the limit is wider, but with many more places it remains
# ([Yang et al., 2018](https://arxiv.org/abs/1711.03953)). So the part makes several contexts $c_k$ from $c$, each with a
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


# %% [markdown]
# *The bet.* By equation (8.4), **PGT was a mixture of softmaxes from the beginning**: one over the visits of the window and
# one over the vocabulary, weighted by the gate ([Evidence](evidence_improvements.ipynb) measures it). Does it need more?
#
# ## Six that only training can judge
#
# Nothing in the code of these six says whether they help.
#
# **Relative position bias.** The encoder adds a sinusoid to each visit, which says where it stands. Leave it out, and add to
# each attention score a learned number for the distance of the two visits, from one table $\mathcal{B}$ for each head
# ([Raffel et al., 2020](https://arxiv.org/abs/1910.10683)):
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
# *The bet.* "Two visits later" means the same early and late in a week. (Rotary positions
# ([Su et al., 2021](https://arxiv.org/abs/2104.09864)) reach the same end without a table.)
#
# **A bias to recent and first visits.** Each head learns six numbers, for the first visit and the last five. They are added to
# these visits' scores, whoever asks.


# %%
def recent_and_first(table, n):
    """(6, H) numbers -> (H, L): the first visit, the last five."""
    bias = torch.zeros(n, table.shape[1])
    bias[-5:] = table[1:].flip(0)[-n:]  # table[1] is for the last visit
    bias[0] += table[0]
    return bias.T


recent_and_first(torch.tensor([[9.0], [5], [4], [3], [2], [1]]), 8)

# %% [markdown]
# *The bet.* The last visits matter most, whatever visit is looking.
#
# **Pre-norm or post-norm.** Where does the normalisation stand: before a part, or after its sum
# ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745))? Pre-norm lets the gradient flow back through the sum unchanged,
# past all parts.


# %%
def pre_norm(x, part, norm):
    return x + part(norm(x))  # x itself runs through untouched


def post_norm(x, part, norm):
    return norm(x + part(x))  # squeezed after every part

# %% [markdown]
# *The bet.* Our model has pre-norm, so you would bet on a step back. But pre-norm helps deep networks, and ours has two
# layers.
#
# **Experts.** Take several feed-forward networks $h_k$, and a router that decides at each visit how much each counts
# ([Shazeer et al., 2017](https://arxiv.org/abs/1701.06538)):
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
# *The bet.* These are four whole networks. So this one is *not* compared at equal size.
#
# **Multi-scale time.** PGT has a row of a table for each quarter of an hour, and no row knows its neighbours. Take a row for
# the hour instead, and beside it sines and cosines that go round the clock, once to four times in 24 hours.


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
# *The bet.* What is learned at 23:45 helps at 0:00.
#
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
# *The bet.* The proposal gives the rare places the wide table. The paper that it cites
# ([Baevski and Auli, 2019](https://arxiv.org/abs/1809.10853)) gives rare words the *narrow* one, to keep them from
# overfitting. We measured both ([Evidence](evidence_improvements.ipynb)), and show the paper's way.
#
# ## The bet is settled
#
# Every part was trained alone, five times, on the town and on GeoLife. Each training is compared with that of the plain model
# with the same seed, as in [chapter 14](14_ablations.ipynb).
#
# There is one trap. With the other variants of the [evidence](evidence_improvements.ipynb) we made {{ n_tried }} comparisons
# in the town. If an interval misses the truth one time in twenty, a few will show an "effect" by luck. So all intervals are
# widened until they hold *together* in ninety-five of a hundred draws of people and seeds. Such **simultaneous intervals**
# may be read as a column.

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
lost = -change["the town"]["mean"]["balanced"]

# %% [markdown]
# **Change this.** Choose one of three parts, and it is trained here with seed 1, in about two minutes. Your diamond appears in
# the figure.

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
for label, part in zip(panels[0].get_yticklabels(), shown, strict=True):
    label.set_weight("bold" if part in bet else "normal")
panels[0].invert_yaxis()
fig.supxlabel("change of Acc@1 against the plain model (points)", fontsize=10)
show(
    fig,
    alt="Forest plot of eleven parts on two data sets. All intervals but "
    "those of the class-balanced loss hold zero; the kernel lies to the "
    "right of all means.",
    caption="Mean over five seeds, and intervals that hold for all variants "
    "at once; a dot may hide a narrow one. Dashed: the rule of five numbers. "
    "Bold: your bet.",
)

# %% [markdown]
# **No part is better beyond luck, on either data set.** Only the balanced loss clearly does something: it takes about
# {{ lost:.0f }} points from the first guesses of both, as its weights promised.
#
# That does not show that the others are useless. Their intervals leave room for a gain, and none was tuned. But look at the
# dashed line, the rule of five numbers. All means lie to its left. In the town some intervals reach it; on GeoLife none comes
# near.
#
# Why? All ten change how the *same* inputs are embedded, mixed, weighted or scored. None is given the rule's two comparisons
# with *now*: was the visit before that one at the place where I am now, and how far is its hour from the present one? That is
# a guess so far. [The next chapter](20_contextual_pointer.ipynb) tests it.
#
# ## What to remember
#
# - Look before you train. Attention to a single key is a linear layer; PGT is a mixture of softmaxes already.
# - Compare at equal size.
# - Read many intervals only together. Of ten parts none was better beyond luck.
# - On average none reached the rule of five numbers, which has a comparison with now.
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
# **Next:** [Contextual pointer](20_contextual_pointer.ipynb), which gets what was not on the list.
