# %% [markdown]
# # Contextual pointer
#
# *You will be able to* build a pointer that is given what to look at instead of having to find it, say
# for each prediction what spoke for it, and judge what each cue is worth. *You need*
# [The pointer](07_pointer.ipynb), the kernel of [Baselines](04_baselines.ipynb) and, for the question that
# this chapter answers, [Real cities](23_real_cities.ipynb). *It takes* forty minutes to read and about half
# a minute to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt

from pgt import city
from pgt.analysis import disagreement
from pgt.analysis.results import read_results
from pgt.baselines import fit_baseline
from pgt.checkpoint import load_model, shipped
from pgt.contextual import presets
from pgt.contextual.history import with_history
from pgt.exercises import check
from pgt.look import story
from pgt.metrics import evaluate, gains, summarize
from pgt.train import fit
from pgt.viz.figures import COPIED, EXTRA, GENERATED, INK, MUTED, show
from pgt.windows import prepare

torch.set_num_threads(1)
town = city.load()
data = prepare(town.visits, protocol="exact")
results = read_results("beyond")
print(results.header["command"])

# %% tags=["hide-input"]
EXACT = {"data": "geolife", "protocol": "exact"}
KERNEL, PGT = {"model": "kernel"}, {"model": "pgt", "variant": "full"}
gap, low, high = results.difference(EXACT | KERNEL, EXACT | PGT)
Markdown(
    "Recall where we stand. A rule of five numbers, the context kernel of [chapter 4](04_baselines.ipynb), beats the "
    f"Transformer of this book on GeoLife: by {gap:.1f} points of Acc@1 when the very place must be "
    f"named, 95 % interval [{low:.1f}, {high:.1f}]. [Chapter 23](23_real_cities.ipynb) took the kernel's cues away one "
    "by one and found that its lead there is the clock: it knows how far the hour of a past visit is from the present "
    "one. (In New York it is not, and the lead is gone.)"
    + ("" if all("anchor" in source for source in results.header["data"]) else
       " The numbers of this chapter are still of windows that go back from the target's day, and on GeoLife PGT has "
       "the package's default settings in them; chapter 23 has newer ones.")
)

# %% [markdown]
# That is half an answer. PGT knows the hour of every visit as well. Why does it not use it? And
# once we know, can we give the network what the kernel has, and more?
#
# ## A relation is not a content
#
# The kernel looks at *relations*. "It began at about this hour" is not a fact about a past visit. It is one
# about a past visit *and now*. So is "it came after a visit to where I am".
#
# PGT's pointer multiplies two vectors, a query made of now and a key made of the visit. Each is a *content*:
# what the visit is. Their product can stand for a relation, but only if training arranges all contents so that
# the products come out right. Quarter of an hour by quarter of an hour, place by place. Count how many examples
# it gets to do so: how often does each pair, *now* and *a past visit*, occur in the training windows?

# %%
week = with_history(data)  # the same windows; each visit also tells what came before it
train = week.train.batch(np.arange(len(week.train)))
inside = ~train.padding
here = train.location.gather(1, train.length[:, None] - 1)  # (B, 1) where the person is
apart = (train.start_minute - train.now_minute[:, None]).abs()
apart = torch.minimum(apart, 1440 - apart)  # (B, L) around the clock

quarters = (train.now_minute[:, None] // 15 * 96 + train.start_minute // 15)[inside]
places = (here * data.vocabulary.n_locations + train.before)[inside & (train.before > 0)]
known = data.vocabulary.n_known
cells = {
    "this quarter of an hour, that quarter": (96 * 96, torch.bincount(quarters, minlength=96 * 96)),
    "this place, that place": (known**2, torch.bincount(places)),
    "quarters of an hour apart": (49, torch.bincount(apart[inside] // 15)),
    "same place before: yes or no": (2, torch.bincount((train.before == here)[inside].long())),
}
pd.DataFrame(
    {
        name: {
            "numbers to learn": f"{n:,}",
            "examples for each": f"{len(quarters) / n:,.1f}",
            "without any": f"{n - int((seen > 0).sum()):,}",
        }
        for name, (n, seen) in cells.items()
    }
).T

# %% [markdown]
# The upper half is what a table over pairs of contents would have to fill; vectors make it smaller, but they
# start from the same examples. The lower half is the same information as a relation. Nothing has been added
# to the model there. Something was put in by hand: that 14:00 and 14:15 are neighbours, and
# that one place is the same as itself.
#
# A query and a key *can* draw the clock; exercise 3 counts how many numbers they need. They have to find
# it first.
#
# ## One feature
#
# So let us hand the pointer relations. A **feature** looks at one fact about a past visit, most of them in
# relation to now, such as the minutes between its time of day and the present one. What the fact
# is worth, the training shall say. We do not want to guess the shape, so take a table: a few **knots**
# $\Xi_k$ on the axis of the fact, in increasing order, with a learned value $\chi(\Xi_k)$ at each. Between two
# knots, draw a straight line:
#
# $$
# \chi(\Xi) = \frac{(\Xi_{k+1} - \Xi)\, \chi(\Xi_k) + (\Xi - \Xi_k)\, \chi(\Xi_{k+1})}{\Xi_{k+1} - \Xi_k},
# \qquad \Xi_k \le \Xi \le \Xi_{k+1}. \tag{20.1}
# $$
#
# Here $\Xi$ is the fact of some visit. Seen from a knot, its value is multiplied by a **hat**: a function that is 1
# at this knot, falls to 0 at its neighbours, and is 0 beyond them. Beyond the last knot the curve stays level.


# %%
def curve(table, knots, fact):
    """(K,) values at (K,) knots -> the value at each fact, straight lines in between."""
    low = (torch.searchsorted(knots, fact, right=True) - 1).clamp(0, len(knots) - 2)
    share = ((fact - knots[low]) / (knots[low + 1] - knots[low])).clamp(0, 1)
    return (1 - share) * table[low] + share * table[low + 1]


KNOTS = torch.tensor([0.0, 15, 30, 60, 90, 120, 180, 240, 360, 480, 720])  # minutes
minutes = torch.arange(0.0, 721)
kernel = fit_baseline("kernel", data.train, data.valid)  # its five numbers, chosen on validation
line = curve(-KNOTS / kernel.width, KNOTS, minutes)
assert torch.allclose(line, -minutes / kernel.width, atol=1e-5)
kernel

# %%
fig, (top, bottom) = plt.subplots(2, 1, figsize=(7.0, 4.6), sharex=True, height_ratios=[1, 1.5])
for k in range(len(KNOTS)):
    hat = curve(torch.eye(len(KNOTS))[k], KNOTS, minutes)
    top.plot(minutes / 60, hat, color=EXTRA if k % 2 else COPIED, ls="--" if k % 2 else "-", lw=1.4)
any_values = torch.randn(len(KNOTS), generator=torch.Generator().manual_seed(3)) * 2 - 5
bottom.plot(minutes / 60, line, color=COPIED, label="the kernel's clock, −δ / θ")
bottom.plot(
    minutes / 60, curve(any_values, KNOTS, minutes), color=EXTRA, ls="--", label="any other values"
)
bottom.plot(KNOTS / 60, -KNOTS / kernel.width, "o", color=COPIED)
bottom.plot(KNOTS / 60, any_values, "s", color=EXTRA)
top.set(ylabel="hat", yticks=[0, 1])
bottom.set(
    xlabel="between the visit's time of day and now (hours)",
    ylabel="log-weight (nats)",
    xlim=(0, 12),
)
bottom.set_xticks(range(0, 13, 2))
bottom.legend(loc="lower left")
show(
    fig,
    alt=f"Above, {len(KNOTS)} triangles, one for each knot, narrow near zero and wide towards twelve hours. Below, two "
    "curves made of them: a straight falling line, and a zigzag through arbitrary values.",
    caption="Above: the hats of the clock's table. Below: values at the knots (marks) and the curves that they draw. "
    "The kernel's clock is one of them.",
)

# %% [markdown]
# The straight line is no accident. The kernel weighs the clock with $e^{-\delta_i/\theta}$, and
# the logarithm of that *is* a straight line. So is the logarithm of its fading with age. Tables on the scale of
# logarithms contain the kernel exactly, whatever its numbers. Training starts from there and may bend the line.
#
# ## Reasons
#
# Now the kernel's three cues together. Equation (4.4) has a bracket with a sum in it: the base, the
# place before, and the clock. Multiply it out and every visit has three ways to be worth something. Call
# each a **reason** (the package counts them as `n_components`):
#
# $$
# w_i = \sum_m \exp\Big( \sum_\nu \Lambda_{m\nu}\, \chi_{m\nu}\big(\Xi_\nu(i)\big) \Big),
# \qquad a_i = \frac{w_i}{\sum_j w_j} . \tag{20.2}
# $$
#
# The outer sum runs over the reasons $m$, the inner one over the features $\nu$; $\Xi_\nu(i)$ is the fact that
# feature $\nu$ sees in visit $i$, and $\chi_{m\nu}$ its table for reason $m$. The scale $\Lambda_{m\nu}$ is 1 until
# later. Read it as logic. *Within* a reason features add up as logarithms, so they multiply: all of them must
# agree. *Between* reasons weights add up: one good reason is enough.
#
# The kernel is three reasons of three features, age, place before and clock. Here they are, from tensors up.


# %%
def facts(batch):
    """Three (B, L): visits back, place before as now (0 or 1), minutes of the day apart."""
    here = batch.location.gather(1, batch.length[:, None] - 1)  # (B, 1)
    before = torch.roll(batch.location, 1, dims=1)
    before[:, 0] = 0  # the window does not say
    apart = (batch.start_minute - batch.now_minute[:, None]).abs()
    return (
        batch.position_from_end - 1.0,
        (before == here).double(),
        torch.minimum(apart, 1440 - apart).double(),
    )


def kernel_reasons(batch):
    """(B, L, 3) log-weight of each visit for each of the kernel's reasons."""
    age, after_here, apart = (fact.double() for fact in facts(batch))
    fade = age.clamp(min=0) * math.log(kernel.decay)  # (B, L)
    any_visit = math.log(kernel.base) + fade
    came_after = math.log(kernel.same) + fade + torch.where(after_here > 0, 0.0, -30.0)
    this_hour = math.log(kernel.clock) + fade - apart / kernel.width
    return torch.stack([any_visit, came_after, this_hour], dim=-1)


def weights(log_weights, padding):
    """(B, L, M) log-weights -> the same as weights that sum to one in each window."""
    log_weights = log_weights.masked_fill(padding[..., None], -torch.inf)
    return log_weights.flatten(1).softmax(1).view(log_weights.shape)


test = week.test.batch(np.arange(len(week.test)))
ours = weights(kernel_reasons(test), test.padding)  # (W, L, 3)
votes = kernel.weights(test)  # (W, L) of the package
assert torch.allclose(ours.sum(-1), (votes / votes.sum(1, keepdim=True)).double(), atol=1e-6)
print("Three reasons are the kernel, in", len(test), "windows.")

# %% [markdown]
# > **Pitfall.** The logarithm of a weight that is none is $-\infty$, and its gradient is not a number. The table
# > of *place before* says −30 instead. That is far below everything, still a number, and so far down that
# > training leaves it there: the second reason goes on to speak only for visits that came after the present place.
#
# The weights now come with names. Here is the window that Part II followed.

# %%
REASONS = {
    "any visit": (MUTED, None),
    "it came after the place where I am": (COPIED, "///"),
    "it began at this hour": (EXTRA, "..."),
}
names = town.places.set_index("location_id").name
i = story(data.test)


def place_names(location):
    """Names of vocabulary ids."""
    return names.reindex(data.vocabulary.decode(location.tolist())).tolist()


def stacked(axes, labels, parts, horizontal=False):
    """Bars made of one part for each reason; parts is (n, 3)."""
    at, base = np.arange(len(labels)), np.zeros(len(labels))
    for (name, (colour, hatch)), part in zip(REASONS.items(), np.asarray(parts).T, strict=True):
        draw, where = (axes.barh, {"left": base}) if horizontal else (axes.bar, {"bottom": base})
        draw(at, part, 0.8, color=colour, hatch=hatch, edgecolor="white", lw=0, label=name, **where)
        base = base + part
    axes.grid(axis="y" if horizontal else "x", visible=False)


# %%
length = int(test.length[i])
goal = int(test.target[i])
ticks = [
    ("✓ " if place == goal else "") + name
    for place, name in zip(
        test.location[i, :length].tolist(), place_names(test.location[i, :length]), strict=True
    )
]
fig, axes = plt.subplots(figsize=(7.0, 4.2))
stacked(axes, ticks, ours[i, :length])
axes.set_xticks(range(length), ticks, rotation=55, ha="right", fontsize=8)
axes.set(ylabel="weight", xlabel="visits, oldest first; ✓ the true next place")
axes.legend()
strongest = list(REASONS)[int(ours[i].sum(0).argmax())]
show(
    fig,
    alt=f"Stacked bars for the {length} visits of one window, one colour for each of three reasons. Most weight has the "
    f"reason '{strongest}', with {float(ours[i].sum(0).max()):.2f} of one.",
    caption="The kernel's weights in the window of Part II, taken apart by reason.",
)

# %% [markdown]
# ## Between two models
#
# In the package this is `pgt.contextual.ContextualPointer`: PGT, to whose pointer score the logarithm of equation (20.2) is
# added. It has two ends that we know. With no features it must be PGT. Without PGT's own score, and with the kernel's tables, it
# must be the kernel. First the one end, with the weights of the trained network that the package ships.

# %%
from pgt.contextual import ContextualPointer
from pgt.contextual.config import ContextualConfig, kernel_config
from pgt.contextual.scorer import like_kernel

network = load_model(shipped("city"))
network = network[0] if isinstance(network, tuple) else network
bare = ContextualConfig(**vars(network.config) | {"features": (), "recent": network.config.max_len})
without_terms = ContextualPointer(bare).eval()
without_terms.load_state_dict(network.state_dict())  # the same parts by the same names
with torch.no_grad():
    some = week.test.batch(np.arange(0, len(week.test), 4))
    assert torch.allclose(without_terms(some).log_probs, network(some).log_probs, atol=1e-5)
print(f"No features: PGT, with its {network.n_parameters():,} numbers.")

# %%
sizes = data.vocabulary.n_locations, data.vocabulary.n_users
as_kernel = ContextualPointer(kernel_config(ContextualConfig(*sizes))).double().eval()
like_kernel(as_kernel.scorer, kernel)
with torch.no_grad():
    out = as_kernel(some)
score = kernel.scores(some).double().clamp(min=0)  # (B, V) -inf where there is no visit
assert torch.allclose(out.log_probs.exp(), score / score.sum(1, keepdim=True), atol=1e-6)
parts, _ = as_kernel.scorer.parts(some)  # (B, L, 3)
mine, real = kernel_reasons(some), ~some.padding
assert torch.allclose(parts.exp()[real], mine.exp()[real], atol=1e-12)  # float64
print(f"The kernel's tables: the kernel, with {as_kernel.n_parameters()} numbers.")

# %% [markdown]
# One model, two ends, and everything between them can be trained.
#
# ## Let it learn
#
# The kernel's numbers were chosen from a grid. Now give the same three features tables with *random* values,
# three reasons that mean nothing yet, and gradient descent. It sees the same seven-day windows.

# %%
three = replace(presets.VARIANTS["and_clock"], memory=0, older=0, from_kernel=False)
learned = []
for seed in (1, 2):
    model, training = presets.build(three, data, seed)
    fit(model, week.train, week.valid, replace(training, max_epochs=4), progress=False)
    learned.append(model)
scores = {
    f"tables from random values, seed {seed}": model
    for seed, model in zip((1, 2), learned, strict=True)
}
scores = {"kernel": kernel, "PGT as shipped": network} | scores
own = {
    name: summarize(evaluate(one, week.test), ["all"])["acc@1"].item()
    for name, one in scores.items()
}
pd.Series(own, name="Acc@1 on the city (%)").round(1).to_frame()

# %% tags=["hide-input"]
Markdown(
    f"**{learned[0].n_parameters()} numbers** that know nothing of our kernel, and {own['kernel']:.1f} % becomes "
    f"{np.mean(list(own.values())[2:]):.1f} %. PGT with its {network.n_parameters():,} is at "
    f"{own['PGT as shipped']:.1f} %. What did they learn? The three reasons of a random start have no "
    "names, since any of them may take any part. What can be compared is the whole weight of a visit as one fact changes "
    "and the others are held."
)


# %%
def vote(model, **change):
    """Weight of a visit of age 3, another place before, three hours off, but for one fact."""
    tables = {name: table.detach() for name, table in model.scorer.tables.items()}
    held = {"age": 3, "before": 0, "clock": 6} | change  # rows of the tables
    return sum(tables[name][row] for name, row in held.items()).exp().sum(-1)


AGES = torch.tensor([0.0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32])  # the first knots of age
rows, ages = torch.arange(len(KNOTS)), torch.arange(len(AGES))
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4))
clock = kernel.base + kernel.clock * torch.exp(-minutes / kernel.width)
left.plot(minutes / 60, clock / clock[180], color=COPIED, label="kernel")
right.plot(AGES, kernel.decay ** (AGES - 3), color=COPIED, label="kernel")
for n, model in enumerate(learned):
    by_clock, by_age = vote(model, clock=rows), vote(model, age=ages)
    style = {
        "color": EXTRA,
        "ls": ("--", ":")[n],
        "marker": "so"[n],
        "ms": 4,
        "label": f"learned, seed {n + 1}",
    }
    left.plot(KNOTS / 60, by_clock / by_clock[6], **style)
    right.plot(AGES, by_age / by_age[3], **style)
left.set(
    xlabel="time of day apart (hours)",
    ylabel="weight, 1 = three hours apart",
    xlim=(0, 12),
    ylim=(0, None),
)
right.set(xlabel="age (visits back)", ylabel="weight, 1 = age 3", ylim=(0, None))
left.set_xticks(range(0, 13, 2))
left.legend()
first, second = (float(vote(learned[0], age=k) / vote(learned[0], age=3)) for k in (0, 1))
at_once = float(vote(learned[0], clock=0) / vote(learned[0], clock=6))
show(
    fig,
    alt=f"Two panels. Weight over the distance in time of day: kernel and learned curves fall; at the same minute the "
    f"learned weight is {at_once:.1f} times that at three hours. Weight over age: the kernel fades evenly, the learned "
    f"curves give the last visit {first:.1f} and the one before it {second:.1f} times the weight of age 3.",
    caption="What the tables learned, from random values, beside what the kernel was given.",
)

# %% [markdown]
# Look at the clock first. Nobody told the tables that near is better, and they say it. (Their jags are
# noise, alike in both because both saw the same windows.) Then look at the age. The kernel fades
# evenly from the last visit back, and no power of a number can do otherwise. The tables hardly fade within a week,
# but they tell two visits from all others. Age 0 is the place where the person is *now*, and people seldom leave a
# place in order to go to it. Age 1 is where they came from: there, and back again.
#
# ## One cue after the other
#
# Now to GeoLife and the question of the chapter. We move the kernel's cues into the pointer, one at a time,
# and then go on to cues that the kernel never had. Nothing else of PGT is there: no embeddings, no encoder, no
# generator, no gate. All models remember the last hundred visits instead of seven days; so may the kernel.

# %%
LADDER = {
    "count_only": "age",
    "and_before": "+ the place before",
    "and_clock": "+ the clock",
    "and_day": "+ weekday, days, time ahead",
    "and_stays": "+ how long, before and now",
    "no_scale": "+ here, count, older places",
    "full": "+ scaled by now",
}
MEMORY = {"model": "kernel_memory"}
rungs = {
    text: [
        results.mean(**EXACT, model="contextual", variant=variant, target_time="unknown"),
        results.spread(**EXACT, model="contextual", variant=variant, target_time="unknown"),
    ]
    for variant, text in LADDER.items()
}
mean, spread = np.array(list(rungs.values())).T
marks = {
    "kernel, last hundred visits": (results.mean(**EXACT, **MEMORY), COPIED, "-"),
    "kernel, seven days": (results.mean(**EXACT, **KERNEL), COPIED, ":"),
    "PGT, seven days": (results.mean(**EXACT, **PGT), GENERATED, "--"),
}
fig, axes = plt.subplots(figsize=(7.0, 4.0))
at = np.arange(len(rungs))
axes.errorbar(mean, at, xerr=spread, fmt="o-", color=EXTRA, capsize=3, label="contextual pointer")
for name, (value, colour, style) in marks.items():
    axes.axvline(value, color=colour, ls=style, lw=1.6, label=name)
for y, value in zip(at, mean, strict=True):
    axes.annotate(
        f"{value:.1f}", (value, y), (9, 0), textcoords="offset points", va="center", fontsize=9
    )
axes.set_xlim(None, mean.max() + 1.4)
axes.set_yticks(at, list(rungs))
axes.set(xlabel="Acc@1 on GeoLife, exact protocol (%)", ylim=(len(rungs) - 0.5, -0.6))
axes.grid(axis="y", visible=False)
fig.legend(loc="outside upper center", ncols=2, fontsize=9)
show(
    fig,
    alt="A ladder of accuracies as cues are added: "
    + ", ".join(f"{n} {v:.1f}" for n, v in zip(rungs, mean, strict=True))
    + "; for comparison "
    + ", ".join(f"{n} {v[0]:.1f}" for n, v in marks.items())
    + " per cent.",
    caption="Acc@1 as cues enter the pointer. Dots: mean over five seeds, whiskers: their standard deviation. "
    "In the last two rows the model also knows places that it has not seen for more than a hundred visits.",
)

# %% tags=["hide-input"]
steps = pd.Series(dict(zip(LADDER, mean, strict=True)))
rise = steps.diff()
Markdown(
    f"Age alone, which is counting with a curve, gets {steps['count_only']:.1f} %. The place before brings "
    f"{rise['and_before']:+.1f} points, the clock {rise['and_clock']:+.1f}. With the kernel's own three cues, in curves of its own, "
    f"the pointer is then at {steps['and_clock']:.1f} %, the kernel with the same memory at "
    f"{marks['kernel, last hundred visits'][0]:.1f} %. Everything that the kernel did not have brings another "
    f"{steps['full'] - steps['and_clock']:+.1f}, of which the scale has {rise['full']:+.1f}."
)

# %% [markdown]
# The order of the rungs is ours, and steps depend on it: what comes early also gets the credit for what it shares
# with what comes later. In [chapter 23](23_real_cities.ipynb) the kernel loses nothing without the place before, since there
# the clock is in already.

# %% [markdown]
# ## More features, a scale, a memory
#
# What else could speak for a past visit? Anything that compares it with now, or tells how much it matters.
# These are the features of the package, with the knots of their tables.

# %%
from pgt.contextual.features import HISTORY_FEATURES, NOW

with pd.option_context("display.max_colwidth", None):
    display(
        pd.DataFrame(
            {
                name: {"looks at": term.about, "knots": len(term.knots)}
                for name, term in HISTORY_FEATURES.items()
            }
        ).T
    )

# %% [markdown]
# Two more parts, and the model is complete.
#
# **The scale.** Late at night the clock may say little, in the morning much. So each feature is multiplied
# by a number that depends on now: $\Lambda_{m\nu}$ in equation (20.2) is 1 plus the output of a small network
# that gets the hour, the weekday, how long the last visit was, and how many visits are remembered. Its last layer
# starts at zero, so all scales start at 1.
#
# **The memory.** A pointer that sees seven days cannot point at the dentist. Here each question comes with the
# **memory** of the last hundred visits, however long ago. Of places that are only found further back the model gets a *summary*:
# the latest visit there, and how many visits it stands for. So its work does not grow with a person's history. How much
# past is worth how much is the subject of [chapter 22](22_open_vocabulary.ipynb).
#
# Training is that of [chapter 10](10_training.ipynb), and takes seconds. Do not be startled by the losses. A target that is not among the
# remembered visits has no probability at all and counts with a large constant, which no curve can lower.

# %%
full = presets.VARIANTS["full"]
seen = presets.windows(data, full)
model, training = presets.build(full, data, seed=42)
history = fit(model, seen.train, seen.valid, training, progress=False)
history.table()[["train_loss", "valid_loss", "valid_acc@1"]].round(2)

# %%
from pgt.baselines import ContextKernel

longer = with_history(data, memory=100)
chosen = results.header["runs"][
    "city/kernel_memory-memory_100-unknown-None"
]  # its numbers, chosen on validation
kernel_too = ContextKernel(**{name: chosen[name] for name in ContextKernel.GRID}).fit(longer.train)
found = {
    "PGT as shipped": evaluate(network, data.test),
    "kernel": evaluate(kernel, data.test),
    "kernel, last hundred visits": evaluate(kernel_too, longer.test),
    "contextual pointer": evaluate(model, seen.test),
}
numbers = {"PGT as shipped": network.n_parameters(), "contextual pointer": model.n_parameters()}
table = pd.concat(
    {
        name: summarize(ranks, ["all", "in_window", "not_in_window"]).set_index("group")["acc@1"]
        for name, ranks in found.items()
    },
    axis=1,
).T
table.insert(0, "numbers", [f"{numbers.get(name, 5):,}" for name in table.index])
table.round(1)

# %% tags=["hide-input"]
from pgt.intervals import interval

on_city = {
    name: interval(found["contextual pointer"], against=found[name]) for name in list(found)[:3]
}
lead = table["all"]["contextual pointer"] - table["all"]
Markdown(
    f"In the simulated city the contextual pointer leads PGT by {lead.iloc[0]:.1f} points "
    f"[{on_city['PGT as shipped'][0]:.1f}, {on_city['PGT as shipped'][1]:.1f}], the kernel by {lead.iloc[1]:.1f} "
    f"[{on_city['kernel'][0]:.1f}, {on_city['kernel'][1]:.1f}], and the kernel with the same memory by {lead.iloc[2]:.1f} "
    f"[{on_city['kernel, last hundred visits'][0]:.1f}, {on_city['kernel, last hundred visits'][1]:.1f}]. It has "
    f"{network.n_parameters() / model.n_parameters():.0f} times fewer numbers than PGT."
)

# %% [markdown]
# ## Look inside again
#
# Chapters [11](11_gate.ipynb) to [13](13_attention_on_maps.ipynb) looked for meaning in a gate and in attention
# weights, and found it only in part. What is there to see now?
#
# **The gate is gone.** There is no generator to hand over to. What it was for, places outside the seven days, the memory
# does, as the column *not in window* shows: little, but PGT's generator did little as well.
#
# **The attention has words.** Here is the story's window again, by place.


# %%
@torch.no_grad()
def by_reason(model, batch):
    """(B, L, 3) weight of each visit for each reason; sums to one in each window."""
    return weights(model.scorer.parts(batch)[0], batch.padding)


def by_place(weight, batch, most=7):
    """Places with the most weight: names, (n, 3) weights."""
    table = pd.DataFrame(weight[0].numpy()).groupby(batch.location[0].numpy()).sum()
    table = table.drop(index=0, errors="ignore")
    table = table.loc[table.sum(axis=1).sort_values(ascending=False).index[:most]]
    marked = ["✓ " if place == int(batch.target[0]) else "" for place in table.index]
    return [
        mark + name for mark, name in zip(marked, place_names(table.index), strict=True)
    ], table.to_numpy()


# %%
one, short = seen.test.batch([i]), week.test.batch([i])
panels = {
    "kernel, seven days": by_place(weights(kernel_reasons(short), short.padding), short),
    "contextual pointer, with its memory": by_place(by_reason(model, one), one),
}
fig, both = plt.subplots(2, 1, figsize=(7.0, 5.4), sharex=True)
for axes, (title, (labels, bars)) in zip(both, panels.items(), strict=True):
    stacked(axes, labels, bars, horizontal=True)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_title(title)
both[0].legend(loc="lower right")
both[1].set_xlabel("probability of the place")
chosen = {title: labels[0] for title, (labels, _) in panels.items()}
show(
    fig,
    alt="Stacked bars of the likeliest places by reason, for two models. First place: "
    + "; ".join(f"{title}: {label.removeprefix('✓ ')}" for title, label in chosen.items())
    + ".",
    caption="Why each place? The same question answered by two models that share the form of equation (20.2). ✓ marks the truth.",
)

# %% [markdown]
# The colours are not painted on afterwards, as an explanation of what the network might have meant. They are the sum
# that was computed: drop a colour, and what is left is just what the others said, before it is made to sum to one
# again. We started from the kernel's tables, so the reasons
# keep their names. The second can still speak only for visits that came after the present place.
#
# Do the reasons take turns during the day?

# %%
days = []
for batch in seen.test.batches(512):
    share = by_reason(model, batch).sum(1)  # (B, 3)
    days.append(
        pd.DataFrame(share.numpy(), columns=list(REASONS)).assign(
            hour=batch.now_minute.numpy() // 60
        )
    )
days = pd.concat(days)
by_hour = days.groupby("hour").mean()[days.hour.value_counts().sort_index() >= 20]
fig, axes = plt.subplots(figsize=(7.0, 3.6))
stacked(axes, by_hour.index, by_hour)
axes.set_xticks(range(len(by_hour)), by_hour.index, fontsize=9)
axes.set(xlabel="hour of now", ylabel="share of the weight", ylim=(0, 1))
fig.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9)
hour_word = by_hour["it began at this hour"]
show(
    fig,
    alt="Stacked shares of the three reasons by hour of the day. The clock's reason has its largest share, "
    f"{hour_word.max():.2f}, at {hour_word.idxmax()} o'clock and its smallest, {hour_word.min():.2f}, at {hour_word.idxmin()}.",
    caption="Which reason speaks when: mean share of the weight in the test windows of the city, by the hour at which the last "
    "visit ended. Hours with fewer than twenty windows are left out.",
)

# %% [markdown]
# The curves themselves can be looked at as well. Each is drawn relative to its first knot, with the mean of its scale over the
# test windows.


# %%
@torch.no_grad()
def scales(model, batch):
    """(B, T, 3) the scale of each term in each reason."""
    now = torch.cat(
        [table(NOW[name].of(batch)) for name, table in model.scorer.now.items()], dim=-1
    )
    return 1 + model.scorer.scale(now).view(len(batch), len(HISTORY_FEATURES), 3)


scale = torch.cat([scales(model, batch) for batch in seen.test.batches(512)]).mean(0)  # (T, 3)
AXES = {
    "age": ("visits back", 100),
    "clock": ("time of day apart (minutes)", 720),
    "stay": ("how long it lasted, log2(minutes + 15)", 11),
    "ahead": ("from now to its time of day (minutes)", 1440),
}
fig, panels = plt.subplots(2, 2, figsize=(7.4, 5.2))
for axes, (name, (label, upto)) in zip(panels.flat, AXES.items(), strict=True):
    values = model.scorer.tables[name].detach() * scale[list(HISTORY_FEATURES).index(name)]  # (K, 3)
    for (reason, (colour, _)), column, style in zip(
        REASONS.items(), values.T, ("-", "--", ":"), strict=True
    ):
        axes.plot(
            HISTORY_FEATURES[name].knots, column - column[0], color=colour, ls=style, marker=".", label=reason
        )
    axes.set(
        title=name, xlabel=label, xlim=(HISTORY_FEATURES[name].knots[0], upto), ylabel="log-weight (nats)"
    )
    drawn = (values - values[0])[torch.tensor(HISTORY_FEATURES[name].knots) <= upto]
    axes.set_ylim(float(drawn.min()) - 0.25, float(drawn.max()) + 0.15)
fig.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
span = {
    name: float(
        (
            model.scorer.tables["clock"][:, k].max() - model.scorer.tables["clock"][:, k].min()
        ).detach()
    )
    for k, name in enumerate(REASONS)
}
show(
    fig,
    alt="Four panels of learned curves, three lines each, one a reason. In the panel of the clock the reason 'it began at this hour' "
    f"spans {span['it began at this hour']:.1f} nats, the other two {span['any visit']:.1f} and "
    f"{span['it came after the place where I am']:.1f}.",
    caption="What four of the tables have learned in the city.",
)

# %% [markdown]
# The clock's panel first: the reason that came with a clock listens to it far more than the others, and its line is still
# nearly straight. The kernel's
# guess about the shape was good. Then *stay*: that same reason trusts a night or a working day more than a short stop. Nobody had told it.
#
# And the question with which [chapter 23](23_real_cities.ipynb) opened PGT: by what factor does the weight of a
# visit rise when it shows a cue, the others held?

# %%
_, opened = disagreement.visit_weights(network, kernel, data.test)
ages, weight, window = [], [], []
with torch.no_grad():
    for batch in seen.test.batches(512):
        shown = ~batch.padding & (
            batch.age < torch.from_numpy(data.test.lengths[batch.index])[:, None]
        )
        shown &= batch.stands_for == 0
        weight.append(model(batch).pointer_attention[shown])
        ages.append(batch.age[shown] + 1)
        window.append(batch.index[:, None].expand_as(batch.age)[shown])
new = pd.DataFrame(
    {"window": torch.cat(window), "age": torch.cat(ages), "contextual": torch.cat(weight)}
)
opened = opened.merge(new, on=["window", "age"], validate="one_to_one")
LABELS = {
    "same_before": "came from where the person is now",
    "same_hour": "began within an hour of now",
    "log2_age": "twice as many visits ago",
    "log2_count": "its place visited twice as often",
    "explained": "explained of the differences (share)",
}
columns = {"pgt": "PGT's attention", "kernel": "kernel's vote", "contextual": "contextual pointer"}
pd.DataFrame({title: disagreement.factors(opened, name) for name, title in columns.items()}).loc[
    list(LABELS)
].rename(index=LABELS).round(2)

# %% [markdown]
# The new pointer reads the cues that PGT's attention hardly reads. Beyond them it weighs facts that these four rows do not know; so
# its last row is far below the kernel's, which is made of hardly anything else.
#
# ## Which features matter?
#
# An ablation again, now of the model that wins: GeoLife, exact protocol, each feature left out in turn, five
# seeds. Intervals resample people and seeds, as in [chapter 14](14_ablations.ipynb).

# %%
from pgt.intervals import ends, resampled_means

found = {}
for ranks in results.ranks():
    key = tuple(
        ranks[column].iloc[0] for column in ("data", "protocol", "model", "variant", "target_time")
    )
    found.setdefault(key, []).append((ranks.seed.iloc[0], gains(ranks)["acc@1"].to_numpy()))
    found[key[:2], "people"] = pd.factorize(ranks.user_id)[0]
hits = {
    key: np.stack([hit for _, hit in sorted(runs, key=lambda run: str(run[0]))])
    for key, runs in found.items()
    if key[1] != "people"
}  # (seeds, windows)


def change(one, other, where=("geolife", "exact"), draws=2000):
    """Mean of one minus other in points, and its 95 % interval over people and seeds."""
    difference = 100 * (hits[where + one] - hits[where + other])  # (seeds, windows)
    means = resampled_means(difference, found[where, "people"], draws=draws)  # (draws,)
    return difference.mean(), *ends(means), difference.mean(1)


# %%
def contextual(variant, target_time="unknown"):
    """A key of `hits`."""
    return ("contextual", variant, target_time)


def forest(axes, table):
    """Dots with intervals and ticks for single seeds, one row each."""
    at = np.arange(len(table))
    mean, low, high = (np.array([row[k] for row in table.values()]) for k in range(3))
    sure = (low > 0) | (high < 0)
    axes.axvline(0, color=INK, lw=1)
    axes.hlines(at, low, high, color=EXTRA, lw=2)
    axes.plot(mean[sure], at[sure], "o", color=EXTRA)
    axes.plot(mean[~sure], at[~sure], "o", color=EXTRA, mfc="white")
    for y, row in zip(at, table.values(), strict=True):
        axes.plot(row[3], [y] * len(row[3]), "|", color=MUTED, ms=7)
    axes.set_yticks(at, list(table))
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


# %%
features = {name: change(contextual(f"no_{name}"), contextual("full")) for name in HISTORY_FEATURES}
features = dict(sorted(features.items(), key=lambda row: row[1][0]))
fig, axes = plt.subplots(figsize=(7.0, 4.6))
forest(axes, features)
axes.set_xlabel("change of Acc@1 without the feature (points)")
show(
    fig,
    alt="Forest plot of single-feature ablations. Largest loss: without "
    + ", ".join(f"{name} {row[0]:+.1f}" for name, row in list(features.items())[:3])
    + " points.",
    caption="GeoLife, exact protocol. Dots and lines: mean over five seeds and 95 % interval over people and seeds, filled "
    "where the interval leaves out zero; ticks: single seeds.",
)

# %% tags=["hide-input"]
certain = [name for name, row in features.items() if row[2] < 0]
clockless = features["clock"]
Markdown(
    f"Only **{len(certain)} of {len(features)}** features lose something that the interval can show: {', '.join(certain) or 'none'}. "
    f"Without the clock, the kernel's whole lead, it is only {clockless[0]:+.1f} points, against {rise['and_clock']:+.1f} in the "
    "ladder. That is redundancy, the trouble of every ablation: *ahead* and *left* look at the clock as well."
)

# %% [markdown]
# One row is a **placebo**. The feature *unknown* asks whether a place is the place "unknown", and by the exact protocol none
# is. It sees the same in every visit: all it can do is to raise or lower a whole reason, which the other features can do as well. So
# without it the model loses nothing. Yet its row is not zero: what is made after its table starts from other random values.

# %% tags=["hide-input"]
nothing = abs(features["unknown"][0])
alike = [name for name, row in features.items() if abs(row[0]) <= nothing and name != "unknown"]
Markdown(
    f"Its row says {features['unknown'][0]:+.2f} points [{features['unknown'][1]:.2f}, {features['unknown'][2]:.2f}]. Of the other rows "
    f"{len(alike)} are not further from zero than nothing at all: {', '.join(alike) or 'none'}. Put a placebo into your own ablation table; "
    "it costs one row."
)

# %% [markdown]
# ## What does the rest of PGT add?
#
# So far the pointer is alone. Now put everything that Part II built around it: embeddings of places, people and times, the
# encoder, PGT's own pointer score, the generator and the gate. Any of it may help; the features stay.
# The same forest also shows the smaller choices.

# %%
CHOICES = {
    "all of PGT around it": (contextual("around"), contextual("full")),
    "all of PGT around it, both with seven days": (
        contextual("around_window"),
        contextual("window"),
    ),
    "features also meet in a hidden layer": (contextual("interaction"), contextual("full")),
    "one reason instead of three": (contextual("one_component"), contextual("full")),
    "random first tables": (contextual("random_start"), contextual("full")),
    "no scale": (contextual("no_scale"), contextual("full")),
    "no summaries of older places": (contextual("memory_100"), contextual("full")),
    "seven days only": (contextual("window"), contextual("full")),
}
choices = {name: change(*pair) for name, pair in CHOICES.items()}
fig, axes = plt.subplots(figsize=(7.2, 3.9))
forest(axes, choices)
axes.set_xlabel("change of Acc@1 (points)")
show(
    fig,
    alt="Forest plot of choices: "
    + ", ".join(f"{name} {row[0]:+.1f}" for name, row in choices.items())
    + " points.",
    caption="GeoLife, exact protocol: what each choice changes. The second row compares two models that see seven days.",
)

# %% tags=["hide-input"]
notes = results.header["runs"]
big, small = (
    notes[f"geolife_exact/contextual-{name}-unknown-42"]["parameters"]
    for name in ("around", "full")
)
around, windowed = (
    choices["all of PGT around it"],
    choices["all of PGT around it, both with seven days"],
)


def says(row):
    """A change with its interval."""
    return f"{row[0]:+.1f} points [{row[1]:.1f}, {row[2]:.1f}]"


Markdown(
    f"**On these windows the Transformer adds nothing.** {big:,} numbers instead of {small:,} change the score by {says(around)}. Where the "
    f"model sees only the seven days, for which PGT was made, it is {says(windowed)}. What a week of visits says about the "
    "next one, a handful of curves has said already."
)

# %% [markdown]
# Three details deserve a sentence. **A start from the kernel** is a convenience: tables from random values end at about the same
# score. **More than one reason** is worth something, but not much; the single reason starts from random tables, so a part of its row is
# theirs. A hidden layer, in which features could meet in any way they like,
# does not help; with some thousand windows, freedom is not what is missing.
#
# > **Pitfall.** It is tempting to read this as "Transformers do not work". It says that *these* windows, of some dozen
# > people, do not hold what the Transformer could learn beyond the cues. With a million people the row may turn
# > around. Our rows tell about data of this size.
#
# ## The unknown, in training
#
# One trap is left from [chapter 15](15_traps.ipynb). Under the published protocol all places that training has never shown are one
# place, *unknown*. It is asked for in test, and training never asks for it.

# %%
from pgt.contextual.pseudo_unknown import with_pseudo_unknowns

merged = prepare(town.visits, protocol="published")
pseudo_unknowns = with_pseudo_unknowns(merged, memory=100)
asked = {"training": merged.train, "training, with pseudo-unknowns": pseudo_unknowns, "test": merged.test}
pd.DataFrame(
    {
        name: {
            "windows": len(windows),
            "unknown targets (%)": 100 * (windows.targets == 1).mean(),
            "windows with an unknown place (%)": 100
            * sum(int((batch.location == 1).any(1).sum()) for batch in windows.batches(512))
            / len(windows),
        }
        for name, windows in asked.items()
    }
).T.round(1)

# %% [markdown]
# So training cannot find out that "unknown" is a place to which people go often, and which is never the same twice. The way
# out are **pseudo-unknowns**: play the training days through as if they had ended earlier. What is first visited after that day becomes unknown,
# and only later windows are asked. We do it three times, with three such days, and add the windows to the others.

# %% tags=["hide-input"]
PUBLISHED = ("geolife", "published")
drill = {
    group: {
        split: results.mean(group=group, split=split, variant="full", **drilled)
        - results.mean(group=group, split=split, variant="no_pseudo_unknowns", **drilled)
        for split in ("valid", "test")
    }
    for group in ("all", "known", "unknown")
    for drilled in [
        dict(zip(("data", "protocol"), PUBLISHED, strict=True), model="contextual", target_time="unknown")
    ]
}
pd.DataFrame(drill).T.rename_axis("targets").map("{:+.1f}".format)

# %% tags=["hide-input"]
total = change(contextual("full"), contextual("no_pseudo_unknowns"), PUBLISHED)
Markdown(
    f"The table shows what pseudo-unknowns change on GeoLife. Unknown targets are named far more often, "
    f"{drill['unknown']['test']:+.1f} points on the test windows, and known ones "
    f"{'less' if drill['known']['test'] < 0 else 'more'} often, {drill['known']['test']:+.1f}. The sum is {says(total)}. "
    + (
        "So pseudo-unknowns teach what they were made for, and the mean does not show it: what the model says more often of the one, it says less "
        f"often of the other. On the validation windows the balance was {drill['all']['valid']:+.1f}, and so we kept it. "
        if total[1] < 0 < total[2]
        else ""
    )
    + "And remember what a hit on *unknown* means. It names no place."
)

# %% [markdown]
# > **Pitfall.** Early stopping had the same blind spot. The validation windows hold unknown targets that training does not,
# > so the validation *loss* rises while the model still gets better at everything it can learn. All models here are stopped by
# > validation *accuracy*.
#
# ## The whole table
#
# Both protocols and the city. The kernel with a memory sees the same last hundred visits as the contextual pointer, which also has its
# summaries of older places.

# %%
MODELS = {
    "PGT": PGT | {"target_time": "unknown"},
    "kernel": KERNEL,
    "kernel, last hundred visits": MEMORY,
    "contextual pointer, seven days": {
        "model": "contextual",
        "variant": "window",
        "target_time": "unknown",
    },
    "contextual pointer": {"model": "contextual", "variant": "full", "target_time": "unknown"},
    "contextual pointer, PGT around it": {
        "model": "contextual",
        "variant": "around",
        "target_time": "unknown",
    },
}
SETS = {
    "GeoLife, exact": EXACT,
    "GeoLife, published": {"data": "geolife", "protocol": "published"},
    "city, exact": {"data": "city", "protocol": "exact"},
}
scores = {}
for title, where in SETS.items():
    for name, which in MODELS.items():
        if len(results.select(**where, **which)):
            scores[name, title] = (
                f"{results.mean(**where, **which):.1f} ± {results.spread(**where, **which):.1f}"
                if which["model"] not in ("kernel", "kernel_memory")
                else f"{results.mean(**where, **which):.1f}"
            )
pd.Series(scores).unstack().reindex(index=list(MODELS), columns=list(SETS)).fillna("")

# %% [markdown]
# Acc@1 in percent, mean and standard deviation over five seeds. Whether one row is better than another, the difference on the same windows
# says, with its interval over people and seeds.
#
# All settings were chosen on GeoLife's validation windows. Do they travel? Here is the same model, with no setting
# changed, on a simulated town of several hundred people more, and on a table of check-ins that say when somebody came and not
# when they left, with three in ten missing.

# %%
elsewhere = read_results("elsewhere")
print(elsewhere.header["command"])
rows = {"most frequent": {"model": "most_frequent"}, "kernel": KERNEL,
        "kernel, last hundred visits": {"model": "kernel_memory"},
        "contextual pointer": {"model": "contextual"}}
pd.DataFrame({
    source["name"]: {
        name: elsewhere.mean(data=source["name"], **which) for name, which in rows.items()
    } | {"test windows": source["windows"]["test"]}
    for source in elsewhere.header["data"]
}).round(1)

# %% tags=["hide-input"]
leads = {
    source["name"]: elsewhere.difference(
        {"data": source["name"], "model": "contextual"},
        {"data": source["name"], "model": "kernel_memory"},
    )
    for source in elsewhere.header["data"]
}
Markdown(
    "Its lead over the kernel with the same memory: "
    + "; ".join(f"{name} {says(row)}" for name, row in leads.items())
    + ". Where visits are missing less can be told from them, and the lead is smaller. It stays."
)

# %%
PAIRS = {
    "PGT": (contextual("full"), ("pgt", "full", "unknown")),
    "kernel": (contextual("full"), ("kernel", "full", "unknown")),
    "kernel, same memory": (contextual("full"), ("kernel_memory", "memory_100", "unknown")),
    "kernel, both seven days": (contextual("window"), ("kernel", "full", "unknown")),
}
fig, panels = plt.subplots(1, len(SETS), figsize=(7.4, 2.9), sharey=True)
leads = {}
for axes, (title, where) in zip(panels, SETS.items(), strict=True):
    pair = (where["data"], where["protocol"])
    leads[title] = {
        name: change(*both, pair)
        for name, both in PAIRS.items()
        if all(pair + key in hits for key in both)
    }
    forest(axes, leads[title])
    axes.set_title(title, fontsize=10)
    axes.set_xlim(min(axes.get_xlim()[0], -1), None)
fig.supxlabel("lead of the contextual pointer in Acc@1 (points)", fontsize=10)
show(
    fig,
    alt="Leads of the contextual pointer over its rivals with intervals. "
    + " ".join(
        f"{title}: " + ", ".join(f"{name} {row[0]:+.1f}" for name, row in rows.items()) + "."
        for title, rows in leads.items()
    ),
    caption="The contextual pointer's lead over each rival: mean over seeds, 95 % interval over people and seeds. Filled: the "
    "interval leaves out zero.",
)

# %% tags=["hide-input"]
exact, merged_too = leads["GeoLife, exact"], leads["GeoLife, published"]
fair = exact["kernel, same memory"]
bare = change(contextual("memory_100"), ("kernel_memory", "memory_100", "unknown"))
Markdown(
    f"On GeoLife, where the very place must be named, the contextual pointer leads PGT by {says(exact['PGT'])} and the kernel by "
    f"{says(exact['kernel'])}. The fair comparison is with a kernel that has the same memory: {says(fair)}. "
    + (
        "Small, but above zero. "
        if fair[1] > 0
        else "The interval reaches zero: forty-odd people cannot settle it. "
    )
    + f"(Without the summaries, which the kernel does not have, it is {says(bare)}.) "
    + f"By the published protocol it is {says(merged_too['kernel, same memory'])}"
    + (
        ". "
        if merged_too["kernel, same memory"][1] > 0
        else ", which forty-odd people cannot settle. "
    )
    + "A kernel with a memory is most of the way. The model on top wins the rest, and says why it went where."
)

# %% [markdown]
# ## Two questions
#
# "Where next?" is one question. "Where will she be on Tuesday at three?" is another, and easier: who knows the time of the next visit
# may look at it. Results for the two are often printed in one table. Here they stand apart. The same model,
# knowing nothing of the next visit, its hour and weekday, or its time to the minute, with three more features that
# compare a past visit with *then* instead of *now*.

# %%
QUESTIONS = {
    "unknown": "where next?",
    "hour": "where, at this hour and weekday?",
    "time": "where, at this minute?",
}
fig, axes = plt.subplots(figsize=(7.0, 2.9))
accuracy = {}
for n, title in enumerate(("GeoLife, exact", "GeoLife, published")):
    where = SETS[title]
    for k, target_time in enumerate(QUESTIONS):
        which = where | {"model": "contextual", "variant": "full", "target_time": target_time}
        if not len(results.select(**which)):
            continue
        accuracy[title, target_time] = results.mean(**which)
        low, high = results.interval(**which)
        axes.errorbar(
            accuracy[title, target_time],
            k + 0.14 * (2 * n - 1),
            xerr=[[accuracy[title, target_time] - low], [high - accuracy[title, target_time]]],
            fmt="os"[n],
            color=(EXTRA, COPIED)[n],
            capsize=3,
            label=title if k == 0 else None,
        )
axes.set_yticks(range(len(QUESTIONS)), list(QUESTIONS.values()))
axes.set(xlabel="Acc@1 (%)", ylim=(2.5, -0.5))
axes.grid(axis="y", visible=False)
fig.legend(loc="outside upper center", ncols=2)
show(
    fig,
    alt="Accuracy by what is known of the next visit: "
    + ", ".join(f"{title}, {QUESTIONS[target_time]} {value:.1f}" for (title, target_time), value in accuracy.items())
    + " per cent.",
    caption="The contextual pointer on three questions. Whiskers: 95 % intervals over people and seeds.",
)

# %% tags=["hide-input"]
more = {
    title: accuracy[title, "time"] - accuracy[title, "unknown"]
    for title in ("GeoLife, exact", "GeoLife, published")
}
hour = accuracy.get(("GeoLife, published", "hour"), float("nan"))
in_city = {
    target_time: results.mean(**SETS["city, exact"], model="contextual", variant="full", target_time=target_time)
    for target_time in QUESTIONS
}
Markdown(
    f"Knowing the time is worth {more['GeoLife, exact']:.1f} points by the exact protocol and {more['GeoLife, published']:.1f} by the "
    f"published one, most of it already with the hour. In the city the hour is worth {in_city['hour'] - in_city['unknown']:+.1f} and the "
    f"minute {in_city['time'] - in_city['unknown']:+.1f}. By the published protocol the contextual pointer gets {hour:.1f} % when it "
    f"knows the hour, and {accuracy['GeoLife, published', 'unknown']:.1f} % when it does not."
)

# %% [markdown]
# For the second question there is a figure by others. LLM-Mob, a language model that is shown a person's past and when the
# next visit begins ([Wang et al., 2023](https://arxiv.org/abs/2308.15197)), gets 45.1 % on windows of the published protocol, recomputed from
# the predictions that its authors publish.

# %% [markdown]
# ## What is predictable at all?
#
# Is there anything left to win? Nobody knows the best possible score on real people, but it can be fenced in from several sides.
# Others have tried: [Ikanovic and Mollgaard (2017)](https://doi.org/10.1140/epjds/s13688-017-0107-7) bound the predictability of the
# next place, on data of their own, and [Cuttone et al. (2018)](https://doi.org/10.1140/epjds/s13688-017-0129-1) show how much of what
# is missing are places that are new to the person.
#
# *Novelty.* Whoever only names places of the past misses every new one. *Entropy.* How surprising a sequence of places is on
# average limits how often its next one can be guessed
# ([Song, Qu et al., 2010](https://doi.org/10.1126/science.1177170)). We estimate it from lengths of repetitions, as
# [Kontoyiannis et al. (1998)](https://doi.org/10.1109/18.669425) do. Much can go wrong on the way.
# [Smith et al. (2014)](https://doi.org/10.1109/PerCom.2014.6813948) get a lower limit for GPS traces by asking which places can be
# reached at all from here; [Xu et al. (2019)](https://doi.org/10.1016/j.physa.2019.02.006) warn of logarithms of different bases; and
# [Kulkarni et al. (2019)](https://doi.org/10.3390/e21040432) find models that are better than the limit. Ours sees the order of places
# only, no clock, so a model with a clock may pass it. *Agreement.* Take two past situations of one person that look alike. If their
# next places have the distribution $P$, they agree with probability $\sum_\ell P(\ell)^2$, and the best guess $\max_\ell P(\ell)$
# is fenced in, by an argument that [Cover and Hart (1967)](https://doi.org/10.1109/TIT.1967.1053964) made for nearest neighbours:
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{20.3}
# $$
#
# And in the simulated city there is the *truth*: the simulator can be asked what chances it gave each place. It knows when the next visit
# will be; leave that out, and a little more, and the other end of the fence is found.

# %%
limits = read_results("predictability").rows


def limit(table, data, group, column="value"):
    """One number of predictability.json, exact protocol."""
    rows = limits[(limits.table == table) & (limits.data == data) & (limits.protocol == "exact")]
    return float(rows[rows.group == group][column].iloc[0])


def fences(data):
    """Name -> (low, high) of the best possible Acc@1 (%)."""
    found = {
        f"not new within {text}": (100 - limit("novelty", data, group),) * 2
        for group, text in (("7 days", "seven days"), ("whole past", "the whole past"))
    }
    found["entropy of the visits"] = (limit("entropy", data, "visits"),) * 2
    found["agreement of like situations"] = (
        limit("agreement", data, "finest"),
        limit("agreement", data, "finest", "bound"),
    )
    if data == "city":
        found["the simulator's own chances"] = (
            limit("truth", data, "time unknown"),
            limit("truth", data, "time known"),
        )
    return found


# %%
SHOWN = {
    "PGT": (GENERATED, "--"),
    "kernel": (COPIED, ":"),
    "kernel, last hundred visits": (COPIED, "-"),
    "contextual pointer": (EXTRA, "-"),
}
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True)
for axes, title in zip(panels, ("GeoLife, exact", "city, exact"), strict=True):
    rows = fences(SETS[title]["data"])
    for at, (low, high) in enumerate(rows.values()):
        axes.plot(
            [low, high],
            [at, at],
            color=INK,
            lw=6 if high > low else 0,
            solid_capstyle="butt",
            marker="|",
            ms=12,
            mew=2.5,
        )
    for name, (colour, style) in SHOWN.items():
        axes.axvline(
            results.mean(**SETS[title], **MODELS[name]), color=colour, ls=style, lw=1.8, label=name
        )
    axes.set(title=title, xlabel="Acc@1 (%)")
    axes.grid(axis="y", visible=False)
panels[1].set_yticks(range(len(rows)), list(rows))
panels[1].set_ylim(len(rows) - 0.5, -0.5)
fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
truth = fences("city")["the simulator's own chances"]
ours_there, kernel_there = (
    results.mean(**SETS["city, exact"], **MODELS[name]) for name in ("contextual pointer", "kernel")
)
show(
    fig,
    alt="Limits on the best possible accuracy beside four models, for GeoLife and the city. "
    + " ".join(
        f"{title}: "
        + ", ".join(
            f"{name} {low:.1f}" + (f" to {high:.1f}" if high > low else "")
            for name, (low, high) in fences(SETS[title]["data"]).items()
        )
        + "."
        for title in ("GeoLife, exact", "city, exact")
    ),
    caption="Thick marks: limits on the best possible Acc@1; a bar where the best lies between two ends. Lines: models, means over seeds.",
)

# %% tags=["hide-input"]
geo_fence = fences("geolife")
best_there = results.mean(**EXACT, **MODELS["contextual pointer"])
Markdown(
    f"In the city the best possible score lies between {truth[0]:.1f} and {truth[1]:.1f} %. The contextual pointer has {ours_there:.1f} %: of "
    f"the way from the kernel to the lower end it has gone {100 * (ours_there - kernel_there) / (truth[0] - kernel_there):.0f} %. On GeoLife "
    f"nobody can be asked. Novelty leaves room up to {geo_fence['not new within the whole past'][0]:.1f} %, agreement up to "
    f"{geo_fence['agreement of like situations'][1]:.1f} %, and the contextual pointer is at {best_there:.1f} %. Of what is missing, "
    f"{100 - geo_fence['not new within the whole past'][0]:.1f} points are new places, which no pointer can name. What lies below "
    "them is partly chance: what people themselves did not yet know."
)

# %% [markdown]
# > **Pitfall.** Ceilings are estimates too, and each is one of something else. The entropy's is often quoted as *the* limit of
# > predictability; it is that of models which see nothing but the order of places. In the city it can be held against the truth, and
# > promises far more than anybody can get. Agreement ends a little too low there: its situations look alike, and are not.
#
# ## Summary
#
# - The kernel's cues are relations between a past visit and now. Contents, multiplied, must learn them pair by pair; a table over the
#   relation has all examples at once.
# - A feature is a learned curve over one fact. Features multiply within a reason, reasons add up. The kernel is one point of this family, PGT's
#   pointer with no features another.
# - With the kernel's cues, some more, and a memory, a few thousand numbers lead PGT by far and the kernel clearly; a kernel with the same
#   memory is close behind.
# - An ablation table needs a placebo: a row that cannot matter.
# - The Transformer around it adds nothing that these data can show.
# - Every prediction comes with its reasons, and these are the arithmetic itself.
# - "Where next?" and "where then?" are different questions. Never in one table.
# - In a city whose truth is known, little is left to win at naming known places.
#
# ## Exercises
#
# **Exercise 1** (quick). A visit has log-weights 0, −1 and −3 for three reasons. By what factor does its weight rise if the
# third reason's log-weight becomes 1? And by what factor if all three rise by 1?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
log_weight = torch.tensor([0.0, -1, -3])
third = torch.tensor([0.0, -1, 1]).exp().sum() / log_weight.exp().sum()
every = (log_weight + 1).exp().sum() / log_weight.exp().sum()
check.same(every, math.e, name="all three by 1")
print(f"third alone: {third:.2f}; all three: {every:.2f}")

# %% [markdown]
# **Exercise 2** (medium). The scale of the clock's term in the clock's reason depends on now. Compute its mean over the test windows of the
# city by hour, with the function `scales` above. When does the model trust the clock most?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
by_hour = (
    pd.concat(
        [
            pd.DataFrame(
                {
                    "hour": batch.now_minute.numpy() // 60,
                    "scale": scales(model, batch)[:, list(HISTORY_FEATURES).index("clock"), 2],
                }
            )
            for batch in seen.test.batches(512)
        ]
    )
    .groupby("hour")
    .scale.mean()
)
print(
    f"largest at {by_hour.idxmax()} o'clock ({by_hour.max():.2f}), smallest at {by_hour.idxmin()} ({by_hour.min():.2f})"
)

# %% [markdown]
# **Exercise 3** (medium). How many numbers must a query and a key have to draw the clock? Their product stands in the exponent, so write the
# log-weight as a matrix over the 96 quarters of now and the 96 quarters of a past visit, with the kernel's entries $\log(\beta + \zeta\, e^{-\delta_i/\theta})$. Take each row's
# mean off, which a softmax does not feel. By how much does the best product of vectors with $k$ numbers
# miss it? Do the same for the relation "the same place" among ninety-six places.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
q = torch.arange(96.0) * 15
far = (q[:, None] - q).abs()
relations = {
    "the clock": torch.log(
        kernel.base + kernel.clock * torch.exp(-torch.minimum(far, 1440 - far) / kernel.width)
    ),
    "the same place": torch.eye(96),
}
for name, relation in relations.items():
    relation = relation - relation.mean(1, keepdim=True)
    power = torch.linalg.svdvals(relation) ** 2  # the best product of k numbers keeps the first k
    missed = 1 - power.cumsum(0) / power.sum()
    check.same(missed[-1].abs(), 0.0, name=f"{name}, 96 numbers", atol=1e-5)
    print(f"{name}: {int((missed > 0.1).sum()) + 1} numbers until nine tenths of it are drawn")
# The clock is smooth and needs few. "The same" is not smooth at all: every place wants a direction of its own.

# %% [markdown]
# **Exercise 4** (longer). Take a reason away: lower its log-weights by 30 and score the city's test windows again. Which of the three
# reasons is missed most? Training anew without it would be the fairer question; why?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
for k, name in enumerate(REASONS):
    saved = model.scorer.tables["age"].detach().clone()
    with torch.no_grad():
        model.scorer.tables["age"][:, k] -= 30.0
    left_over = summarize(evaluate(model, seen.test), ["all"])["acc@1"].item()
    with torch.no_grad():
        model.scorer.tables["age"].copy_(saved)
    print(f"without '{name}': {left_over - table['all']['contextual pointer']:+.1f} points")
# The others were trained to be right together with it; trained anew, they could take over a part of its work.

# %% [markdown]
# **Exercise 5** (project). Add a feature of your own: the distance from where the person is to the visit's place, in kilometres. The coordinates
# are in `town.places`. What do you expect, and what do you find?
#
# <details class="solution">
# <summary>Solution 5</summary>
#
# Give `pgt.contextual.features.HISTORY_FEATURES` an entry with knots such as 0, 1, 2, 5, 10 and 20, whose function looks up two tables of coordinates by
# `batch.location` and by the last visit's location. Train the variant "full" with it, with at least three seeds. Expect little:
# the tables already know which visits came after the present place, so near places are favoured for the better reason that
# one goes there from here.
#
# </details>
#
# **Next:** [Open vocabulary and a longer memory](22_open_vocabulary.ipynb), for places that training has never seen.
