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
# > **In one sentence.** Tell a pointer how each past visit relates to *now*, and {{ n_numbers }} numbers learn what each
# > relation is worth.

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

from pgt import maps, plots
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.look import look, story
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
# {{ gap:.0f }} points of Acc@1. That chapter guessed why. The kernel is *given* two comparisons: of the hour, and of the
# place before (did the person *come from here*?). The network gets hours and places, and has to discover that comparing them
# is useful.
#
# ## A relation is not a property
#
# *Now* is when the last visit ends. "It began at about this hour" is a fact about a past visit *and now*. PGT's pointer
# multiplies a query made from now with a key made from the visit. The query knows that it is 17:15. The key knows that the
# visit began at 17:00. Neither knows that these times are close. Training has to arrange the vectors so that close times
# have large products.
#
# How many examples does it have for that? An **example** is a past visit in a training window. Here are three facts that
# relate it to now:


# %%
def facts(batch):
    """Three facts (B, L): visits back, came from here, minutes apart."""
    here = batch.location.gather(1, batch.length[:, None] - 1)  # (B, 1)
    before = torch.roll(batch.location, 1, dims=1)
    before[:, 0] = 0  # the window does not say
    age = (batch.position_from_end - 1).clamp(min=0)
    apart = around_the_clock(batch.start_minute, batch.now_minute[:, None])
    return {"age": age, "from_here": (before == here) * 1, "clock": apart}


# %% tags=["hide-input"]
# @title Table: examples for each number (makes `every`, used below)
every = train.batch(np.arange(len(train)))  # all windows in one batch
real = ~every.padding
now, then = every.now_minute[:, None] // 15, every.start_minute // 15
fact = facts(every)
cells = {  # what a table would be over: its cells, where examples fall
    "this quarter of an hour, that quarter": (96 * 96, now * 96 + then),
    "quarters of an hour apart, 0 to 48": (49, fact["clock"] // 15),
    "came from here: yes or no": (2, fact["from_here"]),
}
rows = {
    name: [n, len(every.location[real]) // n, n - len(cell[real].unique())]
    for name, (n, cell) in cells.items()
}
heads = ["numbers to learn", "mean examples each", "without examples"]
pd.DataFrame(rows, index=heads).T

# %% [markdown]
# The first row is what a product has to learn: a score for each pair of quarters of an hour, 96 now times 96 then. PGT keeps
# no such table, but its products must score every pair, and many pairs never occur.
#
# The second row keeps only how far the two are apart, the third only whether the person came from here. There each number has
# thousands of examples, on average.
#
# ## One fact, one curve
#
# So hand relations to the pointer. A **feature** looks at one fact about a past visit, such as the minutes between its time
# of day and now. Training decides what the fact is worth, by a curve with a few **knots**. Each knot has a learned value,
# and between them the curve is straight. So eleven knots do for the second row of the table.
#
# $$
# \begin{aligned}
# \operatorname{curve}(\text{fact}) ={}& (1 - \text{share}) \cdot \text{value at the knot below} \\
#   &+ \text{share} \cdot \text{value at the knot above}, \\
# \text{share} ={}& \frac{\text{fact} - \text{knot below}}{\text{knot above} - \text{knot below}}
# \end{aligned} \tag{20.1}
# $$

# %%
HOURS = [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12]
KNOTS = {
    "age": torch.tensor([0.0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100]),
    "from_here": torch.tensor([0.0, 1]),
    "clock": 60 * torch.tensor(HOURS),  # minutes
}


def curve(table, knots, fact):
    """(K, R) values at (K,) knots -> (B, L, R) values at the facts.

    A curve for each of R reasons; for now think of R as 1.
    """
    fact = fact.to(table.dtype)
    low = torch.searchsorted(knots, fact, right=True) - 1
    low = low.clamp(0, len(knots) - 2)  # the knot below
    share = (fact - knots[low]) / (knots[low + 1] - knots[low])
    share = share.clamp(0, 1)[..., None]
    return (1 - share) * table[low] + share * table[low + 1]


# %% [markdown]
# ## Reasons
#
# By equation (4.4) the kernel gives a visit the weight *fading* × (*base* + *came from here* + *clock*). Multiply it out: a
# sum of three products. So a visit has three ways to earn weight, three **reasons**.
#
# Take one visit, of the person whom Part II followed. It was to The Red Grill, after the place where they are now. What is it
# worth to the kernel? A reason's *strength* is the factor in front: `base`, `same` (which is 1) or `clock`. The fading is
# $\alpha^{\text{age}}$, where $\alpha$ is the `decay` and the age counts visits. The clock is $e^{-\delta/\theta}$, with
# $\delta$ minutes apart and $\theta$ the `width`.

# %%
NAMES = ["any visit", "came from here", "began at this hour"]
strengths = np.array([kernel.base, kernel.same, kernel.clock])
i = story(test)
one = test.batch([i])
place = town.places.set_index("location_id").name
where = test.visits_of(i).location_id.map(place).to_list()
visit = where.index("The Red Grill")
age, from_here, apart = (f[0, visit].item() for f in facts(one).values())
factors = {
    "strength": strengths,
    f"{age} visits back": kernel.decay**age,
    "came from here: yes": [1, from_here, 1],  # no: 0
    f"{apart} minutes apart": [1, 1, np.exp(-apart / kernel.width)],
}
by_hand = pd.DataFrame(factors, NAMES)
by_hand["weight"] = by_hand.prod(axis=1)
print(f"weight of the visit: {by_hand.weight.sum():.2f}")
by_hand.round(2)

# %% [markdown]
# A row's product is the reason's weight. *Came from here* is worth most, and in its row the hour does not matter. But had they
# come from elsewhere, its factor would be 0, and it would be silent.
#
# *Within* a reason features multiply: all must agree. *Between* reasons weights add up: one good reason is enough.
#
# To learn such factors, we write them as logarithms, since the logarithm of a product is a sum. Each reason $r$ gets a curve
# for every feature $f$, and the exponential of their sum is the product again. With $w_i$ for the weight of visit $i$, and
# $a_i$ for its share,
#
# $$
# w_i = \sum_r \exp\Big( \sum_f \operatorname{curve}_{r,f}(\text{fact}_{i,f}) \Big),
# \qquad a_i = \frac{w_i}{\sum_j w_j} . \tag{20.2}
# $$
#
# A curve has a number at every knot: 3 reasons times $14 + 2 + 11$ knots make 81. The whole model:


# %%
class ReasonPointer(nn.Module):
    """Copy a past place for one of a few reasons; a curve for each fact."""

    def __init__(self, names=("age", "from_here", "clock"), reasons=3):
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

    def scores(self, batch):
        """(B, V) probability of each place: add up the visits to it."""
        weight = self.reasons(batch).sum(-1)  # (B, L)
        empty = torch.zeros(len(batch), V)
        return empty.scatter_add(1, batch.location, weight)


# %% [markdown]
# Can such tables reproduce the kernel? By age and minutes, its logarithms are straight lines. We write them into the tables,
# a column for each reason. The strengths could stand in any table; we add them to that of age.

# %%
NEVER = -30.0  # in place of log 0 = -inf, whose gradient is not a number
FROM_HERE, HOUR = 1, 2  # two of the reasons, as columns of each table


def like_kernel(pointer):
    age, from_here, clock = (pointer.tables[n].data for n in KNOTS)
    fading = KNOTS["age"] * np.log(kernel.decay)
    age[:] = fading[:, None] + torch.tensor(np.log(strengths))
    from_here[:] = 0
    from_here[0, FROM_HERE] = NEVER  # at knot 0, "no", this reason is silent
    clock[:] = 0
    clock[:, HOUR] = -KNOTS["clock"] / kernel.width
    return pointer


started = like_kernel(ReasonPointer())
with torch.no_grad():  # `every`: the training windows in one batch
    vote = kernel.scores(every).clamp(min=0)  # -inf: not in the window
    ours = started.scores(every)
differ = (ours - vote / vote.sum(1, keepdim=True)).abs().max()
print(f"tables and kernel differ by at most {differ:.0e}")

# %% [markdown]
# ## Let it learn
#
# The kernel's numbers came from a grid. Now give the tables *random* values, and train. Where a window does not show the
# target, such a pointer gives it probability 0. We leave these windows out of the training, not of the test.


# %% tags=["hide-input"]
# @title Functions: learn(pointer), accuracy(model)
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


@torch.no_grad()
def accuracy(model):
    """Acc@1 in percent on the test windows."""
    hits = [model.scores(b).argmax(1) == b.target for b in test.batches(512)]
    return 100 * float(torch.cat(hits).float().mean())


# %% [markdown]
# **Change this.** The last row will be a pointer of your own, at first without a clock. Switch the clock on, or *came from
# here* off, and watch the last row of the table.

# %%
came_from_here = True  # @param {type:"boolean"}
clock = False  # @param {type:"boolean"}

# %% tags=["hide-input"]
# @title Table: three facts, the kernel, PGT, and yours
torch.manual_seed(1)
learned = learn(ReasonPointer())
names = ["age"] + ["from_here"] * came_from_here + ["clock"] * clock
yours = learn(ReasonPointer(names))
started = learn(like_kernel(ReasonPointer()))  # from the kernel's values
models = {
    "PGT": network,
    "kernel": kernel,
    "three facts, from random values": learned,
    "three facts, from the kernel's values": started,
    "yours: " + ", ".join(names): yours,
}
own = [learned, started, yours]
sizes = [sum(map(torch.numel, one.parameters())) for one in (network, *own)]
sizes.insert(1, 5)  # the kernel's
n_numbers = sizes[2]
table = {"numbers": sizes, "Acc@1, %": [accuracy(m) for m in models.values()]}
pd.DataFrame(table, index=list(models)).round(1)

# %% [markdown]
# {{ n_numbers }} numbers that began at random do as well as the kernel in this town, and better than this PGT with its {{
# sizes[0]:,}}. Without the clock, in the last row, it is a little less. (One seed each.)
#
# ## What did the tables learn?
#
# Reasons that began at random have no names. So look at the tables that started as the kernel.

# %% tags=["hide-input"]
# @title Figure 20.1: what each reason makes of each fact
by_rule = like_kernel(ReasonPointer())
fig, grid = plt.subplots(3, 3, figsize=(7.4, 3.9), sharex="col", sharey=True)
for r, row in enumerate(grid):
    row[0].set_ylabel(NAMES[r].replace(" at", "\nat"))
    for ax, (fact, knots) in zip(row, KNOTS.items(), strict=True):
        y, trained = (m.tables[fact].data[:, r] for m in (by_rule, started))
        ax.plot(knots, y, "--", label="kernel")
        ax.plot(knots, trained, "o-", label="trained", ms=3)
age, from_here, clock = grid[2]
age.set(xlabel="visits back", xscale="symlog", xticks=[0, 1, 10, 100])
age.set(xticklabels=[0, 1, 10, 100], ylim=(-4, 1.4))
from_here.set(xlabel="came from here", xticks=[0, 1], xlim=(-0.2, 1.2))
from_here.set_xticklabels(["no", "yes"])
clock.set(xlabel="hours apart", xticks=[0, 180, 360, 720])
clock.set_xticklabels([0, 3, 6, 12])
grid[1][1].text(-0.1, -3.7, "no: near −30")
grid[0][2].legend()
show(
    fig,
    alt="Nine panels, a row for each reason and a column for each fact. The "
    "trained curves keep the shapes of the kernel's, with bumps; for the "
    "last visit they lie lower.",
    caption="Logarithms of weights. The sum along a row is a visit's "
    "log-weight for this reason. Lines that leave a panel go on falling.",
)

# %% [markdown]
# The dashed lines are what `like_kernel` wrote (bent in the left column, whose axis is stretched), the others what training
# made of them (`started`). Compare the knots of a panel with each other, not with zero: a constant can move along the row.
#
# **The names still hold after training, but they are no longer pure.** *Came from here* is still silent for other visits,
# and *began at this hour* still falls with the hours. But *came from here* now prefers the present hour (middle row, right
# panel), and *began at this hour* prefers visits that came from here (last row, middle panel).
#
# The first column says what the kernel, which fades evenly, cannot. Zero visits back is the visit where the person *is*. In
# all rows it lies below its neighbour to the right: the next visit is seldom there again. One visit back is where they were
# just before. In the first two rows it lies above all others: people often go back.
#
# ## Every weight has a name
#
# Back to the window of The Red Grill. Here is its week under two models: choose PGT's pointer or the tables at the top right.
# Which disc grows most?

# %%
seen = look(network, test, i, top=50)  # with PGT's attention
reason = started.reasons(one)[0].detach()  # (L, 3)
maps.attention_map(
    located(seen.visits, town),
    truth=located(seen.target, town),
    heads={"the tables": reason.sum(1).numpy()},
    ground=ground(town.base, names=False),
    caption="The same week under two models. Click a disc for its name.",
)

# %% [markdown]
# The Red Grill's: PGT's pointer gives it {{ by_pgt["The Red Grill"]:.2f }}, the tables
# {{ by_tables["The Red Grill"]:.2f }}. Why? We split each weight of the tables by reason, and add up the visits to a place.

# %%
by = pd.DataFrame(reason, where, NAMES).groupby(level=0).sum()
by = by.loc[by.sum(axis=1).sort_values().index]

# %% tags=["hide-input"]
# @title Figure 20.2: places by reason
look_of = {"color": [MUTED, COPIED, EXTRA], "width": 0.8}
ax = by.plot.barh(stacked=True, figsize=(7.2, 2.4), **look_of)
by_pgt, by_tables = seen.visits.attention.groupby(where).sum(), by.sum(axis=1)
of_pgt = seen.candidates.set_index("location_id").probability
of_pgt = of_pgt.rename(index=place)[by.index]
ax.plot(of_pgt, range(len(by)), "D", color=INK, label="PGT")
ax.legend()
ax.set(xlabel="probability of the place", ylabel="")
show(
    ax.figure,
    alt="Places by probability, each bar split into three reasons. 46 Alder "
    "Walk leads, as any visit and as one that came from here; The Red Grill "
    "follows, as one that came from here and began at this hour.",
    caption="The story window: why? Bars: the tables. Diamonds: PGT's "
    "mixture, which leaves some for places outside the week.",
)

# %% [markdown]
# Like PGT, these tables guess 46 Alder Walk first, and rightly. But The Red Grill, with its one visit, gets nearly as much.
# By hand, *began at this hour* gave it least. Now this part is as large as *came from here*: as Figure 20.1 shows, this
# reason has learned to prefer visits that came from here. **A name says where a reason began; its row says what it is now.**
#
# Even so, this is no explanation added afterwards: these *are* the terms of the sum.
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
    "+ the clock": ("contextual", "and_clock"),
    "the whole pointer": ("contextual", "full"),
}
results = read_results("beyond")
asked = {"data": "geolife", "protocol": "exact", "target_time": "unknown"}
keys = "model", "variant"
runs = {k: asked | dict(zip(keys, v, strict=True)) for k, v in steps.items()}
means = {name: results.mean(**run) for name, run in runs.items()}
pgt_7, kernel_7, _, counting, before, clocked, _ = means.values()
gap, by_place = kernel_7 - pgt_7, before - counting
by_clock = clocked - before
_, _, rule, _, _, three, whole = runs.values()
level, level_low, level_high = results.difference(three, rule)
more, more_low, more_high = results.difference(whole, three)
ax = plots.bars(means, highlight=list(means)[3:], xlabel="Acc@1, GeoLife (%)")
show(
    ax.figure,
    alt="Bars of Acc@1 on GeoLife: PGT lowest but for a pointer that only "
    "counts; the pointer rises with each fact and ends above all.",
    caption="Blue: the contextual pointer, as facts come in. Means over five "
    "seeds (chapter 4 has ten of PGT), exact protocol.",
)

# %% [markdown]
# *Came from here* brings {{ by_place:.0f }} points, the clock another {{ by_clock:.0f }}. With the kernel's three facts the
# pointer cannot be told from the kernel: {{ level:.1f }} points ahead, 95 % interval {{ level_low:.2f }} to {{
# level_high:.2f }}.
#
# The last bar, the package's whole pointer, has three things more:
#
# - eleven further facts, such as the weekday and the length of the stay;
# - a factor for each feature, computed from now: the clock may say much in the morning and little at night;
# - *summaries* of older visits, which the [next chapter](21_memory_and_ceilings.ipynb) explains.
#
# Together they add {{ more:.1f }} points ({{ more_low:.1f }} to {{ more_high:.1f }}). Which facts are worth more than luck
# is in the [evidence](evidence_newcomers.ipynb).
#
# ## What to remember
#
# - The kernel's cues are relations between a past visit and now. A product of query and key has to find them; a curve over the
#   relation is given them.
# - Features multiply within a reason; reasons add up. With the kernel's tables it *is* the kernel.
# - On GeoLife *came from here* and the clock bring nearly all that is gained over a pointer that knows only the visits back.
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
# **Exercise 2** (medium). Take a reason away from `started`: lower its column of one table by 30, and score again. How much
# is each of the three missed? Why would training anew without it be fairer?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
before_it = accuracy(started)
for k, name in enumerate(NAMES):
    started.tables["age"].data[:, k] += NEVER
    print(f"without '{name}': {accuracy(started) - before_it:+.1f} points")
    started.tables["age"].data[:, k] -= NEVER
# The others were trained beside it; trained anew they could do its work.

# %% [markdown]
# **Exercise 3** (project). Give `facts` and `KNOTS` a fact of your own: whether the visit was on today's weekday. A window
# holds each weekday about once. What do you expect?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
three_facts = facts
KNOTS["weekday"] = torch.tensor([0.0, 1])


def facts(batch):
    today = batch.weekday.gather(1, batch.length[:, None] - 1)
    return three_facts(batch) | {"weekday": (batch.weekday == today) * 1}


four = learn(ReasonPointer(("age", "from_here", "clock", "weekday")))
print(f"{accuracy(four) - accuracy(learned):+.1f} points")
# Nothing is gained: within seven days, the age says nearly as much.

# %% [markdown]
# **Next:** [Memory and ceilings](21_memory_and_ceilings.ipynb). These pointers remember more than PGT. Are they ahead
# because of it?
