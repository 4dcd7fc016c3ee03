# %% [markdown]
# # The whole model
#
# Some of this model's numbers are trained in every step and do nothing at all. The tests of this chapter find them.
#
# *You will be able to* write the Pointer-Generator Transformer from memory, say where its parameters live,
# take its loss apart, and prove that your model is the package's. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb). The chapters on embeddings, self-attention, pointer, generator and gate take each
# part slowly; this one is complete without them. *It takes* thirty minutes to read and less than a
# minute to run on two CPU cores; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# Here are the parts once more, in short. Put them together, and check that nothing was lost on the way. At the end, the package's
# trained weights go into our model, and it must give the same answers.

# %%
import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig, ablate
from pgt.look import story
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
package, vocabulary = load_model(shipped("city"))  # trained
size = package.config
visits = city.load().visits
data = prepare(visits, protocol="exact", vocabulary=vocabulary)
i = story(data.test)  # the window that the chapters share
batch = data.test.batch([i, *range(7)])  # and seven others
print(f"{len(batch)} windows of {batch.length.tolist()} visits")
print(f"{size.n_locations:,} location ids, {size.n_users} user ids")

# %% [markdown]
# ## One window, from end to end
#
# First follow one window through the trained model, with its own numbers.

# %% tags=["hide-input"]
from wherenext.walkthrough import walkthrough

places = city.load().places
names = dict(zip(places.location_id, places.name, strict=True))
walkthrough(package, data.test, i, names)

# %% [markdown]
# ## The parts
#
# **Embeddings** ([chapter 5](05_embeddings.ipynb)). Seven tables turn the integers of a visit into vectors. Location and user get $D$ numbers,
# the other five $D/4$ each. Row 0 is zero everywhere: padding, and for users also anyone whom training has not seen.


# %%
def table_sizes(c):
    """Name -> (rows, width). Row 0 is the + 1; ids count it already."""
    d, q = c.d_model, c.d_model // 4
    return {
        "location": (c.n_locations, d),
        "user": (c.n_users, d),
        "time": (96 + 1, q),
        "weekday": (7 + 1, q),
        "recency": (8 + 1, q),
        "duration": (100 + 1, q),
        "position_from_end": (c.max_len + 1, q),
    }


# %%
def indices(batch, target_time):
    """Seven (B, L) tensors of row numbers, and where the padding is."""
    step = torch.arange(batch.location.shape[1])  # (L,)
    padding = step >= batch.length[:, None]  # (B, L)
    days = batch.days_ago
    if target_time == "day":  # counted back from the target's day,
        days = days + batch.gap_days[:, None]  # which tells of the future
    position = (batch.length[:, None] - step).clamp(min=0)
    return {
        "location": batch.location,
        "user": batch.user[:, None].expand_as(batch.location),
        "time": batch.time,
        "weekday": batch.weekday,
        "recency": (1 + days.clamp(max=7)) * ~padding,
        "duration": batch.duration,
        "position_from_end": position,
    }, padding


# %% [markdown]
# **Sinusoid** ([chapter 6](06_position_and_encoder.ipynb)). A fixed pattern, equation (6.1), tells the encoder which visit stands where.
#
# **Encoder layer** ([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), with the norms put first). Normalise,
# let visits look at each other, add; normalise, transform each visit alone, add: equations (6.2) and (6.3).


# %%
def sinusoid(n, d):
    frequency = 10_000 ** (-torch.arange(0, d, 2).double() / d)  # (D/2,)
    angle = torch.arange(n).double()[:, None] * frequency  # (n, D/2)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)  # (n, D)
    return table.to(torch.get_default_dtype())


# %%
class Layer(nn.Module):
    def __init__(self, d, heads, wide, dropout):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.value, self.out = nn.Linear(d, d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, wide), nn.Linear(wide, d)

    def split(self, y):  # (B, L, D) -> (B, H, L, D/H)
        return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, padding):  # (B, L, D), (B, L)
        y = self.norm1(x)
        q, k = self.split(self.query(y)), self.split(self.key(y))
        v = self.split(self.value(y))
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, L, L)
        scores = scores.masked_fill(padding[:, None, None], -math.inf)
        seen = scores.softmax(-1)
        joined = (self.drop(seen) @ v).transpose(1, 2).flatten(2)
        x = x + self.drop(self.out(joined))
        wide = self.drop(F.gelu(self.up(self.norm2(x))))
        return x + self.drop(self.down(wide)), seen


# %% [markdown]
# **Pointer** ([chapter 7](07_pointer.ipynb)). The encoded vector $c$ of the last visit asks, and the encoded vector $x_i$ of
# every visit answers. With the bias $b_{p_i}$ for the position $p_i$ from the end, visit $i$ gets the weight
#
# $$
# a_i = \operatorname{softmax}_i\!\Big(\frac{(W_q c + b_q) \cdot (W_k x_i + b_k)}{\sqrt{D}} + b_{p_i}\Big) .
# $$
#
# **Scatter.** The pointer weighs visits; a prediction needs places. Add up the weights of each place, equation (7.4) of
# [chapter 7](07_pointer.ipynb), and take the logarithm only where the sum is positive. (Equation (7.5) would also save weights that float32 rounds to zero; we leave that out.)
#
# **Mixture.** $\log P(\ell) = \log\bigl(g\,P_\text{ptr}(\ell) + (1-g)\,P_\text{gen}(\ell)\bigr)$, with
# $g = \sigma(z)$ the weight of *copying*. Everything stays in logarithms, as in equation (8.6) of
# [chapter 8](08_generator_and_gate.ipynb).


# %%
def scatter(weights, location, n_locations):
    """(B, L) weights of visits -> (B, V) log-probabilities, or -inf."""
    total = weights.new_zeros(len(weights), n_locations)
    total = total.scatter_add(1, location, weights)
    seen = total > 0
    return torch.where(seen, total.where(seen, 1.0).log(), -math.inf)


def mix(z, log_pointer, log_generator):
    """(B,) log-odds of the gate, twice (B, V) -> (B, V)."""
    copied = F.logsigmoid(z)[:, None] + log_pointer
    generated = F.logsigmoid(-z)[:, None] + log_generator
    return torch.logaddexp(copied, generated)


# %% [markdown]
# > **Pitfall.** `total.log()` would do in the forward pass: log 0 is $-\infty$, as wanted. In the backward pass
# > of a padded batch it makes gradients NaN, because the derivative there is $0 \cdot \infty$. A `where` *after* the logarithm
# > does not help either, since the gradient still passes through it. The `where` *before* it does.
#
# ## The assembly
#
# What should `forward` return? If it returned log-probabilities only, anyone who wants to draw the pointer would have to
# compute it a second time, and in time two computations drift apart. So one forward returns everything: what is shown
# is what was used.


# %%
@dataclass
class Answer:
    log_probs: torch.Tensor  # (B, V)
    gate: torch.Tensor  # (B,)
    attention: torch.Tensor  # (B, L) of the pointer
    log_pointer: torch.Tensor  # (B, V)
    log_generator: torch.Tensor  # (B, V)
    self_attention: tuple  # per layer (B, H, L, L)
    shapes: dict  # what happened on the way


# %%
class MyPGT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, d = c, c.d_model
        sizes = table_sizes(c)
        self.tables = nn.ModuleDict()
        for name, shape in sizes.items():
            self.tables[name] = nn.Embedding(*shape, padding_idx=0)
        wide = sum(width for _, width in sizes.values())
        self.project, self.norm = nn.Linear(wide, d), nn.LayerNorm(d)
        waves = sinusoid(c.max_len, d)
        self.register_buffer("positions", waves, persistent=False)
        shape = d, c.n_heads, c.d_feedforward, c.dropout
        layers = [Layer(*shape) for _ in range(c.n_layers)]
        self.layers = nn.ModuleList(layers)
        self.pointer_query = nn.Linear(d, d)
        self.pointer_key = nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(c.max_len + 1))
        self.generator = nn.Linear(d, c.n_locations)
        first, second = nn.Linear(d, d // 2), nn.Linear(d // 2, 1)
        self.gate = nn.Sequential(first, nn.GELU(), second)


# %% [markdown]
# The forward pass notes the shape of each step. We write `encode` and `forward` as functions, a cell each, and attach them
# to the class at the end.


# %%
class Walk(dict):
    """Notes down the shape of every step."""

    def __call__(self, name, x):
        self[name] = tuple(x.shape)
        return x


def encode(self, batch, step):
    ids, padding = indices(batch, self.c.target_time)
    step("location ids", batch.location)
    x = [table(ids[k]) for k, table in self.tables.items()]
    x = step("seven embeddings, side by side", torch.cat(x, -1))
    x = step("projected, normalised", self.norm(self.project(x)))
    x = step("plus sinusoid", x + self.positions[: x.shape[1]])
    seen = []
    for layer in self.layers:
        x, attention = layer(x, padding)
        seen.append(attention)
    step("self-attention of a layer", seen[-1])
    return step("encoded", x), ids["position_from_end"], padding, tuple(seen)


# %%
def forward(self, batch):
    step = Walk()
    batch = batch.most_recent(self.c.max_len)
    x, position, padding, seen = self.encode(batch, step)
    context = x[torch.arange(len(batch)), batch.length - 1]
    step("context: the last visit", context)
    query = self.pointer_query(context)[:, :, None]  # (B, D, 1)
    scores = (self.pointer_key(x) @ query).squeeze(-1)
    scores = scores / math.sqrt(self.c.d_model)
    scores = scores + self.position_bias[position]
    scores = scores.masked_fill(padding, -math.inf)
    a = step("pointer attention", scores.softmax(-1))
    log_ptr = scatter(a, batch.location, self.c.n_locations)
    step("pointer, scattered", log_ptr)
    log_gen = step("generator", self.generator(context).log_softmax(-1))
    z = step("gate", self.gate(context).squeeze(-1))
    log_p = step("log P, the mixture", mix(z, log_ptr, log_gen))
    return Answer(log_p, z.sigmoid(), a, log_ptr, log_gen, seen, step)


MyPGT.encode, MyPGT.forward = encode, forward

# %%
torch.manual_seed(0)
out = MyPGT(size).eval()(batch)
total = out.log_probs.exp().sum(1)
assert torch.allclose(total, torch.ones(len(batch)), atol=1e-5)
letters = "B,L B,L,13D/4 B,L,D B,L,D B,H,L,L B,L,D B,D B,L B,V B,V B B,V"
walk = pd.DataFrame({"shape": out.shapes.values()}, index=list(out.shapes))
walk["letters"] = letters.replace(",", ", ").replace(" B", ";B").split(";")
walk

# %% [markdown]
# The probabilities of each window sum to one. The context drops all visits but the last. So whatever the generator and the
# gate know about the other visits, self-attention must have carried into that one vector. The pointer alone sees every
# visit again.

# %% tags=["hide-input"]
from wherenext.architecture import architecture

parts = "visits embeddings projection position - encoder"  # - is inside it
parts += " context pointer copies generator gate mixture"
pairs = zip(parts.split(), walk.letters, strict=True)
shapes = {part: shape for part, shape in pairs if part != "-"}
B, L = batch.location.shape
architecture(
    shapes=shapes,
    words=False,
    caption="The table as a picture: at each arrow the shape of the result, "
    f"here with B = {B}, L = {L}, D = {size.d_model} and "
    f"V = {size.n_locations:,}. After the encoder, only the pointer looks at "
    "all visits.",
)

# %% [markdown]
# ## Where do the parameters live?
#
# Count by hand, part by part. A linear layer has a weight for each pair of input and output, and a bias for each output.


# %%
def count(c):
    d, ff = c.d_model, c.d_feedforward
    sizes = table_sizes(c)
    numbers = {
        f"{name.replace('_', ' ')} embedding": rows * width
        for name, (rows, width) in sizes.items()
    }
    wide = sum(width for _, width in sizes.values())
    # query, key, value and out; up; down; two norms
    layer = 4 * (d * d + d) + (d * ff + ff) + (ff * d + d) + 2 * (2 * d)
    numbers |= {
        "input projection": wide * d + d,
        "input norm": 2 * d,
        "encoder": c.n_layers * layer,
        "pointer query and key": 2 * (d * d + d),
        "position bias": c.max_len + 1,
        "generator": d * c.n_locations + c.n_locations,
        "gate": d * (d // 2) + d // 2 + d // 2 + 1,
    }
    return pd.Series(numbers)


# %% [markdown]
# [The original specification](https://where-next-book.github.io/where-next/book/errata.html) has two configurations, for
# its two data sets. DIY is private: we use its configuration only, with the 20,000 places and 2,000 people that its table
# of parameters implies. For GeoLife we take the vocabulary of the published windows, 1,187 ids for places and 46 for
# people. In this book, PGT *as documented* on GeoLife is this second configuration. The default values of
# `ModelConfig` differ from both.

# %%
configs = {
    "DIY": ModelConfig(20_000, 2_000, **PRESETS["diy"].model),
    "GEOLIFE": ModelConfig(1_187, 46, **PRESETS["geolife"].model),
    "our city": size,
}
counts = pd.DataFrame({name: count(c) for name, c in configs.items()})
for name, c in configs.items():  # formula = our model = the package's
    built = sum(p.numel() for p in MyPGT(c).parameters())
    theirs = PointerGeneratorTransformer(c).n_parameters()
    assert counts[name].sum() == built == theirs
counts.loc["total"] = counts.sum()
counts.map("{:,}".format)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from IPython.display import Markdown
from wherenext.figures import COPIED, GATE, GENERATED, MUTED, show

small = ["time", "weekday", "recency", "duration", "position from end"]
groups = {
    "location embedding": ["location embedding"],
    "user embedding": ["user embedding"],
    "time, weekday, …, position": [f"{name} embedding" for name in small],
    "input projection, norm": ["input projection", "input norm"],
    "encoder": ["encoder"],
    "pointer and its bias": ["pointer query and key", "position bias"],
    "generator": ["generator"],
    "gate": ["gate"],
}
share = {g: counts.loc[rows].sum() for g, rows in groups.items()}
share = 100 * pd.DataFrame(share).T / counts.loc["total"]
colours = [MUTED] * 5 + [COPIED, GENERATED, GATE]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True, sharex=True)
beside = {"xytext": (4, 0), "textcoords": "offset points"}
beside |= {"va": "center", "fontsize": 8.5}
said = []
for ax, name in zip(axes, ("DIY", "GEOLIFE"), strict=True):
    ax.barh(share.index, share[name], color=colours)
    for y, value in enumerate(share[name]):
        ax.annotate(f"{value:.1f}", (value, y), **beside)
    ax.set(title=f"{name}: {counts[name]['total']:,}")
    ax.set(xlabel="parameters (%)", xlim=(0, 58))
    ax.grid(axis="y", visible=False)
    each = [f"{g} {v:.1f} per cent" for g, v in share[name].items()]
    said.append(f"{name}: {', '.join(each)}.")
axes[0].invert_yaxis()
show(
    fig,
    alt=f"Bars of the share of parameters. {' '.join(said)}",
    caption="Where the parameters live, in the two documented "
    "configurations.",
)

# %% tags=["hide-input"]
lists = ["location embedding", "user embedding", "generator"]
lists = share.loc[lists, "DIY"].sum()
pointer = share.loc["pointer and its bias", "DIY"]
Markdown(
    "**With many places, nearly all parameters are lists**, one row a place "
    f"or a person: {lists:.1f} % in the DIY model. The pointer, after which "
    f"the model is named, has {pointer:.2f} %. It points at *visits*, of "
    f"which there are never more than {size.max_len}, so it costs the same "
    "in a village and in a metropolis."
)

# %% [markdown]
# ## The loss
#
# The answer is a distribution $P$ over $V$ places. Cross-entropy against a target distribution $y$ is
# $-\sum_\ell y_\ell \log P(\ell)$. If $y$ is sure, all its mass is on the true place $\ell^*$ and the loss is
# $-\log P(\ell^*)$. **Label smoothing** takes away a share $\varepsilon$ and deals it out evenly,
# $y_\ell = (1-\varepsilon)\,[\ell = \ell^*] + \varepsilon / V$. Put that in, and split the sum:
#
# $$
# \mathcal{L} = -(1-\varepsilon)\log P(\ell^*) \;-\; \frac{\varepsilon}{V}\sum_{\ell}\log P(\ell). \tag{9.1}
# $$
#
# PyTorch's `CrossEntropyLoss` computes the same, after a log-softmax of its own. That does no harm: a log-softmax subtracts
# the logarithm of the sum, and probabilities sum to 1. A second one does nothing: log-softmax is **idempotent**.


# %%
def loss(log_probs, target, eps=0.0):
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    return (-(1 - eps) * own - eps * log_probs.mean(1)).mean()


x = torch.randn(64, 20_000, dtype=torch.float64)
once, where = x.log_softmax(1), torch.randint(20_000, (64,))
builtin = nn.CrossEntropyLoss(label_smoothing=0.05)(once, where)
assert (once.log_softmax(1) - once).abs().max() < 1e-12
assert (loss(once, where, 0.05) - builtin).abs() < 1e-12

# %% [markdown]
# ### The same loss without $V$ numbers
#
# With a million places the scores of a batch of 128 fill half a gigabyte. Equation (9.1) asks for $\log P$ of every place,
# but outside the window the generator is alone. Let $s_\ell$ be its scores and $\Lambda = \log\sum_\ell e^{s_\ell}$, and let
# $\delta_\ell$ be what the pointer adds to the logarithm at a place of the window (elsewhere it is zero):
#
# $$
# \log P(\ell) = \log(1-g) + s_\ell - \Lambda + \delta_\ell, \qquad
# \delta_\ell = \operatorname{softplus}\big(\log g + \log P_\text{ptr}(\ell) - \log(1-g) - s_\ell + \Lambda\big).
# $$
#
# Then the sum over all places needs only $\Lambda$, the sum of the scores, and the places of the window:
#
# $$
# \sum_{\ell} \log P(\ell) = V\,\big(\log(1-g) - \Lambda\big) + \sum_{\ell} s_\ell
# + \sum_{\ell \text{ in the window}} \delta_\ell. \tag{9.2}
# $$
#
# The package computes the loss in this way: both sums can be taken over a stretch of places at a time, so that no table of
# (B, V) is kept ([Scale](25_scale.ipynb)). Here is a check against equation (9.1).


# %% tags=["hide-input"]
def lean_loss(s, target, place, log_ptr, log_odds, eps):
    """s (B, V); place, log_ptr (B, S): every place of a window once."""
    V = s.shape[1]
    log_g, log_rest = F.logsigmoid(log_odds), F.logsigmoid(-log_odds)
    base = log_rest - s.logsumexp(1)  # (B,)
    alone = base[:, None] + s.gather(1, place)  # (B, S)
    delta = F.softplus(log_g[:, None] + log_ptr - alone)  # (B, S)
    own = base + s.gather(1, target[:, None])[:, 0]
    own = own + (delta * (place == target[:, None])).sum(1)
    every = V * base + s.sum(1) + delta.sum(1)  # equation (9.2)
    return (-(1 - eps) * own - eps / V * every).mean()


s, log_odds = torch.randn(64, 500).double(), torch.randn(64).double()
place = torch.stack([torch.randperm(500)[:6] for _ in range(64)])  # (B, S)
log_ptr = torch.randn(64, 6).double().log_softmax(1)
half = torch.arange(64) % 2 == 0
target = torch.where(half, 499, place[:, 0])  # half are elsewhere
pointer = torch.full_like(s, -torch.inf).scatter(1, place, log_ptr)
whole = mix(log_odds, pointer, s.log_softmax(1))
lean = lean_loss(s, target, place, log_ptr, log_odds, 0.05)
gap = abs(float(lean - loss(whole, target, 0.05)))
assert gap < 1e-12
print("Equations (9.1) and (9.2) agree to 1e-12 nats.")

# %% [markdown]
# ## The last line
#
# The original specification returns $\log(P + 10^{-10})$, to keep $\log 0$ away. We leave the constant out, because it spoils the gradient.
# Take a gate that has become sure. In float32, $\sigma(z)$ rounds to exactly 1 once $z$ is about 17, and then $1 - g$ is
# exactly 0. Take a place that only the generator knows, with $P_\text{gen} = 0.5$, and let $z$ grow.

# %%
z = torch.linspace(0, 40, 401)
nothing = torch.full((401, 1), -math.inf)
half = torch.full((401, 1), math.log(0.5))


def as_printed(z, log_pointer, log_generator):
    g = z.sigmoid()[:, None]
    p = g * log_pointer.exp() + (1 - g) * log_generator.exp()
    return (p + 1e-10).log()


def value_and_slope(rule, dtype):
    at = z.detach().clone().to(dtype).requires_grad_()
    value = rule(at, nothing.to(dtype), half.to(dtype))  # (401, 1)
    value.sum().backward()
    return value.detach().squeeze(1), at.grad


# %%
truth, true_slope = value_and_slope(mix, torch.float64)
ours, our_slope = value_and_slope(mix, torch.float32)
theirs, their_slope = value_and_slope(as_printed, torch.float32)
assert (ours - truth).abs().max() < 1e-5

# %% tags=["hide-input"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
wide = {"color": MUTED, "lw": 6, "alpha": 0.4, "label": "exact (float64)"}
logs = {"color": COPIED, "lw": 1.5, "label": "log-space, float32"}
dashes = {"color": GENERATED, "ls": "--", "label": "log(p + 1e-10), float32"}
lines = (
    (left, truth, ours, theirs),
    (right, true_slope, our_slope, their_slope),
)
for ax, exact, log_space, constant in lines:
    ax.plot(z, exact, **wide)
    ax.plot(z, log_space, **logs)
    ax.plot(z, constant, **dashes)
    ax.set_xlabel("gate's log-odds z")
left.set(ylabel="nats", title="log P of the place")
right.set(ylabel="nats per unit of z", title="its gradient by z")
left.legend(fontsize=8)
show(
    fig,
    alt="Left: the exact log-probability falls in a straight line as the "
    "gate's log-odds grow; the log-space mixture in float32 lies on it, the "
    "formula with the constant drops to log 1e-10 at about 17 and "
    "stays there. Right: the gradient falls to minus one and stays; with the "
    "constant it jumps to zero at the same point.",
    caption="One place, known to the generator only, while the gate turns "
    "to copying. With the constant, the logarithm falls off a cliff and then "
    "goes flat, where the model is most wrong.",
)

# %% [markdown]
# **With the constant, a gate that is sure and mistaken is not pulled back at all.** At the cliff near 17, $1 - g$ is rounded
# to zero. Only the constant is left, and its gradient is zero. In log space the slope is $-g$, however small the probability. The trained model never goes that far out:

# %%
logits, low = [], 0.0
with torch.no_grad():
    for b in data.test.batches(512):
        answer = package(b)
        logits.append(torch.logit(answer.gate.double()))
        low = min(low, float(answer.log_probs.min()))
logits = torch.cat(logits)
print(f"log-odds of the gate, test: {logits.min():.1f} to {logits.max():.1f}")
print(f"smallest log-probability: {low:.1f}")
print(f"the constant begins to matter at {math.log(1e-10):.1f}")

# %% [markdown]
# ## What must not matter
#
# A model should give the same answer for a window whatever other windows are in the batch. Masks make sure of it,
# and one forgotten mask breaks it silently. So test it. We load the trained weights first. Our names differ from
# the package's, and it keeps query, key and value in one matrix, which we cut into three.

# %%
RENAME = {
    "embeddings.": "",
    "encoder.": "",
    "norm_attention": "norm1",
    "norm_feedforward": "norm2",
    "feedforward.0": "up",
    "feedforward.3": "down",
    "attention.out": "out",
    "pointer.query": "pointer_query",
    "pointer.key": "pointer_key",
    "pointer.position_bias": "position_bias",
}


# %%
def in_our_names(package):
    weights, joined = {}, "attention.project"
    for name, value in package.state_dict().items():
        for old, new in RENAME.items():
            name = name.replace(old, new)
        if joined not in name:
            weights[name] = value.clone()
            continue
        thirds = value.chunk(3)  # (3D, D) -> three times (D, D)
        three = zip(("query", "key", "value"), thirds, strict=True)
        for part, third in three:
            weights[name.replace(joined, part)] = third.clone()
    return weights


# %%
mine = MyPGT(size).eval()
print(mine.load_state_dict(in_our_names(package)))


# %%
def widened(batch, extra):
    """The same windows with more padding."""
    wider = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if value.ndim == 2:
            wider[field.name] = F.pad(value, (0, extra))
    return replace(batch, **wider)


@torch.no_grad()
def prediction(model, batch):
    return model(batch).log_probs.exp()  # (B, V)


# %%
p = prediction(mine, batch)
generator = torch.Generator().manual_seed(1)
order = torch.randperm(len(batch), generator=generator)
again = data.test.batch(batch.index[order].numpy())
cut = MyPGT(replace(size, max_len=10)).eval()  # untrained, ten visits
long = np.flatnonzero(data.test.lengths > 10)[:64]
last_ten = prediction(cut, data.test.batch(long, 10))

wide = prediction(mine, widened(batch, 30))
alone = prediction(mine, data.test.batch([i]))
too_long = prediction(cut, data.test.batch(long))
changes = {
    "thirty more columns of padding": wide - p,
    "the story window alone": alone - p[:1],
    "batch in another order": prediction(mine, again) - p[order],
    "windows too long, against their last 10 visits": too_long - last_ten,
}
changes = {name: f"{x.abs().max():.0e}" for name, x in changes.items()}
pd.Series(changes, name="largest change of a probability").to_frame()

# %% [markdown]
# All changes are zero or rounding.
#
# ## Is it the same model?
#
# Now comes the test that this chapter was written for: the same weights, several hundred windows of all lengths,
# two precisions.

# %%
many = np.random.default_rng(0).permutation(len(data.test))[:400]
big = data.test.batch(many)  # padded to the longest of them
report = {}
for dtype, limit in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    mine.to(dtype)
    package.to(dtype)
    with torch.no_grad():
        ours, theirs = mine(big), package(big, attention=True)
    scale = theirs.log_probs.abs().clamp(min=1)
    off = (ours.log_probs - theirs.log_probs).abs() / scale
    others = [
        ours.gate - theirs.gate,
        ours.attention - theirs.pointer_attention,
        ours.log_pointer.exp() - theirs.pointer_log_probs.exp(),
        ours.log_generator.exp() - theirs.generator_log_probs.exp(),
    ]
    rest = max(float(difference.abs().max()) for difference in others)
    report[str(dtype)] = [limit, float(off.max()), rest]
    assert off.max() < limit and rest < limit
empty = 1 - float(big.length.sum()) / big.location.numel()
print(f"{len(many)} windows, {100 * empty:.0f} % padding")
heads = ["limit", "log-probs", "gate, attention, both distributions"]
pd.DataFrame(report, index=heads).T.map("{:.0e}".format)

# %% [markdown]
# The limit is absolute. For log-probabilities beyond $\pm 1$ it is relative, since a float32 near 10 has no
# digit left for a millionth.
#
# ## And does it learn the same?
#
# Equal outputs need equal forward passes. Equal *training* needs equal gradients. Take both models untrained from one
# seed, without dropout (which sets random entries to zero), and make one step of AdamW, the optimizer of
# [chapter 10](10_training.ipynb).


# %%
few = np.linspace(0, len(data.train) - 1, 128).astype(int)
few = data.train.batch(few)


def one_step(model, dtype):
    model.to(dtype).train()
    options = {"betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": 0.015}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **options)
    loss(model(few).log_probs, few.target, 0.03).backward()
    optimizer.step()


# %%
difference, gradient = {}, {}
for dtype in (torch.float64, torch.float32):
    torch.manual_seed(0)
    reference = PointerGeneratorTransformer(replace(size, dropout=0.0))
    student = MyPGT(reference.config)
    student.load_state_dict(in_our_names(reference))
    one_step(reference, dtype)
    one_step(student, dtype)
    after = in_our_names(reference)
    gap, slope = {}, {}
    for name, p in student.named_parameters():
        gap[name] = float((p.detach() - after[name]).abs().max())
        slope[name] = float(p.grad.abs().max())
    difference[dtype], gradient[dtype] = pd.Series(gap), pd.Series(slope)
largest = difference[torch.float64].max()
assert largest < 1e-8
print(f"float64, largest difference of a weight: {largest:.0e}")
worst = difference[torch.float32].sort_values(ascending=False).head(5)
worst = worst.map("{:.0e}".format).rename("float32, largest difference")
worst.to_frame().rename_axis("in code")

# %% [markdown]
# In double precision the two are one model. In single precision some weights differ by about a tenth of a step or more (a step is about 0.001). They are *biases of keys*. What is special about those?
#
# A key's bias adds the same number, its product with the query, to *every* score in a row. The softmax does not see a
# number that is added to all. So **these biases do nothing**, and their true gradient is zero. What arrives is rounding,
# different in the two programs. These are the gradients in ours, with a query's bias for comparison:

# %%
names = gradient[torch.float32].index
dead = [name for name in names if name.endswith("key.bias")]
rows = [*dead, "pointer_query.bias"]
slopes = gradient.items()
largest = {f"largest gradient, {t}": slope[rows] for t, slope in slopes}
pd.DataFrame(largest).map("{:.0e}".format).rename_axis("in code")

# %% [markdown]
# AdamW divides each gradient by its typical size. So even rounding noise becomes a good part of a step,
# unless it is far below `eps`, here $10^{-9}$. These weights wander without effect. Set them to zero in the trained model:

# %%
mine.float()
n_dead = 1 + sum(mine.get_parameter(name).numel() for name in dead)
with torch.no_grad():
    before = mine(big).log_probs
    for name in dead:
        mine.get_parameter(name).zero_()
    moved = float((mine(big).log_probs - before).abs().max())
print(f"{n_dead} = {len(dead)} × {size.d_model} + 1 parameters do nothing,")
print("and so do rows of padding. (The 1 is entry 0 of the position bias.)")
print(f"With key biases of zero, log-probabilities change by {moved:.0e}.")

# %% [markdown]
# > **Note.** This is why we ask for "equal to the bit" of one program run twice ([Training](10_training.ipynb)), and "equal
# > to a limit" of two programs. Two programs add in different orders.
#
# ## What to remember
#
# - The model is seven tables, an encoder, a pointer, a generator and a gate that mixes the two. One forward pass
#   returns the prediction and everything it was made of.
# - With many places nearly all parameters are lists of places. The pointer is tiny and does not grow.
# - The constant $10^{-10}$ hardly changes the loss of an ordinary prediction, but it cuts off the gradient of a
#   sure mistake. Stay in log space.
# - Padding, the other windows of a batch and their order must not matter. Test it.
# - Test equal outputs and equal steps. The tests also find what nobody was looking for, such as weights that do nothing.
#
# ## Exercises
#
# **Exercise 1** (quick). How many places must there be before the location table and the generator together hold
# more than nine tenths of a DIY model with 2,000 people? Solve it on paper, then check with `count`.

# %% tags=["try"]
places = ...  # a whole number
check.exercise("9.1", places)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
diy = configs["DIY"]
lists = ["location embedding", "generator"]
rest = count(diy).drop(lists).sum()  # does not depend on V
# 129 V > 0.9 (129 V + rest)
by_paper = math.ceil(9 * rest / (2 * diy.d_model + 1))


def part(v):
    numbers = count(replace(diy, n_locations=v))
    return numbers[lists].sum() / numbers.sum()


around = range(by_paper - 5, by_paper + 5)
first = next(v for v in around if part(v) > 0.9)
check.same(by_paper, first, name="the number of places")
check.exercise("9.1", by_paper)
print(f"{by_paper:,} places")

# %% [markdown]
# **Exercise 2** (medium). Let $r = g\,P_\text{ptr}(\ell) / P(\ell)$, the share of a place's probability that was copied: its
# responsibility. Show that $\partial \log P(\ell) / \partial z = r - g$, which is equation (8.7), and check it with autograd. When is the gate
# pushed up?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# dg/dz = g (1 - g), so
# d log P / dz = g (1 - g) (P_ptr - P_gen) / P
#              = (1 - g) r - g (1 - r) = r - g.
with torch.no_grad():
    answer = package.double()(big)
z_free = torch.logit(answer.gate).requires_grad_()
log_ptr, log_gen = answer.pointer_log_probs, answer.generator_log_probs
log_probs = mix(z_free, log_ptr, log_gen)
target = torch.arange(len(big)), big.target
log_probs[target].sum().backward()
copied = answer.gate * log_ptr[target].exp()
r = copied / log_probs[target].detach().exp()
check.same(z_free.grad, r - answer.gate, name="r - g", atol=1e-9)
# The gate is pushed up when the true place owes more to copying than the
# gate expected, and down when less.

# %% [markdown]
# **Exercise 3** (longer). In [the package](https://where-next-book.github.io/where-next/book/api.html) an ablation is one field of the configuration ([chapter 14](14_ablations.ipynb)).
# Give `MyPGT` a variant whose gate is fixed at one half, without touching its `forward`, and check it against the
# package's ablation `no_gate`.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
class Half(nn.Module):
    def forward(self, context):  # (B, D) -> (B, 1)
        return context.new_zeros(len(context), 1)  # sigmoid(0) = 1/2


torch.manual_seed(3)
fixed = PointerGeneratorTransformer(ablate(size, "no_gate")).eval()
variant = MyPGT(size).eval()
variant.gate = Half()
variant.load_state_dict(in_our_names(fixed))  # strict: no gate on either side
ours, theirs = prediction(variant, big), prediction(fixed, big)
check.same(ours, theirs, name="no_gate")

# %% [markdown]
# **Exercise 4** (project). The location table and the generator's matrix have the same shape. Tie them
# ([Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)): use one for both. How many parameters are left? Then train
# the package's model both ways with `pgt.train.fit` on the city from three seeds and compare them on targets outside the
# window. Begin with `MyPGT`, with the count and one check: after a training step, do the two still share one matrix?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
torch.manual_seed(0)
tied = MyPGT(replace(size, dropout=0.0))
free = sum(p.numel() for p in tied.parameters())
tied.generator.weight = tied.tables["location"].weight  # two owners
bound = sum(p.numel() for p in tied.parameters())  # counts it once
saved = size.n_locations * size.d_model
check.same(free - bound, saved, name="what tying saves")
one_step(tied, torch.float32)
assert tied.generator.weight is tied.tables["location"].weight
print(f"{free:,} -> {bound:,} parameters")
# In the package's model the two are `generator.weight` and
# `embeddings.tables["location"].weight`.
# Mind the scale: an embedding starts with standard deviation 1, a linear
# layer with about 1 / sqrt(3 D). Tied scores start large. Divide them by
# sqrt(D) before you compare; otherwise you compare two initialisations.

# %% [markdown]
# **Exercise 5** (quick). Before you open the solution: the model is trained and in evaluation mode. Which one of these changes its
# answer for a window: more *padding* at the end of its row, longer *neighbours* in the same batch, another *batch order*
# of the windows, or another *visit order* within the window?

# %% tags=["try"]
# "padding", "neighbours", "batch order" or "visit order"
changes = ...
check.exercise("9.5", changes)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
check.exercise("9.5", "visit order")
turned = torch.arange(batch.location.shape[1])
turned[:2] = torch.tensor([1, 0])  # the two oldest visits change places
columns = {f.name: getattr(batch, f.name) for f in fields(batch)}
turned = {n: v[:, turned] for n, v in columns.items() if v.ndim == 2}
before = prediction(mine, batch)
change = (prediction(mine, replace(batch, **turned)) - before).abs()
print(f"largest change of a probability: {change.max():.0e}")
# What we know of the two visits moves along. Only their order changes.

# %% [markdown]
# **Next:** [Training](10_training.ipynb), where the weights stop being random.
