# %% [markdown]
# # Memory and ceilings
#
# On GeoLife the best model of this book, the contextual pointer, is right with its first guess half of the time. Would it help to
# remember more of the past? Would it help to be a better model? Or is the other half nobody's to foretell?
#
# *You will be able to* compare models that remember equally much, and estimate how good the best possible guess is.
# *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Ablations](14_ablations.ipynb). *It takes* fifteen minutes to
# read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A memory of a hundred visits helps the first guess, a longer one does not; on GeoLife a rule with such
# > a memory comes within {{ fair:.1f }} points of the pointer; and most of what is missed there may be new places and chance.

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
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, INK, show
from wherenext.results import read_results

from pgt.baselines import ContextKernel
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
# ## A longer memory
#
# PGT sees seven days. A model can also be given the last visits of a person, however long ago they were: its **memory**.
# Begin with the rule of [chapter 4](04_baselines.ipynb), the context kernel, in our town, and let it remember more and more. The
# **reach** of a memory is the share of targets that are in it. Nobody who copies can be right more often.

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
    "summaries; the table below has means of five seeds.",
)

# %% [markdown]
# It does not: both are level after fifty visits. On GeoLife the pointer is level after a hundred, though its list of ten still
# gains ([Evidence](evidence_newcomers.ipynb)). For the first guess a longer memory is not what is missing.
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
# The reach of a longer past need not be lost. From here on the pointer keeps, beside a hundred visits, **summaries**: for each place
# that is only found further back one line, with the latest visit there and how many visits it stands for. Of *gym, gym, home, work,
# home, work* a memory of two keeps the last two, and one line for the gym: its second visit, which stands for two.
#
# ## A better model
#
# The pointer is ahead in figure 21.1. By how much, on real people? Compare models that remember equally much.
# *PGT around the pointer* is the network of Part II with the contextual pointer in the place of its own.

# %% tags=["hide-input"]
# @title Table: memory and accuracy, means of five seeds
MODELS = {
    "PGT, seven days": ("pgt", "full"),
    "kernel, seven days": ("kernel", "full"),
    "kernel, hundred visits": ("kernel_memory", "memory_100"),
    "pointer, seven days": ("contextual", "window"),
    "pointer, hundred + summaries": ("contextual", "full"),
    "PGT around the pointer, hundred + summaries": ("contextual", "around"),
}
OURS, AROUND = list(MODELS)[-2:]
EXACT = {"target_time": "unknown", "protocol": "exact"}
GEOLIFE = EXACT | {"data": "geolife"}
SETS = {"the town": EXACT | {"data": "city"}, "GeoLife": GEOLIFE}
levels = {
    title: results.select(**where).groupby(["model", "variant"])["acc@1"]
    for title, where in SETS.items()
}
scores = pd.DataFrame({t: rows.mean() for t, rows in levels.items()})
scores = scores.reindex(list(MODELS.values()))
scores.index = pd.Index(MODELS, name="Acc@1, %")


def behind(label):
    """Points behind the pointer on GeoLife, and the 95 % interval."""
    pair = [MODELS[label], MODELS[OURS]]
    pair = [{"model": model, "variant": variant} for model, variant in pair]
    mean, low, high = results.difference(*(GEOLIFE | one for one in pair))
    return -mean, -high, -low


lead, *_ = behind("kernel, seven days")
fair, least, most = behind("kernel, hundred visits")
around, *_ = behind(AROUND)
shown = scores.round(1).astype(object)
shown.where(scores.notna(), "not measured")

# %% [markdown]
# Look at GeoLife. The pointer with summaries leads the kernel with seven days by {{ lead:.1f }} points. But give the kernel a
# hundred visits, too, and it is only {{ fair:.1f }} points behind (95 % interval {{ least:.1f }} to {{ most:.1f }}).
# **Most of the lead is memory**, and memory is no achievement of the network. (In the town it is not quite half of the lead.)
#
# These are averages over windows. If every person counts equally instead, nearly nothing is left
# ([Evidence](evidence_improvements.ipynb)).
#
# Nor is the rest the work of one fact. Leave out any of the pointer's fourteen, and less than a point is lost
# ([Evidence](evidence_newcomers.ipynb)).
#
# **All of Part II around the pointer does not help on GeoLife**: with it the score is lower by {{ around:.1f }} points.
#
# > **Pitfall.** This does not say "Transformers do not work". *These* windows, of a few dozen people, may not hold what one could
# > learn beyond the comparisons.
#
# ## How good can a guess be?
#
# Somebody leaves the office on a Friday at six. Suppose the chances are 0.6 for home, 0.3 for the gym and 0.1 for the market. The best
# guess is home, and it is right six times in ten.
#
# On real people nobody knows the chances. But we can count: take two such Fridays. How often do they **agree**, that is, lead
# to the same place?

# %%
chances = torch.tensor([0.6, 0.3, 0.1])  # home, gym, market
agree = (chances**2).sum()  # both home, or both gym, or both market
friday = {"two agree": agree, "best guess is right": chances.max()}
friday["square root of agreement"] = agree.sqrt()
pd.Series(friday).astype(float).round(2).to_frame("how often")

# %% [markdown]
# The best guess lies between the other two numbers. This is so for any chances $P$ of the places $\ell$
# ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)):
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# Left: $\sum P \cdot P$ is an average of the probabilities $P$, and no average exceeds the largest. Right: the sum under the root
# contains the square of the largest.
#
# So count pairs of past visits that are alike: the same person, the same place, about the same hour, the same kind of day. How
# often they agree puts the best possible guess between two ends.
#
# ## Does it work? The town knows
#
# Visits that look alike are not quite alike, so the count may err. In the town we can check it: there the simulator drew every next
# place, and its chances are known.

# %% tags=["hide-input"]
# @title Figure 21.2: how good a guess can be, and where the pointer is
limits = read_results("predictability").rows.query("protocol == 'exact'")
limits = limits.set_index(["data", "table", "group"])[["value", "bound"]]
spans, new = {}, {}
for source, title in (("city", "the town"), ("geolife", "GeoLife")):
    new[title] = limits.value[source, "novelty", "whole past"]
    spans[title] = {
        "agreement": tuple(limits.loc[source, "agreement", "finest"]),
        "been there before": (100 - new[title],) * 2,
    }
truth = [
    limits.value["city", "truth", f"time {k}"] for k in ("unknown", "known")
]
spans["the town"] = {"the true chances": tuple(truth), **spans["the town"]}
ours = {title: scores[title][OURS] for title in spans}
room = spans["GeoLife"]["agreement"][1] - ours["GeoLife"]
low, high = spans["the town"]["agreement"]
left_over = truth[0] - ours["the town"]

fig, panels = plt.subplots(1, 2, figsize=(7.4, 2.5), sharey=True)
lines = list(spans["the town"])
for ax, (title, rows) in zip(panels, spans.items(), strict=True):
    for name, (left, right) in rows.items():
        at = lines.index(name)
        ax.plot([left, right], [at] * 2, color=INK, lw=5, marker="|", ms=12)
        text = f"{left:.0f}" + (f" to {right:.0f}" if right > left else "")
        ax.annotate(text, (right + 1, at - 0.2), fontsize=8)
    ax.axvline(ours[title], color=EXTRA)
    ax.text(ours[title] + 1, 2.45, "pointer", color=EXTRA, fontsize=8)
    ax.set(xlabel="Acc@1 (%)", xlim=(24, 90))
    ax.set_title(title, fontsize=10)
panels[0].set_yticks(range(len(lines)), lines)
panels[0].set_ylim(len(lines) - 0.4, -0.6)
show(
    fig,
    alt="Limits on the best possible accuracy and the pointer, for the town "
    "and GeoLife. In the town the true chances are at the upper end of "
    "agreement, and the pointer is little below.",
    caption="True chances: a guess that knows all habits, without and with "
    "the time of the next visit. Agreement: the ends of equation (21.1). "
    "Been there before: the most that copying can reach.",
)

# %% [markdown]
# In the town agreement puts the best guess between {{ low:.0f }} and {{ high:.0f }} %. Somebody who knows every habit of these people,
# but not when the next visit begins, would be right in {{ truth[0]:.0f }} %. So **the truth lies at the upper end**. This end is an
# estimate and no strict limit: visits that only look alike agree too seldom.
#
# The pointer is {{ left_over:.1f }} points below this truth. In the town little is left to win.
#
# ## And on GeoLife?
#
# There the pointer misses half of the targets.
#
# Of a hundred targets, {{ new["GeoLife"]:.0f }} are places where the person has never been. No pointer can name these, and PGT's
# generator, which could, hardly helps ([Evidence](evidence_improvements.ipynb)).
#
# About three in ten are missed although the person has been there. If GeoLife is like the town, the best guess is near the
# upper end of agreement, {{ room:.0f }} points above the pointer. **The rest of the misses would be chance.**
#
# ## What to remember
#
# - Reach is not accuracy: beyond a hundred visits a longer memory does not help the first guess.
# - Compare models that remember equally much. On GeoLife a rule with the same hundred visits comes close, and all of Part II around
#   the pointer does not help.
# - How often like visits agree says, roughly, how good the best guess is. In the town the truth is at the upper end.
# - In the town little is left to win. On GeoLife a fifth of the targets are new to the person, and most other misses may be chance.
#
# ## Exercises
#
# **Exercise 1** (quick). On Saturdays somebody goes home half of the time, to the market three times in ten, and otherwise to
# the park. How often do two Saturdays agree? How often is the best guess right, and between which ends does equation
# (21.1) put it? Give all four, between 0 and 1.

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
# **Exercise 3** (project). A **placebo** is a fact that cannot matter, such as a number that is drawn at random for each visit. Add
# one to the pointer of [chapter 20](20_contextual_pointer.ipynb), and train with it and without it, five seeds each. How large is a
# change by chance?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Give `KNOTS` an entry with the knots 0 and 1, and `facts` a tensor `torch.rand(batch.location.shape)`. Train
# `ReasonPointer` with the four facts and with three, with the same seeds, and take the differences of Acc@1. Their spread is
# luck; a real fact has to do better.
#
# </details>
#
# **Next:** [Open vocabulary](22_open_vocabulary.ipynb), for places that training has never seen.
