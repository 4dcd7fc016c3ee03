# %% [markdown]
# # Memory and ceilings
#
# How much of a lead is the model, how much is its memory, and how much is there to win at all?
#
# *You will be able to* put a placebo into an ablation table, compare models with the same memory, and say
# how good a prediction can be at best. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and
# [Ablations](14_ablations.ipynb). *It takes* twenty-five minutes to read and about half a minute to run; a GPU makes no
# difference.

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
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from matplotlib import pyplot as plt
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, INK, MUTED, show
from wherenext.pointer_variants import with_pseudo_unknowns
from wherenext.results import read_results

from pgt.contextual import HISTORY_FEATURES
from pgt.history import with_history
from pgt.metrics import ends, gains, resampled_means
from pgt.windows import prepare

torch.set_num_threads(1)
results = read_results("beyond")
print(results.header["command"])

# %% tags=["hide-input"]
notes = results.header["runs"]
numbers = {
    name: notes[f"geolife_exact/contextual-{name}-unknown-42"]["parameters"]
    for name in ("full", "around")
}
Markdown(
    "The contextual pointer of [chapter 20](20_contextual_pointer.ipynb) "
    f"copies from the past with {numbers['full']:,} numbers. It looks at "
    f"{len(HISTORY_FEATURES)} features of each past visit and adds up three "
    "reasons to go back. Its memory is the last hundred visits and a "
    "summary of each place that is only found further back: the latest visit "
    "there, and how many visits it stands for. This chapter takes the model "
    "apart and puts it beside its rivals."
)

# %% [markdown]
# ## Which features matter?
#
# We leave out each feature in turn and train anew: GeoLife, exact protocol, five seeds. (A table in
# [chapter 20](20_contextual_pointer.ipynb) says what each feature looks at.) What counts is the difference from the
# full model on the same windows, and its interval. As in [chapter 14](14_ablations.ipynb), people and seeds are drawn
# again and again, because another set of either would have given another mean.

# %% tags=["hide-input"]
runs, people = {}, {}
for ranks in results.ranks():
    first = ranks.iloc[0]
    where = (first["data"], first["protocol"])
    key = (*where, first["model"], first["variant"], first["target_time"])
    hit = gains(ranks)["acc@1"].to_numpy()
    runs.setdefault(key, []).append((str(first["seed"]), hit))
    people[where] = pd.factorize(ranks.user_id)[0]
hits = {  # (seeds, windows) of ones and zeros
    key: np.stack([hit for _, hit in sorted(some, key=lambda run: run[0])])
    for key, some in runs.items()
}

# %%
EXACT, PUBLISHED = ("geolife", "exact"), ("geolife", "published")


def contextual(variant, target_time="unknown"):
    """A variant of the contextual pointer, as `hits` names it."""
    return ("contextual", variant, target_time)


def change(one, other, where=EXACT, draws=2000):
    """One minus other in points: mean, its 95 % interval, each seed."""
    # 1 where only one is right, -1 where only the other is
    difference = hits[where + one] - hits[where + other]  # (seeds, windows)
    difference = 100 * difference
    means = resampled_means(difference, people[where], draws=draws)
    return difference.mean(), *ends(means), difference.mean(1)


full = contextual("full")
features = {
    name: change(contextual(f"no_{name}"), full) for name in HISTORY_FEATURES
}
features = dict(sorted(features.items(), key=lambda row: row[1][0]))


# %% tags=["hide-input"]
def forest(axes, table):
    """Dots with intervals and ticks for single seeds, one row each."""
    at = np.arange(len(table))
    mean, low, high = (
        np.array([row[k] for row in table.values()]) for k in range(3)
    )
    sure = (low > 0) | (high < 0)
    axes.axvline(0, color=INK, lw=1)
    axes.hlines(at, low, high, color=EXTRA, lw=2)
    axes.plot(mean[sure], at[sure], "o", color=EXTRA)
    axes.plot(mean[~sure], at[~sure], "o", color=EXTRA, mfc="white")
    for y, row in zip(at, table.values(), strict=True):
        axes.plot(row[3], [y] * len(row[3]), "|", color=MUTED, ms=7)
    axes.set_yticks(at, list(table))
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def says(row):
    """A change with its interval."""
    mean, low, high = (round(x, 1) + 0.0 for x in row[:3])  # no -0.0
    return f"{mean:+.1f} points [{low:.1f}, {high:.1f}]"


# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 4.6))
forest(axes, features)
axes.set_xlabel("change of Acc@1 without the feature (points)")
worst = [f"{name} {row[0]:+.1f}" for name, row in list(features.items())[:3]]
show(
    fig,
    alt="Forest plot of single-feature ablations. Largest loss: without "
    + ", ".join(worst)
    + " points.",
    caption="GeoLife, exact protocol. Dots and lines: mean over five seeds "
    "and 95 % interval over people and seeds, filled where the interval "
    "leaves out zero; ticks: single seeds.",
)

# %% tags=["hide-input"]
PLACEBO = "unknown"  # the row that should not matter, see below
real = [name for name in features if name != PLACEBO]
certain = [name for name in real if features[name][2] < 0]
added = change(contextual("and_clock"), contextual("and_before"))
first = change(contextual("and_before"), contextual("count_only"))
Markdown(
    f"The interval shows a loss for only **{len(certain)} of {len(real)}** "
    f"features: {', '.join(certain) or 'none'}. Without the "
    f"clock the change is only {features['clock'][0]:+.1f} points, although "
    f"the clock brought {added[0]:+.1f} when the features came in one after "
    f"the other. *Before* brought {first[0]:+.1f}, and without it the change "
    f"is {features['before'][0]:+.1f}. All these numbers are right. *Ahead* "
    "and *left* look at the clock as well. *Left* and *stayed* look at the "
    "stay before the visit. Other features can take over the work of one "
    "that is gone. Such redundancy is the trouble of every ablation."
)

# %% [markdown]
# One row is a **placebo**. The feature *unknown* asks whether a place is the place "unknown", and under the exact
# protocol no place is. So it has the same value for all visits and cannot tell one from another. (With the scale it
# could still favour a whole reason at some hours, but so could the other features.) Taking it out still changes the
# score, because other parts of the model then start from other random values. Its row shows about how large a change
# by chance is.

# %% tags=["hide-input"]
mean, low, high, _ = features[PLACEBO]
alike = [
    name
    for name, row in features.items()
    if abs(row[0]) <= abs(mean) and name != PLACEBO
]
Markdown(
    f"The placebo's row says {mean:+.2f} points [{low:.2f}, {high:.2f}]. "
    + (
        "**Its interval leaves out zero, although there is nothing "
        "to see.** This is most likely a false alarm, as in "
        "[chapter 19](19_improvements.ipynb): here are "
        f"{len(features)} intervals, and each of them misses the truth one "
        "time in twenty. "
        if low > 0 or high < 0
        else ""
    )
    + f"{len(alike)} other rows are no further from zero than that: "
    f"{', '.join(alike) or 'none'}. We learn nothing from them. Put a "
    "placebo into your own ablation table; it costs one row."
)

# %% [markdown]
# ## What does the rest of PGT add?
#
# So far the pointer is alone. Now put everything around it that Part II built: embeddings of places, people and
# times, the encoder, PGT's own pointer score, the generator and the gate. The features stay. The next figure
# shows this and smaller choices.

# %%
CHOICES = {
    "all of PGT around it": ("around", "full"),
    "all of PGT around it, on seven days": ("around_window", "window"),
    "features also meet in a hidden layer": ("interaction", "full"),
    "one reason instead of three": ("one_component", "full"),
    "random first tables": ("random_start", "full"),
    "no scale": ("no_scale", "full"),
    "no summaries of older places": ("memory_100", "full"),
    "seven days only": ("window", "full"),
}
choices = {
    name: change(contextual(one), contextual(other))
    for name, (one, other) in CHOICES.items()
}

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.2, 3.9))
forest(axes, choices)
axes.set_xlabel("change of Acc@1 (points)")
show(
    fig,
    alt="Forest plot of choices: "
    + ", ".join(f"{name} {row[0]:+.1f}" for name, row in choices.items())
    + " points.",
    caption="GeoLife, exact protocol: what each choice changes. The second "
    "row compares two models that see seven days.",
)

# %% tags=["hide-input"]
around, windowed = list(choices.values())[:2]
in_city = change(contextual("window"), full, ("city", "exact"))
Markdown(
    "**On these windows the Transformer does not help.** "
    f"{numbers['around']:,} numbers instead of {numbers['full']:,} change "
    f"the score by {says(around)}"
    + (": it gets worse. " if around[2] < 0 else ". ")
    + "Where the model sees only the seven days, for which PGT was made, the "
    f"change is {says(windowed)}. **On GeoLife the memory is what counts**: "
    f"with seven days only, the change is {says(choices['seven days only'])}."
    f" In the city it is {says(in_city)}."
)

# %% [markdown]
# Among the smaller choices, *random first tables* end at about the same score: starting from the kernel is a
# convenience. With one reason instead of three the score is a little lower. That model also starts from random tables,
# which may explain a part of its row. A hidden layer, in which features meet in any way they like, does not help.
#
# > **Pitfall.** It is tempting to read this as "Transformers do not work". It says that *these* windows, of a few dozen
# > people, do not hold what the Transformer could learn beyond the cues. With a million people the
# > Transformer may help.
#
# ## The unknown, in training
#
# One trap is left from [chapter 15](15_traps.ipynb). Under the published protocol all places that training has never
# shown are one place, *unknown*. The test asks for it, and training never does. The remedy is **pseudo-unknowns**:
# pretend that the training days ended on an earlier day. Places first visited after that day become unknown, and we
# keep only the windows after it. We do this for three such days, and add the windows to the others. First look at
# what that does to the windows of the simulated city, each with the last hundred visits.

# %%
merged = prepare(city.load().visits, protocol="published")
recalled = with_history(merged, memory=100)
asked = {
    "training": recalled.train,
    "with pseudo-unknowns": with_pseudo_unknowns(merged, memory=100),
    "test": recalled.test,
}
rows = {}
for name, windows in asked.items():
    batches = windows.batches(512)
    holds = sum(int((b.location == 1).any(1).sum()) for b in batches)
    rows[name] = {
        "windows": f"{len(windows):,}",
        "target unknown (%)": 100 * (windows.targets == 1).mean(),
        "an unknown place in sight (%)": 100 * holds / len(windows),
    }
pd.DataFrame(rows).T.map(lambda x: x if isinstance(x, str) else f"{x:.1f}")

# %% [markdown]
# Without pseudo-unknowns, training cannot find out how often people go to "unknown", or how little a past *unknown*
# says about the next one. What do the extra windows change on GeoLife, over five seeds?

# %% tags=["hide-input"]
drill = {}
for group in ("all", "known", "unknown"):
    drill[group] = {}
    for split, title in (("valid", "validation"), ("test", "test")):
        with_, without = (
            results.mean(
                group=group,
                split=split,
                data="geolife",
                protocol="published",
                model="contextual",
                variant=variant,
                target_time="unknown",
            )
            for variant in ("full", "no_pseudo_unknowns")
        )
        drill[group][title] = with_ - without
total = change(full, contextual("no_pseudo_unknowns"), PUBLISHED)
unknown, others = drill["unknown"]["test"], drill["known"]["test"]
Markdown(
    "Unknown targets are named far more often, "
    f"{unknown:+.1f} points on the test windows, and known ones "
    f"{'less' if others < 0 else 'more'} often, {others:+.1f}. Over all test "
    f"windows the change is {says(total)}. "
    + (
        "So pseudo-unknowns teach what they were made for, and the mean does "
        "not show it: the more often the model says *unknown*, the less "
        "often it names a known place. On the validation windows the balance "
        f"was {drill['all']['validation']:+.1f}, and so we kept them. "
        if total[1] < 0 < total[2]
        else ""
    )
    + "And remember what a hit on *unknown* means. It names no place."
)

# %% [markdown]
# (The contextual pointers here are stopped by validation *accuracy*, since the validation *loss* misleads wherever
# unknown places are targets; [chapter 15](15_traps.ipynb) has that trap.)
#
# ## The whole table
#
# Now both protocols and the city. To compare like with like, one kernel sees the same last hundred visits as the
# contextual pointer. It has no summaries of older places.

# %%
MODELS = {
    "PGT": ("pgt", "full", "unknown"),
    "kernel": ("kernel", "full", "unknown"),
    "kernel, last hundred visits": ("kernel_memory", "memory_100", "unknown"),
    "contextual pointer, seven days": contextual("window"),
    "contextual pointer": full,
    "contextual pointer, PGT around it": contextual("around"),
}
SETS = {
    "GeoLife, exact": EXACT,
    "GeoLife, published": PUBLISHED,
    "city, exact": ("city", "exact"),
}


def score(name, title):
    """Acc@1 in percent, mean over seeds, of one model on one data set."""
    return 100 * hits[SETS[title] + MODELS[name]].mean()


# %% tags=["hide-input"]
shown = {}
for title, where in SETS.items():
    for name, key in MODELS.items():
        if where + key in hits:
            seeds = 100 * hits[where + key].mean(1)
            shown[name, title] = f"{seeds.mean():.1f}" + (
                f" ± {seeds.std(ddof=1):.1f}" if len(seeds) > 1 else ""
            )
shown = pd.Series(shown).unstack().reindex(list(MODELS), columns=list(SETS))
shown.fillna("").rename_axis("Acc@1 (%)")

# %% [markdown]
# Means and standard deviations over five seeds; a kernel has no seed, and the empty cell was not measured. To tell whether one
# row is better than another, take their difference on the same windows, with its interval over people and seeds.

# %%
RIVALS = {
    "PGT": ("contextual pointer", "PGT"),
    "kernel": ("contextual pointer", "kernel"),
    "kernel, same memory": (
        "contextual pointer",
        "kernel, last hundred visits",
    ),
    "kernel, both seven days": ("contextual pointer, seven days", "kernel"),
}
leads = {
    title: {
        name: change(MODELS[one], MODELS[other], where)
        for name, (one, other) in RIVALS.items()
        if where + MODELS[one] in hits and where + MODELS[other] in hits
    }
    for title, where in SETS.items()
}

# %% tags=["hide-input"]
fig, panels = plt.subplots(1, len(SETS), figsize=(7.4, 2.9), sharey=True)
for axes, (title, rows) in zip(panels, leads.items(), strict=True):
    forest(axes, rows)
    axes.set_title(title, fontsize=10)
    axes.set_xlim(min(axes.get_xlim()[0], -1), None)
fig.supxlabel("lead of the contextual pointer in Acc@1 (points)", fontsize=10)
described = [
    f"{title}: "
    + ", ".join(f"{name} {row[0]:+.1f}" for name, row in rows.items())
    + "."
    for title, rows in leads.items()
]
show(
    fig,
    alt="Leads of the contextual pointer over its rivals with intervals. "
    + " ".join(described),
    caption="The contextual pointer's lead over each rival: mean over seeds, "
    "95 % interval over people and seeds. Filled: the interval leaves out "
    "zero.",
)

# %% tags=["hide-input"]
exact, merged_too = leads["GeoLife, exact"], leads["GeoLife, published"]
fair, fair_too = (one["kernel, same memory"] for one in (exact, merged_too))
kernel_too = MODELS["kernel, last hundred visits"]
bare = change(contextual("memory_100"), kernel_too)
tuned = read_results("geolife_exact").mean(model="pgt", variant="tuned")
Markdown(
    "On GeoLife, where the very place must be named, the contextual pointer "
    f"leads PGT by {says(exact['PGT'])} and the kernel by "
    f"{says(exact['kernel'])}. (PGT has the settings of its documents; with "
    "settings tuned on the validation windows it is still "
    f"{score('contextual pointer', 'GeoLife, exact') - tuned:.1f} points "
    "behind.) The fair comparison is with a kernel that has the same "
    f"memory: {says(fair)}. "
    + (
        "Small, but above zero. "
        if fair[1] > 0
        else "The interval reaches zero: forty-odd people cannot settle it. "
    )
    + "(Without the summaries, which the kernel does not have, it is "
    f"{says(bare)}.) Under the published protocol it is {says(fair_too)}"
    + (
        ". "
        if fair_too[1] > 0
        else ", which forty-odd people cannot settle. "
    )
    + "A kernel with a memory gets most of the way. The model adds the "
    "rest, and gives reasons for its answers."
)

# %% [markdown]
# All settings were chosen on GeoLife's validation windows. Do they carry over? Here is the same model, with no
# setting changed, on two other data sets. One is a larger simulated town. The other has simulated check-ins
# of people of that town: they say when somebody came and not when they left, and three visits in ten are missing.
# The pointer has three seeds.

# %% tags=["hide-input"]
elsewhere = read_results("elsewhere")
print(elsewhere.header["command"])
names = {
    "most frequent": "most_frequent",
    "kernel": "kernel",
    "kernel, last hundred visits": "kernel_memory",
    "contextual pointer": "contextual",
}
columns = {}
for source in elsewhere.header["data"]:
    title, tested = source["name"], source["windows"]["test"]
    columns[f"{title}, {tested:,} test windows"] = {
        name: elsewhere.mean(data=title, model=model)
        for name, model in names.items()
    }
pd.DataFrame(columns).round(1).rename_axis("Acc@1 (%)")

# %% tags=["hide-input"]
abroad = {}
for source in elsewhere.header["data"]:
    ours, rival = (
        {"data": source["name"], "model": model}
        for model in ("contextual", "kernel_memory")
    )
    abroad[source["name"]] = elsewhere.difference(ours, rival)
Markdown(
    "Its lead over the kernel with a hundred visits: "
    + "; ".join(f"{name} {says(row)}" for name, row in abroad.items())
    + ". The check-ins say less about each visit, and the lead is smaller "
    "there, but it does not vanish."
)

# %% [markdown]
# ## Two questions
#
# "Where next?" is one question. "Where will she be on Tuesday at three?" is another, and easier: a model that knows the
# time of the next visit may look at it. Results for the two are often printed in one table. Here they stand apart, for the
# same model. It knows of the next visit either nothing, or its hour and weekday, or its time to the minute. In the last two
# cases it has three more features, which compare a past visit with *then* instead of *now*.

# %% tags=["hide-input"]
QUESTIONS = {
    "unknown": "where next?",
    "hour": "where, at this hour and weekday?",
    "time": "where, at this minute?",
}
accuracy, whisker = {}, {}
for title, (data, protocol) in SETS.items():
    for time in QUESTIONS:
        which = {"data": data, "protocol": protocol, "model": "contextual"}
        which |= {"variant": "full", "target_time": time}
        if len(results.select(**which)):
            accuracy[title, time] = results.mean(**which)
            if title != "city, exact":
                whisker[title, time] = results.interval(**which)

# %% tags=["hide-input"]
fig, axes = plt.subplots(figsize=(7.0, 2.9))
for n, title in enumerate(("GeoLife, exact", "GeoLife, published")):
    rows = [k for k, time in enumerate(QUESTIONS) if (title, time) in whisker]
    times = [list(QUESTIONS)[k] for k in rows]
    x = np.array([accuracy[title, time] for time in times])
    ends_of = np.array([whisker[title, time] for time in times])
    axes.errorbar(
        x,
        np.array(rows) + 0.14 * (2 * n - 1),
        xerr=[x - ends_of[:, 0], ends_of[:, 1] - x],
        fmt="os"[n],
        color=(EXTRA, COPIED)[n],
        capsize=3,
        label=title,
    )
axes.set_yticks(range(len(QUESTIONS)), list(QUESTIONS.values()))
axes.set(xlabel="Acc@1 (%)", ylim=(2.5, -0.5))
axes.grid(axis="y", visible=False)
fig.legend(loc="outside upper center", ncols=2)
show(
    fig,
    alt="Accuracy by what is known of the next visit: "
    + ", ".join(
        f"{title}, {QUESTIONS[time]} {accuracy[title, time]:.1f}"
        for title, time in whisker
    )
    + " per cent.",
    caption="The contextual pointer on three questions. Whiskers: 95 % "
    "intervals over people and seeds.",
)

# %% tags=["hide-input"]
more = {t: accuracy[t, "time"] - accuracy[t, "unknown"] for t in SETS}
timed = {
    time: change(contextual("full", time), full, SETS["city, exact"])
    for time in ("hour", "time")
}
hour = accuracy.get(("GeoLife, published", "hour"), np.nan)
Markdown(
    f"Knowing the time is worth {more['GeoLife, exact']:.1f} points "
    f"under the exact protocol and {more['GeoLife, published']:.1f} under "
    "the published one, whose windows hint at the day already. Hour and "
    "weekday bring most of that. In the city "
    f"they bring {says(timed['hour'])}; weekday and minute, again compared "
    f"with knowing nothing, {says(timed['time'])}. Under the published "
    "protocol the contextual "
    f"pointer gets {hour:.1f} % with hour and weekday, and "
    f"{accuracy['GeoLife, published', 'unknown']:.1f} % without them."
)

# %% [markdown]
# ## Scored in other ways
#
# Accuracy is a mean over windows, so people with many visits count more. A guess next door counts as little as one
# across the town. And *returning* differs from *exploring*: [Song, Koren et al. (2010)](https://doi.org/10.1038/nphys1760)
# keep apart visits to places where a person has been before and visits to new ones. Does the order of the models
# depend on such choices? Here the answers of five seeds are scored again, also on check-ins from New York, which
# [chapter 23](23_real_cities.ipynb) introduces. New York's windows are the published ones here. They go back from the
# target's day, and so they hint at it ([chapter 15](15_traps.ipynb), trap 12). The other windows in the table, and those
# of New York in [chapter 23](23_real_cities.ipynb), go back from the last visit; so the scores there differ a little.
# *People* is the mean of each person's own accuracy. *Within 500 m* is the share of guesses at most 500 m from the
# target (three seeds). Empty cells were not measured. *Returns*
# are the windows whose target the person has been to before; in New York, all places that training lacks count as one. The last column has the windows whose target is new to the person but known to the model, and counts the first
# ten guesses.

# %% tags=["hide-input"]
otherwise = read_results("perspectives")
print(otherwise.header["command"])
near = otherwise.header["near"]
WAYS = {
    "Acc@1, windows": ("windows", "acc@1"),
    "Acc@1, people": ("people", "acc@1"),
    f"within {near} m": ("metres", "near"),
    "Acc@1, returns": ("return", "acc@1"),
    "Acc@10, new to the person": ("explore_known", "acc@10"),
}
ROWS = {
    "Markov chain": "markov",
    "kernel, last hundred visits": "kernel_memory",
    "PGT": "pgt",
    "contextual pointer": "contextual",
}
TITLES = {"geolife": "GeoLife", "new york": "New York", "city": "city"}
keys = ["data", "model", "scoring", "measure"]
by_way = otherwise.rows.set_index(keys)
shown = {
    (title, name): {
        head: by_way.value.get((data, model, *way), np.nan)
        for head, way in WAYS.items()
    }
    for data, title in TITLES.items()
    for name, model in ROWS.items()
}
shown = pd.DataFrame(shown).T.map("{:.1f}".format).replace("nan", "")
shown = shown.rename({"New York": "New York, published windows"})
shown.rename_axis(["data (percent)", "model"])


# %% tags=["hide-input"]
def way(data, model, scoring, measure="acc@1", column="value"):
    """One number of perspectives.json."""
    return float(by_way[column][data, model, scoring, measure])


share = {
    title: way(data, "pgt", "explore", column="n")
    / way(data, "pgt", "windows", column="n")
    for data, title in TITLES.items()
}
there = ("new york", "pgt", "explore_known")
Markdown(
    "**Somewhere new is where they all fail.** Of the test windows, "
    + ", ".join(f"{100 * part:.0f} % ({t})" for t, part in share.items())
    + " end at a place that is new to the person. A pointer cannot name it. "
    "But PGT has a generator, which is there for what a pointer cannot name. "
    "New York is the best test: "
    f"{way(*there, column='n'):,.0f} of its windows end at a place that is "
    "new to the person but known from the training visits of others. "
    "The first guess of PGT is "
    f"right in {way(*there):.1f} % of these windows, "
    f"and one of its first ten in {way(*there, 'acc@10'):.1f} %. The "
    "plainest model does best: the Markov chain, which falls back on "
    "where everybody goes from here, has the place among its first ten in "
    f"{way('new york', 'markov', 'explore_known', 'acc@10'):.1f} %."
)

# %% [markdown]
# **Small leads depend on who counts.** Here are three leads in Acc@1, with their 95 % intervals over people and seeds. The
# *kernel* without further words sees seven days; it and the most frequent place are not in the table above.

# %% tags=["hide-input"]
NEW_YORK = ("new york", "published")
FREQUENT = ("most_frequent", "full", "unknown")
for key in (MODELS["PGT"], MODELS["kernel"], FREQUENT):
    tables = list(read_results("new_york").ranks(model=key[0]))
    some = [gains(ranks)["acc@1"] for ranks in tables]
    hits[NEW_YORK + key] = np.stack(some)  # (seeds, windows)
people[NEW_YORK] = pd.factorize(tables[0].user_id)[0]


def change_alike(one, other, where):
    """As `change`, if everybody counts alike."""
    difference = 100 * (hits[where + one] - hits[where + other])
    own = pd.DataFrame(difference.T).groupby(people[where]).mean()
    own = own.to_numpy().T  # (seeds, people)
    means = resampled_means(own, np.arange(own.shape[1]))
    return own.mean(), *ends(means)


# %% tags=["hide-input"]
homes = {"GeoLife": EXACT, "New York, published windows": NEW_YORK}
sides = MODELS | {"most frequent place": FREQUENT}
SMALL = (
    ("GeoLife", "contextual pointer", "kernel, last hundred visits"),
    ("New York, published windows", "kernel", "most frequent place"),
    ("New York, published windows", "PGT", "kernel"),
)
small = {
    (home, one, other): [
        count(sides[one], sides[other], homes[home])
        for count in (change, change_alike)
    ]
    for home, one, other in SMALL
}
above = [[row[1] > 0 for row in pair] for pair in small.values()]
assert above == [[True, False], [True, False], [False, True]]  # see below
small = pd.DataFrame(small, index=["over windows", "over people"])
small.T.map(says).rename_axis(["data", "lead of", "over"])

# %% [markdown]
# On GeoLife the contextual pointer leads the kernel with the same hundred visits over windows. Over people we cannot tell
# this lead from zero. In New York the same holds for the lead of the kernel of seven days over the most frequent place. We
# can tell PGT's lead over that kernel from zero only over people. The contextual pointer's large leads over PGT stay.

# %% tags=["hide-input"]
median = otherwise.rows.dropna(subset="median").set_index(["data", "model"])
far = {
    name: f"{median['median']['geolife', name]:,.0f} m"
    for name in ("kernel", "pgt", "contextual")
}
Markdown(
    "> **Pitfall.** Errors are often given as a median distance. On GeoLife "
    f"it is {far['contextual']} for the contextual pointer, {far['kernel']} "
    f"for the kernel of seven days and {far['pgt']} for PGT. "
    "But a median is zero as soon as half of the guesses are right, and the "
    f"pointer is right in {way('geolife', 'contextual', 'windows'):.1f} %, "
    f"this kernel in {way('geolife', 'kernel', 'windows'):.1f} %. The share "
    "within a fixed distance, as in the table, has no such jump."
)

# %% [markdown]
# ## What is predictable at all?
#
# Is there anything left to win? Nobody knows the best possible score on real people, but several
# arguments limit it.
#
# *Not new.* A model that only names places of the past, or of the last seven days, misses all others.
# [Cuttone et al. (2018)](https://doi.org/10.1140/epjds/s13688-017-0129-1) show how many of the targets that models
# miss are places new to the person.
#
# *Entropy.* How surprising a sequence of places is on average limits how often its next one can be guessed
# ([Song, Qu et al., 2010](https://doi.org/10.1126/science.1177170);
# [Ikanovic and Mollgaard, 2017](https://doi.org/10.1140/epjds/s13688-017-0107-7)). We estimate it from lengths of
# repetitions, as [Kontoyiannis et al. (1998)](https://doi.org/10.1109/18.669425) do. Such an estimate can go wrong in
# many ways ([Smith et al., 2014](https://doi.org/10.1109/PerCom.2014.6813948);
# [Xu et al., 2019](https://doi.org/10.1016/j.physa.2019.02.006)), and
# [Kulkarni et al. (2019)](https://doi.org/10.3390/e21040432) find models that are better than the limit. Our estimate sees the order of places only and no clock, so a model with a clock may
# pass it.
#
# *Agreement.* Take two past situations of one person that are like the present one: at the same place, within an hour of it
# by the clock, and so on. If the next place has the distribution $P$, the two lead to the same place with
# probability $\sum_\ell P(\ell)^2$. That limits, on both sides, how often the best guess is right, $\max_\ell P(\ell)$, by an
# argument that [Cover and Hart (1967)](https://doi.org/10.1109/TIT.1967.1053964) made for nearest neighbours:
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{21.1}
# $$
#
# On the left is a mean of probabilities, which is at most the largest. On the right, the sum holds the largest squared.
#
# When are two situations alike? We have a ladder of rules. The loosest takes any two situations. The strictest asks for the present
# place, a time within an hour of now, the same kind of day (working day or weekend), and the same place before.
# Each window uses the strictest rule by which its person's past still holds two matching situations.
#
# *The simulator's own chances.* In the simulated city the simulator can be asked what chances it gave each place. The
# lower end is the score of a guess that knows all habits of the simulator, but neither when the next visit begins nor
# how long the present one lasted. The upper end is that of a guess that knows these two as well. (Our models know how long it lasted, so what they
# could reach at best lies between the ends.) No model can see these habits.

# %% tags=["hide-input"]
limits = read_results("predictability").rows


def limit(table, data, group, column="value"):
    """One number of predictability.json, exact protocol."""
    rows = limits[(limits.table == table) & (limits.data == data)]
    rows = rows[(rows.protocol == "exact") & (rows.group == group)]
    return float(rows[column].iloc[0])


def fences(data):
    """Name -> (low, high) of the best possible Acc@1 (%)."""
    week = 100 - limit("novelty", data, "7 days")
    past = 100 - limit("novelty", data, "whole past")
    entropy = limit("entropy", data, "visits")
    agree = [
        limit("agreement", data, "finest", column)
        for column in ("value", "bound")
    ]
    found = {
        "not new in seven days": (week, week),
        "not new in the whole past": (past, past),
        "entropy": (entropy, entropy),
        "agreement": tuple(agree),
    }
    if data == "city":
        found["the simulator's own chances"] = tuple(
            limit("truth", data, f"time {word}")
            for word in ("unknown", "known")
        )
    return found


fence = {title: fences(SETS[title][0]) for title in SETS if "exact" in title}

# %% tags=["hide-input"]
LINES = {
    "PGT": (GENERATED, "--"),
    "kernel": (COPIED, ":"),
    "kernel, last hundred visits": (COPIED, "-"),
    "contextual pointer": (EXTRA, "-"),
}
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True)
for axes, (title, rows) in zip(panels, fence.items(), strict=True):
    for at, (low, high) in enumerate(rows.values()):
        axes.plot(
            [low, high],
            [at, at],
            color=INK,
            lw=6 if high > low else 0,
            solid_capstyle="butt",
            marker="|",
            ms=12,
            mew=2.5,
        )
        ends_at = f"{low:.0f}" + (f" to {high:.0f}" if high > low else "")
        axes.annotate(
            ends_at,
            (high, at),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.margins(x=0.14)
    for name, (colour, style) in LINES.items():
        axes.axvline(
            score(name, title), color=colour, ls=style, lw=1.8, label=name
        )
    axes.set(title=title, xlabel="Acc@1 (%)")
    axes.grid(axis="y", visible=False)
panels[1].set_yticks(range(len(rows)), list(rows))
panels[1].set_ylim(len(rows) - 0.5, -0.5)
handles = panels[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper center", ncols=4, fontsize=8)
described = []
for title, rows in fence.items():
    texts = [
        f"{name} {low:.1f}" + (f" to {high:.1f}" if high > low else "")
        for name, (low, high) in rows.items()
    ]
    described.append(f"{title}: {', '.join(texts)}.")
show(
    fig,
    alt="Limits on the best possible accuracy beside four models, for "
    "GeoLife and the city. " + " ".join(described),
    caption="Thick marks: limits on the best possible Acc@1; a bar where the "
    "best lies between two ends. Lines: models, means over seeds.",
)

# %% tags=["hide-input"]
town, geolife = fence["city, exact"], fence["GeoLife, exact"]
low, high = town["the simulator's own chances"]
ours, kernel = (
    score(name, "city, exact")
    for name in ("contextual pointer", "kernel, last hundred visits")
)
reachable = geolife["not new in the whole past"][0]
best = score("contextual pointer", "GeoLife, exact")
Markdown(
    f"In the city the best possible score lies between {low:.1f} and "
    f"{high:.1f} %. The contextual pointer has {ours:.1f} %: it has gone "
    f"{100 * (ours - kernel) / (low - kernel):.0f} % of the way from the "
    "kernel with a hundred visits to the lower end. GeoLife has no "
    "simulator that we could ask. New places leave room up to "
    f"{reachable:.1f} %, agreement up to {geolife['agreement'][1]:.1f} %, "
    "and the contextual "
    f"pointer is at {best:.1f} %. Of what is missing, {100 - reachable:.1f} "
    "points are new places, which no pointer can name."
)

# %% [markdown]
# > **Pitfall.** Ceilings are estimates too, and each is a ceiling for something else. That of entropy is often
# > called *the* limit of predictability, but it holds only for models that see nothing but the order of places. In the
# > city we can compare it with the truth, and it promises far more than anybody can get. Agreement ends a little too low
# > there, because situations that look alike are not quite alike. So take its upper end on GeoLife as a hint and not
# > as a limit.
#
# ## What to remember
#
# - An ablation table needs a placebo: a row that should not matter. And where two features can do the same work, leaving out
#   one shows little.
# - On GeoLife most of the lead over the kernel is memory: a kernel with the same hundred visits comes close.
# - On windows of a few dozen people the Transformer around the pointer does not help.
# - "Where next?" and "where then?" are different questions. A table that has both must say so in each row.
# - In a city whose truth is known, a few points are left to win. Places that are new to a person are
#   the open problem: no model here finds more than a few of them.
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
assert agree <= best <= agree.sqrt()
check.exercise("21.1", torch.stack([agree, best, agree, agree.sqrt()]))
print(f"{best:.2f} lies between {agree:.2f} and {agree.sqrt():.2f}")
# All three are equal only if one place is certain.

# %% [markdown]
# **Exercise 2** (medium). What is a memory worth under the published protocol? Use `change` to compare "seven days only" with the full
# model there. Then ask the kernel the same question: does a rule gain as much from a hundred visits as the pointer does?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
pointer = change(full, contextual("window"), PUBLISHED)
rule = change(kernel_too, MODELS["kernel"], PUBLISHED)
means = [
    score(name, "GeoLife, published")
    for name in ("contextual pointer", "contextual pointer, seven days")
]
check.same(pointer[0], means[0] - means[1], name="what a memory is worth")
print(f"contextual pointer {says(pointer)}; kernel {says(rule)}")
# Both gain about as much: a memory is no achievement of the network.

# %% [markdown]
# **Exercise 3** (project). Add a feature of your own: the distance from where the person is to the visit's place, in
# kilometres. The coordinates of the simulated city are in `city.load().places`. What do you expect, and what do you find?
#
# <details class="solution">
# <summary>Solution 3</summary>
#
# Give `pgt.contextual.HISTORY_FEATURES` an entry with knots such as 0, 1, 2, 5, 10 and 20, whose function looks up
# two tables of coordinates by `batch.location` and by the last visit's location. Train the variant "full" with it, with at
# least three seeds, and a placebo beside it. Expect little: the tables already know which visits came after the present
# place, so near places are favoured for the better reason that one goes there from here.
#
# </details>
#
# **Next:** [Open vocabulary and a longer memory](22_open_vocabulary.ipynb), for places that training has never seen.
