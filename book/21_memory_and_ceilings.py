# %% [markdown]
# # Memory and ceilings
#
# The contextual pointer is ahead. How much of that is the model, how much is its memory, and how much is there to win at all?
#
# *You will be able to* compare models that remember equally much; put a placebo into a table of ablations; and say how good a
# prediction can be at best. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and
# [Ablations](14_ablations.ipynb). *It takes* fifteen minutes to read and about half a minute to run; a GPU makes no
# difference.
#
# > **In one sentence.** On GeoLife most of the pointer's lead over the rule is memory, for a rule with the same hundred visits
# > comes within {{ fair:.1f }} points; a Transformer around the pointer does not help; and all of them fail at places where the
# > person has never been.

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
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from wherenext import city, pointer_variants
from wherenext.comparison import compare
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, INK, MUTED, show
from wherenext.results import read_results

from pgt.baselines import ContextKernel
from pgt.contextual import HISTORY_FEATURES
from pgt.history import with_history
from pgt.metrics import evaluate, gains
from pgt.train import fit
from pgt.windows import prepare

data = prepare(city.load().visits, protocol="exact")  # the simulated town
results = read_results("beyond")


def accuracy(model, windows):
    """Acc@1 in percent."""
    return 100 * gains(evaluate(model, windows))["acc@1"].mean()


# %% [markdown]
# ## What a memory is worth
#
# PGT sees seven days. A model can also be given the last visits of a person, however long ago they were: its **memory**.
# Begin with the rule of [chapter 4](04_baselines.ipynb), and let it remember more and more. Its five numbers were chosen for a
# memory of a hundred visits, and stay the same.

# %%
# What was chosen on validation for a hundred visits, from the results file.
chosen = results.header["runs"]["city/kernel_memory-memory_100-unknown-None"]
chosen = {name: chosen[name] for name in ContextKernel.GRID}
kernel = ContextKernel(**chosen).fit(data.train)


def in_sight(windows):
    """Percent of the windows whose target is among what they show."""
    found = [
        (b.location == b.target[:, None]).any(1) for b in windows.batches(512)
    ]
    return 100 * float(torch.cat(found).float().mean())


rows = {}
for n in (10, 20, 50, 100, 200, 400):
    test = with_history(data, memory=n).test
    rows[n] = [in_sight(test), accuracy(kernel, test)]
heads = ["target is remembered, %", "kernel, Acc@1 %"]
town = pd.DataFrame(rows, index=heads).T.rename_axis("visits remembered")
town.round(1)

# %% [markdown]
# The first column goes on rising. The second stops at fifty. An old visit puts its place in sight, but it also votes, mostly for the
# wrong place.
#
# **Change this.** Now train the contextual pointer with a memory of your choice, in seconds, and watch the diamond. With how
# short a memory does it still beat the rule that remembers everything?
#
# <details class="solution"><summary>What we saw</summary>
#
# With the shortest memory of the slider already: ten visits, with seed 1, are enough to be ahead, if only by a little.
#
# </details>

# %%
memory = 100  # @param {type:"slider", min:10, max:400, step:10}

# %%
# older=0: nothing of the places further back.
variant = pointer_variants.Variant(memory=memory, older=0)
seen = pointer_variants.windows(data, variant)
pointer, training = pointer_variants.build(variant, data, seed=1)
fit(pointer, seen.train, seen.valid, training, progress=False)
own = accuracy(pointer, seen.test)

GEOLIFE = {"data": "geolife", "protocol": "exact"}
UNTIMED = {"target_time": "unknown"}  # nobody tells when the next visit is
of_pointer = GEOLIFE | UNTIMED | {"model": "contextual"}
curve = {
    n: results.mean(variant=f"memory_{n}", **of_pointer) for n in town.index
}

# %% tags=["hide-input"]
# @title Figure 21.1: more memory
fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0), sharex=True)
line = {"marker": "o", "ax": left, "color": COPIED, "label": "kernel"}
sns.lineplot(x=town.index, y=town["kernel, Acc@1 %"], **line)
left.plot(memory, own, "D", color=EXTRA, label="your pointer")
left.legend()
line = {"marker": "o", "ax": right, "color": EXTRA, "label": "pointer"}
sns.lineplot(x=list(curve), y=list(curve.values()), **line)
for ax, title in ((left, "the town"), (right, "GeoLife")):
    ax.set(xscale="log", xlabel="visits remembered", ylabel="Acc@1 (%)")
    ax.set_xticks(town.index, town.index)
    ax.minorticks_off()
    ax.set_title(title, fontsize=10)
right.set_ylabel("")
show(
    fig,
    alt="Acc@1 over the number of remembered visits: both curves rise "
    "steeply to fifty visits and are level after a hundred.",
    caption="Left: the rule, and your training. Right: the contextual "
    "pointer on GeoLife, means over five seeds.",
)

# %% [markdown]
# After fifty visits nothing more comes for the rule in the town, and after a hundred for the pointer on GeoLife. (The panels
# show other models, other people and other scales; compare only their shapes.)
#
# ## The fair comparison
#
# Now put everybody side by side, by both protocols and in the town. *PGT around it* is the network of Part II with the
# contextual pointer in the place of its own. (What is empty was not measured. PGT differs a little from
# [chapter 4](04_baselines.ipynb): on GeoLife these are five of its ten seeds, and in the town other trainings.)

# %% tags=["hide-input"]
# @title Table: everybody side by side
MODELS = {
    "PGT": ("pgt", "full"),
    "kernel": ("kernel", "full"),
    "kernel, last hundred visits": ("kernel_memory", "memory_100"),
    "contextual pointer, seven days": ("contextual", "window"),
    "contextual pointer": ("contextual", "full"),
    "contextual pointer, PGT around it": ("contextual", "around"),
}
scores = results.select(**UNTIMED)  # test windows, a row a seed
scores = scores.groupby(["model", "variant", "data", "protocol"])["acc@1"]
scores = scores.mean().unstack(["data", "protocol"]).loc[MODELS.values()]
SETS = {"GeoLife, exact": ("geolife", "exact")}
SETS["GeoLife, published"] = ("geolife", "published")
SETS["the town, exact"] = ("city", "exact")
scores = scores[list(SETS.values())].set_axis(list(SETS), axis=1)
scores = scores.set_axis(list(MODELS), axis=0)
scores.round(1).astype(object).fillna("").rename_axis("Acc@1, %")

# %% tags=["hide-input"]
# @title Figure 21.2: everybody against the contextual pointer
FULL = {"model": "contextual", "variant": "full"}
which = {n: dict(zip(FULL, two, strict=True)) for n, two in MODELS.items()}
changes = {}
for title, (source, protocol) in SETS.items():
    there = scores[title].dropna().index.drop("contextual pointer")
    rivals = {name: which[name] for name in there}
    where = UNTIMED | {"data": source, "protocol": protocol}
    changes[title] = compare(results, rivals, FULL, **where).table()
exact = changes["GeoLife, exact"]["mean"]
lead, fair = -exact["kernel"], -exact["kernel, last hundred visits"]
around = -exact["contextual pointer, PGT around it"]
older = scores["GeoLife, exact"]["contextual pointer"] - curve[100]

fig, panels = plt.subplots(1, 3, figsize=(7.4, 2.8), sharex=True, sharey=True)
rows = [name for name in MODELS if name != "contextual pointer"]
for ax, (title, table) in zip(panels, changes.items(), strict=True):
    found, at = table.reindex(rows), np.arange(len(rows))
    ax.axvline(0, color=INK, lw=1)
    ax.hlines(at, found.low, found.high, color=EXTRA, lw=2)
    ax.plot(found["mean"], at, "o", color=EXTRA)
    ax.set_title(title, fontsize=10)
panels[0].set_yticks(at, rows, fontsize=8)
panels[0].invert_yaxis()
fig.supxlabel("Acc@1 against the contextual pointer (points)", fontsize=10)
show(
    fig,
    alt="Differences of five models from the contextual pointer on three "
    "data sets, all below zero; on GeoLife the closest is the pointer with "
    "PGT around it, then the kernel with a hundred visits.",
    caption="Mean over five seeds and 95 % interval over people and seeds. "
    "PGT has the settings of its design.",
)

# %% [markdown]
# On GeoLife, where the very place must be named, the pointer leads the rule by {{ lead:.1f }} points. But the rule saw
# seven days. Give it the same hundred visits, and {{ fair:.1f }} are left. ({{ older:.1f }} of these may come from the
# summaries of older places, which the rule lacks.) So on GeoLife **most of the lead is memory** (in the town, not quite
# half). The rest is small. Averaged over windows, its interval leaves zero out, by both protocols. Averaged person by
# person, so that people with many windows do not dominate, it does not ([Evidence](evidence_improvements.ipynb)).
#
# **The Transformer does not help.** With all of Part II around the pointer, the score is lower by {{ around:.1f }}.
#
# > **Pitfall.** It is tempting to read this as "Transformers do not work". It says that *these* windows, of a few dozen people, do
# > not hold what a Transformer could learn beyond the comparisons. With a million people it may help.
#
# ## A placebo in the table
#
# Which of the fourteen facts about a past place matter? Leave out each in turn and train anew, with five seeds. One of them,
# `unknown`, asks whether a place is the symbol for unknown places, and by the exact protocol no place is. It has the same value
# for all visits. It is a **placebo**: leaving it out changes nothing but the random first weights, so whatever its row shows is
# chance.

# %%
PLACEBO = "unknown"
every = results.select(**of_pointer).variant.unique()
features = [v[3:] for v in every if v.startswith("no_") and v != "no_scale"]
without = {n: FULL | {"variant": f"no_{n}"} for n in features}
found = compare(results, without, FULL, **GEOLIFE, **UNTIMED).table()
found = found.sort_values("mean")

# %% tags=["hide-input"]
# @title Figure 21.3: fourteen facts, one of them a placebo
asks = [f"{name}: {HISTORY_FEATURES[name].about}" for name in found.index]
fig, ax = plt.subplots(figsize=(7.4, 3.9))
sns.pointplot(x=found["mean"], y=found.index, linestyle="none", ax=ax)
ax.hlines(found.index, found.low, found.high, color=COPIED)
ax.axvline(0, color=MUTED, lw=1)
ax.set_yticks(range(len(asks)), asks, fontsize=8)
ax.set_xticks([-1.5, -1, -0.5, 0])
ax.axvspan(*found.loc[PLACEBO, ["low", "high"]], color=MUTED, alpha=0.2)
ax.set(xlabel="change of Acc@1 without the fact (points)", ylabel="")
show(
    fig,
    alt="Forest plot of fourteen facts left out; the clock loses most, and "
    "most others lie within the band of the placebo.",
    caption="GeoLife, exact. Grey: the interval of the placebo, 'unknown'.",
)

# %% [markdown]
# All rows are negative, even the placebo's. They are differences to the same five runs of the whole model, so a little luck of
# these five moves them all ([chapter 14](14_ablations.ipynb)). On average only one of the thirteen real facts loses more than
# the placebo's band reaches: the clock. Without the placebo we might have written a paragraph on `age` and one on `count`, too,
# since their intervals end below zero.
#
# And even the clock costs less than a point, and *before*, which is *came from here*, nothing that one could see, although
# both brought several points when the facts came in one after the other ([chapter 20](20_contextual_pointer.ipynb)). Both
# numbers are right. The other facts have taken over their work. Such redundancy is the trouble of every ablation. A placebo
# costs one row: put one into your own table.
#
# ## What is predictable at all?
#
# Nobody knows the best possible score on real people. But there are arguments that limit it.
#
# *New places.* Who only names places of the past misses all others
# ([Cuttone et al., 2018](https://doi.org/10.1140/epjds/s13688-017-0129-1)).
#
# *Agreement.* Take two past situations of a person that are like the present one: the same place, the same hour, the same kind of
# day. If the next place has the distribution $P$, the two lead to the same place with probability $\sum_\ell P(\ell)^2$. That
# can be counted without knowing $P$, and it limits the best guess on both sides
# ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)):
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# Left: $\sum P \cdot P$ is an average of the probabilities $P$, and no average exceeds the largest. Right: the sum contains
# $(\max P)^2$, so its root is at least $\max P$. Over many situations both ends hold on average, since a mean of roots is at
# most the root of the mean.
#
# *The town's own chances.* In the simulated town the simulator can be asked. In the last row below, the bar goes from the score
# of somebody who knows all habits that the simulator gave to people, to that of somebody who also knows when the next visit
# begins.

# %% tags=["hide-input"]
# @title Figure 21.4: ceilings, and where the models are
limits = read_results("predictability").rows
limits = limits[(limits.protocol == "exact") & limits.table.notna()]


def limit(source, table, group, column="value"):
    rows = limits[(limits.data == source) & (limits.table == table)]
    return float(rows[rows.group == group][column].iloc[0])


fences = {}
for source, title in (("geolife", "GeoLife"), ("city", "the town")):
    week = 100 - limit(source, "novelty", "7 days")
    past = 100 - limit(source, "novelty", "whole past")
    low, high = (
        limit(source, "agreement", "finest", c) for c in ("value", "bound")
    )
    fences[title] = {"not new in seven days": (week, week)}
    fences[title]["not new in the whole past"] = (past, past)
    fences[title]["agreement"] = (low, high)
truth = [limit("city", "truth", f"time {k}") for k in ("unknown", "known")]
fences["the town"]["the town's own chances"] = tuple(truth)
ours = scores["the town, exact"]["contextual pointer"]
left_over = truth[0] - ours
missing = 100 - scores["GeoLife, exact"]["contextual pointer"]
new = limit("geolife", "novelty", "whole past")
ways = read_results("perspectives").rows
ways = ways[(ways.data == "new york") & (ways.scoring == "explore_known")]
ways = ways[ways.measure == "acc@10"].set_index("model").value
generated, chain = ways["pgt"], ways["markov"]

fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.0), sharey=True)
lines = {"PGT": (GENERATED, "--"), "contextual pointer": (EXTRA, "-")}
lines["kernel, last hundred visits"] = (COPIED, "-")
for ax, (title, rows) in zip(panels, fences.items(), strict=True):
    for at, (low, high) in enumerate(rows.values()):
        ax.plot([low, high], [at, at], color=INK, lw=5, marker="|", ms=12)
        text = f"{low:.0f}" + (f" to {high:.0f}" if high > low else "")
        ax.annotate(text, (high, at - 0.2), fontsize=8)
    for name, (colour, style) in lines.items():
        score = scores[f"{title}, exact"][name]
        ax.axvline(score, color=colour, ls=style, label=name)
    ax.set(xlabel="Acc@1 (%)", xlim=(24, 90))
    ax.set_title(title, fontsize=10)
panels[1].set_yticks(range(len(rows)), list(rows))
panels[1].set_ylim(len(rows) - 0.5, -0.6)
handles = panels[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper center", ncols=3, fontsize=8)
show(
    fig,
    alt="Limits on the best possible accuracy beside three models, for "
    "GeoLife and the town. In the town the pointer is close to the lower "
    "end of the town's own chances.",
    caption="Marks: the most that copying from so many days can reach. Thick "
    "bars: between their ends lies the best possible guess. Lines: models.",
)

# %% [markdown]
# In the town the pointer is {{ left_over:.1f }} points below what somebody has who knows all habits, the lower end of the
# last bar: little is left to win. GeoLife has no simulator that one could ask, and agreement leaves room for some points.
# The pointer misses {{ missing:.0f }} % of the targets there, and {{ new:.0f }} points of these are places where the person
# has never been. No pointer can name them.
#
# PGT's generator is there for what a pointer cannot name, but it hardly helps. In New York, whose people record their own
# visits ([chapter 23](23_real_cities.ipynb)), many places that are new to a person are known from others. If one of them is
# next, it is among PGT's ten guesses in {{ generated:.1f }} % of the cases, and among a Markov chain's in
# {{ chain:.1f }} %. **Somewhere new is where they all fail.**
#
# > **Pitfall.** Ceilings are estimates, too, and each is a ceiling for something else. Agreement ends a little too low in the
# > town, where we know the truth, because situations that look alike are not quite alike. Take it as a hint.
#
# ## What to remember
#
# - Compare models that remember equally much. On GeoLife a rule with the same hundred visits comes close.
# - An ablation table needs a placebo. And where two parts do the same work, leaving out one shows little.
# - On windows of a few dozen people a Transformer around the pointer does not help.
# - Where the truth is known, little is left to win. Places that are new to a person are the open problem.
#
# ## Exercises
#
# **Exercise 1** (quick). On Saturdays somebody goes home half of the time, to the market three times in ten, and otherwise to
# the park. How often do two Saturdays agree? How often is the best guess right, and between which ends does equation
# (21.1) put it? Give all four as numbers between 0 and 1.

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
# **Exercise 2** (medium). Use `results.difference` to ask what a memory is worth by the published protocol: for the pointer ("full"
# against "window") and for the kernel. Who gains more?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
merged = UNTIMED | {"data": "geolife", "protocol": "published"}
pairs = {"pointer": ("contextual pointer", "contextual pointer, seven days")}
pairs["kernel"] = ("kernel, last hundred visits", "kernel")
for name, pair in pairs.items():
    one, other = (merged | which[model] for model in pair)
    mean, low, high = results.difference(one, other)
    print(f"{name}: {mean:+.1f} points [{low:.1f}, {high:.1f}]")
# About the same: a memory is no achievement of the network.

# %% [markdown]
# **Exercise 3** (project). Add a placebo to the pointer of [chapter 20](20_contextual_pointer.ipynb): a fact that is drawn at random
# for each visit. Train with it and without it, five seeds each. How large is a change by chance there?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Give `KNOTS` an entry with the knots 0 and 1, and `facts` a tensor `torch.rand(batch.location.shape)`. Train
# `ReasonPointer` with the four facts and with three, with the same seeds, and take the differences of Acc@1. Their mean
# should be near
# zero, and their spread is what you may call luck. A real fact has to do better than that.
#
# </details>
#
# **Next:** [Open vocabulary and a longer memory](22_open_vocabulary.ipynb), for places that training has never seen.
