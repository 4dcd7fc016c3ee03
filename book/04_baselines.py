# %% [markdown]
# # Baselines
#
# Is a model that is right in four cases out of ten a good one? And can a trained network beat a rule of five numbers?
#
# *You will be able to* score a model honestly, with ties, groups and intervals; write the strongest of four baselines
# (last place, Markov, most frequent place, context kernel) in a few lines; and say what a trained network has to beat. *You need* [Windows](03_windows.ipynb) and PyTorch's
# indexing. *It takes* twenty minutes to read and less than a minute to run, with or without a GPU.
#
# > **In one sentence.** A rule of five numbers, which lets past visits vote by where they came from and by their hour, is
# > right in {{ duel.loc["GeoLife, exact", "context kernel"]:.1f }} % of its first guesses on real people; the network of
# > this book, trained on them, in {{ duel.loc["GeoLife, exact", "PGT"]:.1f }} %.

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
import torch
from wherenext import city, touch
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, MUTED, show
from wherenext.results import read_results

from pgt import baselines, metrics
from pgt.metrics import evaluate, interval, summarize
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")

# %% [markdown]
# Four cases out of ten: the number alone says nothing. It gets a meaning from what a simple rule reaches on the same windows, and from how much it would change if we had met other people.
#
# ## One number a window: the rank
#
# A **predictor** gives every window a row of scores, one per location: a $(B, V)$ matrix. In code it is any object with
# a method `scores(batch)`. A likelier place has a higher score; $-\infty$ means "not an answer". All that we need is the **rank** of the true location among the scores. A
# metric is the mean, over the $N$ windows, of what each window $n$ gives:
#
# $$
# \begin{aligned}
# \text{Acc@}k &: \; [\,\text{rank}_n \le k\,] \qquad \text{MRR}: \; \frac{1}{\text{rank}_n} \\
# \text{NDCG@10} &: \; \frac{[\,\text{rank}_n \le 10\,]}{\log_2(\text{rank}_n + 1)}
# \end{aligned} \tag{4.1}
# $$
#
# Here $[\,\cdot\,]$ is 1 if the condition in it holds and 0 if not. **Acc@k** is the accuracy at $k$. Acc@1 asks for the
# very place; Acc@10 accepts a list of ten. The *mean reciprocal rank* (**MRR**) grades the rank: first gives 1, second a half,
# fifth a fifth. The *normalised discounted cumulative gain* (**NDCG**) falls more slowly: third still gives a half.
#
# ## Ties, or how to get 100 % for nothing
#
# The obvious code for the rank, `1 + (scores > own).sum(1)`, counts the scores that are strictly higher. So a target
# wins every tie. Give all places the same score, and the model that knows nothing is always right.
#
# Simple rules tie all the time. Take "the most frequent place of the window". In a week with two visits to the gym and
# two to the bakery, it has two answers. `argmax` would take the one with the smaller id, and that order means nothing.
#
# The way out is **fair credit**: a tied target gets the average over all orders. Say the scores are 4, 3, 2 and 2, and the
# target is one of the two with 2. It stands third in one order and fourth in the other. So it earns half a hit at $k = 3$,
# a whole one at $k = 4$, and nothing at $k = 2$.
#
# In general, if $n_>$ locations score higher and
# $n_=$ score the same (the target included), the target is equally likely at ranks $n_> + 1, \dots, n_> + n_=$. So its
# credit at $k$ is
#
# $$
# \min\!\Big(1, \max\!\Big(0, \frac{k - n_>}{n_=}\Big)\Big). \tag{4.2}
# $$
#
# Two tied for first are half a hit each. MRR and NDCG average over the orders, too (exercise 3). So `evaluate`, which ranks
# for us from here on, keeps two numbers per window: `better`, which is $n_>$ or `(scores > own).sum(1)`, and `tied`, which
# is $n_=$ or `(scores == own).sum(1)`. If the target's own score is $-\infty$, the rule has not named it: then `tied` is 0,
# and it earns nothing.
#
# How much do ties matter?

# %%
rule = baselines.MostFrequent().fit(data.train)
frequent = evaluate(rule, data.test)  # a row a window
first = (frequent.better == 0) & (frequent.tied > 0)  # tied 0: not named
credit = {"every tie lost": first & (frequent.tied == 1)}
credit["fair credit"] = first / frequent.tied.clip(lower=1)
credit["every tie won"] = first
means = 100 * pd.DataFrame(credit).mean()
means.rename("Acc@1, %").to_frame().T.round(1)

# %% [markdown]
# ## Groups, and the copy ceiling
#
# A single mean hides the interesting part. Split the windows in two ways. Is the target's place a
# **known location**, one that somebody visited in training? And is it **in the window**? `summarize` takes the means.

# %%
groups = summarize(frequent).set_index("group")[["n", "acc@1", "acc@10"]]
groups = groups.rename(lambda group: group.replace("_", " "))
ceiling = 100 * frequent.in_window.mean()
groups.rename(columns={"n": "windows"}).round(1)

# %% [markdown]
# Even an unknown place can be copied, if the window contains it. The last row has zeros for every rule that only
# copies. The Acc@k of such a rule is therefore at most the share of targets in the window, for any $k$: the **copy
# ceiling** of [chapter 1](01_where_next.ipynb). With ten guesses this rule has nearly reached it:
# {{ groups.loc["all", "acc@10"]:.1f }} of {{ ceiling:.1f }} %. What is left to gain by copying is to put the right
# place first.
#
# ## How sure are we?
#
# The textbook answer is the **bootstrap**: draw windows with replacement, as many as there are, compute the mean, do it
# again and again, and call the range of the middle 95 % of these means the 95 % interval. It assumes that windows are
# independent. But one person's windows are alike: anyone who is easy to predict on Monday is easy to predict on
# Tuesday. A new experiment would have other people in it. So draw people: the **cluster bootstrap**.

# %%
hit = metrics.gains(frequent)["acc@1"]  # (N,) what each window gives
person = hit.groupby(frequent.user_id).agg(["sum", "count"])  # (U, 2)
rng, draws = np.random.default_rng(0), {"windows": [], "people": []}
for _ in range(2000):
    draws["windows"].append(100 * rng.choice(hit, len(hit)).mean())
    total, count = rng.choice(person, len(person)).sum(0)
    draws["people"].append(100 * total / count)
ends = pd.DataFrame(draws).quantile([0.025, 0.975])
wider = np.ptp(ends.people) / np.ptp(ends.windows)

# %% tags=["hide-input"]
# @title Figure 4.1: drawing windows, and drawing people
look = {"bins": 60, "element": "step", "palette": [MUTED, COPIED]}
ax = sns.histplot(pd.DataFrame(draws), **look)
ax.figure.set_size_inches(6.6, 2)
ax.set(xlabel="Acc@1 of the resample (%)", ylabel="resamples")
show(
    ax.figure,
    alt="Histograms of resampled accuracy. Drawing windows gives a narrow "
    "peak; drawing people a broad one.",
    caption="The same predictor, resampled in two ways. Intervals: "
    "windows {:.1f} to {:.1f}, people {:.1f} to {:.1f}.".format(
        *ends.T.stack()
    ),
)

# %% [markdown]
# The honest interval is **{{ wider:.1f }} times as wide**. `pgt.metrics.interval` draws people. Given two predictors, it
# returns the interval of their **paired difference** on the same windows. Both models find the same people hard, and in the
# difference this cancels. So to compare two models, look at the interval of the difference, not at whether their own two
# overlap.
#
# ## A kernel, term by term
#
# Copying rules have one form. Every visit $i$ of the window votes for its place $l_i$ with a weight $w_i$. Each place
# $\ell$ collects the votes of its visits:
#
# $$
# \text{score}(\ell) = \sum_{i \,:\, l_i = \ell} w_i . \tag{4.3}
# $$
#
# The last visit, to the place where the person is now, votes, too. For the most frequent place, $w_i = 1$. What would
# you like to know about a past visit before you let it vote?
#
# 1. **Recency.** How old is it? Multiply its vote by $\alpha^{\,\text{age}_i}$, with $0 < \alpha \le 1$. The age counts
#    visits: 0 for the last one, 1 for the one before.
# 2. **Came from here.** Where was the person just before it? If you are at the gym now, a visit made *from the gym* counts
#    more. In symbols: $[\,l_{i-1} = l_L\,]$ is 1 if $l_{i-1}$, the place before it, is $l_L$, the place now, else 0.
# 3. **The clock.** At what time did it begin? *Now* is the end of the last visit, say 17:15. A visit that began at about
#    this hour counts more. Let $\delta_i$ be the minutes between its start and now, around the clock.
#
# Together they are the **context kernel**, which compares the context of each past visit with the context now:
#
# $$
# w_i = \alpha^{\,\text{age}_i}
# \Big( \beta + [\,l_{i-1} = l_L\,] + \zeta\, e^{-\delta_i / \theta} \Big). \tag{4.4}
# $$
#
# Here are its five numbers, one of them fixed: only the ratios of the three votes matter, so `same` is 1. The last column is
# what we shall choose below.
#
# | symbol | in the code | what it says | chosen |
# | :-- | :-- | :-- | --: |
# | $\alpha$ | `decay` | how much of a vote is left after each later visit | {{ chosen["decay"]:g }} |
# | $\beta$ | `base` | the vote of every visit, even if it matches in nothing | {{ chosen["base"]:g }} |
# | 1 | `same` | the vote for *came from here* | {{ chosen["same"]:g }} |
# | $\zeta$ | `clock` | the vote for *the clock* | {{ chosen["clock"]:g }} |
# | $\theta$ | `width` | how many minutes still count as "about this hour" | {{ chosen["width"]:g }} |
#
# Take the visit before the last, of age 1. If it came from here and began at this very hour, its vote is
# $0.98\,(0.3 + 1 + 0.5) \approx 1.76$. If it only began at this hour, $0.98\,(0.3 + 0.5) \approx 0.78$.


# %%
def votes(batch, decay, base, same, clock, width):
    """Three (B, L) votes: base, came from here, the clock."""
    rows = torch.arange(len(batch))
    here = batch.location[rows, batch.length - 1]  # (B,) the place now
    before = torch.roll(batch.location, 1, dims=1)  # (B, L) visit before
    before[:, 0] = 0  # the window does not say
    from_here = before == here[:, None]
    apart = (batch.start_minute - batch.now_minute[:, None]).abs()
    apart = torch.minimum(apart, 1440 - apart)  # 23:50 and 00:10 are near
    age = (batch.position_from_end - 1).clamp(min=0)
    fade = decay**age * ~batch.padding
    hour = torch.exp(-apart / width)
    return fade * base, fade * same * from_here, fade * clock * hour


# %% [markdown]
# Then add up the votes of each place, by equation (4.3). `scatter_add` adds each vote to the column of its place. A place
# that is not in the window has no votes, and is no answer. (Padding votes with 0, for column 0.) Is the sum what the package
# computes?


# %%
def by_place(batch, weight, n_locations):
    """(B, L) votes -> (B, V) scores, by equation (4.3)."""
    out = torch.zeros(len(batch), n_locations)
    out = out.scatter_add(1, batch.location, weight)
    return out.masked_fill(out == 0, -torch.inf)


numbers = {"decay": 0.98, "base": 0.3, "same": 1, "clock": 0.5, "width": 60}
few = data.valid.batch(range(100))
ours = by_place(few, sum(votes(few, **numbers)), data.vocabulary.n_locations)
package = baselines.ContextKernel(**numbers).fit(data.train)
print("the same scores:", torch.allclose(ours, package.scores(few)))

# %% [markdown]
# ## Choose on validation, report on test
#
# The four free numbers are chosen by Acc@1 on the **validation** windows. The test windows are not touched. First choose by hand:
# set `decay` and `clock`, and run the cell below them. The two sliders start at bad values: this rule forgets fast, trusts
# the clock too much, and is worse than counting. How far do you get?

# %%
decay = 0.9  # @param {type:"slider", min:0.8, max:1, step:0.01}
clock = 5.0  # @param {type:"slider", min:0, max:10, step:0.5}


# %%
def accuracy(rule, part):
    """Acc@1 in percent, ties counted fairly, by equation (4.2)."""
    gains = metrics.gains(evaluate(rule.fit(data.train), part))
    return 100 * gains["acc@1"].mean()


mine = {"decay": decay, "clock": clock}
mine |= {"base": 0.3, "same": 1.0, "width": 60.0}  # good values
hand = baselines.ContextKernel(**mine)  # votes as our function does
print(f"most frequent place: {accuracy(rule, data.valid):.1f} % right")
print(f"your kernel: {accuracy(hand, data.valid):.1f} % right")

# %% [markdown]
# Now the machine chooses. It tries a grid of {{ combinations:,d }} combinations of values, and keeps the one with the highest
# Acc@1 on the validation windows.

# %%
kernel = baselines.ContextKernel().fit(data.train).choose(data.valid)
chosen = {name: getattr(kernel, name) for name in kernel.GRID}
combinations = int(np.prod([len(some) for some in kernel.GRID.values()]))
print("chosen:", *(f"{name} {value:g}" for name, value in chosen.items()))
print(f"this kernel: {accuracy(kernel, data.valid):.1f} % right")

# %% [markdown]
# And on the test windows? The rule against counting, with the interval of their difference over people:

# %%
ranked = evaluate(kernel, data.test)
least, most = interval(ranked, against=frequent)  # people, paired
print(f"kernel minus most frequent place: {least:.1f} to {most:.1f} points")

# %% [markdown]
# Take one term away at a time, and look at the test windows. Which term is worth most? Bet before you look.

# %% tags=["hide-input"]
# @title Table: the kernel without one of its terms
off = {"nothing": {}, "recency": {"decay": 1.0}}
off["came from here"] = {"same": 0.0}
off["the clock"] = {"clock": 0.0}
off["all three"] = {"decay": 1.0, "same": 0.0, "clock": 0.0}
test = {}
for name, change in off.items():
    less = baselines.ContextKernel(**chosen | change)
    test[name] = accuracy(less, data.test)
ageless = baselines.ContextKernel(**chosen | off["recency"]).fit(data.train)
by_age = interval(ranked, against=evaluate(ageless, data.test))
gain = test["nothing"] - test["all three"]
table = pd.Series(test, name="test, %").rename_axis("taken away")
table.to_frame().round(1)

# %% [markdown]
# *Came from here* is the term that counts. The clock adds a little. Without recency the rule is even a little better; that may
# be noise, for the paired interval (kernel minus this one) goes from {{ by_age[0]:.1f }} to {{ by_age[1]:.1f }} points. We
# chose on validation, so recency stays. Without all three the rule is the most frequent place again. The three are worth {{ gain:.1f }} points, before rounding; the paired interval goes
# from {{ least:.1f }} to {{ most:.1f }}.
#
# ## One window, opened
#
# What does the kernel see? Here is a test window that it gets right and the most frequent place does not. We picked one in
# which *came from here* and the clock both say much.

# %% tags=["hide-input"]
# @title Figure 4.2: the votes, visit by visit
won = (metrics.gains(ranked)["acc@1"] == 1) & (hit == 0)
won = won & (data.test.lengths > 8) & (data.test.lengths < 12)


def both_cues(i):
    """The weaker cue's share of all votes in window i."""
    part = torch.stack(votes(data.test.batch([i]), **chosen))[:, 0]  # (3, L)
    return (part[1:].sum(1).min() / part.sum()).item()


i = max(np.flatnonzero(won), key=both_cues)
seen, goal = data.test.visits_of(i), data.test.target_of(i)
parts = [vote[0].numpy() for vote in votes(data.test.batch([i]), **chosen)]
names = town.places.set_index("location_id").name.to_dict()
is_goal = seen.location_id == goal.location_id
labels = is_goal.map({True: "✓ ", False: ""})
labels += seen.location_id.map(names)
labels += seen.started_at.dt.strftime(", %a %H:%M")
table = pd.DataFrame(parts, ["base", "came from here", "the clock"])
look = {"color": [MUTED, COPIED, EXTRA], "figsize": (7.2, 3.6)}
ax = table.T.plot.barh(stacked=True, width=0.8, **look)
ax.set_yticks(range(len(seen)), labels, fontsize=8)
ax.invert_yaxis()
ax.set(xlabel="vote of the visit (no unit)")
ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncol=3)
here = names[seen.location_id.iloc[-1]]
still = show(
    ax.figure,
    alt="Stacked bars, one for each visit, the oldest at the top: base vote, "
    "vote for having come from here, vote for the clock.",
    caption=f"{seen.finished_at.iloc[-1]:%A %H:%M}: a person leaves {here}. "
    "Who votes for what? ✓ marks the true next place.",
)
opened = data.test, i
touch.kernel(still, kernel, data.valid, opened=opened, names=names)

# %% [markdown]
# A place wins by the sum of its votes. In the book, sliders at the figure change the numbers. Here are the sums, and the
# shares with your `decay` and `clock` from above.

# %% tags=["hide-input"]
# @title Table: the votes, added up by place
place = seen.location_id.map(names).to_numpy()
yours = sum(votes(data.test.batch([i]), **mine))[0].numpy()
each = {"visits": 1, "votes": sum(parts), "share": sum(parts)}
each["share with your numbers"] = yours
sums = pd.DataFrame(each).groupby(place).sum()
sums.iloc[:, 2:] /= sums.iloc[:, 2:].sum()
sums.round(2)

# %% [markdown]
# Counting names home, 10 Thrush Walk, with five visits against four at work. The kernel names work: three of those four came
# from home at about this hour. The longest bar is nearly the visit of our example. (If your numbers give the right place here
# even more, they need not be better: one window proves nothing.)
#
# Divided by their sum, the votes of the visits are weights that add up to one: an **attention** over the window, made by
# hand. The kernel is a pointer network without a network.
#
# ## Five numbers against a network
#
# The Pointer-Generator Transformer of this book (**PGT**) was trained from {{ seeds[0]:d }} seeds in Larkmere, the simulated
# town, and from {{ seeds[1]:d }} on GeoLife. So was the same network without its pointer: an ordinary Transformer with a softmax over all places. [Chapter 9](09_model.ipynb) builds PGT,
# [chapter 10](10_training.ipynb) trains it; here we only read the results, as means over the seeds.
# Two more rules stand in many papers. *Last place* ranks the places of the window by how recently they were visited.
# *Markov* asks where this person went from here in training; if nowhere, then where everybody did.

# %% tags=["hide-input"]
# @title Table: five numbers against a network
rivals = {
    "last place": {"model": "last"},
    "Markov": {"model": "markov"},
    "most frequent place": {"model": "most_frequent"},
    "PGT without pointer": {"model": "pgt", "variant": "no_pointer"},
    "PGT": {"model": "pgt", "variant": "full"},
    "context kernel": {"model": "kernel"},
}
files = {"Larkmere, exact": "city", "GeoLife, exact": "geolife_exact"}
rows, seeds, over_markov, over_net = {}, [], [], []
counting = rivals["most frequent place"]
for title, name in files.items():
    results = read_results(name)
    rows[title] = {k: results.mean(**who) for k, who in rivals.items()}
    pair = rivals["context kernel"], rivals["PGT"]
    rows[title]["kernel - PGT"], low, high = results.difference(*pair)
    rows[title] |= {"95 % interval from": low, "95 % interval to": high}
    over_markov.append(results.difference(counting, rivals["Markov"]))
    cannot_copy = rivals["PGT without pointer"]
    over_net.append(results.difference(counting, cannot_copy))
    seeds.append(results.select(**rivals["PGT"]).seed.nunique())
duel = pd.DataFrame(rows).T
lead = duel.loc["GeoLife, exact", "kernel - PGT"]
duel.T.rename_axis("Acc@1, %").round(1)

# %% [markdown]
# Four in ten (PGT, {{ duel.loc["Larkmere, exact", "PGT"]:.1f }} % in Larkmere and
# {{ duel.loc["GeoLife, exact", "PGT"]:.1f }} % on GeoLife) is not good: five numbers reach
# {{ duel.loc["Larkmere, exact", "context kernel"]:.1f }} and {{ duel.loc["GeoLife, exact", "context kernel"]:.1f }} %.
#
# Counting one recent week is ahead of a Markov chain fitted on months of older data: clearly in Larkmere; on GeoLife the
# interval of the difference, {{ over_markov[1][1]:.1f }} to {{ over_markov[1][2]:.1f }} points, just holds zero. It is even
# ahead of PGT without its pointer, the network that cannot copy, though the interval of that difference holds zero in both:
# {{ over_net[0][1]:.1f }} to {{ over_net[0][2]:.1f }} points in Larkmere, {{ over_net[1][1]:.1f }} to
# {{ over_net[1][2]:.1f }} on GeoLife. ([Chapter 14](14_ablations.ipynb) averages partly other trainings, so its numbers differ a little.)
# The last three rows are the difference, taken before rounding, and its interval; each draw picks people, and for PGT a seed.
#
# In Larkmere one may expect the kernel to do well: its simulator lets people return by a rule of much the same form. But
# nobody built the people of GeoLife. There, with numbers chosen on GeoLife's own validation windows, the kernel is ahead by
# even more, by {{ lead:.1f }} points. ([The evidence](evidence_windows.ipynb) has other settings of PGT, and the protocol of
# the literature.)
#
# This is the surprise. The idea is not new ([Do et al., 2015](https://doi.org/10.1016/j.pmcj.2014.09.001)), but the papers on
# networks that we know of do not compare with a rule like this. For recommender systems, [Ferrari Dacrema et al.
# (2019)](https://doi.org/10.1145/3298689.3347058) found that simple, well-tuned methods beat most of the networks that they
# could run again.
#
# Why? Here is a hypothesis, which [chapter 20](20_contextual_pointer.ipynb) tests. The kernel is given the two *comparisons* that matter: did that visit come from where I am
# now, and did it begin at about this hour? A network receives places and times separately, and has to discover from a
# few thousand windows that comparing them is useful.
#
# So what is a network for? The kernel cannot name a place that the week does not contain; a network can *generate* one.
# And it may find cues that we did not think of. But anyone who claims that a network has learned
# how people move should first show that it beats five numbers.
#
# ## What to remember
#
# - Compute every metric from the ranks, and count ties fairly, or the order of columns decides.
# - Report groups. A copying rule has a ceiling, the share of targets in the window.
# - Resample people, not windows. Choose on validation, report on test.
# - The context kernel lets past visits vote by recency, *came from here* and the clock. It is a pointer with attention
#   made by hand.
# - The network of this book does not beat it. On GeoLife the five numbers are right in
#   {{ duel.loc["GeoLife, exact", "context kernel"]:.1f }} %, the network in {{ duel.loc["GeoLife, exact", "PGT"]:.1f }} %.
#
# ## Exercises
#
# **Exercise 1** (quick). Another rule that sounds reasonable: always name the place that the person visited
# most often in *training*. Score it, with ties counted fairly. What do the groups say?

# %% tags=["try"]
# How often was each person at each place in training? `visited`, (U, V)
location, user = data.train.features[:2, 1:]  # (N,); column 0 is padding
visited = torch.zeros(data.vocabulary.n_users, data.vocabulary.n_locations)
one = torch.ones(len(user))
visited.index_put_((user, location), one, accumulate=True)  # adds the ones
# Write a class whose scores(batch) asks it for batch.user, (B,). A place
# where the person never was is no answer. Give it to `evaluate`.
# Over all test windows, in percent:
top_one, top_ten = ..., ...  # Acc@1 and Acc@10
check.exercise("4.1", [top_one, top_ten])


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
class Favourite:
    def scores(self, batch):
        return visited.masked_fill(visited <= 0, -torch.inf)[batch.user]


favourite = evaluate(Favourite(), data.test)
table = summarize(favourite).set_index("group")[["n", "acc@1", "acc@10"]]
check.exercise("4.1", table.loc["all", ["acc@1", "acc@10"]])
# For most people this is home. It can never name an unknown place. But look
# at Acc@10 in the last row: old favourites are a way beyond the window.
table = table.rename(columns={"n": "windows"}).round(1)
table.rename(lambda group: group.replace("_", " "))

# %% [markdown]
# **Exercise 2** (quick). The clock adds about a point. Is it luck? With `interval`, compute the interval of the kernel, that
# of the kernel without the clock, and that of their paired difference (kernel minus the other, in points).

# %% tags=["try"]
# baselines.ContextKernel(**chosen | {"clock": 0.0}) has no clock; `ranked`
# are the kernel's ranks. As above: fit, evaluate, interval with against=
low, high = ..., ...  # of the paired difference
check.exercise("4.2", [low, high])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
less = baselines.ContextKernel(**chosen | {"clock": 0.0})
less = evaluate(less.fit(data.train), data.test)
print("kernel            {:.1f} to {:.1f}".format(*interval(ranked)))
print("without the clock {:.1f} to {:.1f}".format(*interval(less)))
pair = interval(ranked, against=less)
print("difference        {:.1f} to {:.1f}".format(*pair))
check.exercise("4.2", pair)
# The first two overlap almost entirely, and yet the difference is clear of
# zero: a draw with many easy people lifts both rules.

# %% [markdown]
# **Exercise 3** (quick, on paper). In one window a single place scores higher than the target, and three places share the
# next score, the target among them. What does the window give to Acc@1, to Acc@3 and to MRR, as numbers between 0 and 1,
# if ties are counted fairly?

# %% tags=["try"]
acc_1, acc_3, mrr = ..., ..., ...
check.exercise("4.3", [acc_1, acc_3, mrr])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# The target may stand at rank 2, 3 or 4, each in a third of all orders.
mrr = (1 / 2 + 1 / 3 + 1 / 4) / 3
check.exercise("4.3", [0, 2 / 3, mrr])
print(f"MRR {mrr:.2f}; the mean rank, 3, would give {1 / 3:.2f}")

# %% [markdown]
# **Next:** [Embeddings](05_embeddings.ipynb), the first part of the network that gets its chance.
