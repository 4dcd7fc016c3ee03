# %% [markdown]
# # Ceilings
#
# The best model of this book, the contextual pointer with a longer memory, still misses half of its targets on GeoLife. Could any
# model do much better, or is the rest chance?
#
# *You will be able to* estimate how often the best possible guess is right, from nothing but visits, and say what the estimate
# misses. *You need* [Memory](21_memory.ipynb). *It takes* twenty minutes to read and half a minute to run; a GPU makes no
# difference.
#
# > **In one sentence.** Of the {{ missed:.0f }} targets in a hundred that the pointer misses on GeoLife, {{ new:.0f }} are new
# > to the person, about {{ could_win:.0f }} could be won ({{ least_won:.0f }} or {{ most_won:.0f }} under other assumptions),
# > and the rest seems to be chance.

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
from wherenext.figures import COPIED, EXTRA, INK, MUTED, PAPER, TRUTH, show
from wherenext.results import read_results

from pgt.predictor.memory import with_history
from pgt.windows import prepare

# %% [markdown]
# ## The best guess, when the chances are known
#
# Somebody leaves the office on a Friday at six. Suppose the chances are 0.6 for home, 0.3 for the gym and 0.1 for the
# market. The best guess is home, and no model, however clever, is right more often than six times in ten. How often the best
# guess is right is the **ceiling**.
#
# On real people nobody knows the chances. All we see is where earlier Fridays led. But this can be counted: how often do two
# Fridays **agree**, that is, lead to the same place? If they are decided independently, both lead home with chance
# $0.6 \cdot 0.6$, and so on.


# %%
def agree(chances):
    """How often two such days lead to the same place."""
    return (chances**2).sum(-1)  # both first, or both second, …


friday = np.array([0.6, 0.3, 0.1])  # home, gym, market
print(f"two Fridays agree: {agree(friday):.2f}, ceiling: {friday.max():.2f}")

# %% [markdown]
# What does the one number say about the other? Draw the chances of two thousand situations, each with one place whose chance is
# drawn evenly, and one to thirty others.

# %%
rng = np.random.default_rng(0)
situations = []
for _ in range(2000):
    chance, n_others = rng.uniform(), rng.integers(1, 31)
    others = (1 - chance) * rng.dirichlet([1.0] * n_others)
    chances = np.append(others, chance)  # sum to one
    situations.append((agree(chances), chances.max()))
agreed, ceiling = np.transpose(situations)

# %% tags=["hide-input"]
# @title Figure 26.1: agreement and ceiling
fig, ax = plt.subplots(figsize=(5.2, 3.6))
line = np.linspace(0.04, 1, 200)
ax.plot(agreed, ceiling, ".", ms=3, color=MUTED, alpha=0.5)
ax.plot(line, line**0.5, color=TRUTH, label="root of the agreement")
ax.plot(line, line, color=COPIED, ls="--", label="agreement")
look = {"color": INK, "ms": 7, "label": "the Friday", "zorder": 3}
ax.plot(agree(friday), friday.max(), "s", **look)
ax.set(xlabel="how often two days agree", ylabel="ceiling", ylim=(0, 1.03))
ax.legend(loc="lower right")
show(
    fig,
    alt="Two thousand dots lie between two curves that meet at one: the "
    "agreement itself below, and its square root above. Many lie close to "
    "the upper curve.",
    caption="Each dot is a situation. The thin arc: only two places.",
)

# %% [markdown]
# All dots lie between two curves, and this is no accident ([Cover and Hart, 1967](https://doi.org/10.1109/TIT.1967.1053964)).
# For any chances $P$ of the places $\ell$,
#
# $$
# \sum_\ell P(\ell)^2 \;\le\; \max_\ell P(\ell) \;\le\; \sqrt{\textstyle\sum_\ell P(\ell)^2} . \tag{26.1}
# $$
#
# The left side averages the chances, weighted by themselves, and no average exceeds the largest. The sum under the root
# contains the square of the largest. The dots on the upper curve are situations with one likely place and many others, of which
# each is hardly visited.
#
# So the root of the agreement bounds the ceiling from above. Can we count the agreement, and be done?
#
# ## What counting does not know
#
# The same person always goes to the gym on a Tuesday. Suppose that our count tells only weekdays from weekends. Then a Friday and
# a Tuesday look alike, and what we count are the chances of a mixture.

# %%
tuesday = np.array([0.0, 1.0, 0.0])
days = {"Friday": friday, "Tuesday": tuesday}
days["day not told"] = (friday + tuesday) / 2  # one of the two
table = {name: [agree(p), p.max()] for name, p in days.items()}
table = pd.DataFrame(table, ["two agree", "ceiling"])
# For somebody who is told the day: the mean of the two columns.
table.insert(2, "day told", table[["Friday", "Tuesday"]].mean(axis=1))
table.loc["root of agreement"] = table.loc["two agree"] ** 0.5
table.map("{:.2f}".format)

# %% tags=["hide-input"]
# @title Numbers: for the text
aware, unaware = table["day told"], table["day not told"]

# %% [markdown]
# Somebody who knows the day is right in {{ aware["ceiling"]:.2f }} of the cases at best (third column); somebody who does not,
# in {{ unaware["ceiling"]:.2f }}. The root is nowhere below its ceiling, not even in the third column: the mean of the ceilings
# is at most the mean of the two roots, and this at most the root of the mean agreement, as a root curve is concave. But **a
# ceiling belongs to what one knows**. Look across: the root that we count, {{ unaware["root of agreement"]:.2f }}, is *below*
# the ceiling of the one who knows the day, {{ aware["ceiling"]:.2f }}. **A count bounds only those who know no more than it
# does.** For somebody who knows more, two errors pull in opposite directions:
#
# - *the root* is too high: with the day known, {{ aware["root of agreement"]:.2f }} instead of {{ aware["ceiling"]:.2f }};
# - *the count* is too low, as it mixes what is not alike: {{ unaware["root of agreement"]:.2f }} instead of
#   {{ aware["root of agreement"]:.2f }}.
#
# ## Count in the town
#
# Now count. For each target, take the person's earlier stays (visits) that are like the one just before the target in four facts:
#
# - *where* it was;
# - *when* it ended, within an hour by the clock;
# - *the kind of day* on which it began, weekday or weekend;
# - *the place before* it.
#
# What share of the pairs of such stays agrees? Here is person 8 of our town, in the office.

# %%
town = city.load()  # simulated
visits = town.visits  # a person's stays one after the other
ended, place = visits.finished_at.dt, visits.location_id
facts = {"place": place, "weekend": visits.started_at.dt.day_of_week >= 5}
facts["before"] = place.groupby(visits.user_id).shift()
facts = {name: column.to_numpy() for name, column in facts.items()}
minute = (60 * ended.hour + ended.minute).to_numpy()
first = visits.user_id.searchsorted(visits.user_id)  # the person's first row
ALL = ("place", "weekend", "before")


# %%
def like(at, minutes=60, same=ALL):
    """The person's earlier stays that are like the one in row `at`."""
    past = np.arange(first[at], at)
    apart = abs(minute[past] - minute[at])
    alike = np.minimum(apart, 1440 - apart) <= minutes  # by the clock
    for name in same:
        alike &= facts[name][past] == facts[name][at]
    return past[alike]


# %%
at = visits.user_id.searchsorted(8) + 624  # person 8; has eight like it
name = town.places.set_index("location_id").name
stays = pd.DataFrame({"left on": ended.strftime("%a %d %b, %H:%M")})
stays["then"] = place.shift(-1).map(name)
print("now:", name[place[at]], "until", stays["left on"][at])
print("before it:", name[place[at - 1]])
stays.loc[like(at)].reset_index(drop=True)


# %%
def counted(rows):
    """How many stays, and what share of their pairs agree."""
    _, times = np.unique(place[rows + 1], return_counts=True)
    n = len(rows)  # each stay makes a pair with the n - 1 others
    return n, (times * (times - 1)).sum() / (n * (n - 1))


n, share = counted(like(at))
print(f"{n} stays; of their pairs {share:.3f} agree")

# %% [markdown]
# Three of the eight stays led home (Maple Walk) and two to the café, so $3 + 1$ of the $28$ pairs agree. (A stay always agrees
# with itself, so it is paired only with others.) Eight stays say little, but over many targets such errors cancel. Those of a
# root would not, so we average first, and take the root of the average. Exercise 3 tries both.
#
# Where no two stays are alike in all four facts, we ask for less until there are two: first without the place before, then
# without the kind of day, then within two hours, at any hour, then at any place within the hour, and at last any stay. The more
# we give up, the more is mixed; only {{ town_all_four:.0f }} % of the town's targets have two stays alike in all four facts.

# %%
skip = 0  # @param {type:"slider", min:0, max:4, step:1}
LESS = [(60, ALL), (60, ("place", "weekend")), (60, ("place",))]
LESS += [(120, ("place",)), (1440, ("place",)), (60, ()), (1440, ())]


def most_alike(at):
    """The most alike stays before row `at`, two or more."""
    for minutes, same in LESS[skip:]:
        rows = like(at, minutes, same)
        if len(rows) >= 2:
            return rows


# %%
# The targets as rows of `visits` (the memory does not matter for this):
tests = with_history(prepare(visits, protocol="exact"), memory=1).test
targets = tests.target
# row - 1 is the stay that ends.
mean = np.mean([counted(most_alike(row - 1))[1] for row in targets])
print(f"{len(targets)} targets: {100 * mean:.1f} % agree")
print(f"root: {100 * mean**0.5:.1f} %")

# %% [markdown]
# > **Try it.** Set `skip` to 4, which asks only for the same place. More is mixed, so fewer pairs agree, and the root falls.
#
# We call this root the **counted ceiling**. With the two errors of the last section it can lie above the ceiling of a good
# model or below it, as a model may know more than four facts. Which is it here?
#
# ## The town knows the answer
#
# In the town we can ask an **insider**, a rule that knows what the simulator knows: every person's habits, and so the chances
# of all places at a given hour. Like our models, it is not told when the next visit begins. It considers two possible starts,
# ten minutes after this stay and the usual hour next morning, weighs the chances at both by how likely each is, and names the
# likeliest place ([code](https://github.com/where-next-book/where-next/blob/main/book/lab/city_chances.py)). What it reaches
# stands for *the ceiling of the town*; with more starts it might do slightly better. We also ask how often two draws from *its*
# chances agree.

# %%
limits = read_results("predictability").rows.query("protocol == 'exact'")
limits = limits.set_index(["data", "table", "group"]).sort_index()
insider = limits.value["city", "truth"]
unmixed = insider["time unknown, agreement"] / 100
marks = {
    "the insider is right": insider["time unknown"],
    "root, by its chances": 100 * unmixed**0.5,
    "root, counted": 100 * mean**0.5,
}
known, root, counted_root = marks.values()
root_error, count_error = root - known, root - counted_root
pd.Series(marks).round(1).to_frame("% of targets")

# %% tags=["hide-input"]
# @title Figure 26.2: does the counted ceiling find the ceiling of the town?
EXACT = {"target_time": "unknown", "protocol": "exact"}
POINTER = EXACT | {"model": "contextual", "variant": "full"}
results = read_results("beyond")
right_in_town = results.mean(data="city", **POINTER)
fig, ax = plt.subplots(figsize=(6.4, 2.2))
ax.plot(marks.values(), range(3), "o", color=INK, ms=7)
sides = (("right", -0.35), ("left", 0.35), ("right", -0.35))
labelled = zip(marks.values(), sides, strict=True)
for k, (mark, (side, by)) in enumerate(labelled):
    look = {"ha": side, "va": "center", "fontsize": 8}
    ax.text(mark + by, k, f"{mark:.1f}", **look)
arrow = {"arrowstyle": "->", "color": MUTED, "shrinkA": 6, "shrinkB": 6}
for start, end in ((0, 1), (1, 2)):  # what the root adds, the count takes
    tips = [([*marks.values()][k], k) for k in (end, start)]
    ax.annotate("", *tips, arrowprops=arrow)
small = {"fontsize": 8, "color": MUTED}
words_at = root - 2.6
ax.text(words_at, 0.3, f"the root adds {root_error:.0f}", **small)
ax.text(words_at, 1.8, f"the count takes {count_error:.0f}", **small)
ax.axvline(right_in_town, color=EXTRA)
look = {"color": EXTRA, "fontsize": 8, "ha": "right"}
ax.text(right_in_town - 0.2, 0.5, f"pointer {right_in_town:.1f}", **look)
ax.set(yticks=range(3), yticklabels=[*marks], ylim=(2.5, -0.6))
ax.set(xlabel="the town: percent of targets", xlim=(44, 60))
show(
    fig,
    alt="Three dots, two arrows and a line. The insider and the counted root "
    "lie close together, the pointer a little to the left of them. The root "
    "by the insider's chances is some points to the right.",
    caption="Two errors of about the same size cancel: the root adds, the "
    "count takes. Line: the contextual pointer with a hundred visits and "
    "summaries, a mean of five trainings.",
)

# %% [markdown]
# The insider is right in {{ known:.1f }} % of the targets, and the counted ceiling, {{ counted_root:.1f }} %, is nearly the
# same. **But they meet only because two errors cancel:** the root adds {{ root_error:.0f }} points, and the count, which mixes
# what four facts cannot tell apart, takes {{ count_error:.0f }}.
#
# For the town this is good news about the model: the pointer, {{ right_in_town:.1f }} %, is {{ left_over:.1f }} points below
# somebody who knows every habit. Little seems left to win, though we have no interval for this difference.

# %% tags=["hide-input"]
# @title Numbers: for the text
left_over = known - right_in_town
real = limits.loc["geolife"]
agreement = real.loc[("agreement", "finest"), ["value", "low", "high"]]
shares = agreement.astype(float) / 100
real_root, real_low, real_high = 100 * shares**0.5
margin = (real_high - real_low) / 2
new = real.value["novelty", "whole past"]
strictest = "likeness used", "place, 1 h, day, before"
in_all_four = real.value[strictest]
town_all_four = limits.value["city"][strictest]
right_now = results.mean(data="geolife", **POINTER)

# %% [markdown]
# ## And on GeoLife?
#
# Counted in the same way, GeoLife's ceiling is {{ real_root:.0f }} % ({{ real_low:.0f }} to {{ real_high:.0f }}, a 95 %
# interval over people). The pointer (with summaries) is right in {{ right_now:.1f }} %. And {{ new:.0f }} % of the targets are
# **new** to the person: places in no past visit, which no pointer can name.
#
# How far is the counted ceiling from the true one? Here nobody can ask an insider. Both errors are probably at work: equation
# (26.1) says that the root is never too low, and four facts never say everything. But nothing says that they cancel as they do
# in our one town. So take three cases: both errors cancel, or only one of them is at work, with its size in the town.

# %%
ceilings = {
    "both errors cancel": real_root,
    "only the root errs": real_root - root_error,  # figure 26.2's arrows
    "only the count errs": real_root + count_error,
}
within = 100 - new  # percent of targets that are in the past: reach
parts = {
    name: [right_now, best - right_now, within - best, new]
    for name, best in ceilings.items()
}
rows = ["the pointer is right", "could be won"]
parts = pd.DataFrame(parts, [*rows, "chance", "new to the person"])

# %% tags=["hide-input"]
# @title Figure 26.3: what a hundred targets of GeoLife are made of
fig, ax = plt.subplots(figsize=(6.4, 2.2))
fills = [EXTRA, TRUTH, MUTED, PAPER]
start = np.zeros(len(ceilings))
for (name, widths), fill in zip(parts.iterrows(), fills, strict=True):
    look = {"color": fill, "ec": INK, "lw": 0.8, "height": 0.7}
    bars = ax.barh([*parts], widths, left=start, **look)
    ink = INK if fill == PAPER else PAPER
    ax.bar_label(bars, fmt="%.0f", label_type="center", color=ink, fontsize=8)
    middle = start[0] + widths.iloc[0] / 2
    short = name.replace("the pointer is ", "").replace(" to the person", "")
    ax.text(middle, -0.5, short, ha="center", va="bottom", fontsize=8)
    start = start + widths.to_numpy()
ax.invert_yaxis()
ax.set(xlabel="GeoLife: percent of targets", xlim=(0, 100))
show(
    fig,
    alt="Three bars, each divided into right, could be won, chance and new. "
    "Right and new are the same in all; the border between could be won and "
    "chance moves by some points to either side.",
    caption="The targets by who could name them, if both errors cancel "
    "(top), or only one of them, of the town's size, is at work; rounded. "
    "Shares, not labels: of no single miss we know to which it belongs.",
)

# %% tags=["hide-input"]
# @title Numbers: more for the text
missed = 100 - right_now
could_win, least_won, most_won = parts.loc["could be won"]
luck = parts.loc["chance"].iloc[0]

# %% [markdown]
# - *Could be won:* {{ could_win:.0f }} targets in a hundred ({{ least_won:.0f }} or {{ most_won:.0f }} in the other cases). It
#   is what somebody who knew all habits would gain. A model has to learn them, and would gain less.
# - *Chance:* the person has been there, but even the best guess would miss.
# - *New:* practically never the best guess; PGT's generator, which could name such a place, hardly helps.
#
# Chance and new together are most of what the pointer misses, in all three cases. Three things make the border between *could
# be won* and *chance* softer still. The interval over people moves it by another {{ margin:.0f }} points either way. Here
# {{ in_all_four:.0f }} % of the targets have two stays that are alike in all four facts, more than in the town. So the count
# may mix less than there and take less; then the ceiling is lower, and less could be won. And habits change: then old stays
# agree too seldom, and more could be won. Other ceilings, such as those from entropy, stand in the
# [evidence](evidence_improvements.ipynb).
#
# ## What to remember
#
# - The ceiling, how often the best guess is right, lies between the agreement of two days and its root.
# - The root bounds only those who know no more than the count. For others two errors pull in opposite directions; in the town they
#   cancel, and each is worth {{ root_error:.0f }} points.
# - On GeoLife the counted ceiling is {{ real_root:.0f }} %, and the pointer is right in {{ right_now:.1f }} %.
# - Of the {{ missed:.0f }} in a hundred that it misses, {{ new:.0f }} are new to the person. If the errors cancel as in the
#   town, {{ luck:.0f }} are chance and {{ could_win:.0f }} could be won; if only one of them is at work, {{ least_won:.0f }} or
#   {{ most_won:.0f }} could.
#
# ## Exercises
#
# **Exercise 1** (quick, by hand). A person goes home with chance one half, and else to one of five places, each with chance one
# tenth. How often do two such days agree, what is the ceiling, and what is the root of the agreement? Near which curve of figure
# 26.1 does this situation lie?

# %% tags=["try"]
two_agree, best, its_root = ..., ..., ...
check.exercise("26.1", [two_agree, best, its_root])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
chances = np.array([0.5] + 5 * [0.1])
check.exercise("26.1", [agree(chances), chances.max(), agree(chances) ** 0.5])
# Near the upper one: one place stands out, and the rest is spread thin.

# %% [markdown]
# **Exercise 2** (quick). Widen the hour: how many earlier stays are like the one of 14 December (row `at`) within *three*
# hours, and what share of their pairs agree? What share of these stays led to their most frequent next place? Compare it
# with the root: is the equation wrong?

# %% tags=["try"]
n, share, most_led = ..., ..., ...
check.exercise("26.2", [n, share, most_led])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
wide = like(at, minutes=180)
n, share = counted(wide)
most_led = place[wide + 1].value_counts(normalize=True).max()
check.exercise("26.2", [n, share, most_led])
print(f"root {share**0.5:.3f}, best guess {most_led:.3f} of them")
# It lies a hair above the root. (26.1) is for chances; of a few counted
# stays the best guess, chosen after the fact, looks better than it is.

# %% [markdown]
# **Exercise 3** (medium). Why not pair a stay with itself, and why average before taking the root? Draw four Fridays from the
# chances `friday`, twenty thousand times. Find three means: of the share of pairs that agree, without pairs of a stay with
# itself; of the same share with them (16 pairs instead of 12); and of the root of the first share. Compare them with
# `agree(friday)` and its root.

# %% tags=["try"]
draws = rng.choice(3, size=(20_000, 4), p=friday)
without, with_itself, mean_of_roots = ..., ..., ...
check.exercise("26.3", [without, with_itself, mean_of_roots])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
draws = rng.choice(3, size=(20_000, 4), p=friday)
same = draws[:, :, None] == draws[:, None]  # (20000, 4, 4)
with_itself = same.mean((1, 2))
pairs = (same.sum((1, 2)) - 4) / 12
found = [pairs.mean(), with_itself.mean(), (pairs**0.5).mean()]
check.exercise("26.3", found)
print("{:.2f}, {:.2f}, {:.2f}".format(*found))
print(f"truth {agree(friday):.2f}, root {agree(friday) ** 0.5:.2f}")
# The first mean is the truth; the second is too high; and the mean of the
# roots is below the root: from few stays the result would be too low.

# %% [markdown]
# **Next:** [Playground](27_playground.ipynb), where you ask the trained model what-if questions.
