# %% [markdown]
# # Memory and ceilings
#
# On GeoLife the contextual pointer, which remembers a hundred visits, leads a rule, the kernel with seven days, by {{ lead:.1f }}
# points. How much of this is a better model, and how much a longer memory? And it is right in {{ right_now:.0f }} % of the targets: could
# any model do much better?
#
# (The *contextual pointer* of [chapter 20](20_contextual_pointer.ipynb) copies by what a past visit has in common with now. The
# *kernel* of [chapter 4](04_baselines.ipynb) is a vote of past visits with five numbers. Both are scored on the windows of the
# *exact* protocol of [chapter 3](03_windows.ipynb), which see nothing but the past.)
#
# *You will be able to* compare models that remember equally much, and estimate how good the best possible guess is. *You
# need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Ablations](14_ablations.ipynb). *It takes* twenty-five
# minutes to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** On GeoLife memory seems to bring more than half of the pointer's lead of {{ lead:.1f }} points over the kernel (with
# > a hundred visits for both, {{ fair:.1f }} are left); of the {{ missed:.0f }} targets in a hundred that it misses, roughly {{ new:.0f }} are new to the
# > person, {{ luck:.0f }} are chance, and {{ could_win:.0f }} could be won.

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
from wherenext import city, pointer_variants
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, MUTED, PAPER, TRUTH, show
from wherenext.ground import ground, located
from wherenext.realism import REFERENCE
from wherenext.results import read_results

from pgt.baselines import ContextKernel
from pgt.maps import places_map
from pgt.metrics import (
    evaluate,
    gains,
    interval,
    percentile_interval,
    resampled_means,
)  # fmt: skip
from pgt.predictor.memory import with_history
from pgt.train import fit
from pgt.windows import prepare

# %%
town = city.load()  # simulated
data = prepare(town.visits, protocol="exact")
results = read_results("beyond")

# %% [markdown]
# ## A longer memory
#
# PGT sees seven days. A model can also be given the last visits of a person, however long ago: its **memory**. Begin with
# the kernel of [chapter 4](04_baselines.ipynb) in our town, and let it remember more and more: `with_history` keeps the targets,
# and gives each window the person's last *n* visits before it, however old.
#
# The kernel's five numbers were chosen once, on validation windows with a hundred visits, and stay the same for all memories. The
# **reach** of a memory is the share of targets that are in it: [chapter 1](01_where_next.ipynb)'s copy ceiling, for any memory.

# %% tags=["hide-input"]
# @title The kernel, with the numbers of a run in the town
chosen = results.header["runs"]["city/kernel_memory-memory_100-unknown-None"]
chosen = {name: chosen[name] for name in ContextKernel.GRID}
kernel = ContextKernel(**chosen).fit(data.train)
fade = chosen["decay"] ** 50  # of a vote, in fifty visits


# %%
def in_sight(windows):
    """(W,) is the target among what a window shows?"""
    found = [
        (b.location == b.target[:, None]).any(1)  # b.target: place numbers
        for b in windows.batches(512)
    ]
    return torch.cat(found).numpy()


# %%
sizes = (10, 20, 50, 100, 200, 400)
# The same targets, each with the last n visits before it.
tests = {n: with_history(data, memory=n).test for n in sizes}
reach = {n: in_sight(test) for n, test in tests.items()}  # (W,) each
ranked = {"kernel": [evaluate(kernel, test) for test in tests.values()]}
hits = [gains(r)["acc@1"] for r in ranked["kernel"]]  # 0 to 1 a window
by_memory = {
    "reach, %": [seen.mean() for seen in reach.values()],
    "kernel, Acc@1 %": [hit.mean() for hit in hits],
    "hits in last ten, %": [(h * reach[10]).mean() for h in hits],
}
by_memory = 100 * pd.DataFrame(by_memory, index=sizes)
by_memory.rename_axis("visits remembered").round(1)

# %% [markdown]
# **Reach is not accuracy**, for this rule at least. The first column goes on rising, the second stops at fifty: more of the right places are in sight,
# and no more of the first guesses are right. (At ten visits a part of the gap may be the five numbers, which were chosen for a
# hundred.) And nearly all hits are at places that the last ten visits show already (third
# column). A person's map shows why. Which discs does a longer memory add?

# %%
past = located(town.visits.query("user_id == 8"), town).tail(400)
past["ago"] = range(len(past), 0, -1)  # 1: the latest visit
latest = past.groupby("location_id").ago.transform("min")
labels = ["in the last 10 visits", "in the last 50", "in the last 400"]
past["found"] = pd.cut(latest, [0, 10, 50, 400], labels=labels)
places_map(
    past, by="found", ground=ground(town.base, names=False),
    alt="Map of one person's places by how far back the latest visit is",
    caption="Places of person 8, by the latest visit. Larger: more visits.",
)

# %% [markdown]
# The last ten visits show the large discs: home and work. A longer memory adds many small ones, most of them visited once or
# twice: seldom a good *first* guess. Up to fifty, older visits also vote for the places of the last ten, and rank *those* better.
# Further back they hardly count: with each later visit a vote is multiplied by {{ chosen["decay"]:.2f }}, in fifty visits by
# {{ fade:.2f }}. With four hundred visits instead of ten, {{ more_reach:.0f }} more targets in a hundred are in reach; of these
# the kernel hits hardly any ({{ far_hits:.1f }} in {{ more_reach:.0f }}).
#
# Is this only the rule? A model that learns may weigh the past as it likes. Train the pointer with a hundred visits,
# and ask it about the same targets with the six memories. [Chapter 20](20_contextual_pointer.ipynb)'s pointer also has *summaries*, one row for each place found only further back.
# We leave them out, as on GeoLife they change the first guess by less than we can measure; exercise 2 builds them.

# %%
memory = 100  # @param {type:"slider", min:10, max:400, step:10}

# %%
# Chapter 20's pointer with all its facts, and without summaries:
variant = pointer_variants.Variant(memory=memory, older=0)
seen = pointer_variants.windows(data, variant)  # what it sees
pointer, training = pointer_variants.build(variant, data, seed=1)
fit(pointer, seen.train, seen.valid, training, progress=False)
ranked["your pointer"] = [evaluate(pointer, t) for t in tests.values()]

# %% [markdown]
# On GeoLife the trainings are done. Each is found in `results` by its settings:

# %%
# "unknown": not told when the next visit begins.
EXACT = {"target_time": "unknown", "protocol": "exact"}
GEOLIFE = EXACT | {"data": "geolife"}
# Seven days, or a hundred visits:
KERNEL_WEEK = {"model": "kernel", "variant": "full"}
KERNEL_100 = {"model": "kernel_memory", "variant": "memory_100"}
POINTER_WEEK = {"model": "contextual", "variant": "window"}
POINTER_100 = {"model": "contextual", "variant": "memory_100"}

# %% tags=["hide-input"]
# @title Figure 21.1: memory and Acc@1
trained = {
    n: GEOLIFE | POINTER_100 | {"variant": f"memory_{n}"} for n in sizes
}
anew = [(results.mean(**t), *results.interval(**t)) for t in trained.values()]
curves = {"the town": {}, "GeoLife": {"pointer, trained anew": anew}}
for name in ("your pointer", "kernel"):
    means = [100 * gains(r)["acc@1"].mean() for r in ranked[name]]
    ends = [interval(r) for r in ranked[name]]  # people
    curves["the town"][name] = np.column_stack([means, ends])
in_week = REFERENCE.real_locations["length"]  # visits, on GeoLife
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.0), sharey=True)
for ax, (name, lines) in zip(panels, curves.items(), strict=True):
    for k, (label, points) in enumerate(lines.items()):
        mean, *band = np.transpose(points)
        colour, marker = [EXTRA, COPIED][k], "os"[k]
        ax.plot(sizes, mean, marker=marker, color=colour, label=label)
        ax.fill_between(sizes, *band, color=colour, alpha=0.15, lw=0)
    if name == "GeoLife":
        week = {"ls": "", "mfc": "none", "ms": 8}  # drawn at its visits
        for model, label, colour, marker in (
            (POINTER_WEEK, "pointer, seven days", EXTRA, "o"),
            (KERNEL_WEEK, "kernel, seven days", COPIED, "s"),
        ):
            mean = results.mean(**model, **GEOLIFE)
            look = week | {"color": colour, "marker": marker}
            ax.plot(in_week, mean, label=label, **look)
        mean = results.mean(**KERNEL_100, **GEOLIFE)
        look = {"color": COPIED, "ls": "", "marker": "s"}
        ax.plot(100, mean, label="kernel, hundred visits", **look)
    ax.legend(loc="lower right", fontsize=8)
    ax.set(xscale="log", xlabel="visits remembered")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.set_title(name, fontsize=10)
panels[0].set_ylabel("Acc@1 (%)")
show(
    fig,
    alt="Acc@1 over the number of remembered visits. In the town, the kernel "
    "and a pointer: both curves rise steeply to fifty visits and are level "
    "after; the pointer's is higher everywhere. On GeoLife a pointer's curve "
    "rises to a hundred visits and is level after; the pointer with seven "
    "days lies on it, the kernel with seven days below, and the kernel with "
    "a hundred visits below, too.",
    caption="Test windows, with 95 % intervals over people (on the right "
    "over seeds, too). Left: one training with `memory` visits, asked with "
    "other memories. Right: for each memory the mean of five trainings with "
    "just this memory. Hollow: seven days, drawn at the mean number of "
    "visits in them. On the right, squares have no band.",
)

# %% tags=["hide-input"]
# @title Numbers: for the text
longer = results.difference(trained[400], trained[100])
below = -longer[1]
more_reach = by_memory["reach, %"][400] - by_memory["reach, %"][10]
far_hits = by_memory.iloc[-1, 1] - by_memory.iloc[-1, 2]

# %% [markdown]
# In the town the pointer is ahead of the kernel at each memory, but after fifty visits its curve is about as flat as the
# kernel's. The bands overlap; but both models answer the same windows, so what counts is the interval of the difference:

# %%
ahead = {}
pairs = zip(ranked["your pointer"], ranked["kernel"], strict=True)
for n, (own, rule) in zip(sizes, pairs, strict=True):
    ends = interval(own, against=rule)  # 95 %, over people
    mean = 100 * (gains(own)["acc@1"].mean() - gains(rule)["acc@1"].mean())
    ahead[n] = {"pointer − kernel": mean, "from": ends[0], "to": ends[1]}
pd.DataFrame(ahead).T.rename_axis("visits remembered").round(1)

# %% [markdown]
# No interval holds zero. They cover people, not seeds: this is one training.
#
# Are 200 and 400 visits strange to a pointer that was trained with a hundred? On GeoLife (right) we trained pointers anew for each
# memory, and that curve is flat after a hundred, too: four hundred visits bring {{ longer[0]:.1f }} points (−{{ below:.1f }} to
# {{ longer[2]:.1f }}). **Beyond a hundred visits a longer memory brings the first guess nothing measurable.** But seven
# days hold only about {{ in_week:.0f }} visits there, where the curve is still steep, and the pointer with seven days (hollow) lies on it. So a part of the lead must be memory.
#
# **Change this.** Set `memory` to 10, run to figure 21.1, and look at its left panel. Does a pointer trained with ten visits gain as
# much from a hundred? (Ours gained less than half of what the one with a hundred gains, probably because it never saw an old visit, and so could not learn what one is worth.) Then set it back to 100.
#
# ## Memory or model?
#
# How much of the pointer's lead on GeoLife is memory? Four numbers tell: each model with seven days, and with a hundred
# visits, each chosen or trained for its own memory. Acc@1 is in percent, the pointer's a mean over five seeds. (Differences are
# taken before rounding.)

# %%
models = {
    "kernel": (KERNEL_WEEK, KERNEL_100),
    "pointer": (POINTER_WEEK, POINTER_100),
}
four = {
    name: [results.mean(**GEOLIFE, **one) for one in pair]
    for name, pair in models.items()
}
pd.DataFrame(four, ["seven days", "hundred visits"]).round(1)

# %% [markdown]
# The kernel with seven days stands at the top left, the pointer with a hundred visits at the bottom right. So the lead is two
# steps, one down and one across. The step down is what *memory* brings, the step across what the *model* brings. Memory can come
# first, or the model.

# %%
(kernel_7, kernel_100), (pointer_7, pointer_100) = four.values()
down_first = [kernel_100 - kernel_7, pointer_100 - kernel_100]
across_first = [pointer_100 - pointer_7, pointer_7 - kernel_7]
ways = ["memory first", "model first"]
steps = pd.DataFrame([down_first, across_first], ways)
steps.columns = ["memory brings", "model brings"]
steps.loc["mean of both"] = steps.mean()
steps["the lead"] = pointer_100 - kernel_7
steps.round(1)

# %% [markdown]
# Whichever comes first, memory brings more, by {{ more:.1f }} points in the mean of both ways. Is it more than luck? The next table
# answers twice: once with every window counted alike, once with every person.


# %% tags=["hide-input"]
# @title Table: 95 % intervals over people (left half: and over seeds)
def by_person(one):
    """Each person's own Acc@1, a mean over seeds."""
    runs = list(results.ranks(**GEOLIFE, **one))
    hits = sum(100 * gains(run)["acc@1"] for run in runs) / len(runs)
    return hits.groupby(runs[0].user_id).mean()


def both_ways(one, other):
    """Difference with its interval, by windows and by people."""
    own = by_person(one) - by_person(other)  # a person each; seeds averaged
    ends = percentile_interval(resampled_means([own], own.index))
    by_window = results.difference(one | GEOLIFE, other | GEOLIFE)
    return [*by_window, own.mean(), *ends]


pairs = {
    "the lead": (POINTER_100, KERNEL_WEEK),
    "model, with a hundred visits": (POINTER_100, KERNEL_100),
    "model, with seven days": (POINTER_WEEK, KERNEL_WEEK),
    "memory minus model": (KERNEL_100, POINTER_WEEK),
}
both = {name: both_ways(*pair) for name, pair in pairs.items()}
both = pd.DataFrame(both).T
lead, (fair, low, high) = both.iloc[0, 0], both.iloc[1, :3]
lead_each, left = both.iloc[:2, 3]
in_seven = both.iloc[2, 3]
more, _, more_high = both.iloc[3, :3]
person_more = both.iloc[3, 3:].tolist()
columns = [("all windows", x) for x in ("points", "from", "to")]
columns += [("each person once", x) for x in ("points", "from", "to")]
both.columns = pd.MultiIndex.from_tuples(columns)
both.round(2) + 0.0  # no zero below zero

# %% [markdown]
# Memory minus model is the kernel with a hundred visits minus the pointer with seven days, {{ kernel_100:.1f }} − {{ pointer_7:.1f }}, or
# {{ more:.1f }} before rounding: write out the two means, and the other two models cancel.
#
# *All windows.* {{ fair:.1f }} points of the lead are left when both have a hundred visits ({{ low:.1f }} to {{ high:.1f }}). Memory minus
# model is {{ more:.1f }}, with an interval from zero (before rounding, just below) to {{ more_high:.1f }}: a borderline case.
#
# *Each person once.* With a hundred visits the model brings {{ left:.1f }}, which may be nothing: what it brings seems to come mostly
# from people with many windows. (With seven days it brings {{ in_seven:.1f }}.) Memory minus model is {{ person_more[0]:.1f }} ({{ person_more[1]:.1f }} to
# {{ person_more[2]:.1f }}), which is clear.
#
# **So our best estimate is that memory brings more than half of the lead.** And part of *model* is what it is told: with the kernel's
# three facts only, the pointer's lead at a hundred visits was half as large in [chapter 20](20_contextual_pointer.ipynb), and could not
# be told from zero.
#
# ## How good can a guess be?
#
# Now to the other question: how good could any model be?
#
# Somebody leaves the office on a Friday at six. Suppose the chances are 0.6 for home, 0.3 for the gym and 0.1 for the
# market. The best guess is home, and it is right six times in ten. On a Tuesday at six this person always goes home.
#
# On real people nobody knows the chances. But we can count how often two such Fridays **agree**, that is, lead to the same
# place. If they are decided independently, both lead home with probability $0.6 \cdot 0.6$, and so on. What does this say about
# the best guess?

# %%
days = {"Friday": [0.6, 0.3, 0.1], "Tuesday": [1, 0, 0]}
chances = pd.DataFrame(days, ["home", "gym", "market"])
agree = (chances**2).sum()  # both home, or both gym, or both market
rows = ["two agree", "best guess is right"]
table = pd.DataFrame([agree, chances.max()], rows)
table["mean of both"] = table.mean(axis=1)
# In the last column, too: the root of the mean.
table.loc["square root of the first row"] = table.iloc[0] ** 0.5
table.map("{:.2f}".format)

# %% [markdown]
# How often the best guess is right, we call the **ceiling**. In each column it lies between the first row and the last. In one
# situation this is so for any chances $P$ of the places $\ell$ ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)):
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# Left, on Friday: $0.6 \cdot 0.6 + 0.3 \cdot 0.3 + 0.1 \cdot 0.1$ averages the chances, weighted by themselves, and no average
# exceeds the largest. Right: the sum under the root contains the square of the largest.
#
# It also holds for the mean of many situations, the last column, as the mean of roots is never above the root of the mean. So
# **the ceiling** of all who know the situation, and no more, **lies between the mean agreement and the root of this mean**. (This is
# not the copy ceiling, which is reach.)
#
# Now let us count. For each target, take the person's past stays (visits) that are like the present one in four facts:
#
# - *where* it was;
# - *when* it ended, within an hour by the clock;
# - *the kind of day* on which it began, weekday or weekend;
# - *the place before* it.
#
# What share of the pairs of such stays agree? Here is person 8 again, in the office, and how earlier stays there went on.

# %%
visits = town.visits  # a person's stays one after the other
ended, place = visits.finished_at.dt, visits.location_id
facts = {"place": place, "weekend": visits.started_at.dt.day_of_week >= 5}
facts["before"] = place.groupby(visits.user_id).shift()
facts = {name: column.to_numpy() for name, column in facts.items()}
minute = (60 * ended.hour + ended.minute).to_numpy()
first = visits.user_id.searchsorted(visits.user_id)  # the person's first row
ALL = ("place", "weekend", "before")


# %%
def like(at, minutes=60, same=ALL):
    """The person's earlier stays that are like the one in row `at`."""
    past = np.arange(first[at], at)
    apart = abs(minute[past] - minute[at])
    alike = np.minimum(apart, 1440 - apart) <= minutes  # by the clock
    for name in same:
        alike &= facts[name][past] == facts[name][at]
    return past[alike]


# %%
at = visits.user_id.searchsorted(8) + 624  # person 8; has eight like it
name = town.places.set_index("location_id").name
stays = pd.DataFrame({"left on": ended.strftime("%a %d %b, %H:%M")})
stays["then"] = place.shift(-1).map(name)
print("now:", stays["left on"][at])
stays.loc[like(at)].reset_index(drop=True)


# %%
def agreement(rows):
    """How many stays, what share of their pairs agree, and the best guess."""
    _, times = np.unique(place[rows + 1], return_counts=True)
    n = len(rows)
    return n, (times * (times - 1)).sum() / (n * (n - 1)), times.max() / n


n, share, best_of_them = agreement(like(at))
print(f"{n} stays; of the pairs {share:.3f} agree; root {share**0.5:.3f}")
print(f"best guess {best_of_them:.3f}; it was {stays.then[at]}")

# %% [markdown]
# Three of the eight stays led home (Maple Walk) and two to the café, so $3 + 1$ of the $28$ pairs agree. The best guess by these
# stays is home, right in three of eight. (This time the person went where none of the eight led: no such guess could hit.)
#
# Why pairs of two *different* stays? A stay always agrees with itself, which would flatter us. Without such pairs the share is
# unbiased, however few stays there are, if habits stay as they were and days are decided independently. Its root is not: from few stays it comes
# out too low on average. So average over all targets first, then take the root. The mean share is **the lower
# end**, its root **the upper end**.
#
# Where no two stays are alike in all four facts, we ask for less until there are two: first without the place before, then without
# the kind of day, then within two hours, at any hour, then at any place within the hour, and at last any stay.

# %%
LESS = [(60, ALL), (60, ("place", "weekend")), (60, ("place",))]
LESS += [(120, ("place",)), (1440, ("place",)), (60, ()), (1440, ())]


def most_alike(at):
    """The most alike stays before row `at`, two or more."""
    for minutes, same in LESS:
        rows = like(at, minutes, same)
        if len(rows) >= 2:
            return rows


# A target is a row of `visits`; row - 1 is the stay that the person leaves.
rows = tests[100].target
mean = np.mean([agreement(most_alike(row - 1))[1] for row in rows])
print(f"{len(rows)} targets: {100 * mean:.1f} to {100 * mean**0.5:.1f} %")

# %% tags=["hide-input"]
# @title Numbers: the counts on GeoLife, and the pointer's Acc@1
limits = read_results("predictability").rows.query("protocol == 'exact'")
found = limits.set_index(["data", "table", "group"]).sort_index()
ends = found.loc[("geolife", "agreement", "finest"), ["value", "low", "high"]]
lower_end = ends.value  # percent, as all here
upper_end, upper_low, upper_high = 100 * (ends.astype(float) / 100) ** 0.5
found = found.value
new = found["geolife", "novelty", "whole past"]
strictest = "place, 1 h, day, before"
in_all_four = found["geolife", "likeness used", strictest]
in_town_four = found["city", "likeness used", strictest]
right_now = results.mean(**GEOLIFE, **POINTER_100)

# %% [markdown]
# On GeoLife, counted in the same way, the ends are {{ lower_end:.1f }} and {{ upper_end:.1f }} %, and the 95 % interval of the upper
# end, over people, reaches from {{ upper_low:.1f }} to {{ upper_high:.1f }}. Only {{ in_all_four:.0f }} % of these targets have two stays
# that are alike in all four facts (in the town {{ in_town_four:.0f }} %), and a quarter are judged by stays at *any* place
# ([evidence](evidence_improvements.ipynb)). The more is given up, the less alike are the stays, and the count can err either way.
#
# The pointer is right in {{ right_now:.1f }} % there, far above the lower end. So if either end is near the ceiling, it is the upper
# one. And as
# the pointer knows more than four facts, even this end is no bound for it, only an estimate. How good an estimate?
#
# ## Does it work? The town knows
#
# Nobody can tell on real people. In the town we can compare it with an **insider**, who knows what the simulator knows: every
# person's habits, and so the chances of all places at a given hour. But it does not know when the next visit begins. It
# considers two possible starts, ten minutes after this stay and the usual hour next morning, weighs the chances at both by how likely
# each is, and names the likeliest place
# ([code](https://github.com/where-next-book/where-next/blob/main/book/lab/city_chances.py)). It is right for {{ known:.1f }} % of the
# targets, and for {{ told:.1f }} % if it is told the time. We compare with the first, as none of our
# counts knows the time. From here on, *the ceiling* is that of somebody who knows every habit, as the insider does.
#
# The insider ({{ known:.1f }} %) and the upper end ({{ best_town:.1f }} %) nearly coincide. Your pointer is {{ left_over:.1f }} points below
# the insider: little is left to win in the town, it seems. (We have no interval for this difference.)
#
# **But insider and upper end only meet because two errors cancel:**
#
# - *The count is too low* for somebody who knows more. Our four facts cannot tell Friday from Tuesday in the example: both are
#   weekdays. A pair of a Friday and a Tuesday agrees with chance $0.6 \cdot 1$; pairs of the same day agree more often on average, with
#   {{ unmixed:.2f }}. By the insider's chances two agree in
#   {{ really:.1f }} %, and the root of this is {{ true_root:.1f }} %: the count takes about {{ count_error:.0f }} points from the upper end.
# - *The root is too high*, as on Friday, where it is above the ceiling. Without the first error it would stand about
#   {{ root_error:.0f }} points above the insider.

# %% tags=["hide-input"]
# @title Figure 21.2: does the upper end find the ceiling of the town?
truth = found["city", "truth"]
known = truth["time unknown"]  # who knows all habits, but not that
told = truth["time known, hits"]
really = truth["time unknown, agreement"]
true_root = 10 * really**0.5
best_town = 10 * found["city", "agreement", "finest"] ** 0.5
own = ranked["your pointer"][sizes.index(100)]
right_in_town = 100 * gains(own)["acc@1"].mean()
root_error = true_root - known  # what the root adds to the ceiling
count_error = true_root - best_town  # and what the count takes
marks = {
    "insider": known,
    "root, insider's chances": true_root,
    "root, counted: upper end": best_town,
}
fig, ax = plt.subplots(figsize=(6.4, 2.2))
ax.plot(marks.values(), range(3), "o", color=INK, ms=7)
sides = (("right", -0.35), ("left", 0.35), ("right", -0.35))
labelled = zip(marks.values(), sides, strict=True)
for k, (mark, (side, by)) in enumerate(labelled):
    look = {"ha": side, "va": "center", "fontsize": 8}
    ax.text(mark + by, k, f"{mark:.1f}", **look)
arrow = {"arrowstyle": "->", "color": MUTED, "shrinkA": 6, "shrinkB": 6}
for start, end in ((0, 1), (1, 2)):  # what the root adds, the count takes
    tips = [([*marks.values()][k], k) for k in (end, start)]
    ax.annotate("", *tips, arrowprops=arrow)
small = {"fontsize": 8, "color": MUTED}
words_at = true_root - 2.6
ax.text(words_at, 0.3, f"the root adds {root_error:.0f}", **small)
ax.text(words_at, 1.8, f"the count takes {count_error:.0f}", **small)
ax.axvline(right_in_town, color=EXTRA)
look = {"color": EXTRA, "fontsize": 8, "ha": "right"}
ax.text(right_in_town - 0.2, 0.5, f"your pointer {right_in_town:.1f}", **look)
ax.set(yticks=range(3), yticklabels=[*marks], ylim=(2.5, -0.6))
ax.set(xlabel="the town: percent of targets", xlim=(44, 60))
show(
    fig,
    alt="Three dots, two arrows and a line. The insider and the counted "
    "upper end lie close together, the pointer a little to the left of them. "
    "The root by the insider's chances is some points to the right.",
    caption="Two errors of about the same size cancel: the root adds, the "
    "count takes. Line: the pointer trained above, with a hundred visits.",
)

# %% tags=["hide-input"]
# @title Numbers: for the text
left_over = known - right_in_town
unmixed = table.loc["two agree", "mean of both"]

# %% [markdown]
# ## And on GeoLife?
#
# Nobody knows the truth there. Four facts never say everything, and by equation (21.1) the root is never below the ceiling: so both
# errors are probably at work. But they need not have the same size, as in this one town. Suppose that they cancel; or that only the root's
# is at work, with its size in the town (then the ceiling is {{ root_error:.0f }} points lower), or only the count's ({{ count_error:.0f }} points
# higher). Then the targets divide into four shares, of which {{ new:.0f }} % are **new** to the person:
# in no past visit.

# %%
# The errors are the arrows of figure 21.2: root - insider, root - count.
ceilings = {
    "both errors cancel": upper_end,
    "only the root errs": upper_end - root_error,
    "only the count errs": upper_end + count_error,
}
within = 100 - new  # reach
parts = {
    name: [right_now, ceiling - right_now, within - ceiling, new]
    for name, ceiling in ceilings.items()
}
rows = ["the pointer is right", "could be won"]
parts = pd.DataFrame(parts, [*rows, "chance", "new to the person"])

# %% tags=["hide-input"]
# @title Figure 21.3: what a hundred targets of GeoLife are made of
fig, ax = plt.subplots(figsize=(6.4, 2.2))
fills = [EXTRA, TRUTH, MUTED, PAPER]
start = np.zeros(len(ceilings))
for (name, widths), fill in zip(parts.iterrows(), fills, strict=True):
    look = {"color": fill, "ec": INK, "lw": 0.8, "height": 0.7}
    bars = ax.barh([*parts], widths, left=start, **look)
    ink = INK if fill == PAPER else PAPER
    ax.bar_label(bars, fmt="%.0f", label_type="center", color=ink, fontsize=8)
    middle = start[0] + widths.iloc[0] / 2
    short = name.replace("the pointer is ", "").replace(" to the person", "")
    ax.text(middle, -0.5, short, ha="center", va="bottom", fontsize=8)
    start = start + widths.to_numpy()
ax.invert_yaxis()
ax.set(xlabel="GeoLife: percent of targets", xlim=(0, 100))
show(
    fig,
    alt="Three bars, each divided into right, could be won, chance and new. "
    "Right and new are the same in all; the border between could be won and "
    "chance moves by some points to either side.",
    caption="The targets by who could name them, if both errors cancel "
    "(top), or only one of them, of the town's size, is at work; rounded. "
    "Shares, not labels: of no single miss we know to which it belongs.",
)

# %% tags=["hide-input"]
# @title Numbers: for the text
missed = 100 - right_now
margin = (upper_high - upper_low) / 2
could_win, least_won, most_won = parts.loc["could be won"]
luck, luck_more, luck_left = parts.loc["chance"]

# %% [markdown]
# - *Could be won:* {{ could_win:.0f }} targets in a hundred ({{ least_won:.0f }} or {{ most_won:.0f }}), more than the whole lead of
#   {{ lead:.1f }}. It is what somebody who knew all habits would gain. A model has to learn them, and would gain less.
#   (In the town the pointer is only {{ left_over:.1f }} below the insider. Either people are harder to learn than simulated ones, or on GeoLife the root's
#   error is the larger one; we cannot tell which.)
# - *Chance:* the person has been there, but even the best guess would miss.
# - *New:* no pointer can name such a place, and PGT's generator hardly helps ([evidence](evidence_improvements.ipynb), which has other
#   ceilings, too).
#
# Chance and new together are most of what the pointer misses, in all three bars. The interval over people moves the border between
# *could be won* and *chance* by another {{ margin:.0f }} points either way, and a habit that changes makes the count lower still: then
# more could be won.
#
# ## What to remember
#
# - Reach is not accuracy: beyond a hundred visits a longer memory brings the first guess nothing measurable.
# - Compare models that remember equally much. On GeoLife {{ fair:.1f }} ({{ low:.1f }} to {{ high:.1f }}) of the pointer's
#   {{ lead:.1f }} points are left; if each person counts alike, perhaps nothing. Our best estimate is that memory brings more than half.
# - How often similar stays agree estimates the ceiling with an error of several points: on GeoLife {{ upper_end:.0f }} %, if two
#   errors cancel as they do in the town. The pointer is right in {{ right_now:.0f }} %.
# - Of the {{ missed:.0f }} that it misses, {{ new:.0f }} are new to the person, roughly {{ luck:.0f }} are chance and {{ could_win:.0f }} could
#   be won. If only the root errs, it is {{ luck_more:.0f }} and {{ least_won:.0f }}, if only the count errs, {{ luck_left:.0f }} and {{ most_won:.0f }}; the
#   interval over people adds {{ margin:.0f }} points either way.
#
# ## Exercises
#
# **Exercise 1** (quick, by hand). Of a hundred targets a rule hits 40 with a week and 44 with a hundred visits, a network 43 and
# 45. The network with a hundred visits leads the rule with a week by 5. What does memory bring if it comes first, and the
# model after it? And what do they bring in the mean of both ways?

# %% tags=["try"]
memory_first, model_second, memory_mean, model_mean = ..., ..., ..., ...
answer = [memory_first, model_second, memory_mean, model_mean]
check.exercise("21.1", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answer = [44 - 40, 45 - 44, (44 - 40 + 45 - 43) / 2, (45 - 44 + 43 - 40) / 2]
check.exercise("21.1", answer)
# Both ways add up to five. By the first, the model seems to bring one point;
# by the second, three: each helps more where the other is missing.

# %% [markdown]
# **Exercise 2** (medium). The pointer of [chapter 20](20_contextual_pointer.ipynb) has one more memory, **summaries**: one row for each place
# that is not among the last visits. Write `remembered(places, memory, older)`: which rows of a
# past (places, oldest first) to keep, and the number of older visits that each stands for. The last `memory` rows stay as they
# are (0). Before them come the summaries, oldest first and at most `older` (the most recent): the latest row of each place that is
# not among the last. Of *gym, gym, home, work, home, work* a memory of two keeps the last two, and one row for the gym: its second visit,
# which stands for two. (0 marks a visit itself.)

# %% tags=["try"]
six = ["gym", "gym", "home", "work", "home", "work"]


def remembered(places, memory, older):
    return ...  # rows, counts: two lists


right = [1, 4, 5], [2, 0, 0]
check.same(remembered(six, 2, 100), right, name="the summaries")
check.same(remembered(six, 2, 0), ([4, 5], [0, 0]), name="no summaries")
check.same(remembered(six[:1], 2, 9), ([0], [0]), name="a short past")
pair = ["gym", "café", "gym", "home", "work"]
check.same(remembered(pair, 2, 9), ([1, 2, 3, 4], [1, 2, 0, 0]), name="two")
check.same(remembered(pair, 2, 1), ([2, 3, 4], [2, 0, 0]), name="one of two")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def remembered(places, memory, older):
    start = max(len(places) - memory, 0)
    recent = list(range(start, len(places)))
    latest = {place: row for row, place in enumerate(places[:start])}
    for place in places[start:]:
        latest.pop(place, None)  # listed anyway
    kept = sorted(latest.values())[-older:] if older else []
    visits = [places[: row + 1].count(places[row]) for row in kept]
    return kept + recent, visits + [0] * len(recent)


check.same(remembered(six, 2, 100), right, name="the summaries")
check.same(remembered(six, 2, 0), ([4, 5], [0, 0]), name="no summaries")
check.same(remembered(six[:1], 2, 9), ([0], [0]), name="a short past")
pair = ["gym", "café", "gym", "home", "work"]
check.same(remembered(pair, 2, 9), ([1, 2, 3, 4], [1, 2, 0, 0]), name="two")
check.same(remembered(pair, 2, 1), ([2, 3, 4], [2, 0, 0]), name="one of two")
for name, n in {"with summaries": 100, "everything": 10**6}.items():
    past = with_history(data, memory=n, older=100).test  # the package's
    n_rows, reached = past.lengths.mean(), 100 * in_sight(past).mean()
    print(f"{name}: {n_rows:.0f} rows, {reached:.1f} %")
# The same reach with a third of the rows, and their number has a bound.
# The first guess hardly changes: on GeoLife the interval holds zero (see the
# evidence on the contextual pointer).

# %% [markdown]
# **Exercise 3** (quick). Widen the hour: how many earlier stays are like the one in row `at` within *three* hours, and what are
# the two ends for this one situation? Does the best guess by these stays lie between them?

# %% tags=["try"]
n, lower, upper = ..., ..., ...
check.exercise("21.3", [n, lower, upper])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
n, agree, best_of_them = agreement(like(at, minutes=180))
check.exercise("21.3", [n, agree, agree**0.5])
print(f"{n} stays, ends {agree:.3f} and {agree**0.5:.3f}")
print(f"root {agree**0.5:.3f}, best guess {best_of_them:.3f} of them")
# It lies a hair above the upper end. (21.1) is for chances; of a few counted
# stays the best guess, chosen after the fact, looks better than it is.

# %% [markdown]
# **Next:** [Open vocabulary](22_open_vocabulary.ipynb), for places that training has never seen.
