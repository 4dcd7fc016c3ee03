# %% [markdown]
# # Memory and ceilings
#
# On GeoLife the contextual pointer, given a hundred visits, leads the kernel, a rule that sees seven days, by {{ lead:.1f }}
# points. Is it a better model, or has it a longer memory? And could any model do better on the half that it misses?
#
# (The *contextual pointer* of [chapter 20](20_contextual_pointer.ipynb) copies by what a past visit has in common with now. The
# *kernel* of [chapter 4](04_baselines.ipynb) is a vote of past visits with five numbers. Both are scored on the windows of the
# *exact* protocol of [chapter 3](03_windows.ipynb), which see nothing but the past.)
#
# *You will be able to* compare models that remember equally much, and estimate how good the best possible guess is. *You
# need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Ablations](14_ablations.ipynb). *It takes* fifteen minutes
# to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** With a hundred visits each, the pointer leads the kernel on GeoLife by only {{ fair:.1f }} points ({{ low:.1f }}
# > to {{ high:.1f }}; {{ left:.1f }}, from {{ left_low:.1f }} to {{ left_high:.1f }}, if every person counts equally), so our best
# > estimate is that more than half of its lead was memory; and of the {{ missed:.1f }} targets in a hundred that it misses,
# > {{ new:.1f }} are new places and perhaps {{ luck:.1f }} chance.

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
from wherenext.figures import COPIED, EXTRA, INK, MUTED, show
from wherenext.ground import ground, located
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
# the kernel of [chapter 4](04_baselines.ipynb) in our town, and let it remember more and more. Its five numbers were chosen
# for a hundred visits; fewer might want others.
#
# The **reach** of a memory is the share of targets that are in it: [chapter 1](01_where_next.ipynb)'s ceiling of copying, for
# any memory.

# %% tags=["hide-input"]
# @title The kernel, with five numbers that a run chose on validation windows
chosen = results.header["runs"]["city/kernel_memory-memory_100-unknown-None"]
chosen = {name: chosen[name] for name in ContextKernel.GRID}
kernel = ContextKernel(**chosen).fit(data.train)


# %%
def in_sight(windows):
    """(W,) is the target among what a window shows?"""
    found = [
        (b.location == b.target[:, None]).any(1) for b in windows.batches(512)
    ]
    return torch.cat(found).numpy()


# %%
sizes = (10, 20, 50, 100, 200, 400)
tests = {n: with_history(data, memory=n).test for n in sizes}
near = in_sight(tests[10])  # targets that ten visits show already
by_memory, ranked = {}, {"kernel": []}
for n, test in tests.items():
    ranked["kernel"].append(evaluate(kernel, test))
    right = gains(ranked["kernel"][-1])["acc@1"]  # 0 to 1 a window
    shares = in_sight(test).mean(), right.mean(), (right * near).mean()
    by_memory[n] = [100 * share for share in shares]
names = ["reach, %", "kernel, Acc@1 %", "at places of the last ten, %"]
by_memory = pd.DataFrame(by_memory, index=names).T
by_memory.rename_axis("visits remembered").round(1)

# %% [markdown]
# **Reach is not accuracy.** The first column goes on rising, the second stops at fifty: more of the right places are in sight,
# and no more of the first guesses are right. A person's map shows why. Which discs does a longer memory add?

# %%
past = located(town.visits.query("user_id == 8"), town).tail(400)
past["ago"] = range(len(past), 0, -1)  # 1: the latest visit
latest = past.groupby("location_id").ago.transform("min")
names = ["in the last 10 visits", "in the last 50", "in the last 400"]
past["found"] = pd.cut(latest, [0, 10, 50, 400], labels=names)
places_map(
    past, by="found", ground=ground(town.base, names=False),
    alt="Map of one person's places by how far back the latest visit is",
    caption="Places of person 8, by the latest visit. Larger: more visits.",
)

# %% [markdown]
# The last ten visits show the large discs: home and work. A longer memory adds many small ones, most of them visited once or
# twice: seldom a good *first* guess. The table's last column agrees: however much the kernel remembers, nearly all its hits
# are at places that the last ten visits show already. Up to fifty, older visits add votes, which
# rank these places better. At the places that they add there are hardly any hits.
#
# Does a model that learns make more of a long past? Train the pointer with a hundred visits, and ask it with the same six
# memories.

# %%
memory = 100  # @param {type:"slider", min:10, max:400, step:10}

# %%
# older=0: without the summaries of exercise 2.
variant = pointer_variants.Variant(memory=memory, older=0)
seen = pointer_variants.windows(data, variant)
pointer, training = pointer_variants.build(variant, data, seed=1)
fit(pointer, seen.train, seen.valid, training, progress=False)
ranked["your pointer"] = [evaluate(pointer, t) for t in tests.values()]

# %% tags=["hide-input"]
# @title Figure 21.1: memory and Acc@1
asked = {"data": "geolife", "target_time": "unknown", "model": "contextual"}
steps = [asked | {"variant": f"memory_{n}"} for n in sizes]
anew = [(results.mean(**step), *results.interval(**step)) for step in steps]
rules = [("kernel", "full"), ("kernel_memory", "memory_100")]
week, rule = (
    asked | {"protocol": "exact", "model": model, "variant": variant}
    for model, variant in rules
)  # fmt: skip
curves = {"the town": {}, "GeoLife": {"pointer, trained anew": anew}}
for name in ("your pointer", "kernel"):
    means = [100 * gains(r)["acc@1"].mean() for r in ranked[name]]
    ends = [interval(r) for r in ranked[name]]  # people
    curves["the town"][name] = np.column_stack([means, ends])
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.0), sharey=True)
for ax, (name, lines) in zip(panels, curves.items(), strict=True):
    for k, (label, points) in enumerate(lines.items()):
        mean, low, high = np.transpose(points)
        colour, marker = [EXTRA, COPIED][k], "os"[k]
        ax.plot(sizes, mean, marker=marker, color=colour, label=label)
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, lw=0)
    if name == "GeoLife":
        mean, ends = results.mean(**rule), results.interval(**rule)
        look = {"color": COPIED, "marker": "s", "capsize": 3}
        reach = [[mean - ends[0]], [ends[1] - mean]]
        ax.errorbar([100], [mean], reach, label="kernel, hundred", **look)
        look = {"color": COPIED, "ls": ":"}
        ax.axhline(results.mean(**week), label="kernel, seven days", **look)
    ax.legend(loc="lower right", fontsize=8)
    ax.set(xscale="log", xlabel="visits remembered", ylabel="Acc@1 (%)")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.set_title(name, fontsize=10)
show(
    fig,
    alt="Acc@1 over the number of remembered visits. In the town, the kernel "
    "and a pointer: both curves rise steeply to fifty visits and are level "
    "after; the pointer's is higher everywhere. On GeoLife a pointer's curve "
    "rises to a hundred visits and is level after; the kernel with a hundred "
    "lies below it, and the kernel with seven days lower still.",
    caption="Test windows; bands are 95 % intervals over people (right: and "
    "seeds), the same people at each memory. Left: your pointer is one "
    "training, from one seed, with a hundred visits; the kernel's numbers "
    "were chosen for a hundred, too. Right: for each memory the mean of five "
    "trainings with just this memory; both kernels with own numbers.",
)

# %% [markdown]
# In the town the pointer is ahead of the kernel at each memory, but after fifty visits its curve is about as flat as the
# kernel's. The bands overlap; but both models answer the same windows, so what counts is the interval of the difference:

# %%
ahead = {}
for n, mine, rule in zip(sizes, *ranked.values(), strict=True):
    lead = interval(rule, against=mine)  # 95 %, over people
    mean = 100 * (gains(rule)["acc@1"].mean() - gains(mine)["acc@1"].mean())
    ahead[n] = {"pointer − kernel": mean, "from": lead[0], "to": lead[1]}
pd.DataFrame(ahead).T.rename_axis("visits remembered").round(1)

# %% [markdown]
# No interval holds zero. (It knows of people, not of seeds: this is one training.) It was trained with a hundred visits: are
# 200 and 400 strange to it? On GeoLife (right) we trained pointers anew for each memory, and that curve is flat after a hundred,
# too. **So a memory longer than that is not what the pointer lacks.**
#
# **Change this.** Set `memory` to 10 and run its cell and the next three again. What does your pointer do with a hundred visits?
#
# ## Memory or model?
#
# Now to the pointer's lead on GeoLife. Four numbers answer: each model with seven days, and with a hundred visits. The kernel's
# numbers were chosen, and the pointer was trained, for the memory that it has. Acc@1 is in percent, a mean over five seeds.

# %%
EXACT = {"target_time": "unknown", "protocol": "exact"}
GEOLIFE, TOWN = EXACT | {"data": "geolife"}, EXACT | {"data": "city"}
WEEK = {"model": "kernel", "variant": "full"}
RULE = {"model": "kernel_memory", "variant": "memory_100"}
SHORT, HUNDRED, OURS = (
    {"model": "contextual", "variant": variant}
    for variant in ("window", "memory_100", "full")
)
four = {
    "kernel": [results.mean(**GEOLIFE, **one) for one in (WEEK, RULE)],
    "pointer": [results.mean(**GEOLIFE, **one) for one in (SHORT, HUNDRED)],
}
pd.DataFrame(four, ["seven days", "hundred visits"]).round(1)

# %% [markdown]
# The kernel with seven days stands at the top left, the pointer with a hundred visits at the bottom right. So the lead is two
# steps, one down and one across. The step down is what *memory* brings, the step across what the *model* brings. Memory can come
# first, or the model:

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
# Whichever comes first, memory brings more. In the mean of both ways, memory brings {{ more:.1f }} points more than the model.
# Written out, this difference is the kernel with a hundred visits minus the pointer with seven days, a rule with a long
# memory against a model with a short one. Is it more than luck?


# %% tags=["hide-input"]
# @title Table: the intervals, over people and seeds
def by_person(one):
    """Each person's own Acc@1, a mean over seeds."""
    runs = list(results.ranks(**GEOLIFE, **one))
    hits = sum(100 * gains(run)["acc@1"] for run in runs) / len(runs)
    return hits.groupby(runs[0].user_id).mean()


def both_ways(one, other):
    """Difference with its interval, by windows and by people."""
    own = by_person(one) - by_person(other)  # a person each
    ends = percentile_interval(resampled_means([own], own.index))
    by_window = results.difference(one | GEOLIFE, other | GEOLIFE)
    return [*by_window, own.mean(), *ends]


pairs = {
    "the lead": (HUNDRED, WEEK),
    "model, with a hundred visits": (HUNDRED, RULE),
    "model, with seven days": (SHORT, WEEK),
    "memory minus model": (RULE, SHORT),
}
both = {name: both_ways(*pair) for name, pair in pairs.items()}
both = pd.DataFrame(both).T
(lead, *lead_ends), (fair, low, high) = both.iloc[:2, :3].to_numpy()
left, left_low, left_high = both.iloc[1, 3:]
more, _, more_high = both.iloc[3, :3]
person_more = both.iloc[3, 3:].tolist()
added = results.difference(OURS | GEOLIFE, HUNDRED | GEOLIFE)
columns = [("all windows", x) for x in ("points", "from", "to")]
columns += [("each person once", x) for x in ("points", "from", "to")]
both.columns = pd.MultiIndex.from_tuples(columns)
both.round(1) + 0.0  # no zero below zero

# %% [markdown]
# With a hundred visits each, {{ fair:.1f }} points of the lead are left (95 % interval {{ low:.1f }} to {{ high:.1f }}). Memory
# minus model is {{ more:.1f }} points, and the interval reaches from a hair below zero to {{ more_high:.1f }}. **Our best estimate
# is that memory brings more than half of the lead; that it brings less is just not excluded.**
#
# What the model brings comes mostly from people with many windows: if every person counts equally, it is {{ left:.1f }} points
# ({{ left_low:.1f }} to {{ left_high:.1f }}), and memory brings {{ person_more[0]:.1f }} more than the model
# ({{ person_more[1]:.1f }} to {{ person_more[2]:.1f }}), which is clear of zero.
#
# ## How good can a guess be?
#
# Somebody leaves the office on a Friday at six. Suppose the chances are 0.6 for home, 0.3 for the gym and 0.1 for the
# market. The best guess is home, and it is right six times in ten. On a Tuesday at six this person always goes home.
#
# On real people nobody knows the chances. But we can count how often two such Fridays **agree**, that is, lead to the same
# place. What does this say about the best guess?

# %%
days = {"Friday": [0.6, 0.3, 0.1], "Tuesday": [1, 0, 0]}
chances = pd.DataFrame(days, ["home", "gym", "market"])
agree = (chances**2).sum()  # both home, or both gym, or both market
names = ["two agree", "best guess is right"]
table = pd.DataFrame([agree, chances.max()], names)
table["mean of both"] = table.mean(axis=1)
table.loc["square root of the first row"] = table.iloc[0] ** 0.5
table.map("{:.2f}".format)

# %% [markdown]
# In each column the best guess lies between the first row and the last. In one situation this is so for any chances $P$ of
# the places $\ell$ ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)):
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# Left, on Friday: $0.6 \cdot 0.6 + 0.3 \cdot 0.3 + 0.1 \cdot 0.1$ averages the chances, weighted by themselves, and no average
# exceeds the largest. Right: the sum under the root contains the square of the largest.
#
# It also holds for the mean of many situations, the last column, as the mean of the two roots is never above the root of
# the mean. So **the best guess lies between the mean agreement and the root of this mean**.
#
# Now count it. For each target take the person's past stays that are like the present one in four ways: at the same place,
# until about the same time (within an hour), on the same kind of day (weekday or weekend), after the same place. What share of
# their pairs agree? Here is somebody of the town who came to the office from home and leaves it on a weekday, at ten past six.

# %%
visits, at = town.visits.query("user_id == 8"), 624  # a stay's row
ended, place = visits.finished_at.dt, visits.location_id
minute = 60 * ended.hour + ended.minute
facts = {"place": place, "weekend": ended.day_of_week >= 5}
facts = pd.DataFrame(facts).assign(before=place.shift())
ALL = ("place", "weekend", "before")


def like(at, minutes=60, same=ALL):
    """Which earlier stays are like the one in row `at`?"""
    alike = facts[[*same]].eq(facts[[*same]].iloc[at]).all(axis=1)
    alike &= (minute - minute.iloc[at]).abs() <= minutes  # no midnight near
    return alike[:at]


# %%
name = town.places.set_index("location_id").name
stays = pd.DataFrame({"left on": ended.strftime("%a %d %b, %H:%M")})
stays = stays.assign(then=place.shift(-1).map(name))
went = stays.then.iloc[at]
stays[:at][like(at)].reset_index(drop=True)


# %%
def agreement(rows):
    """How many of these stays, and what share of their pairs agree?"""
    led_to = stays.then[:at][rows].value_counts()
    n = led_to.sum()
    return n, (led_to * (led_to - 1)).sum() / (n * (n - 1)), led_to.max() / n


n, share, best_of_them = agreement(like(at))
print(f"{n} stays; of the pairs {share:.2f} agree; root {share**0.5:.2f}")
print(f"best guess {best_of_them:.2f} of them; the person went to {went}")

# %% [markdown]
# Three of the eight stays led home and two to the café, so $3 \cdot 2 + 2 \cdot 1$ of $8 \cdot 7$ ordered pairs agree. The best
# guess by these stays is home, right in three of eight, between the two ends. This time the person went elsewhere.
#
# Where no two stays are alike in all four ways, we ask for less, until there are two:

# %%
LESS = [(60, ALL), (60, ("place", "weekend")), (60, ("place",))]
LESS += [(120, ("place",)), (1440, ("place",)), (60, ()), (1440, ())]
for minutes, same in LESS:
    rows = like(at, minutes, same)
    if rows.sum() >= 2:
        break  # for this stay at once
same = " and ".join(same)
print(f"within {minutes} minutes, the same {same}: {rows.sum()} stays")

# %% [markdown]
# The mean over all targets is **the lower end**, and its root **the upper end**. How often is which likeness used? And how far do
# the ends move if an hour is half an hour, or two?

# %% tags=["hide-input"]
# @title Table: which likeness is used, of a hundred targets
limits = read_results("predictability").rows.query("protocol == 'exact'")
USED = {
    "place, 1 h, day, before": "all four",
    "place, 1 h, day": "without the place before",
    "place, 1 h": "nor the kind of day",
    "place, 2 h": "the place, within two hours",
    "place": "the place alone",
    "another place": "another place, at that hour or any",
}
NAMES = {"city": "the town", "geolife": "GeoLife"}
used = limits[limits.table == "likeness used"]
used = used.pivot(index="group", columns="data", values="value")
used = used.loc[[*USED]].rename(index=USED, columns=NAMES)
used = used.round(0).astype(int)
used.rename_axis(index=None, columns="alike in")

# %% tags=["hide-input"]
# @title Table: the upper end in percent, and its 95 % interval over people
SPANS = {"finest, 30 min": "half an hour", "finest": "an hour"}
SPANS |= {"finest, 2 h": "two hours"}
ends = limits[limits.group.isin(SPANS)].set_index(["data", "group"])
ends = 10 * ends[["value", "low", "high"]] ** 0.5  # the root, in percent
spans = {
    NAMES[data]: {
        text: "{:.1f} [{:.1f}, {:.1f}]".format(*ends.loc[(data, key)])
        for key, text in SPANS.items()
    }
    for data in NAMES
}
least_end, most_end = ends.loc[("geolife", "finest"), ["low", "high"]]
pd.DataFrame(spans).rename_axis("alike within", axis=1)

# %% [markdown]
# A quarter of the targets are judged by stays at *another* place, as the person was hardly ever here before. The upper end does
# not hang on the hour: half of it or twice as much move it by less than a point. It hangs on who was recorded: on GeoLife its 95 %
# interval over people reaches from {{ least_end:.1f }} to {{ most_end:.1f }}.
#
# ## Does it work? The town knows
#
# Stays that look alike are not quite alike, so the counted ends are estimates, not bounds. In the town we can check them
# against an **insider**, who knows what the simulator knows: every person's habits, and so the chances of all places at a given
# hour. Only the hour of the next visit the insider does not know. So it takes the chances soon after leaving, and those of the
# next morning, weighs the two by the simulator's chance that the day is over, and names the likeliest place
# ([its lines](https://github.com/where-next-book/where-next/blob/main/book/lab/city_chances.py)). That is close to the best
# possible, but no bound: a model that foresees the hour could pass it.

# %% tags=["hide-input"]
# @title Figure 21.2: how good a guess can be, and where the pointer is
limits = limits.set_index(["data", "table", "group"]).sort_index()
limits = limits.value
truth = limits["city", "truth"]
known = truth["time unknown"]  # who knows all habits, but not that
left_over = known - results.mean(**TOWN, **OURS)
really = truth["time unknown, agreement"]
too_high = 100 * (really / 100) ** 0.5
counted = limits["city", "agreement", "finest"]
best_town = 100 * (counted / 100) ** 0.5
of_a_kind = table.loc["two agree", "mean of both"]  # not in the figure
fig, panels = plt.subplots(1, 2, figsize=(7.4, 2.2), sharey=True)
for ax, where in zip(panels, (TOWN, GEOLIFE), strict=True):
    found = limits[where["data"]]
    least = found["agreement", "finest"]  # in percent, as all here
    best = 100 * (least / 100) ** 0.5
    new = found["novelty", "whole past"]
    ours = results.mean(**where, **(OURS if where is TOWN else HUNDRED))
    spans = [(least, best), (100 - new,)]
    spans = [(known,), *spans] if where is TOWN else spans
    for k, span in enumerate(spans, 3 - len(spans)):
        ax.plot(span, [k] * len(span), "o-", color=INK, lw=5)
        text = " to ".join(f"{end:.1f}" for end in span)
        ax.annotate(text, (span[-1] + 1.5, k - 0.2), fontsize=8)
    ax.axvline(ours, color=EXTRA)
    text = f"pointer {ours:.1f}"
    ax.text(ours + 1, 2.5, text, color=EXTRA, fontsize=8)
    ax.set(xlabel="percent of targets", xlim=(24, 90))
    ax.set_title("GeoLife" if where is GEOLIFE else "the town", fontsize=10)
panels[1].text(57, 0, "nobody knows", color=MUTED, fontsize=8, va="center")
lines = ["the insider", "agreement", "reach (all past)"]
panels[0].set(yticks=range(3), yticklabels=lines, ylim=(2.8, -0.6))
show(
    fig,
    alt="Limits on the best possible accuracy and the pointer, for the town "
    "and GeoLife. In the town the insider, who knows all habits, is near the "
    "upper end of agreement, and the pointer is little below.",
    caption="Top: the insider's Acc@1. Middle: the lower and the upper end, "
    "as counted. Bottom: targets anywhere in the person's past. Line: the "
    "Acc@1 of the pointer with a hundred visits, mean of five seeds (in the "
    "town it has the summaries of exercise 2, too).",
)

# %% [markdown]
# In the town the pointer is {{ left_over:.1f }} points below the insider: little is left to win.
#
# The insider is right in {{ known:.1f }} %, close to the upper end of agreement. **But this is because two errors cancel.**
# The simulator's own chances show both:
#
# | % | two agree | its root | the best guess |
# |---|---|---|---|
# | as counted | {{ counted:.1f }} | {{ best_town:.1f }} | {{ known:.1f }} |
# | by the insider's chances | {{ really:.1f }} | {{ too_high:.1f }} | {{ known:.1f }} |
#
# - **The count is too low** (first column), as stays that look alike are not. If a Friday is taken for a Tuesday, such a pair
#   agrees with chance 0.6, as both days must lead home. That is less than the mean of two Fridays and two Tuesdays,
#   {{ of_a_kind:.2f }}.
# - **The root is too high** (last row): it is well above what the insider reaches, as on Friday the root was above the best
#   guess.
#
# ## And on GeoLife?
#
# Nobody knows the truth there, nor whether the two errors cancel again. Suppose they do, so that the upper end is the best
# guess. Then the right panel, read from left to right, divides a hundred targets into four parts. The last two columns do the
# same with the ends of the interval.

# %%
missed, within, best_geolife = 100 - ours, 100 - new, best
parts = {
    f"upper end {end:.1f}": [ours, end - ours, within - end, new]
    for end in (best, least_end, most_end)
}
names = ["the pointer is right", "a better model could win"]
names += ["chance", "new to the person"]
luck = within - best
pd.DataFrame(parts, names).round(1)

# %% [markdown]
# *Chance*: the person has been there, but even the best guess is wrong. *New*: no pointer can name such a place, and PGT's
# generator hardly helps ([Evidence](evidence_improvements.ipynb), which has other ceilings, too). Each would be about a fifth
# of all targets; together, most of what the pointer misses, at either end of the interval, too. (That the errors cancel in one
# simulated town does not show that they cancel here: if only the root is too high, still more is chance.)
#
# ## What to remember
#
# - Reach is not accuracy: beyond a hundred visits (in the town, fifty) a longer memory does not help the first guess.
# - Compare models that remember equally much. On GeoLife {{ fair:.1f }} ({{ low:.1f }} to {{ high:.1f }}) of the pointer's
#   {{ lead:.1f }} points are left; our best estimate is that memory brings more than half. If every person counts equally, the
#   rest cannot be told from zero.
# - How often like stays agree says, roughly, how good the best guess is: on GeoLife about {{ best_geolife:.1f }} %
#   ({{ least_end:.1f }} to {{ most_end:.1f }}), where the pointer is right in {{ ours:.1f }} %. Of the {{ missed:.1f }} that it misses,
#   {{ new:.1f }} are new to the person, and perhaps {{ luck:.1f }} are chance.
#
# ## Exercises
#
# **Exercise 1** (quick). On Saturdays somebody goes home half of the time, to the market three times in ten, and otherwise to
# the park. How often do two Saturdays agree? How often is the best guess right, and between which ends does equation
# (21.1) put it? Give four numbers between 0 and 1; two are equal.

# %% tags=["try"]
agree, best, lower, upper = ..., ..., ..., ...
check.exercise("21.1", [agree, best, lower, upper])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
chances = torch.tensor([0.5, 0.3, 0.2])
agree, best = (chances**2).sum(), chances.max()
check.exercise("21.1", torch.stack([agree, best, agree, agree.sqrt()]))
# All three are equal only if one place is certain.

# %% [markdown]
# **Exercise 2** (medium). The pointer of [chapter 20](20_contextual_pointer.ipynb) has one more memory, **summaries**: one line for
# each place that is only found further back than a hundred visits. So in the town a model still sees every place
# of the past, and needs a third of the rows that all visits would take. The first guess hardly changes: on GeoLife by
# {{ added[0]:.1f }} points, and the interval holds zero. Write `remembered(places, memory, older)`: which rows of a past (places, oldest first) to keep, and
# the number of older visits that each stands for. The last `memory` rows stay as they are (0). Before them come the summaries,
# at most `older` (the most recent): the latest row of each place that is not among the last. Of *gym, gym, home, work, home,
# work* a memory of two keeps the last two, and one line for the gym: its second visit, which stands for two.

# %% tags=["try"]
six = ["gym", "gym", "home", "work", "home", "work"]


def remembered(places, memory, older):
    return ...  # two lists: rows, and for how many older visits each stands


right = [1, 4, 5], [2, 0, 0]
check.same(remembered(six, 2, 100), right, name="the summaries")

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
for name, n in {"with summaries": 100, "everything": 10**6}.items():
    past = with_history(data, memory=n, older=100).test  # the package's
    rows, found = past.lengths.mean(), 100 * in_sight(past).mean()
    print(f"{name}: {rows:.0f} rows, {found:.1f} %")
# The same reach with a third of the rows, and their number has a bound.

# %% [markdown]
# **Exercise 3** (quick). Widen the hour: how many earlier stays are like the one in row `at` within *three* hours, and between
# which ends do they put the best guess? Is the best guess by these stays the same?

# %% tags=["try"]
n, lower, upper = ..., ..., ...
check.exercise("21.3", [n, lower, upper])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
n, agree, best_of_them = agreement(like(at, minutes=180))
check.exercise("21.3", [n, agree, agree**0.5])
print(f"best guess {best_of_them:.2f} of them")
print(stays.then[:at][like(at, minutes=180)].value_counts().head(3))

# %% [markdown]
# **Next:** [Open vocabulary](22_open_vocabulary.ipynb), for places that training has never seen.
