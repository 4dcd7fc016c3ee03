# %% [markdown]
# # The whole model
#
# Some of this model's numbers are trained in every step and do nothing at all. Which ones? We build the model, and find them.
#
# *You will be able to* put the Pointer-Generator Transformer together, check that your model is the package's, say where its
# parameters live, and take its loss apart. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb). The four chapters before take each part slowly. *It takes* twenty minutes to read and half a
# minute to run; a GPU makes no difference.
#
# > **In one sentence.** The whole model is about a hundred lines of code: seven tables, an encoder, a pointer, a generator
# > and a gate; most of its numbers are lists of places and people, and a few do nothing.

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
import math
from dataclasses import fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
import torch.nn.functional as F
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import GENERATED, INK, show
from wherenext.walkthrough import story

from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig, ablate
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
package, vocabulary = load_model(shipped("city"))  # trained
size = package.config
town = city.load()
test = prepare(town.visits, protocol="exact", vocabulary=vocabulary).test
i = story(test)  # the window that the chapters share

# %% [markdown]
# ## One prediction, from end to end
#
# Follow one window through the trained model, in fourteen steps. Each box of the diagram carries the numbers of its steps.
# The title of a step names the code below that does it. Visits are numbered from the oldest; the table in
# [chapter 8](08_generator_and_gate.ipynb) counts back. In step 2, the column *hour* counts quarters of an hour, and *stay*
# half hours.

# %% tags=["hide-input"]
# @title Figure 9.1: one prediction, step by step
from wherenext.walkthrough import walkthrough

names = dict(zip(town.places.location_id, town.places.name, strict=True))
shown = walkthrough(package, test, i, names)
does = ["test.batch", *3 * ["Visits"], "sinusoid", "Layer", "MyPGT"]
does += [*3 * ["Pointer"], "Mixture.generator", "Mixture.gate", "Mixture"]
does += ["loss"]
both = zip(shown.steps, does, strict=True)
steps = [replace(s, title=f"{s.title} · {code}") for s, code in both]
with torch.no_grad():
    said = package(test.batch([i]))
place = test.targets[i]  # where they went: 46 Alder Walk
pointed = said.pointer_log_probs[0, place].exp()
answered = 100 * said.log_probs[0, place].exp()
replace(shown, steps=tuple(steps))

# %% [markdown]
# The person went to 46 Alder Walk, where three of the eleven visits were. The pointer gives these three {{ pointed:.2f }}
# together, and {{ said.gate[0]:.2f }} of the answer is copied. So this place gets {{ answered:.0f }} %, more than any
# other: the first guess is right.
#
# ## The model, part by part
#
# Now the code, with the same step numbers. We run each part on a batch of eight windows, and then join the parts in one
# class, `MyPGT`. Their weights are random for now: only the shapes count. `Visits` and `Layer` are folded, since earlier
# chapters built them. An equation's number leads back to where a part was derived; you can read on without it.

# %%
batch = test.batch([i, *range(7)])  # step 1
batch.location.shape  # (B, L): windows, visits of the longest

# %% [markdown]
# **Steps 2 to 4, the numbers of a visit:** class `Visits`, as in [chapter 5](05_embeddings.ipynb). A visit is seven whole
# numbers, and each chooses a row of its table. The seven rows, side by side, are projected to $D$ numbers (a linear layer,
# equation (5.2)) and normalised (LayerNorm, equation (5.3)).


# %% tags=["hide-input"]
# @title Steps 2 to 4: class Visits, used below
class Visits(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, narrow = config.d_model, config.d_model // 4
        sizes = {
            "location": (config.n_locations, d),  # rows, width
            "user": (config.n_users, d),  # row 0: not in training
            "time": (96 + 1, narrow),  # quarters of an hour
            "weekday": (7 + 1, narrow),
            "recency": (8 + 1, narrow),  # days ago, at most seven
            "duration": (100 + 1, narrow),  # half hours
            "position": (config.max_len + 1, narrow),  # from the end
        }
        self.tables = nn.ModuleDict()
        for name, (rows, width) in sizes.items():
            self.tables[name] = nn.Embedding(rows, width, padding_idx=0)
        self.project = nn.Linear(2 * d + 5 * narrow, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, batch):
        rows = {  # step 2
            "location": batch.location,  # (B, L)
            "user": batch.user[:, None].expand_as(batch.location),
            "time": batch.time,
            "weekday": batch.weekday,
            "recency": (1 + batch.days_ago.clamp(max=7)) * ~batch.padding,
            "duration": batch.duration,
            "position": batch.position_from_end,  # 1: the last visit
        }
        facts = [t(rows[name]) for name, t in self.tables.items()]  # 3
        return self.norm(self.project(torch.cat(facts, -1)))  # 4: (B, L, D)


# %%
x = Visits(size)(batch)
x.shape  # (B, L, D)

# %% [markdown]
# **Steps 5 and 6, position and encoder:** `sinusoid` and class `Layer`, as in [chapter 6](06_position_and_encoder.ipynb). The
# sinusoid says which visit stands where (waves, equation (6.3)). In a layer the visits look at each other (attention,
# equation (6.1)), and then each is transformed alone. Both times the result is added to what was there (the residual sum,
# equation (6.2)).


# %% tags=["hide-input"]
# @title Steps 5 and 6: sinusoid and class Layer, used below
def sinusoid(n, d):
    """(n, d) waves, a row for each visit."""
    rate = 10_000 ** (-torch.arange(0, d, 2).double() / d)  # (d/2,)
    angle = torch.arange(n)[:, None] * rate  # (n, d/2)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class Layer(nn.Module):
    """Visits look at each other: (B, L, D) -> (B, L, D)."""

    def __init__(self, config):
        super().__init__()
        d, wide = config.d_model, config.d_feedforward
        self.heads, self.drop = config.n_heads, nn.Dropout(config.dropout)
        self.norm1 = nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm2 = nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, wide), nn.Linear(wide, d)

    def forward(self, x, padding):
        y = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1))
        # (B, L, 3, H, D/H) -> three of (B, H, L, D/H): each head by itself
        q, k, v = y.permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, L, L)
        scores = scores.masked_fill(padding[:, None, None], -math.inf)
        seen = self.drop(scores.softmax(-1)) @ v  # (B, H, L, D/H)
        x = x + self.drop(self.out(seen.transpose(1, 2).flatten(2)))
        wide = self.drop(F.gelu(self.up(self.norm2(x))))
        return x + self.drop(self.down(wide))


# %%
x = x + sinusoid(*x.shape[1:]).to(x)  # step 5
x = Layer(size)(x, batch.padding)  # step 6, one of the model's layers
x.shape  # (B, L, D)

# %% [markdown]
# **Steps 7 to 10, context and pointer:** class `Pointer`, as in [chapter 7](07_pointer.ipynb). The last visit's vector is the
# context $c$. The pointer scores each visit against it (query times key, equation (7.1)). It adds the position bias, a number
# for the visit's position, and makes weights of the sums (a softmax, equation (7.2)). Each place collects the weights of its
# visits (equation (7.4)). Last, a logarithm that training survives; the pitfall below says what it does:


# %%
def safe_log(p):
    """log p, and -inf where p is 0."""
    return p.where(p > 0, 1).log().where(p > 0, -math.inf)


# %%
class Pointer(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, self.n_places = config.d_model, config.n_locations
        self.position_bias = nn.Parameter(torch.zeros(config.max_len + 1))
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, c, x, batch):
        scores = (self.key(x) @ self.query(c)[:, :, None]).squeeze(-1)
        scores = scores / math.sqrt(c.shape[-1])  # (B, L)
        scores = scores + self.position_bias[batch.position_from_end]  # 8
        a = scores.masked_fill(batch.padding, -math.inf).softmax(-1)  # 9
        empty = a.new_zeros(len(a), self.n_places)
        p_ptr = empty.scatter_add(1, batch.location, a)  # 10: (B, V)
        return a, safe_log(p_ptr)


# %%
c = x[torch.arange(len(x)), batch.length - 1]  # step 7: the last visit
a, log_ptr = Pointer(size)(c, x, batch)
c.shape, a.shape, log_ptr.shape  # (B, D), (B, L), (B, V): V places

# %% [markdown]
# > **Pitfall.** Why `safe_log(p_ptr)`, and not just `p_ptr.log()`? For a place outside the window, $\log 0 = -\infty$ is right. But the
# > slope of the logarithm is $\infty$ there. In the backward pass that slope is multiplied by what arrives from the loss. This
# > is 0, since nothing was copied, and $0 \cdot \infty$ is NaN. So the logarithm gets a harmless 1, and $-\infty$ is put in
# > after it:

# %%
p = torch.zeros((), requires_grad=True)  # a place outside the window
for name, log in {"p.log()": p.log(), "safe_log": safe_log(p)}.items():
    (slope,) = torch.autograd.grad(torch.logaddexp(log, p.new_tensor(-3)), p)
    print(f"{name}: log {log.item()}, slope of log P {slope.item()}")

# %% [markdown]
# **Steps 11 to 13, generator, gate and mixture:** class `Mixture`, as in [chapter 8](08_generator_and_gate.ipynb). Both parts
# see the context alone. The generator scores all places (one linear layer, equation (8.1)). The gate gives the log-odds $z$ of
# copying (two linear layers, equation (8.3)). Then pointer and generator are mixed, in logarithms (equation (8.6)).


# %%
class Mixture(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.generator = nn.Linear(d, config.n_locations)
        first, second = nn.Linear(d, d // 2), nn.Linear(d // 2, 1)
        self.gate = nn.Sequential(first, nn.GELU(), second)

    def forward(self, c, log_ptr):
        log_gen = self.generator(c).log_softmax(-1)  # 11: (B, V)
        z = self.gate(c)  # 12: (B, 1), log-odds of copying
        copied, made = F.logsigmoid(z) + log_ptr, F.logsigmoid(-z) + log_gen
        return torch.logaddexp(copied, made)  # 13: (B, V)


# %%
Mixture(size)(c, log_ptr).shape  # (B, V)

# %% [markdown]
# **All together:** class `MyPGT`. First the sinusoid and the layers, which follow each other, become one part:


# %%
class Encoder(nn.Module):
    """Steps 5 and 6: (B, L, D) -> (B, L, D)."""

    def __init__(self, config):
        super().__init__()
        layers = [Layer(config) for _ in range(config.n_layers)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x, padding):
        x = x + sinusoid(*x.shape[1:]).to(x)  # 5
        for layer in self.layers:
            x = layer(x, padding)  # 6
        return x


# %%
class MyPGT(nn.Module):
    """From a batch to log P of all places, (B, V)."""

    def __init__(self, config):
        super().__init__()
        self.visits, self.encoder = Visits(config), Encoder(config)
        self.pointer, self.mixture = Pointer(config), Mixture(config)

    def forward(self, batch):
        x = self.visits(batch)  # steps 2 to 4: (B, L, D)
        x = self.encoder(x, batch.padding)  # 5 and 6
        c = x[torch.arange(len(x)), batch.length - 1]  # 7: (B, D)
        a, log_ptr = self.pointer(c, x, batch)  # 8 to 10: (B, L), (B, V)
        log_p = self.mixture(c, log_ptr)  # 11 to 13
        return {"attention": a, "log_pointer": log_ptr, "log_probs": log_p}


# %% [markdown]
# > **Pitfall.** Why `logsigmoid` and `logaddexp`? Suppose that the target is outside the window. Then
# > $P = (1-g)\,P_\text{gen}$, and training should lower $g$. But if $z$ is large, float32 rounds $g$ to exactly 1, and nothing
# > pulls it back. Adding `1e-10` inside the logarithm avoids $\log 0$, but the slope stays 0. In logarithms it is $-1$
# > ([Evidence: the model](evidence_model.ipynb)):

# %%
z = torch.tensor(20.0, requires_grad=True)  # log-odds of copying
rounded = torch.log((1 - z.sigmoid()) * 0.1 + 1e-10)  # P_gen is 0.1
in_logs = F.logsigmoid(-z) + math.log(0.1)
for name, log_p in {"rounded": rounded, "in logarithms": in_logs}.items():
    (slope,) = torch.autograd.grad(log_p, z)
    print(f"{name}: log P {log_p.item():.1f}, slope {round(slope.item())}")

# %% [markdown]
# ## Is it the same model?
#
# The package's trained weights go into our class. Both must give the same answers, or the cell stops.


# %%
def load(mine, package):
    """The package's weights under our names."""
    values = package.state_dict().values()
    # Both models list their parts in one order, so names and values pair.
    mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
    return mine.eval()


mine = load(MyPGT(size), package)
# 400 windows
big = test.batch(np.random.default_rng(0).permutation(len(test))[:400])
with torch.no_grad():
    ours, theirs = mine(big), package(big)
both = ours["log_probs"], theirs.log_probs
torch.testing.assert_close(*both, rtol=1e-5, atol=1e-5)

# %% [markdown]
# It is.
#
# ## Numbers that do nothing
#
# Here a **bias** is the vector $b$ of a linear layer $Wx + b$, not the position bias. Each layer of the encoder adds one bias
# to every query, another to every key, a third to every value. The pointer has one for its query and one for its keys. Which
# biases matter? In the trained model, set all of one kind to zero, and see how far the log-probabilities move.


# %%
def biases(model):
    three = [layer.qkv.bias.chunk(3) for layer in model.encoder.layers]
    return {
        "queries": [q for q, _, _ in three] + [model.pointer.query.bias],
        "keys": [k for _, k, _ in three] + [model.pointer.key.bias],
        "values": [v for _, _, v in three],
    }


# %%
moved = {}
with torch.no_grad():
    for kind in ("queries", "keys", "values"):
        changed = load(MyPGT(size), package)
        for bias in biases(changed)[kind]:
            bias.zero_()
        away = changed(big)["log_probs"] - ours["log_probs"]
        moved[kind] = f"{away.abs().max():.4f}"
    idle = torch.cat(biases(mine)["keys"][:-1])  # of the encoder
n_idle, drift = len(idle) + size.d_model, idle.abs().max().item()
pd.DataFrame({"log P moved up to": moved}).rename_axis(columns="biases of")

# %% [markdown]
# Compare the rows *queries* and *keys*. Without the keys' biases nothing moves but rounding. **These {{ n_idle }} numbers do
# nothing**: $2 \cdot 64$ in the two layers of the encoder, and $64$ in the pointer.
#
# Why? With a bias $b$ on the keys, a query's scores are $q \cdot (k_i + b) = q \cdot k_i + q \cdot b$: each has the same
# number added. And a softmax does not see a number that is added to all its scores: $(1, 0, 2)$ and $(6, 5, 7)$ give the
# same weights. A query's bias is multiplied by each key, so it adds a different number to each score.
#
# Training moves them nevertheless. Their true gradient is zero, and what arrives is rounding. But AdamW
# ([chapter 10](10_training.ipynb)) divides each gradient by its typical size, so even rounding becomes steps. The encoder's
# key biases began at zero (the pointer's at random), and the largest number among them is now {{ drift:.4f }}.
#
# ## Where do the parameters live?
#
# We count for our town, and for DIY, a private data set of a large city, whose size we assume. **Change this:** the number of
# its places.

# %%
n_places = 20_000  # @param {type:"slider", min:1000, max:100000, step:1000}


# %%
def count(config):
    """How many parameters each part has."""
    with torch.device("meta"):  # shapes only, no memory
        model = MyPGT(config)
    numbers = pd.Series({n: p.numel() for n, p in model.named_parameters()})
    name = r"^(visits\.tables\.\w+|mixture\.\w+|\w+)"
    part = numbers.index.str.extract(name)[0]
    return numbers.groupby(part.to_numpy(), sort=False).sum()


# %% tags=["hide-input"]
# @title Table: where the parameters are
configs = {
    "our town": size,
    "DIY": ModelConfig(n_places, 2_000, **PRESETS["diy"].model),
}
lists = ["visits.tables.location", "visits.tables.user", "mixture.generator"]
rows = {}
for name, config in configs.items():
    numbers = count(config)
    share = 100 * numbers / numbers.sum()
    sizes = config.n_locations, config.n_users
    parts = share[lists].sum(), share["pointer"]
    rows[name] = [f"{n:,}" for n in (*sizes, numbers.sum())]
    rows[name] += [f"{part:.1f}" for part in parts]
heads = ["rows: places", "rows: people", "parameters"]
heads += ["% lists", "% pointer"]
pd.DataFrame(rows, heads).T

# %% [markdown]
# The *lists* have a row for each place or person: the tables of locations and users, and the generator. Compare the two rows:
# **with many places, nearly all parameters are lists.** The pointer has less than one per cent there. It points at *visits*,
# so it does not grow with the number of places.
#
# ## The loss
#
# The answer (step 14) is a distribution $P$ over $V$ places. The loss is $-\log P(\ell^*)$ for the true place $\ell^*$. In
# Figure 9.1 it is $-\log 0.4773 = 0.740$. It falls until $P(\ell^*)$ is 1, so it asks for certainty.
#
# Our model was trained to be a little less than certain, by **label smoothing**. Take four places, of which the first is the
# true one. As a distribution, the truth is $(1, 0, 0, 0)$. Label smoothing takes away a share $\varepsilon$ of it and deals it
# out evenly over all places. With $\varepsilon = 0.2$, each of the four gets 0.05, and the truth becomes
# $y = (0.85, 0.05, 0.05, 0.05)$. The loss is then $-\sum_\ell y_\ell \log P(\ell)$, which is
#
# $$
# \mathcal{L} = -(1-\varepsilon)\log P(\ell^*) \;-\; \frac{\varepsilon}{V}\sum_{\ell}\log P(\ell). \tag{9.1}
# $$
#
# In code it is two lines. We try it on three answers $P$ for the four places:


# %%
def loss(log_probs, target, eps=0.0):
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    return (-(1 - eps) * own - eps * log_probs.mean(1)).mean()


for p in ([0.70, 0.10, 0.10, 0.10], [0.85, 0.05, 0.05, 0.05],
          [0.97, 0.01, 0.01, 0.01]):  # fmt: skip
    value = loss(torch.tensor([p]).log(), torch.tensor([0]), eps=0.2)
    print(f"P = {p}: loss {value:.2f}")

# %% [markdown]
# The loss is smallest where $P = y$. The last answer is surer of the true place, but pays more for its three small
# probabilities.
#
# PyTorch's `CrossEntropyLoss` can smooth, too. It expects scores $s$, and turns them into log-probabilities by subtracting
# $\log \sum_\ell e^{s_\ell}$. We hand it log-probabilities already. That does no harm: for them it subtracts
# $\log \sum_\ell P(\ell) = \log 1 = 0$. So both losses agree, or the cell stops:

# %%
builtin = nn.CrossEntropyLoss(label_smoothing=0.03)
ours_loss = loss(ours["log_probs"], big.target, 0.03)
assert torch.isclose(ours_loss, builtin(ours["log_probs"], big.target))

# %% [markdown]
# What becomes of a place that training never shows? It is a wrong answer in every step, which pushes its score down. Label
# smoothing stops the fall: the loss is smallest where $P = y$, and there a wrong place has $\varepsilon / V$ (in the example,
# $0.2 / 4 = 0.05$).
#
# Our model was trained with $\varepsilon = 0.03$. What did it give to places that neither training nor the window shows?

# %% tags=["hide-input"]
# @title Figure 9.2: places never seen
never = torch.from_numpy(~vocabulary.is_known(np.arange(size.n_locations)))
never[:2] = False  # padding, unknown
nowhere = torch.isinf(ours["log_pointer"]) & never  # (B, V)
floor = ours["log_probs"][nowhere] / math.log(10)
ax = plt.figure(figsize=(7.2, 2.6)).gca()
sns.histplot(floor, bins=60, color=GENERATED, stat="density", ax=ax)
asked = math.log10(0.03 / size.n_locations)
near = 100 * ((floor - asked).abs() < math.log10(4)).float().mean().item()
ax.axvline(asked, color=INK, ls="--", label="ε / V, label smoothing")
ax.axvline(asked - math.log10(0.03), c=INK, ls=":", label="1 / V, guessing")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
ax.set_xlabel("log₁₀ of the probability of a place never seen")
alt = "A histogram around the line of epsilon by V, far below one by V."
caption = "Places that neither training nor the window shows."
show(ax.figure, alt=alt, caption=caption)

# %% [markdown]
# The middle of the hill is at $\varepsilon / V$, far below a blind guess. Training comes near $P = y$, not all the way, so the
# values spread: {{ near:.0f }} % lie within a factor of four. Training treats all these places alike. So such a probability
# comes from label smoothing, and says nothing about the place.
#
# ## What to remember
#
# - With many places nearly all parameters are lists of places and people. The pointer has few, and no more in a larger city.
# - The biases of keys, {{ n_idle }} numbers here, do nothing: a softmax does not see what is added to all scores.
# - Label smoothing gives a place never seen about $\varepsilon / V$.
#
# ## Exercises
#
# **Exercise 1** (quick). How many places must there be before the location table and the generator together hold more
# than nine tenths of a DIY model? Both give a place $D = 64$ numbers, and the generator one more. The cell says how large the
# rest is. Solve it on paper.

# %% tags=["try"]
rest = count(configs["DIY"]).drop([lists[0], lists[2]])
print(f"numbers that do not grow with the places: {rest.sum():,}")
places = ...  # a whole number
check.exercise("9.1", places)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
# The two hold (2 * 64 + 1) V numbers, so 129 V must exceed 9 times rest.
by_paper = math.ceil(9 * rest.sum() / (2 * 64 + 1))
check.exercise("9.1", by_paper)

# %% [markdown]
# **Exercise 2** (longer). In [the package](https://where-next-book.github.io/where-next/book/api.html) an ablation is one
# field of the configuration ([chapter 14](14_ablations.ipynb)). Give `MyPGT` a variant whose gate is fixed at one half,
# without touching its `forward`, and check it against the package's ablation `no_gate`. (Which log-odds must `gate(c)`
# return?)


# %% tags=["try"]
log_odds = ...  # what gate(c) must return for every window
check.exercise("9.2", log_odds)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
class Half(nn.Module):
    def forward(self, context):  # (B, D) -> (B, 1)
        return context.new_zeros(len(context), 1)  # sigmoid(0) = 1/2


fixed = PointerGeneratorTransformer(ablate(size, "no_gate")).eval()
check.exercise("9.2", float(Half()(torch.ones(1, 3))))
variant = MyPGT(size)
variant.mixture.gate = Half()
load(variant, fixed)  # strict: no gate on either side
mine_fixed, theirs = variant(big)["log_probs"], fixed(big).log_probs
check.same(mine_fixed.exp().detach(), theirs.exp().detach(), name="no_gate")

# %% [markdown]
# **Exercise 3** (project). The location table and the generator's matrix have the same shape. Tie them
# ([Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)): use one for both. How many parameters are left? Then train
# the package's model both ways with `pgt.train.fit` from three seeds and compare them on targets outside the window. Mind
# the scale: an embedding starts with standard deviation 1, a linear layer with $1 / \sqrt{3D}$. So divide tied scores by
# $\sqrt{3D}$.

# %% tags=["try"]
left = ...  # parameters of `MyPGT(size)` with tied tables
check.exercise("9.3", left)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
tied = MyPGT(size)  # counts only: the training is yours
tied.mixture.generator.weight = tied.visits.tables["location"].weight
for model in (mine, tied):  # a number that is used twice counts once
    left = sum(p.numel() for p in model.parameters())
    print(f"{left:,} parameters")
check.exercise("9.3", left)

# %% [markdown]
# **Exercise 4** (quick). The trained model is in evaluation mode. Which of these changes its answer for a window:
# more *padding* at the end of its row, longer *neighbours* in the same batch, another *batch order* of the windows, or
# another *visit order* within the window?

# %% tags=["try"]
# "padding", "neighbours", "batch order" or "visit order"
changes = ...
check.exercise("9.4", changes)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
check.exercise("9.4", "visit order")
order = torch.arange(batch.location.shape[1])
order[:2] = torch.tensor([1, 0])  # the two oldest visits change places
columns = {f.name: getattr(batch, f.name) for f in fields(batch)}
turned = {n: v[:, order] for n, v in columns.items() if v.ndim == 2}
with torch.no_grad():
    p = mine(batch)["log_probs"].exp()
    q = mine(replace(batch, **turned))["log_probs"].exp()
print(f"largest change of a probability: {(p - q).abs().max():.0e}")

# %% [markdown]
# **Next:** [Training](10_training.ipynb), where these weights come from.
