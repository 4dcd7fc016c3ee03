# %% [markdown]
# # Traps
#
# One rule, one set of visits, a dozen scores: which of them did the paper print?
#
# *You will be able to* say what a score in next-location prediction is worth, by checking it for the
# traps of this chapter. *You need* [Baselines](04_baselines.ipynb) and [Training](10_training.ipynb). *It takes* half
# an hour to read and about half a minute to run; a GPU makes no difference.

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
# A benchmark is a chain of small decisions: what a place is, when a day begins, which targets count.
# Some of these decisions are worth more points than the model that you want to show. Others turned out small, and we
# say so. We fell into most of the traps in this chapter ourselves.
#
# Unless the town or another city is named, everything here was measured on GeoLife, the data of
# [chapter 23](23_real_cities.ipynb). Most of the numbers come from one results file. If you have the data, the command
# that is printed below makes it again.

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib import pyplot as plt
from wherenext import city
from wherenext.figures import COPIED, GENERATED, MUTED, TRUTH, show
from wherenext.results import read_results

from pgt.baselines import fit_baseline
from pgt.config import WindowConfig
from pgt.metrics import evaluate, interval
from pgt.windows import prepare

traps = read_results("traps")
print(traps.header["command"])


def rows_of(trap):
    """The measured rows of one trap."""
    return traps.rows[traps.rows.trap == trap].set_index("what")


# %% [markdown]
# Most traps are measured with the context kernel of [chapter 4](04_baselines.ipynb). It has five
# numbers and no random seed. So when its score changes, the question has changed.
#
# ## 1. The unknown token
#
# In the published protocol every place that the training days never showed becomes one symbol,
# *unknown*. A prediction of *unknown* counts as right whenever the target is any of those places. (Both networks in this
# table know the day of the target. The next trap is about that, and has PGT's score without it.)

# %%
token = rows_of("unknown token").value
models = {
    "kernel": "kernel",
    "PGT": "PGT, knows the day",
    "PGT without pointer": "PGT without pointer, knows the day",
}
pd.DataFrame(
    {
        group: [token[f"{name}: {group}"] for name in models]
        for group in ("all", "known", "unknown")
    },
    index=list(models.values()),
).round(1).rename_axis("Acc@1 (%)")

# %% tags=["hide-input"]
splits = ("valid", "test")
at = [token[f"{s} targets that are the unknown token"] for s in splits]
behind = token["places behind the unknown token"]
Markdown(
    "Of the targets in training none is unknown, by definition; of those in "
    f"validation {at[0]:.1f} % are, of those in the test **{at[1]:.1f} %**. "
    f"The symbol stands for **{behind:.0f}** different places. A softmax can "
    "never learn to answer it; a pointer finds it in the window and copies "
    "it. On a journey nearly every place is *unknown*, so the symbol is in "
    "the window and is the answer."
)

# %% [markdown]
# How much of a score is that? Take the same people, visits and rule, and change only the names. (These windows are made
# from the visits. The table above uses the published window files, which hold slightly fewer.)

# %% tags=["hide-input"]
merged = token["kernel, unknown places merged"]
by_name = token["kernel, unknown places by name"]
adds = rows_of("unknown token").filter(like="what the pointer adds", axis=0)
gap_all, gap_known = adds[["value", "low", "high"]].to_numpy()
Markdown(
    f"With unknown places merged the kernel is right **{merged:.1f} %** of "
    f"the time. When it must name the very place: **{by_name:.1f} %**. To a "
    f"PGT that knows the day the pointer adds {gap_all[0]:.1f} points on all "
    f"targets (95 % interval {gap_all[1]:.1f} to {gap_all[2]:.1f}) and "
    f"{gap_known[0]:.1f} ({gap_known[1]:.1f} to {gap_known[2]:.1f}) on known "
    "ones, as in the table above."
)

# %% [markdown]
# > **Remedy.** Give real places their own names (`prepare(visits, protocol="exact")`), and always report
# > known and unknown targets apart.
#
# ## 2. A feature that knows the future
#
# [The original specification](https://where-next-book.github.io/where-next/book/errata.html) counts the days from each
# past visit back from *the target's day*. If the last visit was "1 day ago", the model knows that the next visit is
# tomorrow.

# %% tags=["hide-input"]
day = rows_of("knows the day").value
worth = rows_of("knows the day").loc["what the day is worth"]
knowing = day["PGT knowing the target's day"]
blind = day["PGT knowing nothing of the target"]
same_day = day["targets 0 days after the last visit"]
Markdown(
    f"When it knows the day, PGT is right {knowing:.1f} % of the time. When "
    f"it counts back from the last visit instead: {blind:.1f} %. The "
    f"difference is **{worth.value:.1f} points** (95 % interval "
    f"{worth.low:.1f} to {worth.high:.1f}, people and seeds resampled). "
    f"{same_day:.0f} % of the targets are on the day of the last visit; for "
    "the others the feature says how many days later they come."
)

# %% [markdown]
# That is what the *feature* adds, no more. Both models read the published windows, and these hint at the day already, by
# how far they reach back (trap 12).
#
# *Where on that day?* is a fair question, but it is not *where next?* The two do not belong in one column.
#
# > **Remedy.** Write down what the model knows of the moment that it must predict. In `pgt` this is a field
# > of the configuration, `target_time`, and a column of the results files.
#
# ## 3. A few people are the benchmark
#
# GeoLife's test set has thousands of windows, but few people.

# %% tags=["hide-input"]
few = rows_of("few people").value
half = {k: few[f"half-width, {k} resampled"] for k in ("windows", "people")}
means = {k: few[f"kernel, mean over {k}"] for k in ("windows", "people")}
share = few["windows of the five most recorded people"]
Markdown(
    f"It has **{few['people']:.0f}** people, and the five most recorded hold "
    f"**{share:.0f} %** of the windows. If windows are resampled, the "
    f"kernel's Acc@1 is known to ± {half['windows']:.1f} points. If people "
    f"are resampled, to ± **{half['people']:.1f}**. The mean over windows is "
    f"{means['windows']:.1f} %, the mean over people "
    f"{means['people']:.1f} %."
)

# %% [markdown]
# Windows of one person overlap: yesterday's visits are in today's window and in tomorrow's. An interval that
# takes them for independent draws is too narrow. On the town you can draw the sample again yourself.

# %%
data = prepare(city.load().visits, protocol="exact")
kernel = fit_baseline("kernel", data.train, data.valid)
ranks = evaluate(kernel, data.test)
by_people = interval(ranks)
by_windows = interval(ranks.assign(user_id=np.arange(len(ranks))))
print(f"people resampled  {by_people[0]:.1f} to {by_people[1]:.1f} %")
print(f"windows resampled {by_windows[0]:.1f} to {by_windows[1]:.1f} %")

# %% [markdown]
# > **Remedy.** Resample people (`pgt.metrics.interval` does). Compare two models on the same windows, so that they meet
# > the same people.
#
# ## 4. The copy ceiling
#
# "Most movements are returns" is the reason to build a pointer. How many are?

# %%
ceiling = rows_of("copy ceiling").value
days = [7, 14, 28, 56]
seen = [ceiling[f"target visited in the past {n} days"] for n in days]
ever = ceiling["target visited before, ever"]
by_place = ceiling["target in the window, real places"]
with_token = ceiling["target in the window, unknown merged"]

# %% tags=["hide-input"]
figure, axes = plt.subplots()
axes.plot(days, seen, color=COPIED, marker="o", label="real places")
axes.axhline(ever, color=TRUTH, ls="--", label="ever visited before")
square = {"color": GENERATED, "marker": "s", "ls": ""}
axes.plot([7], [with_token], **square, label="unknown places merged")
axes.set(xlabel="days back from the target's day", xticks=days)
axes.set(ylabel="targets found there (%)", ylim=(60, 90))
axes.legend()
show(
    figure,
    alt=f"Share of targets found in the past: {seen[0]:.1f} % within 7 days, "
    f"rising slowly to {seen[-1]:.1f} % within 56; {ever:.1f} % ever. With "
    f"unknown places merged, {with_token:.1f} % within 7 days.",
    caption="How many targets a pure pointer can reach, by how far back it "
    "may look. The square counts in windows, as published: one symbol stands "
    "for many places.",
)

# %% tags=["hide-input"]
more = "more" if with_token > ever else "less"
Markdown(
    f"In a window of seven days **{by_place:.1f} %** of the targets are "
    "found by their real names. (The window goes back from the last visit, "
    "the curve from the target's day.) With unknown places merged it is "
    f"**{with_token:.1f} %**, {more} than the {ever:.1f} % of the *whole "
    "past* of these people. Only the names differ: someone who goes from one "
    'new place to another "returns to unknown".'
)

# %% [markdown]
# > **Remedy.** Print the ceiling beside every score of a model that copies.
#
# ## 5. One seed
#
# An ablation table compares a model with and without a part, often once. We trained each row with
# several seeds ([chapter 14](14_ablations.ipynb) has the table, and a slider to try a seed). With only one of each,
# drawn at random, how often would the sign of your row be wrong?

# %% tags=["hide-input"]
seeds = rows_of("one seed").query(
    "data == 'geolife' and protocol == 'published'"
)
seeds = seeds.sort_values("value")
at = np.arange(len(seeds))
every = {"color": MUTED, "lw": 6, "label": "all pairs of seeds"}
figure, axes = plt.subplots(figsize=(7.0, 4.6))
axes.hlines(at, seeds.lowest, seeds.highest, **every)
axes.plot(seeds["mean"], at, "o", color=COPIED, label="mean")
axes.axvline(0, color=MUTED, lw=1)
axes.set_yticks(at, [name.replace("_", " ") for name in seeds.index])
axes.set(xlabel="change of Acc@1 without the part (points)")
axes.legend(loc="upper left")
crossing = int((seeds.value > 0).sum())
show(
    figure,
    alt="For each ablation the range of changes over all pairs of seeds, and "
    f"their mean. {crossing} of {len(seeds)} ranges cross zero.",
    caption="GeoLife, published protocol, PGT knows the day: what one seed "
    "of each model could have shown you. If a bar crosses zero, the seeds "
    "decide on the sign.",
)

# %% tags=["hide-input"]
often = int((seeds.value > 10).sum())
generator = seeds["mean"]["no_generator"]
Markdown(
    f"In **{often} of {len(seeds)}** rows, between "
    f"{seeds.value[seeds.value > 10].min():.0f} and "
    f"{seeds.value.max():.0f} % of the pairs of seeds have another sign "
    "than the mean of all pairs. (Where the mean is "
    "near zero, that is no wonder.) The documents' table has one seed per "
    "row. It says that without the generator the model loses; the mean of "
    f"our pairs is {generator:+.1f} points."
)

# %% [markdown]
# > **Remedy.** Several seeds, paired, with the spread beside the mean. If a part's effect is smaller than
# > the spread, say so.
#
# ## 6. Places that knew the test days
#
# Places are clusters of stays. The usual pipeline clusters *all* stays and splits into training and
# test afterwards. It sounds harmless: no label leaks, only geometry. We clustered the training days alone, and added
# later stays in two ways that hardly look ahead. (In this trap we cluster only stays of the benchmark's own people. The
# published pipeline clusters those of others too.)
#
# - *as the days come*: a new stay joins the place of the nearest earlier stay within the clustering's reach (if that one has none yet,
#   the two make a new place);
# - *training days only*: the places of training are kept, and a stay out of reach of all of them makes a new one.


# %%
def by_way(trap, measures):
    """Measures down, ways of making the data across."""
    rows = rows_of(trap).loc[measures].reset_index()
    rows["value"] = [
        f"{value:.1f}" if unit == "%" else f"{value:,.0f}"
        for value, unit in zip(rows.value, rows.unit, strict=True)
    ]
    table = rows.pivot(index="what", columns="way", values="value")
    table = table.loc[measures, rows.way.unique()]
    scores = ("kernel", "most frequent")
    table.index = [f"{m}, Acc@1" if m in scores else m for m in measures]
    return table.rename_axis(columns="shares in %")


scores = ["kernel", "most frequent", "target in the window"]
counts = ["target seen in training", "places", "test windows"]
by_way("clusters", scores + counts)

# %% tags=["hide-input"]
kernels = rows_of("clusters").loc["kernel"].set_index("way").value
lost = kernels["all days"] - kernels
Markdown(
    "Places made of all days give the kernel "
    f"**{lost['as the days come']:.1f} points** more than places made *as "
    f"the days come*, and {lost['training days only']:.1f} more than those "
    "of the *training days only*."
)

# %% [markdown]
# GPS puts the same flat on slightly different spots, and clustering chains them. A stay of
# the *test* days can be the stepping stone that joins two spots of the *training* days into one home.
#
# But a system in daily use would do better than our two ways. It may look back and cluster everything *anew every night*,
# so that a stay of yesterday joins two places of the past. We did that for each day of the test, with all days before
# it. Such a system cannot name a target at a spot that is no place yet. In each half of the
# table all ways have the same *n* targets. The upper half leaves out targets at such spots. The lower half counts them
# as misses of *anew every night*, which takes the kernel's five numbers from *as the days come*; the others choose their own.

# %% tags=["hide-input"]
paired = rows_of("clusters").reset_index().set_index(["what", "way"])


def on_targets(which):
    """Acc@1 of each way, and the difference to places of all days."""
    own = paired.loc[f"kernel, {which} targets"]
    less = paired.loc[f"kernel, {which} targets, minus all days"]
    signed = less.apply(
        lambda r: f"{r.value:+.1f} [{r.low:+.1f}, {r.high:+.1f}]", axis=1
    )
    columns = {"Acc@1 (%)": own.value.round(1), "minus all days": signed}
    table = pd.DataFrame(columns).reindex(own.index).fillna("")
    return {f"{own.n.iloc[0]:,.0f}": table}


every = pd.concat(on_targets("shared") | on_targets("all"))
every.rename_axis(["n", "places"])

# %% tags=["hide-input"]
less = paired.loc["kernel, all targets, minus all days"]
fewer = paired.loc["kernel, shared targets, minus all days"]
fewer = fewer.loc["anew every night"]
night, in_order = less.loc["anew every night"], less.loc["as the days come"]
assert night.high < 0 and night.value > in_order.value
Markdown(
    "In the lower half *as the days come* is "
    f"{-in_order.value:.1f} points below *all days*. If places are made "
    f"anew every night, the gap is **{-night.value:.1f}** points (95 % "
    f"interval {-night.high:.1f} to {-night.low:.1f}, "
    "people resampled). That is our estimate of the leak. (In the "
    f"upper half it is {-fewer.value:.1f}"
    + (", and the interval includes zero" if fewer.high > 0 else "")
    + ".) The rest was the fault of a control that could not join places "
    "afterwards."
)

# %% [markdown]
# > **Remedy.** Fit everything that is fitted, clusters too, on what was known at the time, or at least say that
# > you did not. And ask whether a control is stricter than it need be.
#
# ## 7. The same trip under two names
#
# Some recordings lie in the folders of two people.

# %% tags=["hide-input"]
twins = rows_of("twins").value
twice = twins["test targets with a twin in test"]
leaked = twins["test targets with a twin in train"]
ways = rows_of("ways")
people = ways.loc["people"].set_index("way").value["as published"]
Markdown(
    f"{twins['people with a twin']:.0f} of {people:.0f} people share "
    "a visit, to the second, with somebody else. Call two such visits "
    "*twins*.\n\n"
    f"- **{twice:.1f} %** of the test targets are in the test set twice. If "
    "all are pairs, half of these are surplus. Once more every interval is "
    "too narrow, since twins are not two people.\n"
    f"- {leaked:.1f} % of the test targets are in somebody else's *training* "
    "days: a model that is trained on everybody has seen the answer."
)

# %% [markdown]
# > **Remedy.** Look for equal rows across people before you split; then split by recording, not by folder.
#
# ## 8. Whose midnight?
#
# GPS receivers write universal time, and the published pipeline never converts it. Beijing is eight hours
# ahead.

# %% tags=["hide-input"]
clocks = {"UTC": ("as published (UTC)", MUTED, "--"),
          "local": ("Beijing time", COPIED, "-")}  # fmt: skip
figure, axes = plt.subplots()
for name, (label, colour, dash) in clocks.items():
    line = ways.loc[f"visits begun, {name}"].sort_values("hour")
    axes.plot(line.hour, line.value, color=colour, ls=dash, label=label)
axes.set(xlabel="hour of the day", xticks=range(0, 25, 4))
axes.set(ylabel="visits that begin then (%)")
axes.legend()
show(
    figure,
    alt="Two curves of when visits begin. By Beijing time they rise in the "
    "morning and fall at night; in universal time the same curve stands "
    "eight hours earlier.",
    caption="When visits begin, by the clock of the pipeline and by the "
    "clock on the wall.",
)

# %% tags=["hide-input"]
moved_day = ways.value["visits on another day by the local clock"]
kernels = ways.loc["kernel"].set_index("way").value
moved = kernels - kernels["as published"]
Markdown(
    f"**{moved_day:.0f} %** of the visits change their day. A model can "
    "learn a shifted clock, since the shift is the same for everybody. It "
    "cannot learn a shifted midnight: windows, weekdays, weekends and the "
    "split itself are cut there. With the clock right the kernel's score "
    f"changes by {moved['clock right']:+.1f} points, though on other windows."
)

# %% [markdown]
# > **Remedy.** Convert to local time before you cut days.
#
# ## 9. Longitude first
#
# The library that finds the places hands (longitude, latitude) to a distance function that expects (latitude,
# longitude). No error is raised. [Chapter 2](02_gps_to_visits.ipynb) shows what becomes of a circle of 20 metres. Here is
# what becomes of the benchmark. (The counts of visits, places and windows differ from those there: these windows go back
# from the last visit, and visits and places are only those of the people in the first row. They are the people with
# windows in all three splits, so each repair changes who they are.)

# %%
sizes = ["people", "visits", "places", "test windows"]
by_way("ways", sizes + scores)

# %% tags=["hide-input"]
Markdown(
    "With the coordinates right the kernel changes by "
    f"{moved['coordinates right']:+.1f} points (computed before rounding). "
    "But each column could be called just \"GeoLife\", with other people, "
    "other places and other windows. Their scores must not be compared in "
    "one table."
)

# %% [markdown]
# > **Remedy.** Publish counts at every step. They are the cheapest checksum there is: anyone who gets other
# > counts has other data.
#
# ## 10. Mixed protocols
#
# Here is one kernel on the same visits. Only the question changes from row to row; the five numbers
# are chosen on the validation windows of each protocol and length of history.

# %% tags=["hide-input"]
mixed = rows_of("mixed protocols").value.sort_values()
published = mixed.index.str.contains("published")
figure, axes = plt.subplots(figsize=(7.2, 4.8))
axes.barh(mixed.index, mixed, color=np.where(published, GENERATED, COPIED))
beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
for what, score in mixed.items():
    axes.annotate(f"{score:.1f}", (score, what), **beside)
axes.set(xlabel="Acc@1 of the context kernel (%)")
axes.grid(axis="y", visible=False)
show(
    figure,
    alt=f"{len(mixed)} scores of one kernel, from {mixed.min():.1f} to "
    f"{mixed.max():.1f} %, by protocol, days of history and the targets that "
    "are counted.",
    caption=f"The same kernel under {len(mixed)} protocols. Unknown places "
    "merged (published) or by name (exact), 7 or 28 days of history, all "
    "targets or only some.",
)

# %% tags=["hide-input"]
Markdown(
    f"From **{mixed.min():.0f} %** to **{mixed.max():.0f} %**, and the model "
    "is the same rule. Longer windows even change what is in the test: the "
    "first 28 days of every split have no targets."
)

# %% [markdown]
# > **Remedy.** Print the protocol, the days of history and the kind of targets beside every score.
#
# ## 11. Stopping on the wrong thing
#
# Early stopping often keeps the epoch with the lowest validation loss, and this run did. Here is that loss, split by whether
# training could have known the target.

# %% tags=["hide-input"]
stopping = rows_of("stopping").reset_index()
curve = stopping.pivot(index="epoch", columns="what", values="value")
looks = {"known": (COPIED, "-"), "unknown": (GENERATED, "--"),
         "all": (MUTED, ":")}  # fmt: skip
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
for group, (colour, dash) in looks.items():
    left.plot(curve[f"loss, {group}"], color=colour, ls=dash, label=group)
left.set(xlabel="epoch", ylabel="validation loss (nats)")
left.legend()
hits = curve["Acc@1"]
right.plot(hits, color=TRUTH)
right.set(xlabel="epoch", ylabel="validation Acc@1 (%)")
lowest = {group: int(curve[f"loss, {group}"].idxmin()) for group in looks}
show(
    figure,
    alt="Left: validation loss by epoch, lowest for known targets in epoch "
    f"{lowest['known']}, for unknown ones in epoch {lowest['unknown']}, over "
    f"all targets in epoch {lowest['all']}. Right: accuracy is "
    f"{hits.iloc[0]:.0f} % at first, at most {hits.max():.0f} % in epoch "
    f"{hits.idxmax():.0f}, and {hits.iloc[-1]:.0f} % at the end.",
    caption="One run of PGT on GeoLife, published protocol; it knows the "
    "day. The dotted curve is what early stopping sees.",
)

# %% tags=["hide-input"]
Markdown(
    f"The loss is lowest in epoch {lowest['known']} for known targets, in "
    f"epoch {lowest['unknown']} for unknown ones, and in epoch "
    f"{lowest['all']} over both. Accuracy over all targets is "
    f"{hits[lowest['all']]:.1f} % in the epoch that early stopping keeps, "
    f"{hits[lowest['known']]:.1f} % in the best one for known targets, and "
    f"{hits.max():.1f} % at best."
    + (
        " So this time nothing was lost; in [chapter 10](10_training.ipynb) "
        "stopping on the loss cost accuracy."
        if hits[lowest["all"]] == hits.max()
        else ""
    )
)

# %% [markdown]
# Training never shows the unknown targets, so the longer it lasts, the surer the model becomes that they do not
# happen. The mean over all targets turns when their rising loss outweighs what is still being gained on known places.
# So the epoch that is kept depends on the share of unknown places. One run shows how the two groups pull apart, not what
# that costs.
#
# > **Remedy.** Watch the metric you report, on the targets you report ([chapter 10](10_training.ipynb) does so on the
# > city).
#
# ## 12. A window that knows when
#
# We found this trap last, in our own exact protocol. A window holds the visits of seven days: in the literature, those
# before the *target's* day. Suppose that your last visit was three days before the target's. Then the window reaches back four days from your
# last visit instead of seven. So a window whose oldest visit is four days before the last one allows a gap of at most
# three days, and one that reaches back seven *proves* that there is none. Here it is for the town.

# %%
visits = city.load().visits
spans = {}
for anchor in ("target_day", "last_visit"):
    config = WindowConfig(protocol="exact", anchor=anchor)
    windows = prepare(visits, config=config).test
    batch = windows.batch(np.arange(len(windows)))
    # days from the oldest visit to the last, and from the last to the next
    reach = batch.days_ago.max(1).values
    gap = batch.gap_days.clip(max=4)
    spans[anchor] = pd.crosstab(reach.numpy(), gap.numpy(), normalize="index")

# %% tags=["hide-input"]
figure, panels = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
titles = ("back from the target's day", "back from the last visit")
for axes, table, title in zip(panels, spans.values(), titles, strict=True):
    bottom = np.zeros(len(table))
    for gap, part in (100 * table).items():
        colour = plt.cm.viridis(0.92 - 0.2 * gap)
        label = f"{gap}+" if gap == 4 else str(gap)
        where = {"bottom": bottom, "width": 0.85}
        axes.bar(part.index, part, color=colour, label=label, **where)
        bottom += part.to_numpy()
    axes.set(title=title, xlabel="days from the oldest visit to the last")
panels[0].set_ylabel("windows (%)")
handles, labels = panels[0].get_legend_handles_labels()
below = {"loc": "outside lower center", "ncols": 5}
figure.legend(handles, labels, title="days until the next visit", **below)
today = {anchor: 100 * table[0] for anchor, table in spans.items()}
show(
    figure,
    alt="Two bar charts of the days until the next visit, by how far a "
    "window reaches back. Left, windows that go back from the target's day: "
    f"of those that reach back seven days {today['target_day'][7]:.0f} per "
    "cent are followed by a visit on the same day, of those that reach back "
    f"six {today['target_day'][6]:.0f}. Right, windows that go back from the "
    f"last visit: {today['last_visit'][7]:.0f} per cent and "
    f"{today['last_visit'][6]:.0f}.",
    caption="Test windows of the town: when the next visit comes, by how far "
    "the window reaches back. If windows gave nothing away, all bars of a "
    "chart would look the same.",
)

# %% [markdown]
# On the left, every window that reaches back seven days is followed by a visit on the day of the last one, "today". The
# table adds real people, of GeoLife and of New York ([chapter 23](23_real_cities.ipynb)). *Proved* is the share of windows whose reach leaves only one possible day. The last two columns
# are in bits: how much the window's reach says about the days until the next visit, and how much there is to know about
# them. (The two kinds of windows do not have quite the same targets.)

# %%
anchors = read_results("anchors").rows
WORDS = {
    "target_day": "target's day",
    "last_visit": "last visit",
    "geolife": "GeoLife",
    "new york": "New York",
    "most_frequent": "most frequent place",
    "kernel_memory": "kernel with a memory",
    "pgt": "PGT",
    "contextual": "contextual pointer",
    "full": "",
    "memory_100": "100 visits",
    "window": "window only",
}
leak = anchors[anchors.table == "told"].replace(WORDS)
leak = leak.round({"today": 1, "proved": 1, "bits": 2, "entropy": 2})
heads = {
    "today": "next visit today (%)",
    "proved": "proved by the window (%)",
    "bits": "bits given away",
    "entropy": "bits to know",
}
leak = leak.set_index(["data", "anchor"])[list(heads)].rename(columns=heads)
leak.rename_axis(["data", "back from the"])

# %% [markdown]
# What is the hint worth to a model, on the targets that both kinds of windows have? Two of the models come later. The
# kernel with a memory reads a person's last hundred visits instead of a window, so its two scores cannot differ. The
# contextual pointer of [chapter 20](20_contextual_pointer.ipynb) reads both, unless the table says *window only*.
# Differences are taken before rounding.

# %%
which = ["data", "model", "variant"]
rows = anchors.replace(WORDS)
gain = rows[rows.table == "gain"].set_index(which)
score = rows[rows.table == "score"].pivot(
    index=which, columns="anchor", values="value"
)
gain = gain[["value", "low", "high"]].join(score).astype(float)
order = ["target's day", "last visit", "value", "low", "high"]
heads = {"value": "difference (points)", "low": "from", "high": "to"}
shown = gain[order].rename(columns=heads).round(1) + 0.0  # no "-0.0"
shown.rename_axis(columns="Acc@1 (%), back from the")

# %% tags=["hide-input"]
sure = ((gain.low > 0) | (gain.high < 0)).sum()
n_seeds = len(read_results("anchors").header["seeds"])
Markdown(
    f"The differences lie between {gain.value.min():+.1f} and "
    f"{gain.value.max():+.1f} points ({n_seeds} seeds of each network); "
    f"{sure} of the {len(gain)} 95 % intervals exclude zero. "
    + ("" if sure else "We cannot show that any model profits. ")
    + "But a model that is said not to know the time must not know it."
)

# %% [markdown]
# > **Remedy.** Let windows go back from the last visit, as the exact protocol now does. Then test it: move the target's
# > time, and nothing that the model sees may change.
#
# ## And one that everybody knows
#
# The last trap is to choose on the test set. The kernel has only five numbers. What harm can it do?

# %% tags=["hide-input"]
chosen = rows_of("chosen on test").value
honest = chosen["kernel chosen on validation"]
cheating = chosen["kernel chosen on test"]
Markdown(
    f"Chosen on validation the kernel reaches {honest:.2f} %, chosen on the "
    f"test **{cheating:.2f} %**: {cheating - honest:.2f} points from a grid "
    "search over five numbers. A network has more room: its settings, its "
    "seed and its last epoch can all be chosen."
)

# %% [markdown]
# ## The protocol of this book
#
# 1. **Exact places.** The published protocol is reported too, for comparison, and never in the same column.
# 2. **Nothing of the target's time** unless a row says so; windows go back from the last visit.
# 3. **Five groups of targets** are scored: all, known, unknown, in the window, not in the window.
# 4. **Five seeds or more** where models are ranked, and a note where there are fewer. Intervals resample
#    people, and differences are paired by window.
# 5. **Baselines first**: the most frequent place, and a kernel with five numbers.
# 6. **Everything chosen on validation**; the test set is scored once per model that is reported. Three reservations:
#    some test figures of others, and of our first baselines, were known when we designed later models. The simulated
#    worlds of [chapter 24](24_trained_on_nobody.ipynb) were kept because they scored better than a first family on the
#    test windows of GeoLife and New York. And two settings of [chapter 18](18_temporal_sets.ipynb) were changed after we
#    had seen test scores.
# 7. **Counts at every step**, and a fingerprint of the windows in the results files that are about them.
#
# We do *not* put everything right: the places of GeoLife are clustered from all days, with swapped coordinates, in
# universal time, twins included. The published windows are made that way, and a score is only worth something
# beside others on the same windows.
#
# Here are both protocols side by side, with ten seeds of PGT; in the first column it knows the target's day, at which the
# published windows hint in any case. (The exact rows of [chapter 14](14_ablations.ipynb) have five seeds, so they differ
# a little.)

# %%
PUBLISHED, EXACT = (
    read_results(f"geolife_{name}") for name in ("published", "exact")
)
which = {
    "most frequent": {"model": "most_frequent"},
    "context kernel": {"model": "kernel"},
    "PGT": {"model": "pgt", "variant": "full"},
    "PGT without pointer": {"model": "pgt", "variant": "no_pointer"},
}


def cell(results, **where):
    """Acc@1 with its interval over people and seeds."""
    low, high = results.interval(**where)
    return f"{results.mean(**where):.1f} [{low:.1f}, {high:.1f}]"


# %%
rows = {}
for name, model in which.items():
    knows = "day" if "PGT" in name else "unknown"
    blind = {**model, "target_time": "unknown"}
    rows[name] = {
        "published, PGT knows the day": cell(
            PUBLISHED, **model, target_time=knows
        ),
        "exact": cell(EXACT, **blind),
        "exact, known targets": cell(EXACT, **blind, group="known"),
    }
pd.DataFrame(rows).T.rename_axis("Acc@1 (%) [95 % interval]")

# %% tags=["hide-input"]
blind = {"model": "pgt", "variant": "full", "target_time": "unknown"}
rule = {"model": "kernel", "target_time": "unknown"}
ahead, low, high = EXACT.difference(blind, rule)
Markdown(
    f"With exact places, PGT minus the kernel is {ahead:+.1f} points "
    f"[{low:+.1f}, {high:+.1f}] on the same windows. PGT's score alone "
    "does not show that."
)

# %% [markdown]
# ## What to remember
#
# - One kernel, on the same visits, has a dozen scores. Compare within one protocol only.
# - Two traps raise the kernel's score before any model is trained: the unknown token, and places that were clustered with
#   the test days in sight. The second is smaller than a simple control makes it look.
# - People are the sample, not windows; seeds are a sample too.
# - A score needs its protocol, its people and its ceiling beside it.
#
# ## Exercises
#
# **Exercise 1** (quick). A paper on GeoLife reports 41 % Acc@1 and "84 % of targets are in the window". Its best
# baseline is the last place. Which three questions would you ask first?

# %% [markdown]
# <details class="solution"><summary>Solution 1</summary>
#
# Are unknown places merged into one symbol (the 84 % says yes)? What does the model know of the
# target's time? How good is the most frequent place of the window, and a kernel, on the same windows?
#
# </details>

# %% [markdown]
# **Exercise 2** (medium). Merge the unknown places of the town (`protocol="published"`) and fit the
# kernel on it. How many points does the merging add? Let the windows of both protocols go back from the last visit.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
from pgt.metrics import gains


def kernel_accuracy(protocol):
    config = WindowConfig(protocol=protocol, anchor="last_visit")
    data = prepare(city.load().visits, config=config)
    ranks = evaluate(
        fit_baseline("kernel", data.train, data.valid), data.test
    )
    return 100 * gains(ranks)["acc@1"].mean()


added = kernel_accuracy("published") - kernel_accuracy("exact")
print(f"{added:.1f} points")

# %% [markdown]
# **Exercise 3** (longer). Resample *windows* of the town, but take blocks of neighbouring windows
# instead of single ones. Does the interval come closer to the one over people?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
hit = gains(ranks)["acc@1"].to_numpy()
rng = np.random.default_rng(0)
wide = {"people": by_people[1] - by_people[0]}
for size in (1, 10, 40):
    starts = np.arange(0, len(hit) - size + 1)
    draws = rng.choice(starts, size=(1000, len(hit) // size))
    means = 100 * hit[draws[..., None] + np.arange(size)].mean(axis=(1, 2))
    low, high = np.quantile(means, [0.025, 0.975])
    wide[f"blocks of {size}"] = high - low
closer = wide["blocks of 1"] < wide["blocks of 40"] <= wide["people"]
print("closer to the one over people:", "yes" if closer else "not clear")
pd.Series(wide, name="width of the interval (points)").round(1).to_frame()
# Blocks are drawn from the whole table: many of 40 hold more than one person.

# %% [markdown]
# **Exercise 4** (project). Take a paper on next-location prediction that you like, and write the protocol list
# above for it: which of the seven points does it answer, and which can you not answer from its text?

# %% [markdown]
# <details class="solution"><summary>Solution 4</summary>
#
# There is no model answer, but a good one quotes the sentence for each point. Look closely
# at points 2, 4 and 7. If the code is public, look at what is fitted before the split, and at the clock.
#
# </details>

# %% [markdown]
# **Exercise 5** (quick, on paper). In a test set one target in five is an unknown place. Of the known targets, four in
# five are in the window; of the unknown ones, two in five. Merge all unknown places into one symbol, and of these
# nineteen in twenty are in the window. What is the ceiling with real names, and what is it when they are merged?

# %% tags=["try"]
from wherenext.exercises import check

by_real_name, merged = ..., ...  # in percent
check.exercise("15.5", [by_real_name, merged])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
known = 4 / 5 * 4 / 5
ceilings = [100 * (known + 1 / 5 * share) for share in (2 / 5, 19 / 20)]
check.exercise("15.5", ceilings)
print(f"{ceilings[0]:.0f} % with real names, {ceilings[1]:.0f} % merged")

# %% [markdown]
# **Next:** [The original: a summarizer](16_summarizer.ipynb), the model that PGT's pointer comes from.
