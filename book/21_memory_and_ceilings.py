# %% [markdown]
# # Memory and ceilings
#
# On GeoLife the contextual pointer, given a hundred visits, leads the kernel, a rule that sees seven days, by {{ lead:.1f }}
# points. Is it a better model, or has it a longer memory? And could any model do better on the half that it misses?
#
# *You will be able to* compare models that remember equally much, and estimate how good the best possible guess is. *You
# need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Ablations](14_ablations.ipynb). *It takes* fifteen minutes
# to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** Beyond a hundred visits (in the town, fifty) a longer memory does not help the first guess (Acc@1);
# > with a hundred visits each the pointer leads the rule on GeoLife by {{ fair:.1f }} points, and mostly for people with many
# > windows; most of what it misses there may be new places and chance.

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
import pandas as pd
import seaborn as sns
import torch
from wherenext import city, pointer_variants
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, show
from wherenext.results import read_results

from pgt.baselines import ContextKernel
from pgt.history import with_history
from pgt.metrics import evaluate, gains
from pgt.train import fit
from pgt.windows import prepare

# %%
town = city.load()  # simulated
data = prepare(town.visits, protocol="exact")
results = read_results("beyond")


def accuracy(model, windows):
    """Acc@1 in percent."""
    return 100 * gains(evaluate(model, windows))["acc@1"].mean()


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
def reach(windows):
    """Percent of the windows whose target is among what they show."""
    found = [
        (b.location == b.target[:, None]).any(1) for b in windows.batches(512)
    ]
    return 100 * float(torch.cat(found).float().mean())


sizes = (10, 20, 50, 100, 200, 400)
tests = {n: with_history(data, memory=n).test for n in sizes}
by_memory = {
    n: [reach(test), accuracy(kernel, test)] for n, test in tests.items()
}
by_memory = pd.DataFrame(by_memory, index=["reach, %", "kernel, Acc@1 %"]).T
by_memory.rename_axis("visits remembered").round(1)

# %% [markdown]
# **Reach is not accuracy.** The first column goes on rising, the second stops at fifty: more of the right places are in sight,
# and no more of the first guesses are right.
#
# Does a model that learns make more of a long past? Train the pointer with a hundred visits, and ask it with the same
# memories.

# %%
memory = 100  # @param {type:"slider", min:10, max:400, step:10}

# %%
# older=0: without summaries, which come below.
variant = pointer_variants.Variant(memory=memory, older=0)
seen = pointer_variants.windows(data, variant)
pointer, training = pointer_variants.build(variant, data, seed=1)
fit(pointer, seen.train, seen.valid, training, progress=False)
yours = [accuracy(pointer, test) for test in tests.values()]
by_memory["your pointer"] = yours

# %% tags=["hide-input"]
# @title Figure 21.1: the same memory for both
fig, axes = plt.subplots(figsize=(7.0, 3.2))
two = by_memory[["your pointer", "kernel, Acc@1 %"]]
two = two.set_axis(["your pointer", "kernel"], axis=1)
sns.lineplot(two, palette=[EXTRA, COPIED], markers=True, ax=axes)
axes.set(xscale="log", xlabel="visits remembered", ylabel="Acc@1 (%)")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
show(
    fig,
    alt="Acc@1 over the number of remembered visits, for the kernel and a "
    "pointer: both curves rise steeply to fifty visits and are level after; "
    "the pointer's is higher everywhere.",
    caption="The town's test windows. Your pointer is one training; another "
    "seed can move it by half a point or more.",
)

# %% [markdown]
# It gains no more from a longer past than the kernel does. The pointer is ahead everywhere, but both curves are flat after
# fifty visits. Yours was trained with a hundred visits, so 200 and 400 are strange to it. On GeoLife we trained it anew for
# every memory, and there its curve is flat after a hundred ([Evidence](evidence_newcomers.ipynb)). A longer memory is not
# what it misses.
#
# **Change this.** Set `memory` to 10 and run its cell and the next two again. What does your pointer do with a hundred visits?
#
# <details class="solution"><summary>What we saw</summary>
#
# It uses them: the curve has the same shape, a point or so lower, and stays above the rule's.
#
# </details>
#
# ## Memory or model?
#
# Back to GeoLife. In each of the first two rows both models remember equally much. (Differences are taken before rounding.)

# %% tags=["hide-input"]
# @title Table: memory and model on GeoLife, Acc@1 in percent, five seeds
EXACT = {"target_time": "unknown", "protocol": "exact"}
GEOLIFE, TOWN = EXACT | {"data": "geolife"}, EXACT | {"data": "city"}
WEEK = {"model": "kernel", "variant": "full"}
RULE = {"model": "kernel_memory", "variant": "memory_100"}
SHORT, HUNDRED, OURS = (
    {"model": "contextual", "variant": variant}
    for variant in ("window", "memory_100", "full")
)


def by_person(one):
    """Each person's own Acc@1, a mean over seeds."""
    runs = list(results.ranks(**GEOLIFE, **one))
    hits = sum(100 * gains(run)["acc@1"] for run in runs) / len(runs)
    return hits.groupby(runs[0].user_id).mean()


table = {"kernel": [WEEK, RULE], "pointer": [SHORT, HUNDRED]}
for model, pair in table.items():
    table[model] = [results.mean(**GEOLIFE, **one) for one in pair]
table = pd.DataFrame(table, ["seven days", "hundred visits"])
lead = table.pointer.iloc[1] - table.kernel.iloc[0]  # down and across
table.loc["memory brings"] = table.iloc[1] - table.iloc[0]
table["model brings"] = table.pointer - table.kernel
fair = table["model brings"].iloc[1]
left = (by_person(HUNDRED) - by_person(RULE)).mean()
two = HUNDRED | GEOLIFE, RULE | GEOLIFE
_, low, high = results.difference(*two)
added = results.difference(OURS | GEOLIFE, HUNDRED | GEOLIFE)
table.iloc[2, 2] = float("nan")  # the row has differences already
table.map("{:.1f}".format, na_action="ignore").fillna("")

# %% [markdown]
# The whole lead, {{ lead:.1f }} points, is the way from the kernel's seven days to the pointer's hundred visits. Walk it down
# and across, or across and down: either way the step down, memory, is longer than the step across. **More than half of the
# lead is memory**, not the model.
#
# With a hundred visits each the pointer leads by {{ fair:.1f }} points (95 % interval {{ low:.1f }} to {{ high:.1f }}). They
# come from people with many windows: if every person counts equally, {{ left:.1f }} points are left.
#
# Is there a cheaper memory? **Summaries** keep the reach of a longer past: one line for each place that is only found further
# back, with the latest visit there and how many visits it stands for. Of *gym, gym, home, work, home, work* a memory of two
# keeps the last two, and one line for the gym: its second visit, which stands for two. On GeoLife they add {{ added[0]:.1f }}
# points, and the interval holds zero. (So the pointer below has them; [Evidence](evidence_improvements.ipynb) also puts the
# rest of PGT around this pointer, which costs a point.)
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
table.round(2)

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
# It also holds for the mean of many situations, the last column, as the mean of roots is never above the root of the mean.
# So **the best guess lies between the mean agreement and the root of this mean**.
#
# Now count it. For each target take the person's past stays that are like the present one in four ways: at the same place,
# until the same hour, on the same kind of day, after the same place. What share of their pairs agree? Here is somebody
# of the town who leaves the office after six.

# %%
visits, at = town.visits.query("user_id == 8"), 735  # a stay's row
ends, place = visits.finished_at.dt, visits.location_id
stays = pd.DataFrame({"place": place, "hour": ends.hour})
stays["weekend"], stays["before"] = ends.day_of_week >= 5, place.shift()
like = stays[:at].eq(stays.iloc[at]).all(axis=1)  # in all four ways
after = place.shift(-1)[:at][like]  # where they went next
led_to = after.value_counts()
n = led_to.sum()
agreed = (led_to * (led_to - 1)).sum() / (n * (n - 1))  # of all pairs
print(led_to.rename(index=town.places.set_index("location_id").name))
print(f"{agreed:.2f} of the pairs agree")

# %% [markdown]
# Of seven stays four led home: $4 \cdot 3$ of $7 \cdot 6$ ordered pairs agree.
#
# Where no two stays are alike in all four ways, do without "after the same place", then without the kind of day, and so on,
# down to any two stays. The mean over all targets is the lower end, and its root the upper one.
#
# ## Does it work? The town knows
#
# Stays that look alike are not quite alike, so the count may err. In the town the chances are known.

# %% tags=["hide-input"]
# @title Figure 21.2: how good a guess can be, and where the pointer is
limits = read_results("predictability").rows.query("protocol == 'exact'")
limits = limits.set_index(["data", "table", "group"]).sort_index()
limits = limits.value
truth = limits["city", "truth"]
known = truth["time unknown"]  # who knows all habits, but not that
left_over = known - results.mean(**TOWN, **OURS)
really = truth["time unknown, agreement"]
too_high = 100 * (really / 100) ** 0.5
counted = limits["city", "agreement", "finest"]
best_town = 100 * (counted / 100) ** 0.5
fig, panels = plt.subplots(1, 2, figsize=(7.4, 2.2), sharey=True)
for ax, where in zip(panels, (TOWN, GEOLIFE), strict=True):
    found = limits[where["data"]]
    least = found["agreement", "finest"]  # in percent, as all here
    best = 100 * (least / 100) ** 0.5
    new = found["novelty", "whole past"]
    ours = results.mean(**where, **OURS)
    spans = [(least, best), (100 - new,)]
    spans = [(known,), *spans] if where is TOWN else spans
    for at, span in enumerate(spans, 3 - len(spans)):
        ax.plot(span, [at] * len(span), "o-", color=INK, lw=5)
        text = " to ".join(f"{end:.1f}" for end in span)
        ax.annotate(text, (span[-1] + 1.5, at - 0.2), fontsize=8)
    ax.axvline(ours, color=EXTRA)
    text = f"pointer {ours:.1f}"
    ax.text(ours + 1, 2.5, text, color=EXTRA, fontsize=8)
    ax.set(xlabel="Acc@1 (%)", xlim=(24, 90))
    ax.set_title("GeoLife" if where is GEOLIFE else "the town", fontsize=10)
lines = ["all habits known", "agreement", "reach (all past)"]
panels[0].set(yticks=range(3), yticklabels=lines, ylim=(2.8, -0.6))
show(
    fig,
    alt="Limits on the best possible accuracy and the pointer, for the town "
    "and GeoLife. In the town a guess that knows all habits is near the "
    "upper end of agreement, and the pointer is little below.",
    caption="Dot: a guess that knows all habits and, like the pointer, not "
    "when the next visit begins. Agreement: the two ends. Pointer: with "
    "summaries.",
)

# %% [markdown]
# Somebody who knows every habit in the town, but not when the next visit begins, is the dot in the top row. The pointer is
# {{ left_over:.1f }} points below this dot: in the town little is left to win.
#
# The dot lies close to **the upper end** of agreement. **This is because two errors cancel:**
#
# | % | two agree | its root | the best guess |
# |---|---|---|---|
# | as counted | {{ counted:.1f }} | {{ best_town:.1f }} | |
# | by the simulator's own chances | {{ really:.1f }} | {{ too_high:.1f }} | {{ known:.1f }} |
#
# The upper end is near {{ known:.1f }} only because the first row is too low and the root too high. Too low: stays that look
# alike are not. Take a Friday for a Tuesday, and a pair of one of each agrees in 0.6, less often than a pair of a kind does on
# average (first row of the table of chances). Too high: as in the column of Friday, the root is above the best guess.
#
# ## And on GeoLife?
#
# Nobody knows the truth there, nor whether the two errors cancel again. Suppose they do. Then a hundred targets fall into
# four parts.

# %% tags=["hide-input"]
# @title Table: a hundred targets on GeoLife, if the upper end is right
parts = {"the pointer is right": ours}
parts[f"a better one could win: {best:.1f} − {ours:.1f}"] = best - ours
parts |= {"new to the person": new, "chance (the rest)": 100 - best - new}
pd.Series(parts).to_frame("of a hundred").round(1)

# %% [markdown]
# No pointer can name a place that is new to the person, and PGT's generator hardly helps
# ([Evidence](evidence_improvements.ipynb), which has other ceilings, too). Chance and new places would each be about a fifth
# of all targets.
#
# ## What to remember
#
# - Reach is not accuracy: beyond a hundred visits a longer memory does not help the first guess.
# - Compare models that remember equally much. On GeoLife more than half of the pointer's lead is memory.
# - How often like stays agree says, roughly, how good the best guess is. On GeoLife a fifth of the targets are new to the
#   person, and most other misses may be chance.
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
# **Exercise 2** (medium). Write `remembered(places, memory, older)`: which rows of a past (places, oldest first) to keep, and
# the number of older visits that each stands for. The last `memory` rows stay as they are (0). Before them come the summaries,
# at most `older`: the latest row of each place that is not among the last.

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
    print(f"{name}: {past.lengths.mean():.0f} rows, {reach(past):.1f} %")
# The same reach with a third of the rows, and their number has a bound.

# %% [markdown]
# **Next:** [Open vocabulary](22_open_vocabulary.ipynb), for places that training has never seen.
