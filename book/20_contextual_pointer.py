# %% [markdown]
# # Contextual pointer
#
# What if attention did not have to find out what to compare, because we hand it the comparisons?
#
# *You will be able to* turn a fact about a past visit into a learned curve; build a pointer from a few dozen numbers that
# can be a hand-made rule and learn on from there; and read from each prediction what spoke for it. *You need* [The
# pointer](07_pointer.ipynb) and the kernel of [Baselines](04_baselines.ipynb). *It takes* twenty minutes to read and less
# than a minute to run.
#
# > **In one sentence.** Tell a pointer how each past visit relates to *now*, and 81 numbers learn what each relation is
# > worth.

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
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, MUTED, show
from wherenext.ground import ground, located
from wherenext.results import read_results
from wherenext.walkthrough import story

from pgt import maps, plots
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.look import look
from pgt.visits import around_the_clock
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
train, test = data.train, data.test
V = data.vocabulary.n_locations
network, _ = load_model(shipped("city"))  # PGT, trained on this town
kernel = ContextKernel().fit(train).choose(data.valid)  # its five numbers

# %% [markdown]
# On GeoLife the kernel of [chapter 4](04_baselines.ipynb), a rule with five numbers, beats the Transformer of this book by
# {{ gap:.0f }} points of Acc@1 (with the five seeds of this chapter). That chapter guessed why. The kernel is *given* two
# comparisons: of the hour, and of the place before (did the person *come from here*?). The network gets hours and places, and
# has to discover that comparing them is useful.
#
# ## A relation is not a property
#
# One past visit will go with us through this chapter. It is of the person whom Part II followed. They are at work, at Sage
# & Jolly Instruments, and about to leave: the end of this visit is *now*. A few days ago they went from here to The Red Grill.
# What speaks for going there again? We look at three facts:


# %%
def facts(batch):
    """Three facts (B, L): visits back, came from here, minutes apart."""
    here = batch.location.gather(1, batch.length[:, None] - 1)  # (B, 1)
    before = torch.roll(batch.location, 1, dims=1)
    before[:, 0] = 0  # the window does not say
    age = (batch.position_from_end - 1).clamp(min=0)
    apart = around_the_clock(batch.start_minute, batch.now_minute[:, None])
    return {"age": age, "from_here": (before == here) * 1, "apart": apart}


# %%
i = story(test)
one = test.batch([i])
past = test.visits_of(i)
place = town.places.set_index("location_id").name
where = past.location_id.map(place).to_list()
visit = where.index("The Red Grill")
age, from_here, apart = (f[0, visit].item() for f in facts(one).values())
then, now = past.started_at.iloc[visit], past.finished_at.iloc[-1]
print(f"began {then:%A %H:%M}, now it is {now:%A %H:%M}")
print(f"visits back: {age}, came from here: {from_here}, apart: {apart} min")

# %% [markdown]
# Each fact is a **relation** between the visit and now. PGT is given the first, by its position bias
# ([chapter 12](12_position_bias.ipynb)). The other two it has to find. Its pointer multiplies a query made from now with a
# key made from the visit. The query knows that it is 14:37. The key knows that the visit began at 13:36. Neither knows that
# the two are close. Training has to arrange the vectors so that close times have large products.
#
# And each of 96 quarters of an hour is to be scored with each of 96, while "how many quarters apart" has 49 values.
#
# ## One visit, by hand
#
# So hand relations to the pointer. The kernel shows how to use them. By equation (4.4) it gives a visit the weight *fading* ×
# (*base* + *came from here* + *hour*). Multiply out the bracket, and there are three products. Each is a **reason** to go
# there again:
#
# - *any visit*: its strength, the number `base`, times the fading $\alpha^{\text{age}}$, where $\alpha$ is the `decay` and
#   the age counts visits back;
# - *same route*: the fading, if the visit came from here, and else 0; the strength is `same`, which is 1;
# - *same hour*: the strength `clock`, times the fading, times $e^{-\delta/\theta}$, where $\delta$ is the minutes apart and
#   $\theta$ the `width`.
#
# What are they for The Red Grill? A fact that does not matter to a reason has the factor 1.

# %%
NAMES = ["any visit", "same route", "same hour"]
strengths = np.array([kernel.base, kernel.same, kernel.clock])
headings = [f"{age} visits back", "came from here", f"{apart} minutes apart"]
near = np.exp(-apart / kernel.width)
factors = [[kernel.decay**age] * 3, [1, from_here, 1], [1, 1, near]]
by_hand = pd.DataFrame({"strength": strengths}, NAMES)
by_hand[headings] = np.transpose(factors)
by_hand["weight"] = by_hand.prod(axis=1)
its, total = by_hand.weight.sum(), kernel.weights(one).sum()
print(f"its weight {its:.2f}, of the whole week's {total:.2f}")
by_hand.round(3)

# %% [markdown]
# Multiply along a row: the product is the reason's weight. *Same route* has most. Had they come from elsewhere, its middle
# factor would be 0 and it would be silent. Then add up the last column: this is the weight of the visit. Divided by the weight
# of the whole week, it is the visit's share of the attention.
#
# **Within a reason, factors multiply: all facts must agree. Between reasons, weights add up: one good reason is enough.**
#
# ## Curves in place of formulas
#
# The kernel's factors follow formulas. Now each reason learns a factor of its own for every fact. To stay positive, a factor
# is learned as its logarithm, and since $\log ab = \log a + \log b$, we add where we multiplied.
#
# This logarithm is read from a **curve**. It has a learned value at each of a few **knots**, and is straight between
# them. The minutes apart, for instance, have knots at 60 and at 90. Our 61 minutes lie a thirtieth of the way from one to the
# other, so the curve has there 29 thirtieths of the value at 60, and one thirtieth of the value at 90. For a fact $x$
# between the knots $k$ and $k'$, with the values $v$ and $v'$:
#
# $$
# \operatorname{curve}(x) = (1 - t)\, v + t\, v', \qquad t = \frac{x - k}{k' - k} . \tag{20.1}
# $$

# %%
HOURS = [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12]
KNOTS = {
    "age": torch.tensor([0.0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100]),
    "from_here": torch.tensor([0.0, 1]),
    "apart": 60 * torch.tensor(HOURS),  # minutes
}


# %%
def curve(table, knots, fact):
    """(K, R) values at knots, for R reasons -> (B, L, R) at the facts."""
    fact = fact.to(table.dtype)
    low = torch.searchsorted(knots, fact, right=True) - 1
    low = low.clamp(0, len(knots) - 2)  # the knot below
    t = (fact - knots[low]) / (knots[low + 1] - knots[low])
    t = t.clamp(0, 1)[..., None]
    return (1 - t) * table[low] + t * table[low + 1]


# %% [markdown]
# Each reason $r$ gets a curve for every fact $f$. The exponential of their sum is the product again. With $w_i$ for the weight
# of visit $i$, and $a_i$ for its share,
#
# $$
# w_i = \sum_r \exp\Big( \sum_f \operatorname{curve}_{r,f}(x_{i,f}) \Big),
# \qquad a_i = \frac{w_i}{\sum_j w_j} . \tag{20.2}
# $$
#
# A curve has a number at every knot: 3 reasons times $14 + 2 + 11$ knots make 81. The model:


# %%
class Reasons(nn.Module):
    """A few reasons, with a curve for each fact."""

    def __init__(self, names=("age", "from_here", "apart"), reasons=3):
        super().__init__()
        first = {n: 0.1 * torch.randn(len(KNOTS[n]), reasons) for n in names}
        self.tables = nn.ParameterDict(first)

    def reasons(self, batch):
        """(B, L, R) shares; over all visits and reasons they sum to 1."""
        fact = facts(batch)
        total = 0
        for name, table in self.tables.items():
            total = total + curve(table, KNOTS[name], fact[name])
        total = total.masked_fill(batch.padding[..., None], -torch.inf)
        # exp, divided by the sum over visits and reasons: (20.2)
        return total.flatten(1).softmax(1).view(total.shape)


# %% [markdown]
# Pointing is to add up, over the visits to a place and over the reasons.


# %%
class ReasonPointer(Reasons):
    def scores(self, batch):
        """(B, V) probability of each place: add up the visits to it."""
        weight = self.reasons(batch).sum(-1)  # (B, L)
        empty = torch.zeros(len(batch), V)
        return empty.scatter_add(1, batch.location, weight)


# %% [markdown]
# Can such tables be the kernel? Its factors fall exponentially with the age and the minutes, so their logarithms are straight
# lines. We write them into the tables. The strengths could stand in any table; we add them to that of age.

# %%
NEVER = -30.0  # in place of log 0 = -inf, whose gradient is not a number
ROUTE, HOUR = 1, 2  # two of the reasons, as columns of each table


def like_kernel(pointer):
    age, from_here, apart = (pointer.tables[n].data for n in KNOTS)
    fading = KNOTS["age"] * np.log(kernel.decay)
    age[:] = fading[:, None] + torch.tensor(np.log(strengths))
    from_here[:] = 0
    from_here[0, ROUTE] = NEVER  # at knot 0, "no", this reason is silent
    apart[:] = 0
    apart[:, HOUR] = -KNOTS["apart"] / kernel.width
    return pointer


# %%
untrained = like_kernel(ReasonPointer())
every = train.batch(np.arange(len(train)))  # all windows in one batch
with torch.no_grad():
    vote = kernel.scores(every).clamp(min=0)  # -inf: not in the window
    ours = untrained.scores(every)
differ = (ours - vote / vote.sum(1, keepdim=True)).abs().max()
print(f"tables and kernel differ by at most {differ:.0e}")

# %% [markdown]
# ## Let it learn
#
# The kernel's numbers came from a grid. Now give the tables *random* values, and train. Where a window does not show the
# target, such a pointer gives it probability 0. We leave these windows out of the training, not of the test.


# %%
def learn(pointer, seed=1, epochs=4):
    lessons = train.subset(train.in_window)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(pointer.parameters(), lr=0.02)
    for _ in range(epochs):
        for batch in lessons.batches(64, shuffle=rng):
            p = pointer.scores(batch).gather(1, batch.target[:, None])
            optimizer.zero_grad()
            (-p.log().mean()).backward()
            optimizer.step()
    return pointer


# %%
@torch.no_grad()
def accuracy(model):
    """Acc@1 in percent on the test windows."""
    hits = [model.scores(b).argmax(1) == b.target for b in test.batches(512)]
    return 100 * float(torch.cat(hits).float().mean())


# %% [markdown]
# **Change this.** The table below ends with three pointers: two with all facts, and in the last row one of your own, at first
# without the minutes apart. Switch this fact on, or *came from here* off, and watch that row.

# %%
came_from_here = True  # @param {type:"boolean"}
minutes_apart = False  # @param {type:"boolean"}

# %% tags=["hide-input"]
# @title Table: three facts, the kernel, PGT, and yours
torch.manual_seed(1)
learned = learn(ReasonPointer())
chosen = ["age"] + ["from_here"] * came_from_here + ["apart"] * minutes_apart
yours = learn(ReasonPointer(chosen))
trained = learn(like_kernel(ReasonPointer()))  # from the kernel's values
models = {
    "PGT": network,
    "kernel": kernel,
    "three facts, from random values": learned,
    "three facts, from the kernel's values": trained,
    "yours: " + ", ".join(chosen): yours,
}
own = [learned, trained, yours]
sizes = [sum(map(torch.numel, one.parameters())) for one in (network, *own)]
sizes.insert(1, 5)  # the kernel's
table = {"numbers": sizes, "Acc@1, %": [accuracy(m) for m in models.values()]}
pd.DataFrame(table, index=list(models)).round(1)

# %% [markdown]
# The 81 numbers that began at random do as well as the kernel in this town, and better than this PGT with its
# {{ sizes[0]:,}}. Without the minutes apart, in the last row, it is a little less. (One seed each.)
#
# ## What did the tables learn?
#
# Reasons that began at random have no names. So look at the tables that started as the kernel, before training (`untrained`)
# and after (`trained`).

# %% tags=["hide-input"]
# @title Figure 20.1: what each reason makes of each fact
fig, grid = plt.subplots(3, 3, figsize=(7.4, 3.9), sharex="col", sharey=True)
for r, row in enumerate(grid):
    row[0].set_ylabel(NAMES[r])
    for ax, (fact, knots) in zip(row, KNOTS.items(), strict=True):
        ax.plot(knots, untrained.tables[fact].data[:, r], "--")
        ax.plot(knots, trained.tables[fact].data[:, r], "o-", ms=3)
left, middle, right = grid[2]
left.set(xlabel="visits back", xscale="symlog", xticks=[0, 1, 10, 100])
left.set(xticklabels=[0, 1, 10, 100], ylim=(-4, 1.4))
middle.set(xlabel="came from here", xticks=[0, 1], xticklabels=["no", "yes"])
right.set(xlabel="hours apart", xticks=[0, 180, 360, 720])
right.set_xticklabels([0, 3, 6, 12])
grid[1][1].text(0, -3.7, "no: near −30")
grid[0][2].legend(["untrained: the kernel", "trained"])
show(
    fig,
    alt="Nine panels, a row for each reason and a column for each fact. The "
    "trained curves keep the shapes of the kernel's, with bumps.",
    caption="A row is a reason, a column a fact; upwards, the logarithm of "
    "the factor. Lines that leave a panel go on falling.",
)

# %% [markdown]
# The values of a row are added, so what one panel gains another can lose. Compare the knots of a panel with each other, not
# with zero. (The dashed lines bend in the left column because its axis is stretched. Small zigzags may be noise.)
#
# The left column says what the kernel, which fades evenly, cannot. Zero visits back is the visit where the person *is*. In
# all rows it lies below its neighbour to the right: the next visit is seldom there again. One visit back is where they were
# just before. In the first two rows it lies above all others: people often go back.
#
# **After training the reasons still deserve their names, but they are no longer pure.** *Same route* is silent for visits
# that did not come from here, and *same hour* falls with the hours. But *same hour* now prefers visits that came from here
# (last row, middle panel), and *same route* the present hour (middle row, right panel).
#
# ## Every weight has a name
#
# What does that do to The Red Grill? Here are its factors again, as by hand, but from the trained tables. The strength is now
# part of the first.

# %% tags=["hide-input"]
# @title Table: the factors of The Red Grill after training
after = pd.DataFrame(index=NAMES)
for heading, n in zip(headings, KNOTS, strict=True):
    logs = curve(trained.tables[n].data, KNOTS[n], facts(one)[n])  # (1, L, 3)
    after[heading] = logs[0, visit].exp()
after["share of its weight"] = after.prod(axis=1) / after.prod(axis=1).sum()
after["share by hand"] = by_hand.weight / by_hand.weight.sum()
after.round(2)

# %% [markdown]
# By hand, *same hour* gave least, and *same route* more than half. Now the two give about as much. **A name says where a
# reason began; its row says what it is now.**
#
# Now all visits, on the map. Choose PGT's pointer or the tables at the top right. Which disc grows most?

# %%
seen = look(network, test, i)  # with PGT's attention
reason = trained.reasons(one)[0].detach()  # (L, 3)
maps.attention_map(
    located(seen.visits, town),
    truth=located(seen.target, town),
    heads={"the tables": reason.sum(1).numpy()},
    ground=ground(town.base, names=False),
    caption="The same week under two models. Click a disc for its name.",
)

# %% [markdown]
# The disc of The Red Grill. We add up the visits to a place, and split what the tables give it by reason.

# %%
by = pd.DataFrame(reason, where, NAMES).groupby(level=0).sum()
by = by.loc[by.sum(axis=1).sort_values().index]
by_pgt = seen.visits.attention.groupby(where).sum()[by.index]
by_tables = by.sum(axis=1)

# %% tags=["hide-input"]
# @title Figure 20.2: places by reason
look_of = {"color": [MUTED, COPIED, EXTRA], "width": 0.8}
ax = by.plot.barh(stacked=True, figsize=(7.2, 2.4), **look_of)
ax.plot(by_pgt, range(len(by)), "D", color=INK, label="PGT's pointer")
ax.legend()
ax.set(xlabel="share of the attention", ylabel="")
show(
    ax.figure,
    alt="Places by share, each bar split into three reasons. 46 Alder Walk "
    "leads, by far with PGT's pointer; with the tables The Red Grill is "
    "close behind, by the same route and at the same hour.",
    caption="Where next? Bars: the tables, by reason. Diamonds: PGT's "
    "pointer, as on the map.",
)

# %% [markdown]
# They went to 46 Alder Walk. Both pointers put it first, but PGT's is much surer. It gives it
# {{ by_pgt["46 Alder Walk"]:.2f }}. The tables give it {{ by_tables["46 Alder Walk"]:.2f }}, and The Red Grill almost as much.
# Both are right here, and PGT is surer; one window proves nothing. In return the tables account for every share, and not by an
# explanation added afterwards: the coloured parts *are* the terms of the sum.
#
# ## On real people
#
# Now GeoLife, with the package's `ContextualPointer`, one fact after the other. Nothing of PGT is in it, not even
# embeddings. These pointers remember a hundred visits instead of seven days. The fair rival is a kernel with the same
# hundred.

# %% tags=["hide-input"]
# @title Figure 20.3: fact by fact, on GeoLife
steps = {
    "PGT, seven days": ("pgt", "full"),
    "kernel, seven days": ("kernel", "full"),
    "kernel, last hundred visits": ("kernel_memory", "memory_100"),
    "pointer: visits back": ("contextual", "count_only"),
    "+ came from here": ("contextual", "and_before"),
    "+ minutes apart": ("contextual", "and_clock"),
    "the whole pointer": ("contextual", "full"),
}
results = read_results("beyond")
asked = {"data": "geolife", "protocol": "exact", "target_time": "unknown"}
keys = "model", "variant"
runs = {k: asked | dict(zip(keys, v, strict=True)) for k, v in steps.items()}
means = {name: results.mean(**run) for name, run in runs.items()}
spans = {name: results.interval(**run) for name, run in runs.items()}
pgt_7, kernel_7, _, counting, before, clocked, _ = means.values()
gap, route, hour = kernel_7 - pgt_7, before - counting, clocked - before
_, _, rule, _, _, three, whole = runs.values()
level, level_low, level_high = results.difference(three, rule)
more, more_low, more_high = results.difference(whole, three)
facts_in = list(means)[3:]  # the pointers
ax = plots.bars(means, intervals=spans, highlight=facts_in)
ax.set(xlabel="Acc@1, GeoLife (%)")
show(
    ax.figure,
    alt="Bars of Acc@1 on GeoLife: PGT lowest but for a pointer that only "
    "counts; the pointer rises with each fact and ends above all. Most "
    "intervals overlap with those of their neighbours.",
    caption="Blue: the contextual pointer, as facts come in. Means over five "
    "seeds (chapter 4 has ten of PGT), exact protocol. Lines: 95 % intervals "
    "over people and, where there are several, seeds. All bars have the "
    "same people, so compare two by the interval of their difference, as "
    "below.",
)

# %% [markdown]
# *Came from here* brings {{ route:.0f }} points, *minutes apart* another {{ hour:.0f }}. With the
# kernel's three facts the pointer cannot be told from the kernel: {{ level:.1f }} points ahead, 95 % interval
# {{ level_low:.2f }} to {{ level_high:.2f }}.
#
# The last bar, the package's whole pointer, has eleven further facts (*features*, in the package), such as the weekday; curves
# times a factor that depends on now, so that *minutes apart* may say much in the morning and little at night; and *summaries*
# of older visits, which exercise 2 of the [next chapter](21_memory.ipynb) builds.
#
# Together they add {{ more:.1f }} points ({{ more_low:.1f }} to {{ more_high:.1f }}). The
# [evidence](evidence_newcomers.ipynb) takes the facts away one at a time.
#
# ## What to remember
#
# - The kernel's cues are relations between a past visit and now. A product of query and key has to find them; a curve over the
#   relation is given them.
# - Factors multiply within a reason; reasons add up. With the kernel's values in its tables the pointer *is* the kernel.
# - Given the comparisons, the pointer is level with the kernel. On GeoLife *came from here* brings {{ route:.0f }} points and *minutes apart*
#   {{ hour:.0f }}, nearly all that is gained over a pointer that knows only the visits back.
# - If the tables start as a rule whose parts have names, every prediction comes with its reasons. Training blurs the
#   names.
#
# ## Exercises
#
# **Exercise 1** (quick). A visit has log-weights 0, −1 and −3 for three reasons. By what factor does its weight rise if the
# third reason's log-weight becomes 1? And by what factor if all three rise by 1?

# %% tags=["try"]
third, every_one = ..., ...
check.exercise("20.1", [third, every_one])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
weight = torch.tensor([0.0, -1, -3]).exp().sum()
third = torch.tensor([0.0, -1, 1]).exp().sum() / weight
every_one = np.e  # each part of the sum is multiplied by it
check.exercise("20.1", [float(third), every_one])

# %% [markdown]
# **Exercise 2** (medium). Take a reason away from `trained`: lower its column of one table by 30, and score again (put the
# column back afterwards). How much is each of the three missed, and which is missed least? Why would training anew without
# it be fairer?

# %% tags=["try"]
least = ...  # "any visit", "same route" or "same hour"
check.exercise("20.2", least)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
before_it, missed = accuracy(trained), {}
for k, name in enumerate(NAMES):
    trained.tables["age"].data[:, k] += NEVER
    missed[name] = before_it - accuracy(trained)
    print(f"without '{name}': {-missed[name]:+.1f} points")
    trained.tables["age"].data[:, k] -= NEVER
check.exercise("20.2", min(missed, key=missed.get))
# The others were trained beside it; trained anew they could do its work.

# %% [markdown]
# **Exercise 3** (quick, on paper). A curve for the minutes apart has knots at 60, 90 and 120, with the values −1, −2 and −4.
# What does it say at 61 minutes, and at 105? How many times as much does this reason give a visit at 61 minutes as one at 105,
# if all other facts are the same?

# %% tags=["try"]
near, far, times = ..., ..., ...
check.exercise("20.3", [near, far, times])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
near, far = np.interp([61, 105], [60, 90, 120], [-1, -2, -4])
check.exercise("20.3", [near, far, np.exp(near - far)])
# Sums of curves are logarithms: a difference of two is a factor of seven.

# %% [markdown]
# **Next:** [Memory](21_memory.ipynb). These pointers remember more than PGT. Are they ahead because of it?
