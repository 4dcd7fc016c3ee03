# %% [markdown]
# # Traps
#
# One rule, one set of visits, a dozen scores: which of them did the paper print?
#
# *You will be able to* say what a score in next-location prediction is worth, by checking it for the traps of this
# chapter. *You need* [Baselines](04_baselines.ipynb) and [Training](10_training.ipynb). *It takes* fifteen minutes to read
# and about half a minute to run, with or without a GPU.
#
# > **In one sentence.** A score means nothing without its protocol: the same rule on the same visits is right
# > {{ lowest:.0f }} or {{ highest:.0f }} % of the time, depending on how one counts.

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
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, show
from wherenext.results import read_results

from pgt.baselines import ContextKernel, fit_baseline
from pgt.config import WindowConfig
from pgt.metrics import evaluate, gains, interval, summarize
from pgt.windows import prepare

# %%
visits = city.load().visits

# %% [markdown]
# A benchmark is a chain of small decisions: what a place is, when a day begins, which targets count. Some of these decisions
# are worth more points than the model that you want to show. Five such traps you can walk into here, on the simulated town;
# [Evidence: traps](evidence_traps.ipynb) measures them on [GeoLife](23_real_cities.ipynb).
#
# We use the context kernel of [chapter 4](04_baselines.ipynb). It has five numbers, chosen on validation each time, and no
# random seed. So a change of its score comes from the question that we ask, not from luck.
#
# ## Mixed protocols
#
# Let us ask the kernel a dozen questions about the same visits. Unknown places are one symbol (*published*) or keep their
# names (*exact*). A window holds 7 days, or as many more as you like. And we count all targets, or only those that training
# knows, or only those that are in the window.

# %%
longer = 28  # @param {type:"slider", min:8, max:56, step:1}


# %%
def windows_of(protocol, days=7, anchor="last_visit", table=visits):
    config = WindowConfig(days=days, protocol=protocol, anchor=anchor)
    return prepare(table, config=config)


def kernel_on(data):
    """Its five numbers chosen on validation, its ranks on the test."""
    return evaluate(fit_baseline("kernel", data.train, data.valid), data.test)


kinds = {"all": "all", "known": "known", "in_window": "in the window"}
dozen = []
for protocol in ("published", "exact"):
    for days in (7, longer):
        ranks = kernel_on(windows_of(protocol, days))
        score = summarize(ranks, kinds).set_index("group")["acc@1"]
        for group, name in kinds.items():
            dozen.append([f"{protocol}, {days} days", name, score[group]])
dozen = pd.DataFrame(dozen, columns=["protocol", "targets", "acc@1"])
lowest, highest = dozen["acc@1"].min(), dozen["acc@1"].max()
apart = highest - lowest

# %% tags=["hide-input"]
# @title Figure 15.1: one rule under twelve protocols
figure, axes = plt.subplots(figsize=(7.0, 3.2))
sns.stripplot(dozen, x="acc@1", y="protocol", hue="targets", size=9, ax=axes,
              jitter=False, palette=[COPIED, GENERATED, EXTRA])  # fmt: skip
axes.set(xlabel="Acc@1 of the context kernel (%)", ylabel="")
show(
    figure,
    alt="Twelve scores of one kernel, by protocol, history and targets.",
    caption="One rule under twelve protocols, in the simulated town.",
)

# %% [markdown]
# The lowest and the highest score are {{ apart:.0f }} points apart. The rule is the same, its five numbers refitted. With a
# longer history the scores are higher, but for *published, in the window*: there *unknown* targets are found less often.
# (`anchor` is a trap of its own, below.)
#
# > **Remedy.** Print the protocol, the days of history and the kind of targets beside every score. Compare inside one
# > protocol.
#
# ## The unknown token
#
# One of these choices is about names. In *published*, every place that the training days never showed becomes one symbol,
# *unknown*. A prediction of *unknown* counts as right whenever the target is any of those places.

# %%
names = {"published": "merged", "exact": "by name"}
merging = {}
for protocol, name in names.items():
    data = windows_of(protocol)
    score = summarize(kernel_on(data), ["all", "known", "unknown"])
    merging[name] = score.set_index("group")["acc@1"]
    merging[name]["target in the window"] = 100 * data.test.in_window.mean()
merging = pd.DataFrame(merging).T.round(1)
merging.rename_axis(columns="unknown places")

# %% tags=["hide-input"]
# @title The same on GeoLife: numbers that the text below uses
traps = read_results("traps").rows
ways = traps[traps.way.notna()].set_index(["what", "way"])
real = traps[traps.way.isna()].set_index("what")
value = real.value
merged = value["kernel, unknown places merged"]
by_name = value["kernel, unknown places by name"]
with_token = value["target in the window, unknown merged"]
with_names = value["target in the window, real places"]
ever = value["target visited before, ever"]
in_twice = value["test targets with a twin in test"]
other_day = value["visits on another day by the local clock"]
swapped, righted = ways.value["test windows"].iloc[:2]  # as published, right
day = real.loc["what the day is worth", ["value", "low", "high"]]
of_five = value["windows of the five most recorded people"]

# %% [markdown]
# The score of *all* hardly moves, but only because two large changes nearly cancel. *Unknown* targets become easy: someone
# who goes from one new place to another "returns to unknown". *Known* ones become harder: the symbol collects votes, too,
# and beats places that really return.
#
# Where people travel, the changes do not cancel. On GeoLife the kernel has {{ merged:.0f }} % with merged places and
# {{ by_name:.0f }} % when it must name the very place. The ceiling of copying rises from {{ with_names:.0f }} to
# {{ with_token:.0f }} %. That is impossible with real names: these people had been at only {{ ever:.0f }} % of the targets
# *ever* before.
#
# And the symbol favours one kind of model. In training every place is known, so PGT's generator, a softmax over all places,
# never learns to answer *unknown*. Its pointer need not learn it: it copies what stands in the window.
#
# > **Remedy.** Give real places their own names (`prepare(visits, protocol="exact")`), report known and unknown targets apart,
# > and print the ceiling beside every score of a model that copies.
#
# ## A window that knows when
#
# A window holds the visits of seven days: in the literature, the seven before
# the *target's* day. Say your last visit was on a Friday. If the next one is on that Friday, too, the window begins on the
# Friday before, seven days back. If the next one is on Monday, the window begins on the Monday before, only four days back
# from your last visit. So a window that reaches seven days back *proves* that the next visit comes on the same day. Here it
# is for the town.

# %%
spans = {}
for anchor in ("target_day", "last_visit"):
    windows = windows_of("exact", anchor=anchor).test
    batch = windows.batch(np.arange(len(windows)))
    reach = batch.days_ago.max(1).values.numpy()  # oldest to last visit
    gap = batch.gap_days.clip(max=4).numpy()  # last to next visit
    spans[anchor] = 100 * pd.crosstab(reach, gap, normalize="index")

# %% tags=["hide-input"]
# @title Figure 15.2: what the length of a window gives away
figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
titles = ("back from the target's day", "back from the last visit")
for axes, shares, title in zip(panels, spans.values(), titles, strict=True):
    shares.plot.bar(
        stacked=True, cmap="viridis", width=0.85, rot=0, legend=False, ax=axes
    )
    axes.set(title=title, xlabel="days from the oldest visit to the last")
panels[0].set_ylabel("windows (%)")
labels = ["on the same day", "in 1 day", "2", "3", "4 or more"]
figure.legend(labels, loc="outside lower center", ncols=5,
              title="the next visit comes")  # fmt: skip
show(
    figure,
    alt="When the next visit comes, by how far a window reaches back. Left, "
    "seven days back mean the same day, always. Right, bars differ less.",
    caption="When the next visit comes, by how far the window reaches back.",
)

# %% [markdown]
# On the left, seven days back means a visit on the same day, always, and six days back nearly always one on the next. On the
# right the bars differ, too, but only by people's habits, and a model may use those.
#
# Do our models profit from the hint? Hardly. We scored five of them with and without it, on GeoLife and in the town. Of the
# ten differences one is clear of zero, barely; among ten that [can be luck](evidence_traps.ipynb).
#
# A cruder form of this trap does pay. A feature that counts days back from the *target's* day tells the model when the next
# visit is. To PGT on GeoLife it adds {{ day.value:.1f }} points, {{ day.low:.1f }} to {{ day.high:.1f }}.
#
# A test finds the hint. A person's last visit is a target, and in no window. Move it by three days, and build the windows
# again. Do they begin where they did?

# %%
moved = visits.copy()
last = ~visits.duplicated("user_id", keep="last")
moved.loc[last, ["started_at", "finished_at"]] += pd.Timedelta("3D")
for anchor in spans:
    both = [windows_of("exact", 7, anchor, v).test for v in (visits, moved)]
    then, now = (pd.Series(w.first, w.target) for w in both)
    print(anchor, "the same" if then.equals(now) else "NOT the same")

# %% [markdown]
# > **Remedy.** Let windows go back from the last visit, and keep this test.
#
# ## A few people are the benchmark
#
# GeoLife's test set has thousands of windows, but five people hold {{ of_five:.0f }} % of them. Windows of one person overlap:
# yesterday's visits are in today's window and in tomorrow's. An interval that takes them for independent draws is too narrow,
# as [chapter 4](04_baselines.ipynb) shows. So it is in the town:

# %%
data = windows_of("exact")
ranks = kernel_on(data)
by_people = interval(ranks)
by_windows = interval(ranks.assign(user_id=np.arange(len(ranks))))
print(f"people resampled  {by_people[0]:.1f} to {by_people[1]:.1f} %")
print(f"windows resampled {by_windows[0]:.1f} to {by_windows[1]:.1f} %")

# %% [markdown]
# > **Remedy.** Resample people (`pgt.metrics.interval` does). Compare two models on the same windows. Where a model
# > has a seed, resample seeds, too: [chapter 14](14_ablations.ipynb) shows what one seed can do.
#
# ## Choosing on the test set
#
# The trap that everybody knows. The kernel has only five numbers. What harm can it do to choose them on the test windows?
# And to train five seeds of PGT and report the best?

# %%
honest = 100 * gains(ranks)["acc@1"].mean()
peeked = ContextKernel().fit(data.train).choose(data.test)
peeked = 100 * gains(evaluate(peeked, data.test))["acc@1"].mean()
seeds = read_results("city").select(model="pgt", variant="full")["acc@1"]
rows = {"kernel": [honest, peeked], "PGT": [seeds.mean(), seeds.max()]}
heads = ["honest", "chosen on the test"]
pd.DataFrame(rows, index=heads).T.round(1).rename_axis("Acc@1 (%)")

# %% [markdown]
# That much comes from a grid over five numbers, and from the best of five seeds. A network has more room: its settings, its
# seed and its [last epoch](10_training.ipynb) can all be chosen.
#
# > **Remedy.** Choose everything on validation, and score the test once.
#
# ## Places that knew the test days
#
# GPS puts a flat on slightly different spots, and [clustering](02_gps_to_visits.ipynb) chains neighbours. Say the training
# days show a flat on two spots, too far apart for one place. In the test days a stay falls between them. Cluster all days at
# once, and the two become one home: the test has mended the training.
#
# A system in use can only cluster what it has seen, anew every night. What would the kernel lose? The table says by how many
# points of Acc@1 each trap lifts a score on GeoLife, with the ends of a 95 % interval where we have one.

# %% tags=["hide-input"]
# @title What each trap adds to Acc@1 on GeoLife (points)
ends = ["value", "low", "high"]
anchors = read_results("anchors").rows.set_index(["table", "data", "model"])
anchors = anchors[ends]
night = ways.loc[("kernel, all targets, minus all days", "anew every night")]
peek = value["kernel chosen on test"] - value["kernel chosen on validation"]
cost = {
    "unknown places merged": [merged - by_name],
    "places that knew the test days": -night[["value", "high", "low"]],
    "a feature that knows the day (PGT)": day,
    "choosing on the test set": [peek],
    "a window that knows when": anchors.loc[("gain", "geolife", "kernel")],
}
cost = {trap: pd.Series(np.ravel(row)) for trap, row in cost.items()}
cost = pd.DataFrame(cost).T.set_axis(["points", "from", "to"], axis=1)
cost.astype(float).round(1).astype(object).fillna("not measured")

# %% [markdown]
# How unknown places are named weighs most. The rows are the kernel's, unless they name another model.
#
# > **Remedy.** Fit everything, clusters too, on what was known at the time. The published places of GeoLife are not, so the
# > numbers of this book carry this trap: on other places they could not stand beside the literature's.
#
# Three more traps change who or what is asked, so we give no points:
#
# | Trap | What it changed on GeoLife | Remedy |
# |---|---|---|
# | A trip lies in the folders of two people | {{ in_twice:.0f }} % of the test targets are there twice | Look for equal rows across people |
# | Universal time, eight hours behind Beijing | {{ other_day:.0f }} % of the visits change their day | Cut days in local time |
# | [Longitude first](02_gps_to_visits.ipynb), where latitude is wanted | {{ swapped:,.0f }} test windows instead of {{ righted:,.0f }} | Publish such counts: others then see where theirs differ |
#
# ## The protocol of this book
#
# 1. **Exact places.** The published protocol is reported too, for comparison, and never in the same column.
# 2. **Nothing of the target's time** unless a table says so; windows go back from the last visit.
# 3. **Five groups of targets**: all, known, unknown, in the window, not in the window.
# 4. **Five seeds or more** where models are ranked. Intervals resample people and seeds, and differences are paired by window.
# 5. **Baselines first**: the most frequent place, and a kernel with five numbers.
# 6. **Everything chosen on validation**, with [three exceptions](evidence_traps.ipynb): some test scores were known when later
#    models were designed; the made-up worlds of [chapter 24](24_trained_on_nobody.ipynb) were chosen by test scores; two
#    settings of [chapter 18](18_temporal_sets.ipynb) were changed after a test.
# 7. **Counts at every step**, and in each results file a checksum of the windows that it is about.
#
# ## What to remember
#
# - One kernel, on the same visits, has a dozen scores. Compare within one protocol only.
# - Merged unknown places make travellers look predictable, and lift models that copy.
# - People are the sample, not windows; seeds are a sample too.
# - A score needs its protocol, its people and its ceiling beside it.
#
# ## Exercises
#
# **Exercise 1** (quick). A paper on GeoLife reports 41 % Acc@1 and "84 % of targets are in the window". Its best baseline is
# the last place. Which three questions would you ask first?

# %% [markdown]
# <details class="solution"><summary>Show solution 1</summary>
#
# Are unknown places merged into one symbol (the 84 % says yes)? What does the model know of the target's time? How good is the
# most frequent place of the window, and a kernel, on the same windows?
#
# </details>

# %% [markdown]
# **Exercise 2** (medium). How many points does merging the unknown places add to the *most frequent place*? And to the *last
# place*? Guess first.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
for rule in ("most_frequent", "last"):
    score = {}
    for protocol in ("published", "exact"):
        windows = windows_of(protocol)
        fitted = fit_baseline(rule, windows.train, windows.valid)
        ranks_then = evaluate(fitted, windows.test)
        score[protocol] = gains(ranks_then)["acc@1"].mean()
    added = 100 * (score["published"] - score["exact"])
    print(f"{rule.replace('_', ' ')}: {added:+.1f} points")
# From one new place to another the last place is right, once both of them are
# called "unknown".

# %% [markdown]
# **Exercise 3** (quick, on paper). Why does the test above move each person's *last* visit, and not one in the middle?

# %% [markdown]
# <details class="solution"><summary>Show solution 3</summary>
#
# A visit in the middle also stands in the windows of later targets. These may see its time, and would change without any leak.
#
# </details>

# %% [markdown]
# **Exercise 4** (project). Take a paper on next-location prediction that you like, and write the protocol list above for it:
# which of the seven points does it answer, and which can you not answer from its text?

# %% [markdown]
# <details class="solution"><summary>Show solution 4</summary>
#
# There is no model answer, but a good one quotes the sentence for each point. Look closely at points 2, 4 and 7.
#
# </details>

# %% [markdown]
# **Exercise 5** (quick, on paper). In a test set one target in five is an unknown place. Of the known targets, four in five
# are in the window; of the unknown ones, two in five. Merge all unknown places into one symbol, and nineteen in twenty of
# the unknown targets are in the window. What is the ceiling with real names, and what is it when they are merged?

# %% tags=["try"]
by_real_name, when_merged = ..., ...  # in percent
check.exercise("15.5", [by_real_name, when_merged])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
known = 4 / 5 * 4 / 5
ceilings = [100 * (known + 1 / 5 * part) for part in (2 / 5, 19 / 20)]
check.exercise("15.5", ceilings)
print(f"{ceilings[0]:.0f} % with real names, {ceilings[1]:.0f} % merged")

# %% [markdown]
# **Next:** [The original: a summarizer](16_summarizer.ipynb), the model that PGT's pointer comes from.
