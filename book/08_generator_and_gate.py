# %% [markdown]
# # The generator and the gate
#
# Nobody ever shows the gate what a return is. So what does it learn?
#
# *You will be able to* build the part that names any place of the town and the gate that mixes it with the pointer;
# take the mixture's logarithm safely; and say, with a derivation, what a gate is trained to mean. *You need*
# [The pointer](07_pointer.ipynb). *It takes* thirty minutes to read and less than half a
# minute to run; a GPU makes no difference.

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
import math

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.checkpoint import load_model, shipped
from pgt.config import TrainConfig
from pgt.look import look, story
from pgt.model import Gate, Generator, PointerGeneratorTransformer
from pgt.sparse import log_mixture
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary, test = data.vocabulary, data.test
model, trained_on = load_model(shipped("city"))
assert trained_on == vocabulary
V, D = vocabulary.n_locations, model.config.d_model
eps = TrainConfig().label_smoothing
places = town.places
names = dict(zip(places.location_id, places.name, strict=True))
i = story(test)  # the window that the chapters share

# %% [markdown]
# The pointer cannot name a place outside the window. The **generator** can. It predicts in the usual way: one
# score for every place of the town, made from the context, then a softmax.

# %% tags=["hide-input"]
from wherenext.architecture import architecture

architecture(
    "gate",
    "generator",
    "mixture",
    caption="You are here: any place can be named, and both ways are mixed.",
)

# %% [markdown]
# ## A score for every place
#
# $$
# s_\ell = G_\ell \cdot c + b_\ell, \qquad
# P_\text{gen}(\ell) = \frac{e^{s_\ell}}{\sum_{\ell'} e^{s_{\ell'}}} . \tag{8.1}
# $$
#
# Here $c$ is the context, as in the pointer. Each place owns a row $G_\ell$ of $D$ numbers and one bias $b_\ell$. In code that is one matrix product.


# %%
def parts(windows, index):
    """From earlier chapters: batch, context (B, D), log P_ptr (B, V)."""
    batch = windows.batch(index)
    last = torch.arange(len(batch)), batch.length - 1
    with torch.no_grad():
        x = model.embeddings(batch)
        encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
        log_ptr = model(batch).pointer_log_probs
    return batch, encoded[last], log_ptr


# %%
batch, context, log_ptr = parts(test, [i, 0, 1])
w = {name: value.detach() for name, value in model.state_dict().items()}
G, b = w["generator.weight"], w["generator.bias"]  # (V, D), (V,)
scores = context @ G.T + b  # (B, V)
log_gen = scores - scores.logsumexp(1, keepdim=True)  # (B, V)
assert torch.allclose(log_gen.exp().sum(1), torch.ones(3), atol=1e-5)
one = float(G[7] @ context[0] + b[7])  # place 7, by hand
assert math.isclose(one, float(scores[0, 7]), abs_tol=1e-5)
print(f"context {tuple(context.shape)} -> scores {tuple(scores.shape)}")

# %% [markdown]
# A row for every place makes for many numbers. Count the model's parameters by part.

# %%
size = {
    name: sum(p.numel() for p in part.parameters())
    for name, part in model.named_children()
}
location = w["embeddings.tables.location.weight"].numel()
other = size.pop("embeddings") - location
size = {"location embedding": location, "other embeddings": other} | size
assert sum(size.values()) == model.n_parameters()
assert size["generator"] == V * D + V

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from IPython.display import Markdown
from wherenext.figures import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    INK,
    MUTED,
    TRUTH,
    show,
)

from pgt import plots

fig, ax = plt.subplots(figsize=(7.0, 2.5))
colour = {"generator": GENERATED, "pointer": COPIED, "gate": GATE}
colours = [colour.get(name, MUTED) for name in size]
ax.barh(list(size), list(size.values()), color=colours)
beside = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
for name, value in size.items():
    ax.annotate(f"{value:,}", (value, name), **beside)
ax.set(xlabel="trained numbers", xlim=(0, 1.15 * max(size.values())))
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
share = (location + size["generator"]) / model.n_parameters()
listed = ", ".join(f"{name} {value:,}" for name, value in size.items())
show(
    fig,
    alt=f"Parameters by part: {listed}.",
    caption=f"Tables with a row for each of {V:,} places hold "
    f"{100 * share:.0f} % of the model.",
)

# %% [markdown]
# The pointer has $2D(D + 1)$ numbers and a short bias; it does not grow with the town. The generator has
# $V(D + 1)$. Double the town, and the generator doubles.
#
# > **Errata.** [The original specification](https://where-next-book.github.io/where-next/book/errata.html) gives 1.3 million numbers to the location embedding at $D = 64$. That means about
# > 20,000 places, while elsewhere it speaks of one to two thousand. Check a parameter table with a division.
#
# ## What a place that was never a target gets
#
# A place that training never shows is one of the wrong answers in every step, and every step pushes its score down.
# What stops the fall is **label smoothing**. Training makes the predicted distribution $P$ as similar as it can to
# a desired one. Without smoothing, all of the desired probability lies on the true place. With it, the true place
# gets $1 - \varepsilon$, and the small rest $\varepsilon = 0.03$ is dealt out evenly, $\varepsilon / V$ to each of the
# $V$ places ([Training](10_training.ipynb) has the formula).
#
# The predicted distribution is the **mixture** $P$ that the
# gate $g$ makes of pointer and generator, $P = g\,P_\text{ptr} + (1 - g)\,P_\text{gen}$, equation (1.2). A place that was
# never a target gets nothing from the pointer either, if it is not in the window. So the generator alone must supply
# its share. At the best fit
#
# $$
# (1 - g)\, P_\text{gen}(\ell) \approx \frac{\varepsilon}{V}. \tag{8.2}
# $$

# %%
never = torch.from_numpy(~vocabulary.is_known(np.arange(V)))  # (V,)
never[:2] = False  # padding, unknown


@torch.no_grad()
def run(windows):
    """One row a window: gate; log P of the target by each distribution."""
    found, floor = [], []
    for b in windows.batches(512):
        out = model(b)
        log_p = {"ptr": out.pointer_log_probs}
        log_p |= {"gen": out.generator_log_probs, "mix": out.log_probs}
        row = {"gate": out.gate}
        for name, x in log_p.items():
            row[name] = x.gather(1, b.target[:, None])[:, 0]
        found.append(pd.DataFrame(row, index=b.index.numpy(), dtype=float))
        nowhere = (out.pointer_log_probs == -math.inf) & never
        floor.append(out.log_probs[nowhere])
    return pd.concat(found).sort_index(), torch.cat(floor)


opened, floor = run(test)
known, inside = vocabulary.is_known(test.targets), test.in_window
explored = test.visits.explored.to_numpy()[test.target]
assert not (explored & inside).any()  # a first visit is not there

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6.6, 2.7))
ax.hist(floor.numpy() / math.log(10), bins=80, color=GENERATED, density=True)
marks = (eps / V, "ε / V", "--"), (1 / V, "1 / V, pure guessing", ":")
for value, text, line in marks:
    ax.axvline(math.log10(value), color=INK, ls=line, lw=1.5, label=text)
ax.set(xlabel="log₁₀ probability", ylabel="density")
ax.legend(loc="upper left")
middle = float(floor.mean().exp())
show(
    fig,
    alt="Histogram of the mixture's probability for places never seen in "
    f"training and not in the window; the geometric mean is {middle:.1e}. "
    f"Lines mark ε / V = {eps / V:.1e} and 1 / V = {1 / V:.1e}.",
    caption="All test windows; in each, all places that neither training "
    "nor the window shows.",
)

# %% [markdown]
# The hill stands at the dashed line. So what the generator says about unseen places is not knowledge. It is the
# constant $\varepsilon$ of label smoothing, shared out. Set $\varepsilon = 0$, and the hill slides down for as long as
# you train.
#
# ## The gate
#
# There are two experts, the pointer and the generator, and one number between them. The **gate** $g$ is the
# weight of *copying*:
#
# $$
# g = \sigma(z) = \frac{1}{1 + e^{-z}}, \qquad z = w_z \cdot \operatorname{GELU}(W_g c + b_g) + b_z . \tag{8.3}
# $$
#
# The sigmoid turns any number into a weight: $\sigma(0) = \tfrac12$, and $\sigma(-z) = 1 - \sigma(z)$. It can also be
# read backwards: $z = \log\frac{g}{1 - g}$ are the log-odds for copying. (The design documents make the sigmoid the
# gate's last layer. Our gate ends with $z$, for a reason that comes below.)


# %%
class MyGate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first = nn.Linear(d, d // 2)
        self.second = nn.Linear(d // 2, 1)

    def forward(self, context):
        """(B, D) -> (B,) log-odds for copying."""
        return self.second(F.gelu(self.first(context))).squeeze(-1)


my_gate = MyGate(D)
trained = model.gate.state_dict().values()
renamed = dict(zip(my_gate.state_dict(), trained, strict=True))
my_gate.load_state_dict(renamed)
with torch.no_grad():
    z = my_gate(context)  # (B,)
g = 1 / (1 + torch.exp(-z))

# %% [markdown]
# The first window once more, by hand:

# %%
hidden = w["gate.0.weight"] @ context[0] + w["gate.0.bias"]  # (D / 2,)
gelu = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
by_hand = w["gate.2.weight"][0] @ gelu + w["gate.2.bias"][0]
assert torch.isclose(by_hand, z[0], atol=1e-6)
low, high = opened.gate.min(), opened.gate.max()
print(f"story window: z = {z[0]:.3f}, g = {g[0]:.3f}")
print(f"all test windows: g from {low:.2f} to {high:.2f}")


# %% tags=["hide-input"]
def at(value, radius):
    angle = math.pi * (1 - value)
    return radius * math.cos(angle), radius * math.sin(angle)


fig, ax = plt.subplots(figsize=(4.6, 2.7))
for a0, a1, part in ((180, 90, GENERATED), (90, 0, COPIED)):
    arc = np.radians(np.linspace(a0, a1, 60))
    line = {"color": part, "lw": 9, "solid_capstyle": "butt"}
    ax.plot(np.cos(arc), np.sin(arc), **line)
for value in (0, 0.25, 0.5, 0.75, 1):
    ax.text(*at(value, 1.2), f"{value:g}", ha="center", va="center")
low, high = opened.gate.quantile([0.05, 0.95])
for value in (low, high):
    (x0, y0), (x1, y1) = at(value, 0.8), at(value, 0.92)
    ax.plot([x0, x1], [y0, y1], color=MUTED, lw=3)
needle = {"arrowstyle": "-|>", "color": GATE, "lw": 3}
ax.annotate("", at(float(g[0]), 0.85), (0, 0), arrowprops=needle)
ax.text(-1, -0.24, "generate", ha="center", color=GENERATED)
ax.text(1, -0.24, "copy", ha="center", color=COPIED)
ax.text(0, -0.24, f"g = {g[0]:.2f}", ha="center", weight="bold")
ax.set(aspect="equal", xlim=(-1.35, 1.35), ylim=(-0.35, 1.32))
ax.axis("off")
show(
    fig,
    alt="A dial from 0, generate, at the left to 1, copy, at the right. The "
    f"needle of the story window is at {g[0]:.2f}; ninety per cent of the "
    f"test windows lie between {low:.2f} and {high:.2f}.",
    caption="The gate of the story window. Between the two grey marks lie "
    "ninety per cent of all test windows.",
)

# %% [markdown]
# > **Note.** Mind the convention. In [See et al. (2017)](https://arxiv.org/abs/1704.04368) the number is called
# > $p_\text{gen}$ and is the weight of *generating*: $g = 1 - p_\text{gen}$. Swap the two when you port code, and everything
# > still runs and sums to one. [Gu et al. (2016)](https://arxiv.org/abs/1603.06393) do without a gate and
# > put both kinds of scores into one softmax; [Merity et al. (2017)](https://arxiv.org/abs/1609.07843) make the gate
# > one more thing to point at, a *sentinel*.
#
# ## The mixture
#
# $$
# P(\ell) = g\,P_\text{ptr}(\ell) + (1 - g)\,P_\text{gen}(\ell). \tag{8.4}
# $$
#
# If both parts sum to one, so does the mixture: $g \cdot 1 + (1 - g) \cdot 1 = 1$. No softmax follows.

# %%
copied = g[:, None] * log_ptr.exp()
generated = (1 - g[:, None]) * log_gen.exp()
p = copied + generated  # (B, V)
assert torch.allclose(p.sum(1), torch.ones(3), atol=1e-5)
assert (p > 0).all()

# %% tags=["hide-input"]
seen = look(model, test, i)
top = seen.candidates.iloc[0]
ax = plots.mixture(seen.candidates, gate=seen.gate, names=names)
show(
    ax.figure,
    alt="Stacked bars of the ten likeliest places of the story window. The "
    f"first, {names[top.location_id]}, has {top.copied:.3f} copied and "
    f"{top.generated:.4f} generated.",
    caption="The story window: copied and generated part of each "
    "probability; ✓ marks where the person went.",
)

# %% [markdown]
# Here are the same pointer and the same generator with three other gates. A dot is where the person went.

# %% tags=["hide-input"]
p_ptr, p_gen = log_ptr[0].exp(), log_gen[0].exp()
true = int(batch.target[0])
ids = p_ptr.topk(4).indices.tolist() + p_gen.topk(3).indices.tolist()
ids = list(dict.fromkeys([*ids, true]))
label = [names[place] for place in vocabulary.decode(ids)]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.1), sharex=True, sharey=True)
hatched = {"color": GENERATED, "hatch": "///", "edgecolor": "white", "lw": 0}
for ax, dial in zip(axes, (0.0, 0.5, 1.0), strict=True):
    copied = dial * p_ptr[ids].numpy()
    generated = (1 - dial) * p_gen[ids].numpy()
    ax.barh(label, copied, color=COPIED, label="copied")
    ax.barh(label, generated, left=copied, label="generated", **hatched)
    k = ids.index(true)
    ax.plot((copied + generated)[k] + 0.02, label[k], "o", color=TRUTH)
    ax.set(title=f"g = {dial:g}", xlabel="probability")
    ax.grid(axis="y", visible=False)
ax.invert_yaxis()
axes[0].legend(loc="center right")
show(
    fig,
    alt="The pointer's four and the generator's three favourites at gate 0, "
    f"0.5 and 1. At 0 the longest bar is {float(p_gen.max()):.3f}; at 1 it "
    f"is {float(p_ptr.max()):.3f}, and places outside the window have none.",
    caption="The gate as a slider. Green dot: the true place. At g = 1 "
    "places outside the window are impossible.",
)

# %% [markdown]
# The generator's bars at $g = 0$ may look like a drawing error. They are not: its probability is spread thinly over
# thousands of places. There is a reason, and we derive it below.
#
# ## The logarithm of a sum
#
# The loss of a window is $-\log P$ of its target, in **nats**, the unit of the natural logarithm. The design
# documents write `log(P + 1e-10)`, so that the logarithm of zero never happens. The constant looks harmless. Take a target
# outside the window, and let the gate's log-odds $z$ rise: the model becomes ever surer that it can copy, but it is
# wrong. The loss is
#
# $$
# \begin{aligned}
# -\log\big((1 - \sigma(z))\,P_\text{gen}\big) &= -\log \sigma(-z) - \log P_\text{gen} \\
# &\approx z - \log P_\text{gen},
# \end{aligned} \tag{8.5}
# $$
#
# a straight line of slope one, which tells the gate to *back off*. Now compare two ways of writing equation
# (8.4) in float32.


# %%
def printed(z, log_ptr, log_gen):
    """As the design documents print it."""
    g = torch.sigmoid(z)
    p = g * log_ptr.exp() + (1 - g) * log_gen.exp()
    return torch.log(p + 1e-10)


def safe(z, log_ptr, log_gen):
    """log(g P_ptr + (1 - g) P_gen), by log g and log(1 - g)."""
    a, b = F.logsigmoid(z) + log_ptr, F.logsigmoid(-z) + log_gen
    m = torch.maximum(a, b).detach()  # log-sum-exp of two
    return m + torch.log(torch.exp(a - m) + torch.exp(b - m))


# %%
z_line = torch.linspace(-5, 30, 141)
absent = torch.full_like(z_line, -math.inf)
thin = torch.full_like(z_line, math.log(1e-4))
loss, slope = {}, {}
for name, rule in (("printed, with 1e-10", printed), ("log-sum-exp", safe)):
    knob = z_line.clone().requires_grad_()
    value = -rule(knob, absent, thin)
    (slope[name],) = torch.autograd.grad(value.sum(), knob)
    loss[name] = value.detach()
exact = torch.log1p(z_line.double().exp()) - math.log(1e-4)
ours = loss["log-sum-exp"]
assert torch.allclose(ours.double(), exact, rtol=1e-6)
assert slope["log-sum-exp"][-1] == 1
assert slope["printed, with 1e-10"][-1] == 0

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9))
looks = {
    "printed, with 1e-10": {"ls": "--", "color": EXTRA},
    "log-sum-exp": {"ls": "-", "color": INK},
}
for ax, curves in zip(axes, (loss, slope), strict=True):
    for name, style in looks.items():
        ax.plot(z_line, curves[name], label=name, **style)
    ax.set_xlabel("gate's log-odds z")
axes[0].set_ylabel("loss (nats)")
axes[1].set_ylabel("gradient of the loss")
axes[0].legend(loc="upper left")
worst = float((ours - loss["printed, with 1e-10"]).max())
show(
    fig,
    alt="Loss and its gradient against z for a target that only the "
    "generator can give. With log-sum-exp the loss rises in a straight line "
    "and the gradient tends to one. The printed form flattens out, is wrong "
    f"by up to {worst:.1f} nats, and its gradient falls to zero.",
    caption="A target outside the window, with a generator probability of "
    "10⁻⁴, in float32. With the documents' formula, the surer the model is "
    "of its mistake, the less it is corrected.",
)

# %% [markdown]
# Two things go wrong. Once $P$ is below $10^{-10}$ the constant outweighs it, and the loss stops growing. And from
# about $z = 17$ on, $\sigma(z)$ rounds to 1 in float32: `1 - g` is exactly zero, and the generator is cut off together
# with its gradient. `logsigmoid(-z)` never computes $1 - g$. So the rule is: *stay in logarithms from end to end*,
#
# $$
# \begin{aligned} \log P = \operatorname{logaddexp}\big(&\log\sigma(z) + \log P_\text{ptr}, \\
# &\log\sigma(-z) + \log P_\text{gen}\big). \end{aligned} \tag{8.6}
# $$
#
# > **Pitfall.** Our own `safe` has a hole: when *both* parts are $-\infty$ it computes $-\infty - (-\infty)$, which is NaN.
# > With a softmax as generator that cannot happen. Without a generator it does, for every place not in sight. Test
# > the corners of a formula, not its middle. The package uses `torch.logaddexp`, which gives $-\infty$ there.

# %% tags=["hide-input"]
impossible = torch.tensor([-math.inf])
both = safe(torch.zeros(1), impossible, impossible)
corner = log_mixture(torch.zeros(1), impossible[None], impossible[None])
assert both.isnan().all() and corner[0, 0] == -math.inf
Markdown(
    "How often would it have mattered here? The lowest probability that the "
    "trained model gives any test target is "
    f"**{math.exp(opened.mix.min()):.1e}**, and its gate never exceeds "
    f"{opened.gate.max():.2f}. So for *this* model both forms give about "
    "the same loss. Leave its generator out, and they do not."
)

# %% [markdown]
# ## What does a gate learn?
#
# "The gate says whether the person returns or explores." That is the usual description. But nobody ever shows the gate a label
# "return". It sees one thing: the gradient of the loss. What does that ask for? With $P = g P_\text{ptr} + (1 - g) P_\text{gen}$ at
# the target, and $\partial g / \partial z = g (1 - g)$,
#
# $$
# \frac{\partial(-\log P)}{\partial z} = -\frac{P_\text{ptr} - P_\text{gen}}{P}\; g (1 - g)
#   = g - \underbrace{\frac{g\,P_\text{ptr}}{P}}_{r}, \tag{8.7}
# $$
#
# because $g(1-g)(P_\text{ptr} - P_\text{gen}) = g P_\text{ptr} - g\,(g P_\text{ptr} + (1-g) P_\text{gen}) = g P_\text{ptr} - g P$. Check it:

# %%
index = np.arange(0, len(test), 7)
some, c, lp = parts(test, index)
with torch.no_grad():
    lg = F.linear(c, G, b).log_softmax(1)
    z = my_gate(c).double()
own = some.target[:, None]
lp, lg = (x.gather(1, own)[:, 0].double() for x in (lp, lg))  # (B,)
z.requires_grad_()
log_p = safe(z, lp, lg)
(-log_p).sum().backward()
z_fixed = z.detach()
r = (F.logsigmoid(z_fixed) + lp - log_p.detach()).exp()  # (B,)
gap = float((z.grad - (torch.sigmoid(z_fixed) - r)).abs().max())
assert gap < 1e-12
print(f"{len(index)} windows: autograd and g - r differ by at most {gap:.0e}")

# %% [markdown]
# The number $r$ is an instance of Bayes' rule. Before we look, the place is copied with probability $g$. Given the
# target, $r$ is the probability that it *was* copied. It is the **responsibility** of the pointer.
# (Expectation-maximisation, an older way to fit mixtures, computes the same quantity; exercise 4 uses it.) In log-odds
# Bayes' rule is an addition, $\log \frac{r}{1 - r} = z + \log \frac{P_\text{ptr}}{P_\text{gen}}$: what the gate believed
# before, plus what the target says. And the gradient $g - r$ is that of a yes-or-no classifier whose label is $r$.
#
# So the gate is trained to answer: *which expert explains the target better?* The question is not: *is it a return?*
# In a simulated town we can see where the two questions differ. Sort the test windows:

# %%
opened["r"] = np.exp(np.log(opened.gate) + opened.ptr - opened.mix)
kinds = ["return, in the window", "return, not in the window", "exploration"]
opened["kind"] = np.select([inside, ~explored], kinds[:2], kinds[2])
groups = opened.groupby("kind")
by_kind = pd.DataFrame({"% of windows": 100 * groups.size() / len(test)})
by_kind["mean responsibility r"] = groups.r.mean()
by_kind["mean gate g"] = groups.gate.mean()
up = 100.0 * (opened.r > opened.gate)
by_kind["push the gate up, %"] = up.groupby(opened.kind).mean().round(1)
by_kind["% of windows"] = by_kind["% of windows"].round(1)
by_kind.loc[kinds].round(3)

# %% tags=["hide-input"]
returns = ~explored
elsewhere = 100 * (returns & ~inside).sum() / returns.sum()
Markdown(
    f"**{elsewhere:.0f} %** of all *returns* go to places that the window "
    "does not show: last month's dentist. The person returns, but only the "
    "generator can name the place, so $r = 0$ exactly. And among "
    f"targets in the window $r$ averages **{opened.r[inside].mean():.3f}**: "
    "the pointer explains them almost alone."
)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6.8, 3.0))
looks = zip(kinds, (COPIED, GENERATED, EXTRA), ("-", "--", ":"), strict=True)
for kind, colour, line in looks:
    values = np.sort(opened.gate[opened.kind == kind])
    below = 100 * np.arange(1, len(values) + 1) / len(values)
    ax.plot(values, below, line, color=colour, label=kind)
ax.set_xlabel("gate (0 = generate, 1 = copy)")
ax.set(ylabel="% of windows below", xlim=(0, 1))
ax.legend(loc="upper left")
means = by_kind["mean gate g"]
show(
    fig,
    alt="Cumulative distribution of the gate for three kinds of target. "
    f"Means: {', '.join(f'{kind} {means[kind]:.3f}' for kind in kinds)}.",
    caption="The gate of all test windows, by what the next visit turned out "
    "to be. The further apart two curves, the more the gate knew.",
)

# %% [markdown]
# Nothing in the loss asks the gate to tell a return outside the window from an exploration: both have $r = 0$.
# Any distance between those two curves is a by-product: such returns and explorations happen in different contexts. And
# whether somebody explores is partly a coin toss in the simulation itself.
#
# ## Who teaches the generator?
#
# The same algebra shows what each *expert* learns. For the generator's scores $s_\ell$ of equation (8.1) and a
# target $\ell^*$,
#
# $$
# \frac{\partial(-\log P)}{\partial s_\ell} = (1 - r)\,\big(P_\text{gen}(\ell) - [\,\ell = \ell^*\,]\big): \tag{8.8}
# $$
#
# the ordinary softmax gradient, *times* $1 - r$. Where the pointer explains the target, the generator's lesson is
# cancelled. An untrained pointer already counts visits, while an untrained generator guesses among thousands. So how
# large is $r$ before the very first step?

# %%
torch.manual_seed(0)
newborn = PointerGeneratorTransformer(model.config).eval()
fifth = data.train.batch(np.flatnonzero(data.train.in_window)[::5])
with torch.no_grad():
    out, own = newborn(fifth), fifth.target[:, None]
ptr = out.pointer_log_probs.gather(1, own)[:, 0]
mixed = out.log_probs.gather(1, own)[:, 0]
r = (out.gate.log() + ptr - mixed).exp()  # (B,)
print("untrained, target in the window:")
print(f"mean gate {out.gate.mean():.2f}, mean r {r.mean():.3f}, ", end="")
print(f"smallest r {r.min():.2f}")

# %% [markdown]
# Nothing has been learned, and already the generator is taught
# almost only about targets outside the window. This predicts something surprising: the generator should be *poor at the easiest
# targets*, those in the window, such as people's homes.

# %% tags=["hide-input"]
groups = {
    "known, in the window": inside & known,
    "known, not in the window": ~inside & known,
    "never seen, not in the window": ~known & ~inside,
}
mean = {name: opened.gen[mask].mean() for name, mask in groups.items()}
fig, ax = plt.subplots(figsize=(7.0, 2.1))
ax.barh(list(mean), list(mean.values()), **hatched)
guessing = -math.log(V)
ax.axvline(guessing, color=INK, ls="--", label="pure guessing, −log V")
ax.set_xlabel("mean log P_gen of the target (nats; longer is worse)")
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
fig.legend(loc="outside upper right")
listed = ", ".join(f"{k} {v:.2f}" for k, v in mean.items())
show(
    fig,
    alt="The generator's mean log-probability of the target: "
    f"{listed}; pure guessing would be {guessing:.2f} nats.",
    caption="The generator alone, by kind of target. A bar that is shorter "
    "than guessing (dashed) is better than guessing.",
)

# %% [markdown]
# The first bar ends about where guessing does. Is the mixture the cause, or is the layer too weak to do better? We freeze
# everything before the generator. Then we train a fresh one on the same contexts, with the same steps, twice: once *alone*,
# with its plain cross-entropy, and once *in the mixture*, with the trained pointer and gate beside it.


# %%
@torch.no_grad()
def frozen(windows):
    """Context (W, D); gate's log-odds, log P_ptr of target, target (W,)."""
    found = []
    for index in np.array_split(np.arange(len(windows)), 20):
        b, c, lp = parts(windows, index)
        lp = lp.gather(1, b.target[:, None])[:, 0]
        found.append((c, my_gate(c), lp, b.target))
    return [torch.cat(column) for column in zip(*found, strict=True)]


def teach(lessons, in_mixture, epochs=6):
    torch.manual_seed(0)
    layer = nn.Linear(D, V)
    nn.init.zeros_(layer.weight)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for _ in range(epochs):
        for at in torch.randperm(len(lessons[0])).split(128):
            c, z, lp, y = (x[at] for x in lessons)
            lg = -F.cross_entropy(layer(c), y, reduction="none")  # (B,)
            log_p = safe(z, lp, lg) if in_mixture else lg
            optimizer.zero_grad()
            (-log_p.mean()).backward()
            optimizer.step()
    return layer


# %%
lessons, exam = frozen(data.train), frozen(test)
truth, result = exam[3], {}
for name in ("alone", "in the mixture"):
    layer = teach(lessons, in_mixture=name == "in the mixture")
    log_q = layer(exam[0]).log_softmax(1).detach()  # (W, V)
    own = log_q.gather(1, truth[:, None])[:, 0].numpy()
    right = (log_q.argmax(1) == truth).numpy()
    for kind in list(groups)[:2]:
        result[name, "mean log P", kind] = own[groups[kind]].mean()
        result[name, "Acc@1, %", kind] = 100 * right[groups[kind]].mean()
pd.Series(result).unstack(level=[2, 1]).round(2)

# %% [markdown]
# The layer, its inputs and the number of steps are the same. Alone it learns the usual places. In the mixture nothing makes
# it learn them, because the pointer already knows. This is typical of mixtures of experts: the expert that is a little
# better early gets most of the gradient, and so gets further ahead. It is not a fault, but a division of labour. Outside the window the
# likelihood is better in the mixture, where the layer need not spend probability on places of the window. The first
# guesses hardly ever hit either way. Do not judge the generator of such a model by its
# own accuracy, and do not expect it to help where the pointer overlooks a known place.
#
# ## What is the gate worth?
#
# We replace it by other gates. An *oracle* gate knows whether the target is in the window: 1 if so, else 0. A *constant*
# gate is the mean of the training gates.

# %%
fitted, _ = run(data.train)
constant = fitted.gate.mean()
fixed = {"constant": constant, "one half": 0.5}
fixed |= {"0: generator alone": 0.0, "1: pointer alone": 1.0}
score = {name: np.zeros(3) for name in ["the model's gate", *fixed, "oracle"]}
for b in test.batches(512):
    with torch.no_grad():
        out = model(b)
    copied, generated = out.pointer_log_probs.exp(), out.generator_log_probs
    generated = generated.exp()
    answer = torch.from_numpy(inside)[b.index].float()
    dials = {"the model's gate": out.gate} | fixed | {"oracle": answer}
    for name, dial in dials.items():
        dial = torch.as_tensor(dial).expand(len(b))[:, None]  # (B, 1)
        p = dial * copied + (1 - dial) * generated  # (B, V)
        own = p.gather(1, b.target[:, None])  # (B, 1)
        better = (p > own).sum(1) + V * (own[:, 0] == 0)  # 0 is no hit
        hits = (better == 0).sum(), (better < 10).sum()
        score[name] += [*map(int, hits), -float(own.log().sum())]

# %%
heads = ["Acc@1, %", "Acc@10, %", "loss, nats"]
worth = pd.DataFrame(score, index=heads).T / len(test)
worth[heads[:2]] *= 100
worth.round({"Acc@1, %": 2, "Acc@10, %": 2, "loss, nats": 3})

# %% [markdown]
# We expected the first column to show what a gate is good for. It does not: compare the first row with
# "constant", "pointer alone" and "oracle". Where the generator's highest bar is lower than the pointer's at any reasonable gate,
# the favourite place *does not depend on the gate*. Even an oracle hardly changes Acc@1. The gate's worth is in the
# loss: it sets how much probability is left for places outside the window. (The generator alone is nearly useless, since it had no reason to learn
# the usual places. The pointer alone pays an infinite price, because it calls each target
# outside the window impossible.)

# %% tags=["hide-input"]
paid = worth["loss, nats"]
gain = paid["constant"] - paid["the model's gate"]
room = paid["constant"] - paid["oracle"]
Markdown(
    f"Against a constant, the model's gate saves **{gain:.3f} nats** a "
    f"window; the oracle saves {room:.3f}. So the gate collects "
    f"**{100 * gain / room:.0f} %** of what it could gain by knowing the "
    "answer. ([Chapter 11](11_gate.ipynb) measures it against the best "
    "constant, and gets a little less.) Nobody could know all of the rest: "
    "part of it is chance."
)

# %% [markdown]
# The design documents report that fixing the gate at one half costs 4.88 points of Acc@1 on GeoLife and 1.54 on DIY, their
# other data set. That is another experiment: there the whole model is trained anew with the fixed gate,
# which also changes what the *other parts* learn. In ours they have learned already, and nothing but the gate changes.
#
# Turn the dial yourself: set the gate by hand and watch the list. Its numbers change, but its first place stays first until
# the gate is nearly 0. Then untick *set it by hand* and delete visits: how does the gate respond? (The whole model waits in [chapter 26](26_playground.ipynb).)

# %% tags=["hide-input"]
from wherenext.live import playground

playground(small="gate", window=i)

# %% [markdown]
# ## Label smoothing leans on the gate
#
# The bias $b_z$ of equation (8.3) shifts every window's $z$. Its gradient is the mean of $g - r$. At the best fit that
# gradient is zero, so the mean of the gate equals the mean of its label. With label smoothing that
# label is not $r$ at the target alone, but its average over the smoothed target,
# $(1 - \varepsilon)\, r(\ell^*) + \frac{\varepsilon}{V} \sum_\ell r(\ell)$, and nearly all of the $V$ places have
# $r(\ell) = 0$. So smoothing lowers the gate by a factor of about $1 - \varepsilon$, although nothing in the data
# asks for it.

# %% tags=["hide-input"]
responsible = np.exp(np.log(fitted.gate) + fitted.ptr - fitted.mix).mean()
Markdown(
    "On the training windows the mean responsibility is "
    f"**{responsible:.3f}**; times $1 - \\varepsilon$ that is "
    f"{(1 - eps) * responsible:.3f}. The mean gate is **{constant:.3f}**. "
    "Training uses dropout and stops early, so do not expect the last "
    "digit. And do not read a gate as a probability until you know the ε "
    "behind it."
)

# %% [markdown]
# ## The whole part, and the package's


# %%
class MyHead(nn.Module):
    """Generator, gate and mixture in one."""

    def __init__(self, d, n_places):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_places, d))
        self.bias = nn.Parameter(torch.empty(n_places))
        self.gate = MyGate(d)

    def forward(self, context, log_ptr):
        """-> gate's log-odds (B,), log P_gen (B, V), log P (B, V)."""
        u = context @ self.weight.T + self.bias
        log_gen = u - u.logsumexp(1, keepdim=True)
        z = self.gate(context)
        return z, log_gen, safe(z[:, None], log_ptr, log_gen)


# %%
many, context, log_ptr = parts(test, np.arange(0, len(test), 12))
generator, gate = Generator(model.config), Gate(model.config)
mine = MyHead(D, V)
generator.load_state_dict(model.generator.state_dict())
gate.load_state_dict(model.gate.state_dict())
values = [*generator.state_dict().values(), *gate.state_dict().values()]
mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
for dtype, limit in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    for part in (generator, gate, mine):
        part.to(dtype)
    c, q = context.to(dtype), log_ptr.to(dtype)
    with torch.no_grad():
        logit, lg = gate(c).squeeze(-1), generator(c).log_softmax(1)
        theirs, ours = (logit, lg, log_mixture(logit, q, lg)), mine(c, q)
    gaps = []
    for x, y in zip(ours, theirs, strict=True):
        assert torch.allclose(x, y, rtol=limit, atol=2 * limit)
        gaps.append(float((x.exp() - y.exp()).abs().max()))
    assert max(gaps) <= limit
    print(f"{dtype}: {len(many)} windows, difference {max(gaps):.0e}")

# %%
with torch.no_grad():
    whole = model(many).log_probs  # float32
    _, _, ours = mine(context.double(), log_ptr.double())
assert torch.allclose(ours.float(), whole, atol=1e-4)

# %% [markdown]
# | step | shape |
# |---|---|
# | context | (B, D) |
# | generator's scores, $\log P_\text{gen}$ | (B, V) |
# | gate's log-odds $z$, gate $g$ | (B,) |
# | $\log P$ | (B, V) |
#
# ## What to remember
#
# - A place that was never a target gets what label smoothing leaves it: about $\varepsilon / V$.
# - Stay in logarithms: `logaddexp(logsigmoid(z) + log P_ptr, logsigmoid(-z) + log P_gen)`. No constant.
# - The gate's gradient is $g - r$. It learns which expert explains the target better; "return or
#   exploration" is our interpretation, and the loss knows nothing of it.
# - The generator's gradient is multiplied by $1 - r$, so it learns little about what the pointer already explains.
# - Ask of every part what changes without it. For the gate, look at the loss before you look at Acc@1.
#
# ## Exercises
#
# **Exercise 1** (quick). Three places have $P_\text{ptr} = (0.7, 0.3, 0)$ and $P_\text{gen} = (0.1, 0.2, 0.7)$. Above which
# gate does the first place beat the third? And what is the pointer's responsibility for a target at the second place if $g = 0.5$?

# %% tags=["try"]
turn, responsibility = ..., ...
check.exercise("8.1", [turn, responsibility])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
turn = 0.6 / 1.3  # 0.7 g + 0.1 (1 - g) = 0.7 (1 - g)
first, third = 0.7 * turn + 0.1 * (1 - turn), 0.7 * (1 - turn)
check.same(first, third, name="at the turning point")
responsibility = 0.3 / (0.3 + 0.2)  # the two halves cancel
check.exercise("8.1", [turn, responsibility])

# %% [markdown]
# **Exercise 2** (medium). You are handed a network that outputs the log-odds `y` of $p_\text{gen}$, in the convention of See et al.
# Write `mixture(y, log_ptr, log_gen)` that gives the same $\log P$ as the package's `log_mixture`, without ever computing a
# sigmoid. Let `check.function` compare, with extreme cases among the arguments.


# %% tags=["try"]
def mixture(y, log_ptr, log_gen):
    """(B,) log-odds of generating, twice (B, V) -> (B, V) log P."""
    return ...


def ours(y, log_ptr, log_gen):
    return log_mixture(-y, log_ptr, log_gen)


ptr = torch.tensor([[0.2, 0.8, 0.0]]).log()
gen = torch.tensor([[0.5, 0.1, 0.4]]).log()
odds = (0.0, 1.5, -3.0, 40.0, -40.0)
cases = [(torch.tensor([y]), ptr, gen) for y in odds]
check.function(mixture, ours, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def mixture(y, log_ptr, log_gen):
    # log sigma(y), for either sign of y
    log_generate = y.clamp(max=0) - torch.log1p(torch.exp(-y.abs()))
    log_copy = log_generate - y  # log sigma(-y)
    copied = log_copy[:, None] + log_ptr
    return torch.logaddexp(copied, log_generate[:, None] + log_gen)


check.function(mixture, ours, *cases)

# %% [markdown]
# **Exercise 3** (longer). Derive equation (8.8), the gradient of the generator's scores, and verify it
# with autograd. Then compute, for the trained model and all test windows with a target in the window, how much of the
# generator's usual lesson is left on average.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# d(-log P)/d log P_gen(l*) = -(1 - g) P_gen(l*) / P = -(1 - r), and
# d log P_gen(l*) / ds = [l = l*] - P_gen(l).
with torch.no_grad():
    u = model.generator(context).double()  # (B, V)
    z = my_gate(context).double()
u.requires_grad_()
log_p = log_mixture(z, log_ptr.double(), u.log_softmax(1))  # (B, V)
target = many.target[:, None]
own = log_p.gather(1, target)
(-own).sum().backward()
copied = F.logsigmoid(z)[:, None] + log_ptr.double()
r = (copied.gather(1, target) - own).exp().detach()  # (B, 1)
truth = F.one_hot(many.target, V)
formula = (1 - r) * (u.detach().softmax(1) - truth)
check.same(formula, u.grad, name="the generator's gradient", atol=1e-10)
left = 100 * (1 - opened.r[inside]).mean()
print(f"left of the lesson, target in the window: {left:.2f} %")

# %% [markdown]
# **Exercise 4** (project). Keep both experts and fit *one* constant gate by expectation-maximisation on the validation windows: compute
# all $r$, set $g$ to their mean, repeat. Show that the loss never rises, and that the fixed point has gradient zero.
# How many nats does the network gate gain over it on test windows? Then go on: one gate per person, and one per hour of the last visit.
# Which of them comes closest to the network?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
valid, _ = run(data.valid)


def em(table, start=0.5, steps=60):
    """(gate, losses) of a constant gate by expectation-maximisation."""
    gate, losses = start, []
    ptr, gen = np.exp(table.ptr), np.exp(table.gen)
    for _ in range(steps):
        p = gate * ptr + (1 - gate) * gen
        losses.append(-np.log(p).mean())
        gate = (gate * ptr / p).mean()  # E-step and M-step
    return gate, np.array(losses)


one, losses = em(valid)
assert (np.diff(losses) < 1e-12).all()
assert abs(one - em(valid, 0.9)[0]) < 1e-6


def loss_with(gate):
    p = gate * np.exp(opened.ptr) + (1 - gate) * np.exp(opened.gen)
    return -np.log(p).mean()


def person(windows):
    return windows.users


def hour(windows):
    """(W,) at which the last visit began."""
    quarter = windows.features[2, 1:].numpy()[windows.target - 1]  # 1 to 96
    return (quarter - 1) // 4


result = {"one constant, by EM": loss_with(one)}
result["the network"] = -opened.mix.mean()
keys = {"per person": person, "per hour of the last visit": hour}
for name, key in keys.items():
    each = valid.groupby(key(data.valid))
    table = {k: em(part)[0] for k, part in each}
    own = pd.Series(key(test)).map(table).fillna(one).clip(0.02, 0.98)
    result[name] = loss_with(own.to_numpy())
result = pd.Series(result, name="test loss, nats")
gained = result["one constant, by EM"] - result["the network"]
closest = result[list(keys)].idxmin()
print(f"the network gains {gained:.4f} nats; next comes: {closest}")
result.sort_values().round(4).to_frame()
# EM needs no learning rate: at its fixed point mean(g - r) = 0, which is
# the gradient of the loss. Per-person gates have few windows each and may
# overfit; shrinking them towards the common one is the next thing to try.

# %% [markdown]
# **Next:** [The whole model](09_model.ipynb), where all parts meet.
