# %% [markdown]
# # Ablations
#
# How much of a table of ablations is luck?
#
# *You will be able to* read an ablation table with the right amount of distrust, and make one
# that deserves less of it. *You need* [The whole model](09_model.ipynb) and [Training](10_training.ipynb). *It
# takes* a quarter of an hour to read and a few seconds to run; making the table again takes hours.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# Which parts of the model earn their place? The usual answer is an **ablation table**: take one part
# out, train again, and see what is lost. The design documents of PGT, that is
# [the original specification](https://where-next-book.github.io/where-next/book/errata.html), have one with eleven rows. According to it,
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
import pandas as pd

from pgt.config import ABLATIONS

removed = {
    name: ", ".join(change.get("without", ())) or "nothing"
    for name, change in ABLATIONS.items()
}
layers = {name: c.get("n_layers", 2) for name, c in ABLATIONS.items()}
table = pd.DataFrame({"taken out": removed, "layers": layers})
table.replace("_", " ", regex=True).rename(lambda v: v.replace("_", " "))

# %% [markdown]
# Taking an embedding out removes its columns before the projection. Without the gate the mixture is
# half and half. Without the pointer, the generator is the whole model, and the other way round. One row changes the
# depth instead.
#
# Each row was trained from ten seeds on GeoLife by the published protocol, and from five on GeoLife by the exact one
# and on the simulated city (there with the package's default settings). All rows of a table share their seeds,
# their data and their settings. Under the published protocol the model knows the day of the target, as in the
# documents. Under the exact one it does not know the day and must name the very place.

# %%
from wherenext.results import read_results

ablations = read_results("ablations")
print(ablations.header["command"])
sources = ablations.header["data"]
windows = {f"{s['name']}, {s['protocol']}": s["windows"] for s in sources}
pd.DataFrame(windows).T.rename_axis("windows")

# %% tags=["hide-input"]
from IPython.display import Markdown

from pgt.config import PRESETS

n_runs = len(ablations.header["runs"])
hours = ablations.header["seconds"] / 3600
device = ablations.header["device"]
where = "one processor core" if device == "cpu" else f"one {device} device"
rates = {
    s["training"]["learning_rate"] for s in sources if s["name"] == "geolife"
}
assert rates == {PRESETS["geolife"].training.learning_rate}
Markdown(
    f"Together {n_runs} trainings, {hours:.1f} hours on {where}. On GeoLife "
    "the whole model is PGT as the documents configure it there."
)

# %% [markdown]
# ## What the documents claim
#
# Here is their table. Each row was trained once; the numbers are changes of Acc@1 in points, on GeoLife.

# %%
CLAIMED = {
    "no_user": -3.94,
    "no_time": -2.03,
    "no_weekday": -4.34,
    "no_recency": -6.45,
    "no_duration": -2.26,
    "no_position_from_end": -2.80,
    "no_sinusoid": -0.43,
    "one_layer": -2.91,
    "no_pointer": -20.96,
    "no_generator": -4.28,
    "no_gate": -4.88,
}

# %% [markdown]
# Every row is negative: it seems that every part helps. Now the same table with several seeds.
#
# ## What we measured
#
# For each row we take the mean over seeds of the change, and an interval for it. The interval asks
# two things at once: what if the people had been others, and what if the seeds had been others? So people are
# resampled, since the windows of one person are alike ([chapter 15](15_traps.ipynb)). Seeds are resampled too. They stay
# in pairs, because the whole model and the ablated one share each seed's shuffling.

# %%
import numpy as np

from pgt.metrics import ends, gains, resampled_means


def hits(variant, metric="acc@1", **where):
    """(seeds, windows) what each window adds, (windows,) its person."""
    runs = ablations.ranks(model="pgt", variant=variant, **where)
    runs = sorted(runs, key=lambda run: run.seed.iloc[0])
    found = np.stack([gains(run)[metric] for run in runs])
    return found, runs[0].user_id.to_numpy()


def change(variant, metric="acc@1", *, draws=2000, **where):
    """Mean change in points, its 95 % interval, each seed's change."""
    ablated, user = hits(variant, metric, **where)
    whole, _ = hits("full", metric, **where)
    difference = 100 * (ablated - whole)  # (seeds, windows)
    means = resampled_means(difference, user, draws=draws)
    return difference.mean(), *ends(means), difference.mean(1)


# %%
sets = {}
for s in sources:
    where = {"data": s["name"], "protocol": s["protocol"]}
    sets[f"{s['name']}, {s['protocol']}"] = where
measured = {
    name: {variant: change(variant, **where) for variant in CLAIMED}
    for name, where in sets.items()
}

# %% tags=["hide-input"]
from matplotlib import pyplot as plt
from wherenext.figures import COPIED, GENERATED, MUTED, show

share = {"sharex": True, "sharey": True}
figure, panels = plt.subplots(1, len(sets), figsize=(7.4, 4.6), **share)
rows = np.arange(len(CLAIMED))
for axes, (name, table) in zip(panels, measured.items(), strict=True):
    mean, low, high = (
        np.array([table[variant][k] for variant in CLAIMED]) for k in range(3)
    )
    axes.axvline(0, color=MUTED, lw=1)
    axes.hlines(rows, low, high, color=COPIED, lw=2)
    axes.plot(mean, rows, "o", color=COPIED, label="measured, 95 % interval")
    for at, variant in enumerate(CLAIMED):
        each = table[variant][3]
        axes.plot(each, [at] * len(each), "|", color=MUTED, ms=7)
    if name == "geolife, published":
        style = {"color": GENERATED, "mfc": "none"}
        text = "documents, one seed"
        axes.plot(list(CLAIMED.values()), rows, "D", label=text, **style)
    axes.set_title(name, fontsize=10)
panels[0].set_yticks(rows, [v.replace("_", " ") for v in CLAIMED])
panels[0].invert_yaxis()
text = "change of Acc@1 against the whole model (points)"
figure.supxlabel(text, fontsize=10)
with_claims = panels[list(measured).index("geolife, published")]
handles = with_claims.get_legend_handles_labels()
figure.legend(*handles, fontsize=8, loc="outside upper right", ncols=2)
crossing = {
    name: [v for v in CLAIMED if t[v][1] < 0 < t[v][2]]
    for name, t in measured.items()
}
lowest = {name: min(t, key=lambda v: t[v][0]) for name, t in measured.items()}
seeds = {len(t[v][3]) for t in measured.values() for v in CLAIMED}
show(
    figure,
    alt=f"Forest plot of {len(CLAIMED)} ablations. "
    + "; ".join(
        f"{name}: {len(rows)} intervals cross zero, and the lowest row is "
        + lowest[name].replace("_", " ")
        for name, rows in crossing.items()
    )
    + ".",
    caption="What is lost with each part. Dots and lines: mean over "
    + " or ".join(map(str, sorted(seeds)))
    + " seeds and 95 % interval over people and seeds; ticks: single seeds; "
    "open diamonds: what the documents report, by the published protocol.",
)

# %% [markdown]
# What would you have published with one seed? Choose a tick in each row and compare it with the mean. Then take
# another tick.

# %% tags=["hide-input"]
def listed(table, rows):
    """Names of rows with change and interval, for a sentence."""
    named = [
        "{} ({:+.1f} [{:+.1f}, {:+.1f}])".format(
            v.replace("_", " "), *table[v][:3]
        )
        for v in rows
    ]
    return ", ".join(named) or "none"


assert measured["geolife, exact"]["no_generator"][1] > 0  # see the summary
Markdown(
    "Rows whose interval keeps clear of zero, in points:\n\n"
    + "\n".join(
        f"- *{name}*: worse without it, "
        f"{listed(t, (v for v in CLAIMED if t[v][2] < 0))}; "
        "better without it, "
        f"{listed(t, (v for v in CLAIMED if t[v][1] > 0))}"
        for name, t in measured.items()
    )
)

# %% [markdown]
# ## A verdict per claim
#
# All claims are losses, on GeoLife by the published protocol. The interval says which verdict holds:
#
# | Interval | The documents' number | Verdict |
# |---|---|---|
# | below zero | inside | *confirmed* |
# | below zero | outside | *confirmed, other size* |
# | holds zero | inside | *not confirmed* |
# | holds zero | outside | *contradicted* |
# | above zero | outside | *the opposite* |


# %%
def verdict(low, high, claimed):
    """What the measurement says about a claimed change."""
    inside = low <= claimed <= high
    if high < 0:
        return "confirmed" if inside else "confirmed, other size"
    if low > 0:
        return "the opposite"
    return "not confirmed" if inside else "contradicted"


def judged(variant, mean, low, high):
    """A row of the table of verdicts."""
    claimed = CLAIMED[variant]
    return {
        "documents": f"{claimed:+.1f}",
        "measured": f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]",
        "verdict": verdict(low, high, claimed),
    }


published = measured["geolife, published"]
verdicts = {v: judged(v, *row[:3]) for v, row in published.items()}
pd.DataFrame(verdicts).T.rename(lambda v: v.replace("_", " "))

# %% tags=["hide-input"]
kinds = pd.Series({v: row["verdict"] for v, row in verdicts.items()})
harmless = [v.replace("_", " ") for v in CLAIMED if published[v][0] > 0]
as_low = [v for v in CLAIMED if published[v][3].min() <= CLAIMED[v]]
words = [f"{n} *{word}*" for word, n in kinds.value_counts().items()]
Markdown(
    f"The verdicts on the {len(kinds)} claims: {', '.join(words)}. On "
    "average the changed model is *better* than the whole one in "
    f"{len(harmless)} rows"
    + (f" ({', '.join(harmless)})." if harmless else ".")
    + " The verdict asks whether the mean effect can be the documents' "
    "number. A single training can still land there by luck: in "
    f"{len(as_low)} of {len(kinds)} rows "
    "at least one of our seeds loses as much as the documents say."
)

# %% [markdown]
# The exact protocol asks another question than the documents did, so its rows get no verdict.
# Intervals over few people come out somewhat narrow ([chapter 23](23_real_cities.ipynb) measures it). And of 33
# intervals one or two may miss zero by chance. So distrust one that ends close to it.
#
# > **Pitfall.** Neither *not confirmed* nor *contradicted* means "has no effect". The intervals are wide, and a small effect could be hidden in
# > them.
#
# ## Why can a useful part be taken out without loss?
#
# The hour of the day matters for people: the kernel of [chapter 4](04_baselines.ipynb) uses it. How could a model
# do without its hour embedding? There are three possible reasons, for this part as for others:
#
# - **Redundancy.** Position from the end, sinusoid, recency and position bias all tell the model in what order the visits
#   came. If one is taken out, the others remain.
# - **It was not used.** "The same hour" is a relation between two visits, and a projection of concatenated embeddings
#   must first learn to express it. [Chapter 13](13_attention_on_maps.ipynb) finds no sign of that in the town: visits
#   at the same hour were to the true next place more often than other visits, but the attention does not follow. On
#   GeoLife we have not looked.
# - **Few windows.** A part that would help with a million windows may only help to overfit with some thousands.
#
# An ablation measures what *this* model, trained *this* way, loses. It says nothing about what the
# information is worth.
#
# ## A whole table from one seed
#
# Could the documents' table have come from luck alone? Take our runs. Draw one seed of the whole model, and for each row
# one seed of the ablated model. (The seeds of
# a row and of the whole model need not be the same here, since any combination could have been printed.)

# %%
rng = np.random.default_rng(1)
small = [v for v in CLAIMED if v != "no_pointer"]
where = sets["geolife, published"]
scores = {v: 100 * hits(v, **where)[0].mean(1) for v in ["full", *small]}
# One whole model for all rows, as in a real table.
full = rng.choice(scores["full"], size=2000)
drawn = [rng.choice(scores[v], size=2000) for v in small]
tables = np.stack(drawn) - full  # (rows, tables)
negative = (tables < 0).sum(0)

# %% tags=["hide-input"]
figure, axes = plt.subplots()
edges = np.arange(len(small) + 2) - 0.5
axes.hist(negative, bins=edges, color=COPIED, edgecolor="white")
text = f"negative rows of {len(small)} (the pointer's is left out)"
axes.set(xlabel=text, ylabel="tables of one seed each")
best = full == scores["full"].max()  # tables with the best whole model
middle = [round(np.median(negative[kind])) for kind in (best, ~best)]
show(
    figure,
    alt=f"Histogram of how many of {len(small)} rows are negative in a table "
    f"with one seed a row. With the best whole model the median is "
    f"{middle[0]}, with the others {middle[1]}.",
    caption="Tables that one seed a row could have produced. All rows share "
    "one whole model, so its luck moves them all at once.",
)

# %% tags=["hide-input"]
# Points a row, in the documents; and (rows, seeds): one seed, one table.
lost = -np.mean([CLAIMED[v] for v in small])
own = np.stack([scores[v] - scores["full"] for v in small])
chosen = ablations.select(variant="full", **where)
seeds = sorted(chosen.seed.astype(int))
worst, kindest = own.mean(0).argmin(), own.mean(0).argmax()
below = (own < 0).sum(0)
every = negative == len(small)
as_much = 100 * (tables.mean(0) <= -lost).mean()
Markdown(
    f"In **{100 * (negative == len(small)).mean():.0f} %** of these tables "
    "every single row is negative, as in the documents' table; in "
    f"{100 * (negative == 0).mean():.0f} % none is. Only "
    f"{len(scores['full'])} whole models are drawn from. With the best of "
    f"them, {100 * every[best].mean():.0f} % of the tables have only "
    "negative "
    f"rows; with the others, {100 * every[~best].mean():.0f} %. If all rows "
    f"share one seed, the table of seed {seeds[worst]}"
    + (
        ", whose whole model is the best of them,"
        if scores["full"].argmax() == worst
        else ""
    )
    + f" has {below[worst]} negative rows of {len(small)}; that of seed "
    f"{seeds[kindest]} has {below[kindest]}.\n\n"
    f"Those are the signs. As to sizes, the documents' {len(small)} rows "
    f"lose {lost:.1f} points on average. As much is lost in {as_much:.1f} % "
    f"of our tables; that of seed {seeds[worst]} loses "
    f"{-own.mean(0)[worst]:.1f}."
    + (
        " Luck like ours hardly ever makes such sizes; we cannot say what "
        "else was different there."
        if as_much < 1
        else ""
    )
)

# %% [markdown]
# All rows of a one-seed table are differences to *the same*
# run of the whole model. If that run was a lucky one, most parts of the model look useful at once. If
# it was unlucky, most look harmful. The rows of one table are not independent pieces of evidence.
#
# ## What to remember
#
# - Ask of each row whether its interval, over people and seeds, keeps clear of zero.
# - The rows of a one-seed table share their luck: the whole model's seed moves them all together.
# - Acc@1 is not everything. What is lost may show only in Acc@10 (exercise 2).
# - If nothing is lost, the part may be unused or redundant, and an ablation cannot tell which. A part can also do harm
#   at this size of data: by the exact protocol on GeoLife the first guess is better without the generator.
#
# ## Exercises
#
# **Exercise 1** (quick). Only the generator can name places outside the window
# ([chapter 8](08_generator_and_gate.ipynb)). Why does it help the first guess so little, or not at all?
# Choose. Targets outside the window are *rare*. The generator names them, but *seldom first*. The *pointer* learns to
# name them. Or the *gate* makes up for it.

# %% tags=["try"]
from wherenext.exercises import check

reason = ...  # "rare", "seldom first", "pointer" or "gate"
check.exercise("14.1", reason)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("14.1", "seldom first")
# Being able to name them is not being right. Outside the window the
# generator's first guess is hardly ever the target, so little can be lost at
# rank one. It can even cost: by the exact protocol on GeoLife the model
# without it is better. Look at Acc@10 by the published protocol.

# %% [markdown]
# **Exercise 2** (medium). Print the change in Acc@10 of *no generator*, with its interval, for each data set. Does the
# generator earn its place there? And the gate?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
among_ten = {}
for variant in ("no_generator", "no_gate"):
    for name, where in sets.items():
        mean, low, high, _ = change(variant, "acc@10", **where)
        among_ten[variant.replace("_", " "), name] = {
            "change of Acc@10, points": f"{mean:+.1f}",
            "95 % interval": f"{low:+.1f} to {high:+.1f}",
            "a loss": "yes" if high < 0 else "unclear",
        }
pd.DataFrame(among_ten).T
# Compare with the figure above: what is missed depends on what you count.

# %% [markdown]
# **Exercise 3** (longer). How many seeds would be needed to see an effect of one point, if only the spread over
# seeds mattered? Use twice the standard error of the paired differences. How uncertain is such a spread itself?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
spread = pd.Series({v: published[v][3].std(ddof=1) for v in small})
needed = np.ceil((2 * spread / 1.0) ** 2)  # 2 s / sqrt(n) < 1
needed = needed.clip(lower=2).astype(int)  # one seed has no spread
n = len(published["no_user"][3])
about = 100 / np.sqrt(2 * (n - 1))
print(f"a spread from {n} seeds is itself uncertain by about {about:.0f} %")
table = {"spread of the difference": spread.round(2), "seeds needed": needed}
pd.DataFrame(table).rename(lambda v: v.replace("_", " "))

# %% [markdown]
# **Exercise 4** (project). Take several parts out at once, say all four ways to tell the order of visits
# (`without=("position_from_end", "sinusoid", "recency", "position_bias")`), and train on the city with
# three seeds. Is anything lost, although no single one of them was missed?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
ORDER = ("position_from_end", "sinusoid", "recency", "position_bias")
RUN = False  # True trains three models: about four minutes


def without_order(seed):
    from dataclasses import replace

    import torch
    from wherenext import city

    from pgt.config import CITY, ModelConfig
    from pgt.metrics import evaluate
    from pgt.model import PointerGeneratorTransformer
    from pgt.train import fit
    from pgt.windows import prepare

    data = prepare(city.load().visits, protocol="exact")
    torch.manual_seed(seed)
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    model = PointerGeneratorTransformer(ModelConfig(*sizes, without=ORDER))
    settings = replace(CITY, seed=seed)
    fit(model, data.train, data.valid, settings, progress=False)
    return 100 * gains(evaluate(model, data.test))["acc@1"].mean()


where = sets["city, exact"]
chosen = ablations.select(variant="full", **where)
whole = 100 * hits("full", **where)[0].mean(1)
for seed, score in zip(sorted(chosen.seed.astype(int)), whole, strict=True):
    less = ""
    if RUN and seed in (1, 2, 42):
        less = f", without order {without_order(seed):.1f} %"
    print(f"seed {seed:2d}: the whole model {score:.1f} %{less}")
# The single changes are in `measured`, that of the bias in chapter 12.

# %% [markdown]
# **Next:** [Traps](15_traps.ipynb), where scores go wrong before any part of a model is to blame.
