# %% [markdown]
# # Position and encoder
#
# *You will be able to* write a Transformer encoder from softmax and matrix products, explain each of its parts,
# and catch the mask bug that lets strangers change your prediction. *You need* [Embeddings](05_embeddings.ipynb).
# *It takes* thirty minutes to read and about twenty seconds to run, with or without a GPU.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import copy
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from pgt import city
from pgt.checkpoint import load_model, shipped
from pgt.exercises import check
from pgt.intervals import interval
from pgt.look import story
from pgt.metrics import evaluate, summarize
from pgt.viz.figures import COPIED, GENERATED, INK, MUTED, SEQUENTIAL, TRUTH, show
from pgt.windows import prepare

town = city.load()
data = prepare(town.visits, protocol="exact")
model, _ = load_model(shipped("city"))
model.eval().requires_grad_(False)
D, H = model.config.d_model, model.config.n_heads
i = story(data.test)
batch = data.test.batch([i])
L = int(batch.length[0])
names = town.places.set_index("location_id").name[data.test.visits_of(i).location_id]
x = model.embeddings(batch)  # (1, L, D) what the last chapter ended with
print(f"{L} visits, D = {D}, H = {H} heads")

# %% [markdown]
# After the embeddings each visit is a vector that knows only its own visit. It does not know that the same
# place came two days earlier, or that the day has just begun. In the **encoder** the visits look at each
# other. The tool is **attention**: each visit takes a weighted mean over all visits, and chooses the
# weights itself.
#
# ## Without positions, order is lost
#
# The barest attention weighs by likeness. Visit $i$ gives visit $j$ a weight that grows with $x_i^\top x_j$.
# The weights of each row are made positive and sum to one by a softmax. Now permute the visits.

# %%
def bare(x):
    return (x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])).softmax(-1) @ x  # (1, L, D)


place = model.embeddings.tables["location"](batch.location)  # (1, L, D) places only
torch.manual_seed(0)
order = torch.randperm(L)
assert torch.allclose(bare(place)[:, order], bare(place[:, order]), atol=1e-6)
rest = torch.cat([order[order != L - 1], torch.tensor([L - 1])])  # shuffled, last stays last
same_last = (bare(place[:, rest])[0, -1] - bare(place)[0, -1]).abs().max()
print(f"the last visit's output moves by {same_last:.1e} when the others are shuffled")

# %% [markdown]
# Permuted in, permuted out, and nothing else. Home–work–café and café–work–home are the same to it. The
# order must be written into the vectors.
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
    t = torch.arange(n, dtype=torch.float64)[:, None]                  # (n, 1)
    omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)    # (d / 2,)
    table = torch.zeros(n, d, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = (t * omega).sin(), (t * omega).cos()
    return table.to(dtype)


S = waves(60, D)
dots = S @ S.T                                                         # (60, 60)
for k in range(60):
    assert torch.diagonal(dots, k).std(correction=0) < 1e-4  # constant along diagonals

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.0), width_ratios=[3, 2])
left.imshow(S, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
left.set(xlabel="coordinate", ylabel="position", title="The sinusoids")
left.grid(visible=False)
right.plot(dots[0], color=INK)
right.set(xlabel="distance in positions", ylabel="dot product", ylim=(0, None),
          title="Only distance counts")
show(fig,
     alt=f"Left, an image of sines and cosines, fast on the left and slow on the right. Right, the dot product of two "
     f"positions by their distance: {dots[0, 0]:.0f} at 0, falling with ripples to {dots[0, 59]:.0f} at 59.",
     caption="Red and blue: −1 and 1. The dot product of two positions depends on their distance alone.")

# %% [markdown]
# The right panel is trigonometry, the formula for the cosine of a difference: $\psi_t^\top \psi_{t'} = \sum_k \cos(\omega_k (t - t'))$.
# Every vector has the same length $\sqrt{D/2}$, and near positions are alike:
# unlike the learned tables of the last chapter, this geometry is built in.
#
# Counting starts at the *oldest* visit. So what number does the most important visit get, the last one?

# %%
lengths = np.sort(data.test.lengths)[[0, len(data.test) // 2, -1]]
pd.DataFrame({"visits in the window": lengths, "sinusoid row of the last visit": lengths - 1,
              "its position from the end": 1}).set_axis(["shortest", "median", "longest"])

# %% [markdown]
# Any number at all, depending on how busy the week was. The embedding "position from the end" calls it 1,
# always. Two rulers, laid at opposite ends. Does the model need both? Take them away from the trained
# model, one at a time.

# %%
trained = evaluate(model, data.test)


def without(ruler):
    patient = copy.deepcopy(model)
    if ruler in ("sinusoid", "both"):
        patient.encoder.positions.zero_()
    if ruler in ("position from end", "both"):
        table = patient.embeddings.tables["position_from_end"].weight
        table[1:] = table[1:11].mean(0)  # one answer for all: the ten newest, averaged
    return evaluate(patient, data.test)


rulers = {"nothing": trained} | {n: without(n) for n in ("sinusoid", "position from end", "both")}
pd.Series({name: summarize(ranks, ["all"])["acc@1"].iloc[0] for name, ranks in rulers.items()},
          name="Acc@1 (%)").round(1).rename_axis("taken away").to_frame()

# %% [markdown]
# Read it with care: a model that had been *trained* without a ruler would have learned to do without (the
# pointer has a position bias of its own, for one). Surgery shows what this model relies on, not what the
# part is worth.
#
# ## Attention by hand
#
# Likeness is too crude a question. So each visit makes three vectors of its own: a **query** (what do I
# look for?), a **key** (what do I offer to be found by?) and a **value** (what do I say when asked?), each
# by a matrix that is learned:
#
# $$
# \begin{aligned}
# Q &= X W_Q, \quad K = X W_K, \\
# A &= \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}}\Big), \quad \text{output} = A\, (X W_V) .
# \end{aligned} \tag{6.2}
# $$
#
# The rows of $X$ are the vectors of the visits; $X W_V$ are the values. (The literature calls them $V$, which is our
# number of locations.) Row $i$ of $A$ says how visit $i$ divides its attention. We take the trained weights of the first layer,
# and the first of its heads, of width $d = D / H$.

# %%
W = {name: tensor.clone() for name, tensor in model.encoder.state_dict().items()}
first = {name.removeprefix("layers.0."): t for name, t in W.items() if "layers.0." in name}


def normed(x, scale, shift):                                           # equation (5.3)
    x = x - x.mean(-1, keepdim=True)
    return scale * x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-5) + shift


d = D // H
y = normed(x + waves(L, D), first["norm_attention.weight"], first["norm_attention.bias"])
qkv = y @ first["attention.project.weight"].T + first["attention.project.bias"]  # (1, L, 3 D)
Q, K, values = (part[0, :, :d] for part in qkv.split(D, dim=-1))  # each (L, d), head 0
scores = Q @ K.T / math.sqrt(d)                                        # (L, L)
A = scores.exp() / scores.exp().sum(-1, keepdim=True)  # softmax, by hand
pd.DataFrame({"visit": names.to_numpy(), "attention of the last visit": A[-1].numpy().round(3)})

# %% [markdown]
# ## Why divide by √d?
#
# Let the coordinates of a query and a key be independent, with mean 0 and variance 1. Each product of two
# has variance 1, and the sum of $d$ of them has variance $d$. Scores of size $\sqrt d$ go into an
# exponential. With large $d$, one weight takes all, and the gradient of a softmax that has made up its mind
# is nearly zero. Dividing by $\sqrt d$ keeps the variance at 1 for every $d$.

# %%
torch.manual_seed(0)
widths = [4, 8, 16, 32, 64, 128, 256, 512]
spread, top = {}, {True: [], False: []}
for width in widths:
    q, k = torch.randn(4000, 1, width), torch.randn(4000, 12, width)
    s = (q * k).sum(-1)  # (4000, 12) 12 keys
    spread[width] = s.var().item()
    for scaled in top:
        top[scaled].append((s / math.sqrt(width) if scaled else s).softmax(-1).amax(-1).mean())
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.8))
left.loglog(widths, list(spread.values()), "o", color=INK, label="measured")
left.loglog(widths, widths, color=MUTED, label="variance = d")
left.set(xlabel="width d", ylabel="variance of qᵀk", xticks=[4, 32, 256], xticklabels=[4, 32, 256])
right.semilogx(widths, top[False], "s--", color=GENERATED, label="qᵀk")
right.semilogx(widths, top[True], "o-", color=COPIED, label="qᵀk / √d")
right.set(xlabel="width d", ylabel="largest of 12 weights, mean", ylim=(0, 1),
          xticks=[4, 32, 256], xticklabels=[4, 32, 256])
for ax in (left, right):
    ax.legend()
    ax.minorticks_off()
show(fig,
     alt=f"Left: the variance of the dot product follows the line variance = d. Right: without scaling the largest of "
     f"12 weights grows to {top[False][-1]:.2f} at d = 512; with scaling it stays near {top[True][-1]:.2f}.",
     caption="Random queries and keys. Unscaled, attention turns into a hard choice before anything is learned.")

# %% [markdown]
# ## Heads, and the mask
#
# One softmax makes one choice. To look for "the same place" and for "the same hour" at once, split the $D$
# numbers into $H$ **heads** of $D / H$, let each attend by itself, put the results side by side and mix
# them by one more matrix. It costs the same as one wide head.
#
# Windows in a batch differ in length. The short ones are padded, and padding must get weight exactly 0. So
# its scores become $-\infty$ *before* the softmax, as $e^{-\infty} = 0$.

# %%
def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def attention(x, w, padding, n_heads):
    """(B, L, D), padding (B, L) -> (B, L, D) and weights (B, H, L, L)."""
    b, n, width = x.shape
    split = linear(x, w, "attention.project").view(b, n, 3, n_heads, width // n_heads)
    q, k, v = split.permute(2, 0, 3, 1, 4)  # each (B, H, L, d)
    s = q @ k.transpose(-2, -1) / math.sqrt(width // n_heads)          # (B, H, L, L)
    s = s.masked_fill(padding[:, None, None, :], -math.inf)  # the *columns* of padding
    weights = s.softmax(-1)
    mixed = (weights @ v).transpose(1, 2).reshape(b, n, width)  # heads side by side
    return linear(mixed, w, "attention.out"), weights


_, weights = attention(y, first, batch.padding, H)
assert torch.allclose(weights[0, 0], A, atol=1e-6)  # head 0 is the one by hand

# %% [markdown]
# > **Note.** A mask for *time*, which lets visit $t$ see only visits $t' \le t$, is another matter; here
# > all visits lie in the past, and each may see all. The design documents' notebook on the subject prints a
# > formula with 0 for $t < t'$ and $-\infty$ otherwise, while its code allows $t \ge t'$. The code is
# > right.
#
# What if *everything* in a row is masked? Then the softmax divides 0 by 0.

# %%
nothing = torch.full((1, 4), -math.inf).softmax(-1)
empty = torch.cat([batch.padding, torch.ones_like(batch.padding)])  # a second window of padding
poisoned, _ = attention(y.expand(2, -1, -1), first, empty, H)
print("softmax of nothing:", nothing.tolist()[0])
print("NaN in the good window:", bool(poisoned[0].isnan().any()),
      "| in the empty one:", bool(poisoned[1].isnan().any()))

# %% [markdown]
# The good window survives. But the mean loss of the batch is NaN, then every gradient, and after one step
# every weight. One empty window kills the model. `pgt` therefore asks for at least one visit in each
# window.
#
# ## GELU and the feed-forward network
#
# Attention moves information between visits. The **feed-forward** network then works on each visit by
# itself: to a wider space, a bend, and back. The bend is **GELU** ([Hendrycks and Gimpel,
# 2016](https://arxiv.org/abs/1606.08415)), $x\,\Phi(x)$, with $\Phi$ the normal distribution function. Many
# codes use a tanh formula in its place, from days when the error function was slow. Is it the same?

# %%
def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


t = torch.linspace(-5, 5, 20001, dtype=torch.float64)
assert torch.allclose(gelu(t), nn.functional.gelu(t), atol=1e-12)
gap = gelu_tanh(t) - gelu(t)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.6))
left.plot(t, gelu(t), color=INK, label="GELU")
left.plot(t, t.clamp(min=0), "--", color=MUTED, label="ReLU")
left.legend()
left.set(xlabel="x", xlim=(-4, 4), ylim=(-0.5, 4))
right.plot(t, 1e4 * gap, color=GENERATED)
right.set(xlabel="x", ylabel="tanh formula − exact (10⁻⁴)")
show(fig,
     alt=f"Left, GELU, a smooth ReLU with a shallow dip below zero. Right, the error of the tanh formula; its largest "
     f"size is {gap.abs().max():.5f}, at x = {t[gap.abs().argmax()].abs():.2f} and its mirror image.",
     caption="GELU, and what the tanh formula gets wrong.")

# %% [markdown]
# The error is far below what anybody would notice in training, and far above the rounding of a float. If
# you copy weights from one code to another and the outputs agree to three digits only, look here first.
#
# ## Residuals, and where to normalise
#
# Neither part replaces its input. Each *adds* to it, $x + h(x)$: the **residual connection**. The question
# is where LayerNorm goes.
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
# The products run over the layers. $J_n$ is the matrix of derivatives (Jacobian) of what layer $n$ *adds*, and
# $J^{\text{LN}}_n$ that of its LayerNorm. Multiply out. In pre-norm one term is $I$: a road on which the gradient arrives unchanged, at any depth.
# In post-norm every road passes a LayerNorm a layer, and each divides by the length of its input: if $h$
# adds variance $v$ to a vector of variance 1, the direct road shrinks by $1 / \sqrt{1 + v}$ a time. "So in
# post-norm the gradient vanishes", says many a text. Does it? Measure at initialisation. PyTorch's layer
# has a switch.

# %%
def at_start(depth, pre_norm, seed):
    """Gradient norm of each layer; cosine of the gradient at bottom and top."""
    torch.manual_seed(seed)
    h = [nn.functional.layer_norm(torch.randn(64, 12, D), (D,)).requires_grad_()]
    norms = []
    layers = [nn.TransformerEncoderLayer(D, H, 128, 0.0, "gelu", batch_first=True,
                                         norm_first=pre_norm) for _ in range(depth)]
    for layer in layers:
        for p in layer.parameters():
            if p.ndim == 2:
                nn.init.xavier_uniform_(p)          # as the original Transformer begins
        h.append(layer(h[-1]))
        h[-1].retain_grad()
    logits = nn.functional.layer_norm(h[-1], (D,))[:, -1] @ torch.randn(D, 100) / D**0.5
    nn.functional.cross_entropy(logits, torch.randint(100, (64,))).backward()
    norms = [layer.linear1.weight.grad.norm().item() for layer in layers]
    kept = nn.functional.cosine_similarity(h[0].grad[:, -1], h[-1].grad[:, -1], dim=1)
    return norms, kept.mean().item(), h[-1].std().item()


runs = {(depth, pre): [at_start(depth, pre, seed) for seed in range(2)]
        for depth in (2, 6, 12) for pre in (True, False)}

# %%
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.8), sharey=True)
for ax, depth in zip(axes, (2, 6, 12), strict=True):
    for pre, colour, style in ((True, COPIED, "o-"), (False, GENERATED, "s--")):
        norms = np.mean([norm for norm, _, _ in runs[depth, pre]], axis=0)
        ax.plot(range(1, depth + 1), norms, style, color=colour, ms=4,
                label="pre-norm" if pre else "post-norm")
    ax.set(xlabel="layer", title=f"{depth} layers", xticks=sorted({1, (depth + 1) // 2, depth}))
axes[0].set(ylabel="gradient norm at the start", ylim=(0, None))
axes[0].legend(loc="lower left")
ends = {k: np.mean([r[0] for r in v], axis=0)[[0, -1]] for k, v in runs.items()}
show(fig,
     alt="Gradient norm of each layer's feed-forward weights at initialisation, for 2, 6 and 12 layers. With 12 layers, "
     f"from first to last: pre-norm {ends[12, True][0]:.2f} to {ends[12, True][1]:.2f}, post-norm "
     f"{ends[12, False][0]:.2f} to {ends[12, False][1]:.2f}.",
     caption="Gradient norms by layer before the first step, mean of two seeds.")

# %%
pd.DataFrame({
    f"{depth} layers, {'pre' if pre else 'post'}-norm": {
        "gradient norm, first / last layer": ends[depth, pre][0] / ends[depth, pre][1],
        "cosine of the gradient, bottom and top": np.mean([k for _, k, _ in runs[depth, pre]]),
        "spread of the last layer's output": np.mean([s for _, _, s in runs[depth, pre]]),
    } for depth, pre in runs}).T.round(2)

# %% [markdown]
# Look at the first column before you repeat the textbook. What vanishes is not the norm: the side roads
# through $h$ make up for most of what the direct road loses. What the algebra really promises stands in the
# second column: how much of the *direction* of the gradient arrives. In pre-norm the
# bottom gets a good part of what the top gets. In deep post-norm the message has been stirred at
# every layer.
#
# And pre-norm has a price. Nothing stops the sum from growing (third column), so each later layer adds less
# to a longer vector, and its gradient gets *smaller*. That pre-norm gradients fall and post-norm ones stay
# large near the output is what [Xiong et al. (2020)](https://arxiv.org/abs/2002.04745) prove, and why
# post-norm needs a warm-up, a few epochs of tiny steps at the start ([Training](10_training.ipynb)). With the two layers that this model has, the two curves hardly differ. Depth
# makes the difference.
#
# ## The encoder
#
# All parts are there.

# %%
def layer(x, w, padding, n_heads):
    attended, weights = attention(
        normed(x, w["norm_attention.weight"], w["norm_attention.bias"]), w, padding, n_heads)
    x = x + attended                                                    # (B, L, D)
    y = normed(x, w["norm_feedforward.weight"], w["norm_feedforward.bias"])
    return x + linear(gelu(linear(y, w, "feedforward.0")), w, "feedforward.3"), weights


def encoder(x, w, padding, n_heads, n_layers=2):
    x, seen = x + waves(x.shape[1], x.shape[2], x.dtype), []
    for k in range(n_layers):
        mine = {n.removeprefix(f"layers.{k}."): t for n, t in w.items() if f"layers.{k}." in n}
        x, weights = layer(x, mine, padding, n_heads)
        seen.append(weights)
    return x, seen

# %% [markdown]
# | step | shape |
# |---|---|
# | input, plus sinusoids | (B, L, D) |
# | queries, keys, values | (B, H, L, D / H) each |
# | scores and weights | (B, H, L, L) |
# | weighted values, heads joined, mixed | (B, L, D) |
# | feed-forward, inside | (B, L, 128) |
# | output | (B, L, D) |
#
# Is it the package's encoder? And is that PyTorch's? We copy the same weights into `nn.TransformerEncoder`
# and compare all three, on many windows with padding.

# %%
RENAME = {"attention.project.": "self_attn.in_proj_", "attention.out.": "self_attn.out_proj.",
          "norm_attention.": "norm1.", "norm_feedforward.": "norm2.",
          "feedforward.0.": "linear1.", "feedforward.3.": "linear2."}


def rename(name):
    for ours, theirs in RENAME.items():
        name = name.replace(ours, theirs)
    return name


block = nn.TransformerEncoderLayer(D, H, model.config.d_feedforward, activation="gelu",
                                   batch_first=True, norm_first=True)
pytorch = nn.TransformerEncoder(block, model.config.n_layers, enable_nested_tensor=False).eval()
pytorch.load_state_dict({rename(name): t for name, t in W.items()})
print(f"{len(W)} tensors copied")

# %%
many = data.test.batch(np.arange(0, len(data.test), 20))
inside = ~many.padding
for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    w = {name: tensor.to(dtype) for name, tensor in W.items()}
    package = copy.deepcopy(model.encoder).to(dtype)
    package.positions = waves(model.config.max_len, D, dtype)  # or float32 digits remain
    embedded = model.embeddings(many).to(dtype)
    ours, _ = encoder(embedded, w, many.padding, H)
    theirs, _ = package(embedded, many.padding)
    with torch.no_grad():
        torchs = copy.deepcopy(pytorch).to(dtype)(
            embedded + waves(embedded.shape[1], D, dtype), src_key_padding_mask=many.padding)
    size = ours.abs().max()  # relative to the largest number
    gaps = [((ours - theirs).abs().max() / size).item(),
            ((ours - torchs)[inside].abs().max() / size).item()]
    assert max(gaps) <= tolerance
    print(f"{dtype}: to pgt {gaps[0]:.1e}, to nn.TransformerEncoder {gaps[1]:.1e}")

# %% [markdown]
# Three encoders, one function.
#
# > **Pitfall.** Delete the line that replaces `package.positions`, and the comparison in 64 bits fails at
# > the eighth digit. The sinusoids had been rounded to 32 bits when the model was built, and `.double()` widens a number without giving back its digits.
# > Constants that a module computes for itself belong in a precision test too.
#
# ## The forgotten mask
#
# What if somebody forgets `masked_fill`? Padding embeds to zeros, so is it not neutral? No. The bias of the
# projection, LayerNorm and the sinusoids make it a vector like any other; and even a score of exactly 0
# gets weight $e^0 = 1$. Nothing crashes. Training goes well. But how much padding a window gets depends on
# the longest window in its batch: on *strangers*. We predict the story window once alone and then in
# company of ever longer windows.

# %%
class Forgetful(nn.Module):
    """The package's encoder, for a window without padding."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x, padding, weights=False):
        return self.encoder(x, torch.zeros_like(padding), weights)


forgetful = copy.deepcopy(model)
forgetful.encoder = Forgetful(forgetful.encoder)
by_length = np.argsort(data.test.lengths, kind="stable")
steps = np.linspace(np.searchsorted(np.sort(data.test.lengths), L), len(by_length) - 1, 25)
curves = {"with the mask": [], "without": []}
longest = [int(data.test.lengths[by_length[int(k)]]) for k in steps]
for k in steps:
    company = data.test.batch([i, by_length[int(k)]])
    for name, predictor in zip(curves, (model, forgetful), strict=True):
        p = predictor(company).log_probs[0].exp()
        curves[name].append(100 * p[company.target[0]].item())

# %%
fig, ax = plt.subplots(figsize=(6.6, 2.9))
ax.plot(longest, curves["with the mask"], "o-", color=TRUTH, ms=4, label="with the mask")
ax.plot(longest, curves["without"], "s--", color=GENERATED, ms=4, label="without")
ax.set(xlabel=f"length of the other window in the batch (ours has {L})",
       ylabel="probability of\nour true next place (%)")
ax.legend()
assert np.ptp(curves["with the mask"]) < 1e-3
low, high = min(curves["without"]), max(curves["without"])
show(fig,
     alt="Probability of the story window's true next place by the length of the other window in the batch. With the mask "
     f"it is constant at {curves['with the mask'][0]:.1f} per cent; without it lies between {low:.1f} and {high:.1f}.",
     caption="One window, one model. Only the company changes.")

# %%
torch.manual_seed(0)
rng, moved, flipped, hits = np.random.default_rng(0), [], [], []
shuffled = rng.permutation(len(data.test))
for start in range(0, len(shuffled), 128):
    part = data.test.batch(shuffled[start : start + 128])
    right, wrong = model(part).log_probs, forgetful(part).log_probs     # (B, V)
    moved.append((right.exp() - wrong.exp()).abs().sum(1) / 2)  # total variation
    flipped.append(right.argmax(1) != wrong.argmax(1))
    hits.append(torch.stack([right.argmax(1) == part.target, wrong.argmax(1) == part.target]))
hits = 100 * torch.cat(hits, dim=1).float().mean(1)
Markdown(
    f"Over the whole test set, in shuffled batches of 128: on average "
    f"**{100 * torch.cat(moved).mean():.1f} %** of the probability sits on other places than it should, "
    f"{100 * torch.cat(flipped).float().mean():.1f} % of the windows get another first answer, and Acc@1 goes "
    f"from {hits[0]:.1f} % to {hits[1]:.1f} %."
)

# %% [markdown]
# > **Pitfall.** Compare the last two numbers with the share of changed answers. Accuracy alone may hardly
# > notice this bug, since some answers change for the better. The sure test costs three lines: predict one
# > window alone and in company, and demand the same output.
#
# ## "Parallel, O(1)"
#
# The documents call self-attention "parallel, O(1)". That is its **depth**: any two visits meet after one
# step, while a recurrent network needs $L$ steps one after another. The **work** is not constant. Each
# layer spends $4 L D^2$ multiplications on projections, $2 L^2 D$ on scores and weighted sums, and $2 L D F$
# on the feed-forward network of width $F$.

# %%
F_ = model.config.d_feedforward
work = pd.DataFrame({n: {"projections": 4 * n * D**2, "scores and sums": 2 * n**2 * D,
                         "feed-forward": 2 * n * D * F_} for n in (L, 40, 150, 1000)}).T
work["share that is quadratic (%)"] = (100 * work["scores and sums"] / work.sum(axis=1)).round(1)
work.rename_axis("visits L")

# %% [markdown]
# The quadratic part overtakes the projections at $L = 2D$. For weeks of visits it is small change. For
# documents it is the bill.
#
# ## Who looks at whom
#
# At last the picture. The weights are ours, and the assertion says that the package's prediction used the same,
# mask and all.

# %%
_, seen = encoder(x, W, batch.padding, H)
used = model(batch, attention=True).self_attention           # of the package's prediction
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(seen, used, strict=True))
fig, axes = plt.subplots(2, H, figsize=(7.4, 3.9), sharex=True, sharey=True)
biggest = max(float(w.max()) for w in seen)
for k, row in enumerate(axes):
    for h, ax in enumerate(row):
        image = ax.imshow(seen[k][0, h], cmap=SEQUENTIAL, vmin=0, vmax=biggest)
        ax.set_title(f"layer {k + 1}, head {h + 1}", fontsize=9)
        ax.grid(visible=False)
        ax.set(xticks=range(0, L, 5), xticklabels=range(1, L + 1, 5),
               yticks=range(0, L, 5), yticklabels=range(1, L + 1, 5))
fig.supxlabel("visit looked at", fontsize=9)
fig.supylabel("visit that looks", fontsize=9)
fig.colorbar(image, ax=axes, label="attention", shrink=0.8)
entropy = [[float(-(w * w.log()).sum(-1).mean()) for w in s[0]] for s in seen]
show(fig,
     alt=f"Eight matrices of {L} by {L} attention weights, one a head. The largest weight is {biggest:.2f}; attending "
     f"evenly would be {1 / L:.2f}.",
     caption="Each row sums to one. Bright columns are visits that many others look at.")

# %%
location = batch.location[0]
alike = location[:, None] == location                                  # (L, L)
off = ~torch.eye(L, dtype=torch.bool)
pd.DataFrame({
    f"layer {k + 1}, head {h + 1}": {
        "effective visits": math.exp(entropy[k][h]),
        "on itself": w.diagonal().mean().item() * L,
        "on other visits, same place": w[alike & off].mean().item() * L,
        "on other places": w[~alike].mean().item() * L,
        "on the last visit": w[:-1, -1].mean().item() * L,
    } for k, s in enumerate(seen) for h, w in enumerate(s[0])}).T.round(2)

# %% [markdown]
# The first column is $e^{\text{entropy}}$, the number of visits that a row looks at in effect. The others
# are in units of even attention: 1 means "no more than any visit". Do heads specialise? If in some row
# "same place" is well above "other places", that head has learned to find repetitions. If all are near 1,
# the heads mostly average. One window is an anecdote, though. Exercise 2 counts over many.
#
# We can also ask the whole test set what the *choosing* is worth. Erase the queries: all scores are 0, and
# every head takes the plain mean over the window. Or silence attention altogether, so that no visit hears
# of another, and the last vector that the pointer asks with knows only its own visit.

# %%
def operated(kind):
    patient = copy.deepcopy(model)
    for part in patient.encoder.layers:
        if kind == "even attention":
            part.attention.project.weight[:D] = part.attention.project.bias[:D] = 0     # the queries
        if kind in ("no attention", "no encoder"):
            part.attention.out.weight[:] = part.attention.out.bias[:] = 0
        if kind == "no encoder":
            part.feedforward[3].weight[:] = part.feedforward[3].bias[:] = 0     # x + 0 + 0
    return {split: evaluate(patient, getattr(data, split)) for split in ("valid", "test")}


choosing = {"as trained": {"valid": evaluate(model, data.valid), "test": trained}}
choosing |= {kind: operated(kind) for kind in ("even attention", "no attention", "no encoder")}
rows = {}
for kind, ranks in choosing.items():
    low, high = interval(ranks["test"], against=choosing["as trained"]["test"])     # over people
    rows[kind] = {f"Acc@1, {split} (%)": summarize(ranks[split], ["all"])["acc@1"].iloc[0] for split in ranks}
    rows[kind] |= {"test difference, from": low, "to": high}
rows = pd.DataFrame(rows).T
rows.round(1)

# %% tags=["hide-input"]
def say(kind):
    change = [rows.loc[kind, column] - rows.loc["as trained", column] for column in rows.columns[:2]]
    low, high = rows.loc[kind, "test difference, from"], rows.loc[kind, "to"]
    return (f"{change[0]:+.1f} points on validation, {change[1]:+.1f} on test (95 % interval {low:+.1f} to {high:+.1f})")


Markdown(f"- The plain mean in place of learned weights: {say('even attention')}.\n"
         f"- No visit hears of another: {say('no attention')}.\n"
         f"- Both parts of both layers silenced, so that the encoder only adds sinusoids: {say('no encoder')}.")

# %% [markdown]
# We did not expect this, and ran it on both splits before we believed it. Read the differences beside the scatter between
# the splits: where one is up and the other down, there is nothing to explain. If no clear loss stands in the table, then
# what *this* trained model predicts hardly depends on its encoder. The comparison between visits is left
# to the pointer, which looks at all of them anyway, and to the sum over equal places. The bright spots in
# the picture are real weights, and decoration.
#
# That is a finding about one model of one simulated town. Where the next place hangs on longer patterns, or with more
# data, it may come out otherwise. The operation takes a second. Do it before you read meaning into a map.
#
# ## Summary
#
# - Attention permutes with its input. Order comes from sinusoids, whose dot products know only distance, and from the position from the end, which knows where "now" is.
# - $\sqrt d$ keeps the variance of scores at one. The mask goes in before the softmax, on the columns.
# - Forget the mask and strangers change your prediction, while accuracy hardly tells you.
# - Pre-norm keeps the gradient's direction; post-norm's norms do not vanish, at least not at these depths. The exact GELU and the tanh formula differ in the fourth digit.
# - An attention map is a picture of weights. Replace them by their mean, or by nothing, before you believe that
#   they matter.
# - Our encoder, `pgt`'s and PyTorch's are one function.
#
# ## Exercises
#
# **Exercise 1** (quick). How many parameters has one layer? Write the formula in $D$ and $F$ and check it.

# %% tags=["try"]
formula = ...  # of D and F_
check.same(formula, sum(t.numel() for t in first.values()), name="parameters of a layer")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
formula = 4 * (D * D + D) + (D * F_ + F_) + (F_ * D + D) + 4 * D  # attention, feed-forward, two norms
check.same(formula, sum(t.numel() for t in first.values()), name="parameters of a layer")
# The number of heads is not in it: heads divide the width, they do not add to it.

# %% [markdown]
# **Exercise 2** (medium). Do heads find repetitions? Over 150 test windows, compare the mean attention on
# *other visits to the same place* with that on other places, per head. Leave out padding and the visit
# itself.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
_, seen_many = encoder(model.embeddings(many), W, many.padding, H)
pair = inside[:, :, None] & inside[:, None, :] & ~torch.eye(many.location.shape[1], dtype=torch.bool)
repeat = many.location[:, :, None] == many.location[:, None, :]        # (B, L, L)
table = {}
for k, s in enumerate(seen_many):
    even = s * many.length[:, None, None, None]  # 1 = even attention
    for h in range(H):
        table[f"layer {k + 1}, head {h + 1}"] = {
            "same place": even[:, h][pair & repeat].mean().item(),
            "other place": even[:, h][pair & ~repeat].mean().item()}
table = pd.DataFrame(table).T
table["ratio"] = table["same place"] / table["other place"]
table.round(2)

# %% [markdown]
# **Exercise 3** (longer). A shift of positions is a rotation. Find a matrix $M_k$ with $\psi_{t+k} = M_k\, \psi_t$
# for *every* $t$, and check it. What follows for a query that wants "three visits before me"?

# %% tags=["try"]
def my_shift(k, width):
    """The (width, width) matrix that moves a row of `waves` by k positions."""
    return ...


def moved(k):
    matrix = my_shift(k, D)
    return matrix if matrix is ... else waves(100, D, torch.float64)[:-k] @ matrix.T


check.function(moved, lambda k: waves(100, D, torch.float64)[k:], (1,), (3,), (40,))

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def shift(k, width):
    omega = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    c, s = (omega * k).cos(), (omega * k).sin()
    turns = torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2)  # (d / 2, 2, 2)
    return torch.block_diag(*turns)  # (d, d)


exact = waves(100, D, torch.float64)
for k in (1, 3, 40):
    check.same(exact[:-k] @ shift(k, D).T, exact[k:], name=f"shift by {k}", atol=1e-9)
# One fixed matrix serves all positions. So a head can put M into its query matrix, and then q' k is largest for the visit
# three before, wherever it stands. Relative position is within reach of a linear map.

# %% [markdown]
# **Exercise 4** (project). Does post-norm really need a warm-up? Train deep encoders of both kinds with and
# without one, three seeds each, on the whole city, and fix beforehand what you compare. The solution has a
# small version on a toy task: name the place that came twice.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def toy(pre_norm, warmup, depth=6, width=32, steps=40):
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", batch_first=True, norm_first=pre_norm)
    net = nn.Sequential(nn.Embedding(20, width),
                        nn.TransformerEncoder(block, depth, enable_nested_tensor=False),
                        nn.LayerNorm(width), nn.Linear(width, 20))
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, (step + 1) / warmup)
        ids = torch.rand(64, 20).argsort(1)[:, :6]  # six different places
        ids[:, -1] = ids[:, 0]  # the last repeats the first
        loss = nn.functional.cross_entropy(net(ids).mean(1), ids[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses[-10:])


pd.DataFrame({("pre-norm" if pre else "post-norm"): {
    f"warm-up of {n} steps": toy(pre, n) for n in (1, 20)} for pre in (True, False)}).round(2)
# Mean loss of the last ten of forty steps, in nats; knowing nothing costs log 20 = 3.0. If the columns agree, the toy
# cannot tell the two apart, and that is an answer too. One seed is an anecdote. For the project, also vary the learning rate: a method that needs a warm-up at one rate may not at another.

# %% [markdown]
# **Next:** [The pointer](07_pointer.ipynb), which asks the encoder's last vector: which of these visits would you
# copy?
