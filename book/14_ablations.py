# %% [markdown]
# # Ablations
#
# *You will be able to* read an ablation table with the right amount of distrust, and to make one
# that deserves less of it. *You need* [Building the model](09_model.ipynb) and [Training](10_training.ipynb). *It
# takes* a quarter of an hour to read and a few seconds to run; making the table again takes nearly three
# hours on one processor core.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# Which parts of the model earn their place? The usual answer is an **ablation table**: take one part
# out, train again, and see what is lost. The design documents of PGT have one with eleven rows. By it
# every part matters: the pointer most, but the weekday, the days since a visit and the user as well.
#
# Before you look at ours, write down what you expect. Will the model without the user lose? Without the
# hour of the day? Without the gate?
#
# ## How to take a part out
#
# In `pgt` an ablation is one field of the configuration. There is no second copy of the model that could
# differ in something else.

# %%
from pgt.config import ABLATIONS

for name, change in ABLATIONS.items():
    print(f"{name:22s} {change}")

# %% [markdown]
# Taking an embedding out removes its columns before the projection. Without the gate the mixture is
# half and half. Without the pointer or the generator the other one is the whole model. One row changes the
# depth instead.
#
# Each row was trained from several seeds, on the simulated city and on GeoLife. All rows of a table share their seeds,
# their data and their settings. By the published protocol the model knows the day of the target, as in the documents; by
# the exact one it is not told and must name the very place.

# %%
from pgt.analysis.results import read_results

ablations = read_results("ablations")
print(ablations.header["command"])
for source in ablations.header["data"]:
    print(source["name"], source["protocol"], source["windows"])

# %% tags=["hide-input"]
from IPython.display import Markdown, display

n_runs = len(ablations.header["runs"])
hours = ablations.header["seconds"] / 3600
Markdown(
    f"Together {n_runs} trainings, {hours:.1f} hours on one core of a {ablations.header['device'].upper()}; they "
    "are independent, so more cores divide the time."
)

# %% tags=["hide-input"]
from pgt.config import PRESETS

rates = {s["training"]["learning_rate"] for s in ablations.header["data"] if s["name"] == "geolife"}
as_documented = rates == {PRESETS["geolife"].training.learning_rate}
Markdown(
    "On GeoLife the whole model is PGT as the documents configure it there."
    if as_documented
    else "> **Note.** This table is older than the rest of the book, and waits to be computed again. On GeoLife its whole "
    "model is PGT with the package's *default* settings, not with those that the documents name for GeoLife, and "
    "all windows go back from the target's day, by the exact protocol too. Two rows on the documents' own model, "
    "with twice the seeds, stand below the verdicts."
)

# %% [markdown]
# ## What the documents claim
#
# One seed a row, change of Acc@1 in points on GeoLife (design documents, ablation table).

# %%
CLAIMED = {
    "no_user": -3.94, "no_time": -2.03, "no_weekday": -4.34, "no_recency": -6.45, "no_duration": -2.26,
    "no_position_from_end": -2.80, "no_sinusoid": -0.43, "one_layer": -2.91, "no_pointer": -20.96,
    "no_generator": -4.28, "no_gate": -4.88,
}  # fmt: skip

# %% [markdown]
# Every row is negative, so every part helps. It is a good story. Now the same table with several seeds.
#
# ## What we measured
#
# For each row we take the mean over seeds of the change, and an interval for it. The interval asks
# two things at once: what if the people had been others, and what if the seeds had been others? People are
# resampled, since their windows are alike ([chapter 15](15_traps.ipynb)); seeds are resampled too, in
# pairs, because the whole model and the ablated one share each seed's shuffling.

# %%
import itertools

import numpy as np
import pandas as pd

from pgt.intervals import ends, resampled_means
from pgt.metrics import gains


def hits(variant, metric="acc@1", **where):
    """(seeds, windows) what each window adds to a metric, and the (windows,) person of each."""
    chosen = ablations.ranks(model="pgt", variant=variant, **where)
    runs = sorted(chosen, key=lambda run: run.seed.iloc[0])
    return np.stack([gains(run)[metric] for run in runs]), runs[0].user_id.to_numpy()


def change(variant, metric="acc@1", *, draws=2000, **where):
    """Mean change in points against the whole model, its 95 % interval, and each seed's change."""
    ablated, user = hits(variant, metric, **where)
    difference = 100 * (ablated - hits("full", metric, **where)[0])  # (seeds, windows)
    means = resampled_means(difference, user, draws=draws)           # (draws,)
    return difference.mean(), *ends(means), difference.mean(1)

# %%
sets = {
    f"{source['name']}, {source['protocol']}": {
        "data": source["name"],
        "protocol": source["protocol"],
    }
    for source in ablations.header["data"]
}
measured = {
    name: {variant: change(variant, **where) for variant in CLAIMED}
    for name, where in sets.items()
}

# %% tags=["hide-input"]
from matplotlib import pyplot as plt

from pgt.viz.figures import COPIED, GENERATED, MUTED, show

figure, panels = plt.subplots(
    1, len(sets), figsize=(7.4, 4.6), sharey=True, sharex=True
)
rows = np.arange(len(CLAIMED))
for axes, (name, table) in zip(panels, measured.items(), strict=True):
    mean, low, high = (
        np.array([table[variant][k] for variant in CLAIMED]) for k in range(3)
    )
    axes.axvline(0, color=MUTED, lw=1)
    axes.hlines(rows, low, high, color=COPIED, lw=2)
    axes.plot(mean, rows, "o", color=COPIED, label="measured, 95 % interval")
    for at, variant in enumerate(CLAIMED):
        axes.plot(
            table[variant][3], [at] * len(table[variant][3]), "|", color=MUTED, ms=7
        )
    if "geolife" in name:
        axes.plot(
            list(CLAIMED.values()),
            rows,
            "D",
            color=GENERATED,
            mfc="none",
            label="documents, one seed",
        )
    axes.set_title(name, fontsize=10)
panels[0].set_yticks(rows, [variant.replace("_", " ") for variant in CLAIMED])
panels[0].invert_yaxis()
figure.supxlabel("change of Acc@1 against the whole model (points)", fontsize=10)
handles, labels = panels[-1].get_legend_handles_labels()
figure.legend(handles, labels, fontsize=8, loc="outside upper right", ncols=2)
crossing = {
    name: sum(t[v][1] < 0 < t[v][2] for v in CLAIMED) for name, t in measured.items()
}
show(
    figure,
    alt="Forest plot of eleven ablations. Only the pointer's interval lies far below zero. Intervals that cross "
    "zero: "
    + "; ".join(f"{name} {n} of {len(CLAIMED)}" for name, n in crossing.items())
    + ".",
    caption="What is lost with each part. Dots and lines: mean over "
    + " and ".join(sorted({str(len(t[v][3])) for t in measured.values() for v in CLAIMED}, key=int))
    + " seeds and 95 % interval over people and seeds; ticks: single seeds; open diamonds: what the documents report, "
    "by the published protocol.",
)

# %% [markdown]
# Cover the row of the pointer with your hand. What is left is a column of dots around zero.
#
# ## A verdict per claim
#
# A claim is *confirmed* if the interval lies below zero, *contradicted* if the documents' number lies outside
# the interval and the interval reaches zero or beyond, and *not confirmed* otherwise.


# %%
def verdict(mean, low, high, claimed):
    """What the measurement says about a claimed change."""
    if high < 0:
        return "confirmed" if low <= claimed <= high else "confirmed, other size"
    return "contradicted" if not low <= claimed <= high else "not confirmed"


verdicts = pd.DataFrame(
    {
        name: {v: f"{t[v][0]:+.1f} [{t[v][1]:+.1f}, {t[v][2]:+.1f}] {verdict(*t[v][:3], CLAIMED[v])}"
               for v in CLAIMED}
        for name, t in measured.items() if "geolife" in name
    }
)  # fmt: skip
verdicts.insert(0, "documents", pd.Series(CLAIMED).map("{:+.1f}".format))
with pd.option_context("display.max_colwidth", None):
    display(verdicts)

# %% tags=["hide-input"]
published = measured["geolife, published"]
kinds = pd.Series({v: verdict(*published[v][:3], CLAIMED[v]) for v in CLAIMED})
harmless = [
    v.replace("_", " ").removeprefix("no ") for v in CLAIMED if published[v][0] > 0
]
Markdown(
    "By the published protocol"
    + ("" if as_documented else ", and for the default settings,")
    + f" **{int(kinds.str.startswith('confirmed').sum())} of {len(kinds)}** claims are "
    f"confirmed, {int((kinds == 'contradicted').sum())} are contradicted, and "
    f"{int((kinds == 'not confirmed').sum())} can be neither. In {len(harmless)} rows the model is on "
    f"average *better* without the part: {', '.join(harmless)}."
)

# %% [markdown]
# Two of these claims can be judged on the very model that the documents describe for GeoLife.
# [Chapter 23](23_real_cities.ipynb) has it with and without its two halves. The documents' protocol is the published one.

# %%
halves = {}
for variant, protocol in itertools.product(("no_pointer", "no_generator"), ("published", "exact")):
    documented = read_results(f"geolife_{protocol}")
    WHOLE = {"model": "pgt", "variant": "full", "target_time": "day" if protocol == "published" else "unknown"}
    gap, low, high = documented.difference(WHOLE | {"variant": variant}, WHOLE)
    halves[variant, protocol] = {
        "documents": f"{CLAIMED[variant]:+.1f}", "measured": f"{gap:+.1f} [{low:+.1f}, {high:+.1f}]",
        "seeds": len(documented.select(**WHOLE)), "verdict": verdict(gap, low, high, CLAIMED[variant]),
    }  # fmt: skip
pd.DataFrame(halves).T

# %% [markdown]
# *Contradicted* is the number as a property of the part. That one training gave such a number we do not doubt: look at
# the spread of the ticks. And take a near miss for no more than it is. Intervals from few seeds come out a little
# narrow; [chapter 19](19_improvements.ipynb) says by how much.
#
# > **Pitfall.** "Not confirmed" does not mean "has no effect". With forty-five people the intervals are
# > wide, and an effect of a point or two would hide in them. What we can say is that this data cannot
# > show it, so no table made on this data with one seed can have shown it either.
#
# ## How can a useful part be useless?
#
# Hour of the day matters for people: the kernel of [chapter 4](04_baselines.ipynb) uses it and wins. So why does
# the model not miss its hour embedding?
#
# - **Redundancy.** The window says the same thing several ways. Position from the end, sinusoid,
#   recency and position bias all tell the model how long ago a visit was. Take out one and the others remain.
# - **It was not used.** The pointer compares what a visit *is* with what the last visit *is*. "The same hour" is a
#   relation between two visits, and a projection of concatenated embeddings must first learn to express
#   it. [Chapter 13](13_attention_on_maps.ipynb) looks: in the town the answers prefer visits of the same hour, and the
#   attention does not. What is not used is not missed.
# - **Seven thousand windows.** A part that could help with a million windows can be a way to overfit with seven
#   thousand.
#
# An ablation measures what *this* model, trained *this* way, loses. It says nothing about what the
# information is worth.
#
# ## The whole table against one row
#
# Could the documents' table have come from luck alone? Take our runs, and draw for each row one seed of
# the whole model and one of the ablated model, as somebody does who trains everything once.

# %%
rng = np.random.default_rng(1)
small = [v for v in CLAIMED if v != "no_pointer"]
scores = {
    v: hits(v, **sets["geolife, published"])[0].mean(1) * 100 for v in ["full", *small]
}
full = rng.choice(
    scores["full"], size=2000
)  # one whole model for all rows, as in a real table
tables = np.stack(
    [rng.choice(scores[v], size=2000) - full for v in small]
)  # (rows, tables)
negative = (tables < 0).sum(0)
figure, axes = plt.subplots()
axes.hist(
    negative, bins=np.arange(len(small) + 2) - 0.5, color=COPIED, edgecolor="white"
)
axes.set(
    xlabel=f"negative rows among the {len(small)} without the pointer's",
    ylabel="tables of one seed each",
)
show(
    figure,
    alt=f"Histogram of how many of {len(small)} rows are negative in a table made with one seed: from "
    f"{negative.min()} to {negative.max()}, widely spread.",
    caption="Tables that a single seed could have produced. All rows share one whole model, so its luck moves them "
    "all at once.",
)

# %% tags=["hide-input"]
lost = -np.mean([CLAIMED[v] for v in small])                       # points a row, in the documents
own = np.stack([scores[v] - scores["full"] for v in small])        # (rows, seeds): one seed, one table
seeds = sorted(ablations.select(variant="full", **sets["geolife, published"]).seed.astype(int))
worst, kindest = own.mean(0).argmin(), own.mean(0).argmax()
assert scores["full"].argmax() == worst
Markdown(
    f"In **{100 * (negative == len(small)).mean():.0f} %** of these tables every single row is negative, as in the "
    f"documents' table; in {100 * (negative == 0).mean():.0f} % none is. One need not even draw. Our own table of seed "
    f"{seeds[worst]}, whose whole model is the best of them, has {(own < 0).sum(0)[worst]} negative rows of "
    f"{len(small)}; that of seed {seeds[kindest]} has {(own < 0).sum(0)[kindest]}.\n\n"
    f"So much for the signs. The sizes are another matter. The documents' {len(small)} rows lose {lost:.1f} points on average. As "
    f"much is lost in {100 * (tables.mean(0) <= -lost).mean():.1f} % of our tables; that of seed {seeds[worst]} loses "
    f"{-own.mean(0)[worst]:.1f}. Our luck makes such signs easily, and such sizes hardly ever; what else was different "
    "there we cannot tell."
)

# %% [markdown]
# The histogram is wide, and that is the point. All rows of a one-seed table are differences to *the same*
# run of the whole model. If that run was a lucky one, every part of the model looks useful at once. If
# it was unlucky, every part looks harmful. Rows of one table are not eleven pieces of evidence.
#
# ## Summary
#
# - The pointer matters, by far. In the table of eleven no other part has an effect on Acc@1 that these seeds can show
#   beyond doubt. On the documents' own model, by the exact protocol, the generator costs accuracy at the first guess.
# - Acc@1 is not everything. Among the first ten, the generator earns its place on GeoLife (exercise 2).
# - One-seed tables share their luck: the whole model's seed moves all rows together.
# - A part can be unused, redundant, or harmful at this size of data, and an ablation cannot tell which.
#
# ## Exercises
#
# **Exercise 1** (quick). Why is the mean change of *no generator* so small, when
# [chapter 8](08_generator_and_gate.ipynb) shows that only the generator can name places outside the window?

# %% [markdown]
# <details class="solution"><summary>Solution 1</summary>
#
# Being able to name them is not being right. Outside the window the generator's first guess is hardly ever
# the target, so nothing is lost at rank one. Look at Acc@10 and at the group *not in window* instead.
#
# </details>

# %% [markdown]
# **Exercise 2** (medium). Print the change in Acc@10 of *no generator*, with its interval, for each data set. Does the
# generator earn its place there? And the gate?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
among_ten = {}
for variant in ("no_generator", "no_gate"):
    for name, where in sets.items():
        mean, low, high, _ = among_ten[variant, name] = change(variant, "acc@10", **where)
        print(f"{variant:12s} {name:18s} {mean:+.1f} [{low:+.1f}, {high:+.1f}] points of Acc@10")
assert all(high < 0 for (variant, name), (_, _, high, _) in among_ten.items() if (variant, name[:3]) == ("no_generator", "geo"))
assert among_ten["no_gate", "city, exact"][2] < 0
# On GeoLife the generator does: both intervals lie below zero. In the town it does not. The gate does in the town, and by
# the published protocol, by less than half a point. None of this shows at rank one: what is useless depends on what you count.

# %% [markdown]
# **Exercise 3** (longer). How many seeds would be needed to see an effect of one point, if only the spread over
# seeds mattered? Use twice the standard error of the paired differences.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
spread = pd.Series({v: published[v][3].std(ddof=1) for v in small})
needed = np.ceil((2 * spread / 1.0) ** 2).astype(int)  # 2 s / sqrt(n) < 1 point
pd.DataFrame({"spread of the difference": spread.round(2), "seeds needed": needed})

# %% [markdown]
# **Exercise 4** (project). Take several parts out at once, say all four ways to tell the order of visits
# (`without=("position_from_end", "sinusoid", "recency", "position_bias")`), and train on the city with
# three seeds. Does the loss of the four exceed the sum of the single losses?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
ORDER = ("position_from_end", "sinusoid", "recency", "position_bias")
RUN = False  # True trains three models: about two minutes


def without_order(seed):
    from dataclasses import replace

    import torch

    from pgt import city
    from pgt.config import CITY, ModelConfig
    from pgt.metrics import evaluate
    from pgt.model import PointerGeneratorTransformer
    from pgt.train import fit
    from pgt.windows import prepare

    data = prepare(city.load().visits, protocol="exact")
    torch.manual_seed(seed)
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    model = PointerGeneratorTransformer(ModelConfig(*sizes, without=ORDER))
    fit(model, data.train, data.valid, replace(CITY, seed=seed), progress=False)
    return 100 * gains(evaluate(model, data.test))["acc@1"].mean()


whole = 100 * hits("full", **sets["city, exact"])[0].mean(1)
for seed, score in zip(seeds, whole, strict=True):
    less = f", without order {without_order(seed):.1f} %" if RUN and seed in (1, 2, 42) else ""
    print(f"seed {seed:2d}: the whole model {score:.1f} %{less}")
# The single losses are in `measured`, and the position bias's in chapter 12.

# %% [markdown]
# **Next:** [Traps](15_traps.ipynb), where scores go wrong before any part of a model is to blame.
