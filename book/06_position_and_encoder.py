# %% [markdown]
# # Position and encoder
#
# Leave out one line of this chapter's code, and strangers begin to change your predictions.
#
# *You will be able to* write a Transformer encoder from softmax and matrix products, explain each of its parts,
# and catch the mask bug that lets strangers change your prediction. *You need* [Embeddings](05_embeddings.ipynb).
# *It takes* thirty minutes to read and less than a minute to run, with or without a GPU.

# %% tags=["hide-input"]
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
import itertools
import math

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.metrics import evaluate, interval, summarize
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
model, _ = load_model(shipped("city"))
model.eval().requires_grad_(False)
D, H = model.config.d_model, model.config.n_heads
F_ = model.config.d_feedforward
i = story(data.test)  # the window that the chapters share
batch = data.test.batch([i])
L = int(batch.length[0])
name_of = town.places.set_index("location_id").name
names = name_of[data.test.visits_of(i).location_id]
x = model.embeddings(batch)  # (1, L, D) where the last chapter ended
print(f"{L} visits, D = {D}, H = {H} heads")

# %% [markdown]
# After the embeddings, each vector knows only its own visit. It does not know that the same
# place came two days earlier, or that it is the first visit of the day. In the **encoder** the visits look at each
# other. The tool is **attention**: each visit takes a weighted mean over all visits, and chooses the
# weights itself.

# %% tags=["hide-input"]
from wherenext.architecture import architecture

architecture(
    "position",
    "encoder",
    caption="You are here: visits learn of each other.",
)

# %% [markdown]
# ## Without positions, order is lost
#
# The simplest attention weighs by likeness. Visit $i$ gives visit $j$ a weight that grows with $x_i^\top x_j$,
# and a softmax makes the weights of each row positive, with sum one. What happens when we shuffle the visits?
# (We use the location vectors alone, and for now no learned matrices.)


# %%
def bare(x):
    likeness = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    return likeness.softmax(-1) @ x  # (1, L, D)


place = model.embeddings.tables["location"](batch.location)  # (1, L, D)
torch.manual_seed(0)
order = torch.randperm(L)
shuffled_after, shuffled_before = bare(place)[:, order], bare(place[:, order])
assert torch.allclose(shuffled_after, shuffled_before, atol=1e-6)

last = torch.tensor([L - 1])
rest = torch.cat([order[order != L - 1], last])  # the last stays last
moved = (bare(place[:, rest])[0, -1] - bare(place)[0, -1]).abs().max()
print(f"Shuffle the others: the last visit's output moves by {moved:.1e}.")

# %% [markdown]
# The outputs come in the new order and are otherwise unchanged. Home–work–café and café–work–home look the
# same to this attention. It can know the order only from the vectors. The last chapter's "position from the end", left
# out here, puts it there. The original Transformer has another way.
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
for k in range(60):  # constant along each diagonal
    assert torch.diagonal(dots, k).std(correction=0) < 1e-4

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from wherenext.figures import (
    COPIED,
    GENERATED,
    INK,
    MUTED,
    SEQUENTIAL,
    TRUTH,
    show,
)

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.0), width_ratios=[3, 2])
left, right = axes
left.imshow(S, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
left.set(xlabel="coordinate", ylabel="position", title="The sinusoids")
left.grid(visible=False)
right.plot(dots[0], color=INK)
right.set(xlabel="distance in positions", ylabel="dot product")
right.set(ylim=(0, None), title="Only distance counts")
show(
    fig,
    alt="Left, an image of sines and cosines, fast on the left and slow on "
    "the right. Right, the dot product of two positions by their distance: "
    f"{dots[0, 0]:.0f} at 0, falling with ripples to {dots[0, 59]:.0f} at "
    "59.",
    caption="Red and blue: −1 and 1. The dot product of two positions "
    "depends on their distance alone.",
)

# %% [markdown]
# The right panel follows from the formula for the cosine of a difference: $\psi_t^\top \psi_{t'} = \sum_k \cos(\omega_k (t - t'))$.
# Every sinusoid has the same length $\sqrt{D/2}$, and near positions have similar sinusoids.
# The tables of the last chapter had to learn their geometry; this one is built in.
#
# Counting starts at the *oldest* visit. So what number does the last visit get, from which the model will predict?

# %%
lengths = np.sort(data.test.lengths)[[0, len(data.test) // 2, -1]]
numbers = {
    "visits in the window": lengths,
    "sinusoid row of the last visit": lengths - 1,
    "its position from the end": 1,
}
pd.DataFrame(numbers, index=["shortest", "median", "longest"])

# %% [markdown]
# The sinusoid's number for the last visit depends on how busy the week was. The embedding "position from the
# end" always calls it 1. These are two rulers, laid at opposite ends. Does the model need both? We take each away
# from the trained model, then both. (The sinusoid becomes zero; every visit gets the mean of the first ten position
# embeddings.)
# The table gives the 95 % interval of each difference, with people resampled as in
# [chapter 4](04_baselines.ipynb).


# %%
def accuracy(ranks):
    return summarize(ranks, ["all"])["acc@1"].iloc[0]


def without(ruler):
    patient = copy.deepcopy(model)
    if ruler in ("sinusoid", "both"):
        patient.encoder.positions.zero_()
    if ruler in ("position from end", "both"):
        table = patient.embeddings.tables["position_from_end"].weight
        table[1:] = table[1:11].mean(0)  # the mean of the ten newest, for all
    return evaluate(patient, data.test)


def between(low, high):
    return f"{low:+.1f} to {high:+.1f}".replace("-", "−")


trained = evaluate(model, data.test)
rulers, rows = {}, {"nothing": [accuracy(trained), "–"]}
for ruler in ("sinusoid", "position from end", "both"):
    ranks = without(ruler)
    rulers[ruler] = interval(ranks, against=trained)
    rows[ruler] = [accuracy(ranks), between(*rulers[ruler])]
heads = ["Acc@1 (%)", "difference, 95 % interval"]
rows = pd.DataFrame(rows, index=heads).T.rename_axis("taken away")
rows.astype({heads[0]: float}).round(1)

# %% tags=["hide-input"]
clear = [name for name, (low, high) in rulers.items() if low * high > 0]
Markdown(
    (
        "All three intervals contain zero. So **we cannot show that this "
        "model needs either ruler**. The intervals exclude a loss of more "
        "than "
        f"{max(-low for low, _ in rulers.values()):.1f} points."
        if not clear
        else f"The interval is clear of zero for: {', '.join(clear)}."
    )
    + " Surgery shows what *this* model relies on, not what the part is "
    "worth. A model *trained* without rulers might find the order elsewhere."
)

# %% [markdown]
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
# The rows of $X$ are the vectors of the visits; $X W_V$ are the values. (The literature calls them $V$, which is our
# number of locations.) Row $i$ of $A$ says how visit $i$ divides its attention. The encoder
# stacks two layers of attention and feed-forward network. We take the trained weights of the first layer and look at its
# first head, of width $d = D / H$. (Heads are attentions side by side, see below.)

# %%
W = {name: t.clone() for name, t in model.encoder.state_dict().items()}


def of_layer(w, k):
    start = f"layers.{k}."
    return {n.removeprefix(start): t for n, t in w.items() if start in n}


def normed(x, scale, shift):  # equation (5.3)
    x = x - x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True)
    return scale * x / torch.sqrt(variance + 1e-5) + shift


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


# %%
first, d = of_layer(W, 0), D // H
norm = first["norm_attention.weight"], first["norm_attention.bias"]
y = normed(x + waves(L, D), *norm)  # explained under Residuals
qkv = linear(y, first, "attention.project")  # (1, L, 3 D)
Q, K, values = (part[0, :, :d] for part in qkv.split(D, dim=-1))  # (L, d)
scores = Q @ K.T / math.sqrt(d)  # (L, L) of head 0
A = scores.exp() / scores.exp().sum(-1, keepdim=True)  # softmax, by hand
weights = A[-1].numpy().round(3)
pd.DataFrame({"visit": names.array, "attention of the last visit": weights})

# %% tags=["hide-input"]
most = int(weights.argmax())
Markdown(
    f"This head gives {names.iloc[most]} most, {weights[most]:.2f}. With "
    f"even attention each visit would get {1 / L:.2f}."
)

# %% [markdown]
# ## Why divide by √d?
#
# Let the coordinates of a query and a key be independent, with mean 0 and variance 1. Each product of two
# has variance 1, and the sum of $d$ of them has variance $d$. So scores of size $\sqrt d$ go into an
# exponential. With large $d$, one weight takes nearly everything, and the gradient of such a softmax
# is nearly zero. Dividing by $\sqrt d$ keeps the variance at 1 for every $d$.

# %%
torch.manual_seed(0)
widths = [4, 8, 16, 32, 64, 128, 256, 512]
variance, largest, largest_scaled = [], [], []
for width in widths:
    q, k = torch.randn(4000, 1, width), torch.randn(4000, 12, width)
    s = (q * k).sum(-1)  # (4000, 12), one score a key
    variance.append(s.var().item())
    largest.append(s.softmax(-1).amax(-1).mean())
    s = s / math.sqrt(width)
    largest_scaled.append(s.softmax(-1).amax(-1).mean())

# %% tags=["hide-input"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.8))
left.loglog(widths, variance, "o", color=INK, label="measured")
left.loglog(widths, widths, color=MUTED, label="variance = d")
left.set(ylabel="variance of qᵀk")
right.semilogx(widths, largest, "s--", color=GENERATED, label="qᵀk")
right.semilogx(widths, largest_scaled, "o-", color=COPIED, label="qᵀk / √d")
right.set(ylabel="largest of 12 weights, mean", ylim=(0, 1))
for ax in (left, right):
    ax.set(xlabel="width d")
    ax.set_xticks([4, 32, 256], ["4", "32", "256"])
    ax.legend()
    ax.minorticks_off()
show(
    fig,
    alt="Left: the variance of the dot product follows the line "
    "variance = d. Right: without scaling the largest of 12 weights grows "
    f"to {largest[-1]:.2f} at d = 512; with scaling it stays near "
    f"{largest_scaled[-1]:.2f}.",
    caption="Random queries and keys. Unscaled, wide attention turns into a "
    "hard choice before anything is learned.",
)

# %% [markdown]
# ## Heads, and the mask
#
# One softmax makes one choice. To look for "the same place" and for "the same hour" at once, split the $D$
# numbers into $H$ **heads** of $D / H$. Each head attends by itself. Their results are put side by side and
# mixed by one more matrix. This costs about the same as one wide head.
#
# Windows in a batch differ in length. The short ones are padded, and padding must get weight exactly 0. So
# its scores become $-\infty$ *before* the softmax, because $e^{-\infty} = 0$.


# %%
def attention(x, w, padding, n_heads):
    """(B, L, D), padding (B, L) -> (B, L, D) and weights (B, H, L, L)."""
    b, n, width = x.shape
    split = b, n, 3, n_heads, width // n_heads
    split = linear(x, w, "attention.project").view(split)
    q, k, v = split.permute(2, 0, 3, 1, 4)  # each (B, H, L, d)
    s = q @ k.transpose(-2, -1) / math.sqrt(width // n_heads)
    columns = padding[:, None, None, :]  # the *columns* of padding
    s = s.masked_fill(columns, -math.inf)  # (B, H, L, L)
    weights = s.softmax(-1)
    mixed = (weights @ v).transpose(1, 2).reshape(b, n, width)
    return linear(mixed, w, "attention.out"), weights


_, weights = attention(y, first, batch.padding, H)
assert torch.allclose(weights[0, 0], A, atol=1e-6)  # head 0, by hand

# %% [markdown]
# A mask for *time*, which lets a visit see only earlier ones, is not needed here: all visits lie in the past, and
# each may see all.
#
# What if *everything* in a row is masked? Then the softmax divides 0 by 0.

# %%
nothing = torch.full((1, 4), -math.inf).softmax(-1)
all_padding = torch.ones_like(batch.padding)  # a second window
both = torch.cat([batch.padding, all_padding])
poisoned, _ = attention(y.expand(2, -1, -1), first, both, H)
nan = [bool(out.isnan().any()) for out in poisoned]
print("softmax of nothing:", nothing.tolist()[0])
print(f"NaN in the good window: {nan[0]}, in the empty one: {nan[1]}")

# %% [markdown]
# The good window survives. But the mean loss of the batch is NaN, and many gradients with it. Gradient clipping
# ([Training](10_training.ipynb)) carries the NaN to all others: after one step every weight is NaN. One empty window
# kills the model. `pgt` therefore asks for at least one visit in each window.
#
# ## GELU and the feed-forward network
#
# Attention moves information between visits. The **feed-forward** network then works on each visit by
# itself: a linear layer to a wider space of $F$ numbers, a bend (a function that is not linear), and a linear layer back.
# The bend is **GELU** ([Hendrycks and Gimpel, 2016](https://arxiv.org/abs/1606.08415)), $x\,\Phi(x)$, where $\Phi$ is
# the normal distribution function.


# %%
def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


t = torch.linspace(-4, 4, 801, dtype=torch.float64)
assert torch.allclose(gelu(t), nn.functional.gelu(t), atol=1e-12)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.4, 2.6))
ax.plot(t, gelu(t), color=INK, label="GELU")
ax.plot(t, t.clamp(min=0), "--", color=MUTED, label="ReLU")
ax.legend()
ax.set(xlabel="x", ylabel="the bent x", ylim=(-0.5, 4))
show(
    fig,
    alt="GELU, a smooth ReLU with a shallow dip below zero.",
    caption="GELU, and the older ReLU, which cuts off at zero.",
)

# %% [markdown]
# ## Residuals, and where to normalise
#
# Attention and feed-forward network do not replace their input. Each *adds* to it, $x + h(x)$: the
# **residual connection**. The question is where LayerNorm goes.
#
# $$
# \begin{aligned}
# \text{post-norm:} \quad x_{n+1} &= \text{LN}\big(x_n + h(x_n)\big), \\
# \text{pre-norm:} \quad x_{n+1} &= x_n + h\big(\text{LN}(x_n)\big) .
# \end{aligned} \tag{6.3}
# $$
#
# The original Transformer is **post-norm**. This model is **pre-norm**. (One of the design documents calls it
# post-norm; the others, and the code, say pre-norm.) Follow the gradient back through all layers. By the
# chain rule,
#
# $$
# \frac{\partial x_\text{out}}{\partial x_\text{in}} = \prod_n \Big( I + J_n \Big) \;\;\text{(pre)}, \qquad
# \prod_n J^{\text{LN}}_n \Big( I + J_n \Big) \;\;\text{(post)} . \tag{6.4}
# $$
#
# The products run over the steps of equation (6.3), two in each layer. $J_n$ is the matrix of derivatives (Jacobian) of what
# step $n$ *adds*, and $J^{\text{LN}}_n$ is that of its LayerNorm. Multiply the product out. In pre-norm one term is
# $I$: a direct road on which the gradient arrives unchanged, at any depth; what the other terms carry is added to it. In post-norm every road passes one LayerNorm
# per step, and each divides by the standard deviation of its input. If $h$ adds variance $v$ to a vector of variance 1, the direct
# road shrinks by $1 / \sqrt{1 + v}$ each time. "So in post-norm the gradient vanishes", many texts say. Does it? We
# measure it at initialisation, at the *bottom* (before the first layer) and at the *top* (after the last).


# %%
def stack(depth, pre_norm):
    options = {"batch_first": True, "norm_first": pre_norm}
    layers = nn.ModuleList()
    for _ in range(depth):
        block = nn.TransformerEncoderLayer(D, H, 128, 0.0, "gelu", **options)
        layers.append(block)
    for p in layers.parameters():
        if p.ndim == 2:  # as the original Transformer begins
            nn.init.xavier_uniform_(p)
    return layers


# %%
def at_start(depth, pre_norm, seed):
    """Gradient norms; what is left of the gradient's norm; of its
    direction; spread."""
    torch.manual_seed(seed)
    start = nn.functional.layer_norm(torch.randn(64, 12, D), (D,))
    h = [start.requires_grad_()]
    layers = stack(depth, pre_norm)
    for layer in layers:
        h.append(layer(h[-1]))
        h[-1].retain_grad()
    top = nn.functional.layer_norm(h[-1], (D,))[:, -1]
    logits = top @ torch.randn(D, 100) / D**0.5
    nn.functional.cross_entropy(logits, torch.randint(100, (64,))).backward()
    norms = [layer.linear1.weight.grad.norm().item() for layer in layers]
    left = (h[0].grad.norm() / h[-1].grad.norm()).item()
    bottom, top = h[0].grad[:, -1], h[-1].grad[:, -1]
    kept = nn.functional.cosine_similarity(bottom, top, dim=1)
    return norms, left, kept.mean().item(), h[-1].std().item()


# %%
runs, ends, rows = {}, {}, {}
for depth in (2, 6, 12):
    for pre in (True, False):
        found = [at_start(depth, pre, seed) for seed in range(2)]
        norms = np.mean([run[0] for run in found], axis=0)
        runs[depth, pre], ends[depth, pre] = norms, norms[[0, -1]]
        name = f"{depth} layers, {'pre' if pre else 'post'}-norm"
        rows[name] = np.mean([run[1:] for run in found], axis=0)

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.8), sharey=True)
looks = {
    True: {"color": COPIED, "marker": "o", "label": "pre-norm"},
    False: {"color": GENERATED, "marker": "s", "ls": "--"}
    | {"label": "post-norm"},
}
for ax, depth in zip(axes, (2, 6, 12), strict=True):
    for pre, look in looks.items():
        ax.plot(range(1, depth + 1), runs[depth, pre], ms=4, **look)
    ticks = sorted({1, (depth + 1) // 2, depth})
    ax.set(xlabel="layer", title=f"{depth} layers", xticks=ticks)
axes[0].set(ylabel="gradient norm at the start", ylim=(0, None))
axes[0].legend(loc="lower left")
pre, post = ends[12, True], ends[12, False]
show(
    fig,
    alt="Gradient norm of each layer's feed-forward weights at "
    "initialisation, for 2, 6 and 12 layers. With 12 layers, from first to "
    f"last: pre-norm {pre[0]:.2f} to {pre[1]:.2f}, post-norm {post[0]:.2f} "
    f"to {post[1]:.2f}.",
    caption="Gradient norm of one matrix in each layer, the first of its "
    "feed-forward network, before training. Mean of two seeds.",
)

# %%
heads = ["gradient norm, bottom / top", "cosine, bottom and top"]
heads += ["spread of the output"]
rows = pd.DataFrame(rows, index=heads).T
rows.round(2)

# %% tags=["hide-input"]
deep, pre = (rows.loc[f"12 layers, {kind}-norm"] for kind in ("post", "pre"))
Markdown(
    "The first two columns follow the gradient of the visit vectors, the "
    "subject of equation (6.4). Its norm does not vanish: after twelve "
    f"post-norm layers it is {deep[heads[0]]:.1f} times what it was at the "
    "top. The side roads through $h$ make up for most of what the direct "
    "road loses. Its *direction* is lost: in twelve post-norm layers the "
    "cosine is "
    f"{deep[heads[1]]:.2f}, in twelve pre-norm layers still "
    f"{pre[heads[1]]:.2f}. With two layers, as in our model, it is "
    f"{rows[heads[1]].iloc[1]:.2f} and {rows[heads[1]].iloc[0]:.2f}."
)

# %% [markdown]
# Pre-norm has a price. Nothing stops the sum from growing (third column). So what a later layer adds counts for
# less, and the gradient of its weights gets *smaller* (figure). In post-norm, gradients stay
# large near the output. [Xiong et al. (2020)](https://arxiv.org/abs/2002.04745) prove this, and use it to explain why
# post-norm needs a warm-up, a start with small steps that grow ([Training](10_training.ipynb); exercise 4).
#
# ## The encoder
#
# Now we have all its parts.


# %%
def layer(x, w, padding, n_heads):
    norm = w["norm_attention.weight"], w["norm_attention.bias"]
    attended, weights = attention(normed(x, *norm), w, padding, n_heads)
    x = x + attended  # (B, L, D)
    norm = w["norm_feedforward.weight"], w["norm_feedforward.bias"]
    hidden = gelu(linear(normed(x, *norm), w, "feedforward.0"))
    return x + linear(hidden, w, "feedforward.3"), weights


def encoder(x, w, padding, n_heads, n_layers=2):
    x, seen = x + waves(x.shape[1], x.shape[2], x.dtype), []
    for k in range(n_layers):
        x, weights = layer(x, of_layer(w, k), padding, n_heads)
        seen.append(weights)
    return x, seen


# %% [markdown]
# | step | shape |
# |---|---|
# | input, plus sinusoids | (B, L, D) |
# | queries, keys, values | (B, H, L, D / H) each |
# | scores and weights | (B, H, L, L) |
# | weighted values, heads joined, mixed | (B, L, D) |
# | feed-forward, inside | (B, L, F) |
# | output | (B, L, D) |
#
# Does our encoder compute the same as the package's? And the same as PyTorch's? We copy the same weights into
# `nn.TransformerEncoder` and compare all three, on many windows with padding.

# %%
RENAME = {
    "attention.project.": "self_attn.in_proj_",
    "attention.out.": "self_attn.out_proj.",
    "norm_attention.": "norm1.",
    "norm_feedforward.": "norm2.",
    "feedforward.0.": "linear1.",
    "feedforward.3.": "linear2.",
}


def rename(name):
    for ours, theirs in RENAME.items():
        name = name.replace(ours, theirs)
    return name


c = model.config
options = {"activation": "gelu", "batch_first": True, "norm_first": True}
block = nn.TransformerEncoderLayer(D, H, c.d_feedforward, **options)
pytorch = nn.TransformerEncoder(block, c.n_layers, enable_nested_tensor=False)
pytorch.eval().load_state_dict({rename(name): t for name, t in W.items()})
print(f"{len(W)} tensors copied")

# %%
many = data.test.batch(np.arange(0, len(data.test), 20))
padding, inside = many.padding, ~many.padding
for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    w = {name: tensor.to(dtype) for name, tensor in W.items()}
    package = copy.deepcopy(model.encoder).to(dtype)
    package.positions = waves(c.max_len, D, dtype)  # see the pitfall below
    embedded = model.embeddings(many).to(dtype)
    ours, _ = encoder(embedded, w, padding, H)
    theirs, _ = package(embedded, padding)
    placed = embedded + waves(embedded.shape[1], D, dtype)
    with torch.no_grad():
        torchs = copy.deepcopy(pytorch).to(dtype)
        torchs = torchs(placed, src_key_padding_mask=padding)
    size = ours.abs().max()  # relative to the largest number
    gaps = [((ours - theirs).abs().max() / size).item()]
    gaps += [((ours - torchs)[inside].abs().max() / size).item()]
    assert max(gaps) <= tolerance
    print(f"{dtype}: to pgt {gaps[0]:.1e}, to PyTorch's {gaps[1]:.1e}")

# %% [markdown]
# So the three encoders are one function.
#
# > **Pitfall.** Delete the line that replaces `package.positions`, and the comparison in 64 bits fails at
# > the eighth digit. The sinusoids were rounded to 32 bits when the model was built, and `.double()` widens a
# > number without giving back its digits.
# > A precision test must cover the constants that a module computes for itself, too.
#
# ## The forgotten mask
#
# What if somebody forgets `masked_fill`? Padding embeds to zeros. Is it therefore neutral? No. The bias of the
# projection, LayerNorm and the sinusoids make it a vector like any other, and even a score of exactly 0
# gets weight $e^0 = 1$. Nothing crashes. But how much padding a window gets depends on
# the longest window in its batch: on *strangers*. We predict the story window together with ever longer windows.


# %%
class Forgetful(nn.Module):
    """The package's encoder, with padding taken for visits."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x, padding, weights=False):
        return self.encoder(x, torch.zeros_like(padding), weights)


forgetful = copy.deepcopy(model)
forgetful.encoder = Forgetful(forgetful.encoder)
by_length = np.argsort(data.test.lengths, kind="stable")
as_long = np.searchsorted(data.test.lengths[by_length], L)
steps = np.linspace(as_long, len(by_length) - 1, 25).astype(int)
longest = data.test.lengths[by_length[steps]]
curves = {"with the mask": [], "without": []}
for other in by_length[steps]:
    company = data.test.batch([i, other])
    for name, predictor in zip(curves, (model, forgetful), strict=True):
        p = predictor(company).log_probs[0].exp()
        curves[name].append(100 * p[company.target[0]].item())
assert np.ptp(curves["with the mask"]) < 1e-3

# %% tags=["hide-input"]
masked, unmasked = curves["with the mask"], curves["without"]
fig, ax = plt.subplots(figsize=(6.6, 2.9))
ax.plot(longest, masked, "o-", color=TRUTH, ms=4, label="with the mask")
ax.plot(longest, unmasked, "s--", color=GENERATED, ms=4, label="without")
ax.set_xlabel(f"length of the other window in the batch (ours has {L})")
ax.set_ylabel("probability of\nour true next place (%)")
ax.legend()
show(
    fig,
    alt="Probability of the story window's true next place by the length of "
    "the other window in the batch. With the mask it is constant at "
    f"{masked[0]:.1f} per cent; without it lies between {min(unmasked):.1f} "
    f"and {max(unmasked):.1f}.",
    caption="The same window and model; only the other window in the batch "
    "changes. Here the bug "
    f"{'raises' if np.mean(unmasked) > masked[0] else 'lowers'} the true "
    "place's probability.",
)

# %% [markdown]
# Now the whole test set, in shuffled batches of 128.

# %%
torch.manual_seed(0)
rng, moved, flipped, hits = np.random.default_rng(0), [], [], []
shuffled = rng.permutation(len(data.test))
for start in range(0, len(shuffled), 128):
    part = data.test.batch(shuffled[start : start + 128])
    right, wrong = model(part).log_probs, forgetful(part).log_probs  # (B, V)
    moved.append((right.exp() - wrong.exp()).abs().sum(1) / 2)
    answers = torch.stack([right.argmax(1), wrong.argmax(1)])  # (2, B)
    flipped.append(answers[0] != answers[1])
    hits.append(answers == part.target)
moved = 100 * torch.cat(moved).mean()
flipped = 100 * torch.cat(flipped).float().mean()
hits = 100 * torch.cat(hits, dim=1).float().mean(1)
percent = {
    "probability that moves from place to place": moved,
    "windows with another first answer": flipped,
    "Acc@1 with the mask": hits[0],
    "Acc@1 without it": hits[1],
}
pd.Series(percent, name="%").astype(float).round(1).to_frame()

# %% [markdown]
# > **Pitfall.** Compare the last two numbers with the share of changed answers. Accuracy alone may hardly
# > notice this bug, because some answers change for the better. A sure test costs three lines: predict one
# > window alone and beside a longer one, and demand the same output.
#
# ## Who looks at whom
#
# The weights below are ours; the assertion says that the package's prediction used the same.

# %%
_, seen = encoder(x, W, batch.padding, H)
used = model(batch, attention=True).self_attention  # by the package
for ours, theirs in zip(seen, used, strict=True):
    assert torch.allclose(ours, theirs, atol=1e-6)

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, H, figsize=(7.4, 3.9), sharex=True, sharey=True)
biggest = max(float(w.max()) for w in seen)
ticks, labels = range(0, L, 5), range(1, L + 1, 5)
for k, row in enumerate(axes):
    for h, ax in enumerate(row):
        image = ax.imshow(
            seen[k][0, h], cmap=SEQUENTIAL, vmin=0, vmax=biggest
        )
        ax.set_title(f"layer {k + 1}, head {h + 1}", fontsize=9)
        ax.grid(visible=False)
        ax.set_xticks(ticks, labels)
        ax.set_yticks(ticks, labels)
fig.supxlabel("visit looked at", fontsize=9)
fig.supylabel("visit that looks", fontsize=9)
fig.colorbar(image, ax=axes, label="attention", shrink=0.8)
show(
    fig,
    alt=f"Eight matrices of {L} by {L} attention weights, one a head. The "
    f"largest weight is {biggest:.2f}; attending evenly would be "
    f"{1 / L:.2f}.",
    caption="Each row sums to one. Bright columns are visits that many "
    "others look at.",
)

# %% [markdown]
# Do heads specialise? The next table puts each head into numbers. The first column is $e^{\text{entropy}}$,
# the number of visits that a row looks at in effect. The others are in units of even attention: 1 means "as
# much as if all visits got the same".

# %%
location = batch.location[0]
alike = location[:, None] == location  # (L, L)
off = ~torch.eye(L, dtype=torch.bool)
rows = {}
for k, layer_weights in enumerate(seen):
    for h, w in enumerate(layer_weights[0]):  # (L, L)
        entropy = float(-(w * w.log()).sum(-1).mean())
        rows[f"layer {k + 1}, head {h + 1}"] = {
            "effective visits": math.exp(entropy),
            "on itself": L * w.diagonal().mean().item(),
            "on other visits, same place": L * w[alike & off].mean().item(),
            "on other places": L * w[~alike].mean().item(),
            "on the last visit": L * w[:-1, -1].mean().item(),
        }
rows = pd.DataFrame(rows).T
rows.round(2)

# %% tags=["hide-input"]
ratio = rows["on other visits, same place"] / rows["on other places"]
Markdown(
    f"In effect each head looks at {rows['effective visits'].min():.0f} to "
    f"{rows['effective visits'].max():.0f} of the {L} visits: the heads "
    "mostly average. Another visit to the same place gets "
    f"{ratio.min():.1f} to {ratio.max():.1f} times the attention of a visit "
    "elsewhere. One window is an anecdote, though; exercise 2 counts over "
    "many."
)

# %% [markdown]
# What is the *choosing* worth, on all windows? Three operations on the trained model:
#
# - *Even attention* erases the queries. All scores are 0, and every head takes the plain mean over the window.
# - *No attention* silences it altogether. No visit hears of another, and the last vector, from which the pointer
#   makes its query, knows only its own visit.
# - *No encoder* silences the feed-forward networks as well, so that the encoder only adds sinusoids.


# %%
def operated(kind):
    patient = copy.deepcopy(model)
    for part in patient.encoder.layers:
        if kind == "even attention":  # the queries are the first D rows
            project = part.attention.project
            project.weight[:D] = project.bias[:D] = 0
        if kind in ("no attention", "no encoder"):
            out = part.attention.out
            out.weight[:] = out.bias[:] = 0
        if kind == "no encoder":  # x + 0 + 0
            second = part.feedforward[3]
            second.weight[:] = second.bias[:] = 0
    return patient


class Listener:
    """Scores as a model does, and writes down -log P of the truth."""

    def __init__(self, model):
        self.model, self.paid = model, []

    def scores(self, batch):
        log_p = self.model(batch).log_probs  # (B, V)
        self.paid.append(-log_p.gather(1, batch.target[:, None]))
        return log_p


# %%
kinds = ["as trained", "even attention", "no attention", "no encoder"]
before, ends, rows = {}, {}, {}
for split, kind in itertools.product(["valid", "test"], kinds):
    listener = Listener(operated(kind))
    ranks = evaluate(listener, getattr(data, split))
    known = before.setdefault(split, ranks)  # as trained
    ends[split, kind] = interval(ranks, against=known)  # over people
    other = 100 * (ranks.predicted != known.predicted).mean()
    loss = torch.cat(listener.paid).mean().item()
    gap = between(*ends[split, kind]) if kind != "as trained" else "–"
    row = [accuracy(ranks), gap, round(other, 1), round(loss, 2)]
    rows[split, kind] = row
heads = ["Acc@1 (%)", "difference, 95 % interval"]
heads += ["other first answer (%)", "−log P of the truth"]
rows = pd.DataFrame(rows, index=heads).T
rows.astype({heads[0]: float}).round(1)

# %% tags=["hide-input"]
changed, cost = rows[heads[2]]["test"], rows[heads[3]]["test"]
lost = {k: -min(ends[part, k][0] for part in before) for k in kinds}
better = (
    ends["test", "no attention"][0] > 0 > ends["valid", "no attention"][0]
)
no_gain = "is ahead on test, but not on valid, so we claim no gain."
adds = any(high < 0 for _, high in ends.values())
Markdown(
    f"Without its encoder the model changes {changed['no encoder']:.0f} "
    "% of its first answers on test. So its predictions do depend on the "
    f"encoder. {'It adds' if adds else 'We cannot show that it adds'} "
    "*quality*. On both splits the intervals exclude a loss of "
    f"more than {lost['no attention']:.1f} points for attention, and of more "
    f"than {lost['no encoder']:.1f} for the whole encoder. $-\\log P$ of the "
    f"true place is {cost['as trained']:.2f} as trained and "
    f"{cost['no encoder']:.2f} without encoder (low is good). "
    + (f"The model without attention {no_gain}" if better else "")
)

# %% [markdown]
# The pointer compares the last visit with all others anyway, and adds up the weights of visits to the same place. The bright spots in the
# picture are real weights, but the model predicts about as well without them.
# That is a finding about one model of one simulated town. It may come out differently where the next place depends
# on longer patterns, or with more data.
#
# ## What to remember
#
# - Attention alone does not see the order of visits. Sinusoids and the position from the end put it into the vectors; this
#   model is right about as often without them.
# - $\sqrt d$ keeps the variance of scores at one. The mask goes in before the softmax, on the columns.
# - Without the mask, strangers change your prediction, and accuracy hardly tells you.
# - Pre-norm keeps more of the gradient's direction. In post-norm its norm does not vanish, at least not at these depths.
# - An attention map is a picture of weights. Replace them by their mean, or by nothing, before you believe that
#   they matter. Count how many answers are right, not how many change.
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
size = sum(t.numel() for t in first.values())
check.same(formula, size, name="parameters of a layer")
check.exercise("6.1", formula)
# The number of heads is not in it: heads divide the width,
# they do not add to it.

# %% [markdown]
# **Exercise 2** (medium). Do heads find repetitions? Over the windows of `many`, compare the mean attention on
# *other visits to the same place* with that on other places, per head. Leave out padding and the visit
# itself.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
_, seen_many = encoder(model.embeddings(many), W, many.padding, H)
pair = inside[:, :, None] & inside[:, None, :]
pair &= ~torch.eye(many.location.shape[1], dtype=torch.bool)
repeat = many.location[:, :, None] == many.location[:, None, :]  # (B, L, L)
table = {}
for k, s in enumerate(seen_many):
    even = s * many.length[:, None, None, None]  # 1 = even attention
    for h in range(H):
        table[f"layer {k + 1}, head {h + 1}"] = {
            "same place": even[:, h][pair & repeat].mean().item(),
            "other place": even[:, h][pair & ~repeat].mean().item(),
        }
table = pd.DataFrame(table).T
table["ratio"] = table["same place"] / table["other place"]
print(
    f"the same place gets {table.ratio.min():.2f} to "
    f"{table.ratio.max():.2f} times the attention of another"
)
# No: a head that looked for repetitions would have a ratio well above 1.
table.round(2)

# %% [markdown]
# **Exercise 3** (longer). A shift of positions is a rotation. Find a matrix $M_k$ with $\psi_{t+k} = M_k\, \psi_t$
# for *every* $t$, and check it. What follows for a query that wants "three visits before me"?

# %% tags=["try"]
exact = waves(100, D, torch.float64)


def my_shift(k, width):
    """The (width, width) matrix that moves a row of `waves` by k."""
    return ...


def moved(k):
    matrix = my_shift(k, D)
    return matrix if matrix is ... else exact[:-k] @ matrix.T


check.function(moved, lambda k: exact[k:], (1,), (3,), (40,))


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def shift(k, width):
    exponent = torch.arange(0, width, 2, dtype=torch.float64) / width
    omega = 10000.0 ** (-exponent)
    c, s = (omega * k).cos(), (omega * k).sin()
    top, bottom = torch.stack([c, s], -1), torch.stack([-s, c], -1)
    turns = torch.stack([top, bottom], -2)  # (d / 2, 2, 2)
    return torch.block_diag(*turns)  # (d, d)


for k in (1, 3, 40):
    shifted = exact[:-k] @ shift(k, D).T
    check.same(shifted, exact[k:], name=f"shift by {k}", atol=1e-9)
# One fixed matrix serves all positions. So a head can put M into its query
# matrix, and then q' k is largest for the visit three before, wherever it
# stands. Relative position is within reach of a linear map.

# %% [markdown]
# **Exercise 4** (project). Does post-norm need a warm-up? Ask a toy task first: name the place that comes twice among six.
# Train encoders of six layers, of both kinds, with and without a warm-up, at the learning rate 0.01. Is there a rate at
# which neither needs one? Then ask the city, with three seeds, and fix beforehand what you compare.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def toy(pre_norm, warmup, rate=0.01, depth=6, width=32, steps=60):
    torch.manual_seed(0)
    options = {"batch_first": True, "norm_first": pre_norm}
    block = nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", **options)
    layers = nn.TransformerEncoder(block, depth, enable_nested_tensor=False)
    for p in layers.parameters():
        if p.ndim == 2:  # layers that start apart
            nn.init.xavier_uniform_(p)
    ends = nn.LayerNorm(width), nn.Linear(width, 20)
    net = nn.Sequential(nn.Embedding(20, width), layers, *ends)
    optimizer = torch.optim.AdamW(net.parameters())
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / warmup)
        ids = torch.rand(64, 20).argsort(1)[:, :6]  # six different places
        ids[:, -1] = ids[:, 0]  # the last repeats the first
        loss = nn.functional.cross_entropy(net(ids).mean(1), ids[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses[-10:])


table = {}
for kind, pre in (("pre-norm", True), ("post-norm", False)):
    table[kind] = {"no warm-up": toy(pre, 1), "of 30 steps": toy(pre, 30)}
table = pd.DataFrame(table).rename_axis("loss, last ten steps")
for kind, (without_it, with_it) in table.items():
    print(
        f"{kind}: the warm-up changes the loss by {with_it - without_it:+.2f}"
    )
# At this rate the warm-up helps post-norm: without it, the loss is no better
# than a guess among the five places of a window, log 5 = 1.6. Pre-norm does
# as well without. At a third of the rate both do: try toy(False, 1, 0.003).
# This is one seed and one task. For the city, train three seeds of each.
table.round(2)

# %% [markdown]
# **Next:** [The pointer](07_pointer.ipynb), which asks the encoder's last vector: which of these visits would you
# copy?
