# %% [markdown]
# # Baselines
#
# Let a trained network compete with a rule of five numbers, and watch the rule win.
#
# *You will be able to* score a model honestly: ties, groups and intervals included; write the strongest of
# four baselines in a few lines; and say what a trained network has to beat. *You need*
# [Windows](03_windows.ipynb) and PyTorch's indexing. *It takes* twenty-five minutes to read and less than
# a minute to run, with or without a GPU.
#
# > **In one sentence.** A rule of five numbers, which lets past visits vote by what came before them and by their hour, is
# > right in {{ duel.loc["GeoLife, exact", "context kernel"]:.0f }} of a hundred first guesses on real people; the network
# > of this book, trained on them, in {{ duel.loc["GeoLife, exact", "PGT"]:.0f }}.

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

# %%
import itertools

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from wherenext import city, touch
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, MUTED, show
from wherenext.results import read_results

from pgt import baselines, metrics
from pgt.batch import Slots
from pgt.batch import add_up as slot_votes
from pgt.metrics import evaluate, interval, summarize
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
V = data.vocabulary.n_locations
n = data.counts()
print(f"{n['train']:,} windows to train, {n['valid']:,} to choose,")
print(f"{n['test']:,} to test; {V:,} location ids")

# %% [markdown]
# Is a model that is right in four cases out of ten a good one? The number alone says nothing. It gets a meaning
# from two companions: what a simple rule reaches on the same windows, and how much the number would change if
# we had met other people. This chapter builds both. First, the scores.
#
# ## Rank once
#
# A **predictor** gives every window a row of scores, one per location: a $(B, V)$ matrix. We only ask that a
# likelier place has a higher score; $-\infty$ means "not an answer". All that we need is the **rank** of the true
# location among the scores. Compute ranks once, and the metrics from them:
#
# $$
# \begin{aligned}
# \text{Acc@}k &= \frac1N \sum_n [\,\text{rank}_n \le k\,], \\
# \text{MRR} &= \frac1N \sum_n \frac{1}{\text{rank}_n}, \\
# \text{NDCG@10} &= \frac1N \sum_n \frac{[\,\text{rank}_n \le 10\,]}{\log_2(\text{rank}_n + 1)} .
# \end{aligned} \tag{4.1}
# $$
#
# The sums run over the $N$ windows, and $[\,\cdot\,]$ is 1 if the condition in it holds and 0 if not. **Acc@k**
# is the accuracy at $k$. Acc@1 asks for the very place; Acc@10 accepts a list of ten. The *mean reciprocal rank*
# (**MRR**) and the *normalised discounted cumulative gain* (**NDCG**) lie between: second is better than fifth.
# Try it on three windows and five places, of which the first is always the true one.

# %%
scores = torch.tensor([[5.0, 4, 3, 2, 1], [1, 5, 4, 3, 2], [4, 5, 3, 2, 1]])
own = scores[:, :1]  # (B, 1) what the true place got
r = 1 + (scores > own).sum(1)  # (B,)
gain = {"acc@1": r <= 1, "mrr": 1 / r}
gain["ndcg@10"] = (r <= 10) / torch.log2(r + 1)
by_hand = pd.DataFrame(gain).astype(float).assign(rank=r)
by_hand.rename_axis("window").round(3)

# %% [markdown]
# Each metric is the mean of its column, times 100.
#
# ## Ties, or how to get 100 % for nothing
#
# Our line of code for the rank, `r = 1 + …`, counts the scores that are strictly higher. So a target wins every tie:
# among equals it comes first. Give all places the same score, and the model that knows nothing is always right.
# Nobody would publish that, but the same bug is common on a smaller scale, because simple rules tie all the time.
# Take "the most frequent place of the window". In a week with two visits to the gym and two to the bakery, it has two
# answers. If your code calls `argmax`, it takes the place with the smaller id, and that order means nothing.
#
# How much does it matter? Let the target win all its ties, or lose all of them.


# %%
def add_up(batch, weight):
    """(B, L) weights -> (B, V) their sum per location, -inf if no visit."""
    inside, zeros = ~batch.padding, torch.zeros(len(batch), V)
    out = zeros.scatter_add(1, batch.location, weight * inside)
    seen = zeros.scatter_add(1, batch.location, inside.float())
    return out.masked_fill(seen == 0, -torch.inf)


test = data.test.batch(np.arange(len(data.test)))  # all windows at once
counts = add_up(test, torch.ones(test.location.shape))  # (W, V)
better, tied = metrics.rank(counts, test.target)  # (W,) above it; level
first = (better == 0) & (tied > 0)
ties_won = 100 * first.double().mean().item()
ties_lost = 100 * (first & (tied == 1)).double().mean().item()
print(f"most frequent place: ties lost {ties_lost:.1f} %", end=", ")
print(f"ties won {ties_won:.1f} %")

# %% [markdown]
# One rule, the same windows, two numbers. The way out is **fair credit**: a tied target gets the average over all orders.
# If $n_>$ locations score higher and $n_=$ score the same (the target included), the target is equally likely at ranks
# $n_> + 1, \dots, n_> + n_=$. So its credit at $k$ is
#
# $$
# \min\!\Big(1, \max\!\Big(0, \frac{k - n_>}{n_=}\Big)\Big), \tag{4.2}
# $$
#
# and MRR and NDCG average in the same way. Two tied for first are half a hit each. This is why the
# package keeps two numbers per window, `better` ($n_>$) and `tied` ($n_=$), instead of one rank.


# %%
def fair_accuracy(better, tied):
    """Acc@1 in percent; a target with tied = 0 is no answer at all."""
    credit = ((1 - better) / tied.clamp(min=1)).clamp(0, 1) * (tied > 0)
    return 100 * credit.double().mean().item()


fair = fair_accuracy(better, tied)
print(f"fair credit: {fair:.2f} %")

# %% [markdown]
# > **Pitfall.** In real data, ids are not random. Places are often numbered by first appearance or
# > by popularity, and then `argmax` breaks ties in favour of the popular place: a second, hidden rule.
# > We found this one when the same baseline gave two numbers in two programs.
#
# ## Groups, and the copy ceiling
#
# A single mean hides the interesting part. Split the windows in two ways. Is the target's place a
# **known location**, one that training has shown? And is it **in the window**? From here on the package does the
# ranking (`evaluate`) and the summing up (`summarize`).

# %%
rule = baselines.MostFrequent().fit(data.train)
most_frequent = evaluate(rule, data.test)
metric = ["acc@1", "acc@10", "mrr", "ndcg@10"]
groups = summarize(most_frequent).set_index("group")
groups = groups[["n", *metric[:3]]].rename(columns={"n": "windows"})
groups.rename(lambda group: group.replace("_", " ")).round(1)

# %% [markdown]
# The last row has zeros for every rule that only copies. The Acc@k of such a rule is therefore at most the share of
# targets in the window, for any $k$: the **copy ceiling** of [chapter 1](01_where_next.ipynb). With ten guesses this rule
# has nearly reached it. What is left to gain by copying is to put the right place first.
#
# ## How sure are we?
#
# We have thousands of test windows. The textbook way is the **bootstrap**: draw as many windows with
# replacement, compute the mean, do it again and again, and call the range of the middle 95 % of these means the
# 95 % interval. The bootstrap assumes that windows are independent. But they come from a
# few dozen people, and one person's windows are alike: anyone who is easy to predict on Monday is easy to
# predict on Tuesday. A new experiment would have other people in it. So draw people: the **cluster bootstrap**.

# %%
hit = metrics.gains(most_frequent)["acc@1"].to_numpy()  # (W,)
person, _ = pd.factorize(most_frequent.user_id)  # (W,)
total, count = np.bincount(person, hit), np.bincount(person)  # (U,) of each
rng = np.random.default_rng(0)
W, U = len(hit), len(total)
draws = {"windows": [], "people": []}
for _ in range(2000):
    drawn = rng.integers(W, size=W)  # windows, with replacement
    draws["windows"].append(100 * hit[drawn].mean())
for _ in range(2000):
    drawn = rng.integers(U, size=U)  # people, with replacement
    mean = total[drawn].sum() / count[drawn].sum()
    draws["people"].append(100 * mean)
ends = pd.DataFrame(draws).quantile([0.025, 0.975])
wider = np.ptp(ends.people) / np.ptp(ends.windows)
worth = W / wider**2  # the width goes with 1/√n

# %% tags=["hide-input"]
# @title Figure 4.1: drawing windows, and drawing people
look = {"bins": 60, "element": "step", "palette": [MUTED, COPIED]}
ax = sns.histplot(pd.DataFrame(draws), **look)
ax.set(xlabel="Acc@1 of the resample (%)", ylabel="resamples")
show(
    ax.figure,
    alt="Histograms of resampled accuracy. Drawing windows gives a narrow "
    "peak; drawing people a broad one.",
    caption="The same predictor, the same windows, resampled in two ways.",
)

# %% [markdown]
# The honest interval is **{{ wider:.1f }} times as wide**. For this question the windows of these few dozen people are worth
# about {{ worth:,.0f }} independent ones.
#
# `pgt.metrics.interval` draws people. Given two predictors on the same windows, it returns the interval of
# their **paired difference**, which is narrow if the same people are easy for both. To compare two models, look
# at the interval of the difference, never at whether their two intervals overlap.
#
# ## Three baselines that everybody knows
#
# - **Last**: rank the places of the window by how recently they were visited; the present place comes first.
# - **Most frequent**: see above.
# - **Markov**: where did this person go from here in training? If they never did, where did everybody go? If
#   nobody did, take the popular places.
#
# Which is best?

# %%
rules = {"last": baselines.Last(), "most frequent": baselines.MostFrequent()}
rules["Markov"] = baselines.Markov()
ranks = {
    name: evaluate(rule.fit(data.train), data.test)
    for name, rule in rules.items()
}
rows = {k: summarize(part, ["all"]).iloc[0] for k, part in ranks.items()}
pd.DataFrame(rows).T[metric].astype(float).round(1)

# %% [markdown]
# Counting one recent week beats a Markov chain fitted on months of older data.
#
# ## A kernel, term by term
#
# Our copying rules have one form. Every visit $i$ of the window, to place $l_i$, has a vote $w_i$, and a place
# $\ell$ collects the votes of its visits:
#
# $$
# \text{score}(\ell) = \sum_{i \,:\, l_i = \ell} w_i . \tag{4.3}
# $$
#
# For the most frequent place, $w_i = 1$. For the first guess of *last*, only the last visit votes. What else would you like
# to know about a past visit before you let it vote?
#
# 1. **How old is it?** Fade by age, counted in visits: $w_i = \alpha^{\,\text{age}_i}$, with
#    $0 < \alpha \le 1$. The last visit has age 0, the one before it age 1.
# 2. **What came before it?** If you are at the gym now, what you did *after the gym* counts. Is
#    $l_{i-1}$, the place before visit $i$, the place $l_L$ of the last visit, where the person is now? Then
#    $[\,l_{i-1} = l_L\,]$ is 1, else 0.
# 3. **What time was it?** *Now* is the end of the last visit, say 17:15. A visit that began at about this hour counts
#    more. Let $\delta_i$ be the minutes between its start and now, around the clock.
#
# Together:
#
# $$
# w_i = \alpha^{\,\text{age}_i}
# \Big( \beta + [\,l_{i-1} = l_L\,] + \zeta\, e^{-\delta_i / \theta} \Big). \tag{4.4}
# $$
#
# This is the **context kernel**: it compares the context of each past visit with the context now. The base $\beta$
# gives a vote even to visits that match in nothing, $\zeta$ is the weight of the hour, and $\theta$ says how many
# minutes still count as "about this hour". The fifth number is the weight of $[\,l_{i-1} = l_L\,]$, which we fix to 1
# because only ratios matter. In the code $\alpha$, $\beta$, this 1, $\zeta$ and $\theta$ are called `decay`, `base`,
# `same`, `clock` and `width`.


# %%
def votes(batch, decay, base, same, clock, width):
    """Three (B, L) votes: being there, what followed, the hour."""
    rows = torch.arange(len(batch))
    here = batch.location[rows, batch.length - 1]  # (B,) the place now
    before = torch.roll(batch.location, 1, dims=1)  # (B, L) visit before
    before[:, 0] = 0  # the window does not say
    followed = before == here[:, None]
    apart = (batch.start_minute - batch.now_minute[:, None]).abs()
    apart = torch.minimum(apart, 1440 - apart)  # 23:50 and 00:10 are near
    age = (batch.position_from_end - 1).clamp(min=0)
    fade = decay**age * ~batch.padding
    hour = torch.exp(-apart / width)
    return fade * base, fade * same * followed, fade * clock * hour


# %% [markdown]
# ## Choose on validation, report on test
#
# The numbers are chosen from a small grid, by Acc@1 on the **validation** windows. The test windows are not
# touched. A copying rule never looks at places outside the window, so we add up by *slot*: the places of a window,
# numbered within it. That is the same sum with far fewer columns.


# %%
def prepared(part):
    """All windows of a split, their slots, and where the target is."""
    batch = part.batch(np.arange(len(part)))
    slots = Slots.of(batch.location, batch.padding)
    return batch, slots, slots.place == batch.target[:, None]


def accuracy(ready, numbers):
    """Acc@1 in percent, ties counted fairly, by equation (4.2)."""
    batch, slots, right = ready
    total = slot_votes(slots, sum(votes(batch, **numbers)))  # (B, L)
    best = total == total.amax(1, keepdim=True)
    credit = (best & right).sum(1) / best.sum(1)
    return 100 * credit.double().mean().item()


valid, tests = prepared(data.valid), prepared(data.test)

# %% [markdown]
# First choose by hand. Set the decay and the weight of the hour, and see how many validation windows the rule gets right.
# (You may try as often as you like: nothing is reported on these windows.) Figure 4.2 is drawn with your numbers. They
# begin with what the machine will choose. Can you beat it?

# %%
decay = 0.98  # @param {type:"slider", min:0.8, max:1, step:0.01}
clock = 0.5  # @param {type:"slider", min:0, max:10, step:0.5}

# %%
mine = {"decay": decay, "base": 0.3, "same": 1.0}
mine |= {"clock": clock, "width": 60.0}
print(f"{accuracy(valid, mine):.1f} % of the validation windows")

# %% [markdown]
# Now let the machine choose, with one term more at each stage. Which term is worth most? Bet before you look.

# %%
GRID = baselines.ContextKernel.GRID
grid = {"decay": (1.0,), "base": (1.0,), "same": (0.0,), "clock": (0.0,)}
grid["width"] = (1.0,)
stages = {
    "frequency": {},
    "+ recency": {"decay": GRID["decay"]},
    "+ what came after here": {"base": GRID["base"], "same": (1.0,)},
    "+ time of day": {"clock": GRID["clock"], "width": GRID["width"]},
}
growth = {}
for stage, added in stages.items():
    grid |= added  # each stage keeps the terms before it
    every = itertools.product(*grid.values())
    options = [dict(zip(grid, one, strict=True)) for one in every]
    on_valid = [accuracy(valid, option) for option in options]
    chosen = options[int(np.argmax(on_valid))]
    growth[stage] = {"options": len(options), "valid, %": max(on_valid)}
    growth[stage]["test, %"] = accuracy(tests, chosen)
    growth[stage]["decay"] = chosen["decay"]
print("chosen:", *(f"{name} {value:g}" for name, value in chosen.items()))
growth = pd.DataFrame(growth).T.astype({"options": int})
growth.round(2)

# %% [markdown]
# Recency alone changes nothing: the best decay is 1, the rule of the row above. (It would favour the place where the person
# is now, and people are about to leave it.) *What came after here* is the step that counts. The hour adds a little.
#
# Is the whole gain more than luck? Take the package's kernel with the chosen numbers, and the paired difference.

# %%
kernel = baselines.ContextKernel(**chosen).fit(data.train)
ranks["kernel"] = evaluate(kernel, data.test)
low, high = interval(ranks["kernel"], against=ranks["most frequent"])
reached = growth["test, %"].iloc[-1]
print(f"kernel - most frequent: {reached - fair:+.1f} points, ", end="")
print(f"95 % interval {low:+.1f} to {high:+.1f} (people, paired)")

# %% [markdown]
# ## One window, opened
#
# What does the kernel see? Take a test window that it gets right and the most frequent place does not. Of
# these, the cell picks the one in which both cues, "what came after here" and "time of day", say much.

# %%
hits = {k: metrics.gains(part)["acc@1"] for k, part in ranks.items()}
won = (hits["kernel"] == 1) & (hits["most frequent"] == 0)
won = won & (data.test.lengths > 11) & (data.test.lengths < 22)


def both_cues(i):
    """The weaker cue's share of all votes in window i."""
    part = torch.stack(votes(data.test.batch([i]), **chosen))[:, 0]  # (3, L)
    return (part[1:].sum(1).min() / part.sum()).item()


i = max(np.flatnonzero(won), key=both_cues)
seen, goal = data.test.visits_of(i), data.test.target_of(i)
parts = [vote[0].numpy() for vote in votes(data.test.batch([i]), **mine)]
names = town.places.set_index("location_id").name.to_dict()
here = names[seen.location_id.iloc[-1]]
print(f"{seen.finished_at.iloc[-1]:%A %H:%M}, a person leaves {here}")
print(f"and goes to {names[goal.location_id]}.")

# %% tags=["hide-input"]
# @title Figure 4.2: the votes, visit by visit
is_goal = seen.location_id == goal.location_id
labels = is_goal.map({True: "✓ ", False: ""})
labels += seen.location_id.map(names)
labels += seen.started_at.dt.strftime(", %a %H:%M")
table = pd.DataFrame(parts, ["base", "followed this place", "time of day"])
look = {"color": [MUTED, COPIED, EXTRA], "figsize": (7.2, 4.2)}
ax = table.T.plot.barh(stacked=True, width=0.8, **look)
ax.set_yticks(range(len(seen)), labels, fontsize=8)
ax.invert_yaxis()
ax.set(xlabel="vote of the visit (no unit)")
still = show(
    ax.figure,
    alt="Stacked bars, one for each visit, the oldest at the top: base vote, "
    "vote for having followed the present place, vote for the hour.",
    caption="The votes, visit by visit. ✓ marks the true next place.",
)
opened, hand = (data.test, i), baselines.ContextKernel(**mine)
touch.kernel(still, hand, data.valid, opened=opened, names=names)

# %% [markdown]
# On the book's page the figure has a slider for each of the five numbers. Turn `clock` down to zero, or let `decay` fall:
# which places win and lose?
#
# Divide the votes by their sum, and they are weights that add up to one: an **attention** over the window,
# made by hand. The kernel is a pointer network without a network, and its gate is 1.
#
# ## Five numbers against a network
#
# Now the networks. The Pointer-Generator Transformer of this book (**PGT**) was trained from several seeds, and so
# was the same network without its pointer: an ordinary Transformer with a softmax over all places.
# [Chapter 9](09_model.ipynb) builds PGT, [chapter 10](10_training.ipynb) trains it; here we only read the results
# (`read_results`), as means over the seeds.

# %%
files = {"Larkmere, exact": "city", "GeoLife, exact": "geolife_exact"}
rivals = {
    "last place": {"model": "last"},
    "Markov": {"model": "markov"},
    "most frequent place": {"model": "most_frequent"},
    "PGT without pointer": {"model": "pgt", "variant": "no_pointer"},
    "PGT": {"model": "pgt", "variant": "full"},
    "context kernel": {"model": "kernel"},
}
rows = {}
for title, name in files.items():
    results = read_results(name)
    rows[title] = {k: results.mean(**who) for k, who in rivals.items()}
    pair = rivals["PGT"], rivals["context kernel"]
    rows[title]["PGT - kernel"], low, high = results.difference(*pair)
    rows[title] |= {"from": low, "to": high}
duel = pd.DataFrame(rows).T
lead = -duel.loc["GeoLife, exact", "PGT - kernel"]
duel.T.rename_axis("Acc@1, %").round(1)

# %% [markdown]
# The last two rows are the interval of the difference, over people and seeds. Larkmere flatters the kernel: the simulator
# lets people return by a rule of much the same form. We built both, so its success there proves little. But nobody built the
# people of GeoLife, and there the kernel is ahead by {{ lead:.1f }} points. It fits on one line, and its numbers
# are chosen without gradients. ([The evidence](evidence_windows.ipynb) has other settings of PGT, the protocol of the
# literature, and what of the pointer's lead is the label "unknown".)

# %% [markdown]
# This is the surprise. The idea is not new:
# [Do et al. (2015)](https://doi.org/10.1016/j.pmcj.2014.09.001) predict places from kernels over time and space, and
# [Cho et al. (2011)](https://doi.org/10.1145/2020408.2020579) weigh home and work by the hour. But the
# papers on networks that we know of compare with Markov chains and with other networks, not with a rule like this.
# For recommender systems, [Ferrari Dacrema et al. (2019)](https://doi.org/10.1145/3298689.3347058) found that simple,
# well-tuned methods beat most of the networks that they could run again.
#
# Why? Here is a hypothesis. The kernel is given the two *comparisons* that
# matter: was that visit preceded by the place where I am, and was it at this time of day? A network receives places and
# times separately, and has to discover from a few thousand windows that comparing them is useful. And the kernel
# treats a place that it has never seen like any other, since it only asks whether two visits are to the same place.
#
# So what is a network for? The kernel cannot name a place that the week does not contain, and never will; a network can
# *generate* one. It gives probabilities, and it may find cues that we did not think of.
# But anyone who claims that a network has learned how people move should first show that it beats five numbers.
#
# ## What to remember
#
# - Rank once, and compute every metric from the ranks. Count ties fairly, or the order of columns decides.
# - Report groups. A copying rule has a ceiling, the share of targets in the window.
# - Resample people, not windows. Choose on validation, report on test.
# - The context kernel lets past visits vote by age, by what came before them, and by the hour. It is a pointer
#   with attention made by hand, and it is the baseline to beat.
#
# ## Exercises
#
# **Exercise 1** (quick). Another rule that sounds reasonable: always name the place that the person visited
# most often in *training*. Score it, with ties counted fairly. What do the groups say?

# %% tags=["try"]
# over all test windows, in percent
top_one, top_ten = ..., ...  # Acc@1 and Acc@10
check.exercise("4.1", [top_one, top_ten])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
class Favourite:
    def scores(self, batch):
        return visited[batch.user]  # (B, V)


location, user = data.train.features[:2, 1:]  # (N,); column 0 is padding
visited = torch.zeros(data.vocabulary.n_users, V)
one = torch.ones(len(user))
visited.index_put_((user, location), one, accumulate=True)
visited[visited == 0] = -torch.inf
favourite = evaluate(Favourite(), data.test)
table = summarize(favourite).set_index("group")[["n", "acc@1", "acc@10"]]
check.exercise("4.1", table.loc["all", ["acc@1", "acc@10"]])
# For most people this is home. It can never name an unknown place. But look
# at Acc@10 in the last row: old favourites are a way beyond the window.
table = table.rename(columns={"n": "windows"}).round(1)
table.rename(lambda group: group.replace("_", " "))

# %% [markdown]
# **Exercise 2** (medium). Acc@$k$ has a fair credit for ties. What is the fair credit of MRR? If `b` locations score
# higher and `t` the same, the target included, average $1/\text{rank}$ over the ranks it may have. A target that is no
# answer at all has `t = 0` and gets nothing.


# %% tags=["try"]
def credit_mrr(b, t):
    """What one window contributes to MRR, 0 to 1."""
    return ...


def package_mrr(b, t):
    ranked = pd.DataFrame({"better": [b], "tied": [t]})
    return metrics.gains(ranked).mrr.iloc[0]


cases = [(0, 1), (4, 1), (0, 2), (3, 4), (0, V), (7, 0)]
check.function(credit_mrr, package_mrr, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def credit_mrr(b, t):
    return np.mean([1 / r for r in range(b + 1, b + t + 1)]) if t else 0.0


check.function(credit_mrr, package_mrr, *cases)
print(f"two tied for the first place: {credit_mrr(0, 2):.2f} each")
# Not 1, and not 1/2.

# %% [markdown]
# **Exercise 3** (medium). Choose the kernel's numbers on *test* instead, which is cheating. How much does it
# gain? Why does so little happen, and when would it be worse?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
cheated = max(accuracy(tests, option) for option in options)
print(f"honest {reached:.1f} %, by cheating {cheated:.1f} %")
# Few numbers cannot adapt to thousands of windows. A network's many epochs,
# settings and seeds can.

# %% [markdown]
# **Exercise 4** (quick, on paper). In one window a single place scores higher than the target, and three places share the
# next score, the target among them. What does the window give to Acc@1, to Acc@3 and to MRR, as numbers between 0 and 1,
# if ties are counted fairly?

# %% tags=["try"]
acc_1, acc_3, mrr = ..., ..., ...
check.exercise("4.4", [acc_1, acc_3, mrr])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
# The target may stand at rank 2, 3 or 4, each in a third of all orders.
mrr = (1 / 2 + 1 / 3 + 1 / 4) / 3
check.exercise("4.4", [0, 2 / 3, mrr])
print(f"MRR {mrr:.2f}; the mean rank, 3, would give {1 / 3:.2f}")

# %% [markdown]
# **Next:** [Embeddings](05_embeddings.ipynb), the first part of the network that gets its chance.
