# %% [markdown]
# # Windows
#
# A model is asked where somebody goes next. What may it see before it answers?
#
# *You will be able to* cut a table of visits into windows, find the leak that tells a model the answer, and ask of any score
# how it counted unknown places. *You need* pandas, NumPy, a little PyTorch and the first chapter. *It takes* twenty minutes
# to read and half a minute to run, with or without a GPU.
#
# > **In one sentence.** A model may see the week before the person's *last visit*, and nothing that tells
# > when the next visit comes; and a place that training never met must keep its own name, because merging such
# > places raises the share of "returns" on real data from {{ real_own:.0f }} to {{ real_merged:.0f }} %.

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
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, MUTED, TRUTH, show
from wherenext.results import read_results

from pgt.visits import local_day, local_minute
from pgt.windows import prepare

# %%
town = city.load()
visits = town.visits.copy()  # sorted by person and time
visits["day"] = local_day(visits.started_at)  # number of the calendar day

# %% [markdown]
# ## What may the model see?
#
# Pick one visit and call it the **target**: its location is what we want to predict. The model may see what happened before
# it, but how far back? The literature ([Hong et al., 2023](https://doi.org/10.1016/j.trc.2023.104315)) uses the
# *seven-day rule*. The **window** of a target holds the person's visits of the seven days before the target's day, and
# those of the target's own day up to the target.
#
# Write $\text{day}_j$ for the calendar day of visit $j$. The window of target $j$ is
#
# $$
# \mathcal{W}_j = \{\, i < j \;:\; \text{day}_i \ge \text{day}_j - 7 \,\}, \tag{3.1}
# $$
#
# where all visits are of the same person. Two conditions apply. A window must hold at least three visits. And
# the person's first recorded day must lie at least seven days before $\text{day}_j$; otherwise some of the
# "seven days" were never recorded.
#
# Here you can change the seven; the sentences are about seven. The figure shows one window; every row is a day of the local
# clock.

# %%
days = 7  # @param {type:"slider", min:1, max:28, step:1}

# %% tags=["hide-input"]
# @title Figure 3.1: a window
mine = visits[visits.user_id == 26].reset_index(drop=True)
j, day = 354, mine.day.to_numpy()  # one visit of one person
oldest = np.searchsorted(day, day[j] - days)  # the first that counts
fig, ax = plt.subplots(figsize=(7.4, 0.8 + 0.3 * (days + 2)))
for i in np.flatnonzero((day >= day[j] - days - 1) & (day <= day[j])):
    start = local_minute(mine.started_at)[i] / 60
    stay = (mine.finished_at[i] - mine.started_at[i]).total_seconds()
    hours = min(stay / 3600, 24 - start)
    look = {"fc": "none", "hatch": "....", "ec": MUTED}  # hidden
    look = {"fc": COPIED, "alpha": 0.75} if oldest <= i < j else look
    look = {"fc": TRUTH, "hatch": "//", "ec": "white"} if i == j else look
    ax.barh(day[i] - day[j], hours, left=start, height=0.5, **look)
    text = "?" if i == j else mine.kind[i] if hours > 1.3 else ""
    ax.text(start, day[i] - day[j] - 0.32, text, fontsize=8, va="bottom")
ax.set(ylim=(0.6, -days - 1.7), xlim=(0, 24), xticks=range(0, 25, 3))
ax.set(xlabel="hour of the day", ylabel="days from the target's day")
show(
    fig,
    alt="A row a day; visits are bars, hollow where the model is blind.",
    caption="Filled: what the model sees. Hatched, with a question mark: the "
    "target. Dotted: too old, or still to come. Bars end at midnight.",
)

# %% [markdown]
# A visit belongs to the day on which it *began*. Days are calendar days, so a target at nine in the evening has a longer
# window than one at breakfast.
#
# ## Train, valid, test
#
# [Chapter 10](10_training.ipynb) will train on some windows and judge on others. If we dealt them out at
# random, the target of one window would often lie inside another window, and the model could look it up. So we
# cut by time. The first 60 % of each person's days are **train**, the next 20 % **valid**, the rest **test**:
# learn from the past, predict the future. The column `split` says which.
#
# Windows are built *inside* each split, as in the literature. So the first week of each split yields no targets; its visits
# only serve as history.
#
# ## Slowly, then fast
#
# Here is the rule in code, as close to equation (3.1) as pandas allows.


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
thousand = test.head(1000)
slow = slow_windows(thousand, days)

# %% [markdown]
# Correct, but it filters the whole table for every visit. The table is sorted by person and time, so a window is one
# unbroken stretch of rows that ends just before the target.
# **Two numbers describe it**: where it begins, and where its target is. To find the beginning is a search in a sorted
# list: `np.searchsorted(list, value)` returns the first position whose entry is not smaller than the value, for many
# values at once.
#
# One obstacle is left: at the next person the days jump back, so the list is not sorted. So we number the people 0, 1, 2 …
# and add nothing to the days of the first, `shift` to those of the second, twice `shift` to those of the third. With a
# `shift` of 20, the days 3, 5, 9 | 2, 4 of two people become 3, 5, 9 | 22, 24. The shift is longer than the calendar and a
# window together, so no window reaches into another person.


# %%
def fast_windows(visits, days=7, min_visits=3, back=0):
    """(first, target) of each window; `back` is explained below."""
    person, _ = pd.factorize(visits.user_id)  # (N,) 0, 0, 0, 1, 1, …
    day = visits.day.to_numpy()  # (N,)
    shift = np.ptp(day) + days + 1  # ptp: the last day minus the first
    key = day + person * shift  # (N,) sorted over the whole table
    rows = np.arange(len(visits))
    begins = np.searchsorted(person, person)  # 0 0 0 1 1 -> 0 0 0 3 3
    since = np.maximum(rows - back, begins)  # (N,) `rows` if back is 0
    first = np.searchsorted(key, key[since] - days)  # first row not too old
    usable = (rows - first >= min_visits) & (day[since] - day[begins] >= days)
    return first[usable], rows[usable]


# %% [markdown]
# Are these the windows of the slow function, to the row?

# %%
fast = fast_windows(thousand, days)
for (seen, j), lo, hi in zip(slow, *fast, strict=True):
    assert j == hi and np.array_equal(seen, np.arange(lo, hi))
first, target = fast_windows(test, days)
print(f"{len(test):,} visits -> {len(target):,} windows")

# %% [markdown]
# They are. Write what is obviously right, then the fast version, and compare.
#
# ## A leak: when does the next visit come?
#
# Equation (3.1) looks innocent. But it counts back from the *target's* day, and when the prediction is made, nobody
# knows that day. Suppose that the person was last seen on Monday, and comes next on Thursday, or on Saturday.

# %% tags=["hide-input"]
# @title Figure 3.2: the last visit is on Monday; two possible targets
cases = {
    "(3.1), target on Thursday": (3 - 7, [3]),  # Monday is day 0
    "(3.1), target on Saturday": (5 - 7, [5]),
    "(3.2), either target": (0 - 7, [3, 5]),
}
fig, ax = plt.subplots(figsize=(7.4, 2.1))
for row, (begin, targets) in enumerate(cases.values()):
    ax.barh(row, 1 - begin, 0.5, begin, fc=COPIED, alpha=0.75)
    ax.barh(row, 1, 0.5, targets, fc=TRUTH, hatch="//", ec="white")
names = [*"Mon Tue Wed Thu Fri Sat Sun".split() * 2][:13]
names[7] += "\nlast visit"
ax.set(xticks=np.arange(-7, 6) + 0.5, xticklabels=names, xlim=(-7.2, 6))
ax.set(yticks=range(3), yticklabels=cases, ylim=(2.5, -0.5))
show(
    fig,
    alt="Windows. By equation (3.1) one begins on the target's weekday: "
    "Thursday or Saturday. By equation (3.2) it begins on Monday for both.",
    caption="Filled: the window, up to the last visit. Hatched: targets.",
)

# %% [markdown]
# In the first two rows the window begins seven days before the target, so its beginning gives the target's day away. Is
# that day worth knowing? Group the test targets by how many days they begin after the last visit.

# %%
begun = test.day.to_numpy()
wait = begun[target] - begun[target - 1]  # (W,) days after the last visit
home = 100 * (test.kind[target] == "home")
by_day = home.groupby(wait.clip(max=2)).agg(["mean", "size"]).round(1)
by_day.columns = ["target is home, %", "windows"]
by_day.index = ["same day", "next day", "later"]
by_day.rename_axis("it begins")

# %% [markdown]
# It is: if the next visit is not on the last one's day, it is far more often at home. A model that reads this could score
# better, and would lose it on the day it is used. The remedy is one rule: **count from the last visit.** Its day is known.
# (The first recorded day must lie seven days before it, too.)
#
# $$
# \mathcal{W}_j = \{\, i < j \;:\; \text{day}_i \ge \text{day}_{j-1} - 7 \,\}. \tag{3.2}
# $$
#
# This is the third row of the figure: nothing in the window tells when the target is. In `fast_windows`, `back=1` counts
# from one row further back. From here on, our windows are made so:

# %%
first, target = fast_windows(test, days, back=1)
print(f"{len(test):,} visits -> {len(target):,} windows")

# %% [markdown]
# [Chapter 15](15_traps.ipynb) asks whether models gain from the leak.
#
# ## Places that training never met
#
# Tensors want integers. **0** is padding: it fills the empty seats behind a window that is shorter than others.
# **1** is "unknown". From **2** on come the locations that training has seen, in sorted order. Only training
# counts, since nothing may be learned about the places of the test.

# %%
known = sorted(visits.location_id[visits.split == "train"].unique())
others = sorted(set(visits.location_id) - set(known))
ids = {place: 2 + k for k, place in enumerate(known + others)}
own_id = test.location_id.map(ids).to_numpy()
unknown = own_id >= 2 + len(known)  # not in training
merged_id = np.where(unknown, 1, own_id)
print(f"{100 * unknown.mean():.1f} % of the test visits: unknown places")

# %% [markdown]
# In `merged_id`, all these places, each a different café or friend's sofa, are one location
# called 1. In `own_id` they have ids of their own, *after* the known ones. That only reserves ids: nothing
# is learned about them. But a model that *copies* from the window can name such a place at its second visit.
#
# How much does the choice matter? Take the same people and the same windows, and ask the simplest question about a
# window: *is the target's location among its visits?* If so, a model that copies can be right.


# %%
def in_window(place, first, target):
    """(W,) True where the target's location is one of the window's."""
    return np.array([place[t] in place[f:t] for f, t in np.c_[first, target]])


share = pd.DataFrame({"own ids": in_window(own_id, first, target)})
share["merged ids"] = in_window(merged_id, first, target)  # unknown: all 1
groups = np.where(unknown[target], "unknown targets", "known targets")

table = 100 * share.groupby(groups).mean()
table.loc["all targets"] = 100 * share.mean()
real = read_results("traps").rows.set_index("what").value
real_own = real["target in the window, real places"]
real_merged = real["target in the window, unknown merged"]
table.loc["GeoLife, all targets"] = real_own, real_merged
table.add_suffix(", %").round(1)

# %% [markdown]
# *Unknown* targets are at places that training never showed. Merged as in the prepared data of the literature, more than twice
# as many of them seem to be in the window: a new café counts as a *return*, because a new school was in the window and both
# are 1. The score rewards any model that answers "unknown", an answer that names no place.
#
# The last row is the same count on GeoLife, real people tracked by GPS around Beijing ([Zheng et al.,
# 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)).
# So a score with own ids and one with merged ids answer different questions. Such a set of rules is called a **protocol**: ask
# for the protocol of any score. This book has two, and each settles both choices of this chapter:
#
# | | published protocol | exact protocol |
# |---|---|---|
# | an unseen place | is "unknown", one id for all | has an id of its own |
# | seven days before | the target, equation (3.1) | the last visit, equation (3.2) |
# | used for | comparisons | everything else in this book |
#
# ## A visit becomes seven integers
#
# The model reads numbers, seven for each visit:
#
# | feature | values | take care |
# |---|---|---|
# | location | 2 … , 1 unknown | exact: ids of unseen places follow |
# | person | 1 … , 0 not in training | here 0 is not padding |
# | time of day | 1 … 96, quarters of an hour | midnight must not be 0 |
# | weekday | 1 = Monday … 7 | of the local clock |
# | days ago | 0 = last visit's day … | counted from the last visit |
# | duration | 1 … 100, half hours | longer visits are cut |
# | position | 1 = last visit, 2, 3 … | from the end, as lengths differ |
#
# Why must midnight not be 0? Because 0 means padding: [chapter 5](05_embeddings.ipynb) gives it a vector of zeros, and
# midnight would say nothing. ("Days ago" starts at 0 here, and is raised by one there.)
#
# ## Padding and the mask
#
# A batch of $B$ windows becomes a rectangle, $B$ rows by $L$ columns, where $L$ is the length of the longest. The rest
# is filled with 0 on the right. A **mask** remembers which entries are real. Windows are slices of one long
# array, so a batch is one look-up, here of the locations:


# %%
def collate(feature, first, target):
    """(N,) numbers of all visits -> a padded (B, L) batch and its mask."""
    length = target - first  # (B,)
    steps = np.arange(length.max())  # (L,)
    inside = steps < length[:, None]  # (B, L) True where a visit is
    rows = np.where(inside, first[:, None] + steps, 0)  # (B, L)
    return feature[rows] * inside, inside


length = target - first
short = [np.abs(length - n).argmin() for n in (5, 8)]  # two short windows
batch, inside = collate(own_id, first[short], target[short])
print(batch, inside.astype(int), sep="\n")

# %% [markdown]
# Two windows of one person; the second target comes three visits after the first. A seat is empty where the mask is 0.
#
# `pgt.windows.prepare` does all of this, for every feature:

# %%
made = prepare(town.visits, protocol="exact", days=days).test
assert np.array_equal([made.first, made.target], [first, target])
prepared = made.batch(short)
fields = "location time weekday duration days_ago position_from_end".split()
for name in fields:  # of the first window
    print(f"{name:17}", getattr(prepared, name)[0].tolist())

# %% [markdown]
# Five visits, then three empty seats. (The person is stored once a window and needs no padding, so person 0 is free for
# anyone not in training.) In both protocols `days_ago` counts from the last visit; what leaks in the published one is where
# a window begins. In the row `days_ago`, real zeros and padding zeros look alike; only the mask knows. What a model without a
# mask does, [chapter 6](06_position_and_encoder.ipynb) shows.
#
# > **Pitfall.** The models that you will meet ignore the empty seats. In a window that is *all* padding nothing is left, the
# > result is NaN, and NaN spreads to every weight. Our windows have at least three visits; with your own data, check this
# > first.
#
# ## What to remember
#
# - A window is two row numbers: where it begins, and where its target is.
# - A model may see the days before the *last visit*. Days counted from the target tell when the next visit comes, and so where:
#   {{ by_day.loc["next day", "target is home, %"]:.0f }} % of the targets of the next day are at home, of those on the same day
#   {{ by_day.loc["same day", "target is home, %"]:.0f }} %.
# - It must not take one unknown place for another. Merged, explorations look like returns: on real data their share rises from
#   {{ real_own:.0f }} to {{ real_merged:.0f }} %. Ask for the protocol first.
# - 0 is padding. Number from 1; where 0 is a value, too (days ago), only the mask tells them apart.
#

#  What tables and clocks do to windows stands in [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# **Exercise 1** (quick). Why seven days? Build the exact windows (`protocol="exact"`) with 1, 3, 7, 14 and 28 days of
# history. How do the number of test windows and the share of targets in the window change?

# %% tags=["try"]
# % of test targets in the window, for 1, 3, 7, 14, 28 days
shares = [..., ..., ..., ..., ...]
check.exercise("3.1", shares)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
shares, rows = [], {}
for back in (1, 3, 7, 14, 28):
    w = prepare(town.visits, days=back, protocol="exact").test
    shares.append(100 * w.in_window.mean())
    rows[back] = {"windows": len(w), "in the window, %": shares[-1].round(1)}
check.exercise("3.1", shares)
# A compromise: a longer history finds more targets, but demands a longer
# start. (With one day, fewer windows hold three visits.)
pd.DataFrame.from_dict(rows, orient="index").rename_axis("days")

# %% [markdown]
# **Exercise 2** (medium). The published pipeline for GeoLife never converts its times from UTC. Make the same mistake: use
# the UTC days of the test visits, and equation (3.1). How many windows are there then? How many of the windows common to both
# begin with another visit, and how many visits fall on another day?

# %% tags=["try"]
# a number, % of common windows, % of visits
n_windows, elsewhere, other_day = ..., ..., ...
check.exercise("3.2", [n_windows, elsewhere, other_day])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
wrong = test.assign(day=local_day(test.started_at.dt.tz_convert("UTC")))
local, utc = (fast_windows(part) for part in (test, wrong))
both, a, b = np.intersect1d(local[1], utc[1], return_indices=True)
elsewhere = 100 * (local[0][a] != utc[0][b]).mean()
other_day = 100 * (wrong.day != test.day).mean()
check.exercise("3.2", [len(utc[0]), elsewhere, other_day])
print(f"{len(utc[0])} windows instead of {len(local[0])};", end=" ")
print(f"{elsewhere:.1f} % begin elsewhere; {other_day:.1f} % change the day")

# %% [markdown]
# **Exercise 3** (quick, on paper). One person's visits fall on the days 1, 3, 3, 7, 8, 10, 10, 18, 19 and 20, and nothing
# was recorded before day 1. How many of these visits are targets of a window, under equation (3.1) and both conditions?
# How many visits does the longest window hold?

# %% tags=["try"]
how_many, longest = ..., ...
check.exercise("3.3", [how_many, longest])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
on_day = np.array([1, 3, 3, 7, 8, 10, 10, 18, 19, 20])
begin = np.searchsorted(on_day, on_day - 7)  # the first visit of each window
held = np.arange(len(on_day)) - begin
usable = (held >= 3) & (on_day - on_day[0] >= 7)
check.exercise("3.3", [usable.sum(), held[usable].max()])
print("targets on the days", *on_day[usable], "with", *held[usable], "visits")
# Day 7 is six days after the first. Days 18 to 20 have too few visits in
# their seven days, because nothing was recorded on days 11 to 17.

# %% [markdown]
# **Next:** [Baselines](04_baselines.ipynb), which need no training and are hard to beat.
