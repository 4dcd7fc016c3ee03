# %% [markdown]
# # Where next?
#
# Most of the time, people go where they have been before. How far does a machine get by copying?
#
# *You will be able to* say what next-location prediction is, how often people go where they have been before, and why copying is
# so hard to beat. *You need* Python and pandas; a model appears, but nothing about it is assumed. *It takes* a quarter of an hour
# to read and less than a minute to run, with or without a GPU.
#
# > **In one sentence.** In a simulated town, of a hundred next places {{ returns:.0f }} are known to the person and
# > {{ ceiling:.0f }} were visited in the last week; naming the most frequent place is right for {{ counted:.0f }}, and a wiser
# > rule ({{ wiser:.0f }}) and our model ({{ scored:.0f }}) cannot be told apart.

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
from wherenext.architecture import architecture
from wherenext.exercises import check
from wherenext.figures import EXTRA, INK, MUTED, TRUTH, show
from wherenext.ground import ground, located
from wherenext.realism import REFERENCE

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.look import look
from pgt.maps import attention_map
from pgt.metrics import evaluate, percentile_interval, resampled_means
from pgt.visits import local_day, local_minute
from pgt.windows import prepare

# %% [markdown]
# It is Monday, half past six in the evening. Somebody leaves a creperie. Where do they go?
#
# You cannot know, but after a few questions you would have a short list: home, work, last Monday's place.
# **Next-location prediction** asks a machine to do the same: given the places that a person has visited lately, name the
# next one. A phone that knows can fetch a map before it is asked, and a planner can estimate who will be where.
# This book builds one model for that, the **Pointer-Generator Transformer**, from its smallest parts up. First, let us meet the
# people.
#
# ## A town whose people tell the truth
#
# Real movement data is private, and it does not give reasons. If a person shows up at a café, no data set says whether that was
# a habit or a whim. So this book comes with a simulated town, Larkmere. Its {{ n_people }} people have homes, jobs and habits,
# and made {{ n_visits:,.0f }} visits to some of its {{ n_places:,.0f }} places. Each visit records whether it was an
# **exploration**: the person had never been there. A model never sees this. We use it to check what a model believes.

# %%
town = city.load()
n_people, n_visits = len(town.people), len(town.visits)
n_places = len(town.places)

# %% [markdown]
# Everything in this book is made of **windows**. A window is about a week of one person's visits, and its **target**
# is the visit that came next. [Chapter 3](03_windows.ipynb) cuts them; here `prepare` does it.
# The number in the next cell picks the week, one of {{ n_windows:,}}. Change it, and the table and the pictures of this week follow
# (the text stays with 1332):

# %%
window = 1332  # @param {type:"slider", min:0, max:3101, step:1}

# %%
# "exact" is chapter 3's own way to cut a week.
data = prepare(town.visits, protocol="exact")
places = town.places.set_index("location_id")
n_windows = len(data.test)
week = data.test.visits_of(window)
table = pd.DataFrame({"place": places.name[week.location_id].to_numpy()})
table["kind"] = week.kind.to_numpy()
table["from"] = week.started_at.dt.strftime("%a %H:%M").to_numpy()
table["to"] = week.finished_at.dt.strftime("%a %H:%M").to_numpy()
table["explored"] = week.explored.to_numpy()
table.tail(7)  # the end of the week

# %% [markdown]
# A row is a **visit**: one stay at one place, in local time. Two in a row can be at the same place, if the person went
# out in between. Here is the whole week, in which, as with real phones, some hours are missing:

# %% tags=["hide-input"]
# @title Figure 1.1: a week
day = local_day(week.started_at).to_numpy()
start = local_minute(week.started_at).to_numpy() / 60
stay = (week.finished_at - week.started_at).dt.total_seconds() / 3600
fig, ax = plt.subplots(figsize=(7.4, 3.1))
colour = np.where(week.explored, EXTRA, MUTED)
row = day - day[0]
after = start + stay.to_numpy() - 24  # hours past midnight
ax.barh(row, np.minimum(stay, 24 - start), 0.5, start, color=colour)
ax.barh(row + 1, after.clip(0, 24), 0.5, 0, color=colour)
small = {"va": "center", "fontsize": 8, "color": "white"}
for i in np.flatnonzero(stay > 1.9):
    kind = week.kind.iloc[i]
    if min(start[i] + stay.iloc[i], 24) - start[i] > 1.9:
        ax.text(start[i] + 0.1, row[i], kind, **small)
    if after[i] > 1.9:  # the morning after
        ax.text(0.1, row[i] + 1, kind, **small)
now = local_minute(week.finished_at).iloc[-1] / 60
here = local_day(week.finished_at).iloc[-1] - day[0]
ax.text(now + 0.2, here, "?", color=TRUTH, fontsize=16, va="center")
small |= {"color": INK, "ha": "right"}
ax.text(24, here + 0.5, f"after {table.place.iloc[-1]}", **small)
names = pd.date_range(week.started_at.iloc[0].date(), periods=here + 1)
ax.set_yticks(range(here + 1), [f"{name:%a}" for name in names])
ax.set(xlim=(0, 24), xticks=range(0, 25, 3), ylim=(here + 0.8, -0.6))
ax.set(xlabel="hour of the day", ylabel="")
show(
    ax.figure,
    alt="A row a day, with a bar for each visit from arrival to departure. "
    "Most are returns; a few are explorations, in another colour.",
    caption="A week. Each bar is a visit; a night is drawn as two bars. "
    "Grey: been here before, brown: first time. Long bars are labelled. "
    "Short gaps are trips, long ones hours without a record. What is at "
    "the “?”?",
)

# %% [markdown]
# ## People return
#
# How often does a visit go to a place where the person has been before?

# %%
known = 100 * (1 - town.visits.explored.mean())
print(f"{known:.1f} % of all visits go to a known place")

# %% [markdown]
# The more places people know, the less they explore, but they never stop
# ([Song et al., 2010](https://doi.org/10.1038/nphys1760)).  Most next places are known to the person, and some are new. The model of this book
# *copies* from the last week, and *generates* from a list of all places; the second is meant for new places, and for returns to
# older ones.
#
# ## A game to play before any model
#
# Let us predict. The last fifth of each person's days is set aside for judging: the *test* days. Take every window whose target
# lies in them, and guess with one of two rules that a child could follow: name the place where the person is now, or name the
# place they visited most often in the window (ties go to the smallest number). Which is better, and how often is it right?

# %%
windows = data.test
guesses, truth = {"last place": [], "most frequent place": []}, []
new = []  # is it the person's first visit to the true place?
for i in range(len(windows)):
    seen = windows.visits_of(i).location_id.to_numpy()  # (L,) oldest first
    guesses["last place"].append(seen[-1])
    values, n = np.unique(seen, return_counts=True)
    guesses["most frequent place"].append(values[n.argmax()])
    truth.append(windows.target_of(i).location_id)
    new.append(windows.target_of(i).explored)

# %%
hits = 100 * pd.DataFrame(guesses).eq(truth, axis=0)  # a row a window
scores = hits.mean()
ceiling = 100 * windows.in_window.mean()  # is the target one of `seen`?
scores["copy ceiling: the true place is in the window"] = ceiling
returns = 100 - 100 * np.mean(new)
scores["the true place is known to the person"] = returns
scores.round(1).rename("% of the test windows").to_frame()

# %% [markdown]
# A rule that copies can be right only where the true place is in the window: {{ ceiling:.1f }} %, the **copy ceiling**. Between the
# better rule and the ceiling are the windows that contain the right answer while the rule names another place.
#
# {{ returns:.1f }} % are known to the person. The ceiling is {{ older:.0f }} points lower: some returns go to a place last
# visited more than a week ago.
#
# The town was tuned to GeoLife, GPS records of people around Beijing. There the copy ceiling is
# {{ beijing["target_in_window"]:.0f }} %, and the most frequent place is right in {{ beijing["target_is_top1"]:.0f }} %: town
# and data are close by design ([evidence](evidence_windows.ipynb)).
#
# ## A first look at the model
#
# How good is the model of this book? It was trained on the first three fifths of everybody's days (the fourth fifth
# is kept for choosing settings). It plays the same game, on the same windows, which it has not seen.

# %%
model, vocabulary = load_model(shipped("city"))
# The same windows, with the model's own numbers of the places (vocabulary):
numbered = prepare(town.visits, protocol="exact", vocabulary=vocabulary)
first = evaluate(model, numbered.test).predicted  # its first guesses
hits["model"] = 100 * (first == numbered.test.targets)
scored = hits["model"].mean()
right = hits["model"] > 0
beyond = (right & ~windows.in_window).sum()  # could not be copied
print(f"the model is right in {scored:.1f} % of the windows")
print(f"of its {right.sum()} right answers, {beyond} are not in the window")

# %% [markdown]
# {{ scored:.1f }} against {{ counted:.1f }}: is the model better, or was it lucky with these people? We put an *interval*
# around its lead over the rule. `resampled_means` draws the people with replacement, many times, and takes the mean lead of
# each draw; the interval holds the middle 95 % of these means. If it holds zero, the lead may be luck.
# [Chapter 4](04_baselines.ipynb) explains it.

# %%
lead = hits["model"] - hits["most frequent place"]  # in each window
means = resampled_means([lead], windows.users)
low, high = percentile_interval(means)
print(f"its lead: {lead.mean():.1f}, interval {low:.1f} to {high:.1f}")

# %% [markdown]
# That is more than luck. (Differences are taken before rounding.) But all its right answers could have been copied, so perhaps a
# better rule for copying would do as well.
#
# *Last place* was right in only {{ last:.0f }} %: people who leave a place seldom come straight back. So let the child name the
# most frequent place *other than here* (ties now go to the most recent: see exercise 2):

# %%
elsewhere = []
for i in range(len(windows)):
    seen = windows.visits_of(i).location_id.to_numpy()
    away = pd.Series(seen[seen != seen[-1]][::-1])  # newest first
    n = away.value_counts(sort=False)  # in this order
    # Of equals, `idxmax` takes the first: the most recently visited.
    elsewhere.append(n.idxmax() if len(n) else seen[-1])
child = 100 * (np.array(elsewhere) == truth)
wiser, ahead = child.mean(), hits["model"] - child
ends = percentile_interval(resampled_means([ahead], windows.users))
print(f"the wiser child is right in {wiser:.1f} % of the windows")
print(f"the model's lead: {ahead.mean():.1f}", end=", ")
print(f"interval {ends[0]:.1f} to {ends[1]:.1f}")

# %% tags=["hide-input"]
# @title Numbers: for the text
counted, older = scores["most frequent place"], returns - ceiling
last = scores["last place"]
beijing = REFERENCE.real_locations  # the same shares on GeoLife
unseen = 100 - ceiling
n_visited = town.visits.location_id.nunique()

# %% [markdown]
# **The lead is gone**: a network that sees the same visits, with their times, does not beat a child. (A warning: we found the
# child's new rule after we had seen these windows. But in [chapter 4](04_baselines.ipynb) a rule that was chosen without them
# is even ahead of the network.) The book takes the network apart to find out why. Whatever the verdict on a part, you will have
# built it, and will know how to test whether it does what its name says.
#
# ## What is inside
#
# What does the model have that the child lacks? It gives a probability to each of the {{ n_visited:,.0f }} places that anybody
# visited. Of a hundred targets {{ unseen:.0f }} are outside the week; of these it named none first. It mixes what its
# **pointer** copies from the window with what its **generator** proposes. A number $g$ between 0 and 1, its **gate**, says how
# much it copies:
#
# $$
# P(\ell) = g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell). \tag{1.1}
# $$
#
# Here $\ell$ is a place, and $P(\ell)$ the probability that the model gives it. $P_\text{ptr}$ is the pointer's, and
# $P_\text{gen}$ the generator's.
#
# Here is the model at work on the week drawn above. It has read the visits and knows whose they are; it has no map and no names
# of places. The blue circles show $P_\text{ptr}$, its **pointer attention**: how it divides what it copies among the past
# places (it adds up to 1). The dashed rings are the four places with the largest $P$, and the green ring is where the person
# went.

# %%
shown = look(model, numbered.test, window)  # everything it computes for it
attention_map(
    located(shown.visits, town),
    guesses=located(shown.candidates.head(4), town),
    truth=located(shown.target, town),
    ground=ground(town.base),
    alt="Map of a prediction: past places, attention, likeliest places",
    caption="One prediction. Area of the blue circles: pointer attention.",
)

# %% tags=["hide-input"]
# @title Figure 1.2: copied and generated
names = dict(zip(town.places.location_id, town.places.name, strict=True))
other = look(model, numbered.test, 2962)  # where one bar has both colours
fig, axes = plt.subplots(2, 1, figsize=(7.0, 3.6), sharex=True)
went_to = names[other.target.location_id.item()]
names[-1] = "all other places"
columns = ["location_id", "copied", "generated", "is_target"]
for ax, one in zip(axes, (shown, other), strict=True):
    bars = one.candidates.head(4)[columns].reset_index(drop=True)
    copied, generated = bars.copied.sum(), bars.generated.sum()
    bars.loc[4] = -1, one.gate - copied, 1 - one.gate - generated, False
    plots.mixture(bars, gate=one.gate, names=names, axes=ax)
    for row, bar in bars.iterrows():
        total = bar.copied + bar.generated
        ax.text(total + 0.005, row, f"{total:.3f}", va="center", fontsize=8)
axes[0].set_xlabel("")
axes[0].legend(loc="center right")
axes[1].get_legend().remove()
for ax, which in zip(axes, ("the week above", "another window"), strict=True):
    title = ax.get_title(loc="left")  # the gate
    ax.set_title(f"{which}: {title}", loc="left", fontsize=10)
show(
    fig,
    alt="Two panels of stacked bars, the four likeliest next places of two "
    "windows and all other places together, nearly all generated. Above "
    "each single place has one colour, below the first has both.",
    caption="Above: the same prediction as bars. Below: another window, "
    "whose first bar shows both parts. Blue: probability copied from the "
    "window; in each panel it adds up to the gate. Hatched: generated. "
    f"✓ marks the truth; below, it is {went_to}, not among the four.",
)

# %% [markdown]
# The person went home, and the model said so, though it kept {{ doubt:.2f }} for generating. In the lower panel it fails:
# {{ spread:.2f }} is for generating, yet spread so thinly over the places that the first guess is a copy. By equation (1.1)
# this guess gets:

# %%
top, g = other.candidates.iloc[0], other.gate  # the first place
visits_there = other.visits.location_id == top.location_id
from_pointer = other.visits.attention[visits_there].sum()
copied = g * from_pointer  # one weight a visit; a place gets their sum
print(f"copied: {g:.3f} * {from_pointer:.3f} = {copied:.3f}")
print(f"with what is generated: {copied + top.generated:.3f}")

# %% tags=["hide-input"]
# @title Numbers: for the text
doubt, spread = 1 - shown.gate, 1 - other.gate

# %% [markdown]
# Figure 1.3 shows all the boxes. You need not understand them yet: the book builds each.

# %% tags=["hide-input"]
# @title Figure 1.3: the whole network
architecture(
    caption="The whole network, from a window of visits to an answer. Blue: "
    "what copies. Orange: what generates. Purple weighs the two, green is "
    "the prediction. Each box leads to the chapter that builds it.",
)

# %% [markdown]
# ## What to remember
#
# - People return: {{ known:.0f }} % of all visits in this town go to a known place ({{ returns:.0f }} % in the last fifth of
#   the days).
# - A child's rule is right in {{ counted:.0f }} % of the windows; a wiser child's ({{ wiser:.0f }} %) and the model of this book
#   ({{ scored:.0f }} %) cannot be told apart; and no rule that copies from the week can pass {{ ceiling:.0f }} %, the copy ceiling.
# - The model copies from the window, generates from all places that anybody visited, and mixes the two.
#
# ## Exercises
#
# Replace the three dots with your answer and run the cell: `check` says whether it is right and, if not, often why.
# On the book's own pages, a form checks the same answers without Python. Solutions are folded.
#
# **Exercise 1** (quick). At which kind of place is a visit least often an exploration? Use `explored` and `kind` of
# `town.visits`. (Is it as clear at which kind it is *most* often one? Look at the number of visits, too.)

# %% tags=["try"]
least = ...  # a kind, such as "park"
check.exercise("1.1", least)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_kind = town.visits.groupby("kind").explored.agg(["mean", "size"])
kinds = by_kind["mean"]
check.exercise("1.1", kinds.idxmin())
heads = {"mean": "share explored", "size": "visits"}
by_kind.sort_values("mean", ascending=False).round(2).rename(columns=heads)
# The kinds on top are nearly tied, and their order may be chance. At the
# bottom there is no doubt: people return home.

# %% [markdown]
# **Exercise 2** (medium). The game's second rule breaks ties by the smallest place number, which is arbitrary. Break them by
# the most recent visit, as the wiser child does, but do not leave out the present place. How often is it right then? (Of places
# in a list, `pd.Series(seen[::-1]).value_counts(sort=False)` counts each, the most recent first.)

# %% tags=["try"]
percent = ...  # of the test windows in which your rule is right
check.exercise("1.2", percent)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
named = []
for i in range(len(windows)):
    seen_places = windows.visits_of(i).location_id.to_numpy()
    newest_first = pd.Series(seen_places[::-1])
    n = newest_first.value_counts(sort=False)  # in order of appearance
    named.append(n.idxmax())
newest = 100 * (np.array(named) == truth)
percent = newest.mean()
check.exercise("1.2", percent)
change = newest - hits["most frequent place"]
ends = percentile_interval(resampled_means([change], windows.users))
print(f"ties to the most recent: {percent:.1f} %, before: {counted:.1f} %")
print(f"change, 95 % interval: {ends[0]:+.1f} to {ends[1]:+.1f} points")
# Worse than an arbitrary order: the most recent of the tied places is often
# where the person is now, and the next place seldom is (the first rule).

# %% [markdown]
# **Exercise 3** (longer). How long must the short list be? In what share of the test windows is the true next
# place among the one, two, … five most frequent places of the window? Break ties as in exercise 2 (a sort with
# `kind="stable"` keeps the order of equal counts). After which place does the list gain little, and why can it not reach 100 %?

# %% tags=["try"]
# percent of the windows, for lists of one to five places
short_list = [..., ..., ..., ..., ...]
check.exercise("1.3", short_list)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
found = np.zeros(5)
for i in range(len(windows)):
    seen_places = windows.visits_of(i).location_id.to_numpy()
    n = pd.Series(seen_places[::-1]).value_counts(sort=False)  # newest first
    ranked = n.sort_values(ascending=False, kind="stable").index
    target = windows.target_of(i).location_id
    found += [target in ranked[:k] for k in range(1, 6)]
short_list = 100 * found / len(windows)
check.exercise("1.3", short_list)
on_list = pd.Series(short_list, range(1, 6), name="%")
print(f"not in the window at all: {100 - ceiling:.0f} %")
# The second place helps nearly as much as the first: the first is often where
# the person is. From then on the list creeps towards the ceiling: what is not
# in the window is on no list.
on_list.rename_axis("places on the list").round(1).to_frame()

# %% [markdown]
# **Next:** [From GPS to visits](02_gps_to_visits.ipynb), where records become visits. If you have visits
# already, go to [Windows](03_windows.ipynb), where visits become tensors.
