# %% [markdown]
# # Position and encoder
#
# Each visit has a vector that knows only itself. How does it hear of the others, in their order, and does our model need it?
#
# *You will be able to* write a Transformer encoder from softmax and matrix products, explain each of its parts, train it, and
# catch a forgotten mask. *You need* [Embeddings](05_embeddings.ipynb). *It takes* half an hour to read and less than a minute to
# run, with or without a GPU.
#
# > **In one sentence.** On a toy task that needs attention and order, our encoder is right in {{ right_of["whole"]:.0f }} % of
# > new windows, without attention in {{ right_of["no attention"]:.0f }} %; yet take the layers out of our trained model, and it
# > loses nothing that we can measure (Acc@1: {{ without["valid"]:+.1f }} points on validation, {{ without["test"]:+.1f }} on
# > test).

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
from wherenext.figures import (
    COPIED,
    EXTRA,
    INK,
    MUTED,
    encoder_layer,
    show,
)
from wherenext.walkthrough import story

from pgt.checkpoint import load_model, shipped
from pgt.metrics import evaluate, gains, interval
from pgt.windows import prepare

# %% tags=["hide-input"]
# @title The trained model and the story window
town = city.load()
data = prepare(town.visits, protocol="exact")
model, _ = load_model(shipped("city"))
model.eval().requires_grad_(False)
D, hidden = model.config.d_model, model.config.d_feedforward  # D and F
i = story(data.test)  # the window that the chapters share
batch = data.test.batch([i])
L = int(batch.length[0])

# %% [markdown]
# Somebody is at home in the morning, in a café in the evening, and back at home the same evening. Embeddings make a vector of each
# visit, but each vector knows only its own visit. The third does not know that it comes from a café.

# %% tags=["hide-input"]
# @title Figure 6.1: where we are
caption = "You are here: visits learn of each other."
architecture("position", "encoder", caption=caption)

# %% [markdown]
# ## A visit looks at the others
#
# Here are the three visits as vectors of four numbers, made up for the eye: 2 where a word holds, 0 where it does not. We
# take them through one whole layer of the encoder.
#
# The simplest way to hear of the others is to listen most to those that are like oneself. The **score** of two visits is the
# dot product of their vectors. A softmax turns the scores of a visit into positive **weights** with sum one. The mean of the
# three vectors, with these weights, is what the visit hears. This is **attention** (*self-attention*, since all come from one
# window).

# %%
words = ["home", "café", "morning", "evening"]
# Home, café, home: three visits of four numbers, (L, D).
x = torch.tensor([[2.0, 0, 2, 0], [0, 2, 0, 2], [2, 0, 0, 2]])


def tell(weights, heard, who="the last visit"):
    """Print what the last visit looks at and hears."""
    print(f"{who}: weights {weights[-1].numpy().round(2)},", end=" ")
    print(f"heard {heard[-1].numpy().round(2)}")


scores = x @ x.T  # (L, L), a row a visit
weights = scores.softmax(-1)  # each row adds up to one
print("the last visit: scores", scores[-1].numpy())
tell(weights, weights @ x)  # (L, L), (L, D)

# %% [markdown]
# The last visit shares its place with the first and its hour with the second. It shares most with itself, so it hears hardly
# anything but what it knows already.
#
# ## Queries, keys and values
#
# It would be news to the last visit that it comes from a café. So a visit must be able to ask for what it is not. It makes
# three vectors, each by a learned matrix:
#
# - a **query**: what do I look for?
# - a **key**: what can I be found by?
# - a **value**: what do I say when asked?
#
# A query is compared with all keys, and the weights make a mean of the values:
#
# $$
# \begin{aligned}
# Q &= X W_Q, \quad K = X W_K, \\
# A &= \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}}\Big), \quad \text{output} = A\, (X W_V) .
# \end{aligned} \tag{6.1}
# $$
#
# The rows of $X$ are the vectors of the visits, and those of $X W_V$ are the values; $d$ is the length of a query. Row $i$ of
# $A$ says how visit $i$ divides its attention. In our example keys and values stay as they are, and only the queries change:

# %%
W_q = torch.zeros(4, 4)
W_q[0, 1] = W_q[1, 0] = 1  # home asks for a café, a café for home
q, k, v = x @ W_q, x, x
weights = (q @ k.T / math.sqrt(4)).softmax(-1)
print("the last visit: query", q[-1].numpy())
tell(weights, weights @ v)

# %% [markdown]
# Now the last visit mostly hears the café.
#
# **Why divide by $\sqrt d$?** If the coordinates of a query and a key are independent, with mean 0 and variance 1, their dot
# product has variance $d$. With a large $d$, one weight would take nearly everything before anything is learned, and such a
# softmax hardly learns: its gradient is nearly zero. With our $d = 4$ we divided by 2.
#
# ## The mask
#
# Windows in a batch differ in length, and the short ones are padded at their end. Give our three visits such a fourth seat, say
# (1, 1, 1, 1): it is not zero, because every seat of a window gets the person's vector. No visit may look at it. So its scores
# become $-\infty$ *before* the softmax, because $e^{-\infty} = 0$.


# %%
def attend(q, k, v, padding):
    """(…, L, d) three times -> weights (…, L, L), heard (…, L, d)."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(padding, -math.inf)  # whole columns
    weights = scores.softmax(-1)
    return weights, weights @ v


# %% tags=["hide-input"]
# @title Figure 6.2: without and with the mask
padded = torch.cat([x, torch.ones(1, 4)])  # (4, 4)
padding = torch.tensor([False, False, False, True])
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.4), sharey=True)
names = ["home, morning", "café, evening", "home, evening", "pad"]
look = {"cmap": "Blues", "vmin": 0, "vmax": 1.5, "cbar": False, "fmt": ".2f"}
look |= {"linewidths": 0.5, "linecolor": MUTED}
look |= {"annot": True, "annot_kws": {"color": "black"}}
look |= {"yticklabels": names}
look |= {"xticklabels": [name.replace(", ", ",\n") for name in names]}
for ax, mask in zip(axes, (torch.tensor(False), padding), strict=True):
    sns.heatmap(attend(padded @ W_q, padded, padded, mask)[0], ax=ax, **look)
    ax.set(xlabel="visit looked at", title="without a mask")
    ax.tick_params("y", rotation=0)
axes[0].set_ylabel("visit that looks")
axes[1].set_title("with the mask")
show(
    fig,
    alt="Two tables of four by four weights. With the mask the last column, "
    "of padding, is zero.",
    caption="Each row, a visit that looks, sums to one. Homes look for the "
    "café, and the café for homes.",
)

# %% [markdown]
# The mask empties padding's *column*. Padding's *row* stays; what it computes, nobody reads. Unlike models that write text,
# ours needs no mask against looking ahead: all visits lie in the past.
#
# ## Heads
#
# One softmax makes one choice. But the last visit may have two questions. Which *other place* was there? What else was at *this
# hour*? So the $D$ numbers of each query, key and value are split into $H$ **heads** of $d = D / H$ numbers. Each head has its
# own softmax, and what the heads hear is laid side by side (*multi-head attention*). In our example head $a$ gets the two
# numbers of the place, and head $b$ those of the hour:

# %%
W_both = W_q.clone()
W_both[2, 2] = W_both[3, 3] = 1  # each hour asks for itself


def two_heads(x):
    q, k, v = x @ W_both, x, x
    padding = torch.tensor(False)  # none
    a = attend(q[:, :2], k[:, :2], v[:, :2], padding)
    b = attend(q[:, 2:], k[:, 2:], v[:, 2:], padding)
    return a, b, torch.cat([a[1], b[1]], -1)  # side by side, (L, D)


a, b, heard = two_heads(x)
tell(*a, "head a")
tell(*b, "head b")

# %% [markdown]
# Head $a$ chooses the café, head $b$ the two visits of the evening.
#
# ## All heads at once
#
# Slices by hand are slow. One tensor can hold all windows and all heads, since `attend` only looks at the last two dimensions.
# Here it is with $B = 1$ window, $L = 3$ visits, $D = 4$ numbers and $H = 2$ heads:

# %%
q = (x @ W_both)[None]
print("queries of all windows  (B, L, D)   ", *q.shape)
q = q.unflatten(-1, (2, -1)).transpose(1, 2)
print("cut into heads          (B, H, L, d)", *q.shape)
k = v = x[None].unflatten(-1, (2, -1)).transpose(1, 2)
weights, heard_by_heads = attend(q, k, v, torch.tensor(False))
print("weights                 (B, H, L, L)", *weights.shape)
print("heard, head by head     (B, H, L, d)", *heard_by_heads.shape)
beside = heard_by_heads.transpose(1, 2)
print("side by side again      (B, L, D)   ", *beside.flatten(2).shape)
assert torch.equal(beside.flatten(2)[0], heard)  # as by hand

# %% [markdown]
# The class does the same with learned matrices. One linear layer makes queries, keys and values in one go, (B, L, 3 D), and
# `chunk` cuts the result into three. The mask (B, L) becomes (B, 1, 1, L): the same for all heads and for all visits that
# look. One more matrix, `out`, mixes what the heads heard. Each linear layer also adds a learned bias, which equation (6.1)
# leaves out. Our model has $D = 64$, $H = 4$, $d = 16$.


# %%
class SelfAttention(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.project = nn.Linear(width, 3 * width)  # queries, keys, values
        self.out = nn.Linear(width, width)  # mixes the heads

    def split(self, x):
        """(B, L, D) -> (B, H, L, d): a matrix for each head."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, padding):
        """(B, L, D), padding (B, L) -> (B, L, D), weights (B, H, L, L)."""
        q, k, v = map(self.split, self.project(x).chunk(3, dim=-1))
        weights, heard = attend(q, k, v, padding[:, None, None, :])
        side_by_side = heard.transpose(1, 2).flatten(2)  # (B, L, D)
        return self.out(side_by_side), weights


# %% [markdown]
# ## The rest of a layer
#
# - **Residual connection.** What a visit hears does not replace its vector. It is *added*, so home can stay home.
# - **LayerNorm** ([chapter 5](05_embeddings.ipynb)). Attention does not read a vector as it is, but brought to mean 0 and
#   variance 1.
# - **Feed-forward network.** Attention only averages what is there. To make something new of it, a small network works on each
#   visit by itself: a linear layer to $F$ numbers, a bend (an *activation function*), and a linear layer back. It, too, reads
#   a normalised vector, and its result is added.
#
# The bend is **GELU** ([Hendrycks and Gimpel, 2016](https://arxiv.org/abs/1606.08415)), a smooth version of "negative
# numbers become 0": $x\,\Phi(x)$, where $\Phi$ is the normal distribution function. Our example has $F = 1$: the network
# reads "evening", bends it, and writes the result to "morning". The bend makes an *if* of it: *if* it is evening, then morning
# may come next. Here is the whole layer, a line a step; read the table from top to bottom. (Only the queries have a matrix;
# `out`, keys and values stay as they are.)

# %%
# @title Table: the last visit on its way through the layer
norm = nn.LayerNorm(4, elementwise_affine=False)  # no scale, no shift
rows = {"comes in": x, "normalised": norm(x)}
rows["heads heard"] = two_heads(norm(x))[2]
rows["sum"] = x + rows["heads heard"]
rows["sum, normalised"] = norm(rows["sum"])
bent = nn.functional.gelu(rows["sum, normalised"][:, 3:])  # (L, 1)
rows["network writes"] = bent @ torch.tensor([[0.0, 0, 1, 0]])  # (L, D)
rows["goes out"] = rows["sum"] + rows["network writes"]
last = {name: row[-1].numpy() for name, row in rows.items()}
print(f"for the first visit the network writes {bent[0, 0]:.2f}")
pd.DataFrame(last, words).T.round(2).rename_axis(columns="the last visit")

# %% [markdown]
# Normalised, a word that holds is 1 and any other −1. What goes out still says "home" and "evening". Attention has raised
# "café", and lowered "home" and "morning", which the heads heard as negative. The network has raised "morning" from
# {{ last["sum"][2]:.2f }}; for the first visit, of the morning, it writes little, {{ bent[0][0]:.2f }}.
#
# Call $x_n$ what comes into step $n$, and $h$ what the step computes: attention in one step, the network in the next. Where
# does LayerNorm go?
#
# $$
# \begin{aligned}
# \text{pre-norm:} \quad x_{n+1} &= x_n + h\big(\text{LN}(x_n)\big), \\
# \text{post-norm:} \quad x_{n+1} &= \text{LN}\big(x_n + h(x_n)\big) .
# \end{aligned} \tag{6.2}
# $$
#
# Our model, like the example, is **pre-norm**: $x_n$ is passed on as it is (Figure 6.3), so the gradient has a direct road back
# through all layers. The original Transformer is **post-norm** ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)).

# %% tags=["hide-input"]
# @title Figure 6.3: a layer
show(
    encoder_layer(),
    alt="x runs straight from left to right. Above it go LN and attention, "
    "then LN and feed-forward, and what they compute is added to it.",
    caption="A pre-norm layer. The straight way is the residual connection.",
)

# %% [markdown]
# The class has one part more. **Dropout** ([chapter 10](10_training.ipynb)) sets each of the $F$ numbers inside the network to
# zero with a probability of 0.1 in training; `model.eval()` switches it off.


# %%
class Layer(nn.Module):
    def __init__(self, width, n_heads, hidden):
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = SelfAttention(width, n_heads)
        self.norm_feedforward = nn.LayerNorm(width)
        wide, back = nn.Linear(width, hidden), nn.Linear(hidden, width)
        drop = nn.Dropout(0.1)
        self.feedforward = nn.Sequential(wide, nn.GELU(), drop, back)

    def forward(self, x, padding):
        heard, weights = self.attention(self.norm_attention(x), padding)
        x = x + heard  # (B, L, D)
        return x + self.feedforward(self.norm_feedforward(x)), weights


# %% [markdown]
# ## Two rulers
#
# Swap the first two visits. Does the last one hear something different?

# %%
for order in ([0, 1, 2], [1, 0, 2]):  # home or the café first
    print(order, two_heads(x[order])[2][-1].numpy().round(2))

# %% [markdown]
# It does not. Attention does not see the order, and the rest of the layer sees one visit at a time. Only the vectors
# themselves can tell. One ruler is in them already: "How many visits ago?" ([chapter 5](05_embeddings.ipynb)) counts from the
# *last* visit. [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762) have another, which counts from the *oldest*, $t = 0$.
# They add to visit $t$ a fixed vector $\psi_t$ of sines and cosines, the **sinusoid** (a *positional encoding*):
#
# $$
# \psi_{t,\,2k} = \sin(\omega_k t), \quad \psi_{t,\,2k+1} = \cos(\omega_k t), \quad \omega_k = 10000^{-2k/D} . \tag{6.3}
# $$
#
# Here $k$ numbers the pairs of coordinates, one sine and one cosine.


# %%
def waves(n, d):
    """(n, d) the sinusoids, a row for each visit."""
    omega = 10000 ** (-torch.arange(0, d, 2).double() / d)  # (d / 2,)
    turn = torch.arange(n)[:, None] * omega  # (n, d / 2)
    pairs = torch.stack([turn.sin(), turn.cos()], -1)  # (n, d / 2, 2)
    return pairs.flatten(1).float()


# %% tags=["hide-input"]
# @title Figure 6.4: four columns of the sinusoids
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.2), sharey=True)
for ax, first in zip(axes, (0, 16), strict=True):
    for column, colour, style in ((0, INK, "o-"), (1, EXTRA, "s--")):
        label = f"coordinate {first + column}, {('sine', 'cosine')[column]}"
        wave = waves(40, D)[:, first + column]
        ax.plot(wave, style, color=colour, label=label, ms=3, lw=1.3)
    ax.set(xlabel="visit t, counted from the oldest", ylim=(-1.2, 2.2))
    ax.legend(loc="upper center", ncols=2, fontsize=8)
axes[0].set_ylabel("value")
show(
    fig,
    alt="Left: a sine and a cosine that turn within six visits. Right: a "
    "pair that turns once in more than forty visits.",
    caption="Two pairs of coordinates. The fast pair tells neighbours "
    "apart, the slow one the beginning from the end.",
)

# %% [markdown]
# **Why not the number $t$ itself?** At visit 40 it is large beside the other numbers of the vector. Sines stay between −1 and
# 1. A single wave would give two visits nearly the same value; many waves, fast and slow, are like the hands of a clock, and
# tell the visits of a window apart.
#
# **Why pairs?** A sine and a cosine of the same speed are a hand of that clock. To go back two visits is to turn the
# hand by the same angle, wherever it stands. So "the visit two before" may be learned once, for all $t$.
#
# Our model uses two rulers: one counts from the last visit, the other from the oldest. Whether it needs both, [chapter
# 14](14_ablations.ipynb) asks. **The encoder** adds the sinusoid, then comes a stack of layers.


# %%
class MyEncoder(nn.Module):
    def __init__(self, width, n_heads, hidden, n_layers=2, ordered=True):
        super().__init__()
        layers = [Layer(width, n_heads, hidden) for _ in range(n_layers)]
        self.layers, self.ordered = nn.ModuleList(layers), ordered

    def forward(self, x, padding):
        if self.ordered:
            x = x + waves(*x.shape[1:])  # L positions, width D
        seen = []
        for layer in self.layers:
            x, attention = layer(x, padding)  # (B, L, D), (B, H, L, L)
            seen.append(attention)
        return x, tuple(seen)  # pre-norm: often one more LayerNorm here


# %%
# Same names of parts, same weights, dropout off: the same output.
mine = MyEncoder(D, model.config.n_heads, hidden).eval().requires_grad_(False)
mine.load_state_dict(model.encoder.state_dict())
many = data.test.batch(np.arange(0, len(data.test), 20))
inputs = model.embeddings(many), many.padding
got, wanted = mine(*inputs)[0], model.encoder(*inputs)[0]  # (B, L, D)
assert torch.allclose(got, wanted, atol=1e-5)

# %% [markdown]
# ## Train your own
#
# Does our encoder learn? Take a task that needs the other visits, *and* their order. In a toy world of six places people
# wander about at random, for four to eight visits. Then they go to the place two visits before the last one. So in the window A,
# C, F, B the next place is C. The windows differ in length, so no seat is always the right one: what counts is the distance
# from the last visit. We put an embedding before our encoder, and after it a linear layer that scores the six places from the
# last visit's vector.
#
# **Change this:** let them go back by another number of visits.

# %%
back = 2  # @param {type:"slider", min:1, max:3, step:1}


# %%
def wander(n, seed):
    """(n, 8) random visits and their padding, (n,) the place that comes."""
    generator = torch.Generator().manual_seed(seed)
    places = torch.randint(6, (n, 8), generator=generator)
    lengths = torch.randint(4, 9, (n,), generator=generator)
    padding = torch.arange(8) >= lengths[:, None]  # seats at the end
    target = lengths - 1 - back  # so many before the last
    return places, padding, places[torch.arange(n), target]


# %%
class Toy(nn.Module):
    def __init__(self, n_layers=2):
        super().__init__()
        self.embedding = nn.Embedding(6, 32)
        self.encoder = MyEncoder(32, 4, 64, n_layers)
        self.score = nn.Linear(32, 6)

    def forward(self, places, padding):
        x, _ = self.encoder(self.embedding(places), padding)  # (B, 8, 32)
        last = (~padding).sum(1) - 1  # its seat, in each window
        return self.score(x[torch.arange(len(x)), last])  # (B, 6)


# %%
def learn(toy, epochs=8):
    """Train; -> the loss of each step, and the right answers in %."""
    places, padding, target = wander(4000, 1)
    adam, losses = torch.optim.Adam(toy.parameters(), 3e-3), []
    for _ in range(epochs):
        for rows in torch.randperm(len(target)).split(64):
            scores = toy(places[rows], padding[rows])
            loss = nn.functional.cross_entropy(scores, target[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
    places, padding, target = wander(1000, 2)  # new windows
    right = toy.eval()(places, padding).argmax(1) == target  # no dropout
    return losses, 100 * right.float().mean().item()


# %% [markdown]
# We train it three times: whole, without attention, and without position. What is left out is replaced by zeros.


# %%
right_of, loss_of = {}, {}
for kind in ("whole", "no position", "no attention"):
    torch.manual_seed(0)
    one = Toy()
    one.encoder.ordered = kind != "no position"
    if kind == "no attention":
        for layer in one.encoder.layers:  # nothing is heard
            layer.attention.forward = lambda x, padding: (0 * x, None)
    loss_of[kind], right_of[kind] = learn(one)
print({kind: f"{right:.0f} % right" for kind, right in right_of.items()})

# %% tags=["hide-input"]
# @title Figure 6.5: the encoder learns, if it may look and knows the order
fig, ax = plt.subplots(figsize=(6.4, 2.6))
looks = {"whole": (INK, "-"), "no position": (EXTRA, "--")}
looks["no attention"] = (MUTED, ":")
for kind, (colour, style) in looks.items():
    smooth = pd.Series(loss_of[kind]).rolling(10, min_periods=1).mean()
    label = f"{kind}: {right_of[kind]:.0f} % right"
    ax.plot(smooth, style, color=colour, label=label)
ax.axhline(math.log(6), color=MUTED, lw=0.8)
ax.text(200, math.log(6) - 0.17, "guessing", fontsize=8, color=MUTED)
ax.set(xlabel="step of training", ylabel="loss", ylim=(0, 2.2))
ax.legend(loc=(0.58, 0.1))
show(
    fig,
    alt="Three curves of the loss. The whole encoder falls to zero, without "
    "position it stops a third of the way, without attention it stays at "
    "guessing.",
    caption=f"A toy task: name the place {back} back from the last visit. "
    "Mean of ten steps each; right answers on 1,000 new windows.",
)

# %% [markdown]
# Whole, the encoder is right in {{ right_of["whole"]:.0f }} % of new windows. **Without attention** it is right in
# {{ right_of["no attention"]:.0f }} %, no better than guessing one place of six, as the last visit knows only itself.
# **Without position** it reaches {{ right_of["no position"]:.0f }} %: it knows which places were there, but not which was
# where. So the layers do what they are made for.
#
# ## The forgotten mask
#
# What if somebody forgets `masked_fill`? Padding gets its share of every softmax, and nothing crashes. But how much padding a
# window gets depends on the longest window in its batch, often a *stranger's*. Here is our model without its encoder's mask,
# beside itself:

# %%
forgetful = copy.deepcopy(model)
original = forgetful.encoder.forward
forgetful.encoder.forward = lambda x, padding: original(
    x, torch.zeros_like(padding)  # "nothing is padding"
)

# %%
mixed = np.random.default_rng(0).permutation(len(data.test))
answers = []
for rows in np.array_split(mixed, 25):  # batches of windows of any length
    b = data.test.batch(rows)
    two = [one(b).log_probs.argmax(1) for one in (model, forgetful)]
    answers.append(torch.stack([*two, b.target]))  # (3, B)
masked, unmasked, went = torch.cat(answers, 1)  # (W,) places each
others = (masked != unmasked).double().mean()
print(f"{100 * others:.1f} % of the first answers change; Acc@1:", end=" ")
for answer in (masked, unmasked):
    print(f"{100 * (answer == went).double().mean():.1f} %", end=" ")

# %% [markdown]
# > **Pitfall.** Accuracy does not notice. But what a model says of a window now depends on the strangers
# > in its batch (exercise 2), so it depends on how the windows are batched.
#
# ## Does our model need it?
#
# The trained model of the town has two such layers. Here is how the last visit divides its attention in the first one, head by
# head. The window is the story window of the other chapters: eleven visits, the last at work.

# %% tags=["hide-input"]
# @title Figure 6.6: what the last visit looks at, head by head
seen = model(batch).self_attention[0][0, :, -1]  # (H, L)
visits = data.test.visits_of(i)
home = (visits.kind == "home").to_numpy()
evenly = home.sum() / L  # on all visits to home, if it did not choose
fig, axes = plt.subplots(1, len(seen), figsize=(7.4, 2.9), sharey=True)
said = [f"{n} {kind}" for n, kind in enumerate(visits.kind, 1)]
for h, ax in enumerate(axes):
    ax.barh(said, seen[h], color=np.where(home, COPIED, MUTED))
    ax.axvline(1 / L, color=INK, lw=1, ls="--")
    ax.set(title=f"head {h + 1}", xlabel="weight", xlim=(0, 0.35))
axes[0].invert_yaxis()
axes[0].set_ylabel("visit looked at")
there = seen.numpy()[:, home].sum(-1)  # (H,)
print("the last visit's weight on home, head by head:")
print(there.round(2))
show(
    fig,
    alt="Four panels of eleven bars, the weight of each visit. In head 4 the "
    "three bars of home are by far the longest.",
    caption="Visits are numbered from the oldest; blue: home. Dashed: the "
    "share of each visit if attention were even.",
)

# %% [markdown]
# In head 4 the last visit spends {{ there[-1]:.2f }} of its attention on the three visits to home, where even attention would
# spend {{ evenly:.2f }}. It seems to look for home. But we picked this head after looking at all four. And what is the
# choosing worth? We operate on the trained model, and score it on all windows:
#
# - *Even attention*: every head takes the plain mean over the window.
# - *No attention*: it adds nothing, and no visit hears of another.
# - *No layers*: the feed-forward networks add nothing either. Only the embeddings and the sinusoids are left.


# %%
def operated(kind):
    patient = copy.deepcopy(model)
    for part in patient.encoder.layers:
        project, out = part.attention.project, part.attention.out
        if kind == "even attention":  # queries, the first D rows, become 0
            project.weight[:D] = project.bias[:D] = 0
        if kind in ("no attention", "no layers"):
            out.weight[:] = out.bias[:] = 0
        if kind == "no layers":  # x + 0 + 0
            last = part.feedforward[3]  # its last linear layer
            last.weight[:] = last.bias[:] = 0
    return patient


# %% [markdown]
# The table has the change of Acc@1 in points, taken before rounding (below zero, the operation hurts), its interval over
# people, and how many first answers change.

# %% tags=["hide-input"]
# @title Table: three operations
splits = {"valid": data.valid, "test": data.test}
whole = {name: evaluate(model, part) for name, part in splits.items()}
rows, without, lowest = {}, {}, {}
for name, before in whole.items():
    acc = 100 * gains(before)["acc@1"].mean()
    rows["nothing", name] = [f"{acc:.1f}", "", ""]
for kind in ("even attention", "no attention", "no layers"):
    patient = operated(kind)
    for name, part in splits.items():
        before, now = whole[name], evaluate(patient, part)
        low, high = interval(now, against=before)
        both = [100 * gains(r)["acc@1"].mean() for r in (before, now)]
        without[name] = both[1] - both[0]  # the last: no layers
        lowest[name] = low
        said = f"{without[name]:+.1f} [{low:+.1f}, {high:+.1f}]"
        changed = 100 * (now.predicted != before.predicted).mean()
        rows[kind, name] = [f"{both[1]:.1f}", said, f"{changed:.1f}"]
columns = ["Acc@1, %", "difference [95 %]", "changed, %"]
allowed = -min(lowest.values())
pd.DataFrame(rows, columns).T.rename_axis(["operation", "on"])

# %% [markdown]
# **No operation loses anything that we can measure**, not even that of all layers, though {{ changed:.1f }} % of the first
# answers on test change. Without attention the model is even a little better on test; on validation the interval holds zero.
# The intervals still allow a loss, of up to {{ allowed:.1f }} points without layers, and this is one training.
#
# Why is so little lost? Perhaps because the pointer compares the last visit with all others by itself: a second way to hear of
# them. [The next chapter](07_pointer.ipynb) builds it. And [chapter 14](14_ablations.ipynb) asks whether a model can be
# *trained* without a part.
#
# ## What to remember
#
# - On a task that needs the other visits in their order, our encoder is right in {{ right_of["whole"]:.0f }} % of new windows,
#   without position in {{ right_of["no position"]:.0f }} %, without attention in {{ right_of["no attention"]:.0f }} %.
# - Attention alone does not see the order of visits. Sinusoids and position from the end put it into the vectors.
# - The mask goes in before the softmax, on the columns. Without it, strangers change your probabilities, and accuracy need not
#   notice.
# - An attention map is a picture. Replace its weights by their mean before you believe that they matter. With its layers taken
#   out, our model is about as good: {{ without["valid"]:+.1f }} points on validation, {{ without["test"]:+.1f }} on test.
#
# ## Exercises
#
# **Exercise 1** (quick). A query has the dot products 0, $2 \log 3$ and 5 with the keys of three seats, the third of which is
# padding; $d = 4$. Which weights does it give?

# %% tags=["try"]
answer = [..., ..., ...]
check.exercise("6.1", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answer = [1 / 4, 3 / 4, 0]  # the scores are 0, log 3 and, masked, -inf
check.exercise("6.1", answer)

# %% [markdown]
# **Exercise 2** (medium). Write the test that catches the forgotten mask: let a model `one` score window `i` alone, and beside
# the longest window: does any log-probability of `i` change by more than 0.001?
# (`one(data.test.batch([i, longest])).log_probs[0]` is what it says of `i` beside the longest.) Which other mistakes would it
# catch?

# %% tags=["try"]
longest = data.test.lengths.argmax()


def strangers_matter(one):
    return ...  # True or False


noticed = [strangers_matter(one) for one in (model, forgetful)]
check.same(noticed, [False, True], name="the mask forgotten or not")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def strangers_matter(one):
    alone = one(data.test.batch([i])).log_probs[0]
    beside = one(data.test.batch([i, longest])).log_probs[0]
    return (alone - beside).abs().max().item() > 1e-3


noticed = [strangers_matter(one) for one in (model, forgetful)]
check.same(noticed, [False, True], name="the mask forgotten or not")
# Also a mean over the batch, a LayerNorm over visits, a position counted from
# the end of the row: whatever lets one window read another, or the padding.

# %% [markdown]
# **Exercise 3** (medium). A model that writes text must not look ahead (a *causal mask*): visit $t$ may hear the visits 0 to $t$
# only. Write `attend_back`, which is `attend` with such a mask. (`x` are the three visits from above.)

# %% tags=["try"]
def attend_back(q, k, v, padding):
    return ..., ...  # weights, heard


none = torch.tensor(False)  # no padding
short = [attend(y, y, y, none)[1][-1] for y in (x[:1], x[:2], x)]
heard = attend_back(x, x, x, none)[1]
check.same(heard, torch.stack(short), name="what each visit hears")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def attend_back(q, k, v, padding):
    n = q.shape[-2]
    later = torch.ones(n, n, dtype=torch.bool).triu(1)  # above the diagonal
    return attend(q, k, v, padding | later)


heard = attend_back(x, x, x, none)[1]
check.same(heard, torch.stack(short), name="what each visit hears")
# Each visit hears what it would as the last of a shorter window. A vector of
# seats is a mask of columns; here each row has a mask of its own.

# %% [markdown]
# **Next:** [The pointer](07_pointer.ipynb), which asks the encoder's last vector: which of these visits would you
# copy?
