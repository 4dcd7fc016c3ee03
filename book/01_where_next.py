# %% [markdown]
# # Where next?
#
# Most of the time, people go where they have been before. How far does a machine get by copying?
#
# *You will be able to* say what next-location prediction is, how often people go where they have
# been before, and why that makes a model that copies attractive. *You need* Python and pandas; a
# model appears, but nothing about it is assumed. *It takes* fifteen minutes to read and less than a
# minute to run, with or without a GPU.

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
# It is Tuesday, a quarter past five. Somebody leaves the office. Where do they go?
#
# You cannot know, but you would not bet on a random address either. You would ask where they live,
# where they buy food and what they did last Tuesday. After a few questions you would have a short
# list, and the true answer would often be on it. **Next-location prediction** asks a machine to do the
# same: given the places a person has visited lately, name the next one.
#
# This book builds one model for that, the **Pointer-Generator Transformer**, from its smallest parts
# up. First, let us meet the people and find out what there is to predict.
#
# ## A town whose people tell the truth
#
# Real movement data is private, and it does not give reasons. If a person shows up at a café,
# no data set says whether that was a habit or a whim. So this book comes with a simulated town. Its
# people have homes, jobs and habits. Each visit records something that no real data has: whether it
# was an **exploration** (a place the person had never been to), and how likely exploring was at that
# moment. Later we use this to check what the model believes.

# %%
from wherenext import city

town = city.load()
n_places = town.visits.location_id.nunique()
print(
    f"{town.name}: {len(town.people)} people, "
    f"{n_places:,} visited places, {len(town.visits):,} visits"
)

# %% tags=["hide-input"]
from wherenext.ground import ground, located

from pgt.maps import attention_map, places_map, week_map

n_visits = town.visits.groupby("location_id").location_id.transform("size")
places_map(
    located(town.visits[n_visits >= 15], town),
    by="kind",
    ground=ground(town.base),
    alt=f"Map of {town.name}: its most visited places, coloured by kind",
    caption="Places with at least fifteen visits. The larger the dot, the "
    "more visits. Click a dot for its name. Town and names are invented.",
)

# %% [markdown]
# Everything in this book starts from one table. A row is a **visit**: one stay of one person at one
# place.

# %%
columns = ["user_id", "location_id", "started_at", "finished_at"]
columns += ["kind", "explored", "p_explore"]
rows = town.visits[columns].head(6)
for name in ("started_at", "finished_at"):  # in short, so that they fit here
    rows[name] = rows[name].dt.strftime("%d %b %Y, %H:%M")
rows

# %% [markdown]
# `started_at` and `finished_at` are in local time, because a day is shaped by "half past eight in the
# morning", not by the time in Greenwich. `explored` and `p_explore` are the town's truth. A
# model never sees them.
#
# The first rows count even a home as explored. The record has to begin somewhere, so everybody's home
# is new once. Anyone who knows at most one place has nowhere to return to and explores for certain: `p_explore` is 1. Before most visits the simulator tosses a weighted coin: with probability `p_explore` the person
# explores. A zero means that there was no toss: the person starts the day at home. In the last row the person
# might have explored, but went to work. In such data it is normal that a
# stay lasts a whole day, or that a month has no record.
#
# ## One person, two weeks
#
# Here is a person with a fair amount of data. The cell picks the two weeks with the most visits and
# first visits. In the figure, time of day runs from top to bottom, and days run from left to right.

# %%
import pandas as pd

counts = town.visits.user_id.value_counts()
person = counts.index[len(counts) // 4]  # more visits than 3/4 of the people
visits = town.visits[town.visits.user_id == person].reset_index(drop=True)
day = visits.started_at.dt.tz_localize(None).dt.normalize()
first = ~visits.duplicated("location_id")  # (visits,) never here before
# The liveliest fortnight; a first visit counts twice.
busiest = (1 + first).groupby(day).sum().rolling(14).sum().idxmax()
since = busiest - pd.Timedelta(days=13)
fortnight = visits[(day >= since) & (day <= busiest)]
n_places = visits.location_id.nunique()
print(f"Person {person}: {len(visits)} visits to {n_places} places")

# %% tags=["hide-input"]
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
from wherenext.figures import COPIED, GENERATED, MUTED, TRUTH, show

fig, ax = plt.subplots(figsize=(7.2, 3.8))
looks = {
    False: (COPIED, "o", "been here before"),
    True: (GENERATED, "^", "first time here"),
}
for new, (colour, marker, label) in looks.items():
    part = fortnight[first.loc[fortnight.index] == new]
    x = part.started_at.dt.tz_localize(None).dt.normalize()
    y = part.started_at.dt.hour + part.started_at.dt.minute / 60
    stay = (part.finished_at - part.started_at).dt.total_seconds() / 3600
    ax.vlines(x, y, (y + stay).clip(upper=24), color=colour, lw=3, alpha=0.35)
    ax.scatter(x, y, color=colour, marker=marker, s=42, label=label, zorder=3)
ax.set(ylim=(24, 0), yticks=range(0, 25, 6))
ax.set(ylabel="hour of the day", xlabel="day")
ax.set_xticks(pd.date_range(since, busiest, freq="3D"))
ax.xaxis.set_major_formatter(mdates.DateFormatter("%d %b"))
ax.legend(loc="upper left", bbox_to_anchor=(0, 1.15), ncols=2)
n_first = int(first.loc[fortnight.index].sum())
show(
    fig,
    alt=f"Two weeks of one person: {len(fortnight)} visits drawn as "
    f"vertical bars from arrival to departure. {n_first} of them are to "
    "places visited for the first time, marked with triangles; all others "
    "are returns.",
    caption="Two weeks of one person. Each bar is a visit, from arrival to "
    "departure. Blue dots: been here before. Orange triangles: first time. "
    "Gaps are hours without a record, normal in such data.",
)

# %% tags=["hide-input"]
week = fortnight[day.loc[fortnight.index] > busiest - pd.Timedelta(days=7)]
week_map(
    located(week, town),
    ground=ground(town.base),
    alt=f"Map of a week: {len(week)} visits to "
    f"{week.location_id.nunique()} places, one after the other",
    caption="The second of the two weeks on the map. Play it, or move the "
    "slider from visit to visit.",
)

# %% [markdown]
# Most marks are returns, even in two weeks chosen for their first visits.
#
# ## People return
#
# How often does a visit go to a place where the person has never been? And does that depend on how many
# places they know already?

# %%
table = town.visits.copy()
people = table.groupby("user_id")
table["new"] = ~table.duplicated(["user_id", "location_id"])
table["known_places"] = people.new.cumsum() - table.new  # before this visit
share_new = 100 * table.new.mean()
print(f"{100 - share_new:.1f} % of all visits go to a known place")

# %% [markdown]
# [Song, Koren, Wang and Barabási (2010)](https://doi.org/10.1038/nphys1760) described this with two
# numbers. A person who knows $S$ places goes to a new one with probability
#
# $$
# P_\text{new} = \rho\, S^{-\gamma}, \qquad \rho \approx 0.6,\quad \gamma \approx 0.21 , \tag{1.1}
# $$
#
# and otherwise returns to a place they have visited often. The more places you know, the less you
# explore. But the exponent is small, so exploring never stops. The people of our town follow a law of
# this form, with differences from person to person and from day to day. Does the town's curve show it?

# %%
import numpy as np

edges = np.geomspace(2, table.known_places.max() + 1, 13).astype(int)
bins = pd.cut(table.known_places, np.unique(edges), right=False)
some_known = table[table.known_places > 1]
grouped = some_known.groupby(bins, observed=True)
rate, middle = grouped.new.mean(), grouped.known_places.mean()

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6.6, 3.5))
percent = 100 * rate
ax.plot(middle, percent, "o-", color=TRUTH, label=f"people of {town.name}")
places = np.geomspace(2, middle.max(), 200)
song = 100 * 0.6 * places**-0.21
ax.plot(places, song, color=MUTED, ls="--", label="0.6 · S^(-0.21)")
ax.set(xscale="log", xlabel="places already known, S (logarithmic)")
ax.set(ylabel="visits to a new place (%)", ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0f}")
ax.legend()
show(
    fig,
    alt="The share of visits that go to a new place is "
    f"{percent.iloc[0]:.0f} per cent for people who know two places, "
    f"{percent.iloc[len(rate) // 2]:.0f} per cent in the middle, and "
    f"{percent.iloc[-1]:.0f} per cent for those who know the most. "
    "A dashed curve, Song's law, falls all the way.",
    caption="Exploration against experience, all people together. "
    "Dashed: the law of Song et al. with their two numbers.",
)

# %% [markdown]
# The curve lies below the law on the left because the law counts free choices only. Many visits, such as going to
# work, are routine. The likelier a visit is to be routine, the smaller is its `p_explore`. But look to the right: between thirty and
# a hundred known places the law falls and the curve climbs. That is the opposite of the law, in a town that was built
# to follow it. Before you read on: who *are* the people on the right?
#
# They are mostly the curious ones. Few others get to know a hundred places. The
# curve compares different people, but it looks like the story of one person. So follow the same people
# instead: take those with at least two hundred visits, and watch them as their visits add up.

# %%
table["visit_number"] = table.groupby("user_id").cumcount()
n_visits = table.groupby("user_id").user_id.transform("size")
steady = table[n_visits >= 200]
labels = ["20 to 49", "50 to 99", "100 to 199"]
ages = pd.cut(
    steady.visit_number, [20, 50, 100, 200], right=False, labels=labels
)
same_people = 100 * steady.groupby(ages, observed=True).new.mean()
print(f"{steady.user_id.nunique()} people with at least 200 visits")
same_people.rename("to a new place, %").rename_axis("visits").round(
    1
).to_frame()

# %% tags=["hide-input"]
from IPython.display import Markdown

Markdown(
    f"The same people explore less, from {same_people.iloc[0]:.1f} % to "
    f"{same_people.iloc[-1]:.1f} %, as the law says. An average over people "
    "can turn a trend upside down. This is called Simpson's paradox. "
    "[Chapter 11](11_gate.ipynb) guards against it."
)

# %% [markdown]
# So there are two kinds of next place: one that the person has visited before, and a new one. A model that *copies* the
# first and *generates* the second is the subject of this book. (It copies from the last week only, so a return to an
# older place has to be generated, too.)
#
# ## How real is this town?
#
# A simulation says nothing about people unless it looks like them. The table below compares windows
# of visits in our town with the same statistics of GeoLife, a data set of people tracked by GPS in
# and around Beijing ([Zheng et al., 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)).
# The visit that a model must predict is called the *target*. A *window* is what the model may look at: the
# visits of the seven days before the target's day, and those of that day up to the target.
# [Chapter 3](03_windows.ipynb) builds windows. Read the first row across the columns. (`realism` and `REFERENCE` have more
# rows.)

# %%
from wherenext.realism import REFERENCE, realism

heads = {
    "town": town.name,
    "real_locations": "GeoLife, real places",
    "unknown_merged": "GeoLife, as published",
}
rows = ["target_in_window", "target_is_last", "target_is_top1", "length"]
both = REFERENCE.assign(town=realism(town.visits)).loc[rows]
both = both.set_index("meaning")[list(heads)].rename(columns=heads)
both.astype(float).round(1)

# %% [markdown]
# The first two columns are close because we tuned the town to the second one. Now compare
# the second with the third. They describe *the same people*. The difference comes from a habit of the
# literature: places that do not occur in the training data are all renamed to one place called
# "unknown". A person who goes to a new café and then to a new shop has then visited "unknown" twice,
# and the second visit counts as a return. The design documents by which our model was first built
# ([the original specification](https://where-next-book.github.io/where-next/book/errata.html)) describe data that were merged in this way.

# %% [markdown]
# > **Pitfall.** Before you believe a statistic about places, ask what a place *is* in that data set.
# > We found this one when we recomputed a published number and got a different one.
#
# ## A game to play before any model
#
# Let us predict. The last fifth of each person's days is set aside for judging: the *test* days. Take every
# window whose target lies in them, and guess with one of two rules that a child could follow: name the place
# where the person is now, or name the place they visited most often in the window. (`protocol="exact"` keeps
# the real places apart, as in the second column above. Its windows are chosen slightly differently, as
# [chapter 3](03_windows.ipynb)
# explains, so the numbers differ a little.)

# %%
from pgt.windows import prepare

data = prepare(town.visits, protocol="exact")
windows = data.test
right = {"last place": 0, "most frequent place": 0}
for i in range(len(windows)):
    seen = windows.visits_of(i).location_id.to_numpy()  # (L,) oldest first
    target = windows.target_of(i).location_id
    right["last place"] += seen[-1] == target
    values, n = np.unique(seen, return_counts=True)
    right["most frequent place"] += values[n.argmax()] == target
scores = {rule: 100 * hits / len(windows) for rule, hits in right.items()}
ceiling = 100 * windows.in_window.mean()
scores["no rule that copies can do better"] = ceiling
pd.Series(scores).round(1).rename("right guesses, %").to_frame()

# %% [markdown]
# The last row is the **copy ceiling**. A rule that only copies from the window can be right at most as
# often as the true place is in the window at all. Whatever a model gains beyond that must come from
# somewhere else.
#
# The gap between the second row and the last is the share of windows that hold the right answer although the
# second rule misses it. There the art is to point at the right place.
#
# ## A first look at the model
#
# Here is the model at work on one window, before we know how it is made. It has read one person's week. (The
# `vocabulary` is the list of places that the model knows; the loop looks for a long window that the model gets
# right.) The blue circles are its **pointer attention**: how much it would like to copy each past place. The
# dashed rings are its final bets, and the green ring is where the person went.

# %%
from pgt.checkpoint import load_model, shipped
from pgt.look import look

model, vocabulary = load_model(shipped("city"))
data = prepare(town.visits, protocol="exact", vocabulary=vocabulary)
long_enough = (data.test.lengths > 14) & data.test.in_window
for i in np.flatnonzero(long_enough):
    seen = look(model, data.test, i)  # everything it computes for window i
    if seen.candidates.is_target[0]:  # its best guess is right
        break

# %% tags=["hide-input"]
attention_map(
    located(seen.visits, town),
    guesses=located(seen.candidates.head(5), town),
    truth=located(seen.target, town),
    ground=ground(town.base),
    alt="Map of one prediction: past places, pointer attention, and the "
    "likeliest next places",
    caption="One prediction. Area of the blue circles: pointer attention. "
    "Lines lead to the last visit, the wider, the more attention.",
)

# %% tags=["hide-input"]
from pgt import plots

names = dict(zip(town.places.location_id, town.places.name, strict=True))
top = seen.candidates.iloc[0]
ax = plots.mixture(seen.candidates, gate=seen.gate, names=names)
show(
    ax.figure,
    alt="Stacked bars of the ten likeliest next places. The first, "
    f"{names[top.location_id]}, has probability {top.probability:.2f}, "
    f"of which {top.copied:.2f} is copied from the window.",
    caption="The same prediction as bars. Blue is probability copied from "
    "the window, hatched orange is generated from the whole town; the gate "
    "says how much of each goes in. ✓ marks the truth.",
)

# %% [markdown]
# One number, the **gate** $g$, mixes the two:
#
# $$
# P(\ell) = g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell). \tag{1.2}
# $$
#
# Here $\ell$ is any place of the town, and $P(\ell)$ is the probability that the model gives it.
# $P_\text{ptr}$ is the pointer's, $P_\text{gen}$ that of a **generator**, which can name any place. If the gate is
# near one, the model copies. If it is near zero, it generates. The rest of the book builds each part of
# the network and finds out whether it does what its name promises.

# %% tags=["hide-input"]
from wherenext.architecture import architecture

architecture(
    caption="The whole network, from a window of visits to an answer. Blue: "
    "what copies. Orange: what generates. Purple weighs the two, green is "
    "the prediction. Each box leads to the chapter that builds it.",
)

# %% [markdown]
# > **Note.** This was a window that the model gets right, chosen because it gets it right.
# > [Chapter 13](13_attention_on_maps.ipynb) shows a confident mistake as well.
#
# ## What to remember
#
# - People mostly return to places they know, but they never stop exploring.
# - An average over people can show the opposite of what the same people do over time.
# - Simple rules are right surprisingly often, and a rule that only copies has a ceiling.
# - How unknown places are counted changes that ceiling, and with it every score.
# - The model of this book copies from the window, generates from the whole town, and mixes the two.
#
# ## Exercises
#
# Most exercises have a cell to try them in, and all have a folded solution. Replace the three dots with your answer
# and run the cell. `check` says whether it is right and, if not, often why. Until then it says "Not yet".
# On the book's own pages, a form below the exercise checks the same answers without Python.
#
# **Exercise 1** (quick). At which kind of place is a visit most often an exploration, and at which kind
# least often? Use `explored` and `kind`.

# %% tags=["try"]
from wherenext.exercises import check

most, least = ..., ...  # two kinds, such as "park"
check.exercise("1.1", (most, least))

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_kind = town.visits.groupby("kind").explored.agg(["mean", "size"])
kinds = by_kind["mean"]
check.exercise("1.1", (kinds.idxmax(), kinds.idxmin()))
heads = {"mean": "share explored", "size": "visits"}
by_kind.sort_values("mean", ascending=False).round(2).rename(columns=heads)

# %% [markdown]
# **Exercise 2** (medium). The game's second rule breaks ties by the smallest place number, which is
# no rule at all. Break them by the most recent visit instead. How much does it change?

# %% tags=["try"]
percent = ...  # of the test windows in which your rule is right
check.exercise("1.2", percent)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
hits = 0
for i in range(len(windows)):
    seen_places = windows.visits_of(i).location_id.to_numpy()
    newest_first = pd.Series(seen_places[::-1])
    n = newest_first.value_counts(sort=False)  # in order of appearance
    hits += n.idxmax() == windows.target_of(i).location_id
percent = 100 * hits / len(windows)
check.exercise("1.2", percent)
before = scores["most frequent place"]
print(f"ties to the most recent: {percent:.1f} %, before: {before:.1f} %")
# Worse than no rule at all: the most recent of the tied places is often where
# the person is now, and the next place seldom is (the game's first rule).

# %% [markdown]
# **Exercise 3** (medium). `p_explore` is the town's own probability of exploring, before the coin is
# tossed. Is it honest? Sort the visits into bins with `pd.qcut(town.visits.p_explore, 10, duplicates="drop")`: ten bins
# of equal size (pandas merges two of them, since nearly all their values are zero). In each bin, compare the mean of `p_explore` with the share of explorations. How
# many percentage points apart are they at most?

# %% tags=["try"]
gap = ...  # the largest difference, in percentage points
check.exercise("1.3", gap)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
bins = pd.qcut(town.visits.p_explore, 10, duplicates="drop")
by_bin = town.visits.groupby(bins, observed=True)
honest = by_bin[["p_explore", "explored"]].mean()
gap = 100 * (honest.p_explore - honest.explored).abs().max()
check.exercise("1.3", gap)
honest.rename_axis("bin").round(3)
# A probability that comes true as often as it says is called *calibrated*.
# This one is, up to chance.

# %% [markdown]
# **Exercise 4** (longer). How long must the short list be? In how many test windows is the true next
# place among the one, two, … five most frequent places of the window? Break ties as in exercise 2. Where
# does the list stop helping, and why can it not reach 100 %?

# %% tags=["try"]
# percent of the windows, for lists of one to five places
short_list = [..., ..., ..., ..., ...]
check.exercise("1.4", short_list)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
found = np.zeros(5)
for i in range(len(windows)):
    seen_places = windows.visits_of(i).location_id.to_numpy()
    n = pd.Series(seen_places[::-1]).value_counts(sort=False)  # newest first
    ranked = n.sort_values(ascending=False, kind="stable").index
    target = windows.target_of(i).location_id
    found += [target in ranked[:k] for k in range(1, 6)]
short_list = 100 * found / len(windows)
check.exercise("1.4", short_list)
on_list = pd.Series(short_list, range(1, 6), name="%")
print(f"not in the window at all: {100 - ceiling:.0f} %")
# The second place helps most: home and work take turns. From then on the
# list creeps towards the ceiling: what is not in the window is on no list.
on_list.rename_axis("places on the list").round(1).to_frame()

# %% [markdown]
# **Exercise 5** (project). Estimate $\rho$ and $\gamma$ of equation (1.1) from the visits alone. First fit a straight line to
# $\log P_\text{new}$ against $\log S$, all people together. Why do you not get 0.6 and 0.21 back, although
# the simulator used them (`town.truth`)? Then give each person $u$ a $\rho_u$ of their own and find the one
# $\gamma$ of greatest likelihood. (Use the visits of people who know at least two places. Given how often $u$
# explored in all, each exploration falls on visit $t$ with probability
# $S_t^{-\gamma} / \sum_{t'} S_{t'}^{-\gamma}$, and $\rho_u$ has cancelled.)

# %% tags=["try"]
gamma = ...  # to two digits, with a rho for each person
check.exercise("1.5", gamma)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
from scipy.optimize import minimize_scalar

x, y = np.log(middle), np.log(rate)
slope, intercept = np.polyfit(x, y, 1, w=grouped.size() ** 0.5)
rho = np.exp(intercept)
print(f"all people on one line: rho = {rho:.2f}, gamma = {-slope:.2f}")
free = table[table.known_places > 1]
log_s = np.log(free.known_places.to_numpy(dtype=float))
who, new = pd.factorize(free.user_id)[0], free.new.to_numpy()
explored = np.bincount(who, new)  # explorations of each person


def minus_log_likelihood(gamma):
    total = np.bincount(who, np.exp(-gamma * log_s))  # of each person
    return gamma * log_s[new].sum() + (explored * np.log(total)).sum()


fit = minimize_scalar(minus_log_likelihood, bounds=(-1, 2), method="bounded")
gamma, truth = fit.x, town.truth["gamma"]
check.exercise("1.5", gamma)
print(f"a rho for each person: gamma = {gamma:.2f}; simulator: {truth}")
# Two reasons for the first line. The right end of the curve belongs to the
# curious, the left end to everybody: a mixture of people has a flatter curve
# than each of them. A rho for each person cures that. And some visits are not
# free choices (people start their day at home and go to work), which pulls
# rho down; nothing in the visits alone tells which.

# %% [markdown]
# **Next:** [From GPS to visits](02_gps_to_visits.ipynb), where records become visits. If you have visits
# already, go to [Windows](03_windows.ipynb), where visits become tensors.
