# %% [markdown]
# # The whole model
#
# Some of this model's numbers are trained in every step and do nothing at all. We build the model, and find them.
#
# *You will be able to* read and write every line of the Pointer-Generator Transformer, prove that your model is the
# package's, say where its parameters live, and take its loss apart. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb). The four chapters before take each part slowly; this one is complete without them. *It takes*
# twenty minutes to read and half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** The whole model is two classes of some ninety lines: seven tables, an encoder, a pointer, a
# > generator and a gate; most of its numbers are lists of places and people, and a few do nothing.

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

from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig, ablate
from pgt.look import story
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
# First follow one window through the trained model, step by step, with its own numbers. Use the buttons, the slider
# or the arrow keys; a box of the network leads to its step.

# %%
from wherenext.walkthrough import walkthrough

names = dict(zip(town.places.location_id, town.places.name, strict=True))
walkthrough(package, test, i, names)

# %% [markdown]
# ## The model, in two classes
#
# The encoder's layer comes first ([chapter 6](06_position_and_encoder.ipynb);
# [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), with the norms put first): normalise, let visits look at each
# other, add; normalise, transform each visit alone, add.


# %%
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
        q, k, v = y.permute(2, 0, 3, 1, 4)  # each (B, H, L, D/H)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, L, L)
        scores = scores.masked_fill(padding[:, None, None], -math.inf)
        seen = self.drop(scores.softmax(-1)) @ v  # (B, H, L, D/H)
        x = x + self.drop(self.out(seen.transpose(1, 2).flatten(2)))
        wide = self.drop(F.gelu(self.up(self.norm2(x))))
        return x + self.drop(self.down(wide))


# %% [markdown]
# And this is the model. `__init__` lists its numbers: the pointer's bias, seven tables, the projection, the layers, the
# pointer's two maps, the generator, the gate. Row 0 of each table is padding, and for users also anyone whom training has
# not seen. `forward` goes through them in the order of the walkthrough. It returns everything that it made on the way, so
# that what a picture shows is what the prediction used.


# %%
class MyPGT(nn.Module):
    """B windows, L visits, D = d_model, V places."""

    def __init__(self, config):
        super().__init__()
        self.config, d, narrow = config, config.d_model, config.d_model // 4
        # The pointer's bias: a number for each position from the end.
        n_positions, n_places = config.max_len + 1, config.n_locations
        self.position_bias = nn.Parameter(torch.zeros(n_positions))
        sizes = {
            "location": (n_places, d),  # rows, width
            "user": (config.n_users, d),
            "time": (96 + 1, narrow),  # quarters of an hour
            "weekday": (7 + 1, narrow),
            "recency": (8 + 1, narrow),  # days ago, at most seven
            "duration": (100 + 1, narrow),  # half hours
            "position": (n_positions, narrow),  # from the end
        }
        self.tables = nn.ModuleDict()
        for name, (rows, width) in sizes.items():
            self.tables[name] = nn.Embedding(rows, width, padding_idx=0)
        self.project = nn.Linear(2 * d + 5 * narrow, d)
        self.norm = nn.LayerNorm(d)
        layers = [Layer(config) for _ in range(config.n_layers)]
        self.layers = nn.ModuleList(layers)
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.generator = nn.Linear(d, n_places)
        first, second = nn.Linear(d, d // 2), nn.Linear(d // 2, 1)
        self.gate = nn.Sequential(first, nn.GELU(), second)

    def waves(self, n):
        """(n, D) the sinusoid: which visit stands where."""
        d = self.config.d_model
        rate = 10_000 ** (-torch.arange(0, d, 2).double() / d)  # (D/2,)
        angle = torch.arange(n)[:, None] * rate  # (n, D/2)
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    def forward(self, batch):
        location, length = batch.location, batch.length[:, None]
        step = torch.arange(location.shape[1])  # (L,)
        padding = step >= length  # (B, L)
        position = (length - step).clamp(min=0)  # 1: the last visit
        days = batch.days_ago
        if self.config.target_time == "day":  # equation (3.1); not our model
            days = days + batch.gap_days[:, None]  # the pause
        rows = {
            "location": location,
            "user": batch.user[:, None].expand_as(location),
            "time": batch.time,
            "weekday": batch.weekday,
            "recency": (1 + days.clamp(max=7)) * ~padding,
            "duration": batch.duration,
            "position": position,
        }
        facts = [table(rows[name]) for name, table in self.tables.items()]
        facts = torch.cat(facts, -1)  # (B, L, 13D/4)
        x = self.norm(self.project(facts))  # (B, L, D)
        x = x + self.waves(len(step)).to(x)
        for layer in self.layers:
            x = layer(x, padding)
        c = x[torch.arange(len(x)), batch.length - 1]  # (B, D) last visit

        # Pointer: weigh the visits, and add up per place.
        scores = (self.key(x) @ self.query(c)[:, :, None]).squeeze(-1)
        scores = scores / math.sqrt(self.config.d_model)  # (B, L)
        scores = scores + self.position_bias[position]
        a = scores.masked_fill(padding, -math.inf).softmax(-1)
        empty = a.new_zeros(len(a), self.config.n_locations)
        p_ptr = empty.scatter_add(1, location, a)  # (B, V)
        seen = p_ptr > 0
        log_ptr = torch.where(seen, p_ptr.where(seen, 1).log(), -math.inf)
        # Generator: weigh all places. Gate: mix the two.
        log_gen = self.generator(c).log_softmax(-1)  # (B, V)
        z = self.gate(c)  # (B, 1) log-odds of copying
        copied, generated = F.logsigmoid(z), F.logsigmoid(-z)
        log_p = torch.logaddexp(copied + log_ptr, generated + log_gen)
        out = {"facts": facts, "encoded": x, "context": c, "attention": a}
        out |= {"log_pointer": log_ptr, "log_generator": log_gen}
        return out | {"gate": z.sigmoid()[:, 0], "log_probs": log_p}


# %% [markdown]
# > **Pitfall.** `p_ptr.log()` would do in the forward pass: log 0 is $-\infty$, as wanted. In the backward pass it
# > makes gradients NaN, because the derivative there is $0 \cdot \infty$. A `where` *after* the logarithm does not help,
# > since the gradient still passes through it. The `where` *before* it does.

# %%
batch = test.batch([i, *range(7)])  # the story window and seven others
torch.manual_seed(0)
out = MyPGT(size).eval()(batch)
pd.Series({name: tuple(x.shape) for name, x in out.items()}, name="shape")

# %% [markdown]
# The context drops all visits but the last. So whatever the generator and the gate know about the other visits,
# self-attention must have carried into that one vector. The pointer alone sees every visit again.
#
# ## Is it the same model?
#
# The package's trained weights go into our class. Then both must give the same answers; if they do not, the cell stops
# with an error.


# %%
def load(mine, package):
    """The package's weights under our names, which have the same order."""
    values = package.state_dict()  # only the bias has another place
    values = [values.pop("pointer.position_bias"), *values.values()]
    mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
    return mine.eval()


mine = load(MyPGT(size), package)
many = np.random.default_rng(0).permutation(len(test))[:400]
big = test.batch(many)  # padded to the longest of them
with torch.no_grad():
    ours, theirs = mine(big), package(big)
both = ours["log_probs"], theirs.log_probs
torch.testing.assert_close(*both, rtol=1e-5, atol=1e-5)

# %% [markdown]
# It is the same model. [Evidence: the model](evidence_model.ipynb) asks more of it: in double precision, for one step of
# training, and with other padding and other neighbours in the batch.
#
# ## Numbers that do nothing
#
# With the whole model on the table, we found something by chance. After a step of training, some numbers of our model and
# the package's differed, though their predictions did not. They were *biases of keys*. A key's bias adds the
# same number, its product with the query, to *every* score of a row; and a softmax does not see a number that is added to
# all. So set them to zero in the trained model:

# %%
d = size.d_model
hushed = load(MyPGT(size), package)
with torch.no_grad():
    for layer in hushed.layers:
        layer.qkv.bias[d : 2 * d] = 0  # the second third: keys
    hushed.key.bias[:] = 0
    hushed.position_bias[0] = 0  # padding's
    moved = (hushed(big)["log_probs"] - ours["log_probs"]).abs().max()
n_idle = d * (size.n_layers + 1) + 1
print(f"{n_idle} numbers set to zero; log-probabilities move by {moved:.0e}")

# %% [markdown]
# **{{ n_idle }} numbers do nothing**: {{ d }} key biases in each layer of the encoder and in the pointer, and padding's
# position bias. (What moves is float32's rounding.) Their true gradient is zero, and what arrives is rounding. AdamW
# ([chapter 10](10_training.ipynb)) divides each gradient by its typical size, so even rounding becomes a good part of a
# step: these numbers wander through training without any effect.
#
# ## Where do the parameters live?
#
# The model was designed for two data sets: GeoLife, which is public, and DIY, which is private, so that we know only its
# settings. A model of DIY is large, because the city is. Choose its number of places:

# %%
n_places = 20_000  # @param {type:"slider", min:1000, max:100000, step:1000}


# %%
def count(config):
    """How many numbers each part of the model has."""
    with torch.device("meta"):  # shapes only, no memory
        model = MyPGT(config)
    numbers = pd.Series({n: p.numel() for n, p in model.named_parameters()})
    part = numbers.index.str.extract(r"^(tables\.\w+|\w+)")[0]
    return numbers.groupby(part.to_numpy(), sort=False).sum()


configs = {
    # places, people, and the settings of the design
    "DIY": ModelConfig(n_places, 2_000, **PRESETS["diy"].model),
    "GEOLIFE": ModelConfig(1_187, 46, **PRESETS["geolife"].model),
    "our town": size,
}
counts = pd.DataFrame({name: count(c) for name, c in configs.items()})
share = 100 * counts / counts.sum()
lists = share.loc[["tables.location", "tables.user", "generator"]].sum()
pointer = share.loc[["query", "key", "position_bias"]].sum()
table = pd.DataFrame({"lists of places, people": lists, "pointer": pointer})
table["everything else"] = 100 - table.sum(axis=1)
table.round(1).rename_axis("% of the parameters")

# %% [markdown]
# **With many places, nearly all parameters are lists**, one row a place or a person. The pointer, after which the model is
# named, has less than one per cent of DIY's parameters. It points at *visits*, so it costs the same in a village and in a metropolis.
# Move the slider, run the next cell again, and watch the first row.
#
# ## The loss
#
# The answer is a distribution $P$ over $V$ places. The loss is $-\log P(\ell^*)$ for the true place $\ell^*$. **Label
# smoothing** takes away a share $\varepsilon$ of the answer and deals it out evenly over the $V$ places,
# $y_\ell = (1-\varepsilon)\,[\,\ell = \ell^*\,] + \varepsilon / V$ (the bracket is 1 at the true place and 0 elsewhere). Then
# the loss $-\sum_\ell y_\ell \log P(\ell)$ is
#
# $$
# \mathcal{L} = -(1-\varepsilon)\log P(\ell^*) \;-\; \frac{\varepsilon}{V}\sum_{\ell}\log P(\ell). \tag{9.1}
# $$
#
# PyTorch's `CrossEntropyLoss` computes the same, after a log-softmax of its own. That one subtracts the logarithm of the sum
# of the probabilities, which is $\log 1 = 0$: it changes nothing.


# %%
def loss(log_probs, target, eps=0.0):
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    return (-(1 - eps) * own - eps * log_probs.mean(1)).mean()


builtin = nn.CrossEntropyLoss(label_smoothing=0.03)
ours_loss = loss(ours["log_probs"], big.target, 0.03)
assert torch.isclose(ours_loss, builtin(ours["log_probs"], big.target))

# %% [markdown]
# The second term has a consequence. A place that training never shows is a wrong answer in every step, and every step
# pushes its score down. What stops the fall is $\varepsilon$. The loss is smallest where $P = y$, and there such a
# place has the probability $\varepsilon / V$. (This model was trained with $\varepsilon = 0.03$.) What did the trained
# model give to places that neither training nor the window shows?

# %% tags=["hide-input"]
# @title Figure 9.1: places never seen
never = torch.from_numpy(~vocabulary.is_known(np.arange(size.n_locations)))
never[:2] = False  # padding, unknown
nowhere = torch.isinf(ours["log_pointer"]) & never  # (B, V)
floor = ours["log_probs"][nowhere] / math.log(10)
ax = plt.figure(figsize=(7.2, 2.6)).gca()
sns.histplot(floor, bins=60, color=GENERATED, stat="density", ax=ax)
guessing = -math.log10(size.n_locations)
asked = guessing + math.log10(0.03)
ax.axvline(asked, color=INK, ls="--", label="ε / V, label smoothing")
ax.axvline(guessing, color=INK, ls=":", label="1 / V, pure guessing")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
ax.set_xlabel("log₁₀ of the probability of a place never seen")
alt = "A histogram around the line of epsilon by V, far below one by V."
caption = "Places that neither training nor the window shows."
show(ax.figure, alt=alt, caption=caption)

# %% [markdown]
# The middle is the constant of label smoothing. Most lie within a factor of ten of it. That spread comes from the windows,
# not from the places: some windows give all unseen places more, others less. On average over the windows, all these places
# get nearly the same. None of it is knowledge.
#
# > **Pitfall.** Why is the mixture written with `logsigmoid` and `logaddexp`? The short form is `log(P + 1e-10)`, where a small
# > constant keeps $\log 0$ away. It looks harmless. But when a gate is very sure and mistaken, only the constant is left, and its
# > slope is zero: nothing pulls the gate back. [Evidence: the model](evidence_model.ipynb) draws that cliff.
#
# ## What to remember
#
# - The model is seven tables, an encoder, a pointer, a generator and a gate that mixes the two. One forward pass returns
#   the prediction and everything it was made of.
# - With many places nearly all parameters are lists of places. The pointer is tiny and does not grow.
# - Biases of keys do nothing: a softmax does not see what is added to all scores.
# - Label smoothing gives every place never seen about $\varepsilon / V$. Stay in logarithms, and no constant is needed.
#
# ## Exercises
#
# **Exercise 1** (quick). How many places must there be before the location table and the generator together hold more
# than nine tenths of a DIY model ($D = 64$)? The cell says how large the rest is. Solve it on paper.

# %% tags=["try"]
rest = count(configs["DIY"]).drop(["tables.location", "generator"])
print(f"numbers that do not grow with the places: {rest.sum():,}")
places = ...  # a whole number
check.exercise("9.1", places)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
two, diy = ["tables.location", "generator"], configs["DIY"]
# In a DIY model the two hold (2 * 64 + 1) V numbers: 129 V > 9 rest.
by_paper = math.ceil(9 * rest.sum() / (2 * diy.d_model + 1))
for v in (by_paper - 1, by_paper):
    numbers = count(replace(diy, n_locations=v))
    print(v, "places:", numbers[two].sum() / numbers.sum())
check.exercise("9.1", by_paper)

# %% [markdown]
# **Exercise 2** (longer). In [the package](https://where-next-book.github.io/where-next/book/api.html) an ablation is one
# field of the configuration ([chapter 14](14_ablations.ipynb)). Give `MyPGT` a variant whose gate is fixed at one half,
# without touching its `forward`, and check it against the package's ablation `no_gate`.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
class Half(nn.Module):
    def forward(self, context):  # (B, D) -> (B, 1)
        return context.new_zeros(len(context), 1)  # sigmoid(0) = 1/2


fixed = PointerGeneratorTransformer(ablate(size, "no_gate")).eval()
variant = MyPGT(size)
variant.gate = Half()
load(variant, fixed)  # strict: no gate on either side
mine_fixed, theirs = variant(big)["log_probs"], fixed(big).log_probs
check.same(mine_fixed.exp().detach(), theirs.exp().detach(), name="no_gate")

# %% [markdown]
# **Exercise 3** (project). The location table and the generator's matrix have the same shape. Tie them
# ([Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)): use one for both. How many parameters are left? Then train
# the package's model both ways with `pgt.train.fit` from three seeds and compare them on targets outside the window. Mind
# the scale: an embedding starts with standard deviation 1, a linear layer with
# about $1 / \sqrt{3D}$, so divide tied scores by $\sqrt D$.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
tied = MyPGT(size)  # counts only: the training is yours
free = sum(p.numel() for p in tied.parameters())
tied.generator.weight = tied.tables["location"].weight  # two owners
bound = sum(p.numel() for p in tied.parameters())  # counts it once
saved = size.n_locations * size.d_model
check.same(free - bound, saved, name="what tying saves")
print(f"{free:,} -> {bound:,} parameters")

# %% [markdown]
# **Exercise 4** (quick). Before you open the solution: the model is trained and in evaluation mode. Which one of these
# changes its answer for a window: more *padding* at the end of its row, longer *neighbours* in the same batch, another
# *batch order* of the windows, or another *visit order* within the window?

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
# **Next:** [Training](10_training.ipynb), where the weights stop being random.
