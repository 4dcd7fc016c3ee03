# %% [markdown]
# # Memory and ceilings
#
# The contextual pointer is ahead. What is its lead made of, and how much is left to win?
#
# *You will be able to* compare models that remember equally much; put a placebo into a table of ablations; and say how good a
# prediction can be at best. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and
# [Ablations](14_ablations.ipynb). *It takes* fifteen minutes to read and less than a minute to run; a GPU makes no
# difference.
#
# > **In one sentence.** On GeoLife most of the pointer's lead over the rule is memory, for a rule with the same hundred visits
# > comes within {{ fair:.1f }} points; all of Part II around the pointer does not help; and what is missed may be in large part
# > new places and chance.

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
# ## The memory
#
# PGT sees seven days. A model can also be given the last visits of a person, however long ago they were: its **memory**.
# Begin with the rule of [chapter 4](04_baselines.ipynb), and let it remember more and more. The **reach** of a memory is the
# share of targets that are in it; nobody who copies can be right more often.

# %%
# The rule's five numbers, as a run of book/results has chosen them on
# validation, for a hundred visits; fewer visits might want others.
chosen = results.header["runs"]["city/kernel_memory-memory_100-unknown-None"]
chosen = {name: chosen[name] for name in ContextKernel.GRID}
kernel = ContextKernel(**chosen).fit(data.train)


def reach(windows):
    """Percent of the windows whose target is among what they show."""
    found = [
        (b.location == b.target[:, None]).any(1) for b in windows.batches(512)
    ]
    return 100 * float(torch.cat(found).float().mean())


sizes = (10, 20, 50, 100, 200, 400)
tests = {n: with_history(data, memory=n).test for n in sizes}
town = {n: [reach(test), accuracy(kernel, test)] for n, test in tests.items()}
town = pd.DataFrame(town, index=["reach, %", "kernel, Acc@1 %"]).T
town.rename_axis("visits remembered").round(1)

# %% [markdown]
# **Reach is not accuracy.** The first column goes on rising, the second stops at fifty. An old visit puts its place in sight,
# but it also votes, mostly for the wrong place.
#
# Does a model that learns make more of a long past? Train the contextual pointer with a hundred visits, and ask it with the same
# memories.

# %%
memory = 100  # @param {type:"slider", min:10, max:400, step:10}

# %%
# older=0: no summaries, which come below.
variant = pointer_variants.Variant(memory=memory, older=0)
seen = pointer_variants.windows(data, variant)
pointer, training = pointer_variants.build(variant, data, seed=1)
fit(pointer, seen.train, seen.valid, training, progress=False)
town["your pointer"] = [accuracy(pointer, test) for test in tests.values()]

# %% tags=["hide-input"]
# @title Figure 21.1: the same memory for both
fig, axes = plt.subplots(figsize=(7.0, 3.2))
two = town[["your pointer", "kernel, Acc@1 %"]]
two = two.set_axis(["your pointer", "kernel"], axis=1)
look = {"palette": [EXTRA, COPIED], "markers": True}
sns.lineplot(two, **look, ax=axes)
axes.set(xscale="log", xlabel="visits remembered", ylabel="Acc@1 (%)")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
show(
    fig,
    alt="Acc@1 over the number of remembered visits, for the kernel and a "
    "pointer: both curves rise steeply to fifty visits and are level after; "
    "the pointer's is higher everywhere.",
    caption="The town's test windows. Your pointer has one seed and no "
    "summaries; figure 21.2 has means of five seeds.",
)

# %% [markdown]
# A model that learns makes no more of a long past: both are level after fifty visits. At every memory the pointer is ahead. (On
# GeoLife the pointer is level after a hundred, see the [evidence](evidence_newcomers.ipynb).)
#
# **Change this.** Set the slider `memory` to 10 and run its cell and the next two again. Does your pointer know what to do with a
# hundred visits?
#
# <details class="solution"><summary>What we saw</summary>
#
# It does: the curve has the same shape, a point or so lower, and stays above the rule's.
#
# </details>
#
# The reach of a longer past need not be lost. From here on a contextual pointer with a hundred visits also keeps **summaries**:
# for each place that is only found further back one line, with the latest visit there and how many visits it stands for. Of *gym,
# gym, home, work, home, work* a memory of two keeps the last two, and one line for the gym: its second visit, which stands for two.
#
# ## The fair comparison
#
# So compare models that remember nearly as much. *PGT around the pointer* is the network of Part II with the contextual pointer in
# the place of its own (not measured in the town).

# %% tags=["hide-input"]
# @title Figure 21.2: everybody against the contextual pointer
MODELS = {
    "PGT, seven days": ("pgt", "full"),
    "kernel, seven days": ("kernel", "full"),
    "kernel, hundred visits": ("kernel_memory", "memory_100"),
    "pointer, seven days": ("contextual", "window"),
    "PGT around the pointer, hundred + summaries": ("contextual", "around"),
    "pointer, hundred + summaries": ("contextual", "full"),
}
*_, AROUND, OURS = MODELS
FULL = {"model": "contextual", "variant": "full"}
UNTIMED = {"target_time": "unknown"}  # nobody tells when the next visit is
EXACT = UNTIMED | {"protocol": "exact"}
SETS = {"GeoLife": EXACT | {"data": "geolife"}}
SETS["the town"] = EXACT | {"data": "city"}
which = {n: dict(zip(FULL, two, strict=True)) for n, two in MODELS.items()}
geolife, scores, changes = SETS["GeoLife"], {}, {}
for title, where in SETS.items():
    levels = results.select(**where).groupby([*FULL])["acc@1"].mean()
    there = {n: levels[two] for n, two in MODELS.items() if two in levels}
    scores[title] = pd.Series(there)
    rivals = {n: which[n] for n in there if which[n] != FULL}
    changes[title] = compare(results, rivals, FULL, **where).table()
exact = -changes["GeoLife"]
lead, around = exact["mean"]["kernel, seven days"], exact["mean"][AROUND]
fair, most, least = exact.loc["kernel, hundred visits"][:3]
shorter = results.mean(model="contextual", variant="memory_100", **geolife)
older = scores["GeoLife"][OURS] - shorter

fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.2), sharex=True, sharey=True)
at = dict(zip(MODELS, range(len(MODELS)), strict=True))
for ax, (title, table) in zip(panels, changes.items(), strict=True):
    ax.axvline(0, color=INK, lw=1)
    rows = table.index.map(at)
    ax.hlines(rows, table.low, table.high, color=EXTRA, lw=2)
    ax.plot(table["mean"], rows, "o", color=EXTRA)
    ax.plot(0, at[OURS], "o", color=INK)
    for name, score in scores[title].items():
        ax.text(1, at[name], f"{score:.1f} %", fontsize=8, va="center")
    ax.set_title(title, fontsize=10)
panels[0].set_yticks(list(at.values()), list(at), fontsize=8)
panels[0].set(xlim=(-17, 4.5), ylim=(len(at) - 0.5, -0.5))
fig.supxlabel("Acc@1 against the contextual pointer (points)", fontsize=10)
show(
    fig,
    alt="Differences of five models from the contextual pointer on GeoLife "
    "and of four in the town, all below zero; on GeoLife the closest is the "
    "pointer with PGT around it, then the kernel with a hundred visits.",
    caption="Exact protocol: mean over five seeds and 95 % interval over "
    "people and seeds; right of the line, Acc@1. PGT has the settings of its "
    "design, not those that chapter 19 found by a search.",
)

# %% [markdown]
# On GeoLife the pointer leads the rule by {{ lead:.1f }} points. But the rule saw seven days. Give it the same hundred
# visits, and {{ fair:.1f }} are left, {{ older:.1f }} of which may come from the summaries: without them the pointer loses as
# much. **On GeoLife most of the lead is memory** (in the town, not quite half). And memory is no achievement of the network: there
# it brings the rule about as much as the pointer.
#
# Averaged over windows, the rest has an interval of {{ least:.1f }} to {{ most:.1f }} points. Averaged person by person, so that
# people with many windows do not dominate, nearly nothing is left ([Evidence](evidence_improvements.ipynb)).
#
# **All of Part II around the pointer does not help on GeoLife**: the score is lower by {{ around:.1f }}.
#
# > **Pitfall.** This does not say "Transformers do not work". *These* windows, of a few dozen people, may not hold what one could
# > learn beyond the comparisons.
#
# ## One of its facts?
#
# Is the lead one fact's work? Leave out each of the fourteen facts in turn and train anew, with five seeds. One of them,
# `unknown`, asks whether a place is the symbol for unknown places, and by the exact protocol no place is. So it is a
# **placebo**: leaving it out changes nothing but the random first weights, and its row shows chance. Our rule: a fact whose mean
# lies within the placebo's interval cannot be told from luck.

# %%
# FULL, geolife (which rows of the results): from the folded cell above.
PLACEBO = "unknown"
every = results.select(model="contextual", **geolife).variant.unique()
# no_scale is no fact: it leaves out a part of the network.
features = [v[3:] for v in every if v.startswith("no_") and v != "no_scale"]
without = {n: FULL | {"variant": f"no_{n}"} for n in features}
found = compare(results, without, FULL, **geolife).table()
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
    caption="GeoLife, exact; 95 % intervals, each for one fact alone. Grey: "
    "the interval of the placebo, 'unknown'.",
)

# %% [markdown]
# All rows are negative, even the placebo's: they are differences to the same five runs of the whole model, and a little luck
# of these moves them all ([chapter 14](14_ablations.ipynb)). By our rule only the clock stands out, and barely: in
# intervals that hold together ([chapter 19](19_improvements.ipynb)) even the clock's contains zero. Without the placebo we might have believed in `age` and `count`, too: their
# intervals end below zero.
#
# Even the clock costs less than a point, and *came from here* (`before`) nothing that one could see. Yet both brought several
# points in [chapter 20](20_contextual_pointer.ipynb), when the facts came in one after the other: others can take over. `stayed`,
# for instance, asks whether the stay before a visit was as long as the present one. A stay of eight hours is often one at work,
# so this fact, too, finds visits that came from here (in the town we counted it).
#
# ## How much is left to win?
#
# Nobody knows the best possible score on real people, but two arguments help.
#
# *New places.* Who only names places of the past misses all others
# ([Cuttone et al., 2018](https://doi.org/10.1140/epjds/s13688-017-0129-1)).
#
# *Agreement.* On two past Fridays somebody left the office at six, once for home and once for the gym: the two do not agree. Take
# many such pairs, of the same person, place, hour and kind of day. If the next place has the distribution $P$, two agree with
# probability $\sum_\ell P(\ell)^2$. That can be counted without knowing $P$, and it limits the best guess on both sides
# ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)):
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# Left: $\sum P \cdot P$ is an average of the probabilities $P$, and no average exceeds the largest. Right: the sum under the root
# contains the square of the largest. The equation is for one situation; the bars below are averages over windows. Those of
# agreement are estimates: situations that look alike are not quite alike, which lowers them.
#
# In the town, but not on GeoLife, there is a third way: ask the simulator. The last bar begins with the score of somebody who knows
# all habits that it gave to people. It ends with that of somebody who also knows when the next visit begins.

# %% tags=["hide-input"]
# @title Figure 21.4: ceilings, and where the models are
limits = read_results("predictability").rows
limits = limits[limits.protocol == "exact"]


def limit(source, table, group, column="value"):
    rows = limits[(limits.data == source) & (limits.table == table)]
    return float(rows[rows.group == group][column].iloc[0])


fences = {}
for source, title in (("geolife", "GeoLife"), ("city", "the town")):
    past = 100 - limit(source, "novelty", "whole past")
    low, high = (
        limit(source, "agreement", "finest", c) for c in ("value", "bound")
    )
    fences[title] = {"been there before": (past, past)}
    fences[title]["agreement"] = (low, high)
truth = [limit("city", "truth", f"time {k}") for k in ("unknown", "known")]
fences["the town"]["the town's own chances"] = tuple(truth)
left_over = truth[0] - scores["the town"][OURS]
new = limit("geolife", "novelty", "whole past")
old = 100 - scores["GeoLife"][OURS] - new  # missed, but been there before
room = fences["GeoLife"]["agreement"][1] - scores["GeoLife"][OURS]

fig, panels = plt.subplots(1, 2, figsize=(7.4, 2.7), sharey=True)
lines = {"PGT, seven days": (GENERATED, "--")}
lines["kernel, hundred visits"] = (COPIED, "-")
lines[OURS] = (EXTRA, "-")
for ax, (title, rows) in zip(panels, fences.items(), strict=True):
    for at, (low, high) in enumerate(rows.values()):
        ax.plot([low, high], [at, at], color=INK, lw=5, marker="|", ms=12)
        text = f"{low:.0f}" + (f" to {high:.0f}" if high > low else "")
        ax.annotate(text, (high, at - 0.2), fontsize=8)
    for name, (colour, style) in lines.items():
        ax.axvline(scores[title][name], color=colour, ls=style, label=name)
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
    caption="First row: the most that copying can reach. Second: the best "
    "possible guess is between the ends, if situations that look alike are "
    "alike. Coloured lines: models.",
)

# %% [markdown]
# In the town the pointer is {{ left_over:.1f }} points below the left end of the last bar: little is left to win.
#
# On GeoLife the pointer misses half of the targets. {{ new:.0f }} points of these are places where the person has never been. No
# pointer can name them. PGT's generator is there for that, but it hardly helps ([Evidence](evidence_improvements.ipynb)).
#
# The other {{ old:.0f }} points are at places where the person has been. Agreement leaves hope for up to {{ room:.0f }} points.
# **The rest would be chance**, if situations that look alike were alike.
#
# ## What to remember
#
# - Compare models that remember equally much. On GeoLife a rule with the same hundred visits comes close.
# - An ablation table needs a placebo. And where two parts do the same work, leaving out one shows little.
# - On GeoLife, with its few dozen people, all of Part II around the pointer does not help.
# - In the town, where the truth is known, little is left to win. On GeoLife a fifth of the targets are new to the person, and most
#   other misses may be chance.
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
# **Exercise 2** (medium). Write `remembered(places, memory, older)`: which rows of a past (places, oldest first) to keep, and
# the number of older visits that each stands for. The last `memory` rows stay as they are (0). Before them come the summaries,
# at most `older`: the latest row of each place that is not among the last. How far does such a memory reach in the town?

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
# **Exercise 3** (project). Add a placebo to the pointer of [chapter 20](20_contextual_pointer.ipynb): a fact that is drawn at random
# for each visit. Train with it and without it, five seeds each. How large is a change by chance there?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Give `KNOTS` an entry with the knots 0 and 1, and `facts` a tensor `torch.rand(batch.location.shape)`. Train
# `ReasonPointer` with the four facts and with three, with the same seeds, and take the differences of Acc@1. Their spread is what
# you may call luck; a real fact has to do better.
#
# </details>
#
# **Next:** [Open vocabulary](22_open_vocabulary.ipynb), for places that training has never seen.
