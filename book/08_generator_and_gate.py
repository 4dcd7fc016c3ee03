# %% [markdown]
# # The generator and the gate
#
# *You will be able to* build the part that names any place of the town and the gate that mixes it with the pointer;
# take the mixture's logarithm safely; and say, with a derivation, what a gate is trained to mean. *You need*
# [The pointer](07_pointer.ipynb). *It takes* thirty minutes to read and about fifteen
# seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from IPython.display import Markdown
from torch import nn

from pgt import city
from pgt.checkpoint import load_model, shipped
from pgt.config import TrainConfig
from pgt.exercises import check
from pgt.look import look, story
from pgt.mixture import log_mixture
from pgt.model import Gate, Generator, PointerGeneratorTransformer
from pgt.viz import plots
from pgt.viz.figures import COPIED, EXTRA, GATE, GENERATED, INK, MUTED, TRUTH, show
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary, test = data.vocabulary, data.test
model, trained_on = load_model(shipped("city"))
assert trained_on == vocabulary
V, D = vocabulary.n_locations, model.config.d_model
eps = TrainConfig().label_smoothing
names = dict(zip(town.places.location_id, town.places.name, strict=True))
i = story(test)

# %% [markdown]
# The pointer cannot name a place outside the window. Somebody must. The **generator** is the plain way to
# predict: one score for every place of the town, made from the context, then a softmax.
#
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
    with torch.no_grad():
        encoded, _ = model.encoder(model.embeddings(batch), batch.padding)  # (B, L, D)
        out = model(batch)
    return batch, encoded[torch.arange(len(batch)), batch.length - 1], out.pointer_log_probs

# %%
batch, context, log_ptr = parts(test, [i, 0, 1])
w = {name: value.detach() for name, value in model.state_dict().items()}
scores = context @ w["generator.weight"].T + w["generator.bias"]  # (B, D) @ (D, V) -> (B, V)
log_gen = scores - scores.logsumexp(1, keepdim=True)              # (B, V)
assert torch.allclose(log_gen.exp().sum(1), torch.ones(3), atol=1e-5)
one = float(w["generator.weight"][7] @ context[0] + w["generator.bias"][7])  # place 7, by hand
assert math.isclose(one, float(scores[0, 7]), abs_tol=1e-5)
{"context": tuple(context.shape), "scores": tuple(scores.shape)}

# %% [markdown]
# Rows for all places: that is where numbers pile up. Count the model's parameters by part.

# %%
size = {name: sum(p.numel() for p in part.parameters())
        for name, part in model.named_children()}
location = w["embeddings.tables.location.weight"].numel()
other = size.pop("embeddings") - location
size = {"location embedding": location, "other embeddings": other, **size}
assert sum(size.values()) == model.n_parameters() and size["generator"] == V * D + V

# %%
fig, ax = plt.subplots(figsize=(7.0, 2.5))
colour = {"generator": GENERATED, "pointer": COPIED, "gate": GATE}
ax.barh(list(size), list(size.values()), color=[colour.get(name, MUTED) for name in size])
for name, value in size.items():
    ax.annotate(f"{value:,}", (value, name), (5, 0), textcoords="offset points", va="center")
ax.set(xlabel="trained numbers", xlim=(0, 1.15 * max(size.values())))
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
per_place = size["location embedding"] + size["generator"]
show(fig,
     alt="Parameters by part: " + ", ".join(f"{name} {value:,}" for name, value in size.items()) + ".",
     caption=f"Tables with a row for each of {V:,} places hold {100 * per_place / model.n_parameters():.0f} % of the model.")

# %% [markdown]
# The pointer has $2D(D + 1)$ numbers and a short bias; it does not grow with the town. The generator has
# $V(D + 1)$. Double the town, and the generator doubles.
#
# > **Errata.** The design documents give 1.3 million numbers to the location embedding at $D = 64$. That means about
# > 20,000 places, while elsewhere they speak of one to two thousand. Check a parameter table with a division.
#
# ## What a place that was never a target gets
#
# For a place that training never shows, every step pushes its score down; it is one of the wrong answers, always.
# What stops the fall? A part of the training, **label smoothing**. Training makes the predicted distribution
# $P$ as much like a wanted one as it can. Without smoothing, all of the wanted probability lies on the true place.
# With it, the true place gets $1 - \varepsilon$, and the small rest $\varepsilon$ is dealt out evenly, $\varepsilon / V$ to
# each of the $V$ places ([Training](10_training.ipynb) has the formula). The request goes to the **mixture** $P$ that the
# gate $g$ makes of pointer and generator, $P = g\,P_\text{ptr} + (1 - g)\,P_\text{gen}$, equation (1.2). The pointer
# gives such a place nothing, so the generator alone must deliver. At the best fit
#
# $$
# (1 - g)\, P_\text{gen}(\ell) \approx \frac{\varepsilon}{V}. \tag{8.2}
# $$

# %%
@torch.no_grad()
def run(windows):
    """One row a window: gate, and log P of the target by pointer, generator, mixture."""
    columns = ["gate", "ptr", "gen", "mix"]
    table = pd.DataFrame(index=range(len(windows)), columns=columns, dtype=float)
    floor = []
    never = torch.from_numpy(~vocabulary.is_known(np.arange(V)))  # (V,)
    never[:2] = False                                             # padding, unknown
    for b in windows.batches(512):
        out = model(b)
        three = (out.pointer_log_probs, out.generator_log_probs, out.log_probs)
        own = [x.gather(1, b.target[:, None])[:, 0] for x in three]
        table.loc[b.index.numpy()] = torch.stack([out.gate, *own], 1).numpy()
        floor.append(out.log_probs[(out.pointer_log_probs == -math.inf) & never])
    return table, torch.cat(floor)


opened, floor = run(test)
known, inside = vocabulary.is_known(test.targets), test.in_window
explored = test.visits.explored.to_numpy()[test.target]
assert not (explored & inside).any()                              # a first visit is not there

# %%
fig, ax = plt.subplots(figsize=(6.6, 2.7))
ax.hist(floor.numpy() / math.log(10), bins=80, color=GENERATED, density=True)
for value, text, line in ((eps / V, "ε / V", "--"), (1 / V, "1 / V, pure guessing", ":")):
    ax.axvline(math.log10(value), color=INK, ls=line, lw=1.5, label=text)
ax.set(xlabel="log₁₀ probability", ylabel="density")
ax.legend(loc="upper left")
show(fig,
     alt=f"Histogram of the mixture's probability for places never seen in training and not in the window; the geometric mean is "
     f"{float(floor.mean().exp()):.1e}. Lines mark ε / V = {eps / V:.1e} and 1 / V = {1 / V:.1e}.",
     caption="All test windows, all places that training never showed and the window does not either.")

# %% [markdown]
# Compare the hill with the dashed line. The generator's opinion about unseen places is not an opinion. It is the
# constant $\varepsilon$ of label smoothing, shared out. Set $\varepsilon = 0$, and the hill slides down for as long as
# you train.
#
# ## The gate
#
# Two experts, and one number between them. The **gate** $g$ is the weight of *copying*:
#
# $$
# g = \sigma(z) = \frac{1}{1 + e^{-z}}, \qquad z = w_z \cdot \operatorname{GELU}(W_g c + b_g) + b_z . \tag{8.3}
# $$
#
# The sigmoid turns any number into a weight (the design documents make it the gate's last layer; ours ends with $z$, for a reason
# that comes below): $\sigma(0) = \tfrac12$, and $\sigma(-z) = 1 - \sigma(z)$. It can also be read
# backwards: $z = \log\frac{g}{1 - g}$ are the log-odds for copying.

# %%
class MyGate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first, self.second = nn.Linear(d, d // 2), nn.Linear(d // 2, 1)

    def forward(self, context):
        """(B, D) -> (B,) log-odds for copying."""
        return self.second(F.gelu(self.first(context))).squeeze(-1)


my_gate = MyGate(D)
trained = model.gate.state_dict().values()
my_gate.load_state_dict(dict(zip(my_gate.state_dict(), trained, strict=True)))
with torch.no_grad():
    z = my_gate(context)                                          # (B,)
g = 1 / (1 + torch.exp(-z))
hidden = w["gate.0.weight"] @ context[0] + w["gate.0.bias"]       # (D / 2,)
gelu = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
assert torch.isclose(w["gate.2.weight"][0] @ gelu + w["gate.2.bias"][0], z[0], atol=1e-6)
print(f"story window: z = {z[0]:.3f}, g = {g[0]:.3f}")
print(f"all test windows: g from {opened.gate.min():.2f} to {opened.gate.max():.2f}")

# %%
fig, ax = plt.subplots(figsize=(4.6, 2.7))
for a0, a1, part in ((180, 90, GENERATED), (90, 0, COPIED)):
    arc = np.radians(np.linspace(a0, a1, 60))
    ax.plot(np.cos(arc), np.sin(arc), color=part, lw=9, solid_capstyle="butt")
for value in (0, 0.25, 0.5, 0.75, 1):
    t = math.pi * (1 - value)
    ax.text(1.2 * math.cos(t), 1.2 * math.sin(t), f"{value:g}", ha="center", va="center")
for value in opened.gate.quantile([0.05, 0.95]):
    t = math.pi * (1 - value)
    ends = np.array([0.8, 0.92])
    ax.plot(ends * math.cos(t), ends * math.sin(t), color=MUTED, lw=3)
t = math.pi * (1 - float(g[0]))
ax.annotate("", (0.85 * math.cos(t), 0.85 * math.sin(t)), (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": GATE, "lw": 3})
ax.text(-1, -0.24, "generate", ha="center", color=GENERATED)
ax.text(1, -0.24, "copy", ha="center", color=COPIED)
ax.text(0, -0.24, f"g = {g[0]:.2f}", ha="center", weight="bold")
ax.set(aspect="equal", xlim=(-1.35, 1.35), ylim=(-0.35, 1.32))
ax.axis("off")
low, high = opened.gate.quantile([0.05, 0.95])
show(fig,
     alt=f"A dial from 0, generate, at the left to 1, copy, at the right. The needle of the story window is at {g[0]:.2f}; "
     f"ninety per cent of the test windows lie between {low:.2f} and {high:.2f}.",
     caption="The gate of the story window. Between the two grey marks lie ninety per cent of all test windows.")

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
p = g[:, None] * log_ptr.exp() + (1 - g[:, None]) * log_gen.exp()  # (B, V)
assert torch.allclose(p.sum(1), torch.ones(3), atol=1e-5) and (p > 0).all()
seen = look(model, test, i)
top = seen.candidates.iloc[0]
plots.mixture(
    seen, names,
    alt=f"Stacked bars of the ten likeliest places of the story window. The first, {names[top.location_id]}, has {top.copied:.3f} copied and "
    f"{top.generated:.4f} generated.",
    caption="The story window: copied and generated part of each probability; ✓ marks where the person went.",
)

# %% [markdown]
# Now turn the dial yourself. Same pointer, same generator, other gates. A dot is where the person went.

# %%
target = batch.target[0]
shown_ids = log_ptr[0].topk(4).indices.tolist() + log_gen[0].topk(3).indices.tolist()
shown_ids = list(dict.fromkeys([*shown_ids, int(target)]))
label = [names[place] for place in vocabulary.decode(shown_ids)]

# %%
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.1), sharex=True, sharey=True)
for ax, dial in zip(axes, (0.0, 0.5, 1.0), strict=True):
    copied = dial * log_ptr[0, shown_ids].exp().numpy()
    generated = (1 - dial) * log_gen[0, shown_ids].exp().numpy()
    ax.barh(label, copied, color=COPIED, label="copied")
    ax.barh(label, generated, left=copied, color=GENERATED, hatch="///", edgecolor="white",
            lw=0, label="generated")
    at = shown_ids.index(int(target))
    ax.plot((copied + generated)[at] + 0.02, label[at], "o", color=TRUTH)
    ax.set(title=f"g = {dial:g}", xlabel="probability")
    ax.grid(axis="y", visible=False)
ax.invert_yaxis()
axes[0].legend(loc="center right")
show(fig,
     alt=f"The pointer's four and the generator's three favourites at gate 0, 0.5 and 1. At 0 the longest bar is "
     f"{float(log_gen[0].max().exp()):.3f}; at 1 it is {float(log_ptr[0].max().exp()):.3f}, and places outside the window have none.",
     caption="The gate as a slider. Green dot: the true place. At g = 1 places outside the window are impossible.")

# %% [markdown]
# The generator's bars at $g = 0$ may look like a drawing error. They are not: spread over thousands of places, its
# belief is thin. Keep that in mind; there is a reason, and we shall derive it.
#
# ## The logarithm of a sum
#
# The loss of a window is $-\log P$ of its target, in **nats**, the unit of the natural logarithm. The design documents
# print `log(P + 1e-10)`, so that the logarithm of zero never happens. That is how a constant of convenience becomes part of a model. Take a target outside the window, and let the gate's
# log-odds $z$ rise: the model is ever surer that the person returns, and wrong. The loss is
#
# $$
# \begin{aligned}
# -\log\big((1 - \sigma(z))\,P_\text{gen}\big) &= -\log \sigma(-z) - \log P_\text{gen} \\
# &\approx z - \log P_\text{gen},
# \end{aligned} \tag{8.5}
# $$
#
# a straight line of slope one: *back off*. Here is what float32 makes of either way of writing equation (8.4).

# %%
def printed(z, log_ptr, log_gen):
    g = torch.sigmoid(z)
    return torch.log(g * log_ptr.exp() + (1 - g) * log_gen.exp() + 1e-10)


def safe(z, log_ptr, log_gen):
    """log(g P_ptr + (1 - g) P_gen): log g = logsigmoid(z), log(1 - g) = logsigmoid(-z)."""
    a, b = F.logsigmoid(z) + log_ptr, F.logsigmoid(-z) + log_gen
    m = torch.maximum(a, b).detach()                              # log-sum-exp of two
    return m + torch.log(torch.exp(a - m) + torch.exp(b - m))

# %%
z_line = torch.linspace(-5, 30, 141)
absent = torch.full_like(z_line, -math.inf)
thin = torch.full_like(z_line, math.log(1e-4))
loss, slope = {}, {}
for name, rule in (("printed, with 1e-10", printed), ("log-sum-exp", safe)):
    knob = z_line.clone().requires_grad_()
    value = -rule(knob, absent, thin)
    slope[name], = torch.autograd.grad(value.sum(), knob)
    loss[name] = value.detach()
exact = z_line.double()
exact = torch.log1p(exact.exp()) - math.log(1e-4)                 # z - log P_gen, in float64
assert torch.allclose(loss["log-sum-exp"].double(), exact, rtol=1e-6)
assert slope["printed, with 1e-10"][-1] == 0 and slope["log-sum-exp"][-1] == 1

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9))
ylabels = ("loss (nats)", "gradient of the loss")
for ax, curves, ylabel in zip(axes, (loss, slope), ylabels, strict=True):
    for (name, curve), line, c in zip(curves.items(), ("--", "-"), (EXTRA, INK), strict=True):
        ax.plot(z_line, curve, line, color=c, label=name)
    ax.set(xlabel="gate's log-odds z", ylabel=ylabel)
axes[0].legend(loc="upper left")
worst = float((loss["log-sum-exp"] - loss["printed, with 1e-10"]).max())
show(fig,
     alt="Loss and its gradient against z for a target that only the generator can give. With log-sum-exp the loss rises in a "
     f"straight line and the gradient tends to one. The printed form flattens out, is wrong by up to {worst:.1f} nats, and its gradient falls to zero.",
     caption="A target outside the window, with a generator probability of 10⁻⁴, in float32. The surer the printed model is "
     "of its mistake, the less it is told.")

# %% [markdown]
# Two things go wrong. Once $P$ is below $10^{-10}$ the constant outweighs it, and the loss stops growing. And from
# about $z = 17$ on, $\sigma(z)$ rounds to 1 in float32: `1 - g` is exactly zero, the generator is cut off, and the gradient with
# it. `logsigmoid(-z)` never computes $1 - g$. So the rule is: *stay in logarithms from end to end*,
#
# $$
# \log P = \operatorname{logaddexp}\big(\log\sigma(z) + \log P_\text{ptr},\; \log\sigma(-z) + \log P_\text{gen}\big). \tag{8.6}
# $$
#
# > **Pitfall.** Our own `safe` has a hole: when *both* parts are $-\infty$ it computes $-\infty - (-\infty)$, which is NaN.
# > With a softmax as generator that cannot happen. Without a generator it does, for every place not in sight. Test
# > the corners of a formula, not its middle; the package uses `torch.logaddexp`, which gets this corner right.

# %% tags=["hide-input"]
both = safe(torch.zeros(1), torch.tensor([-math.inf]), torch.tensor([-math.inf]))
corner = log_mixture(torch.zeros(1), absent[:1, None], absent[:1, None])
assert both.isnan().all() and corner[0, 0] == -math.inf
Markdown(
    f"How often would it have mattered here? The lowest probability that the trained model gives any test target is "
    f"**{math.exp(opened.mix.min()):.1e}**, and its gate never exceeds {opened.gate.max():.2f}. Label smoothing keeps it from extremes, "
    "so for *this* model both forms give about the same loss. Leave smoothing out, or the generator, and they do not."
)

# %% [markdown]
# ## What does a gate learn?
#
# "The gate says whether the person returns or explores." So it is usually told. But nobody ever shows the gate a label
# "return". It sees one thing: the gradient of the loss. Let us see what that asks for. With $P = g P_\text{ptr} + (1 - g) P_\text{gen}$ at
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
b, c, lp = parts(test, index)
with torch.no_grad():
    lg = F.linear(c, w["generator.weight"], w["generator.bias"]).log_softmax(1)
    z = my_gate(c)
lp, lg = (x.gather(1, b.target[:, None])[:, 0].double() for x in (lp, lg))  # (B,) at the target
z = z.double().requires_grad_()
log_p = safe(z, lp, lg)
(-log_p).sum().backward()
r = (F.logsigmoid(z) + lp - log_p).detach().exp()                 # (B,) responsibility
gap = float((z.grad - (torch.sigmoid(z.detach()) - r)).abs().max())
assert gap < 1e-12
print(f"{len(index)} windows: autograd and g - r differ by at most {gap:.0e}")

# %% [markdown]
# Read $r$ aloud. It is Bayes' rule: before we look, the place is copied with probability $g$. Then we see the target.
# Given the target, $r$ is the probability that it *was* copied. It is the **responsibility** of the pointer, the same
# quantity as in the E-step of a mixture model. In log-odds Bayes' rule is an addition,
# $\operatorname{logit} r = z + \log \frac{P_\text{ptr}}{P_\text{gen}}$: prior plus evidence. And the gradient is $g - r$: the gate is
# a logistic regression whose label is $r$.
#
# So the gate is trained to answer: *which expert explains the target better?* Not: *is it a return?* A target that both
# experts know pulls towards the pointer when $P_\text{ptr} > P_\text{gen}$, and towards the generator otherwise. Questions that
# sound alike come apart here, and our town knows the answers. Sort the test windows:

# %%
opened["r"] = np.exp(np.log(opened.gate) + opened.ptr - opened.mix)
kinds = ["return, in the window", "return, not in the window", "exploration"]
opened["kind"] = np.select([inside, ~explored], kinds[:2], kinds[2])
opened["up"] = 100.0 * (opened.r > opened.gate)
by_kind = opened.assign(windows=100 / len(test)).groupby("kind").agg(
    {"windows": "sum", "r": "mean", "gate": "mean", "up": "mean"}).loc[kinds]
titles = {"windows": "% of windows", "r": "mean responsibility r", "gate": "mean gate g",
          "up": "push the gate up, %"}
by_kind.rename(columns=titles).round(3)

# %% tags=["hide-input"]
returns = ~explored
Markdown(
    f"**{100 * (returns & ~inside).sum() / returns.sum():.0f} %** of all *returns* go to places that the window does not show: last month's "
    f"dentist. To the person a return, to the gate a case for the generator, with $r = 0$ exactly. And among targets in the "
    f"window $r$ averages **{opened.r[inside].mean():.3f}**: they are the pointer's, nearly without dispute."
)

# %%
fig, ax = plt.subplots(figsize=(6.8, 3.0))
looks = zip(kinds, (COPIED, GENERATED, EXTRA), ("-", "--", ":"), strict=True)
for kind, colour, line in looks:
    values = np.sort(opened.gate[opened.kind == kind])
    below = 100 * np.arange(1, len(values) + 1) / len(values)
    ax.plot(values, below, line, color=colour, label=kind)
ax.set(xlabel="gate (0 = generate, 1 = copy)", ylabel="% of windows below", xlim=(0, 1))
ax.legend(loc="upper left")
means = by_kind.gate
show(fig,
     alt="Cumulative distribution of the gate for three kinds of target. Means: "
     + ", ".join(f"{kind} {means[kind]:.3f}" for kind in kinds) + ".",
     caption="The gate of all test windows, by what the next visit turned out to be. The further apart two curves, the more "
     "the gate knew.")

# %% [markdown]
# Which pairs of curves lie apart? Nobody asked the gate to tell an old haunt from a new discovery: both have $r = 0$. Any
# distance between those two curves is a by-product, because they happen in different contexts. And where all three overlap,
# remember that whether somebody explores is partly a coin toss, even to the town.
#
# ## Who teaches the generator?
#
# The same algebra tells what each *expert* learns. For the generator's scores $s_\ell$ of equation (8.1),
#
# $$
# \frac{\partial(-\log P)}{\partial s_\ell} = (1 - r)\,\big(P_\text{gen}(\ell) - [\,\ell = \ell^*\,]\big): \tag{8.8}
# $$
#
# the ordinary softmax gradient, *times* $1 - r$. Where the pointer explains the target, the generator's lesson is
# cancelled. And an untrained pointer already counts visits, while an untrained generator guesses among thousands. So how
# large is $r$ before the very first step?

# %%
torch.manual_seed(0)
newborn = PointerGeneratorTransformer(model.config).eval()
with torch.no_grad():
    b = data.train.batch(np.flatnonzero(data.train.in_window)[::5])
    out = newborn(b)
    own = [x.gather(1, b.target[:, None])[:, 0] for x in (out.pointer_log_probs, out.log_probs)]
    r = (out.gate.log() + own[0] - own[1]).exp()                  # (B,)
print(f"untrained, target in the window: mean gate {out.gate.mean():.2f}, "
      f"mean r {r.mean():.3f}, smallest {r.min():.2f}")

# %% [markdown]
# The nearer these numbers are to one, the less there is to decide: nothing has been learned, and already the generator is taught
# about targets outside the window only. That makes a prediction that one would not guess. It should be *poor at the easiest
# targets*, people's homes.

# %%
groups = {"in the window": inside & known, "known, not in the window": ~inside & known,
          "never seen in training": ~known & ~inside}
mean = {name: opened.gen[mask].mean() for name, mask in groups.items()}
fig, ax = plt.subplots(figsize=(7.0, 2.1))
ax.barh(list(mean), list(mean.values()), color=GENERATED, hatch="///", edgecolor="white", lw=0)
ax.axvline(-math.log(V), color=INK, ls="--", label="pure guessing, −log V")
ax.set_xlabel("mean log P_gen of the target (nats; longer is worse)")
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
fig.legend(loc="outside upper right")
show(fig,
     alt="The generator's mean log-probability of the target: " + ", ".join(f"{k} {v:.2f}" for k, v in mean.items())
     + f"; pure guessing would be {-math.log(V):.2f} nats.",
     caption="The generator alone, by kind of target. To the right of the dashed line it beats guessing.")

# %% [markdown]
# Look at the first bar. Is it the mixture's doing, or is the layer too weak to do better? Ask by experiment. Freeze everything
# before the generator. Train a fresh one on the same contexts, with the same steps, twice: once *alone*, with its plain
# cross-entropy, and once *in the mixture*, with the trained pointer and gate beside it.

# %%
@torch.no_grad()
def frozen(windows):
    """Context (W, D), gate's log-odds, log P_ptr of the target, target, each (W,)."""
    found = []
    for index in np.array_split(np.arange(len(windows)), 20):     # in order, in small portions
        b, c, lp = parts(windows, index)
        found.append((c, my_gate(c), lp.gather(1, b.target[:, None])[:, 0], b.target))
    return [torch.cat(column) for column in zip(*found, strict=True)]


def teach(lessons, in_mixture, epochs=6):
    torch.manual_seed(0)
    layer = nn.Linear(D, V)
    nn.init.zeros_(layer.weight)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    n = len(lessons[0])
    for at in (part for _ in range(epochs) for part in torch.randperm(n).split(128)):
        c, z, lp, y = (x[at] for x in lessons)
        lg = -F.cross_entropy(layer(c), y, reduction="none")      # (B,) log P_gen
        log_p = safe(z, lp, lg) if in_mixture else lg
        optimizer.zero_grad()
        (-log_p.mean()).backward()
        optimizer.step()
    return layer


# %%
lessons, exam = frozen(data.train), frozen(test)
result = {}
for name in ("alone", "in the mixture"):
    layer = teach(lessons, in_mixture=name == "in the mixture")
    log_q = layer(exam[0]).log_softmax(1).detach()                # (W, V)
    own = log_q.gather(1, exam[3][:, None])[:, 0].numpy()
    right = (log_q.argmax(1) == exam[3]).numpy()
    for kind in list(groups)[:2]:
        result[name, "log P_gen", kind] = own[groups[kind]].mean()
        result[name, "Acc@1, %", kind] = 100 * right[groups[kind]].mean()
pd.Series(result).unstack(level=[2, 1]).round(2)

# %% [markdown]
# The same layer, the same inputs, the same number of steps. Alone it learns where people live. In the mixture it is
# never made to, because somebody else already knows. Mixtures of experts do that: whoever is a little better early gets
# the gradient, and then *is* better. It is no fault; it is division of labour, and the columns for targets outside the window
# show whether the effort saved was put to use there. But do not judge the generator of such a model by its own accuracy, and
# do not hope that it steps in where a known place merely went unpointed at.
#
# ## What is the gate worth?
#
# Replace it and see. An *oracle* gate knows whether the target is in the window: 1 if so, else 0. A *constant* gate is the mean of the
# training gates.

# %%
fitted, _ = run(data.train)
constant = fitted.gate.mean()
rules = ["the model's gate", "constant", "one half", "0: generator alone", "1: pointer alone",
         "oracle"]
hits, ten, nats = (dict.fromkeys(rules, 0.0) for _ in range(3))
with torch.no_grad():
    for b in test.batches(512):
        out = model(b)
        answer = torch.from_numpy(inside)[b.index].float()
        dials = [out.gate, constant, 0.5, 0.0, 1.0, answer]
        for name, dial in zip(rules, dials, strict=True):
            dial = torch.as_tensor(dial).expand(len(b))[:, None]  # (B, 1)
            copied, generated = out.pointer_log_probs.exp(), out.generator_log_probs.exp()
            p = dial * copied + (1 - dial) * generated            # (B, V)
            own = p.gather(1, b.target[:, None])                  # (B, 1)
            better = ((p > own).sum(1) + 10_000 * (own[:, 0] == 0))  # 0 is never a hit
            hits[name] += int((better == 0).sum())
            ten[name] += int((better < 10).sum())
            nats[name] -= float(own.log().sum())

# %%
worth = pd.DataFrame({"Acc@1, %": hits, "Acc@10, %": ten, "loss, nats": nats}) / len(test)
worth[["Acc@1, %", "Acc@10, %"]] *= 100
worth.round({"Acc@1, %": 2, "Acc@10, %": 2, "loss, nats": 3})

# %% [markdown]
# Take your time with this table. We expected the first column to show what a gate is good for. Compare the first row with
# "constant", "pointer alone" and "oracle". When the generator's highest bar is lower than the pointer's at any reasonable gate,
# the favourite place *does not depend on the gate*, and even an oracle changes nothing. The gate's worth is in the
# loss: it prices the chance of being elsewhere. (The pointer alone pays an infinite price, for it calls each target
# outside the window impossible.)

# %% tags=["hide-input"]
paid = worth["loss, nats"]
gain, room = paid["constant"] - paid["the model's gate"], paid["constant"] - paid["oracle"]
Markdown(
    f"Against a constant, the model's gate saves **{gain:.3f} nats** a window; the oracle saves {room:.3f}. So the gate collects "
    f"**{100 * gain / room:.0f} %** of what could be had by knowing. How much of the rest is knowable at all is a question for "
    "the town, and it is not 100 %."
)

# %% [markdown]
# The design documents report that fixing the gate at one half costs 4.88 points of Acc@1 on GeoLife and 1.54 on DIY. That is another
# experiment: there the whole model is trained anew without its gate. Here nothing but the gate changes. What differs
# between the two is what a gate does to the *gradients of the others* while they learn.
#
# Turn the dial yourself: set the gate by hand and watch the list. Its numbers change, and its order hardly does, until the
# gate is nearly 0. Then untick *set it by hand* and delete visits: what does the gate make of that? (The whole model waits in [chapter 26](26_playground.ipynb).)

# %% tags=["hide-input"]
from pgt.viz.live import playground

playground(small="gate", window=i)

# %% [markdown]
# ## Label smoothing leans on the gate
#
# One more consequence. At the best fit the mean of the gate equals the mean of its label: the bias $b_z$ of equation (8.3) is added to
# every window's $z$, its gradient is the mean of $g - r$, and at the best fit that is zero. With label smoothing that
# label is not $r$ at the target alone, but its average over the smoothed target,
# $(1 - \varepsilon)\, r(\ell^*) + \frac{\varepsilon}{V} \sum_\ell r(\ell)$, and nearly all of the $V$ places have
# $r(\ell) = 0$. So smoothing lowers the gate by a factor of about $1 - \varepsilon$, with no reason in the data.

# %% tags=["hide-input"]
responsible = np.exp(np.log(fitted.gate) + fitted.ptr - fitted.mix).mean()
Markdown(
    f"On the training windows the mean responsibility is **{responsible:.3f}**; times $1 - \\varepsilon$ that is "
    f"{(1 - eps) * responsible:.3f}. The mean gate is **{constant:.3f}**. Training stops early, and with dropout, so do not expect "
    "the last digit. But do not read a gate as a probability either, until you know the ε behind it."
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
        """(B, D), (B, V) -> gate's log-odds (B,), log P_gen (B, V), log P (B, V)."""
        u = context @ self.weight.T + self.bias
        log_gen = u - u.logsumexp(1, keepdim=True)
        z = self.gate(context)
        return z, log_gen, safe(z[:, None], log_ptr, log_gen)

# %%
many, context, log_ptr = parts(test, np.arange(0, len(test), 12))
for dtype, limit in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    generator, gate, mine = Generator(model.config), Gate(model.config), MyHead(D, V)
    generator.load_state_dict(model.generator.state_dict())
    gate.load_state_dict(model.gate.state_dict())
    values = [*generator.state_dict().values(), *gate.state_dict().values()]
    mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
    generator, gate, mine = generator.to(dtype), gate.to(dtype), mine.to(dtype)
    with torch.no_grad():
        c, q = context.to(dtype), log_ptr.to(dtype)
        logit = gate(c).squeeze(-1)
        lg = generator(c).log_softmax(1)
        theirs = (logit, lg, log_mixture(logit, q, lg))
        ours = mine(c, q)
    gaps = [float((a.exp() - b.exp()).abs().max()) for a, b in zip(ours, theirs, strict=True)]
    assert max(gaps) <= limit
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, rtol=limit, atol=2 * limit)
    print(f"{dtype}: {len(many)} windows, largest difference {max(gaps):.0e}")
with torch.no_grad():
    whole = model(many).log_probs                                 # float32
    assert torch.allclose(mine(context.double(), log_ptr.double())[2].float(), whole, atol=1e-4)

# %% [markdown]
# | step | shape |
# |---|---|
# | context | (B, D) |
# | generator's scores, $\log P_\text{gen}$ | (B, V) |
# | gate's log-odds $z$, gate $g$ | (B,) |
# | $\log P$ | (B, V) |
#
# ## Summary
#
# - The generator scores all places from one vector, and owns a row for each of them: the large part of a small model.
# - A place that was never a target gets what label smoothing leaves it: about $\varepsilon / V$.
# - Stay in logarithms: `logaddexp(logsigmoid(z) + log P_ptr, logsigmoid(-z) + log P_gen)`. No constant.
# - The gate's gradient is $g - r$. It learns which expert explains the target better; "return" is our word.
# - The generator's gradient is multiplied by $1 - r$, so it learns little about what the pointer already explains.
# - Ask of every part what changes without it. For the gate, look at the loss before you look at Acc@1.
#
# ## Exercises
#
# **Exercise 1** (quick). Three places have $P_\text{ptr} = (0.7, 0.3, 0)$ and $P_\text{gen} = (0.1, 0.2, 0.7)$. From which gate
# on does the first place beat the third? And what is the pointer's responsibility for a target at place 2 if $g = 0.5$?

# %% tags=["try"]
turn, responsibility = ..., ...
check.exercise("8.1", [turn, responsibility])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
turn = 0.6 / 1.3                                   # 0.7 g + 0.1 (1 - g) = 0.7 (1 - g)
check.same(0.7 * turn + 0.1 * (1 - turn), 0.7 * (1 - turn), name="at the turning point")
responsibility = 0.3 / (0.3 + 0.2)                 # the two halves cancel
check.exercise("8.1", [turn, responsibility])

# %% [markdown]
# **Exercise 2** (medium). You are handed a network that outputs the log-odds `y` of $p_\text{gen}$, in the convention of See et al.
# Write `mixture(y, log_ptr, log_gen)` that gives the same $\log P$ as the package's `log_mixture`, without ever computing a
# sigmoid. Let `check.function` compare, with extreme cases among the arguments.

# %% tags=["try"]
def mixture(y, log_ptr, log_gen):
    """(B,) log-odds of generating, twice (B, V) -> (B, V) log P."""
    return ...


ptr, gen = torch.tensor([[0.2, 0.8, 0.0]]).log(), torch.tensor([[0.5, 0.1, 0.4]]).log()
cases = [(torch.tensor([value]), ptr, gen) for value in (0.0, 1.5, -3.0, 40.0, -40.0)]
check.function(mixture, lambda y, p, q: log_mixture(-y, p, q), *cases)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def mixture(y, log_ptr, log_gen):
    log_generate = -torch.log1p(torch.exp(-y.abs())) + y.clamp(max=0)  # log sigma(y), either sign
    log_copy = log_generate - y                                   # log sigma(-y)
    return torch.logaddexp(log_copy[:, None] + log_ptr, log_generate[:, None] + log_gen)


check.function(mixture, lambda y, p, q: log_mixture(-y, p, q), *cases)

# %% [markdown]
# **Exercise 3** (longer). Derive equation (8.8), the gradient of the generator's scores, and verify it
# with autograd. Then compute, for the trained model and all test windows with a target in the window, how much of the
# generator's usual lesson is left on average.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# d(-log P)/d log P_gen(l*) = -(1 - g) P_gen(l*) / P = -(1 - r), and d log P_gen(l*) / du = [l = l*] - P_gen(l).
with torch.no_grad():
    u = model.generator(context).double()                         # (B, V)
    z = my_gate(context).double()
u.requires_grad_()
log_p = log_mixture(z, log_ptr.double(), u.log_softmax(1))        # (B, V)
own = log_p.gather(1, many.target[:, None])
(-own).sum().backward()
copied = (F.logsigmoid(z)[:, None] + log_ptr.double()).gather(1, many.target[:, None])
r = (copied - own).exp().detach()                                 # (B, 1)
truth = F.one_hot(many.target, V)
ours = (1 - r) * (u.detach().softmax(1) - truth)
check.same(ours, u.grad, name="the generator's gradient", atol=1e-10)
print(f"left of the lesson, target in the window: {100 * (1 - opened.r[inside]).mean():.2f} %")

# %% [markdown]
# **Exercise 4** (project). Keep both experts and fit *one* constant gate by expectation-maximisation on the validation windows: compute
# all $r$, set $g$ to their mean, repeat. Show that the loss never rises, and that the fixed point has gradient zero.
# How many nats does the network gate gain over it on test windows? Then go on: one gate per person, per hour, per weekday.
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
        gate = (gate * ptr / p).mean()                            # E-step and M-step
    return gate, np.array(losses)


one, losses = em(valid)
assert (np.diff(losses) < 1e-12).all() and abs(one - em(valid, 0.9)[0]) < 1e-6


def loss_with(gate):
    return -np.log(gate * np.exp(opened.ptr) + (1 - gate) * np.exp(opened.gen)).mean()


result = {"one constant, by EM": loss_with(one), "the network": -opened.mix.mean()}
def hour(windows):
    """(W,) at which the last visit began."""
    return windows.features[5, 1:].numpy()[windows.target - 1] // 60


keys = {"per person": lambda windows: windows.users, "per hour of the last visit": hour}
for name, key in keys.items():
    table = {k: em(part)[0] for k, part in valid.groupby(key(data.valid))}
    own = pd.Series(key(test)).map(table).fillna(one).clip(0.02, 0.98)
    result[name] = loss_with(own.to_numpy())
pd.Series(result, name="test loss, nats").sort_values().round(4).to_frame()
# EM needs no learning rate: at its fixed point mean(g - r) = 0, which is the gradient of the loss. Per-person
# gates have few windows each and may overfit; shrinking them towards the common one is the next thing to try.

# %% [markdown]
# **Next:** [The whole model](09_model.ipynb), where all parts meet.
