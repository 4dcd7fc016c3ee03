# %% [markdown]
# # Position and encoder
#
# Leave out one line of this chapter's code, and strangers begin to change your predictions.
#
# *You will be able to* write a Transformer encoder from softmax and matrix products, explain each of its parts,
# and catch the mask bug that lets strangers change your prediction. *You need* [Embeddings](05_embeddings.ipynb).
# *It takes* twenty minutes to read and about a minute to run, with or without a GPU.
#
# > **In one sentence.** In the encoder the visits look at each other, which takes positions, queries and keys, and a
# > mask; without the mask the other windows of a batch change {{ percent[0]:.0f }} % of the answers, and accuracy does not
# > show it.

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

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from wherenext import city
from wherenext.architecture import architecture
from wherenext.exercises import check
from wherenext.figures import show

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.metrics import evaluate, gains, interval
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
model, _ = load_model(shipped("city"))
model.eval().requires_grad_(False)
D, F_ = model.config.d_model, model.config.d_feedforward  # F_ is F
i = story(data.test)  # the window that the chapters share
batch = data.test.batch([i])
L = int(batch.length[0])

# %% [markdown]
# After the embeddings, each vector knows only its own visit. It does not know that the same
# place came two days earlier, or that it is the first visit of the day. In the **encoder** the visits look at each
# other. The tool is **attention**: each visit takes a weighted mean over all visits, and chooses the
# weights itself.

# %% tags=["hide-input"]
# @title Figure 6.1: where we are
caption = "You are here: visits learn of each other."
architecture("position", "encoder", caption=caption)

# %% [markdown]
# ## Without positions, order is lost
#
# The simplest attention weighs by likeness. Visit $i$ gives visit $j$ a weight that grows with $x_i^\top x_j$,
# and a softmax makes all weights that one visit gives positive, with sum one. What happens when we shuffle the visits?
# (We use the location vectors alone, and for now no learned matrices. Why we divide by a root comes below.)


# %%
def bare(x):
    likeness = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    return likeness.softmax(-1) @ x  # (1, L, D)


place = model.embeddings.tables["location"](batch.location)  # (1, L, D)
torch.manual_seed(0)
rest = torch.randperm(L - 1)
order = torch.cat([rest, torch.tensor([L - 1])])  # the last stays last
moved = (bare(place[:, order])[0, -1] - bare(place)[0, -1]).abs().max()
print(f"Shuffle the others: the last visit's output moves by {moved:.0e}.")

# %% [markdown]
# Nothing but rounding. This attention can know the order only from the vectors. The last chapter's "position from the
# end", left out here, tells it to them. The original Transformer has another way.
#
# ## Waves as a ruler
#
# [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762) add to visit $t$ a fixed vector $\psi_t$ of sines and
# cosines, the **sinusoid**,
#
# $$
# \begin{aligned}
# \psi_{t,\,2k} &= \sin(\omega_k t), \\
# \psi_{t,\,2k+1} &= \cos(\omega_k t), \qquad \omega_k = 10000^{-2k/D} .
# \end{aligned} \tag{6.1}
# $$
#
# Here $t = 0$ is the oldest visit of the window, and $k$ numbers the pairs of coordinates, one sine and one
# cosine. The first pair turns quickly and tells neighbours apart. The last pair hardly moves in a week of visits.
# Together they work like the hands of a clock.


# %%
def waves(n, d, dtype=torch.float32):
    t = torch.arange(n, dtype=torch.float64)[:, None]  # (n, 1)
    exponent = torch.arange(0, d, 2, dtype=torch.float64) / d
    omega = 10000.0 ** (-exponent)  # (d / 2,)
    table = torch.zeros(n, d, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = (t * omega).sin(), (t * omega).cos()
    return table.to(dtype)


S = waves(60, D)
dots = S @ S.T  # (60, 60)

# %% tags=["hide-input"]
# @title Figure 6.2: the sinusoids
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2), width_ratios=[3, 2])
look = {"cmap": "RdBu", "xticklabels": 16, "yticklabels": 20, "cbar": False}
sns.heatmap(S, ax=left, **look)
left.set(xlabel="coordinate", ylabel="position", title="The sinusoids")
for k, style in ((0, "-"), (20, "--")):
    right.plot(dots[k, k:], style, label=f"from position {k}")
right.legend()
right.set(xlabel="distance in positions", ylabel="dot product", ylim=0)
show(
    fig,
    alt="Left, an image of sines and cosines, fast on the left and slow on "
    "the right. Right, the dot product of two positions falls with distance.",
    caption="Left: red is −1, blue 1. Right: the dot products of position 0 "
    "with later ones, and dashed those of 20: the same curve.",
)

# %% [markdown]
# Near positions have the most similar sinusoids (further away the curve goes up and down a little), and the dot product of two
# depends on their distance alone:
# $\psi_t^\top \psi_{t'} = \sum_k \cos(\omega_k (t - t'))$.
#
# We now have two rulers, laid at opposite ends. The sinusoid counts from the *oldest* visit; "position from the end"
# always calls the last visit 1. Does the model need both? We shall ask it at the end.
#
# ## Attention by hand
#
# Likeness is too crude a question. So each visit makes three vectors of its own, each by a learned matrix:
#
# - a **query**: what do I look for?
# - a **key**: what can I be found by?
# - a **value**: what do I say when asked?
#
# $$
# \begin{aligned}
# Q &= X W_Q, \quad K = X W_K, \\
# A &= \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}}\Big), \quad \text{output} = A\, (X W_V) .
# \end{aligned} \tag{6.2}
# $$
#
# The rows of $X$ are the vectors of the visits; $X W_V$ are the values, and $d$ is the length of a query. (In the code,
# `nn.Linear` adds a bias to each product.) Row $i$ of $A$ says how visit $i$ divides its attention. Here is one row, in
# numbers made up for the eye: three visits, to a home, a café and the home again, and the last one looks for homes.

# %%
query = torch.tensor([2.0, 0.0])  # of the last visit
keys = torch.tensor([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])  # home, café, home
values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
scores = keys @ query / math.sqrt(2)  # (3,) 2.8, 0, 2.8
weights = scores.softmax(0)  # (3,) they add up to one
print(f"weights {weights.numpy().round(2)}", end=", ")
print(f"output {(weights @ values).numpy().round(2)}")

# %% [markdown]
# Each home gets nearly half of the attention, and the output is nearly the value of a home.
#
# **Why divide by $\sqrt d$?** Let the $d$ coordinates of a query and a key be independent, with mean 0 and variance 1.
# Each product of two has variance 1, and the sum of $d$ of them has variance $d$. Scores of size $\sqrt d$ would go into
# an exponential, and with large $d$ one weight would take nearly everything before anything is learned.
#
# ## Heads, and the mask
#
# One softmax makes one choice. To look for "the same place" and for "the same hour" at once, split the $D$
# numbers of each query, key and value into $H$ **heads** of $d = D / H$. Each head attends by itself. Their results are put side by side and
# mixed by one more matrix.
#
# Windows in a batch differ in length. The short ones are padded at their end, and padding must get weight exactly 0. So
# its scores become $-\infty$ *before* the softmax, because $e^{-\infty} = 0$. A row of weights is a visit that
# looks, a column one that is looked at. Only the columns of padding are masked; what its rows compute, nobody reads. A mask for *time*, which lets a visit see
# only earlier ones, is not needed here: all visits lie in the past, and each may see all.


# %%
class SelfAttention(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.project = nn.Linear(width, 3 * width)  # queries, keys, values
        self.out = nn.Linear(width, width)  # mixes the heads

    def forward(self, x, padding):
        """(B, L, D), padding (B, L) -> (B, L, D), weights (B, H, L, L)."""
        b, n, width = x.shape
        d = width // self.n_heads
        # Cut 3 * D numbers a visit: q, k or v; which head (B, L, 3, H, d).
        parts = self.project(x).view(b, n, 3, self.n_heads, d)
        # q, k, v first, to take them apart; heads before visits.
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # each (B, H, L, d)
        s = q @ k.transpose(-2, -1) / math.sqrt(d)  # (B, H, L, L)
        s = s.masked_fill(padding[:, None, None, :], -math.inf)  # columns
        weights = s.softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(b, n, width)
        return self.out(mixed), weights


# %% [markdown]
# ## Residuals, and where to normalise
#
# Attention moves information between visits. A **feed-forward** network then works on each visit by itself: a linear
# layer to a wider space of $F$ numbers, a bend, and a linear layer back. The bend is **GELU**
# ([Hendrycks and Gimpel, 2016](https://arxiv.org/abs/1606.08415)), $x\,\Phi(x)$, where $\Phi$ is the normal distribution
# function: a smooth version of "negative numbers become 0".
#
# Neither attention nor this network replaces its input. Each *adds* to it, $x + h(x)$: the **residual connection**. And
# **LayerNorm** (LN) shifts and scales the numbers of each vector to mean 0 and variance 1. Where does it go?
#
# $$
# \begin{aligned}
# \text{post-norm:} \quad x_{n+1} &= \text{LN}\big(x_n + h(x_n)\big), \\
# \text{pre-norm:} \quad x_{n+1} &= x_n + h\big(\text{LN}(x_n)\big) .
# \end{aligned} \tag{6.3}
# $$
#
# The original Transformer is **post-norm**. This model is **pre-norm**: its gradient has a direct road back through all
# layers, because $x_n$ is passed on as it is. Post-norm has to begin its training with small steps
# ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)).


# %%
class Layer(nn.Module):
    def __init__(self, width, n_heads, hidden):
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = SelfAttention(width, n_heads)
        self.norm_feedforward = nn.LayerNorm(width)
        wide, back = nn.Linear(width, hidden), nn.Linear(hidden, width)
        drop = nn.Dropout(0.1)  # only in training
        self.feedforward = nn.Sequential(wide, nn.GELU(), drop, back)

    def forward(self, x, padding):
        attended, weights = self.attention(self.norm_attention(x), padding)
        x = x + attended  # (B, L, D)
        return x + self.feedforward(self.norm_feedforward(x)), weights


# %% [markdown]
# ## The encoder
#
# Positions, then a stack of layers. That is all of it.


# %%
class MyEncoder(nn.Module):
    def __init__(self, width, n_heads, hidden, n_layers=2):
        super().__init__()
        layers = [Layer(width, n_heads, hidden) for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x, padding):
        x = x + waves(*x.shape[1:], x.dtype)  # L positions, width D
        seen = []
        for layer in self.layers:
            x, attention = layer(x, padding)  # (B, L, D), (B, H, L, L)
            seen.append(attention)
        return x, tuple(seen)


# %% [markdown]
# Does it compute the same as the package's? The parts have the same names, so the trained weights can be loaded. On
# many windows with padding, the assertion passes.

# %%
mine = MyEncoder(D, model.config.n_heads, F_).eval().requires_grad_(False)
mine.load_state_dict(model.encoder.state_dict())
many = data.test.batch(np.arange(0, len(data.test), 20))
inputs = model.embeddings(many), many.padding
ours, theirs = mine(*inputs)[0], model.encoder(*inputs)[0]  # (B, L, D)
assert torch.allclose(ours, theirs, atol=1e-5)

# %% [markdown]
# ## The forgotten mask
#
# What if somebody forgets `masked_fill`? The vector of a padded position is not zero: the person, a bias and the sinusoid are in
# it, and LayerNorm brings it to the size of a visit's. So padding gets its share of every softmax. Nothing crashes. But how much
# padding a window gets depends on the longest window in its batch, often that of a *stranger*. Here is the trained model with
# its mask forgotten. We ask it and the right one for the whole test set, in shuffled batches of 128.

# %%
forgetful = copy.deepcopy(model)
original = forgetful.encoder.forward
forgetful.encoder.forward = lambda x, padding: original(
    x, torch.zeros_like(padding)  # "nothing is padding"
)

# %% tags=["hide-input"]
# @title The whole test set
order = np.random.default_rng(0).permutation(len(data.test))
rows = []
for start in range(0, len(order), 128):
    part = data.test.batch(order[start : start + 128])
    both = (model(part).log_probs, forgetful(part).log_probs)
    right, wrong = (one.argmax(1) for one in both)
    hit, still = right == part.target, wrong == part.target
    moved = [right != wrong, ~hit & still, hit & ~still]
    rows.append(torch.stack([*moved, hit, still]))  # (5, B)
percent = 100 * torch.cat(rows, dim=1).double().mean(1).numpy()
said = ["another first answer", "  now right", "  no longer right"]
said += ["Acc@1 with the mask", "Acc@1 without it"]
pd.DataFrame({"%": percent.round(1)}, said)

# %% [markdown]
# > **Pitfall.** Accuracy does not notice this bug: few answers change for the better, and about as few for the worse. A sure
# > test costs three lines: predict one window alone and beside a longer one, and demand the same output.
#
# ## Who looks at whom
#
# These are the weights that the prediction used, in the first layer. The model was trained with four heads of sixteen numbers.
# **Change this:** with another number of heads the same numbers are cut elsewhere. The pictures change; does the accuracy?

# %%
heads = 4  # @param [1, 2, 4, 8, 16] {type:"raw"}

# %%
for layer in model.encoder.layers:
    layer.attention.n_heads = heads
hits = gains(evaluate(model, data.test))["acc@1"]
print(f"Acc@1 with {heads} heads: {100 * hits.mean():.1f} %")

# %% tags=["hide-input"]
# @title Figure 6.3: attention, a matrix a head
seen = model(batch).self_attention[0][0]  # (H, L, L)
size = {"figsize": (7.4, 2.2), "squeeze": False}
fig, axes = plt.subplots(1, min(heads, 4), **size)
look = {"highest": float(seen.max()), "bar": False}
for h, ax in enumerate(axes[0]):
    plots.attention(seen[h], axes=ax, **look)
    ax.set(title=f"head {h + 1}", yticks=[], ylabel="")
    ax.set_xticks([0.5, L - 0.5], ["oldest", "last"], rotation=0)
axes[0, 0].set_yticks([0.5, L - 0.5], ["oldest", "last"], rotation=0)
axes[0, 0].set_ylabel("visit that looks")
fig.colorbar(axes[0, 0].collections[0], ax=axes[0], label="weight", pad=0.02)
show(
    fig,
    alt="Matrices of attention weights, one a head; a few cells are bright.",
    caption="The story window. Each row, a visit that looks, adds up to one. "
    "At most four heads are drawn.",
)

# %% [markdown]
# One is tempted to tell a story about each head: a bright column is a visit that many look at. Before that, ask what the
# choosing is worth, on all windows. We operate on the trained model, and score it:
#
# - *No sinusoid*: it becomes 0. *No position from the end*: every visit gets the same row there, the mean of the ten that training
#   saw most, so that the size stays right and the order is gone.
# - *Even attention* erases the queries. All scores are 0, and every head takes the plain mean over the window.
# - *No attention*: what it adds becomes 0, and no visit hears of another.
# - *No encoder*: what the feed-forward networks add becomes 0 as well. Only the sinusoids are left.
#
# The intervals are those of the difference in Acc@1, operated minus whole, in points, with people resampled
# ([chapter 4](04_baselines.ipynb)): below zero, the operation hurts.


# %% tags=["hide-input"]
# @title operated(kind): the model after an operation
def operated(kind):
    patient = copy.deepcopy(model)
    if kind == "no sinusoid":
        patient.encoder.positions.zero_()
    if kind == "no position from the end":
        table = patient.embeddings.tables["position_from_end"].weight
        table[1:] = table[1:11].mean(0)
    for part in patient.encoder.layers:
        project, out = part.attention.project, part.attention.out
        if kind == "even attention":  # the queries are the first D rows
            project.weight[:D] = project.bias[:D] = 0
        if kind in ("no attention", "no encoder"):
            out.weight[:] = out.bias[:] = 0
        if kind == "no encoder":  # x + 0 + 0
            part.feedforward[3].weight[:] = part.feedforward[3].bias[:] = 0
    return patient


# %%
kinds = ["no sinusoid", "no position from the end"]
kinds += ["even attention", "no attention", "no encoder"]
splits = {"valid": data.valid, "test": data.test}
whole = {name: evaluate(model, part) for name, part in splits.items()}
rows = {}
for kind in kinds:
    patient, rows[kind] = operated(kind), {}
    for name, part in splits.items():
        ranks = evaluate(patient, part)
        low, high = interval(ranks, against=whole[name])
        rows[kind][f"difference on {name}"] = f"{low:+.1f} to {high:+.1f}"
    before = whole["test"]  # and `ranks` is of the test windows, too
    changed = ranks.predicted != before.predicted
    now, then = (one.better == 0 for one in (ranks, before))  # right
    better, worse = now & ~then, then & ~now
    moved = {"changed": changed, "better": better, "worse": worse}
    moved = {f"{n}, %": round(100 * v.mean(), 1) for n, v in moved.items()}
    rows[kind] |= moved
pd.DataFrame(rows).T

# %% [markdown]
# **Taking away the whole encoder costs nothing that we can measure** (last row). Of the first answers on test,
# {{ moved["changed, %"] }} % change: {{ moved["better, %"] }} % become right, {{ moved["worse, %"] }} % are no longer right, and
# the others go from one wrong place to another. (The truth may still be a loss as large as the lower ends of the intervals.)
#
# The other rows? On validation the model was worse without the sinusoid, and on test better without attention; the other split
# confirms neither. So we cannot show that the model needs one ruler while it has the other. A likely reason for all this is
# the pointer ([next chapter](07_pointer.ipynb)), which compares the last visit with all others by itself. A model *trained*
# without a part ([chapter 14](14_ablations.ipynb)) is another question.
#
# ## What to remember
#
# - Attention alone does not see the order of visits. Sinusoids and the position from the end put it into the vectors.
# - Dividing by $\sqrt d$ keeps the scores of a fresh model small. The mask goes in before the softmax, on the columns.
# - Without the mask, strangers change your prediction, and accuracy does not tell you.
# - An attention map is a picture of weights. Replace them by their mean before you believe that they matter.
# - To find a bug, look for any change of the output; to judge what a part is worth, count right answers.
#
# ## Exercises
#
# **Exercise 1** (quick). How many parameters does one layer have? Write the formula in $D$ and $F$ and check
# it with $D = 64$ and $F = 128$, the numbers of our model.

# %% tags=["try"]
formula = ...  # of D and F_
check.exercise("6.1", formula)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
formula = 4 * (D * D + D)  # attention
formula += (D * F_ + F_) + (F_ * D + D) + 4 * D  # feed-forward, two norms
check.exercise("6.1", formula)
# The number of heads is not in it: heads divide the width.

# %% [markdown]
# **Exercise 2** (longer, on paper). A shift of positions is a rotation. Find a matrix $M_s$ with
# $\psi_{t+s} = M_s\, \psi_t$ for *every* $t$. What follows for a query that wants "three visits before me"?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def shift(steps, width):
    exponent = torch.arange(0, width, 2, dtype=torch.float64) / width
    omega = 10000.0 ** (-exponent)
    c, s = (omega * steps).cos(), (omega * steps).sin()
    top, bottom = torch.stack([c, s], -1), torch.stack([-s, c], -1)
    turns = torch.stack([top, bottom], -2)  # (d / 2, 2, 2)
    return torch.block_diag(*turns)  # (d, d)


S = waves(100, D, torch.float64)
check.same(S[:-40] @ shift(40, D).T, S[40:], name="shift by 40", atol=1e-9)
# One fixed matrix serves all positions. So a head can put M into its query
# matrix, and then q' k is largest for the visit three before, wherever it
# stands. Relative position is within reach of a linear map.

# %% [markdown]
# **Exercise 3** (medium). Write the test that catches the forgotten mask: the largest difference between what `one` (a
# model) says of window `i` alone, and beside a longer window. (`one(data.test.batch([i, j])).log_probs[0]` is
# what it says of window `i` beside window `j`; `longest` is the longest.) Which other mistakes would it catch?


# %% tags=["try"]
longest = data.test.lengths.argmax()


def strangers_matter(one):
    """Largest change of the log-probabilities of window i."""
    return ...


found = strangers_matter(forgetful)
check.same(found if found is ... else found > 1e-3, True, name="the bug")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def strangers_matter(one):
    alone = one(data.test.batch([i])).log_probs[0]
    beside = one(data.test.batch([i, longest])).log_probs[0]
    return (alone - beside).abs().max().item()


check.same(strangers_matter(model), 0, name="the model", atol=1e-4)
check.same(strangers_matter(forgetful) > 1e-3, True, name="the bug")
# Also a mean over the batch, a LayerNorm over visits, a position counted from
# the end of the row: whatever lets one window read another, or the padding.

# %% [markdown]
# **Next:** [The pointer](07_pointer.ipynb), which asks the encoder's last vector: which of these visits would you
# copy?
