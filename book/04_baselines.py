# %% [markdown]
# # Baselines
#
# Let a trained network compete with a rule of five numbers, and watch the rule win nearly every time.
#
# *You will be able to* score a model honestly: ties, groups and intervals included; write four
# baselines in a few lines each; and say what a trained network has to beat. *You need*
# [Windows](03_windows.ipynb) and PyTorch's indexing. *It takes* thirty minutes to read and less than
# a minute to run, with or without a GPU.

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
import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from wherenext import city
from wherenext.exercises import check
from wherenext.results import read_results

from pgt import baselines, metrics
from pgt.baselines import baselines as by_name
from pgt.metrics import evaluate, interval, summarize
from pgt.windows import prepare

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
# likelier place has a higher score; $-\infty$ means "not an answer". All metrics of this chapter but one depend only
# on the **rank** of the true location among the scores. So compute ranks once, and these metrics from them:
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
# Try it on three windows and five places.

# %%
scores = torch.tensor([[5.0, 4, 3, 2, 1], [1, 5, 4, 3, 2], [4, 5, 3, 2, 1]])
target = torch.tensor(
    [0, 0, 0]
)  # (B,) the first place is always the true one
own = scores.gather(1, target[:, None])  # (B, 1)
r = 1 + (scores > own).sum(1)  # (B,)

gain = {"acc@1": r <= 1, "mrr": 1 / r}
gain["ndcg@10"] = (r <= 10) / torch.log2(r + 1)
by_hand = pd.DataFrame(gain).astype(float)
better, tied = metrics.rank(scores, target)  # explained below
ranked = pd.DataFrame({"better": better, "tied": tied})
assert np.allclose(by_hand, metrics.gains(ranked)[list(by_hand)])
by_hand.assign(rank=r).rename_axis("window").round(3)

# %% [markdown]
# Each metric is the mean of its column, times 100. The one exception needs the predicted place
# instead of the rank. The **weighted F1** treats each location $\ell$ as a yes-no question and combines
# precision and recall into $F_1(\ell) = 2\,\text{TP} / (2\,\text{TP} + \text{FP} + \text{FN})$. Here TP, FP and FN count the
# true positives, false positives and false negatives: how often $\ell$ was rightly named, wrongly named, and wrongly not
# named. The mean over locations is weighted by how often $\ell$ is the target. It is lower than Acc@1 for a model that
# answers "home" too often:

# %%
truth = np.array(["home", "home", "work", "café"])
answer = np.array(["home", "home", "home", "home"])
weighted = 0
for place in np.unique(truth):
    named, true = answer == place, truth == place
    f1 = 2 * (named & true).sum() / (named.sum() + true.sum())
    weighted += f1 * true.mean()
assert np.isclose(weighted, metrics.weighted_f1(truth, answer))
acc = (answer == truth).mean()
print(f"Acc@1 {100 * acc:.1f} %, weighted F1 {100 * weighted:.1f} %")

# %% [markdown]
# ## Ties, or how to get 100 % for nothing
#
# Our line of code for the rank, `r = 1 + …`, counts the scores that are strictly higher. So a target wins every
# tie: among equals it comes first. Give all places the same score.


# %%
class Rule:
    """Turns a function of a batch into a predictor."""

    def __init__(self, scores):
        self.scores = scores


shrug = evaluate(Rule(lambda batch: torch.zeros(len(batch), V)), data.test)
won = 100 * (shrug.better == 0).mean()
print(f"Acc@1 of a shrug, ties won: {won:.1f} %")

# %% [markdown]
# That is a perfect score for a model that knows nothing. Nobody would publish it, but the same bug is common
# on a smaller scale, because simple rules tie all the time. Take "the most frequent place of the window". In a
# week with two visits to the gym and two to the bakery, it has two answers. If your code calls `argmax`, it
# takes the place with the smaller id, and that order means nothing.
#
# So shuffle the columns and watch the accuracy move, although the rule is the same. The cell also keeps the
# two extremes: the target wins all its ties, or loses all of them.


# %%
def add_up(batch, weight, n=V):
    """(B, L) weights -> (B, n) their sum per location, -inf if no visit."""
    inside, zeros = ~batch.padding, torch.zeros(len(batch), n)
    out = zeros.scatter_add(1, batch.location, weight * inside)
    seen = zeros.scatter_add(1, batch.location, inside.float())
    return out.masked_fill(seen == 0, -torch.inf)


def whole(part):
    """All windows of a split as one batch."""
    return part.batch(np.arange(len(part)))


test = whole(data.test)
counts = add_up(test, torch.ones(test.location.shape))  # (W, V)
tie = (counts == counts.max(1, keepdim=True).values).sum(1) > 1
print(
    f"{100 * tie.float().mean():.1f} % of the windows have a tie at the top"
)

# %%
better, tied = metrics.rank(counts, test.target)
generator = torch.Generator().manual_seed(0)
by_argmax = []
for _ in range(40):
    columns = torch.randperm(V, generator=generator)
    best = columns[counts[:, columns].argmax(1)]
    by_argmax.append(100 * (best == test.target).double().mean().item())
first = better == 0
ties_won = 100 * (first & (tied > 0)).double().mean().item()
ties_lost = 100 * (first & (tied == 1)).double().mean().item()

# %% [markdown]
# The fair way out is to give a tied target **fair credit**: the average over all orders. If $n_>$ locations score higher
# and $n_=$ score the same (the target included), the target is equally likely at ranks $n_> + 1, \dots, n_> + n_=$.
# So its credit at $k$ is
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

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from wherenext import touch
from wherenext.figures import COPIED, EXTRA, MUTED, TRUTH, show

from pgt import plots

rows = {
    "ties lost": ([ties_lost], "<", EXTRA),
    "argmax, 40 column orders": (by_argmax, "|", MUTED),
    "ties won": ([ties_won], ">", EXTRA),
    "fair credit": ([fair], "D", TRUTH),
}
fig, ax = plt.subplots(figsize=(6.8, 2.5))
for at, (values, marker, colour) in enumerate(rows.values()):
    look = {"color": colour, "ms": 9, "ls": "none", "mew": 1.5}
    ax.plot(values, [at] * len(values), marker, **look)
ax.axvline(fair, color=TRUTH, lw=1, ls="--")
ax.set(yticks=range(len(rows)), yticklabels=rows, ylim=(3.5, -0.5))
ax.set(xlabel="Acc@1 of the most frequent place (%)")
show(
    fig,
    alt="Acc@1 of one rule under four treatments of ties: "
    f"{ties_lost:.1f} per cent if ties count as lost, between "
    f"{min(by_argmax):.1f} and {max(by_argmax):.1f} with argmax depending on "
    f"the order of the columns, {ties_won:.1f} if ties count as won, and "
    f"{fair:.1f} with fair credit.",
    caption="One rule, one set of windows, four treatments of ties. Dashed: "
    "fair credit, the mean of what argmax can give.",
)

# %%
rule = baselines.MostFrequent().fit(data.train)
most_frequent = evaluate(rule, data.test)
theirs = summarize(most_frequent, ["all"])["acc@1"].iloc[0]
assert np.isclose(theirs, fair)
assert np.allclose(metrics.gains(shrug)["acc@1"], 1 / V)  # as it deserves
print(f"ties lost {ties_lost:.1f} %, won {ties_won:.1f} %, fair {fair:.2f} %")

# %% [markdown]
# > **Pitfall.** In real data, ids are not random. Places are often numbered by first appearance or
# > by popularity, and then `argmax` breaks ties in favour of the popular place: a second, hidden rule.
# > We found this one when the same baseline gave two numbers in two programs.
#
# ## Groups, and the copy ceiling
#
# A single mean hides the interesting part. Split the windows in two ways. Is the target's place a
# **known location**, one that training has shown? And is it **in the window**?

# %%
metric = ["acc@1", "acc@5", "acc@10", "mrr", "ndcg@10", "f1"]
groups = summarize(most_frequent).set_index("group")[["n", *metric]].round(1)
groups.rename(columns={"n": "windows"}).rename(lambda k: k.replace("_", " "))

# %% [markdown]
# The last row (*not in window*) has zeros for every rule that only copies. The Acc@k of such a rule is
# therefore at most the share of targets in the window, for any $k$. This **copy ceiling** tells you how to read
# Acc@10: a copying model near the ceiling has nothing left to gain there.

# %% tags=["hide-input"]
ceiling = 100 * data.test.in_window.mean()
at_ten = groups["acc@10"]["all"]
Markdown(
    f"Ceiling: {ceiling:.1f} %. The most frequent place reaches {fair:.1f} "
    f"% at 1 and {at_ten:.1f} % at 10. So when the true place is in the "
    "window, it is almost always in the list of ten. What is left to gain "
    "by copying is to put it first."
)

# %% [markdown]
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
by_window, by_user = [], []
for _ in range(2000):
    drawn = rng.integers(W, size=W)  # windows, with replacement
    by_window.append(100 * hit[drawn].mean())
for _ in range(2000):
    drawn = rng.integers(U, size=U)  # people, with replacement
    by_user.append(100 * total[drawn].sum() / count[drawn].sum())

# %% tags=["hide-input"]
draws = {"windows": by_window, "people": by_user}
width = {
    name: np.ptp(np.quantile(part, [0.025, 0.975]))
    for name, part in draws.items()
}
looks = {
    "windows": {"color": MUTED, "alpha": 0.6},
    "people": {"color": TRUTH, "histtype": "step", "lw": 2},
}
fig, ax = plt.subplots(figsize=(6.8, 2.9))
bins = np.linspace(min(by_user), max(by_user), 60)
for name, look in looks.items():
    ax.hist(draws[name], bins, label=f"drawing {name}", **look)
ax.set(xlabel="Acc@1 of the resample (%)", ylabel="resamples")
ax.legend()
show(
    fig,
    alt="Histograms of resampled accuracy. Drawing windows gives a narrow "
    f"peak, its 95 per cent interval {width['windows']:.1f} points wide; "
    f"drawing people a broad one, {width['people']:.1f} points wide.",
    caption="The same predictor, the same windows, resampled in two ways. "
    "Filled: windows. Outline: people.",
)

# %% tags=["hide-input"]
largest = np.sort(count)[::-1]
wider = width["people"] / width["windows"]
Markdown(
    f"The honest interval is **{wider:.2f} times as wide**. The width "
    "is proportional to 1/√n for n independent windows. So for this "
    f"question the windows of {len(count)} people are worth "
    f"{len(hit):,} / {wider:.2f}² ≈ {len(hit) / round(wider, 2) ** 2:,.0f} "
    "independent ones. (The five busiest "
    f"people alone hold {100 * largest[:5].sum() / count.sum():.0f} % of "
    "them.)"
)

# %% [markdown]
# `pgt.metrics.interval` draws people. Given two predictors on the same windows, it returns the interval of
# their **paired difference**. It is narrow if the same people are easy for both. To compare two models, look
# at the interval of the difference, never at whether their two intervals overlap.
#
# ## Three baselines that everybody knows
#
# - **Last**: rank the places of the window by how recently they were visited; the present place comes first.
# - **Most frequent**: see above.
# - **Markov**: where did this person go from here in training? If they never did, where did everybody go? If
#   nobody did, take the popular places.


# %%
def last(batch):
    """(B, V) minus how many visits ago each location was last seen."""
    ago = batch.position_from_end.float()
    ago = -ago.masked_fill(batch.padding, torch.inf)
    never = torch.full((len(batch), V), -torch.inf)
    return never.scatter_reduce(1, batch.location, ago, "amax")


def most_frequent_place(batch):
    """(B, V) visits in the window."""
    return add_up(batch, torch.ones(batch.location.shape))


# %%
location, user = data.train.features[:2, 1:]  # (N,); column 0 is padding
own = defaultdict(Counter)  # (person, here) -> next places
everybody = torch.zeros(V, V)
popular = torch.bincount(location, minlength=V).float()
for k in range(len(location) - 1):
    here, there = int(location[k]), int(location[k + 1])
    if user[k] == user[k + 1]:
        own[int(user[k]), here][there] += 1
        everybody[here, there] += 1


# %%
def place_now(batch):
    """(B,) the location of the last visit."""
    return batch.location[torch.arange(len(batch)), batch.length - 1]


def markov(batch):
    """(B, V) own transitions, a little of everybody's, less of popularity."""
    here = place_now(batch)
    leaving = everybody[here].sum(1, keepdim=True).clamp(min=1)
    scores = everybody[here] / leaving * 1e-3
    scores = scores + popular / popular.sum() * 1e-6
    pairs = zip(batch.user.tolist(), here.tolist(), strict=True)
    for row, key in enumerate(pairs):
        for place, n in own.get(key, {}).items():
            scores[row, place] += n
    return scores.masked_fill(scores == 0, -torch.inf)


# %%
ours = {"last": last, "most_frequent": most_frequent_place, "markov": markov}
some = data.test.batch(np.arange(0, len(data.test), 5))
ranks, rows = {}, {}
for name, package in by_name().items():
    if name in ours:
        theirs = package.fit(data.train).scores(some)
        assert torch.equal(ours[name](some), theirs), name
for name, rule in ours.items():
    ranks[name] = evaluate(Rule(rule), data.test)
    rows[name.replace("_", " ")] = summarize(ranks[name], ["all"]).iloc[0]
pd.DataFrame(rows).T[metric].astype(float).round(1)

# %% [markdown]
# The assertions say that these few lines *are* `pgt.baselines`. Counting one recent week beats a Markov chain
# fitted on months of older data.
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
# For the most frequent place, $w_i = 1$. For the first guess of *last*, only the last visit votes. What else would you like to know about a past visit before you let
# it vote?
#
# 1. **How old is it?** Fade by age, counted in visits (not in days, as recency was in [chapter 3](03_windows.ipynb)): $w_i = \alpha^{\,\text{age}_i}$, with
#    $0 < \alpha \le 1$. The last visit has age 0, the one before it age 1.
# 2. **What came before it?** If you are at the gym now, what you did *after the gym* counts. Is
#    $l_{i-1}$, the place before visit $i$, the place $l_L$ of the last visit, where the person is now? Then
#    $[\,l_{i-1} = l_L\,]$ is 1, else 0.
# 3. **What time was it?** Suppose that it is 17:15 now. A visit that began at about this hour counts more. Let $\delta_i$ be
#    the minutes between its start and now, around the clock. Now is the end of the last visit.
#
# Together:
#
# $$
# w_i = \alpha^{\,\text{age}_i} \Big( \beta + [\,l_{i-1} = l_L\,] + \zeta\, e^{-\delta_i / \theta} \Big). \tag{4.4}
# $$
#
# This is the **context kernel**: it compares the context of each past visit with the context now. The base $\beta$
# gives a vote even to visits that match in nothing, $\zeta$ is the weight of the hour, and $\theta$ says how many
# minutes still count as "about this hour". The fifth number is the weight of $[\,l_{i-1} = l_L\,]$, which we fix to 1
# because only ratios matter. In the code the five are called `decay`, `base`, `same`, `clock` and `width`.


# %%
def evidence(batch, decay, base, same, clock, width):
    """Three (B, L) votes: being there, what followed, the hour."""
    before = torch.roll(batch.location, 1, dims=1)  # (B, L) visit before
    before[:, 0] = 0  # the window does not say
    followed = before == place_now(batch)[:, None]
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
# touched. Scoring $V$ columns for hundreds of options would take a while. But a copying rule never looks at places
# outside the window, so each place gets the number of the first visit to it in the window. The votes and the
# ranks stay the same, with far fewer columns. `renumber` does only that; skip its inside on a first reading.


# %%
def renumber(batch):
    """Places by first visit; a target from elsewhere becomes L + 1."""
    place = batch.location  # (B, L)
    equal = place[:, :, None] == place[:, None, :]  # (B, L, L)
    first = 1 + equal.int().argmax(2)  # (B, L) first visit to this place
    is_target = place == batch.target[:, None]  # (B, L)
    at = is_target.int().argmax(1, keepdim=True)
    target = first.gather(1, at).squeeze(1)
    target[~is_target.any(1)] = first.shape[1] + 1
    location = first.masked_fill(batch.padding, 0)
    return replace(batch, location=location, target=target)


def accuracy(batch, numbers):
    """Acc@1 in percent on a renumbered batch, ties counted fairly."""
    votes = sum(evidence(batch, **numbers))
    scores = add_up(batch, votes, batch.location.shape[1] + 2)
    return fair_accuracy(*metrics.rank(scores, batch.target))


# %%
small = {k: renumber(whole(getattr(data, k))) for k in ("valid", "test")}
frequency = {"decay": 1.0, "base": 1.0, "same": 0.0, "clock": 0.0}
frequency["width"] = 1.0
assert np.isclose(accuracy(small["test"], frequency), fair)


# %%
def every_option(grid):
    """All combinations of the listed values, as dicts."""
    combinations = itertools.product(*grid.values())
    return [dict(zip(grid, values, strict=True)) for values in combinations]


GRID = baselines.ContextKernel.GRID
stages = {
    "frequency": {name: (value,) for name, value in frequency.items()},
    "+ recency": {"decay": GRID["decay"]},
    "+ what came after here": {"base": GRID["base"], "same": (1.0,)},
    "+ time of day": {"clock": GRID["clock"], "width": GRID["width"]},
}

# %%
grid, growth, numbers = {}, {}, {}
for stage, added in stages.items():
    grid |= added  # each stage keeps the terms before it
    options = every_option(grid)
    on_valid = [accuracy(small["valid"], option) for option in options]
    chosen = numbers[stage] = options[int(np.argmax(on_valid))]
    growth[stage] = {
        "options": len(options),
        "valid, %": max(on_valid),
        "test, %": accuracy(small["test"], chosen),
    } | chosen
pd.DataFrame(growth).T.astype({"options": int}).round(2)

# %% tags=["hide-input"]
table = pd.DataFrame(growth).T
valid, reached = table["valid, %"], table["test, %"]
fig, ax = plt.subplots(figsize=(6.8, 3.3))
label = "validation (where the numbers were chosen)"
ax.plot(table.index, valid, "s--", color=MUTED, label=label)
ax.plot(table.index, reached, "o-", color=COPIED, label="test")
text = {"textcoords": "offset points", "ha": "center"}
for at, (value, other) in enumerate(zip(reached, valid, strict=True)):
    shift = 8 if value > other else -17
    ax.annotate(f"{value:.1f}", (at, value), (0, shift), **text)
both = np.r_[valid, reached]
ax.set(ylabel="Acc@1 (%)", ylim=(both.min() - 4, both.max() + 2))
ax.margins(x=0.1)
ax.legend(loc="lower right")
said = [f"{name} {value:.1f}" for name, value in reached.items()]
show(
    fig,
    alt="Acc@1 on test, term by term: " + ", ".join(said) + " per cent. "
    "The validation curve, dashed, runs beside it.",
    caption="The kernel grows by one term at a time; its numbers are chosen "
    "anew at each step.",
)

# %% [markdown]
# Not every step is a step up. Which steps help? Look at the paired
# difference from one stage to the next, with its interval.

# %%
staged = {}
for stage, option in numbers.items():
    kernel = baselines.ContextKernel(**option).fit(data.train)
    staged[stage] = evaluate(kernel, data.test)
steps = {}
for before, stage in itertools.pairwise(staged):
    low, high = interval(staged[stage], against=staged[before])
    gain = reached[stage] - reached[before]
    steps[stage] = {"gain on test, points": gain, "from": low, "to": high}
pd.DataFrame(steps).T.round(2)

# %% tags=["hide-input"]
assert numbers["+ recency"] == numbers["frequency"]
faded = accuracy(small["test"], frequency | {"decay": 0.9})
stay = summarize(ranks["last"], ["all"])["acc@1"].iloc[0]
later = [f"{numbers[stage]['decay']:g}" for stage in list(stages)[2:]]
Markdown(
    "Recency changes nothing: on validation the best decay is 1, and that "
    "is the rule of the row above. Recency alone favours the place where the "
    f"person is now. But people stay there in only {stay:.0f} % of the "
    "windows, and "
    f"with a decay of 0.9 test falls to {faded:.1f} %. Together with what "
    f"came after here, a decay below 1 is chosen ({', then '.join(later)}). "
    "What came after here is the step that counts. The hour adds a little."
)

# %% [markdown]
# Other people may need other numbers. Here are those that the same procedure chose for each data set.

# %%
titles = {
    "city": "Larkmere, exact",
    "geolife_published": "GeoLife, published",
    "geolife_exact": "GeoLife, exact",
}
files = {name: read_results(name) for name in titles}
fitted = {"Larkmere, chosen above": chosen}
for name, title in titles.items():
    run = files[name].header["runs"]["kernel-full-unknown-None"]
    fitted[f"{title}, results file"] = {key: run[key] for key in chosen}
pd.DataFrame(fitted).T

# %% tags=["hide-input"]
lists = {name: GRID[name] for name in GRID if len(GRID[name]) > 1}
short = [
    f"{who.removesuffix(', results file')}: "
    + " and ".join(f"`{k}` = {run[k]:g}" for k in found)
    for who, run in fitted.items()
    if (found := [k for k, v in lists.items() if run[k] in (v[0], v[-1])])
]
gaps = valid - reached
Markdown(
    "In Beijing the hour gets more weight and more width. A number at the "
    "end of its list hints that the list was too short ("
    + ("; ".join(short) or "there is none")
    + "). Now look once more at the two curves of the figure. Where nothing "
    f"is chosen, validation is {gaps['frequency']:.1f} points above test. "
    "This gap comes from the days: validation and test cover different "
    "stretches of time. Overfitting would widen it with each option that is "
    f"tried. But where {len(options)} were tried, validation is "
    f"{abs(gaps['+ time of day']):.1f} points "
    f"{'above' if gaps['+ time of day'] > 0 else 'below'} test."
)

# %% [markdown]
# Is it the package's kernel?

# %%
kernel = baselines.ContextKernel(**chosen).fit(data.train)
ours = add_up(some, sum(evidence(some, **chosen)))
assert torch.allclose(ours, kernel.scores(some))
ranks["kernel"] = evaluate(kernel, data.test)
theirs = summarize(ranks["kernel"], ["all"])["acc@1"].iloc[0]
assert np.isclose(theirs, reached["+ time of day"])

low, high = interval(ranks["kernel"], against=ranks["most_frequent"])
print(
    f"kernel - most frequent: {theirs - fair:+.1f} points, 95 % interval "
    f"{low:+.1f} to {high:+.1f} (people, paired)"
)

# %% [markdown]
# ## One window, opened
#
# What does the kernel see? Take a test window that it gets right and the most frequent place does not. Of
# these, the cell picks the one in which both cues, "what came after here" and "time of day", say much.

# %%
hits = {
    name: metrics.gains(ranks[name])["acc@1"].to_numpy() for name in ranks
}
better = (hits["kernel"] == 1) & (hits["most_frequent"] == 0)
long = (data.test.lengths > 11) & (data.test.lengths < 22)


def clear(i):
    """(the weaker cue's share of all votes, the votes (3, L)) of window i."""
    part = torch.stack(evidence(data.test.batch([i]), **chosen))[:, 0]
    return (part[1:].sum(1).min() / part.sum()).item(), part.numpy()


i = max(np.flatnonzero(better & long), key=lambda i: clear(i)[0])
base, after, clock = clear(i)[1]  # (L,) each
seen, goal = data.test.visits_of(i), data.test.target_of(i)

# %% tags=["hide-input"]
names = dict(zip(town.places.location_id, town.places.name, strict=True))
now = seen.finished_at.iloc[-1]
print(
    f"Person {goal.user_id}, {now:%A %H:%M}, leaves "
    f"{names[seen.location_id.iloc[-1]]}, goes to {names[goal.location_id]}"
)

# %% tags=["hide-input"]
labels = []
for place, start in zip(seen.location_id, seen.started_at, strict=True):
    mark = "✓ " if place == goal.location_id else ""
    labels.append(f"{mark}{names[place]}, {start:%a %H:%M}")
fig, ax = plt.subplots(figsize=(7.2, 0.8 + 0.27 * len(seen)))
at = np.arange(len(seen))
bars = {
    "base": (0, base, {"color": MUTED}),
    "followed this place": (base, after, {"color": COPIED}),
    "time of day": (base + after, clock, {"color": EXTRA, "hatch": "///"}),
}
for label, (left, value, look) in bars.items():
    look |= {"edgecolor": "white", "lw": 0, "label": label}
    ax.barh(at, value, left=left, **look)
ax.set_yticks(at, labels, fontsize=8)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlabel="vote of the visit (no unit)")
ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.14), ncols=3)
votes = pd.Series(base + after + clock, index=seen.location_id)
votes = votes.groupby(level=0).sum().sort_values(ascending=False)
share = votes / votes.sum()
still = show(
    fig,
    alt=f"Stacked bars, one for each of the {len(seen)} visits, oldest at "
    "the top: base vote, vote for having followed the present place, vote "
    f"for the hour. Added up by place, {names[share.index[0]]} has "
    f"{share.iloc[0]:.0%} of all votes; it is the true next place.",
    caption=f"The votes at {now:%H:%M} on a {now:%A}, visit by visit. "
    "✓ marks visits to the true next place.",
)
opened = (data.test, i)
touch.kernel(still, kernel, data.valid, opened=opened, names=names)

# %% [markdown]
# On the book's page the figure has a slider for each of the five numbers. Turn `clock` down to zero, or let `decay` fall:
# which places win and lose, and how many of the validation windows does the rule then get right? Test windows
# are not counted here, so you may try as often as you like.
#
# Divide the votes by their sum, and they are weights that add up to one: an **attention** over the window,
# made by hand. The kernel is a pointer network without a network, and its gate is 1. So it can be drawn on
# the same map as the model of [chapter 1](01_where_next.ipynb).

# %% tags=["hide-input"]
from wherenext.ground import ground, located

from pgt.maps import attention_map

voted = seen.assign(attention=(base + after + clock) / votes.sum())
likeliest = share.head(5).rename("probability").reset_index()
attention_map(
    located(voted, town),
    guesses=located(likeliest, town),
    truth=located(goal, town),
    ground=ground(town.base),
    alt="Map of one window: the kernel's votes as circles, the likeliest "
    "places as rings, and the true one",
    caption="The kernel's votes in place of the pointer's attention: the "
    "blue circles. Dashed rings: the five places with the most votes. Green "
    "ring: where the person went.",
)

# %% [markdown]
# ## Five numbers against a network
#
# Now the networks. The Pointer-Generator Transformer of this book (**PGT**) was trained from several seeds. So
# was the same network without its pointer: an ordinary Transformer with a softmax over all places.
# [Chapter 9](09_model.ipynb) builds PGT, [chapter 10](10_training.ipynb) trains it; here we only read the results.


# %% tags=["hide-input"]
def contest(results, target_time):
    """Acc@1 and its interval for every model of a results file."""
    network = {"model": "pgt", "target_time": target_time}
    rows = {
        "last place": {"model": "last"},
        "Markov": {"model": "markov"},
        "most frequent place": {"model": "most_frequent"},
        "PGT without pointer": network | {"variant": "no_pointer"},
        "PGT": network | {"variant": "full"},
        "context kernel": {"model": "kernel"},
    }
    rows = {
        k: where for k, where in rows.items() if len(results.select(**where))
    }
    means = {name: results.mean(**where) for name, where in rows.items()}
    return means, {k: results.interval(**where) for k, where in rows.items()}


def seeds(name):
    """How many seeds the networks of a results file have."""
    return len(files[name].select(model="pgt", variant="no_pointer"))


def bars(name, target_time, data, protocol, caption):
    values, intervals = contest(files[name], target_time)
    said = ", ".join(
        f"{model} {value:.1f}" for model, value in values.items()
    )
    ax = plots.bars(
        values,
        intervals=intervals,
        highlight=["context kernel"],
        xlabel=f"Acc@1 on test (%), {protocol}",
    )
    alt = f"{data}, Acc@1: {said} per cent."
    return show(ax.figure, alt=alt, caption=caption)


bars(
    "city",
    "unknown",
    "Larkmere",
    "exact places",
    "Larkmere (simulated). Lines: 95 % intervals, people resampled; networks "
    f"are means of {seeds('city')} seeds, resampled too.",
)

# %% [markdown]
# Before you draw a conclusion: this town flatters the kernel. The simulator lets people return to places by a
# rule of much the same form: recent visits weigh (a little) more, and so do those that followed the present place and those at
# this hour. We built both, so the kernel's success here proves little.
#
# So look at people whom nobody built: GeoLife, under the *published* protocol, whose windows go back from the target's
# day. PGT has the settings that its design documents ([the original specification](https://where-next-book.github.io/where-next/book/errata.html)) name for GeoLife. With
# these settings it knows the day of the target, which no baseline does.

# %% tags=["hide-input"]
bars(
    "geolife_published",
    "day",
    "GeoLife",
    "unknown places merged",
    "GeoLife, published protocol. Lines: 95 % intervals, people resampled; "
    f"networks are means of {seeds('geolife_published')} seeds, resampled "
    "too, and know the target's day.",
)

# %% [markdown]
# Intervals may overlap although the models differ, so let us judge by paired differences. A network trained with other
# seeds would score differently, so its seeds are drawn with replacement as well. The third block of the table uses the
# *exact* protocol: it keeps the real places of GeoLife apart, and no model knows the target's time. In the table,
# *full* is PGT with all its parts (on GeoLife with the documented settings, in the town with the package's default ones),
# and *no pointer* and *no generator* lack one of them. On GeoLife, *default* is PGT with the package's default settings, and *tuned* has the best of ten, by one
# seed on the validation windows of the published protocol; in the exact protocol PGT keeps these, while the kernel's
# numbers are chosen anew. Intervals on GeoLife are somewhat too narrow ([chapter 23](23_real_cities.ipynb)).


# %%
def duel(results, **where):
    """A network's mean Acc@1 minus the kernel's, with paired interval."""
    gap, low, high = results.difference(where, {"model": "kernel"})
    ahead = "network ahead" if low > 0 else "cannot tell"
    verdict = "kernel ahead" if high < 0 else ahead
    gap, low, high = (round(value, 1) for value in (gap, low, high))
    return {"network - kernel": gap, "from": low, "to": high, "": verdict}


rows, keys = {}, ["variant", "target_time"]
for name, title in titles.items():
    trained = files[name].select(model="pgt")[keys].drop_duplicates()
    for variant, time in trained.itertuples(index=False):
        where = {"variant": variant, "target_time": time}
        text = variant.replace("_", " ")
        text += "" if time == "unknown" else ", knows the day"
        rows[title, text] = duel(files[name], model="pgt", **where)
verdicts = pd.DataFrame.from_dict(rows, orient="index")
verdicts.rename_axis(["data", "PGT"])

# %% tags=["hide-input"]
gap = verdicts["network - kernel"]
complete = gap[[not name.startswith("no ") for _, name in gap.index]]
said = []
for title in titles.values():
    ends = sorted({complete[title].max(), complete[title].min()})[::-1]
    ends = " to ".join(f"{end:+.1f}" for end in ends)
    said.append(f"{title}: {ends}".replace("-", "−"))
real = gap["GeoLife, exact"].map(lambda x: f"{x:+.1f}".replace("-", "−"))
Markdown(
    "The whole network, in all its settings, against the kernel, in points: "
    f"{'; '.join(said)}. On GeoLife's real places the network is even closer "
    f"*without* its generator ({real['no generator']}) than as documented "
    f"({real['full']}). The rule fits on one line. One of its five numbers "
    f"is fixed, and four are chosen from {len(options)} combinations, "
    "without gradients."
)

# %% [markdown]
# This is the surprise: at the first guess, such a rule is level with these networks or above. The idea is not new:
# [Do et al. (2015)](https://doi.org/10.1016/j.pmcj.2014.09.001) predict places from kernels over time and space, and
# [Flashback](https://doi.org/10.24963/ijcai.2020/302) weighs a network's past states by such cues.
# Before them, [Cho et al. (2011)](https://doi.org/10.1145/2020408.2020579) modelled a person's position as a mixture of
# Gaussians around home and work, whose weights change with the hour, plus visits that depend on friends. But the papers on
# networks that we know of compare with Markov chains and with other networks, not with a rule like this.
# For recommender systems, [Ferrari Dacrema et al. (2019)](https://doi.org/10.1145/3298689.3347058) found that simple,
# well-tuned methods beat most of the networks that they could run again.
#
# Why? Here is a hypothesis. The kernel is given the two *comparisons* that
# matter: was that visit preceded by the place where I am, and was it at this time of day? A network receives places and
# times separately, and has to discover from a few thousand windows that comparing them is useful. And the kernel
# treats a place that it has never seen like any other, since it only asks whether two visits are to the same place.
#
# The table also holds a warning for a book about pointers. Without its pointer the network is much worse, in
# the town and on GeoLife. But how much of that is skill? Split what it loses on GeoLife, published, by group.

# %%
published, groups = files["geolife_published"], ("all", "known", "unknown")
split = {}
for title, variant in (("with pointer", "full"), ("without", "no_pointer")):
    where = {"model": "pgt", "variant": variant, "target_time": "day"}
    split[title] = {g: published.mean(group=g, **where) for g in groups}
table = pd.DataFrame(split).rename_axis("Acc@1, %")
table["difference"] = table["with pointer"] - table["without"]
table.round(1)

# %% [markdown]
# Part of the gap is the label "unknown". Training contains no such target, so a softmax over places never learns
# to say it, while a pointer can copy it and be credited for a place it has not named. On known places the pointer
# still helps, but less than the headline says. That is why we report groups.
#
# The groups also show what the kernel cannot do.

# %%
groups = ("all", "unknown", "in_window", "not_in_window")
short = {"city": "Larkmere", "geolife_exact": "GeoLife, exact"}
models = {"kernel": {"model": "kernel"}}
models["PGT"] = {"model": "pgt", "variant": "full"}
at_ten = {}
for (name, title), model in itertools.product(short.items(), models):
    mean, where = files[name].mean, models[model]
    at_ten[title, model] = {
        g: mean("acc@10", group=g, **where) for g in groups
    }
table = pd.DataFrame(at_ten).rename(lambda group: group.replace("_", " "))
table.rename_axis("Acc@10, %").round(1)

# %% [markdown]
# In the last row the kernel has a zero, and always will: it cannot name a place that the week does not contain. The
# network can *generate* one, but makes little of this chance. Remember that when we build its generator.
#
# So what is a network for? For the cases beyond the window, for probabilities, for cues that we did not think of.
# But anyone who claims that a network has learned how people move should first show that it beats five numbers.
#
# ## What to remember
#
# - Rank once, and compute every metric from the ranks. Count ties fairly, or the order of columns decides.
# - Report groups. A copying rule has a ceiling, the share of targets in the window.
# - Resample people, not windows. To compare two models, take the interval of their paired difference.
# - Choose on validation, report on test.
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
visited = torch.zeros(data.vocabulary.n_users, V)
one = torch.ones(len(user))
visited.index_put_((user, location), one, accumulate=True)
visited[visited == 0] = -torch.inf
favourite = evaluate(Rule(lambda batch: visited[batch.user]), data.test)
everyone = summarize(favourite, ["all"])
check.exercise("4.1", everyone[["acc@1", "acc@10"]].iloc[0])
# For most people this is home. The rule can never name an unknown place. On
# known ones, too, it is worse than the most frequent place of the week. But
# compare Acc@10 in the last row with the network's: old favourites are a way
# beyond the window.
table = summarize(favourite).set_index("group")[["n", "acc@1", "acc@10"]]
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
# gain? Then cheat harder, with a finer and wider grid. Why does so little happen, and when would it be worse?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
more = {"decay": (0.97, 1.02), "width": (45.0, 360.0)}
finer = GRID | {name: GRID[name] + values for name, values in more.items()}
grids = {
    "the grid of the chapter": options,
    "a finer and wider grid": every_option(finer),
}
for name, grid in grids.items():
    by_split = {
        k: np.array([accuracy(part, option) for option in grid])
        for k, part in small.items()
    }
    cheated = by_split["test"].max()
    honest = by_split["test"][by_split["valid"].argmax()]
    if grid is options:
        check.same(honest, reached["+ time of day"], name="the honest choice")
    print(f"{name}: honest {honest:.1f} %, by cheating {cheated:.1f} %")
# Few numbers cannot adapt to thousands of windows. A network's many epochs,
# settings and seeds can.

# %% [markdown]
# **Exercise 4** (longer). The simulator knows one more cue: on weekends people repeat weekends. Multiply a vote
# by a sixth number, the factor, if either the visit or the present is on a weekend but not both, and choose the
# factor on validation. Take the weekday of the last visit for the present. Does test improve? A first check:
# with a factor of one the score must stay the same.


# %% tags=["try"]
def with_weekend(batch, factor, numbers):
    """Acc@1 in percent, on a renumbered batch."""
    return ...


plain = accuracy(small["test"], chosen)
same = with_weekend(small["test"], 1.0, chosen)
check.same(same, plain, name="factor one")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def with_weekend(batch, factor, numbers):
    weekend = batch.weekday > 5  # (B, L)
    present = weekend[torch.arange(len(batch)), batch.length - 1]  # (B,)
    other = torch.where(weekend == present[:, None], 1.0, factor)
    votes = sum(evidence(batch, **numbers)) * other
    scores = add_up(batch, votes, batch.location.shape[1] + 2)
    return fair_accuracy(*metrics.rank(scores, batch.target))


same = with_weekend(small["test"], 1.0, chosen)
check.same(same, plain, name="factor one")
rows = {}
for factor in (0.25, 0.5, 0.75, 1.0, 1.5):
    rows[factor] = {
        f"{name}, %": with_weekend(part, factor, chosen)
        for name, part in small.items()
    }
rows = pd.DataFrame(rows).T.rename_axis("factor")
print("the factor that validation chooses:", rows["valid, %"].idxmax())
# A factor of one is the rule without the cue: so test does not improve.
# Another row may look better on test, but test must not choose.
rows.round(2)

# %% [markdown]
# **Exercise 5** (project). Seven days are a short memory. Give the kernel 28 and compare *on the same targets*.
# Then let the decay be chosen again: is a longer memory better, and must it then fade faster?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
month = prepare(town.visits, days=28, protocol="exact")


def ranked(batch, users, numbers):
    """The ranks of a renumbered batch, as `interval` wants them."""
    votes = sum(evidence(batch, **numbers))
    scores = add_up(batch, votes, batch.location.shape[1] + 2)
    better, tied = metrics.rank(scores, batch.target)
    ranks = pd.DataFrame({"user_id": users, "better": better, "tied": tied})
    return ranks.assign(known=True, in_window=True)


batch, rows, with_week = {}, {}, None
for name, memory in (("7 days", data), ("28 days", month)):
    for split in ("valid", "test"):
        part = getattr(memory, split)
        in_both = np.isin(part.target, getattr(month, split).target)
        in_both &= np.isin(part.target, getattr(data, split).target)
        part = part.subset(in_both)
        batch[split] = renumber(whole(part))
    decays = [
        chosen | {"decay": d} for d in (0.9, 0.95, 0.97, 0.98, 0.99, 1.0)
    ]
    on_valid = [accuracy(batch["valid"], option) for option in decays]
    best = decays[int(np.argmax(on_valid))]
    for which, option in (("as chosen above", chosen), ("again", best)):
        ranks_of = ranked(batch["test"], part.users, option)
        with_week = ranks_of if with_week is None else with_week
        low, high = interval(ranks_of, against=with_week)
        rows[name, f"decay {which}"] = {
            "decay": option["decay"],
            "test windows": len(part),
            "in the window, %": 100 * part.in_window.mean(),
            "Acc@1, %": accuracy(batch["test"], option),
            "gain, from": low,
            "to": high,
        }
rows = pd.DataFrame(rows).T.astype({"test windows": int})
check.same(*rows["test windows"].iloc[[0, -1]], name="the same targets")
# A longer memory is better already at the old decay. It need not fade faster:
# the decay that is chosen again adds nothing.
rows.round(2)

# %% [markdown]
# **Exercise 6** (quick, on paper). In one window a single place scores higher than the target, and three places share the
# next score, the target among them. What does the window give to Acc@1, to Acc@3 and to MRR, as numbers between 0 and 1,
# if ties are counted fairly?

# %% tags=["try"]
acc_1, acc_3, mrr = ..., ..., ...
check.exercise("4.6", [acc_1, acc_3, mrr])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 6", "code_prompt_hide": "Hide solution 6"}
# @title Solution 6
# The target may stand at rank 2, 3 or 4, each in a third of all orders.
mrr = (1 / 2 + 1 / 3 + 1 / 4) / 3
check.exercise("4.6", [0, 2 / 3, mrr])
print(f"MRR {mrr:.2f}; the mean rank, 3, would give {1 / 3:.2f}")

# %% [markdown]
# **Next:** [Embeddings](05_embeddings.ipynb), the first part of the network that gets its chance.
