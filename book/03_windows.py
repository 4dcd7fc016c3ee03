# %% [markdown]
# # Windows
#
# Somebody must decide how much of a person's past a model may read, and that choice shapes every score.
#
# *You will be able to* turn a table of visits into padded tensors, say exactly what a model may see
# before each prediction, and tell apart two ways of counting unknown places. *You need* pandas, NumPy
# and the first chapter. *It takes* twenty-five minutes to read and less than a minute to run,
# with or without a GPU.

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
import time

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from wherenext import city
from wherenext.exercises import check
from wherenext.realism import REFERENCE
from wherenext.results import read_results

from pgt.visits import local_day, local_minute
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

town = city.load()
names = dict(zip(town.places.location_id, town.places.name, strict=True))
visits = town.visits.copy()
visits["day"] = local_day(visits.started_at)  # number of the calendar day
n_people = visits.user_id.nunique()
print(f"{len(visits):,} visits of {n_people} people, by person and time")

# %% [markdown]
# Before we build any network, we build what it reads, one step at a time.
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
# where all visits are of the same person. Two conditions apply. A window must hold at least three visits.
# And the person's first recorded day must lie at least seven days before $\text{day}_j$; otherwise some of the
# "seven days" were never recorded. (Once visits are split, it is the first day in the split.)
#
# Let us draw one. Every row is a day. The first of the two folded cells only looks for a window worth drawing:
# a full one, with visits before and after the target on its day.

# %% tags=["hide-input"]
counts = visits.user_id.value_counts()
person = counts.index[len(counts) // 4]  # the person of chapter 1
mine = visits[visits.user_id == person].reset_index(drop=True)
day = mine.day.to_numpy()
first = np.searchsorted(day, day - 7)  # first visit at most seven days older
starts = np.searchsorted(day, day)
order = np.arange(len(mine)) - starts  # how many visits earlier that day
of_day = np.searchsorted(day, day, side="right") - starts
usable = (order > 0) & (order < of_day - 1) & (day - day[0] > 8)
n_seen = np.arange(len(mine)) - first
j = int(np.argmax(np.where(usable, n_seen, -1)))
week = mine[(mine.day >= day[j] - 8) & (mine.day <= day[j])]
print(
    f"Person {person}, target: visit {j} on {mine.started_at[j]:%A %d %B}, "
    f"{j - first[j]} visits before it"
)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from wherenext.figures import EXTRA, INK, MUTED, PAPER, TRUTH, show

from pgt.maps import COLOURS

colour_of = dict(zip(week.kind.unique(), COLOURS, strict=False))
fig, ax = plt.subplots(figsize=(7.4, 4.2))
hatches = {"target": "////", "seen": None, "hidden": "...."}
for row in week.itertuples():
    seen = first[j] <= row.Index < j
    status = "target" if row.Index == j else "seen" if seen else "hidden"
    start = local_minute(mine.started_at)[row.Index] / 60
    hours = (row.finished_at - row.started_at).total_seconds() / 3600
    hours = min(hours, 24 - start)
    y = row.day - day[j]
    colour = colour_of[row.kind]
    face = {"target": TRUTH, "seen": colour, "hidden": "none"}[status]
    edge = {"target": PAPER, "seen": face, "hidden": MUTED}[status]
    look = {"facecolor": face, "edgecolor": edge, "hatch": hatches[status]}
    ax.barh(y, hours, left=start, height=0.5, lw=0.8, **look)
    text = row.kind if hours > 2.6 else row.kind[:2]
    text = "?" if status == "target" else text
    ink = MUTED if status == "hidden" else INK
    ax.text(start, y - 0.32, text, fontsize=8, va="bottom", color=ink)
ax.axhspan(-7.5, 0.5, color=MUTED, alpha=0.08, lw=0)
ax.set(ylim=(0.6, -8.7), xlim=(0, 24), xticks=range(0, 25, 3))
ax.set(yticks=range(-8, 1))
ax.set(xlabel="hour of the day", ylabel="days from the target's day")
ax.grid(axis="y", visible=False)
show(
    fig,
    alt="Nine rows, one a day, with visits as bars from arrival to "
    f"departure. The {j - first[j]} visits of the last seven days and of "
    "the target's day before the target are filled; those of the eighth day "
    "and those after the target are hollow and dotted: the model does not "
    "see them. The target is hatched.",
    caption="A window. Filled bars, coloured and named by kind of place (by "
    "its first two letters where space is short): what the model sees. "
    "Hatched green with a question mark: the target. Dotted and hollow: too "
    "old, or still to come. Shaded: the days that count.",
)

# %% [markdown]
# A bar that reaches the right edge goes on past midnight; a visit belongs to the day on which it
# *began*. The window is counted in *calendar days*, from midnight to midnight of the
# local clock, not in hours. So a target at nine in the evening has a longer window than one at breakfast.
#
# ## Train, valid, test
#
# [Chapter 10](10_training.ipynb) will train on some windows and judge on others. If we dealt them out at
# random, the target of one window would often lie inside another window, and the model could look it up. So we
# cut by time. The first 60 % of each person's days are **train**, the next 20 % **valid**, the rest **test**:
# learn from the past, predict the future.

# %%
by_person = visits.groupby("user_id").day
age = visits.day - by_person.transform("min")  # days since the first day
last = age.groupby(visits.user_id).transform("max")
later = np.where(age < 0.8 * last, "valid", "test")
split = np.where(age < 0.6 * last, "train", later)
assert (split == visits.split).all()  # the city comes with this split
pd.Series(split).value_counts().rename("visits").to_frame()

# %% [markdown]
# Windows are built *inside* each split. So the first week of valid and of test yields no targets; its
# visits only serve as history. We will count what that costs.
#
# ## Slowly, then fast
#
# Here is the rule in code, as close to equation (3.1) as pandas lets us write it. For each visit, it
# filters the table.


# %%
def slow_windows(visits, days=7, min_visits=3):
    """(rows of the window, row of the target) for each usable visit."""
    windows = []
    for j, target in visits.iterrows():
        own = visits[visits.user_id == target.user_id]
        since = target.day - days
        seen = own[(own.index < j) & (own.day >= since)]
        if len(seen) >= min_visits and own.day.min() <= since:
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
# The table is sorted by person and time, so the row numbers of a window are always one unbroken stretch that
# ends just before the target. **Two numbers describe it**: where it begins and where its target is. Finding the
# beginning is a search in a sorted list, and `searchsorted` does that for all rows at once.
#
# One obstacle is left. Days are sorted within a person, but the next person starts again in the past.
# So give each person a range of days of their own: add a number to all days of the second person, twice that
# number to those of the third, and so on. If this number is larger than the whole calendar and a window together,
# no window can reach from one person to another.


# %%
def fast_windows(visits, days=7, min_visits=3):
    """(first, target): two row numbers for each window."""
    person, _ = pd.factorize(visits.user_id)  # (N,) 0, 0, 0, 1, 1, …
    day = visits.day.to_numpy()  # (N,)
    shift = np.ptp(day) + days + 1  # longer than any window
    key = day + person * shift  # (N,) increasing over the whole table
    first = np.searchsorted(key, key - days)  # (N,) first row not too old
    begins = day[np.searchsorted(person, person)]  # (N,) person's first day
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
    f"The same {len(slow):,} windows, compared one by one: "
    f"{slow_seconds:.0f} s against {1000 * fast_seconds:.0f} ms, "
    "**thousands of times faster**. The slow version "
    f"stores {in_lists:,} row numbers, the fast one {2 * len(target):,}."
)

# %% [markdown]
# The ratio grows with the table: the slow function compares every visit with every other, while the fast one
# only searches. We keep the slow one as the definition of what is right.
#
# > **Note.** This pattern is useful elsewhere. Write the version that is obviously right, then the version
# > that is fast, then let the machine compare them on all the data.
#
# How long are windows? And how many visits never become targets?

# %%
parts, ranges, rows = {}, {}, {}
for name in ("train", "valid", "test"):
    part = visits[visits.split == name].reset_index(drop=True)
    first, target = fast_windows(part)
    parts[name], ranges[name] = part, (first, target)
    rows[name] = {
        "visits": len(part),
        "windows": len(target),
        "visits that become targets, %": 100 * len(target) / len(part),
        "mean length": (target - first).mean(),
    }
table = pd.DataFrame(rows).T.round(1)
table.astype({"visits": int, "windows": int})

# %% tags=["hide-input"]
lengths = {name: target - first for name, (first, target) in ranges.items()}
longest = max(part.max() for part in lengths.values())
bins = np.arange(2.5, longest + 1.5, 2)
weights = {
    k: np.full(len(part), 100 / len(part)) for k, part in lengths.items()
}
looks = {
    "train": {"color": MUTED, "alpha": 0.45},
    "test": {"color": TRUTH, "histtype": "step", "lw": 2},
}
fig, ax = plt.subplots(figsize=(6.8, 3.2))
for name, look in looks.items():
    part, weight = lengths[name], weights[name]
    ax.hist(part, bins, weights=weight, label=name, **look)
mean = lengths["train"].mean()
ax.axvline(mean, color=EXTRA, ls="--", lw=1.5, label="mean of train")
ax.set(xlabel="visits in a window", ylabel="windows (%)")
ax.legend()
show(
    fig,
    alt=f"Histogram of window lengths, from 3 to {lengths['train'].max()} "
    f"visits with a mean of {mean:.0f}. Train (filled) and test (outline) "
    "both spread widely around it.",
    caption="Window lengths. The spread is what makes padding a topic later "
    "in this chapter.",
)

# %% [markdown]
# ## Ids: the vocabulary
#
# Tensors want integers. **0** is padding: it fills the empty seats behind a window that is shorter than others.
# **1** is "unknown". From **2** on come the locations that training has seen, in sorted order. Only training
# counts: a vocabulary that includes the test places has already looked at the exam.

# %%
known = sorted(visits.location_id[visits.split == "train"].unique())
ids = {place: 2 + k for k, place in enumerate(known)}
vocabulary = Vocabulary.build(visits, "published")
assert vocabulary.locations == tuple(known)

location, rows = {}, {}
for name, part in parts.items():
    location[name] = part.location_id.map(lambda place: ids.get(place, 1))
    unknown = 100 * (location[name] == 1).mean()
    rows[name] = {"visits": len(part), "to unknown places, %": unknown}
pd.DataFrame(rows).T.astype({"visits": int}).round(1)

# %% [markdown]
# Training has no unknown place, of course. Valid and test have plenty, because people never stop
# exploring. All these places, each a different café or friend's sofa, become one location called 1.
# We call this the **published protocol**, since the prepared data sets of the literature are made this way.
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
# model that copies can be right. Ask it under each protocol.


# %%
def in_window(location, first, target):
    """(W,) True where the target's location is one of the window's."""
    pairs = zip(first, target, strict=True)
    return np.array([location[t] in location[f:t] for f, t in pairs])


exact = {place: k for k, place in enumerate(visits.location_id.unique())}
numbers = {
    "exact": parts["test"].location_id.map(exact).to_numpy(),
    "published": location["test"].to_numpy(),
}
first, target = ranges["test"]
found = {name: in_window(at, first, target) for name, at in numbers.items()}
share = pd.DataFrame(found)
unknown = numbers["published"][target] == 1
share["group"] = np.where(unknown, "unknown targets", "known targets")

# %%
by_group = share.groupby("group")[["exact", "published"]]
table = 100 * by_group.mean()
assert table.exact["known targets"] == table.published["known targets"]
table.loc["all targets"] = 100 * share[["exact", "published"]].mean()
table = table.add_suffix(", %").round(1)
counted = by_group.size().reindex(table.index, fill_value=len(share))
table.assign(windows=counted)

# %% [markdown]
# The first row does not change, but the second more than doubles. One window shows why.

# %% tags=["hide-input"]
confused = share.published & ~share.exact & (target - first <= 12)
fooled = np.flatnonzero(confused)[0]
rows = np.arange(first[fooled], target[fooled] + 1)
shown = parts["test"].loc[rows, ["started_at", "location_id", "kind"]]
pd.DataFrame(
    {
        "when": shown.started_at.dt.strftime("%a %H:%M").to_numpy(),
        "place": [names[place] for place in shown.location_id],
        "kind": shown.kind.to_numpy(),
        "published id": location["test"].loc[rows].to_numpy(),
        "role": ["window"] * (len(rows) - 1) + ["target"],
    }
).set_index("when")

# %% tags=["hide-input"]
strange = location["test"].loc[rows[:-1]] == 1
strange = [names[place] for place in shown.location_id.iloc[:-1][strange]]
Markdown(
    f"Training has seen neither {names[shown.location_id.iloc[-1]]} nor "
    f"{' nor '.join(dict.fromkeys(strange))}. Under the published protocol "
    "all of them are 1: the target counts as a *return*, and the score "
    'rewards any model that answers "unknown".'
)

# %% [markdown]
# Is this a toy problem of a toy town? Compare GeoLife, people tracked by GPS around Beijing
# ([Zheng et al., 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)).
# We cannot give you their records, but the package holds both shares, counted on the same GeoLife windows.

# %%
protocols = ("exact", "published")
counted = REFERENCE.loc["target_in_window"]
geolife = counted[["real_locations", "unknown_merged"]].astype(float)
jump = pd.DataFrame(
    {
        "Larkmere (simulated)": 100 * share[list(protocols)].mean(),
        "GeoLife (real)": geolife.set_axis(protocols),
    }
)

# %% tags=["hide-input"]
looks = {
    "exact": (-0.19, {"color": TRUTH, "hatch": None}),
    "published": (0.19, {"color": EXTRA, "hatch": "///"}),
}
text = {"textcoords": "offset points", "va": "center"}
fig, ax = plt.subplots(figsize=(6.8, 2.6))
for at, place in enumerate(jump):
    for name, (offset, look) in looks.items():
        value, y = jump.loc[name, place], at + offset
        label = name if at == 0 else None
        look |= {"edgecolor": "white", "lw": 0}
        ax.barh(y, value, 0.36, label=label, **look)
        ax.annotate(f"{value:.1f} %", (value, y), (5, 0), **text)
ax.set(yticks=range(len(jump.columns)), yticklabels=jump.columns)
ax.set(xlim=(0, 100), xlabel="test targets that are in the window (%)")
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2)
said = [
    f"{place}: {value['exact']:.1f} per cent with exact places, "
    f"{value['published']:.1f} per cent as published"
    for place, value in jump.items()
]
show(
    fig,
    alt="Bars of the share of targets in the window. "
    + ". ".join(said)
    + ".",
    caption="The same windows, counted twice. Merging unknown places turns "
    "explorations into returns.",
)

# %% tags=["hide-input"]
real = jump["GeoLife (real)"]
more = real["published"] - real["exact"]
Markdown(
    "On GeoLife the label alone moves the figure from "
    f"{real['exact']:.1f} % to {real['published']:.1f} %. In about "
    f'{100 * more / real["published"]:.0f} % of the apparent "returns", the '
    "target and the visit that it matches are two different places that "
    "share only the label."
)

# %% [markdown]
# > **Pitfall.** Scores under the two protocols answer different questions. Before you compare two scores, ask for the
# > protocol of each. Our town's models are scored by the *exact* one unless the text says otherwise.
#
# ## The seven features of a visit
#
# Each visit becomes seven integers. The person is the same for the whole window, so it is stored once.
#
# | feature | values | take care |
# |---|---|---|
# | location | 2 … , 1 unknown | only training may decide what is known |
# | person | 1 … , 0 not in training | a new person is not an error |
# | time of day | 1 … 96, quarters of an hour at arrival | midnight must not be 0 |
# | weekday | 1 = Monday … 7 | it is that of the local clock |
# | days ago | 0, 1, 2 … | which day do we count from? |
# | duration | 1 … 100, half hours | a visit may last days, so the rest is cut |
# | position from the end | 1 = last visit | the last visit must not be 0 |
#
# Zero is reserved for padding, except in *person* and *days ago*. In the latter a mask (explained below) has to do that work.
# (The embedding of [chapter 5](05_embeddings.ipynb) shifts this feature by one, and then zero is free there, too.)
#
# **Time of day.** Quarters of an hour are `minute // 15`, which is 0 for a visit that begins between
# 00:00 and 00:14. But 0 is padding, so the visit would vanish without an error message. Hence the `1 +`.

# %%
minute = local_minute(visits.started_at)
n_lost = (minute // 15 == 0).sum()
print(f"{n_lost} of {len(visits):,} visits begin between 00:00 and 00:14")
assert (1 + minute // 15).between(1, 96).all()

# %% [markdown]
# They are few, in a town that sleeps. But suppose that the times were wrongly left in UTC. When it is midnight
# in UTC, it is eight in the morning in Beijing, and the same bug deletes arrivals at work.
#
# **Days ago.** Old visits matter less, so the model gets how many days ago each one was, its **recency**. Ago from
# what? The obvious answer is the day of the target, and several implementations do that. But if the newest visit
# of the window is marked "3 days ago", then the person's *next* visit comes in three days. Nobody can know that
# when the prediction is made.
#
# Does the gap matter? Group the test targets by it.

# %%
days, kinds = test.day.to_numpy(), test.kind.to_numpy()
where = test.location_id.to_numpy()
gap = days[target] - days[target - 1]  # (W,) days from last visit to target
given = pd.DataFrame(
    {
        "target is home, %": 100 * (kinds[target] == "home"),
        "target is the last place again, %": 100
        * (where[target] == where[target - 1]),
    }
)
labels = ["same day", "next day", "later"]
given["gap"] = pd.cut(gap, [-1, 0, 1, 1000], labels=labels)
by_gap = given.groupby("gap", observed=True)
by_gap.mean().round(1).assign(windows=by_gap.size())

# %% [markdown]
# The rows differ. So the gap tells a model something about the answer, and nobody knows the gap in advance. We therefore count from the day of the *last visit* of the window, which has 0 days ago by
# definition. A batch has `gap_days` as a separate field. A model uses it only if its configuration says so, with
# `target_time="day"`. The next table shows what that was worth on GeoLife, for the same model on the
# same windows from the same seeds. (Acc@1 is the share of windows in which the model's first guess is
# right. [Chapter 4](04_baselines.ipynb) explains the interval.)

# %%
full = {"model": "pgt", "variant": "full"}
published = read_results("geolife_published")
knows, blind_to = (full | {"target_time": t} for t in ("day", "unknown"))
gain, low, high = published.difference(knows, blind_to)
accuracy = {
    "knows the target's day": f"{published.mean(**knows):.1f}",
    "does not know it": f"{published.mean(**blind_to):.1f}",
    "difference, 95 % interval": f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]",
}
column = "Acc@1, % (GeoLife, published)"
pd.Series(accuracy).rename(column).to_frame()

# %% [markdown]
# **And from which day do the seven days go back?** Equation (3.1) says: from the target's. That is the same leak
# again, but better hidden, and the table above has it too: both rows are of such windows, so the difference is what the
# field adds to the leak. Suppose that the last visit was four days before the target. Then the window begins three
# days before the last visit instead of seven. The oldest visit gives away how long the pause was. To close the hole, go back from the day of the last visit:
#
# $$
# \mathcal{W}_j = \{\, i < j \;:\; \text{day}_i \ge \text{day}_{j-1} - 7 \,\}. \tag{3.2}
# $$


# %%
def blind_windows(visits, days=7, min_visits=3):
    """As fast_windows, but blind to when the target is."""
    person, _ = pd.factorize(visits.user_id)
    day = visits.day.to_numpy()
    key = day + person * (np.ptp(day) + days + 1)
    starts = np.searchsorted(person, person)  # (N,) each person's first row
    rows = np.arange(len(visits))
    last = np.maximum(rows - 1, starts)  # (N,) the visit before, if any
    first = np.searchsorted(key, key[last] - days)  # the line that matters
    long_known = day[last] - day[starts] >= days
    usable = (rows - first >= min_visits) & long_known
    return first[usable], rows[usable]


blind = {name: blind_windows(part) for name, part in parts.items()}
both = {"from the target's day": ranges, "from the last visit": blind}
n = {way: {k: len(t) for k, (_, t) in of.items()} for way, of in both.items()}
pd.DataFrame(n).rename_axis("windows")

# %% [markdown]
# The windows from the last visit reach further back, so more of them hold three visits. But the first day must now lie
# seven days before the *last visit*, which costs some windows.
#
# The published protocol keeps the literature's rule, so that scores can be compared. From here on, the exact protocol
# means both: each place its own id, and windows by equation (3.2). (The tables above compare the ids alone, on windows by
# equation (3.1).) `WindowConfig(anchor=…)` chooses the windows. [Chapter 15](15_traps.ipynb) measures how much models
# gain from the leak.
#
# **Duration** is cut at 100 half hours, since one forgotten phone should not add a thousand rows to an
# embedding table. **Position from the end** counts backwards, because windows differ in length. The last
# visit should have the same number in every window: 1.
#
# Now encode everything, one flat array per feature, once for each split. Windows are only slices of these arrays.


# %%
def encode(part, location_ids, user_ids):
    """Flat (N,) arrays, one per feature."""
    minutes = (part.finished_at - part.started_at).dt.total_seconds() // 60
    location = [location_ids.get(place, 1) for place in part.location_id]
    return {
        "location": np.array(location),
        "user": np.array([user_ids.get(user, 0) for user in part.user_id]),
        "time": (1 + local_minute(part.started_at) // 15).to_numpy(),
        "weekday": (1 + part.started_at.dt.day_of_week).to_numpy(),
        "duration": (1 + (minutes // 30).clip(upper=99))
        .astype(int)
        .to_numpy(),
        "day": part.day.to_numpy(),
    }


people = sorted(visits.user_id[visits.split == "train"].unique())
user_ids = {user: 1 + k for k, user in enumerate(people)}
columns = {name: encode(part, ids, user_ids) for name, part in parts.items()}

# %% [markdown]
# ## Padding, masks, and windows of similar length
#
# A batch of $B$ windows becomes a rectangle, $B$ rows by $L$ columns, where $L$ is the longest of them.
# The rest is filled with 0 on the right. A **mask** remembers which entries are real.


# %%
def collate(columns, first, target):
    """Windows -> dict of padded (B, L) and (B,) tensors."""
    length = target - first  # (B,)
    steps = np.arange(length.max())  # (L,)
    inside = steps < length[:, None]  # (B, L) True where a visit is
    at = np.where(inside, first[:, None] + steps, 0)  # (B, L) row numbers
    features = ("location", "time", "weekday", "duration")
    batch = {name: columns[name][at] * inside for name in features}
    day, newest = columns["day"], target - 1
    days_ago = day[newest][:, None] - day[at]  # (B, L)
    batch["days_ago"] = days_ago * inside
    batch["position_from_end"] = (length[:, None] - steps) * inside
    batch |= {"user": columns["user"][newest], "length": length}
    batch |= {"target": columns["location"][target]}
    batch |= {"gap_days": day[target] - day[newest]}
    return {name: torch.as_tensor(value) for name, value in batch.items()}


tiny = [np.flatnonzero(lengths["test"] == length)[0] for length in (5, 8)]
batch = collate(columns["test"], first[tiny], target[tiny])
rows = {k: value[0].tolist() for k, value in batch.items() if value.ndim == 2}
table = pd.DataFrame(rows).rename(columns=lambda k: k.replace("_", " "))
table.T.rename_axis("window 0")

# %% tags=["hide-input"]
import seaborn as sns
from matplotlib import pyplot as plt
from wherenext.figures import show

ids = batch["location"].numpy()  # (B, L)
fig, ax = plt.subplots(figsize=(6.4, 1.6))
style = {"cmap": "Blues", "vmax": 2, "cbar": False, "linewidths": 2}
sns.heatmap(ids > 0, annot=ids, fmt="d", ax=ax, **style)
ax.set(xlabel="visit, the oldest first", ylabel="window")
show(
    fig,
    alt="Two windows in one rectangle of location ids: "
    + "; ".join(", ".join(map(str, row)) for row in ids)
    + ". Empty seats hold a zero and are pale.",
    caption="Two windows in one batch, with their location ids. Pale: empty "
    "seats, where the mask is 0. The other features go the same way.",
)

# %% [markdown]
# Five visits, then three empty seats. In the row *days ago*, real zeros and padding zeros look
# alike. Only the mask knows.
#
# What happens without a mask? Attention ([chapter 6](06_position_and_encoder.ipynb)) gives every column a score and
# ends in a softmax over the $L$ columns, and $e^0 = 1$ is not zero. Padding with a score of 0 gets as large a share as a visit with a score of 0. Measure it on a random
# batch in which all scores are 0.

# %%
train_first, train_target = ranges["train"]
shuffled = np.random.default_rng(0).permutation(len(train_target))
pick = shuffled[:128]
batch = collate(columns["train"], train_first[pick], train_target[pick])
scores = torch.zeros(batch["location"].shape)  # (B, L) indifferent
seats = torch.arange(scores.shape[1])
padding = seats >= batch["length"][:, None]  # (B, L)
without = scores.softmax(-1)
masked = scores.masked_fill(padding, -torch.inf).softmax(-1)
for name, attention in (("unmasked", without), ("masked", masked)):
    on_padding = 100 * (attention * padding).sum(-1).mean()
    print(f"attention on padding, {name}: {on_padding:.1f} %")

# %% [markdown]
# > **Pitfall.** A row that is *all* padding has a softmax over nothing but $-\infty$, which is NaN, and
# > NaN spreads to every weight of the model in one step. Our windows have at least three visits, so it
# > cannot happen here. With your own data, check this first.
#
# A masked model computes nothing useful on padding, but it still computes. In a batch of random windows, the
# longest sets the width for all. The remedy is to *put windows of similar length together*. To keep some
# randomness for training, shuffle first, then sort within pools of a few batches, then shuffle the batches. (The
# function below leaves the last step out, since it does not change the cost.)
#
# The last column counts the work of attention ([chapter 6](06_position_and_encoder.ipynb)). Every seat of a row is
# compared with every other, so the work grows with the *square* of the width.


# %%
def batches(length, size, order, pool):
    """Split `order` into batches, sorted within pools (0: not at all)."""
    order = order.copy()
    step = max(pool, 1) * size
    for at in range(0, len(order), step):
        if pool:
            part = order[at : at + step]
            by_length = np.argsort(length[part], kind="stable")
            order[at : at + step] = part[by_length]
    return [order[at : at + size] for at in range(0, len(order), size)]


def padded(length, groups):
    """(share of seats that are padding, seats squared: attention's work)."""
    widths = [(len(group), length[group].max()) for group in groups]
    seats = sum(n * width for n, width in widths)
    return 1 - length.sum() / seats, sum(n * w**2 for n, w in widths)


# %%
length = lengths["train"]
plans = {"random": 0}
plans |= {f"sorted in pools of {pool} batches": pool for pool in (4, 32)}
groups = {
    k: batches(length, 128, shuffled, pool) for k, pool in plans.items()
}
cost = {plan: padded(length, group) for plan, group in groups.items()}
heads = ["padding, %", "attention's work, random = 1"]
cost = pd.DataFrame(cost, index=heads).T
cost[heads[0]] *= 100
cost[heads[1]] /= cost[heads[1]]["random"]
cost.round({heads[0]: 1, heads[1]: 2})

# %% tags=["hide-input"]
similar = groups["sorted in pools of 32 batches"]
chosen = {
    "Random": groups["random"][0],
    "Of similar length": similar[3 * len(similar) // 4],
}
width = length[chosen["Random"]].max()
empty = {"facecolor": "none", "edgecolor": MUTED, "hatch": "////"}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
for ax, (title, group) in zip(axes, chosen.items(), strict=True):
    part = length[group]
    L, rows = part.max(), np.arange(len(group) + 1)
    ends = np.append(part, part[-1])  # a step needs its last value twice
    step = {"step": "post", "lw": 0}
    ax.fill_betweenx(rows, 0, ends, color=EXTRA, label="visits", **step)
    ax.fill_betweenx(rows, ends, L, label="padding", **empty, **step)
    share_empty = 1 - part.sum() / (len(group) * L)
    ax.set(title=f"{title}: {100 * share_empty:.0f} % padding")
    ax.set(
        xlabel="column of the batch", xlim=(0, width), ylim=(0, len(group))
    )
    ax.grid(visible=False)
axes[0].set_ylabel("window of the batch")
box = {"facecolor": PAPER, "framealpha": 1, "frameon": True}
axes[1].legend(loc="upper right", **box)
show(
    fig,
    alt="Two batches of 128 windows as images. Left, random lengths: a "
    "ragged filled area of visits at the left and a large hatched area of "
    "padding at the right. Right, similar lengths: a rectangle that is "
    "almost entirely filled.",
    caption="Two batches of 128 training windows, a row each. Filled: "
    "visits. Hatched: padding.",
)

# %% [markdown]
# Training still sees the same windows, and most of the waste is gone. The price is that a batch's width changes
# from step to step, so nothing in the model may depend on it.
#
# ## The same as the package
#
# Everything above is `pgt.windows.prepare`. Prove it: every window of every split, every field.

# %%
data = prepare(town.visits, protocol="published")
for name, (first, target) in ranges.items():
    theirs, order = getattr(data, name), np.arange(len(target))
    assert np.array_equal(theirs.first, first)
    assert np.array_equal(theirs.target, target)
    for group in batches(lengths[name], 512, order, pool=1):
        ours = collate(columns[name], first[group], target[group])
        batch = theirs.batch(group)
        for field, value in ours.items():
            assert torch.equal(value, getattr(batch, field)), (name, field)
assert np.array_equal(data.test.in_window, share.published)
honest = prepare(town.visits, protocol="exact")
for name, (first, target) in blind.items():
    theirs = getattr(honest, name)
    assert np.array_equal(theirs.first, first)
    assert np.array_equal(theirs.target, target)
print("equal:", ", ".join(ours))

# %% [markdown]
# ## What to remember
#
# - A window holds the visits of seven days, up to the target. It is described by two numbers, because visits
#   are stored once, sorted. Slow code checks fast code.
# - Splits follow time, windows stay inside splits, and the vocabulary comes from training only.
# - Merging unknown places into one makes explorations look like returns. Ask for the protocol first.
# - Counted from the target's day, recency and the window itself leak the future. Count from the last visit.
# - 0 is padding: remember midnight, use the mask, and batch windows of similar length.
#
# ## Exercises
#
# **Exercise 1** (quick). Why seven days? Build the exact windows with 1, 3, 7, 14 and 28 days of
# history. How do the number of test windows, their length and the share of targets in the window change?

# %% tags=["try"]
# % of test targets in the window, for 1, 3, 7, 14, 28 days
shares = [..., ..., ..., ..., ...]
check.exercise("3.1", shares)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
shares, rows = [], {}
for days in (1, 3, 7, 14, 28):
    w = prepare(town.visits, days=days, protocol="exact").test
    shares.append(100 * w.in_window.mean())
    rows[days] = {"windows": len(w), "mean length": w.lengths.mean().round(1)}
    rows[days]["in the window, %"] = shares[-1].round(1)
check.exercise("3.1", shares)
# Seven is the choice of the literature, and a compromise: a longer history
# finds more targets, but demands a longer start, which costs windows. (With
# one day the other condition costs more: fewer windows hold three visits.)
pd.DataFrame.from_dict(rows, orient="index").rename_axis("days")

# %% [markdown]
# **Exercise 2** (medium). The published pipeline for GeoLife never converts its times to Beijing's, so
# its days begin at eight in the morning. Make the same mistake here: use the UTC days of the test visits.
# How many windows are there then? How many of the windows common to both begin with another visit,
# and how many visits fall on another day?

# %% tags=["try"]
# a number, % of common windows, % of visits
n_windows, elsewhere, other_day = ..., ..., ...
check.exercise("3.2", [n_windows, elsewhere, other_day])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
wrong = test.assign(day=local_day(test.started_at.dt.tz_convert("UTC")))
local, utc = (
    {t: f for f, t in zip(*fast_windows(part), strict=True)}
    for part in (test, wrong)
)
both = [t for t in local if t in utc]
elsewhere = 100 * np.mean([utc[t] != local[t] for t in both])
other_day = 100 * (wrong.day != test.day).mean()
check.exercise("3.2", [len(utc), elsewhere, other_day])
print(f"{len(utc)} windows instead of {len(local)}")
print(f"{elsewhere:.1f} % of the common ones begin elsewhere")
print(f"{other_day:.1f} % of the visits fall on another day")

# %% [markdown]
# **Exercise 3** (medium). How does padding depend on the batch size? Compare random batches with pools
# of 32 for the sizes 16, 64, 128 and 512, on the training windows in the order `shuffled`. Which of the two
# is already wasteful at a small size, and why?

# %% tags=["try"]
# a row a size: % padding at random, in pools
seats = [(..., ...), (..., ...), (..., ...), (..., ...)]
check.exercise("3.3", seats)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# The maximum of more random lengths is larger, so random batches get wider.
# Sorted ones notice only when a batch is so large that it spans many lengths
# even after sorting.
rows = {}
for size in (16, 64, 128, 512):
    random, pooled = (batches(length, size, shuffled, k) for k in (0, 32))
    rows[size] = {"random, %": 100 * padded(length, random)[0]}
    rows[size]["in pools of 32, %"] = 100 * padded(length, pooled)[0]
seats = pd.DataFrame(rows).T
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
    person, _ = pd.factorize(visits.user_id)  # (N,)
    since = visits.started_at - visits.started_at.min()
    hour = since.dt.total_seconds().to_numpy() / 3600  # (N,)
    key = hour + person * (np.ptp(hour) + hours + 1)  # (N,) increasing
    first = np.searchsorted(key, key - hours)
    rows = np.arange(len(visits))
    begins = hour[np.searchsorted(person, person)]
    usable = (rows - first >= min_visits) & (hour - begins >= hours)
    return first[usable], rows[usable]


by_hours, by_days = hour_windows(test), fast_windows(test)
check.exercise("3.4", by_hours)
rows = {}
for name, (f, t) in (("168 hours", by_hours), ("calendar days", by_days)):
    rows[name] = {"windows": len(t), "mean length": (t - f).mean().round(2)}
pd.DataFrame.from_dict(rows, orient="index")
# Only the key has changed: hours in place of days. Calendar days give seven
# days *and a bit*, so their windows are a little longer.

# %% [markdown]
# **Exercise 5** (project). Windows inside splits throw away the first week of test, although the days
# before it *are* the past and could be seen by an honest model. Build test windows whose history may
# reach back into valid. How many more windows are there, and is the share of targets in the window the
# same on the new ones? What would change in a comparison with published figures?

# %% tags=["try"]
# windows gained; % in the window: of the new, of the old
more, new_share, old_share = ..., ..., ...
check.exercise("3.5", [more, new_share, old_share])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
whole_first, whole_target = fast_windows(visits)  # all splits in one table
keep = visits.split.to_numpy()[whole_target] == "test"
whole_first, whole_target = whole_first[keep], whole_target[keep]
places = visits.location_id.to_numpy()
found = in_window(places, whole_first, whole_target)
of_split = visits.groupby("split").cumcount().to_numpy()  # row in its split
new = ~np.isin(of_split[whole_target], ranges["test"][1])
of_new, of_old = 100 * found[new].mean(), 100 * found[~new].mean()
check.exercise("3.5", [new.sum(), of_new, of_old])
print(
    f"{new.sum()} more windows ({100 * new.sum() / (~new).sum():.0f} %); in "
    f"the window: {of_new:.1f} % of the new, {of_old:.1f} % of the old"
)
strange = ~np.isin(places[whole_target], known)
print(
    f"unknown targets: {100 * strange[new].mean():.1f} % of the new, "
    f"{100 * strange[~new].mean():.1f} % of the old"
)
# The new targets are closer to training, so fewer of them are unknown, and
# known places are more often in the window. The test set would be another
# one, not comparable with published figures.

# %% [markdown]
# **Exercise 6** (quick, on paper). One person's visits fall on the days 1, 3, 3, 7, 8, 10, 10, 18, 19 and 20, and nothing
# was recorded before day 1. How many of these visits are targets of a window, under equation (3.1) and both conditions?
# How many visits does the longest window hold?

# %% tags=["try"]
how_many, longest = ..., ...
check.exercise("3.6", [how_many, longest])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 6", "code_prompt_hide": "Hide solution 6"}
# @title Solution 6
days = np.array([1, 3, 3, 7, 8, 10, 10, 18, 19, 20])
begin = np.searchsorted(days, days - 7)  # the first visit in each window
held = np.arange(len(days)) - begin
usable = (held >= 3) & (days - days[0] >= 7)
check.exercise("3.6", [usable.sum(), held[usable].max()])
print("targets on the days", *days[usable], "with", *held[usable], "visits")
# Day 7 is six days after the first. Days 18 to 20 have too few visits in
# their seven days, because nothing was recorded on days 11 to 17.

# %% [markdown]
# **Next:** [Baselines](04_baselines.ipynb), which need no training and are hard to beat.
