# %% [markdown]
# # The whole model
#
# *You will be able to* write the Pointer-Generator Transformer from memory, say where its parameters live,
# take its loss apart, and prove that your model is the package's. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb); the chapters on embeddings, self-attention, pointer, generator and gate take each
# part slowly, this one is complete without them. *It takes* twenty-five minutes to read and about fifteen
# seconds to run on two CPU cores; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# You know the parts. Now put them into one box, close the lid, and check that nothing was lost on the way.
#
# The plan: write every part again, as short as it gets; walk one batch through and write down each shape;
# count the parameters; look hard at the last line, the logarithm; and at the end put the package's trained
# weights into our model and ask for the same answers.

# %%
import math
from dataclasses import dataclass, fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from IPython.display import Markdown
from torch import nn

from pgt import city
from pgt.checkpoint import load_model, shipped
from pgt.config import ABLATIONS, PRESETS, ModelConfig, ablate
from pgt.exercises import check
from pgt.look import story
from pgt.model import PointerGeneratorTransformer
from pgt.viz.figures import COPIED, GATE, GENERATED, INK, MUTED, PAPER, TRUTH, show
from pgt.windows import prepare

# %%
package, vocabulary = load_model(shipped("city"))  # trained, in evaluation mode
size = package.config
data = prepare(city.load().visits, protocol="exact", vocabulary=vocabulary)
i = story(data.test)  # the window that Part II follows
batch = data.test.batch([i, *range(7)])  # and seven mates
print(
    f"{len(batch)} windows of {batch.length.tolist()} visits, "
    f"{size.n_locations:,} locations, {size.n_users} people"
)

# %% [markdown]
# ## The parts
#
# **Embeddings** ([chapter 5](05_embeddings.ipynb)). Seven tables turn the integers of a visit into vectors. Location and user get $D$ numbers,
# the other five $D/4$ each. Row 0 is padding everywhere.


# %%
def table_sizes(c):
    """Name -> (rows, width). One row more than there are values: row 0 is padding."""
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
    # "day": counted back from the target's day, which tells a little of the future
    days = batch.days_ago + (batch.gap_days[:, None] if target_time == "day" else 0)
    return {
        "location": batch.location,
        "user": batch.user[:, None].expand_as(batch.location),
        "time": batch.time,
        "weekday": batch.weekday,
        "recency": (1 + days.clamp(max=7)) * ~padding,
        "duration": batch.duration,
        "position_from_end": (batch.length[:, None] - step).clamp(min=0),
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
        self.query, self.key, self.value, self.out = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, wide), nn.Linear(wide, d)

    def forward(self, x, padding):  # (B, L, D), (B, L)
        y = self.norm1(x)
        q, k, v = (
            part(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )  # (B, H, L, D/H)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, L, L)
        seen = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        x = x + self.drop(self.out((self.drop(seen) @ v).transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(self.drop(F.gelu(self.up(self.norm2(x)))))), seen


# %% [markdown]
# **Scatter.** The pointer weighs visits; a prediction needs places. Add up the weights of each place, and
# take the logarithm only where there is something to take it of. This is equation (7.4) of
# [chapter 7](07_pointer.ipynb).
#
# **Mixture.** $\log P(\ell) = \log\bigl(g\,P_\text{ptr}(\ell) + (1-g)\,P_\text{gen}(\ell)\bigr)$, with
# $g = \sigma(z)$ the weight of *copying*. Everything stays in logarithms, as in equation (8.6) of
# [chapter 8](08_generator_and_gate.ipynb); why, we shall see again.


# %%
def scatter(weights, location, n_locations):
    """(B, L) weights of visits -> (B, V) log-probabilities of places, or -inf."""
    total = weights.new_zeros(len(weights), n_locations).scatter_add(
        1, location, weights
    )
    seen = total > 0
    return torch.where(seen, total.where(seen, 1.0).log(), -math.inf)


def mix(z, log_pointer, log_generator):
    """(B,) gate logit, twice (B, V) -> (B, V)."""
    return torch.logaddexp(
        F.logsigmoid(z)[:, None] + log_pointer,
        F.logsigmoid(-z)[:, None] + log_generator,
    )


# %% [markdown]
# > **Pitfall.** `total.log()` would do in the forward pass: log 0 is $-\infty$, as wanted. In the backward pass
# > it makes every weight NaN, because the derivative there is $0 \cdot \infty$. A `where` *after* the logarithm
# > does not help either, since the gradient still passes through it. The `where` *before* it does.
#
# ## The assembly
#
# One question decides the design: what does `forward` return? If it returns log-probabilities only, whoever
# wants to draw the pointer must compute it a second time, and second computations drift. So one forward
# returns everything: what is shown is what was used.


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
        self.tables = nn.ModuleDict(
            {k: nn.Embedding(*s, padding_idx=0) for k, s in sizes.items()}
        )
        self.project, self.norm = (
            nn.Linear(sum(w for _, w in sizes.values()), d),
            nn.LayerNorm(d),
        )
        self.register_buffer("positions", sinusoid(c.max_len, d), persistent=False)
        self.layers = nn.ModuleList(
            Layer(d, c.n_heads, c.d_feedforward, c.dropout) for _ in range(c.n_layers)
        )
        self.pointer_query, self.pointer_key = nn.Linear(d, d), nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(c.max_len + 1))
        self.generator = nn.Linear(d, c.n_locations)
        self.gate = nn.Sequential(nn.Linear(d, d // 2), nn.GELU(), nn.Linear(d // 2, 1))


# %% [markdown]
# The forward pass is the numbered walk of the design documents (the written design from which we learned this
# model), with our conventions: batch first from the
# start (theirs begins sequence first and transposes), logarithms at the end. Each line leaves its shape.


# %%
class Walk(dict):
    """Notes down the shape of every step."""

    def __call__(self, name, x):
        self[f"{len(self) + 1}. {name}"] = tuple(x.shape)
        return x


def encode(self, batch, step):
    ids, padding = indices(batch, self.c.target_time)
    step("location ids", batch.location)
    x = torch.cat([table(ids[k]) for k, table in self.tables.items()], -1)
    step("seven embeddings, side by side", x)
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
    scores = (self.pointer_key(x) @ query).squeeze(-1) / math.sqrt(self.c.d_model)
    scores = (scores + self.position_bias[position]).masked_fill(padding, -math.inf)
    a = step("pointer attention", scores.softmax(-1))
    log_pointer = scatter(a, batch.location, self.c.n_locations)
    step("P_ptr, scattered", log_pointer)
    log_generator = step("P_gen", self.generator(context).log_softmax(-1))
    z = step("gate", self.gate(context).squeeze(-1))
    log_probs = step("log P, the mixture", mix(z, log_pointer, log_generator))
    return Answer(log_probs, z.sigmoid(), a, log_pointer, log_generator, seen, step)


MyPGT.encode, MyPGT.forward = encode, forward

# %%
torch.manual_seed(0)
out = MyPGT(size).eval()(batch)
assert torch.allclose(out.log_probs.exp().sum(1), torch.ones(len(batch)), atol=1e-5)
letters = [
    "L",
    "L, 13D/4",
    "L, D",
    "L, D",
    "H, L, L",
    "L, D",
    "D",
    "L",
    "V",
    "V",
    "",
    "V",
]
walk = pd.DataFrame({"shape": list(out.shapes.values())}, index=list(out.shapes))
walk.assign(letters=["B, " + rest if rest else "B" for rest in letters])

# %% [markdown]
# Twelve steps, and the rows sum to one. Two of them deserve a second look. Step 7 throws away all visits but
# the last, so whatever the generator and the gate know about the week must have been carried into that one
# vector by step 5. And steps 8 to 9 go back: the pointer alone sees every visit again.

# %% tags=["hide-input"]
boxes = {  # name: (x, y, colour, numbers of the steps)
    "embeddings": (0.0, 1, MUTED, (2, 3)),
    "encoder": (1.75, 1, MUTED, (4, 6)),
    "context": (3.5, 1, INK, (7,)),
    "pointer": (5.2, 2.1, COPIED, (8,)),
    "scatter": (6.9, 2.1, COPIED, (9,)),
    "gate": (5.2, 1, GATE, (11,)),
    "generator": (5.2, -0.1, GENERATED, (10,)),
    "mixture": (6.9, 1, TRUTH, (12,)),
}
arrows = [
    ("embeddings", "encoder"),
    ("encoder", "context"),
    ("context", "pointer"),
    ("context", "gate"),
    ("context", "generator"),
    ("pointer", "scatter"),
    ("scatter", "mixture"),
    ("gate", "mixture"),
    ("generator", "mixture"),
]
fig, ax = plt.subplots(figsize=(7.4, 3.5))
line = {"arrowstyle": "->", "color": INK, "shrinkA": 24, "shrinkB": 24}
for start, end in arrows:
    ax.annotate("", boxes[end][:2], boxes[start][:2], arrowprops=line)
ax.annotate(
    "",
    (5.2, 2.1),
    (1.75, 1),
    arrowprops={
        **line,
        "color": COPIED,
        "ls": "--",
        "connectionstyle": "arc3,rad=-0.3",
        "shrinkB": 30,
    },
)
ax.text(2.5, 2.0, "all visits (keys)", color=COPIED, fontsize=8, ha="center")
shapes = list(out.shapes.values())
for name, (x, y, colour, steps) in boxes.items():
    ax.text(
        x,
        y,
        name,
        ha="center",
        va="center",
        fontsize=9.5,
        zorder=3,
        bbox={"boxstyle": "round,pad=0.4", "fc": PAPER, "ec": colour, "lw": 2},
    )
    text = "\n".join(f"{n}: {' × '.join(map(str, shapes[n - 1]))}" for n in steps)
    up = 1 if y > 2 else -1  # the pointer's two boxes: above
    ax.text(
        x + 0.35 * (name == "mixture"),
        y + 0.24 * up,
        text,
        ha="center",
        va="bottom" if up > 0 else "top",
        fontsize=8,
        color=INK,
    )
ax.set(xlim=(-0.7, 7.8), ylim=(-0.6, 2.6))
ax.axis("off")
show(
    fig,
    alt="Data flow with the shapes of this batch: embeddings, encoder, context. From the context arrows lead to "
    "pointer, gate and generator; a dashed arrow brings all encoded visits to the pointer as keys. The pointer is "
    f"scattered to {size.n_locations} places, and the mixture joins scatter, gate and generator.",
    caption="The walk as a picture: number of the step, shape of its result. Only the pointer (dashed) looks at all "
    "visits after the encoder.",
)

# %% [markdown]
# ## Where do the parameters live?
#
# Count by hand, part by part. A linear layer has a weight for each pair of input and output, and a bias for each output.


# %%
def count(c):
    d, ff = c.d_model, c.d_feedforward
    tables = {
        f"{name} embedding": rows * width
        for name, (rows, width) in table_sizes(c).items()
    }
    wide = sum(width for _, width in table_sizes(c).values())
    # query, key, value and out; up; down; two norms
    layer = 4 * (d * d + d) + (d * ff + ff) + (ff * d + d) + 2 * (2 * d)
    return pd.Series(
        {
            **tables,
            "input projection": wide * d + d,
            "input norm": 2 * d,
            "encoder": c.n_layers * layer,
            "pointer query and key": 2 * (d * d + d),
            "position bias": c.max_len + 1,
            "generator": d * c.n_locations + c.n_locations,
            "gate": d * (d // 2) + d // 2 + d // 2 + 1,
        }
    )

# %%
documented = pd.Series(
    {  # design documents, model architecture, §9.1; "~" is theirs
        "location embedding": "~1.3M",
        "user embedding": "~128K",
        "time embedding": "1,552",
        "weekday embedding": "128",
        "recency embedding": "144",
        "duration embedding": "1,600",
        "position_from_end embedding": "2,416",
        "input projection": "13,376",
        "input norm": "128",
        "encoder": "~100K",
        "pointer query and key": "8,192",
        "position bias": "150",
        "generator": "~1.3M",
        "gate": "2,081",
        "total": "~2.8M",
    }
)

# %% [markdown]
# The documents give two configurations, for their two datasets, and a table for the first. It does not name the
# sizes of the vocabulary, but one can work back: 1.3 million numbers at 64 a place are some 20,000 places,
# 128 thousand are 2,000 people. For the second we take the vocabulary of the published GeoLife windows, 1,187
# ids for places and 46 for people. When this book says of PGT on GeoLife that it is *as documented*, it means this
# second configuration. The values that `ModelConfig` has by itself are of the documents' general specification, and
# are called the package's default settings. They differ from both.

# %%
configs = {
    "DIY": ModelConfig(20_000, 2_000, **PRESETS["diy"].model),
    "GEOLIFE": ModelConfig(1_187, 46, **PRESETS["geolife"].model),
    "our city": size,
}
counts = pd.DataFrame({name: count(c) for name, c in configs.items()})
for name, c in configs.items():
    built = sum(p.numel() for p in MyPGT(c).parameters())
    theirs = PointerGeneratorTransformer(c).n_parameters()
    assert counts[name].sum() == built == theirs  # formula = our model = the package's
counts.loc["total"] = counts.sum()
shown = counts.map("{:,}".format)
shown.insert(0, "documents, DIY", documented)
shown

# %% [markdown]
# Compare the first two columns, the documents' and ours. Each difference has a reason:
#
# - **Location** and **generator**: 20,000 places fit both, the generator's 20,000 biases included. Elsewhere the
#   same documents speak of one to two thousand places, which would be a tenth of the table or less. Both
#   cannot be true.
# - **Duration** has one row more here. In the documents, row 0 is both padding and "under 30 minutes".
# - **Encoder**: "about 100K" is right for *two* layers. The documents' component table says 100K *a layer*, twice
#   too many.
# - **Pointer**: they list $2 \cdot 64 \cdot 64$ = 8,192. The layers that they print have biases: 8,320.
# - **Position bias**: 151 instead of 150, because entry 0 belongs to padding; the embedding's 151 rows imply a
#   longest window of 150.
# - **Gate**: 2,081 counts the output's bias and forgets the 32 of the hidden layer: 2,113.

# %% tags=["hide-input"]
groups = {
    "location embedding": ["location embedding"],
    "user embedding": ["user embedding"],
    "time, weekday, …, position": [
        f"{name} embedding" for name in list(table_sizes(size))[2:]
    ],
    "input projection, norm": ["input projection", "input norm"],
    "encoder": ["encoder"],
    "pointer and its bias": ["pointer query and key", "position bias"],
    "generator": ["generator"],
    "gate": ["gate"],
}
share = pd.DataFrame(
    {
        g: 100 * counts.loc[rows].sum() / counts.loc["total"]
        for g, rows in groups.items()
    }
).T
colours = [MUTED] * 5 + [COPIED, GENERATED, GATE]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True, sharex=True)
for ax, name in zip(axes, ("DIY", "GEOLIFE"), strict=True):
    ax.barh(share.index, share[name], color=colours)
    for y, value in enumerate(share[name]):
        ax.annotate(
            f"{value:.1f}",
            (value, y),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    ax.set(
        title=f"{name}: {counts[name]['total']:,}",
        xlabel="parameters (%)",
        xlim=(0, 58),
    )
    ax.grid(axis="y", visible=False)
axes[0].invert_yaxis()
show(
    fig,
    alt="Bars of the share of parameters. DIY: "
    + ", ".join(f"{g} {v:.1f} per cent" for g, v in share["DIY"].items())
    + ". GEOLIFE: "
    + ", ".join(f"{g} {v:.1f} per cent" for g, v in share["GEOLIFE"].items())
    + ".",
    caption="Where the parameters live, in the two documented configurations.",
)

# %% tags=["hide-input"]
lists = share.loc[["location embedding", "user embedding", "generator"], "DIY"].sum()
Markdown(
    f"In the DIY model **{lists:.1f} %** of all parameters are lists: one row a place, one row a person. The "
    f"pointer, after which the model is named, has {share.loc['pointer and its bias', 'DIY']:.2f} %. And the "
    "pointer costs the same in a village and in a metropolis: it points at *visits*, and there are never more "
    f"than {size.max_len} of those."
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
# The design documents hand their log-probabilities to `nn.CrossEntropyLoss`, which expects raw scores and applies
# a log-softmax of its own. Does that hurt? A log-softmax subtracts $\log\sum_\ell e^{s_\ell}$ from every score $s_\ell$. If
# the scores are log-probabilities, the sum is 1 and its logarithm 0. A second application does nothing: log-softmax is
# **idempotent**. With the documents' constant, $\log(P + 10^{-10})$, the sum is $1 + V\cdot 10^{-10}$ instead.


# %%
def loss(log_probs, target, eps=0.0):
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    return (-(1 - eps) * own - eps * log_probs.mean(1)).mean()


x = torch.randn(64, 20_000, dtype=torch.float64)
once, where = x.log_softmax(1), torch.randint(20_000, (64,))
printed = (once.exp() + 1e-10).log()  # the documents' last line
builtin = nn.CrossEntropyLoss(label_smoothing=0.05)(once, where)
numbers = {
    "log-softmax twice against once": (once.log_softmax(1) - once).abs().max(),
    "our loss against CrossEntropyLoss": (loss(once, where, 0.05) - builtin).abs(),
    "with the constant: what the second softmax removes": printed.logsumexp(1).mean(),
    "the prediction, V · 1e-10": 20_000 * 1e-10,
}
pd.Series({k: f"{float(v):.1e}" for k, v in numbers.items()}, name="nats").to_frame()

# %% [markdown]
# Two millionths of a nat, with 20,000 places. Harmless, as long as the vocabulary is small beside ten billion.
#
# ### The same loss without $V$ numbers
#
# Equation (9.1) asks for $\log P$ of every place, although the pointer speaks of a few places only, those in the
# window. Everywhere else the generator is alone. Let $s_\ell$ be its scores and $\Lambda = \log\sum_\ell e^{s_\ell}$ their
# normaliser, and let $\delta_\ell$ be what the pointer adds to the logarithm at a place of the window:
#
# $$
# \log P(\ell) = \log(1-g) + s_\ell - \Lambda + \delta_\ell, \qquad
# \delta_\ell = \operatorname{softplus}\big(\log g + \log P_\text{ptr}(\ell) - \log(1-g) - s_\ell + \Lambda\big).
# $$
#
# Outside the window $\delta_\ell$ is zero. Then the sum over all places falls apart:
#
# $$
# \sum_{\ell} \log P(\ell) = V\,\big(\log(1-g) - \Lambda\big) + \sum_{\ell} s_\ell
# + \sum_{\ell \text{ in the window}} \delta_\ell. \tag{9.2}
# $$
#
# Of $V$ scores a window needs $\Lambda$, their sum, and those of the target and of its own places. A sum does not have to be
# written down before it is summed. The package computes it a stretch of places at a time, and again for the
# gradient. That changes nothing you can see here. With a million places it decides whether training is possible
# ([Scale](25_scale.ipynb)).


# %%
def lean_loss(s, target, place, log_ptr, log_odds, eps):
    """s (B, V); place and log_ptr (B, S): every place of a window once."""
    log_g, log_rest = nn.functional.logsigmoid(log_odds), nn.functional.logsigmoid(-log_odds)
    norm, total = s.logsumexp(1), s.sum(1)                 # (B,) each: all that V is needed for
    alone = (log_rest - norm)[:, None] + s.gather(1, place)                      # (B, S)
    delta = nn.functional.softplus(log_g[:, None] + log_ptr - alone)             # (B, S)
    hit = place == target[:, None]
    own = log_rest - norm + s.gather(1, target[:, None])[:, 0] + (delta * hit).sum(1)
    every = s.shape[1] * (log_rest - norm) + total + delta.sum(1)                # equation (9.2)
    return (-(1 - eps) * own - eps / s.shape[1] * every).mean()


s, log_odds = torch.randn(64, 500, dtype=torch.float64), torch.randn(64, dtype=torch.float64)
place = torch.stack([torch.randperm(500)[:6] for _ in range(64)])     # six places a window
log_ptr = torch.randn(64, 6, dtype=torch.float64).log_softmax(1)
target = torch.where(torch.arange(64) % 2 == 0, 499, place[:, 0])     # half are elsewhere
pointer = torch.full_like(s, -torch.inf).scatter(1, place, log_ptr)
whole = torch.logaddexp(nn.functional.logsigmoid(log_odds)[:, None] + pointer,
                        nn.functional.logsigmoid(-log_odds)[:, None] + s.log_softmax(1))
gap = lean_loss(s, target, place, log_ptr, log_odds, 0.05) - loss(whole, target, 0.05)
assert abs(float(gap)) < 1e-12
print(f"equation (9.1) and equation (9.2) differ by {abs(float(gap)):.0e} nats")

# %% [markdown]
# ## The last line
#
# So is the constant harmless too? It was put there to keep $\log 0$ away. Let us look at what it does to a gate that
# has become sure. In float32, $\sigma(z)$ rounds to exactly 1 once $z$ is about 17; then $1 - g$ is exactly 0, and
# whatever the generator says is multiplied by nothing. Take a place that only the generator knows,
# with $P_\text{gen} = 0.5$, and let $z$ grow.

# %%
z = torch.linspace(0, 40, 401)
nothing, half = torch.full((401, 1), -math.inf), torch.full((401, 1), math.log(0.5))


def as_printed(z, log_pointer, log_generator):
    g = z.sigmoid()[:, None]
    return (g * log_pointer.exp() + (1 - g) * log_generator.exp() + 1e-10).log()


def value_and_slope(rule, dtype):
    at = z.detach().clone().to(dtype).requires_grad_()
    value = rule(at, nothing.to(dtype), half.to(dtype))  # (401, 1)
    value.sum().backward()
    return value.detach().squeeze(1), at.grad


truth, true_slope = value_and_slope(mix, torch.float64)
ours, our_slope = value_and_slope(mix, torch.float32)
theirs, their_slope = value_and_slope(as_printed, torch.float32)
assert (ours - truth).abs().max() < 1e-5
print(
    f"at z = 40: exact {truth[-1]:.3f}, ours {ours[-1]:.3f}, "
    f"as printed {theirs[-1]:.3f}; "
    f"slope {true_slope[-1]:.2f}, {our_slope[-1]:.2f}, {their_slope[-1]:.2f}"
)

# %% tags=["hide-input"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
for ax, exact, mine, printed_, title in (
    (left, truth, ours, theirs, "log P of the place"),
    (right, true_slope, our_slope, their_slope, "its gradient by z"),
):
    ax.plot(z, exact, color=MUTED, lw=6, alpha=0.4, label="exact (float64)")
    ax.plot(z, mine, color=COPIED, lw=1.5, label="log-space, float32")
    ax.plot(z, printed_, color=GENERATED, ls="--", label="log(p + 1e-10), float32")
    ax.set(xlabel="gate logit z", title=title)
left.set_ylabel("nats")
right.set_ylabel("nats per unit of z")
left.legend(fontsize=8)
show(
    fig,
    alt="Left: the exact log-probability falls in a straight line as the gate logit grows; the log-space mixture in "
    "float32 lies on it, the printed formula drops to log 1e-10 at a logit of about 17 and stays there. Right: the "
    "gradient falls to minus one and stays; for the printed formula it jumps to zero at the same point.",
    caption="One place, known to the generator only, while the gate closes. The printed formula falls off a cliff "
    "and then goes flat, where the model is most wrong.",
)

# %% [markdown]
# > **Pitfall.** In our first version of this cell all three slopes came out alike. `z.to(dtype)` returns *z itself* when
# > the type already fits, so the two float32 runs shared one tensor and added their gradients up in it. Hence the
# > `.clone()`.
#
# Look at the cliff near 17: there the value is first far too low, later far too high. The gradient is worse. A gate that is sure and mistaken should be pulled back as
# hard as possible. With the constant it is not pulled at all: it sits on a plateau. In log space the slope is $-g$,
# however small the probability.
#
# Is this a theoretical worry? Let us ask the trained model how far out it ever goes.

# %%
with torch.no_grad():
    logits = torch.cat(
        [torch.logit(package(b).gate.double()) for b in data.test.batches(512)]
    )
    low = min(float(package(b).log_probs.min()) for b in data.test.batches(512))
print(
    f"gate logits on the test windows: {logits.min():.1f} to {logits.max():.1f}; "
    f"smallest log-probability {low:.1f}; "
    f"the constant begins to matter at {math.log(1e-10):.1f}"
)

# %% [markdown]
# If these numbers are far from the plateau, the constant costs this model nothing. We remove it all the same: the
# version without it is as short, and holds for models we have not trained yet.
#
# ## Ablations: one field each
#
# To ask what a part is worth, take it out and train again. If every ablation is an `if` that somebody edits into the
# code, sooner or later two edits meet. In the package it is one field of the configuration, so it is stored with
# the weights and printed with the result. Here are all twelve rows, built.

# %%
says = {
    "full": "everything",
    "no_user": "does not know whose week it is",
    "no_time": "no time of day",
    "no_weekday": "no day of the week",
    "no_recency": "does not know how many days ago",
    "no_duration": "does not know how long they stayed",
    "no_position_from_end": "order: by sinusoid and position bias only",
    "no_sinusoid": "the encoder gets no fixed positions",
    "one_layer": "visits look at each other once",
    "no_pointer": "a Transformer classifier; needs no gate",
    "no_generator": "copies only; needs no gate",
    "no_gate": "half copied, half generated, always",
}
rows = {}
for name in ABLATIONS:
    variant = PointerGeneratorTransformer(ablate(size, name)).eval()
    p = variant.scores(batch).exp().sum(1)  # (B,)
    assert torch.allclose(p, torch.ones(len(batch)), atol=1e-5)  # still a distribution
    rows[name] = {"what is left": says[name], "parameters": variant.n_parameters()}
table = pd.DataFrame(rows).T
table["change"] = [f"{n - table.parameters['full']:+,}" for n in table.parameters]
print("one field:", {name: ABLATIONS[name] for name in ("no_gate", "one_layer")})
table

# %% [markdown]
# The counts say little about what a part is worth. The sinusoid has none at all; and taking out the pointer, which
# gives the model its name, saves less than a third of what one encoder layer costs.
#
# ## What must not matter
#
# A model should answer a window the same way whoever else is in the batch. Nothing in the code says so aloud; masks do
# it, one at a time, and one forgotten mask breaks it silently. So test it. We load the trained weights first. Our
# names differ from the package's, and it keeps query, key and value in one matrix. A list of renamings is all it takes.

# %%
RENAME = [
    ("embeddings.", ""),
    ("encoder.", ""),
    ("norm_attention", "norm1"),
    ("norm_feedforward", "norm2"),
    ("feedforward.0", "up"),
    ("feedforward.3", "down"),
    ("attention.out", "out"),
    ("pointer.query", "pointer_query"),
    ("pointer.key", "pointer_key"),
    ("pointer.position_bias", "position_bias"),
]


def in_our_names(package):
    weights = {}
    for name, value in package.state_dict().items():
        for old, new in RENAME:
            name = name.replace(old, new)
        if "attention.project" in name:  # (3D, D) -> three times (D, D)
            thirds = dict(zip(("query", "key", "value"), value.chunk(3), strict=True))
            for part, third in thirds.items():
                weights[name.replace("attention.project", part)] = third.clone()
        else:
            weights[name] = value.clone()
    return weights

# %%
mine = MyPGT(size).eval()
print(mine.load_state_dict(in_our_names(package)))


# %%
def widened(batch, extra):
    """The same windows with more padding."""
    return replace(
        batch,
        **{
            f.name: F.pad(getattr(batch, f.name), (0, extra))
            for f in fields(batch)
            if getattr(batch, f.name).ndim == 2
        },
    )


@torch.no_grad()
def gap(one, other):
    return float((mine(one).log_probs.exp() - other).abs().max())

# %%
with torch.no_grad():
    p = mine(batch).log_probs.exp()  # (B, V)
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(1))
    again = data.test.batch(batch.index[order].numpy())
    cut = MyPGT(replace(size, max_len=10)).eval()  # reads ten visits at most
    long = np.flatnonzero(data.test.lengths > 10)[:64]
    whole, kept = (cut(data.test.batch(long, n)).log_probs.exp() for n in (None, 10))
changes = {
    "thirty more columns of padding": gap(widened(batch, 30), p),
    "the story's window alone": gap(data.test.batch([i]), p[:1]),
    "batch in another order": gap(again, p[order]),
    "windows too long, against their last 10 visits": float((whole - kept).abs().max()),
}
rounded = pd.Series(changes).map("{:.0e}".format)
rounded.rename("largest change of a probability").to_frame()

# %% [markdown]
# Zero, or rounding. The last row is a promise that the code printed in the design documents cannot keep: there,
# a window longer than 150 visits fails, although the text praises sinusoids for generalising to longer sequences.
#
# ## Is it the same model?
#
# Now the test this chapter was written for. Same weights, several hundred windows of all lengths, two precisions.

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
        (ours.gate, theirs.gate),
        (ours.attention, theirs.pointer_attention),
        (ours.log_pointer.exp(), theirs.pointer_log_probs.exp()),
        (ours.log_generator.exp(), theirs.generator_log_probs.exp()),
    ]
    rest = max(float((a - b).abs().max()) for a, b in others)
    report[str(dtype)] = {
        "limit": limit,
        "log-probs": float(off.max()),
        "gate, attention, both distributions": rest,
    }
    assert off.max() < limit and rest < limit
empty = 1 - float(big.length.sum()) / big.location.numel()
print(f"{len(many)} windows, {100 * empty:.0f} % padding")
pd.DataFrame(report).T.map("{:.0e}".format)

# %% [markdown]
# The limit is absolute, and for log-probabilities beyond $\pm 1$ relative, since a float32 near 10 has no
# digit left for a millionth.
#
# ## And does it learn the same?
#
# Equal outputs need equal forward passes. Equal *training* needs equal gradients. Take both models untrained from one
# seed, without dropout, and make one step of AdamW.


# %%
def one_step(model, dtype):
    model.to(dtype).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.015
    )
    loss(model(few).log_probs, few.target, 0.03).backward()
    optimizer.step()

# %%
few = data.train.batch(np.linspace(0, len(data.train) - 1, 128).astype(int))
difference, gradient = {}, {}
for dtype in (torch.float64, torch.float32):
    torch.manual_seed(0)
    reference = PointerGeneratorTransformer(replace(size, dropout=0.0))
    student = MyPGT(reference.config)
    student.load_state_dict(in_our_names(reference))
    one_step(reference, dtype)
    one_step(student, dtype)
    after = in_our_names(reference)
    learned = dict(student.named_parameters())
    difference[dtype] = pd.Series(
        {n: float((p.detach() - after[n]).abs().max()) for n, p in learned.items()}
    )
    slopes = {n: float(p.grad.abs().max()) for n, p in learned.items()}
    gradient[dtype] = pd.Series(slopes)
assert difference[torch.float64].max() < 1e-8
print(f"float64, largest difference of a weight: {difference[torch.float64].max():.0e}")
worst = difference[torch.float32].sort_values(ascending=False).head(5)
worst.map("{:.0e}".format).rename("float32, largest difference").to_frame()

# %% [markdown]
# In double precision the two are one model. In single precision nearly all weights still agree; a few differ by
# up to the length of the step itself, 0.001. Look at their names. Before you read on: what is special about the biases
# of *keys*?
#
# A key's bias adds the same number, its product with the query, to *every* score in a row. The softmax does not see a
# number that is added to all. So *these biases do nothing*, and their true gradient is zero. What arrives is rounding, different in
# the two programs:

# %%
dead = [n for n in gradient[torch.float32].index if n.endswith("key.bias")]
pd.DataFrame(
    {str(dtype): gradient[dtype][[*dead, "pointer_query.bias"]] for dtype in gradient}
).map("{:.0e}".format)

# %% [markdown]
# And AdamW divides each gradient by its own size, so that noise, too, becomes a step; only its `eps`, here $10^{-9}$,
# says how small is too small. These weights wander for nothing. The package's self-attention starts them at exactly
# zero, so the trained model shows how far they came, and the noise above, beside `eps`, why no farther:

# %%
mine.float()
walked = {
    n: float(mine.get_parameter(n).detach().abs().mean())
    for n in dead
    if n.startswith("layers")
}
n_dead = 1 + sum(mine.get_parameter(n).numel() for n in dead)  # 1: b_0 of padding
with torch.no_grad():
    before = mine(big).log_probs
    for n in dead:
        mine.get_parameter(n).zero_()
    moved = float((mine(big).log_probs - before).abs().max())
print(f"mean size after training: { {n: round(v, 4) for n, v in walked.items()} }")
print(
    f"{n_dead} parameters do nothing (and the rows of padding). With key biases of zero, no log-probability "
    f"changes by more than {moved:.0e}."
)

# %% [markdown]
# The documents' 8,192 for query and key without biases was wrong for their code, and half right as a design: the
# query's bias is useful, the key's is not. We keep it, because equality with PyTorch's own layer and with the printed
# code is worth more than these few numbers.
#
# > **Note.** This is why "equal to the bit" is asked of one program run twice ([Training](10_training.ipynb)), and "equal to
# > a limit" of two programs. Two programs add in different orders.
#
# ## Summary
#
# - The model is seven tables, an encoder, a pointer, a generator, a gate, and one sum of logarithms.
# - One forward pass returns the prediction and all that it was made of. Pictures are drawn from that.
# - In a large vocabulary nearly all parameters are lists of places. The pointer is tiny and does not grow.
# - Cross-entropy on log-probabilities is harmless because log-softmax is idempotent.
# - The constant $10^{-10}$ is harmless for the value and not for the gradient. Stay in log space.
# - Padding, batch mates and order must not matter: test it. Equal outputs, equal steps: test it. The tests also find
#   what nobody was looking for, such as weights that do nothing.
#
# ## Exercises
#
# **Exercise 1** (quick). From how many places on do location table and generator together hold more than nine tenths
# of a DIY model with 2,000 people? Solve it on paper, then check with `count`.

# %% tags=["try"]
places = ...  # a whole number
check.exercise("9.1", places)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
diy = configs["DIY"]
lists = ["location embedding", "generator"]
rest = count(diy).drop(lists).sum()  # does not depend on V
by_paper = math.ceil(9 * rest / (2 * diy.d_model + 1))  # 129 V > 0.9 (129 V + rest)


def part(v):
    numbers = count(replace(diy, n_locations=v))
    return numbers[lists].sum() / numbers.sum()


first = next(v for v in range(by_paper - 5, by_paper + 5) if part(v) > 0.9)
check.same(by_paper, first, name="the number of places")
check.exercise("9.1", by_paper)
print(f"{by_paper:,} places")

# %% [markdown]
# **Exercise 2** (medium). Let $r = g\,P_\text{ptr}(\ell) / P(\ell)$, the share of a place's probability that was copied: its
# responsibility. Show that $\partial \log P(\ell) / \partial z = r - g$, which is equation (8.7), and check it with autograd. Read it aloud: when is the gate
# pushed up?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# dg/dz = g (1 - g), so d log P / dz = g (1 - g) (P_ptr - P_gen) / P = (1 - g) r - g (1 - r) = r - g.
with torch.no_grad():
    answer = package.double()(big)
z_free = torch.logit(answer.gate).requires_grad_()
log_probs = mix(z_free, answer.pointer_log_probs, answer.generator_log_probs)
rows = torch.arange(len(big))
log_probs[rows, big.target].sum().backward()
copied = answer.gate * answer.pointer_log_probs[rows, big.target].exp()
r = copied / log_probs[rows, big.target].detach().exp()
check.same(z_free.grad, r - answer.gate, name="r - g", atol=1e-9)
# The gate is pushed up when the true place owes more to copying than the gate expected, and down when
# less. It is trained by comparing a posterior (r) with a prior (g), as in a mixture of experts.

# %% [markdown]
# **Exercise 3** (longer). Give `MyPGT` a variant whose gate is fixed at one half, without touching its `forward`, and
# check it against the package's row `no_gate`.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
class Half(nn.Module):
    def forward(self, context):  # (B, D) -> (B, 1)
        return context.new_zeros(len(context), 1)  # sigmoid(0) = 1/2


torch.manual_seed(3)
fixed = PointerGeneratorTransformer(ablate(size, "no_gate")).eval()
variant = MyPGT(size).eval()
variant.gate = Half()
variant.load_state_dict(in_our_names(fixed))  # strict: no gate weights on either side
with torch.no_grad():
    check.same(variant(big).log_probs.exp(), fixed(big).log_probs.exp(), name="no_gate")

# %% [markdown]
# **Exercise 4** (project). The location table and the generator's matrix have the same shape. Tie them
# ([Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)): use one for both. How many parameters are left? Then train
# both versions with `pgt.train.fit` on the city from three seeds and compare them on targets outside the window. Begin
# with the count and one check: after a step, are the two still one?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
torch.manual_seed(0)
tied = MyPGT(replace(size, dropout=0.0))
free = sum(p.numel() for p in tied.parameters())
tied.generator.weight = tied.tables["location"].weight  # one tensor, two owners
bound = sum(p.numel() for p in tied.parameters())  # parameters() lists it once
check.same(free - bound, size.n_locations * size.d_model, name="what tying saves")
one_step(tied, torch.float32)
assert tied.generator.weight is tied.tables["location"].weight
print(f"{free:,} -> {bound:,} parameters")
# Mind the scale: an embedding starts with standard deviation 1, a linear layer with about 1 / sqrt(3 D). Tied scores
# start large. Divide them by sqrt(D), or start the table smaller, before you compare; otherwise you compare two
# initialisations. And `padding_idx=0` keeps row 0 without gradient from the lookup, but not from the generator.

# %% [markdown]
# **Next:** [Training](10_training.ipynb), where the weights stop being random.
