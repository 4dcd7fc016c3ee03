# %% [markdown]
# # Contextual pointer
#
# What if attention did not have to find out what to compare, because we hand it the comparisons?
#
# *You will be able to* build a pointer that is given what to look at instead of having to find it, and say
# for each prediction what spoke for it. *You need* [The pointer](07_pointer.ipynb) and the kernel of
# [Baselines](04_baselines.ipynb). *It takes* thirty minutes to read and less than a minute to run; a GPU
# makes no difference.

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
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt
from wherenext import city, disagreement, pointer_variants
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, MUTED, show
from wherenext.results import read_results

from pgt.baselines import ContextKernel, fit_baseline
from pgt.checkpoint import load_model, shipped
from pgt.history import with_history
from pgt.look import story
from pgt.metrics import evaluate, summarize
from pgt.train import fit
from pgt.visits import around_the_clock
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
searched = PGT | {"variant": "tuned"}
after = read_results("geolife_exact").difference(KERNEL, searched)
Markdown(
    "A rule with five numbers, the context kernel of "
    "[chapter 4](04_baselines.ipynb), beats the Transformer of this book on "
    f"GeoLife: by {gap:.1f} points of Acc@1 when the very place must be "
    f"named, 95 % interval [{low:.1f}, {high:.1f}] (five seeds of PGT, with "
    "the settings that its design documents name). With settings tuned on "
    "validation windows, those of the published protocol, PGT is "
    f"{after[0]:.1f} points behind [{after[1]:.1f}, {after[2]:.1f}]. "
    "(Intervals on GeoLife are somewhat too narrow, "
    "[chapter 23](23_real_cities.ipynb).) Chapter 4 guessed why. "
    "The kernel is given two comparisons, of the hour and of the place "
    "before. The network gets hours and places, and has to discover that "
    "comparing them is useful."
)

# %% [markdown]
# Is that the reason? And if it is, can we give the network what the kernel has, and more?
#
# ## A relation is not a property
#
# The kernel looks at *relations*. "It began at about this hour" is not a fact about a past visit alone. It is a
# fact about a past visit *and now*. So is "it came after a visit to where I am".
#
# PGT's pointer multiplies two vectors: a query made from now, and a key made from the visit. The query knows that it
# is 17:15. The key knows that the visit began at 17:00. Neither knows that these two times are close. Their product can
# express it, but only after training has arranged the vectors: close times must have large products, and each place must
# have a large product with itself and small ones with all others. How many examples does training have for that? Count how often each pair of *now* and *a past visit* occurs in the
# training windows of the simulated city.

# %%
week = with_history(data)  # the same windows; visits know what came before
train = week.train.batch(np.arange(len(week.train)))
inside = ~train.padding
# (B, 1) where the person is, and (B, L) minutes apart around the clock
here = train.location.gather(1, train.length[:, None] - 1)
apart = around_the_clock(train.start_minute, train.now_minute[:, None])

quarter = train.now_minute[:, None] // 15 * 96 + train.start_minute // 15
pair = here * data.vocabulary.n_locations + train.before
same = (train.before == here).long()
known = data.vocabulary.n_known
counted = {  # what a table would be over: its cells, and where examples fall
    "this quarter of an hour, that quarter": (96 * 96, quarter[inside]),
    "place now, place before the visit": (
        known**2,
        pair[inside & (train.before > 0)],
    ),
    "quarters of an hour apart": (49, apart[inside] // 15),
    "same place before: yes or no": (2, same[inside]),
}

# %% tags=["hide-input"]
examples = int(inside.sum())
rows = {}
for name, (n, cells) in counted.items():
    used = int((torch.bincount(cells) > 0).sum())
    rows[name] = {
        "numbers to learn": f"{n:,}",
        "examples for each": f"{examples / n:,.1f}",
        "without any": f"{n - used:,}",
    }
pd.DataFrame(rows).T

# %% [markdown]
# The last column counts the numbers that have no example at all. (One visit is in many of these pairs, since windows
# overlap. So the examples are not independent, and the true shortage is worse.) The first two rows are pairs of
# properties. Vectors need fewer numbers than a table of all pairs, but they learn from the same examples. The last two
# rows keep one relation of each pair. They add nothing but what we put in by hand: that 14:00 and 14:15 are
# neighbours, and that a place is the same as itself.
#
# A query and a key *can* draw the clock; exercise 3 counts how many numbers they need for it. But they have to find
# it first.
#
# ## One feature
#
# So let us hand relations to the pointer. A **feature** looks at one fact about a past visit, mostly in
# relation to now, such as the minutes between its time of day and the present one. Training decides what the
# fact is worth. Nobody has to guess the shape of that curve: we use a few **knots** on the axis of the
# fact, each with a learned value, and straight lines in between.
#
# $$
# \operatorname{curve}(\text{fact}) &= (1 - \text{share}) \cdot \text{value at the knot below}
#   + \text{share} \cdot \text{value at the knot above} \\
# \text{share} &= \frac{\text{fact} - \text{knot below}}{\text{knot above} - \text{knot below}} \tag{20.1}
# $$
#
# Beyond the last knot the curve stays level.


# %%
def curve(table, knots, fact):
    """(K,) values at (K,) knots -> the value at each fact, linear between."""
    low = torch.searchsorted(knots, fact, right=True) - 1
    low = low.clamp(0, len(knots) - 2)
    share = (fact - knots[low]) / (knots[low + 1] - knots[low])
    share = share.clamp(0, 1)
    return (1 - share) * table[low] + share * table[low + 1]


# %% [markdown]
# Can such a curve be the kernel's clock? Take the kernel with its five numbers, chosen on the validation windows of
# the city. Its clock is $e^{-\delta_i / \theta}$, with the minutes $\delta_i$ and the width $\theta$. The logarithm
# of that is $-\delta_i / \theta$, so we give each knot this value.

# %%
HOURS = [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12]
KNOTS = 60 * torch.tensor(HOURS)  # minutes
minutes = torch.arange(0.0, 721)
kernel = fit_baseline("kernel", data.train, data.valid)
line = curve(-KNOTS / kernel.width, KNOTS, minutes)
assert torch.allclose(line, -minutes / kernel.width, atol=1e-5)

# %% tags=["hide-input"]
numbers_of_kernel = {
    "fading with each visit": kernel.decay,
    "any visit": kernel.base,
    "same place before": kernel.same,
    "clock": kernel.clock,
    "width of the clock (minutes)": kernel.width,
}
pd.Series(numbers_of_kernel, name="the kernel").map("{:g}".format).to_frame()

# %% tags=["hide-input"]
fig, bottom = plt.subplots(figsize=(7.0, 3.0))
drawn = torch.randn(len(KNOTS), generator=torch.Generator().manual_seed(3))
any_values = drawn * 2 - 5
zigzag = curve(any_values, KNOTS, minutes)
bottom.plot(minutes / 60, line, color=COPIED, label="the kernel's clock")
bottom.plot(
    minutes / 60, zigzag, color=EXTRA, ls="--", label="any other values"
)
bottom.plot(KNOTS / 60, -KNOTS / kernel.width, "o", color=COPIED)
bottom.plot(KNOTS / 60, any_values, "s", color=EXTRA)
bottom.set(
    xlabel="between the visit's time of day and now (hours)",
    ylabel="log-weight (nats)",
    xlim=(0, 12),
)
bottom.set_xticks(range(0, 13, 2))
bottom.legend(loc="lower left")
show(
    fig,
    alt=f"Two curves through values at {len(KNOTS)} knots, which are close "
    "together near zero and far apart towards twelve hours: a straight "
    "falling line, and a zigzag through arbitrary values.",
    caption="Values at the knots (marks) and the curves that they draw. The "
    "kernel's clock is one of them.",
)

# %% [markdown]
# The straight line is no accident. The kernel's clock falls exponentially with the minutes apart, and the logarithm
# of an exponential is a straight line. The same holds for its fading with age. So tables of log-weights can be the
# kernel exactly, whatever its numbers. Training starts from there and may bend the line.
#
# ## Reasons
#
# Now take the kernel's three cues together. By equation (4.4), it gives a visit the weight *fading* × (*base* + *place
# before* + *clock*). Multiply it out, and the weight is a sum of three products: *fading* × *base*, *fading* × *place
# before*, and *fading* × *clock*. So every visit has three ways to earn weight. Call each a **reason** (the package
# counts them as `n_components`):
#
# $$
# w_i = \sum_{\text{reasons}} \exp\Big( \sum_{\text{features}} \operatorname{curve}(\text{fact}_i) \Big),
# \qquad a_i = \frac{w_i}{\sum_j w_j} . \tag{20.2}
# $$
#
# Here $w_i$ is the weight of visit $i$, and $a_i$ its share of all weights. Every reason has a curve of its own for each
# feature. Read the formula as logic. *Within* a reason features add up as logarithms, so they multiply: all of them must
# agree. *Between* reasons weights add up: one good reason is enough.
#
# The kernel is three reasons made of three features: age, place before and clock. Here they are, written with tensors.


# %%
def facts(batch):
    """Three (B, L): visits back, same place before, minutes apart."""
    here = batch.location.gather(1, batch.length[:, None] - 1)  # (B, 1)
    before = torch.roll(batch.location, 1, dims=1)
    before[:, 0] = 0  # the window does not say
    apart = around_the_clock(batch.start_minute, batch.now_minute[:, None])
    age = (batch.position_from_end - 1).clamp(min=0)
    return age.double(), before == here, apart.double()


def kernel_reasons(batch):
    """(B, L, 3) log-weight of each visit for each of the kernel's reasons."""
    age, after_here, apart = facts(batch)
    fade = age * math.log(kernel.decay)  # (B, L)
    any_visit = math.log(kernel.base) + fade
    never = torch.where(after_here, 0.0, -30.0)
    came_after = math.log(kernel.same) + fade + never
    this_hour = math.log(kernel.clock) + fade - apart / kernel.width
    return torch.stack([any_visit, came_after, this_hour], dim=-1)


# %%
def weights(log_weights, padding):
    """(B, L, M) log-weights -> weights that sum to one in each window."""
    log_weights = log_weights.masked_fill(padding[..., None], -torch.inf)
    return log_weights.flatten(1).softmax(1).view(log_weights.shape)


test = week.test.batch(np.arange(len(week.test)))
ours = weights(kernel_reasons(test), test.padding)  # (W, L, 3)
votes = kernel.weights(test)  # (W, L) of the package
votes = (votes / votes.sum(1, keepdim=True)).double()
assert torch.allclose(ours.sum(-1), votes, atol=1e-6)
print("Three reasons are the kernel, in", len(test), "windows.")

# %% [markdown]
# > **Pitfall.** The logarithm of a weight of zero is $-\infty$, and its gradient is not a number. The table
# > of *place before* says −30 instead. That is still a number, far below all others, and so far down that
# > training leaves it there: the second reason goes on to speak only for visits that came after the present place.
#
# Now every weight comes with a name. Here is the window that Part II followed.

# %% tags=["hide-input"]
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


def stacked(axes, labels, parts, flat=False):
    """Bars made of one part for each reason; parts is (n, 3)."""
    at, base = np.arange(len(labels)), np.zeros(len(labels))
    for (name, (colour, hatch)), part in zip(
        REASONS.items(), np.asarray(parts).T, strict=True
    ):
        look = {"color": colour, "hatch": hatch, "edgecolor": "white"}
        if flat:
            axes.barh(at, part, 0.8, left=base, lw=0, label=name, **look)
        else:
            axes.bar(at, part, 0.8, bottom=base, lw=0, label=name, **look)
        base = base + part
    axes.grid(axis="y" if flat else "x", visible=False)


# %% tags=["hide-input"]
length, goal = int(test.length[i]), int(test.target[i])
past = test.location[i, :length]
ticks = [
    ("✓ " if place == goal else "") + name
    for place, name in zip(past.tolist(), place_names(past), strict=True)
]
fig, axes = plt.subplots(figsize=(7.0, 4.2))
stacked(axes, ticks, ours[i, :length])
axes.set_xticks(range(length), ticks, rotation=55, ha="right", fontsize=8)
axes.set(
    ylabel="weight", xlabel="visits, oldest first; ✓ the true next place"
)
fig.legend(loc="outside upper center", ncols=3, fontsize=9)
sums = ours[i].sum(0)
strongest = list(REASONS)[int(sums.argmax())]
show(
    fig,
    alt=f"Stacked bars for the {length} visits of one window, one colour for "
    f"each of three reasons. Most weight has the reason '{strongest}', with "
    f"{float(sums.max()):.2f} of one.",
    caption="The kernel's weights in the window of Part II, taken apart by "
    "reason.",
)

# %% [markdown]
# ## Between two models
#
# In [the package](https://where-next-book.github.io/where-next/book/api.html) this is `pgt.contextual.ContextualPointer`. It can be all of PGT, with the logarithm of the weight $w_i$
# from equation (20.2) added to its pointer's score of visit $i$; or the features alone. We can check the two ends of this family. Without
# features it must be PGT, so we load the trained weights that the package ships. Without PGT's own score, and with
# the kernel's tables, it must be the kernel.

# %% tags=["hide-input"]
from pgt.contextual import ContextualConfig, ContextualPointer, like_kernel

network = load_model(shipped("city"))
network = network[0] if isinstance(network, tuple) else network
none = {"features": (), "recent": network.config.max_len}
bare = ContextualConfig(**vars(network.config) | none)
without_terms = ContextualPointer(bare).eval()
without_terms.load_state_dict(network.state_dict())  # parts of the same names
some = week.test.batch(np.arange(0, len(week.test), 4))
with torch.no_grad():
    mine, theirs = without_terms(some).log_probs, network(some).log_probs
assert torch.allclose(mine, theirs, atol=1e-5)
print(f"No features: PGT, with its {network.n_parameters():,} numbers.")

# %%
sizes = data.vocabulary.n_locations, data.vocabulary.n_users
parts = {"encoder": False, "content": False}
parts |= {"interaction": 0, "scaled": False}
parts |= {"features": ("age", "before", "clock"), "n_components": 3}
alone = ContextualConfig(*sizes, without=("generator", "gate"), **parts)
as_kernel = ContextualPointer(alone).double().eval()
like_kernel(as_kernel.scorer, kernel)
with torch.no_grad():
    probability = as_kernel(some).log_probs.exp()
score = kernel.scores(some).double().clamp(min=0)  # (B, V)
score /= score.sum(1, keepdim=True)
assert torch.allclose(probability, score, atol=1e-6)
parts, _ = as_kernel.scorer.parts(some)  # (B, L, 3)
mine, real = kernel_reasons(some), ~some.padding
assert torch.allclose(parts.exp()[real], mine.exp()[real], atol=1e-12)

# %% tags=["hide-input"]
knots = " + ".join(str(len(t)) for t in as_kernel.scorer.tables.values())
print(
    "The kernel's tables: the kernel, with "
    f"({knots}) knots × 3 reasons = {as_kernel.n_parameters()} numbers."
)

# %% [markdown]
# One model, two ends, and everything between them can be trained.
#
# ## Let it learn
#
# The kernel's numbers were chosen from a grid. Now give the same three features tables with *random* values. (*Place
# before* has four knots, since here it also asks for the place before that one.) The three reasons mean nothing yet. Gradient descent sees the same seven-day windows of the city.

# %%
three = pointer_variants.VARIANTS["and_clock"]  # age, place before, clock
three = replace(three, memory=0, older=0, from_kernel=False)
scores = {"kernel": kernel, "PGT as shipped": network}
learned = []
for seed in (1, 2):
    model, training = pointer_variants.build(three, data, seed)
    training = replace(training, max_epochs=4)
    fit(model, week.train, week.valid, training, progress=False)
    learned.append(model)
    scores[f"tables from random values, seed {seed}"] = model
own = {
    name: summarize(evaluate(one, week.test), ["all"])["acc@1"].item()
    for name, one in scores.items()
}
pd.Series(own, name="Acc@1 on the city (%)").round(1).to_frame()

# %% tags=["hide-input"]
Markdown(
    f"**{learned[0].n_parameters()} numbers** that know nothing of our "
    f"kernel reach {np.mean(list(own.values())[2:]):.1f} %. The kernel has "
    f"{own['kernel']:.1f} %, and PGT, with {network.n_parameters():,} "
    f"numbers, {own['PGT as shipped']:.1f} %."
)

# %% [markdown]
# What did they learn? The three reasons of a random start have no names, since each of them may have taken any role.
# But we can compare the whole weight of a visit as one fact changes and the others are held.


# %%
def vote(model, **change):
    """Weight of a visit: age 3, another place before, three hours apart.

    One of these facts may be changed: each is a row of its table.
    """
    held = {"age": 3, "before": 0, "clock": 6} | change
    tables = model.scorer.tables
    total = sum(tables[name].detach()[row] for name, row in held.items())
    return total.exp().sum(-1)


# %% tags=["hide-input"]
AGES = torch.tensor([0.0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32])  # first knots
rows, ages = torch.arange(len(KNOTS)), torch.arange(len(AGES))
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4))
clock = kernel.base + kernel.clock * torch.exp(-minutes / kernel.width)
fade = kernel.decay ** (AGES - 3)
left.plot(minutes / 60, clock / clock[180], color=COPIED, label="kernel")
right.plot(AGES, fade, color=COPIED, label="kernel")
for n, model in enumerate(learned):
    by_clock, by_age = vote(model, clock=rows), vote(model, age=ages)
    style = {"color": EXTRA, "ls": ("--", ":")[n], "marker": "so"[n], "ms": 4}
    style["label"] = f"learned, seed {n + 1}"
    left.plot(KNOTS / 60, by_clock / by_clock[6], **style)
    right.plot(AGES, by_age / by_age[3], **style)
left.set(
    xlabel="time of day apart (hours)",
    ylabel="weight, 1 = three hours apart",
    xlim=(0, 12),
    ylim=(0, None),
)
right.set(
    xlabel="age (visits back)", ylabel="weight, 1 = age 3", ylim=(0, None)
)
left.set_xticks(range(0, 13, 2))
left.legend()
by_age, by_clock = vote(learned[0], age=ages), vote(learned[0], clock=rows)
first, second = (float(by_age[k] / by_age[3]) for k in (0, 1))
at_once = float(by_clock[0] / by_clock[6])
show(
    fig,
    alt="Two panels. Weight over the distance in time of day: kernel and "
    "learned curves fall; at the same minute the learned weight is "
    f"{at_once:.1f} times that at three hours. Weight over age: the kernel "
    "fades evenly, the learned curves give the last visit "
    f"{first:.1f} and the one before it {second:.1f} times the weight of age "
    "3.",
    caption="What the tables learned, from random values, beside what the "
    "kernel was given.",
)

# %% [markdown]
# Look at the clock first. Nobody gave the tables the rule that near is better. They found that a visit within a
# quarter of an hour counts more; farther away the curves are nearly flat, with jags that are probably noise. (Both
# curves have the same jags, because both saw the same windows.)
#
# Then look at the age. The kernel fades evenly from the last visit back; a power of one number can do nothing else. The
# learned tables hardly fade within a week, but they treat two visits differently from all others. Age 0 is the place where
# the person is *now*. The next visit is seldom there again, so its weight is low. Age 1 is where they came from. People
# often go back there, so its weight is high.
#
# ## One cue after the other
#
# Now to real people. On GeoLife we move the kernel's cues into the pointer, one at a time, and then go on to cues
# that the kernel never had. Nothing else of PGT is there: no embeddings, no encoder, no generator, no gate. These
# models see the last hundred visits instead of seven days; so we also give the kernel a hundred. The next section
# explains the features that the figure names.

# %%
LADDER = {
    "count_only": "age",
    "and_before": "+ the place before",
    "and_clock": "+ the clock",
    "and_day": "+ weekday, days, ahead",
    "and_stays": "+ stay, stayed, left, gap",
    "no_scale": "+ here, count, unknown, older",
    "full": "+ scaled by now",
}
CONTEXTUAL = EXACT | {"model": "contextual", "target_time": "unknown"}
steps = pd.Series(
    {name: results.mean(**CONTEXTUAL, variant=name) for name in LADDER}
)
others = {
    "kernel, last hundred visits": EXACT | {"model": "kernel_memory"},
    "kernel, seven days": EXACT | KERNEL,
    "PGT, seven days": EXACT | PGT,
}
others = {name: results.mean(**which) for name, which in others.items()}

# %% tags=["hide-input"]
spread = [results.spread(**CONTEXTUAL, variant=name) for name in LADDER]
fig, axes = plt.subplots(figsize=(7.0, 4.0))
at = np.arange(len(steps))
axes.errorbar(
    steps,
    at,
    xerr=spread,
    fmt="o-",
    color=EXTRA,
    capsize=3,
    label="contextual pointer",
)
styles = ((COPIED, "-"), (COPIED, ":"), (GENERATED, "--"))
for (name, value), (colour, style) in zip(
    others.items(), styles, strict=True
):
    axes.axvline(value, color=colour, ls=style, lw=1.6, label=name)
for y, value in zip(at, steps, strict=True):
    axes.annotate(
        f"{value:.1f}",
        (value, y),
        (9, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )
axes.set_xlim(None, steps.max() + 1.4)
axes.set_yticks(at, list(LADDER.values()))
axes.set(xlabel="Acc@1 on GeoLife, exact protocol (%)")
axes.set_ylim(len(steps) - 0.5, -0.6)
axes.grid(axis="y", visible=False)
fig.legend(loc="outside upper center", ncols=2, fontsize=9)
rungs = zip(LADDER.values(), steps, strict=True)
show(
    fig,
    alt="A ladder of accuracies as cues are added: "
    + ", ".join(f"{n} {v:.1f}" for n, v in rungs)
    + "; for comparison "
    + ", ".join(f"{n} {v:.1f}" for n, v in others.items())
    + " per cent.",
    caption="Acc@1 as cues enter the pointer. Dots: mean over five seeds, "
    "whiskers: their standard deviation. In the last two rows the model also "
    "knows places that were last visited more than a hundred visits ago.",
)

# %% tags=["hide-input"]
rise = steps.diff()
Markdown(
    "Age alone, which counts visits by how far back they are, gets "
    f"{steps['count_only']:.1f} %. The place before brings "
    f"{rise['and_before']:+.1f} points, the clock {rise['and_clock']:+.1f}. "
    "With the kernel's own three cues, in curves of its own, the pointer is "
    f"then at {steps['and_clock']:.1f} %, the kernel with the same memory at "
    f"{others['kernel, last hundred visits']:.1f} %. All the rest together "
    "brings another "
    f"{steps['full'] - steps['and_clock']:+.1f}, of which the scale (the "
    f"next section says what it is) has {rise['full']:+.1f}."
)

# %% [markdown]
# We chose the order of the steps, and the gains depend on it: a cue that comes early also gets the credit for what it
# shares with later ones. [Chapter 21](21_memory_and_ceilings.ipynb) takes the features away instead, one at a time.
#
# ## More features, a scale, a memory
#
# What else could speak for a past visit? Anything that compares it with now, or says how much it matters. These are
# the package's features and the number of their knots. In the table *it* means the past visit. *Listed* visits are the last hundred, and a
# *summary* stands for an older place (see *The memory*, below).

# %%
from pgt.contextual import HISTORY_FEATURES, NOW

# %% tags=["hide-input"]
plainer = {
    "ahead": "minutes from now to its time of day: a visit at 9:00 is 60 "
    "ahead at 8:00 and 1,380 ahead at 10:00",
    "weekday": "whether its weekday and today's are the same, or both "
    "working days, or both weekend days",
    "before": "whether the person came to it from the place where they are "
    "now, and whether the place before that one is the same too",
    "left": "minutes between now and the time of day at which the person set "
    "out for it",
    "stayed": "how alike the stay before it and the last stay are, log2 of "
    "their ratio",
    "gap": "minutes on the way to it, log2(minutes + 5)",
    "here": "whether it is to the place where the person is now, or was "
    "before that",
    "unknown": 'whether its place is "unknown" (all new places, in the '
    "published protocol), or the present place is, or both, or neither",
}
table = {
    name: {
        "looks at": plainer.get(name, term.about),
        "knots": len(term.knots),
    }
    for name, term in HISTORY_FEATURES.items()
}
with pd.option_context("display.max_colwidth", None):
    display(pd.DataFrame(table).T)

# %% [markdown]
# Two more parts, and the model is complete.
#
# **The scale.** Late at night the clock may say little, in the morning much. So each curve in equation (20.2) is
# multiplied by a number that depends on now: 1 plus the output of a small network. The network gets the hour, the weekday,
# how long the last visit was, and how many visits are remembered. Its last layer starts at zero, so all scales start at 1.
# Most of the model's numbers are in this network.
#
# **The memory.** A pointer that sees seven days cannot point at last month's dentist. Here each question comes with the
# **memory** of the last hundred visits, however long ago they were. Of places that are only found further back, at most a
# hundred have a *summary* each: the latest visit there, and how many visits it stands for. So the model's work does not grow with a
# person's history.
#
# Training is that of [chapter 10](10_training.ipynb), and takes seconds. Unlike the small models above, this one starts
# from the kernel's tables. The losses look high, because the model cannot name a target that is not among the remembered
# visits. Such a target counts as one of probability $10^{-10}$, a fixed and large loss, whatever the curves are.

# %%
full = pointer_variants.VARIANTS["full"]
seen = pointer_variants.windows(data, full)
model, training = pointer_variants.build(full, data, seed=42)
log = fit(model, seen.train, seen.valid, training, progress=False)
shown = log.table()[["train_loss", "valid_loss", "valid_acc@1"]].round(2)
shown.rename(columns=lambda name: name.replace("_", " "))

# %% [markdown]
# For comparison, PGT and the kernel once more, and a kernel with the same hundred visits, its five numbers chosen on
# validation. Each is scored on all test windows of the city, on those whose target was visited in the last seven days, and on the
# others.

# %%
longer = with_history(data, memory=100)
chosen = results.header["runs"]["city/kernel_memory-memory_100-unknown-None"]
chosen = {name: chosen[name] for name in ContextKernel.GRID}
kernel_too = ContextKernel(**chosen).fit(longer.train)
found = {
    "PGT as shipped": evaluate(network, data.test),
    "kernel": evaluate(kernel, data.test),
    "kernel, last hundred visits": evaluate(kernel_too, longer.test),
    "contextual pointer": evaluate(model, seen.test),
}
GROUPS = ["all", "in_window", "not_in_window"]
table = pd.DataFrame(
    {
        name: summarize(ranks, GROUPS).set_index("group")["acc@1"]
        for name, ranks in found.items()
    }
).T

# %% tags=["hide-input"]
HEADS = {
    "all": "all windows",
    "in_window": "in the seven days",
    "not_in_window": "not in them",
}
sizes = [network.n_parameters(), 5, 5, model.n_parameters()]
shown = table.round(1).rename(columns=HEADS)
shown.insert(0, "numbers", [f"{n:,}" for n in sizes])
shown.rename_axis(index="Acc@1 (%), by where the target is", columns=None)

# %% tags=["hide-input"]
fewer = network.n_parameters() / model.n_parameters()
ahead = table["all"]["contextual pointer"]
ahead -= table["all"]["kernel, last hundred visits"]
Markdown(
    f"The contextual pointer has {fewer:.0f} times fewer numbers than PGT. "
    f"In the city it is {ahead:.1f} points above the kernel with a hundred "
    "visits. All this is one training run; "
    "[chapter 21](21_memory_and_ceilings.ipynb) has the leads over five "
    "seeds, with intervals."
)

# %% [markdown]
# ## Look inside again
#
# Chapters [11](11_gate.ipynb) to [13](13_attention_on_maps.ipynb) looked for meaning in a gate and in attention
# weights, and found it only in part. What is there to see now?
#
# **The gate is gone.** There is no generator to hand over to. The memory now reaches places outside the seven days.
# The last column of the table above shows that it wins little there. PGT's generator won even less.
#
# **The attention has words.** Here is the window of Part II again, by place: first for the kernel, then for the
# contextual pointer.


# %%
@torch.no_grad()
def by_reason(model, batch):
    """(B, L, 3) weight of each visit for each reason; sums to one."""
    return weights(model.scorer.parts(batch)[0], batch.padding)


def by_place(weight, batch, most=7):
    """The places with the most weight: their ids, (n, 3) weights."""
    table = pd.DataFrame(weight[0].numpy())
    table = table.groupby(batch.location[0].numpy()).sum()
    table = table.drop(index=0, errors="ignore")  # padding
    best = table.sum(axis=1).sort_values(ascending=False).index[:most]
    return best, table.loc[best].to_numpy()


one, short = seen.test.batch([i]), week.test.batch([i])
old_weights = weights(kernel_reasons(short), short.padding)
panels = {
    "kernel, seven days": by_place(old_weights, short),
    "contextual pointer, with its memory": by_place(
        by_reason(model, one), one
    ),
}

# %% tags=["hide-input"]
fig, both = plt.subplots(2, 1, figsize=(7.0, 5.4), sharex=True)
for axes, (title, (ids, bars)) in zip(both, panels.items(), strict=True):
    labels = [
        ("✓ " if place == goal else "") + name
        for place, name in zip(ids, place_names(ids), strict=True)
    ]
    stacked(axes, labels, bars, flat=True)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_title(title)
both[0].legend(loc="lower right")
both[1].set_xlabel("probability of the place")
likeliest = "; ".join(
    f"{title}: {place_names(ids[:1])[0]}"
    for title, (ids, _) in panels.items()
)
show(
    fig,
    alt="Stacked bars of the likeliest places by reason, for two models. "
    f"First place: {likeliest}.",
    caption="Why each place? The same question answered by two models that "
    "share the form of equation (20.2). ✓ marks the truth.",
)

# %% [markdown]
# The colours are not an explanation that was added afterwards. They are the terms of the sum that was computed. We
# started from the kernel's tables, so the reasons keep their names: the second can still speak only for visits that
# came after the present place.
#
# Do the reasons take turns during the day?

# %%
days = []
for batch in seen.test.batches(512):
    share = by_reason(model, batch).sum(1)  # (B, 3)
    table_of = pd.DataFrame(share.numpy(), columns=list(REASONS))
    days.append(table_of.assign(hour=batch.now_minute.numpy() // 60))
days = pd.concat(days)
enough = days.hour.value_counts().sort_index() >= 20
by_hour = days.groupby("hour").mean()[enough]

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 3.6))
stacked(axes, by_hour.index, by_hour)
axes.set_xticks(range(len(by_hour)), by_hour.index, fontsize=9)
axes.set(xlabel="hour of the day", ylabel="share of the weight", ylim=(0, 1))
fig.legend(
    *axes.get_legend_handles_labels(),
    loc="outside upper center",
    ncols=3,
    fontsize=9,
)
hourly = by_hour["it began at this hour"]
show(
    fig,
    alt="Stacked shares of the three reasons by hour of the day. The clock's "
    f"reason has its largest share, {hourly.max():.2f}, at {hourly.idxmax()} "
    f"o'clock and its smallest, {hourly.min():.2f}, at {hourly.idxmin()}.",
    caption="Which reason speaks when: mean share of the weight in the test "
    "windows of the city, by the hour at which the last visit ended. Hours "
    "with fewer than twenty windows are left out.",
)

# %% [markdown]
# They do. We can also look at the curves of two features. Each is drawn relative to its first knot, and multiplied by
# the mean of its scale over the test windows.


# %%
@torch.no_grad()
def scales(model, batch):
    """(B, T, 3) the scale of each feature in each reason."""
    known = model.scorer.now.items()
    now = [table(NOW[name].of(batch)) for name, table in known]
    scale = 1 + model.scorer.scale(torch.cat(now, dim=-1))
    return scale.view(len(batch), len(HISTORY_FEATURES), 3)


every = torch.cat([scales(model, batch) for batch in seen.test.batches(512)])
scale = dict(zip(HISTORY_FEATURES, every.mean(0), strict=True))  # (3,) each

# %% tags=["hide-input"]
AXES = {
    "clock": ("time of day apart (minutes)", 720),
    "stay": ("how long it lasted, log2(minutes + 15)", 11),
}
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.2))
for axes, (name, (label, upto)) in zip(panels, AXES.items(), strict=True):
    at = torch.tensor(HISTORY_FEATURES[name].knots)
    values = model.scorer.tables[name].detach() * scale[name]  # (K, 3)
    values = values - values[0]
    for k, (reason, (colour, _)) in enumerate(REASONS.items()):
        axes.plot(
            at,
            values[:, k],
            color=colour,
            ls=("-", "--", ":")[k],
            marker=".",
            label=reason,
        )
    drawn = values[at <= upto]
    axes.set(title=name, xlabel=label, ylabel="log-weight (nats)")
    axes.set_xlim(float(at[0]), upto)
    axes.set_ylim(float(drawn.min()) - 0.25, float(drawn.max()) + 0.15)
fig.legend(
    *axes.get_legend_handles_labels(),
    loc="outside upper center",
    ncols=3,
    fontsize=8,
)
of_clock = model.scorer.tables["clock"].detach() * scale["clock"]
span = of_clock.max(0).values - of_clock.min(0).values
span = dict(zip(REASONS, span.tolist(), strict=True))
show(
    fig,
    alt="Two panels of learned curves, three lines each, one a reason. In "
    "the panel of the clock the reason 'it began at this hour' spans "
    f"{span['it began at this hour']:.1f} nats, the other two "
    f"{span['any visit']:.1f} and "
    f"{span['it came after the place where I am']:.1f}.",
    caption="What two of the tables have learned in the city.",
)

# %% [markdown]
# Look at the clock's panel first. The reason that started with a clock depends on it far more than the others do, and
# its line is nearly as straight as it was at the start. In the panel *stay*, the same reason
# trusts a night or a working day more than a short stop. Nobody put that in.
#
# Last, compare what three models look at. By what factor does the weight of a visit rise when it shows a cue, with
# the other cues held fixed? A straight-line fit to the logarithms of the weights answers that, visit by visit within
# each window.

# %% tags=["hide-input"]
_, opened = disagreement.visit_weights(network, kernel, data.test)
parts = []
lengths = torch.from_numpy(data.test.lengths)
with torch.no_grad():
    for batch in seen.test.batches(512):
        shown = ~batch.padding & (batch.age < lengths[batch.index][:, None])
        shown &= batch.stands_for == 0
        columns = {
            "window": batch.index[:, None].expand_as(batch.age),
            "age": batch.age + 1,
            "contextual": model(batch).pointer_attention,
        }
        parts.append(
            pd.DataFrame({k: v[shown].numpy() for k, v in columns.items()})
        )
same_visits = {"on": ["window", "age"], "validate": "one_to_one"}
opened = opened.merge(pd.concat(parts), **same_visits)
LABELS = {
    "same_before": "came after the place where the person is now",
    "same_hour": "began within an hour of now",
    "log2_age": "twice as many visits ago",
    "log2_count": "its place visited twice as often",
    "explained": "share of the differences that the fit explains",
}
MODELS = {
    "PGT's attention": "pgt",
    "kernel's vote": "kernel",
    "contextual pointer": "contextual",
}
told = {k: disagreement.factors(opened, name) for k, name in MODELS.items()}
pd.DataFrame(told).loc[list(LABELS)].rename(index=LABELS).round(2)

# %% [markdown]
# That fits the guess that we began with. PGT sees hours and places, but its attention hardly uses the two
# comparisons; the contextual pointer uses both. The pointer also weighs facts that are not in these rows. So the four
# cues explain less of its weights than of the kernel's, which use hardly anything else.
#
# ## What to remember
#
# - The kernel's cues are relations between a past visit and now. A network that multiplies properties must learn them pair
#   by pair; a curve over the relation learns from all examples at once.
# - A feature is a learned curve over one fact. Features multiply within a reason, and reasons add up. With no features the
#   model is PGT; with the kernel's tables it is the kernel.
# - On GeoLife the place before and the clock bring most of the gain over age; what the kernel never had adds little.
# - Every prediction comes with its reasons, and these are the arithmetic itself.
#
# ## Exercises
#
# **Exercise 1** (quick). A visit has log-weights 0, −1 and −3 for three reasons. By what factor does its weight rise if the
# third reason's log-weight becomes 1? And by what factor if all three rise by 1?

# %% tags=["try"]
third, every = ..., ...
check.exercise("20.1", [third, every])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
log_weight = torch.tensor([0.0, -1, -3])
weight = log_weight.exp().sum()
third = torch.tensor([0.0, -1, 1]).exp().sum() / weight
every = (log_weight + 1).exp().sum() / weight
check.exercise("20.1", [float(third), float(every)])
print(f"third alone: {third:.2f}; all three: {every:.2f}")

# %% [markdown]
# **Exercise 2** (medium). The scale of the clock in the clock's reason depends on now. Compute its mean over the test
# windows of the city by hour, with the function `scales` above. When does the model trust the clock most?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
clock = list(HISTORY_FEATURES).index("clock")
parts = []
for batch in seen.test.batches(512):
    hour = batch.now_minute.numpy() // 60
    scale = scales(model, batch)[:, clock, 2]
    parts.append(pd.DataFrame({"hour": hour, "scale": scale}))
by_hour = pd.concat(parts).groupby("hour").scale.mean()
print(
    f"largest at {by_hour.idxmax()} o'clock ({by_hour.max():.2f}), "
    f"smallest at {by_hour.idxmin()} ({by_hour.min():.2f})"
)

# %% [markdown]
# **Exercise 3** (medium). How many numbers must a query and a key have to express closeness in time of day? The pointer
# exponentiates their product, so the product must be the log-weight. Write that as a matrix: a row for each of the 96 quarters of an hour that now can be, a
# column for each that a past visit can be. Its entries are the kernel's,
# $\log(\text{base} + \text{clock} \cdot e^{-\text{apart} / \text{width}})$. Subtract each row's mean, which changes
# no softmax. By how much does the best product of vectors with $k$ numbers miss this matrix? Do the same for the
# relation "the same place" among ninety-six places.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
q = torch.arange(96.0) * 15
far = around_the_clock(q[:, None], q)
by_hour = kernel.clock * torch.exp(-far / kernel.width)
relations = {
    "the clock": torch.log(kernel.base + by_hour),
    "the same place": torch.eye(96),
}
for name, relation in relations.items():
    relation = relation - relation.mean(1, keepdim=True)
    # the best product of k numbers keeps the first k
    power = torch.linalg.svdvals(relation) ** 2
    missed = 1 - power.cumsum(0) / power.sum()
    check.same(missed[-1].abs(), 0.0, name=f"{name}, 96 numbers", atol=1e-5)
    enough = int((missed > 0.1).sum()) + 1
    print(f"{name}: {enough} numbers until nine tenths of it are drawn")
# The clock is smooth and needs few. "The same" is not smooth at all: every
# place wants a direction of its own.

# %% [markdown]
# **Exercise 4** (longer). Take a reason away: lower its log-weights by 30 and score the city's test windows again. How much
# is each of the three missed? Training anew without it would be the fairer question; why?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
scorer, whole = model.scorer, table["all"]["contextual pointer"]
parts = scorer.parts
for k, name in enumerate(REASONS):

    def lowered(batch, k=k):
        each, together = parts(batch)  # (B, L, 3), (B, L)
        return each - 30.0 * (torch.arange(3) == k), together

    scorer.parts = lowered
    left_over = summarize(evaluate(model, seen.test), ["all"])["acc@1"].item()
    del scorer.parts  # now it is the old one again
    print(f"without '{name}': {left_over - whole:+.1f} points")
# No reason is missed much: the others still weigh the same visits. They were
# trained to be right together with it; trained anew, they could do even more.

# %% [markdown]
# **Next:** [Memory and ceilings](21_memory_and_ceilings.ipynb), which asks what each part is worth.
