# %% [markdown]
# # Windows
#
# *You will be able to* turn a table of visits into padded tensors, say exactly what a model may see
# before each prediction, and tell apart two ways of counting unknown places. *You need* pandas, NumPy
# and the first chapter. *It takes* twenty-five minutes to read and about fifteen seconds to run,
# with or without a GPU.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from pgt import city
from pgt.analysis.results import read_results
from pgt.exercises import check
from pgt.visits import local_day, local_minute
from pgt.viz.figures import EXTRA, INK, MUTED, PAPER, TRUTH, show
from pgt.viz.maps import KIND_COLOURS
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

town = city.load()
names = dict(zip(town.places.location_id, town.places.name, strict=True))
visits = town.visits.copy()
visits["day"] = local_day(visits.started_at)  # number of the local calendar day
print(f"{len(visits):,} visits of {visits.user_id.nunique()} people, sorted by person and time")

# %% [markdown]
# A model for text reads a sentence. What does a model for movement read? There is no full stop in a
# life. Somebody has to decide where the sentence begins, and that decision shapes every number that
# comes after. So before we build any network, we build its food, slowly, and look at each bite.
#
# ## What may the model see?
#
# Follow one person. Pick one visit and call it the **target**: its location is what we want to
# predict. The model may see what happened before it, but how far back? The literature on this task
# ([Hong et al., 2023](https://doi.org/10.1016/j.trc.2023.104315)) uses the *seven-day rule*. The
# **window** of a target holds the visits of the seven days before the target's day, and those of the
# target's own day up to the target.
#
# Write $\text{day}_j$ for the calendar day of visit $j$. The window of target $j$ is
#
# $$
# \mathcal{W}_j = \{\, i < j \;:\; \text{day}_i \ge \text{day}_j - 7 \,\}, \tag{3.1}
# $$
#
# where all visits are of the same person. Two conditions keep out windows that promise more than they
# hold. There must be at least three visits in it, and the person's first day must lie at least seven
# days before $\text{day}_j$; otherwise "seven days" would be seven days of which some were never recorded.
#
# Let us draw one. Every row is a day. The first cell only looks for a window worth drawing, a full one
# with visits before and after the target on its day; you may skip it.

# %%
counts = visits.user_id.value_counts()
person = counts.index[len(counts) // 4]  # the person of chapter 1
mine = visits[visits.user_id == person].reset_index(drop=True)
day = mine.day.to_numpy()
first = np.searchsorted(day, day - 7)  # first visit that is at most seven days older
order = np.arange(len(mine)) - np.searchsorted(day, day)  # how many visits earlier that day
of_day = np.searchsorted(day, day, side="right") - np.searchsorted(day, day)
usable = (order > 0) & (order < of_day - 1) & (day - day[0] > 8)  # something before, something after
j = int(np.argmax(np.where(usable, np.arange(len(mine)) - first, -1)))
week = mine[(mine.day >= day[j] - 8) & (mine.day <= day[j])]
print(f"Person {person}, target: visit {j} on {mine.started_at[j]:%A %d %B}, {j - first[j]} visits before it")

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.4, 4.2))
for row in week.itertuples():
    status = "target" if row.Index == j else "seen" if first[j] <= row.Index < j else "hidden"
    start = local_minute(mine.started_at)[row.Index] / 60
    hours = min((row.finished_at - row.started_at).total_seconds() / 3600, 24 - start)
    y = row.day - day[j]
    colour = KIND_COLOURS.get(row.kind, INK)
    face = {"target": TRUTH, "seen": colour, "hidden": "none"}[status]
    edge = {"target": PAPER, "seen": face, "hidden": MUTED}[status]
    ax.barh(y, hours, left=start, height=0.5, facecolor=face, edgecolor=edge,
            hatch={"target": "////", "seen": None, "hidden": "...."}[status], lw=0.8)
    text = "?" if status == "target" else row.kind if hours > 2.6 else row.kind[:2]
    ax.text(start, y - 0.32, text, fontsize=8, va="bottom", color=MUTED if status == "hidden" else INK)
ax.axhspan(-7.5, 0.5, color=MUTED, alpha=0.08, lw=0)
ax.set(ylim=(0.6, -8.7), xlim=(0, 24), xticks=range(0, 25, 3), yticks=range(-8, 1), xlabel="hour of the day",
       ylabel="days from the target's day")
ax.grid(axis="y", visible=False)
show(
    fig,
    alt=f"Nine rows, one a day, with visits as bars from arrival to departure. The {j - first[j]} visits of "
    "the last seven days and of the target's day before the target are filled; those of the eighth day and "
    "those after the target are hollow and dotted: the model does not see them. The target is hatched.",
    caption="A window. Filled bars, coloured and named by kind of place (by its first two letters where space is "
    "short): what the model sees. Hatched green with a question mark: the target. Dotted and hollow: too old, or still to come. Shaded: the days that count.",
)

# %% [markdown]
# A bar that reaches the right edge goes on past midnight; a visit belongs to the day on which it
# *began*. And notice that the window is counted in *calendar days*, from midnight to midnight of the
# local clock, not in hours. A target at nine in the evening has a longer window than one at breakfast.
#
# ## Train, valid, test
#
# [Chapter 10](10_training.ipynb) will train on some windows and judge on others. Which? Dealing them out at random would put
# the target of one window inside the window next to it, and the model could look it up. So we cut by
# time. The first 60 % of each person's days are **train**, the next 20 % **valid**, the rest **test**:
# learn from the past, predict the future.

# %%
by_person = visits.groupby("user_id").day
age = visits.day - by_person.transform("min")  # days since this person's first day
last = age.groupby(visits.user_id).transform("max")
split = np.where(age < 0.6 * last, "train", np.where(age < 0.8 * last, "valid", "test"))
assert (split == visits.split).all()  # the city comes with exactly this split
pd.Series(split).value_counts().rename("visits").to_frame()

# %% [markdown]
# Windows are built *inside* each split. So the first week of valid and of test yields no targets; its
# visits only serve as history. That is a cost, and we will count it.
#
# ## Slowly, then fast
#
# Here is the rule in code, as close to equation (3.1) as pandas lets us write it. For each visit, filter
# the table.

# %%
def slow_windows(visits, days=7, min_visits=3):
    """One (rows of the window, row of the target) for each usable visit of one split."""
    windows = []
    for j, target in visits.iterrows():
        own = visits[visits.user_id == target.user_id]
        seen = own[(own.index < j) & (own.day >= target.day - days)]
        if len(seen) >= min_visits and target.day - own.day.min() >= days:
            windows.append((seen.index.to_numpy(), j))
    return windows


test = visits[visits.split == "test"].reset_index(drop=True)
began = time.perf_counter()
slow = slow_windows(test)
slow_seconds = time.perf_counter() - began
print(f"{len(test):,} visits -> {len(slow):,} windows")

# %% [markdown]
# Anyone can check this function against the formula. It is also slow, because it filters the whole
# table once for every visit.
#
# Print a few of the windows it returns: in each, the row numbers are consecutive. The table is sorted by
# person and time, so a window is always one unbroken stretch that ends just before the target. **Two
# numbers describe it**, where it begins and where its target stands. Finding the beginning is a search
# in a sorted list, and `searchsorted` does that for all rows at once.
#
# One obstacle is left. Days are sorted within a person, but the next person starts again in the past.
# So give each person an own range of days: add a number to all days of the second person, twice that
# number to those of the third, and so on. If it is larger than the whole calendar and a window together,
# no window can reach across.

# %%
def fast_windows(visits, days=7, min_visits=3):
    """(first, target): two row numbers for each window."""
    person, _ = pd.factorize(visits.user_id)          # (N,) 0, 0, 0, 1, 1, …
    day = visits.day.to_numpy()                       # (N,)
    shift = np.ptp(day) + days + 1                    # longer than any window
    key = day + person * shift                        # (N,) increasing over the whole table
    first = np.searchsorted(key, key - days)          # (N,) first row with key >= key - days
    begins = day[np.searchsorted(person, person)]     # (N,) the person's first day
    rows = np.arange(len(visits))
    usable = (rows - first >= min_visits) & (day - begins >= days)
    return first[usable], rows[usable]


began = time.perf_counter()
first, target = fast_windows(test)
fast_seconds = time.perf_counter() - began
assert len(slow) == len(target)
for (seen, j), lo, hi in zip(slow, first, target, strict=True):
    assert j == hi and np.array_equal(seen, np.arange(lo, hi))

# %% tags=["hide-input"]
in_lists = sum(len(seen) + 1 for seen, _ in slow)
Markdown(
    f"The same {len(slow):,} windows, proven window by window: {slow_seconds:.1f} s against "
    f"{1000 * fast_seconds:.1f} ms, **{slow_seconds / fast_seconds:,.0f} times faster**. The slow version "
    f"stores {in_lists:,} row numbers, the fast one {2 * len(target):,}."
)

# %% [markdown]
# The ratio grows with the table: the slow function compares every visit with every other, the fast one
# only searches. And we keep the slow one, in this chapter and in our heads. It is the specification.
#
# > **Note.** This is a pattern worth having. Write the version that is obviously right, then the version
# > that is fast, then let the machine compare them on all the data.
#
# How long are windows? And how many visits never become targets?

# %%
parts = {name: visits[visits.split == name].reset_index(drop=True) for name in ("train", "valid", "test")}
ranges = {name: fast_windows(part) for name, part in parts.items()}
pd.DataFrame({
    "visits": {name: len(part) for name, part in parts.items()},
    "windows": {name: len(target) for name, (_, target) in ranges.items()},
    "visits that become targets, %": {n: round(100 * len(ranges[n][1]) / len(parts[n]), 1) for n in parts},
    "mean length": {name: round(float((target - first).mean()), 1) for name, (first, target) in ranges.items()},
})

# %%
lengths = {name: target - first for name, (first, target) in ranges.items()}
fig, ax = plt.subplots(figsize=(6.8, 3.2))
bins = np.arange(2.5, max(part.max() for part in lengths.values()) + 1.5, 2)
percent = {name: np.full(len(part), 100 / len(part)) for name, part in lengths.items()}
ax.hist(lengths["train"], bins, weights=percent["train"], color=MUTED, alpha=0.45, label="train")
ax.hist(lengths["test"], bins, weights=percent["test"], color=TRUTH, histtype="step", lw=2, label="test")
ax.axvline(lengths["train"].mean(), color=EXTRA, ls="--", lw=1.5, label="mean of train")
ax.set(xlabel="visits in a window", ylabel="windows (%)")
ax.legend()
show(
    fig,
    alt=f"Histogram of window lengths, from 3 to {lengths['train'].max()} visits with a mean of "
    f"{lengths['train'].mean():.0f}. Train (filled) and test (outline) both spread widely around it.",
    caption="Window lengths. The spread is what makes padding a topic later in this chapter.",
)

# %% [markdown]
# ## Ids: the vocabulary
#
# Tensors want integers. **0** is padding, the empty seat in a row of unequal windows. **1** is
# "unknown". From **2** on come the locations that training has seen, in sorted order. Only training:
# a vocabulary that includes the test places has already looked at the exam.

# %%
known = sorted(visits.location_id[visits.split == "train"].unique())
ids = {place: 2 + k for k, place in enumerate(known)}
location = {name: part.location_id.map(lambda place: ids.get(place, 1)) for name, part in parts.items()}

vocabulary = Vocabulary.build(visits, "published")
assert vocabulary.locations == tuple(known)
pd.DataFrame({"visits": {name: len(loc) for name, loc in location.items()},
              "of them to unknown places, %": {name: round(100 * (loc == 1).mean(), 1) for name, loc in location.items()}})

# %% [markdown]
# Training has no unknown place, of course. Valid and test have plenty, because people never stop
# exploring. All these places, each a different café or friend's sofa, become one location called 1.
# We call this the **published protocol**, since it is what the prepared datasets of the literature
# contain.
#
# The alternative is to give the unseen places their own ids, *after* the known ones. Nothing is learned
# about them, but they stay apart. We call this the **exact protocol**.
#
# > **Note.** Does the exact protocol look at the exam? It only reserves ids. A model that scores every id
# > learns to give these nearly nothing, since in training they are never the answer. But a model that
# > *copies* from the window can name such a place at its second visit, and be right about the very place.
#
# ## Same people, same windows, different answer
#
# Ask the simplest question about a window: *is the target's location among its visits?* If so, a
# model that copies can be right. Ask it twice.

# %%
exact = {place: k for k, place in enumerate(visits.location_id.unique())}


def in_window(location, first, target):
    """(W,) True where the target's location is one of the window's."""
    return np.array([location[t] in location[f:t] for f, t in zip(first, target, strict=True)])


first, target = ranges["test"]
share = pd.DataFrame({
    "exact": in_window(parts["test"].location_id.map(exact).to_numpy(), first, target),
    "published": in_window(location["test"].to_numpy(), first, target),
    "group": np.where(location["test"].to_numpy()[target] == 1, "unknown targets", "known targets"),
})
table = share.groupby("group").agg(n=("exact", "size"), exact=("exact", "mean"), published=("published", "mean"))
table.loc["all targets"] = [len(share), share.exact.mean(), share.published.mean()]
assert table.exact["known targets"] == table.published["known targets"]
table.assign(n=table.n.astype(int), exact=(100 * table.exact).round(1), published=(100 * table.published).round(1))

# %% [markdown]
# The first row does not change. The second explodes. Somebody went to a new bakery on Monday and to a
# new hairdresser on Thursday: under the published protocol that is 1, then 1 again. A *return*, says the
# table. A hit, says the score, to whoever answers "unknown".

# %% tags=["hide-input"]
fooled = np.flatnonzero(share.published & ~share.exact & (target - first <= 12))[0]
rows = np.arange(first[fooled], target[fooled] + 1)
shown = parts["test"].loc[rows, ["started_at", "location_id", "kind"]]
pd.DataFrame({
    "when": shown.started_at.dt.strftime("%a %H:%M").to_numpy(),
    "place": [names[place] for place in shown.location_id],
    "kind": shown.kind.to_numpy(),
    "published id": location["test"].loc[rows].to_numpy(),
    "role": ["window"] * (len(rows) - 1) + ["target"],
}).set_index("when")

# %% [markdown]
# Is this a toy problem of a toy town? Here is GeoLife, people tracked by GPS around Beijing
# ([Zheng et al., 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)).
# We cannot give you their records, but a results file says how many targets were in the window. The
# published windows come ready-made from the literature. The exact ones keep the real places, and begin a little
# earlier, for a reason that this chapter comes to; the two sets of windows are almost the same.

# %%
def inside(results):
    """Test windows with the target in the window, in percent."""
    n = {group: results.select(group, model="kernel").n.iloc[0] for group in ("all", "in_window")}
    return 100 * n["in_window"] / n["all"]


geolife = {name: read_results(f"geolife_{name}") for name in ("exact", "published")}
jump = pd.DataFrame({
    "Larkmere (simulated)": {name: 100 * share[name].mean() for name in ("exact", "published")},
    "GeoLife (real)": {name: inside(results) for name, results in geolife.items()},
})
print({name: results.header["data"]["windows"] for name, results in geolife.items()})

# %%
fig, ax = plt.subplots(figsize=(6.8, 2.6))
for at, place in enumerate(jump):
    for offset, name, colour, hatch in ((-0.19, "exact", TRUTH, None), (0.19, "published", EXTRA, "///")):
        value = jump.loc[name, place]
        ax.barh(at + offset, value, 0.36, color=colour, hatch=hatch, edgecolor="white", lw=0,
                label=name if at == 0 else None)
        ax.annotate(f"{value:.1f} %", (value, at + offset), (5, 0), textcoords="offset points", va="center")
ax.set(yticks=range(len(jump.columns)), yticklabels=jump.columns, xlim=(0, 100),
       xlabel="test targets that are in the window (%)")
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2)
show(
    fig,
    alt="Bars of the share of targets in the window. "
    + ". ".join(f"{place}: {jump.loc['exact', place]:.1f} per cent with exact places, "
                f"{jump.loc['published', place]:.1f} per cent as published" for place in jump) + ".",
    caption="The same movements, counted twice. Merging unknown places turns explorations into returns.",
)

# %% tags=["hide-input"]
real = jump["GeoLife (real)"]
Markdown(
    f"On GeoLife the label alone moves the figure from {real['exact']:.1f} % to {real['published']:.1f} %. "
    f"About {100 * (real['published'] - real['exact']) / real['published']:.0f} % of the apparent \"returns\" "
    "are two different new places with the same name."
)

# %% [markdown]
# > **Pitfall.** Scores under the two protocols must never share a table. We use *published* only to
# > compare with published figures, and *exact* everywhere else.
#
# ## The seven features of a visit
#
# Each visit becomes seven integers. One per visit, except the person, who is one per window.
#
# | feature | values | pitfall |
# |---|---|---|
# | location | 2 … , 1 unknown | vocabulary from training only |
# | person | 1 … , 0 not in training | |
# | time of day | 1 … 96, quarters of an hour at arrival | midnight |
# | weekday | 1 = Monday … 7 | local time |
# | days ago | 0, 1, 2 … | ago from *when*? |
# | duration | 1 … 100, half hours | a visit may last days |
# | position from the end | 1 = last visit | not 0 |
#
# Zero is reserved for padding throughout, except for *days ago*, where the mask has to do that work.
# (The embedding of [chapter 5](05_embeddings.ipynb) shifts it by one, and then zero is free there, too.)
#
# **Time of day.** Quarters of an hour are `minute // 15`, which is 0 for a visit that begins between
# 00:00 and 00:14. But 0 is padding. The visit would vanish without an error message. Hence the `1 +`.

# %%
minute = local_minute(visits.started_at)
swallowed = (minute // 15 == 0).sum()
print(f"{swallowed} of {len(visits):,} visits begin in the first quarter of an hour of a day")
assert (1 + minute // 15).between(1, 96).all()

# %% [markdown]
# Few, in a town that sleeps. But suppose that the times were wrongly left in UTC. When it is midnight
# there, it is eight in the morning in Beijing, and the same bug deletes arrivals at work.
#
# **Days ago.** Old visits matter less, so the model gets how many days ago each one was, its **recency**. Ago from
# what? The obvious answer is the day of the target, and several implementations do that. Think about
# what it reveals. If the newest visit of the window is marked "3 days ago", then the person's *next*
# visit comes in three days. Nobody can know that when the prediction is made.
#
# Does the gap matter? Group the test targets by it.

# %%
gap = test.day.to_numpy()[target] - test.day.to_numpy()[target - 1]  # (W,) days from last visit to target
goes_home = test.kind.to_numpy()[target] == "home"
stays = test.location_id.to_numpy()[target] == test.location_id.to_numpy()[target - 1]
kinds = pd.cut(gap, [-1, 0, 1, 1000], labels=["same day", "next day", "later"])
given = pd.DataFrame({"gap": kinds, "home": goes_home, "last place again": stays})
table = given.groupby("gap", observed=True).agg(n=("home", "size"), home=("home", "mean"),
                                                 again=("last place again", "mean"))
table.assign(home=(100 * table.home).round(1), again=(100 * table.again).round(1)).rename(
    columns={"home": "target is home, %", "again": "target is the last place again, %"})

# %% [markdown]
# The rows differ. A model that knows the gap knows something about the answer, and what it knows is
# from the future. We therefore count from the day of the *last visit* of the window, which is 0 by
# definition. `gap_days` exists in a batch as a separate field, so that whoever uses it has to say so:
# `target_time="day"` in the model's configuration. Here is what it was worth on GeoLife, to the same model on the
# same windows from the same seeds. (Acc@1 is the share of windows in which the model's first guess is
# right.)

# %%
accuracy = {target_time: geolife["published"].mean(model="pgt", variant="full", target_time=target_time) for target_time in ("day", "unknown")}
pd.Series(accuracy).rename({"day": "knows the target's day", "unknown": "does not know it"}).round(1).rename(
    "Acc@1, % (GeoLife, published)").to_frame()

# %% [markdown]
# **And from which day do the seven days go back?** Equation (3.1) says: from the target's. That is the same leak
# again, only better hidden. Suppose that somebody was not recorded for three days. Then three of the seven
# days are empty, and the window reaches back four days from the last visit instead of seven. The oldest visit
# gives away how long the pause was. One small change closes the hole: go back from the day of the last visit,
#
# $$
# \mathcal{W}_j = \{\, i < j \;:\; \text{day}_i \ge \text{day}_{j-1} - 7 \,\}. \tag{3.2}
# $$

# %%
def blind_windows(visits, days=7, min_visits=3):
    """As fast_windows, but what is seen does not depend on when the target is."""
    person, _ = pd.factorize(visits.user_id)
    day = visits.day.to_numpy()
    key = day + person * (np.ptp(day) + days + 1)
    starts = np.searchsorted(person, person)          # (N,) each person's first row
    rows = np.arange(len(visits))
    last = np.maximum(rows - 1, starts)               # (N,) the visit before, if there is one
    first = np.searchsorted(key, key[last] - days)    # the one line that matters
    usable = (rows - first >= min_visits) & (day[last] - day[starts] >= days)
    return first[usable], rows[usable]


blind = {name: blind_windows(part) for name, part in parts.items()}
pd.DataFrame({
    "from the target's day": {name: len(target) for name, (_, target) in ranges.items()},
    "from the last visit": {name: len(target) for name, (_, target) in blind.items()},
}).rename_axis("windows")

# %% [markdown]
# The published protocol keeps the literature's rule, so that scores can be compared. The exact protocol uses
# equation (3.2): `WindowConfig(anchor=…)` chooses. What the hint is worth is [trap 12](15_traps.ipynb).
#
# **Duration** is cut at 100 half hours, since one forgotten phone should not add a thousand rows to an
# embedding table. **Position from the end** counts backwards because that is how windows align: they all
# end *now*, and begin anywhere. "Last visit" should have the same number in every window, and that
# number is 1.
#
# Now encode everything, one flat array per feature, once for each split. A window will only ever cut
# slices out of these.

# %%
def encode(part, location_ids, user_ids):
    """Flat (N,) arrays, one per feature."""
    minutes = (part.finished_at - part.started_at).dt.total_seconds() // 60
    return {
        "location": part.location_id.map(lambda place: location_ids.get(place, 1)).to_numpy(),
        "user": part.user_id.map(lambda user: user_ids.get(user, 0)).to_numpy(),
        "time": (1 + local_minute(part.started_at) // 15).to_numpy(),
        "weekday": (1 + part.started_at.dt.day_of_week).to_numpy(),
        "duration": (1 + (minutes // 30).clip(upper=99)).astype(int).to_numpy(),
        "day": part.day.to_numpy(),
    }


people = sorted(visits.user_id[visits.split == "train"].unique())
user_ids = {user: 1 + k for k, user in enumerate(people)}
columns = {name: encode(part, ids, user_ids) for name, part in parts.items()}

# %% [markdown]
# ## Padding, masks, and windows of like length
#
# A batch of $B$ windows becomes a rectangle, $B$ rows by $L$ columns, where $L$ is the longest of them.
# The rest is filled with 0 on the right. A **mask** remembers which entries are real.

# %%
def collate(columns, first, target):
    """Windows -> dict of padded (B, L) and (B,) tensors."""
    length = target - first                                     # (B,)
    steps = np.arange(length.max())                             # (L,)
    inside = steps < length[:, None]                            # (B, L) True where a visit is
    at = np.where(inside, first[:, None] + steps, 0)            # (B, L) row numbers
    batch = {name: columns[name][at] * inside for name in ("location", "time", "weekday", "duration")}
    last_day = columns["day"][target - 1]                       # (B,)
    batch["days_ago"] = (last_day[:, None] - columns["day"][at]) * inside
    batch["position_from_end"] = (length[:, None] - steps) * inside
    batch |= {"user": columns["user"][target - 1], "length": length, "target": columns["location"][target],
              "gap_days": columns["day"][target] - last_day}
    return {name: torch.as_tensor(value) for name, value in batch.items()}


tiny = np.flatnonzero(lengths["test"] == 5)[:1]
tiny = np.append(tiny, np.flatnonzero(lengths["test"] == 8)[0])
batch = collate(columns["test"], first[tiny], target[tiny])
pd.DataFrame({name: batch[name][0].tolist() for name in
              ("location", "time", "weekday", "duration", "days_ago", "position_from_end")}).T.rename_axis("window 0")

# %% [markdown]
# Five visits, then three empty seats. Note the row `days_ago`: its real zeros and its padding zeros look
# alike. Only the mask knows.
#
# What happens without a mask? Attention ends in a softmax over the $L$ columns, and $e^0 = 1$ is not
# nothing. Padding gets a share as large as that of an indifferent visit. Measure it on a random batch.

# %%
train_first, train_target = ranges["train"]
shuffled = np.random.default_rng(0).permutation(len(train_target))
pick = shuffled[:128]
batch = collate(columns["train"], train_first[pick], train_target[pick])
scores = torch.zeros(batch["location"].shape)                   # (B, L) an indifferent model
padding = torch.arange(scores.shape[1]) >= batch["length"][:, None]  # (B, L)
unmasked = scores.softmax(-1)
masked = scores.masked_fill(padding, -torch.inf).softmax(-1)
print(f"attention on padding: {100 * (unmasked * padding).sum(-1).mean():.1f} % unmasked, "
      f"{100 * (masked * padding).sum(-1).mean():.1f} % masked")

# %% [markdown]
# > **Pitfall.** A row that is *all* padding has a softmax over nothing but $-\infty$, which is NaN, and
# > NaN spreads to every weight of the model in one step. Our windows have at least three visits, so it
# > cannot happen here. With your own data, this is the first thing to check.
#
# A masked model computes nothing useful on padding, but it computes. How many seats are empty? With
# windows of random lengths in one batch, the longest sets the width for all. The remedy is old and
# simple: *put windows of like length together*. To keep some randomness for training, shuffle first,
# then sort within pools of some batches, then shuffle the batches.
#
# The last column below counts what self-attention ([chapter 6](06_position_and_encoder.ipynb)) would have
# to do. It compares every seat of a row with every other, so its work grows with the *square* of the width.

# %%
def batches(length, size, order, pool):
    """Split ``order`` into batches; sort by length within pools of ``pool`` batches (0: not at all)."""
    order = order.copy()
    step = max(pool, 1) * size
    for at in range(0, len(order), step):
        if pool:
            part = order[at : at + step]
            order[at : at + step] = part[np.argsort(length[part], kind="stable")]
    return [order[at : at + size] for at in range(0, len(order), size)]


def padded(length, groups):
    """(share of seats that are padding, seats squared: what self-attention pays)."""
    seats = sum(len(group) * length[group].max() for group in groups)
    return 1 - length.sum() / seats, sum(len(group) * length[group].max() ** 2 for group in groups)


length = lengths["train"]
plans = {"random": 0, "sorted in pools of 4 batches": 4, "sorted in pools of 32 batches": 32}
groups = {plan: batches(length, 128, shuffled, pool) for plan, pool in plans.items()}
cost = pd.DataFrame({plan: padded(length, group) for plan, group in groups.items()}, index=["padding, %", "work"]).T
cost["padding, %"] = (100 * cost["padding, %"]).round(1)
cost["attention's work, random = 1"] = (cost.pop("work") / padded(length, groups["random"])[1]).round(2)
cost

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
like = groups["sorted in pools of 32 batches"]
width = length[groups["random"][0]].max()
chosen = {"Random": groups["random"][0], "Of like length": like[3 * len(like) // 4]}
for ax, (title, group) in zip(axes, chosen.items(), strict=True):
    L = length[group].max()
    rows = np.arange(len(group) + 1)
    ends = np.append(length[group], length[group][-1])  # a step needs its last value twice
    ax.fill_betweenx(rows, 0, ends, step="post", color=EXTRA, lw=0, label="visits")
    ax.fill_betweenx(rows, ends, L, step="post", facecolor="none", edgecolor=MUTED, hatch="////", lw=0, label="padding")
    ax.set(title=f"{title}: {100 * (1 - length[group].sum() / (len(group) * L)):.0f} % padding",
           xlabel="column of the batch", xlim=(0, width), ylim=(0, len(group)))
    ax.grid(visible=False)
axes[0].set_ylabel("window of the batch")
axes[1].legend(loc="upper right", facecolor=PAPER, framealpha=1, frameon=True)
show(
    fig,
    alt="Two batches of 128 windows as images. Left, random lengths: a ragged filled area of visits at the left "
    "and a large hatched area of padding at the right. Right, like lengths: a rectangle that is almost "
    "entirely filled.",
    caption="Two batches of 128 training windows, a row each. Filled: visits. Hatched: padding.",
)

# %% [markdown]
# The data are the same, the gradients are of the same windows, and most of the waste is gone. This is
# also why a batch's width changes from step to step, and why nothing in the model may depend on it.
#
# ## The same as the package
#
# Everything above is `pgt.windows.prepare`. Prove it: every window of every split, every field.

# %%
data = prepare(town.visits, protocol="published")
for name in ("train", "valid", "test"):
    first, target = ranges[name]
    theirs = getattr(data, name)
    assert np.array_equal(theirs.first, first) and np.array_equal(theirs.target, target)
    for group in batches(lengths[name], 512, np.arange(len(target)), pool=1):
        ours, batch = collate(columns[name], first[group], target[group]), theirs.batch(group)
        for field, value in ours.items():
            assert torch.equal(value, getattr(batch, field)), (name, field)
assert np.array_equal(data.test.in_window, share.published)
honest = prepare(town.visits, protocol="exact")
for name, (first, target) in blind.items():
    theirs = getattr(honest, name)
    assert np.array_equal(theirs.first, first) and np.array_equal(theirs.target, target)
print("equal:", ", ".join(ours))

# %% [markdown]
# ## Summary
#
# - A window is the visits of seven days and those since, up to the target: seven days before the target's day in
#   the literature, before the day of the last visit where nothing may be given away.
# - It is described by two numbers, because visits are stored once, sorted. Slow code proves fast code.
# - Splits follow time, windows stay inside splits, and the vocabulary comes from training only.
# - Merging unknown places into one makes explorations look like returns. Ask for the protocol first.
# - Counted from the target's day, recency and the window itself leak the future. Count from the last visit.
# - 0 is padding: mind midnight, mind the mask, and batch windows of like length.
#
# ## Exercises
#
# **Exercise 1** (quick). Why seven days? Build the exact windows with 1, 3, 7, 14 and 28 days of
# history. How do the number of test windows, their length and the share of targets in the window change?

# %% tags=["try"]
shares = [..., ..., ..., ..., ...]  # % of test targets in the window, for 1, 3, 7, 14, 28 days
check.exercise("3.1", shares)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
tests = {days: prepare(town.visits, days=days, protocol="exact").test for days in (1, 3, 7, 14, 28)}
check.exercise("3.1", [100 * w.in_window.mean() for w in tests.values()])
# More history finds more targets, but also demands a longer start, which costs windows. (With one day it is
# the other condition that costs: few windows hold three visits.)
pd.DataFrame({days: {"windows": len(w), "mean length": w.lengths.mean(), "in the window, %": 100 * w.in_window.mean()}
              for days, w in tests.items()}).T.round(1)

# %% [markdown]
# **Exercise 2** (medium). The published pipeline for GeoLife never converts its times to Beijing's, so
# its days begin at eight in the morning. Make the same mistake here: let the days of the test visits be
# those of UTC. How many windows are there then, how many of those common to both begin with another visit,
# and how many visits fall on another day?

# %% tags=["try"]
n_windows, elsewhere, other_day = ..., ..., ...  # a number, % of common windows, % of visits
check.exercise("3.2", [n_windows, elsewhere, other_day])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
wrong = test.assign(day=local_day(test.started_at.dt.tz_convert("UTC")))
local, utc = (dict(zip(t, f, strict=True)) for f, t in (fast_windows(test), fast_windows(wrong)))  # target -> first
both = [t for f, t in zip(*fast_windows(test), strict=True) if t in utc]
check.exercise("3.2", [len(utc), 100 * np.mean([utc[t] != local[t] for t in both]),
                       100 * (wrong.day != test.day).mean()])
print(f"{len(utc)} windows instead of {len(local)};",
      f"{100 * np.mean([utc[t] != local[t] for t in both]):.1f} % of the common ones begin elsewhere;",
      f"{100 * (wrong.day != test.day).mean():.1f} % of the visits fall on another day")

# %% [markdown]
# **Exercise 3** (medium). How does padding depend on the batch size? Compare random batches with pools
# of 32 for the sizes 16, 64, 128 and 512, on the training windows in the order `shuffled`. Which of the two
# is wasteful already when it is small, and why?

# %% tags=["try"]
seats = [(..., ...), (..., ...), (..., ...), (..., ...)]  # a row a size: % padding at random, in pools
check.exercise("3.3", seats)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# The maximum of more random lengths is larger, so random batches get wider. Sorted ones notice only when
# a batch is so large that it spans many lengths even after sorting.
seats = pd.DataFrame({size: {f"pool {pool}": 100 * padded(length, batches(length, size, shuffled, pool))[0]
                             for pool in (0, 32)} for size in (16, 64, 128, 512)}).T
check.exercise("3.3", seats)
seats.rename_axis("batch size").round(1)

# %% [markdown]
# **Exercise 4** (longer). Windows of calendar days grow towards the evening. Build windows of exactly 168
# *hours* instead: all visits that began at most 168 hours before the target began. Keep targets with at
# least three visits in the window, of people whose first visit in the split began at least 168 hours
# earlier. Write it fast, with `searchsorted`, and without a loop over visits.

# %% tags=["try"]
def hour_windows(visits, hours=168, min_visits=3):
    """(first, target): two row numbers for each window."""
    return ..., ...


check.exercise("3.4", hour_windows(test))

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def hour_windows(visits, hours=168, min_visits=3):
    person, _ = pd.factorize(visits.user_id)                            # (N,)
    hour = (visits.started_at - visits.started_at.min()).dt.total_seconds().to_numpy() / 3600
    key = hour + person * (np.ptp(hour) + hours + 1)                    # (N,) increasing
    first = np.searchsorted(key, key - hours)
    rows = np.arange(len(visits))
    usable = (rows - first >= min_visits) & (hour - hour[np.searchsorted(person, person)] >= hours)
    return first[usable], rows[usable]


check.exercise("3.4", hour_windows(test))
by_hours, by_days = hour_windows(test), fast_windows(test)
pd.DataFrame({name: {"windows": len(t), "mean length": (t - f).mean()} for name, (f, t) in
              (("168 hours", by_hours), ("calendar days", by_days))}).T.round(2)
# Only the key has changed: hours in place of days. Calendar days give seven days *and a bit*, so their windows
# are a little longer.

# %% [markdown]
# **Exercise 5** (project). Windows inside splits throw away the first week of test, although the days
# before it *are* the past and could be seen by an honest model. Build test windows whose history may
# reach back into valid. How many more windows are there, and is the share of targets in the window the
# same on the new ones? What would change in a comparison with published figures?

# %% tags=["try"]
more, new_share, old_share = ..., ..., ...  # windows gained; % in the window: of the new, of the old
check.exercise("3.5", [more, new_share, old_share])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
whole_first, whole_target = fast_windows(visits)  # all splits in one table
keep = visits.split.to_numpy()[whole_target] == "test"
whole_first, whole_target = whole_first[keep], whole_target[keep]
found = in_window(visits.location_id.to_numpy(), whole_first, whole_target)
row_in_split = visits.groupby("split").cumcount().to_numpy()[whole_target]  # the target's row in `test`
new = ~np.isin(row_in_split, ranges["test"][1])
check.exercise("3.5", [new.sum(), 100 * found[new].mean(), 100 * found[~new].mean()])
print(f"{new.sum()} more windows ({100 * new.sum() / (~new).sum():.0f} %); in the window: "
      f"{100 * found[new].mean():.1f} % of the new, {100 * found[~new].mean():.1f} % of the old")
# The test set would be another one. Published figures could not stand beside it.

# %% [markdown]
# **Next:** [Baselines](04_baselines.ipynb), which need no training and are hard to beat.
