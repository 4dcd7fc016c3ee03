# %% [markdown]
# # Where next?
#
# *You will be able to* say what next-location prediction is, how often people go where they have
# been before, and why that makes a model that copies attractive. *You need* Python and pandas; a
# model appears, but nothing about it is assumed. *It takes* fifteen minutes to read and about ten
# seconds to run, with or without a GPU.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %% [markdown]
# It is Tuesday, a quarter past five. Somebody leaves the office. Where do they go?
#
# You cannot know, yet you would not bet on a random address either. You would ask where they live,
# where they buy food, what they did last Tuesday. In a few questions you would have a short list,
# and the true answer would often be on it. **Next-location prediction** asks a machine to do the
# same: given the places a person has visited lately, name the next one.
#
# This book builds one model for that, the **Pointer-Generator Transformer**, from its smallest parts
# up. Before the first part, let us meet the people, and find out what there is to predict.
#
# ## A town whose people tell the truth
#
# Real movement data is private, and it keeps its reasons to itself. If a person shows up at a café,
# no dataset says whether that was a habit or a whim. So this book comes with a simulated town. Its
# people have homes, jobs and habits, and each visit records something no real data has: whether it
# was an **exploration** (a place they had never been to) and how likely exploring was at that moment.
# Later we will use this to check what the model believes. First, a look around.

# %%
from pgt import city
from pgt.viz import maps, prediction_map

town = city.load()
print(f"{town.name}: {len(town.people)} people, {town.visits.location_id.nunique():,} visited places, "
      f"{len(town.visits):,} visits")
maps.city_map(
    town,
    title=f"Map of {town.name}: every visited place, coloured by kind",
    caption="Every place that somebody visited. The larger the dot, the more visits. "
    "Click a dot for its name; the town and all names are invented.",
)

# %% [markdown]
# Everything in this book starts from one table. A row is a **visit**: one stay of one person at one
# place.

# %%
columns = ["user_id", "location_id", "started_at", "finished_at", "kind", "explored", "p_explore"]
town.visits[columns].head(6)

# %% [markdown]
# `started_at` and `finished_at` carry the local time zone, because "half past eight in the morning"
# is what matters, not the instant in Greenwich. `explored` and `p_explore` are the town's truth. A
# model never sees them.
#
# Do not be surprised that the first rows count even a home as explored. A record has to begin
# somewhere, and in it everybody's home is new once. Later a `p_explore` of exactly zero means that no
# coin was tossed at all, as when a day begins at home.
#
# ## One person, two weeks
#
# Here is a person with a fair amount of data. Time of day runs from top to bottom, days from left to
# right. The cell picks the liveliest fortnight, so that there is something to see of both kinds.

# %%
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import pandas as pd

from pgt.viz.figures import COPIED, GENERATED, MUTED, TRUTH, show

counts = town.visits.user_id.value_counts()
person = counts.index[len(counts) // 4]  # more visits than three quarters of the people
visits = town.visits[town.visits.user_id == person].reset_index(drop=True)
day = visits.started_at.dt.tz_localize(None).dt.normalize()
first = ~visits.duplicated("location_id")  # (visits,) never here before
lively = (1 + first).groupby(day).sum().rolling(14).sum()  # a first visit counts twice
busiest = lively.idxmax()  # the last day of the liveliest fortnight
fortnight = visits[(day > busiest - pd.Timedelta(days=14)) & (day <= busiest)]
print(f"Person {person}: {len(visits)} visits to {visits.location_id.nunique()} places")

# %%
def hour(times):
    return times.dt.hour + times.dt.minute / 60


fig, ax = plt.subplots(figsize=(7.2, 3.8))
for new, colour, marker, label in [(False, COPIED, "o", "been here before"),
                                   (True, GENERATED, "^", "first time here")]:
    part = fortnight[first.loc[fortnight.index] == new]
    x = part.started_at.dt.tz_localize(None).dt.normalize()
    ax.vlines(x, hour(part.started_at), (hour(part.started_at)
              + (part.finished_at - part.started_at).dt.total_seconds() / 3600).clip(upper=24),
              color=colour, lw=3, alpha=0.35)
    ax.scatter(x, hour(part.started_at), color=colour, marker=marker, s=42, label=label, zorder=3)
ax.set(ylim=(24, 0), yticks=range(0, 25, 6), ylabel="hour of the day", xlabel="day")
ax.set_xticks(pd.date_range(busiest - pd.Timedelta(days=13), busiest, freq="3D"))
ax.xaxis.set_major_formatter(mdates.DateFormatter("%d %b"))
ax.legend(loc="upper left", bbox_to_anchor=(0, 1.15), ncols=2)
show(
    fig,
    alt=f"Two weeks of one person: {len(fortnight)} visits drawn as vertical bars from arrival to "
    f"departure. {int(first.loc[fortnight.index].sum())} of them are to places visited for the "
    "first time, marked with triangles; all others are returns.",
    caption="Two weeks of one person. Each bar is a visit, from arrival to departure. Blue dots: been "
    "here before. Orange triangles: first time. Gaps are hours without a record, normal in such data.",
)

# %% [markdown]
# Most marks are returns, even in a fortnight chosen for its first visits. How many are they in all?
#
# ## People return
#
# Count, over all people, how often a visit goes to a place where the person has never been, and how
# that depends on how many places they know already.

# %%
table = town.visits.copy()
table["new"] = ~table.duplicated(["user_id", "location_id"])
table["known_places"] = table.groupby("user_id").new.cumsum() - table.new  # before this visit

share_new = table.new.mean()
print(f"{100 * (1 - share_new):.1f} % of all visits go to a place where the person has been before")

# %% [markdown]
# [Song, Koren, Wang and Barabási (2010)](https://doi.org/10.1038/nphys1760) described this with two
# numbers. A person who knows $S$ places goes to a new one with probability
#
# $$
# P_\text{new} = \rho\, S^{-\gamma}, \qquad \rho \approx 0.6,\quad \gamma \approx 0.21 , \tag{1.1}
# $$
#
# and otherwise returns, to a place they have visited often. The more places you know, the less you
# explore; but the exponent is small, so exploring never stops. Our town lives by a law of this form,
# with differences from person to person and from day to day. Does its curve show it?

# %%
import numpy as np

edges = np.unique(np.geomspace(2, table.known_places.max() + 1, 13).astype(int))
bins = pd.cut(table.known_places, edges, right=False)
grouped = table[table.known_places > 1].groupby(bins, observed=True)
rate, middle = grouped.new.mean(), grouped.known_places.mean()

fig, ax = plt.subplots(figsize=(6.6, 3.5))
ax.plot(middle, 100 * rate, "o-", color=TRUTH, label=f"people of {town.name}")
places = np.geomspace(2, middle.max(), 200)
ax.plot(places, 100 * 0.6 * places**-0.21, color=MUTED, ls="--", label="0.6 · S^(-0.21)")
ax.set(xscale="log", xlabel="places already known, S (logarithmic)", ylabel="visits to a new place (%)",
       ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0f}")
ax.legend()
show(
    fig,
    alt=f"The share of visits that go to a new place is {100 * rate.iloc[0]:.0f} per cent for people "
    f"who know two places, {100 * rate.iloc[len(rate) // 2]:.0f} per cent in the middle, and "
    f"{100 * rate.iloc[-1]:.0f} per cent for those who know the most. A dashed curve, Song's law, "
    "falls all the way.",
    caption="Exploration against experience, all people together. Dashed: the law of Song et al. with "
    "their two numbers.",
)

# %% [markdown]
# The curve starts below the law for a dull reason: the law is about choices, and being at work at ten
# on a Monday is none. But look at the right half. Where the law falls, the curve climbs. The more
# places people know, the more they explore? That is the opposite of the law, in a town that was built
# by it. Before you read on: who *are* the people at the right end?
#
# They are the curious ones. Only somebody who explores a lot ever gets to know a hundred places. The
# curve compares different people and looks like a story about one. So follow the same people instead:
# take those with at least two hundred visits, and watch them grow older.

# %%
table["visit_number"] = table.groupby("user_id").cumcount()
steady = table[table.groupby("user_id").user_id.transform("size") >= 200]
ages = pd.cut(steady.visit_number, [20, 50, 100, 200], right=False)
same_people = steady.groupby(ages, observed=True).new.mean()
print(f"{steady.user_id.nunique()} people, visits to a new place:")
(100 * same_people).round(1).rename("%").to_frame()

# %% [markdown]
# The same people explore less and less, as the law says. Averages over people can turn a trend
# upside down. This is called Simpson's paradox, and it will come back when we look at what the model
# has learned.
#
# So there are two ways to come by the next place. Either it is *copied* from one's own past, or it
# is *new*. A model with exactly these two ways is the subject of this book.
#
# ## How real is this town?
#
# A simulation proves nothing about people unless it looks like them. The table below compares windows
# of visits in our town with the same statistics of GeoLife, a dataset of people tracked by GPS in
# and around Beijing ([Zheng et al., 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)).
# A *window* is what a model may look at: the visits of the seven days before the target visit's day,
# and of that day up to the target. [Chapter 3](03_windows.ipynb) builds them. You need not understand
# every row yet. Read the first, and then compare the columns.

# %%
from pgt.city.realism import REFERENCE, realism

comparison = REFERENCE.assign(town=realism(town.visits)).set_index("meaning")
comparison = comparison.rename(columns={"town": town.name, "real_locations": "GeoLife, real places",
                                        "unknown_merged": "GeoLife, as published"})
columns = [town.name, "GeoLife, real places", "GeoLife, as published"]
comparison[columns].astype(float).map("{:.2f}".format).replace("nan", "–")

# %% [markdown]
# The first two columns are close, by construction: the town was tuned to the second one. Now compare
# the second with the third. They describe *the same people*. The difference is one habit of the
# literature: places that do not occur in the training data are all renamed to one place called
# "unknown". A person who goes to a new café, then to a new shop, has then visited "unknown" twice,
# which counts as a return.

# %% tags=["hide-input"]
from IPython.display import Markdown

real, merged = REFERENCE.loc["target_in_window", ["real_locations", "unknown_merged"]]
Markdown(
    f"With that habit, **{merged:.1f} %** of the next places are found in the window. With the real "
    f"places it is **{real:.1f} %**. The 84 % returns of the design documents are an artefact of a label."
)

# %% [markdown]
# > **Pitfall.** Before you believe a statistic about places, ask what a place *is* in that dataset.
# > We met this one by recomputing a published number and getting a different one.
#
# ## A game to play before any model
#
# Let us predict. The last fifth of each person's days is set aside for judging: the *test* days. Take
# every window in them and guess with rules that a child could follow: the place where the person is
# now, or the place they visited most often in the window. (`protocol="exact"` keeps the real places
# apart, as in the second column above.)

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
# The last row is a ceiling, the **copy ceiling**. A rule that only copies from the window can be right at most as often
# as the true place is in the window at all. Whatever a model gains beyond that must come from
# somewhere else.
#
# The gap between the second row and the last is the playing field. The right answer is on the list of
# places in the window; the art is to point at it.
#
# ## A first look at the model
#
# Here is the model at work on one window, before we know how it is made. It has read one person's
# week. The blue circles are its **pointer attention**: how much it would like to copy each past
# place. The rings are its final bets, and the green diamond is where the person went.

# %%
from pgt.checkpoint import load_model, shipped
from pgt.look import look

model, vocabulary = load_model(shipped("city"))
data = prepare(town.visits, protocol="exact", vocabulary=vocabulary)
long_enough = np.flatnonzero((data.test.lengths > 14) & data.test.in_window)
first_try = next(i for i in long_enough if look(model, data.test, i).candidates.is_target[0])
seen = look(model, data.test, first_try)
prediction_map.window_map(
    town, seen,
    title="Map of one prediction: past visits, pointer attention, and the likeliest next places",
    caption="One prediction. The path fades with age. Area of the blue circles: pointer attention.",
)

# %%
from pgt.viz import plots

names = dict(zip(town.places.location_id, town.places.name, strict=True))
top = seen.candidates.iloc[0]
plots.mixture(
    seen, names,
    alt=f"Stacked bars of the ten likeliest next places. The first, {names[top.location_id]}, has "
    f"probability {top.probability:.2f}, of which {top.copied:.2f} is copied from the window.",
    caption="The same prediction as bars. Blue is probability copied from the window, hatched orange "
    "is generated from the whole town; the gate says how much of each goes in. ✓ marks the truth.",
)

# %% [markdown]
# One number, the **gate** $g$, mixes the two:
#
# $$
# P(\ell) = g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell). \tag{1.2}
# $$
#
# Here $\ell$ is any place of the town, and $P(\ell)$ the probability that the model gives it.
# $P_\text{ptr}$ points at places in the window. $P_\text{gen}$ spreads over all places of the town.
# If the gate is near one, the model copies. If it is near zero, it generates. That is the whole idea;
# the rest of the book is about making each part, and about finding out whether it does what its name
# promises.
#
# > **Note.** This was a window that the model gets right, chosen because it gets it right.
# > [Chapter 13](13_attention_on_maps.ipynb) shows a confident mistake as well.
#
# ## Summary
#
# - Next-location prediction: from a window of visits, name the next place.
# - People mostly return. They also never stop exploring.
# - An average over people can show the opposite of what every person does.
# - Simple rules are right surprisingly often, and a rule that copies has a ceiling.
# - How unknown places are counted changes the ceiling, and with it every score.
# - The model of this book copies from the window, generates from the whole town, and mixes the two.
#
# ## Exercises
#
# Each exercise has a cell to try it in and a folded solution. Replace the three dots by your answer and
# run the cell. `check` says whether it is right and, if not, often why. Until then it says "Not yet".
#
# **Exercise 1** (quick). At which kind of place is a visit most often an exploration, and at which kind
# least often? Use `explored` and `kind`.

# %% tags=["try"]
from pgt.exercises import check

most, least = ..., ...  # two kinds, such as "park"
check.exercise("1.1", (most, least))

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_kind = town.visits.groupby("kind").explored.agg(["mean", "size"])
check.exercise("1.1", (by_kind["mean"].idxmax(), by_kind["mean"].idxmin()))
by_kind.sort_values("mean", ascending=False).round(2)

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
    seen_places = pd.Series(windows.visits_of(i).location_id.to_numpy()[::-1])  # newest first
    n = seen_places.value_counts(sort=False)  # in order of first appearance: newest first
    hits += n.idxmax() == windows.target_of(i).location_id
check.exercise("1.2", 100 * hits / len(windows))
print(f"ties to the most recent: {100 * hits / len(windows):.1f} %, "
      f"before: {scores['most frequent place']:.1f} %")

# %% [markdown]
# **Exercise 3** (medium). `p_explore` is the town's own probability of exploring, before the coin is
# tossed. Is it honest? Sort the visits into ten equally full bins (`pd.qcut(town.visits.p_explore, 10,
# duplicates="drop")`) and compare, in each bin, its mean with the share of explorations. How many
# percentage points apart are they at most?

# %% tags=["try"]
gap = ...  # the largest difference, in percentage points
check.exercise("1.3", gap)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
bins = pd.qcut(town.visits.p_explore, 10, duplicates="drop")
honest = town.visits.groupby(bins, observed=True)[["p_explore", "explored"]].mean()
check.exercise("1.3", 100 * (honest.p_explore - honest.explored).abs().max())
honest.round(3)
# A probability that comes true as often as it says is called *calibrated*. This one is, up to chance.

# %% [markdown]
# **Exercise 4** (longer). How long must the short list be? In how many test windows is the true next
# place among the one, two, … five most frequent places of the window? Break ties as in exercise 2. Where
# does the list stop helping, and why can it not reach 100 %?

# %% tags=["try"]
short_list = [..., ..., ..., ..., ...]  # percent of the windows, for lists of one to five places
check.exercise("1.4", short_list)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
found = np.zeros(5)
for i in range(len(windows)):
    newest_first = pd.Series(windows.visits_of(i).location_id.to_numpy()[::-1])
    n = newest_first.value_counts(sort=False).sort_values(ascending=False, kind="stable")
    found += [windows.target_of(i).location_id in n.index[:k] for k in range(1, 6)]
short_list = 100 * found / len(windows)
check.exercise("1.4", short_list)
pd.Series(short_list, range(1, 6), name="%").rename_axis("places on the list").round(1).to_frame()
# The second place helps most: home and work take turns. From then on the list creeps towards the ceiling.

# %% [markdown]
# **Exercise 5** (project). Estimate $\rho$ and $\gamma$ of equation (1.1) from the visits alone. First fit a straight line to
# $\log P_\text{new}$ against $\log S$, all people together. Why do you not get 0.6 and 0.21 back, although
# the simulator used them (`town.truth`)? Then give each person $u$ a $\rho_u$ of their own and find the one
# $\gamma$ of greatest likelihood. (Use the visits of people who know at least two places. Given how often
# $u$ explored in all, the exploration falls on visit $t$ with probability
# $S_t^{-\gamma} / \sum_{t'} S_{t'}^{-\gamma}$, and $\rho_u$ has cancelled.)

# %% tags=["try"]
gamma = ...  # to two digits, with a rho for each person
check.exercise("1.5", gamma)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
from scipy.optimize import minimize_scalar

slope, intercept = np.polyfit(np.log(middle), np.log(rate), 1, w=grouped.size() ** 0.5)
print(f"all people on one line: rho = {np.exp(intercept):.2f}, gamma = {-slope:.2f}")
free = table[table.known_places > 1]
log_s = np.log(free.known_places.to_numpy(dtype=float))
who, new = pd.factorize(free.user_id)[0], free.new.to_numpy()


def minus_log_likelihood(gamma):
    total = np.bincount(who, np.exp(-gamma * log_s))         # of each person
    return gamma * log_s[new].sum() + (np.bincount(who, new) * np.log(total)).sum()


gamma = minimize_scalar(minus_log_likelihood, bounds=(-1, 2), method="bounded").x
check.exercise("1.5", gamma)
print(f"a rho for each person: gamma = {gamma:.2f}; simulator: gamma = {town.truth['gamma']}")
# Two reasons for the first line. The right end of the curve belongs to the curious, the left end to
# everybody: a mixture of people has a flatter curve than each of them. A rho for each person cures that.
# And some visits are not free choices (people start their day at home and go to work), which pulls rho
# down; nothing in the visits alone tells which.

# %% [markdown]
# **Next:** [From GPS to visits](02_gps_to_visits.ipynb), where records become visits; if you have visits already,
# [Windows](03_windows.ipynb), where visits become tensors.
