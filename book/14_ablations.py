# %% [markdown]
# # Ablations
#
# How much of a table of ablations is luck?
#
# *You will be able to* read an ablation table with the right amount of distrust, and make one that deserves less of it.
# *You need* [The whole model](09_model.ipynb) and [Training](10_training.ipynb). *It takes* a quarter of an hour to read
# and a few seconds to run, with or without a GPU; training all the models again takes hours.
#
# > **In one sentence.** Of eleven parts only one is missed in all our data. Train each row of the table once, and
# > whether the others seem to help depends mostly on how lucky the run of the *whole* model was.

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
from wherenext.exercises import check
from wherenext.figures import COPIED, MUTED, show
from wherenext.results import read_results

from pgt.config import ABLATIONS
from pgt.metrics import gains, percentile_interval, resampled_means

# %% [markdown]
# Which parts of the model earn their place? The usual answer is an **ablation table**: take one part out, train again, and
# see what is lost.
#
# ## How to take a part out
#
# In `pgt` an ablation is one field of the configuration. There is no second copy of the model that could differ in
# something else. Three of the eleven, as examples:

# %%
{name: ABLATIONS[name] for name in ("no_time", "no_pointer", "one_layer")}

# %% [markdown]
# Taking an embedding out removes its columns before the projection. Without the pointer, the generator is the whole model,
# and the other way round. Without the gate the mixture is half and half. One ablation changes the depth instead.
#
# ## First, a bet
#
# Here are all eleven. Which of these parts does the model miss, so clearly that luck cannot explain it? Write down your bet
# before you see a number. We settle it below.

# %%
parts = {
    "user": "no_user",
    "time of day": "no_time",
    "weekday": "no_weekday",
    "days since the visit": "no_recency",
    "duration": "no_duration",
    "position from the end": "no_position_from_end",
    "sinusoid": "no_sinusoid",
    "second layer": "one_layer",
    "pointer": "no_pointer",
    "generator": "no_generator",
    "gate": "no_gate",
}
bet = ["user", "time of day", "gate"]  # change it

# %% [markdown]
# ## One seed
#
# We trained the whole model and each ablation many times: {{ n_runs }} trainings in all. On [GeoLife](23_real_cities.ipynb)
# by the published protocol each has ten seeds. On GeoLife by the exact one, and on the simulated town, each has five.
# (*Published* makes one symbol of all places that training lacks; *exact* keeps their names, see
# [Windows](03_windows.ipynb).) All rows of a table share their seeds, their data and their settings.

# %% tags=["hide-input"]
# @title Table: how many windows each data set has
ablations = read_results("ablations")
n_runs = len(ablations.header["runs"])
sources = ablations.header["data"]
sets = {
    f"{s['name']}, {s['protocol']}": {
        "data": s["name"],
        "protocol": s["protocol"],
    }
    for s in sources
}
windows = {name: s["windows"] for name, s in zip(sets, sources, strict=True)}
pd.DataFrame(windows).T.rename_axis("windows")

# %% [markdown]
# But nobody prints ten tables. Papers print one. Here are the tables of two seeds: how the first guess changes, in points,
# when a part is taken out.

# %%
seed = 3  # @param [1, 2, 3, 4, 5, 6, 7, 8, 9, 42] {type:"raw"}
seeds = [seed, 4]

# %% tags=["hide-input"]
# @title Figure 14.1: the tables of two seeds
figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.6), sharey=True)
for axes, number in zip(panels, seeds, strict=True):
    published = {"seed": number, **sets["geolife, published"]}
    whole = ablations.mean(variant="full", **published)
    one_seed = {
        part: ablations.mean(variant=variant, **published) - whole
        for part, variant in parts.items()
    }
    sns.barplot(one_seed, orient="h", color=COPIED, ax=axes)
    axes.set(title=f"seed {number}", xlim=(-6, 6))
    at, off_scale = list(parts).index("pointer"), one_seed["pointer"]
    axes.text(-5.8, at, f"{off_scale:.1f}", color="white", va="center")
figure.supxlabel("change of Acc@1 without the part (points)", fontsize=10)
show(
    figure,
    alt="Bars: the change of accuracy for each of eleven ablations, as two "
    "seeds give it. The bar of the pointer leaves both panels on the left.",
    caption="The ablation tables of two seeds: GeoLife, published protocol. "
    "The pointer's bars are cut off; in white, how long they are.",
)

# %% [markdown]
# With seed 3 it looks like a table from a paper: every part helps, most of them by more than a point. You could
# write a paragraph on each. With seed 4 every part but the pointer seems to do *harm*.
#
# > **Try it.** Choose seed 1 in the cell above. Which paragraphs would you still write?
#
# ## All seeds
#
# For each row we now take the mean over seeds, and an interval for it. The interval asks two things at once: what if the
# people had been others, and what if the seeds had been others? So both are drawn again and again, with replacement: whole
# people, since the windows of one person are alike ([Traps](15_traps.ipynb)), and seeds. The whole model and the ablated one
# are always compared by the same seed, which shuffles their data alike.


# %%
def hits(variant, metric="acc@1", **where):
    """(seeds, windows) what each window adds, (windows,) its person."""
    runs = ablations.ranks(model="pgt", variant=variant, **where)
    runs = sorted(runs, key=lambda run: run.seed.iloc[0])
    found = np.stack([gains(run)[metric] for run in runs])
    return found, runs[0].user_id.to_numpy()


# %% [markdown]
# The change is taken window by window and seed by seed, and only then are people and seeds drawn:


# %%
def change(variant, metric="acc@1", *, draws=2000, **where):
    """Mean change in points, its 95 % interval, each seed's change."""
    ablated, user = hits(variant, metric, **where)
    full, _ = hits("full", metric, **where)
    difference = 100 * (ablated - full)  # (seeds, windows)
    means = resampled_means(difference, user, draws=draws)
    return difference.mean(), *percentile_interval(means), difference.mean(1)


# %%
measured = {
    name: {part: change(variant, **where) for part, variant in parts.items()}
    for name, where in sets.items()
}

# %% tags=["hide-input"]
# @title Figure 14.2: what is lost with each part, all seeds
figure, panels = plt.subplots(
    1, len(sets), figsize=(7.4, 3.8), sharex=True, sharey=True
)
rows = np.arange(len(parts))
for axes, (name, table) in zip(panels, measured.items(), strict=True):
    mean, low, high, each = zip(*table.values(), strict=True)
    axes.axvline(0, color=MUTED, lw=1)
    axes.hlines(rows, low, high, color=COPIED, lw=2)
    axes.plot(mean, rows, "o", color=COPIED)
    for at, ticks in enumerate(each):
        axes.plot(ticks, [at] * len(ticks), "|", color=MUTED, ms=7)
    axes.set_title(name, fontsize=10)
    at, off_scale = list(parts).index("pointer"), table["pointer"][0]
    if off_scale < -7:  # beyond the axis
        axes.text(-6.8, at, f"← {off_scale:.1f}", fontsize=9, va="center")
axes.set_xlim(-7, 7)
panels[0].set_yticks(rows, parts)
panels[0].invert_yaxis()
figure.supxlabel(
    "change of Acc@1 against the whole model (points)", fontsize=10
)
show(
    figure,
    alt="Forest plot of eleven ablations on three data sets. Most intervals "
    "hold zero; those of the pointer lie below it.",
    caption="Change when a part is taken out. Dots and lines: mean over "
    "seeds and 95 % interval over people and seeds. Ticks: single seeds. "
    "The pointer's row goes on to the left; a mean beyond is written.",
)

# %% [markdown]
# In {{ n_holding }} of the {{ n_intervals }} rows the interval holds zero: other people and other seeds could have turned the
# sign. The pointer is the exception, in all three columns; on GeoLife, by the published protocol, the model loses
# {{ pointer_loss:.0f }} points without it. About half of these points are answers "unknown": this protocol counts them as
# right where the place is new, and only the pointer gives them.
#
# And one part seems to do *harm*: by the exact protocol on GeoLife the first guess is better without the generator, with ten
# seeds, too ([the evidence](evidence_cities.ipynb)). Still, of so many intervals one or two may miss zero by chance.

# %% tags=["hide-input"]
# @title Table: intervals that leave zero out
flat = {
    (name, part): row[:3]
    for name, table in measured.items()
    for part, row in table.items()
}
flat = pd.DataFrame(flat, index=["change", "low", "high"]).T
holds_zero = (flat.low < 0) & (flat.high > 0)
n_holding, n_intervals = holds_zero.sum(), len(flat)
pointer_loss = -measured["geolife, published"]["pointer"][0]
flat[~holds_zero].round(1).rename_axis(["data", "without the"])

# %% [markdown]
# Now your bet. In how many of the three columns is a part missed, with its whole interval below zero?

# %%
missed = (flat.high < 0).unstack(0).sum(axis=1).rename("missed in columns")
missed.loc[bet].to_frame()

# %% [markdown]
# > **Pitfall.** "The interval holds zero" does not mean "has no effect". A small effect could be hidden in it. And an interval
# > that ends close to zero is weak evidence. The pointer's on GeoLife by the exact protocol does; by itself it would not
# > convince us, with the two other columns it does.
#
# ## One run a row
#
# Why did every row of seed 3 show a loss, and no row of seed 4 but the pointer's? Papers usually train each row once. To
# see what such a table can look like, we print two thousand: one run of the whole model, which all rows share, and for each
# row any one of the ten runs without that part. (With one seed for all rows there would be ten tables, and you have seen two.)
# Count the negative rows. The pointer's row is negative in any table, so we leave it out.

# %%
rng = np.random.default_rng(1)
where = sets["geolife, published"]
small = [part for part in parts if part != "pointer"]
scores = {
    part: 100 * hits(parts.get(part, "full"), **where)[0].mean(1)
    for part in ["whole model", *small]
}
full = rng.choice(scores["whole model"], size=2000)  # one a table
drawn = [rng.choice(scores[part], size=2000) for part in small]
negative = (np.stack(drawn) - full < 0).sum(0)  # rows of each table
ten = scores["whole model"]
print("the ten whole models:", *np.sort(ten).round(1))
lucky = full == ten.max()
unlucky = full == ten.min()

# %% tags=["hide-input"]
# @title Figure 14.3: tables that one run a row could have produced
whose = np.where(lucky, "the luckiest whole model", "the eight others")
whose[unlucky] = "the unluckiest"
figure, axes = plt.subplots()
sns.histplot(x=negative, hue=whose, discrete=True, multiple="stack", ax=axes)
axes.set(xlabel="negative rows of ten", ylabel="tables of one run a row")
show(
    figure,
    alt="Histogram of how many of ten rows are negative in a table with one "
    "run a row, in three colours. Tables with the luckiest whole model are "
    "far to the right, those with the unluckiest far to the left.",
    caption="Tables that one run a row could have produced. All rows share "
    "one whole model, so its luck moves them all at once. Luckiest: seed 3; "
    "unluckiest: seed 4.",
)

# %%
all_negative = 100 * (negative == len(small))
with_lucky = all_negative[lucky].mean()
with_unlucky = 100 * (negative[unlucky] == 0).mean()
of_whole = pd.Series(negative).groupby(full).transform("mean")
explained = 100 * of_whole.var() / negative.var()

# %% [markdown]
# All rows of such a table are differences to *the same* run of the whole model. If that run was a lucky one, most parts look
# useful at once. If it was unlucky, most look harmful. With the luckiest of our ten whole models (by a hair, seed 3),
# {{ with_lucky:.0f }} % of the tables have only negative rows. With the unluckiest (seed 4), {{ with_unlucky:.0f }} % have
# none. How many rows of a table are negative depends mostly on that one run: it explains {{ explained:.0f }} % of the
# variance.
#
# ## Why can a useful part be taken out without loss?
#
# The hour of the day matters for people: the kernel of [chapter 4](04_baselines.ipynb) uses it. How could a model do
# without its hour embedding? There are three possible reasons, for this part as for others:
#
# - **Redundancy.** Position from the end, sinusoid and days since the visit all tell the model in what order the visits
#   came, and so does the [position bias](12_position_bias.ipynb). If one is taken out, the others remain.
# - **It was not used.** "The same hour" is a relation between two visits, and a projection of concatenated embeddings must
#   first learn to express it. The first exercise of [chapter 13](13_attention_on_maps.ipynb) finds no sign of that.
# - **Few windows.** A part that would help with a million windows may only help to overfit with some thousands.
#
# An ablation measures what a model of *this* kind, trained *this* way, can do without. Another kind may need the part.
#
# ## What to remember
#
# - Ask of each row whether its interval, over people and seeds, keeps clear of zero. Here {{ n_holding }} of {{ n_intervals }}
#   hold zero.
# - The rows of a table share the luck of the whole model's run: it moves them all together. With one run a row, that luck
#   explains {{ explained:.0f }} % of how the number of negative rows varies.
# - Acc@1 is not everything. What is lost may show only in Acc@10 (exercise 2).
# - If nothing is lost, the part may be unused or redundant, and an ablation cannot tell which.
#
# ## Exercises
#
# **Exercise 1** (quick). Only the generator can name places outside the window ([chapter 8](08_generator_and_gate.ipynb)).
# Why does it help the first guess so little, or not at all? Choose. Targets outside the window are *rare*. The generator
# names them, but *seldom first*. The *pointer* learns to name them. Or the *gate* makes up for it.

# %% tags=["try"]
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
# **Exercise 2** (medium). Print the change in Acc@10 of *no generator*, with its interval, for each of the three data sets.
# In how many of them is Acc@10 clearly lower without the generator (the whole interval below zero)? And without the gate?

# %% tags=["try"]
no_generator, no_gate = ..., ...  # data sets with a clear loss
check.exercise("14.2", [no_generator, no_gate])

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
losses = [sum(about["a loss"] == "yes" for (part, _), about
              in among_ten.items() if part == name)
          for name in ("no generator", "no gate")]  # fmt: skip
check.exercise("14.2", losses)
pd.DataFrame(among_ten).T
# Compare with the figure above: what is missed depends on what you count.

# %% [markdown]
# **Exercise 3** (longer). How many seeds would be needed to see an effect of one point, if only the spread over seeds
# mattered? Use twice the standard error of the paired differences (`measured["geolife, published"][part][3]`). Which part
# needs most, and how many? How uncertain is such a spread itself?

# %% tags=["try"]
most = ...  # seeds, for the part that needs most
check.exercise("14.3", most)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
ten = {part: measured["geolife, published"][part][3] for part in small}
spread = pd.DataFrame(ten).std()
needed = np.ceil((2 * spread / 1.0) ** 2)  # 2 s / sqrt(n) < 1
needed = needed.clip(lower=2).astype(int)  # one seed has no spread
check.exercise("14.3", needed.max())
n = len(ten["user"])
about = 100 / np.sqrt(2 * (n - 1))
print(f"a spread from {n} seeds is itself uncertain by about {about:.0f} %")
table = {"spread of the difference": spread.round(2), "seeds needed": needed}
pd.DataFrame(table)

# %% [markdown]
# **Exercise 4** (project). Take several parts out at once, say all four ways to tell the order of visits
# (`without=("position_from_end", "sinusoid", "recency", "position_bias")`), and train on the city with three seeds. Is
# anything lost, although none of the first three was missed alone?

# %% tags=["try"]
answer = ...  # "something is lost" or "nothing is lost"
check.exercise("14.4", answer)

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
of_whole = 100 * hits("full", **where)[0].mean(1)
seeds = sorted(ablations.select(variant="full", **where).seed)
for number, score in zip(seeds, of_whole, strict=True):
    less = ""
    if RUN and number in (1, 2, 42):
        less = f", without order {without_order(int(number)):.1f} %"
    print(f"seed {number:2.0f}: the whole model {score:.1f} %{less}")
check.exercise("14.4", "nothing is lost")
# In our three trainings nothing was lost: without all four each seed had even
# a little more, by less than a point. So redundancy is not the reason here:
# this model does not miss the order of the visits in the town.

# %% [markdown]
# **Next:** [Traps](15_traps.ipynb), where scores go wrong before any part of a model is to blame.
