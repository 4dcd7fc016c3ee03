# %% [markdown]
# # Baselines
#
# *You will be able to* score a model honestly: ties, groups and intervals included; write four
# baselines in a few lines each; and say what a trained network has to beat. *You need*
# [Windows](03_windows.ipynb) and PyTorch's indexing. *It takes* thirty minutes to read and about
# twenty seconds to run, with or without a GPU.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from pgt import baselines, city, metrics, ranking
from pgt.analysis.results import read_results
from pgt.exercises import check
from pgt.intervals import interval
from pgt.look import Look
from pgt.metrics import evaluate, summarize
from pgt.viz import plots, prediction_map
from pgt.viz.figures import COPIED, EXTRA, MUTED, TRUTH, show
from pgt.windows import prepare

town = city.load()
data = prepare(town.visits, protocol="exact")
V = data.vocabulary.n_locations
print(data.counts(), f"windows, {V:,} location ids")

# %% [markdown]
# A model that is right in four cases out of ten: is that good? The number alone says nothing. It gets
# a meaning from two companions. One is what a simple rule reaches on the same windows. The other is how
# much the number would change had we met other people.
#
# This chapter builds both, the ruler first. It ends with a result that we have not found on these windows
# before, and that the rest of this book has to live with.
#
# ## Rank once
#
# A **predictor** gives every window a row of scores, one per location: a $(B, V)$ matrix. "The higher
# the likelier" is all we ask, and $-\infty$ means "not an answer". Everything we report depends on one
# thing only, the **rank** of the true location among the scores. So compute ranks once, and every
# metric from them:
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
# is the accuracy at $k$. Acc@1 asks for the very place; Acc@10 is content with a short list. The *mean reciprocal rank*
# (**MRR**) and the *normalised discounted cumulative gain* (**NDCG**) lie between: second is better than fifth.
# Three windows and five places are enough to see it.

# %%
scores = torch.tensor([[5.0, 4, 3, 2, 1],
                       [1.0, 5, 4, 3, 2],
                       [4.0, 5, 3, 2, 1]])         # (B, V)
target = torch.tensor([0, 0, 0])                    # (B,) the first place is the true one, each time
own = scores.gather(1, target[:, None])             # (B, 1)
r = 1 + (scores > own).sum(1)                       # (B,)

by_hand = pd.DataFrame({"rank": r, "acc@1": r <= 1, "mrr": 1 / r,
                        "ndcg@10": (r <= 10) / torch.log2(r + 1)}).astype(float)
better, tied = ranking.rank(scores, target)
theirs = metrics.gains(pd.DataFrame({"better": better, "tied": tied}))
assert np.allclose(by_hand[["acc@1", "mrr", "ndcg@10"]], theirs[["acc@1", "mrr", "ndcg@10"]])
by_hand.rename_axis("window").round(3)

# %% [markdown]
# Each metric is the mean of its column, times 100. One more is in use, and it needs the predicted place
# instead of the rank. The **weighted F1** treats each location $\ell$ as a yes-no question, combines
# precision and recall into $F_1(\ell) = 2\,\text{TP} / (2\,\text{TP} + \text{FP} + \text{FN})$ (with true positives, false positives and
# false negatives: $\ell$ rightly named, wrongly named, wrongly not named), and averages over locations with the
# weight of how often $\ell$ is the target. It is lower than Acc@1 for a model that answers "home" too often:

# %%
truth = np.array(["home", "home", "work", "café"])
answer = np.array(["home", "home", "home", "home"])
f1 = {}
for place in np.unique(truth):
    hit = ((answer == place) & (truth == place)).sum()
    f1[place] = 2 * hit / ((answer == place).sum() + (truth == place).sum())  # 2TP / (2TP + FP + FN)
weighted = sum(f1[place] * (truth == place).mean() for place in f1)
assert np.isclose(weighted, metrics.weighted_f1(truth, answer))
print(f"Acc@1 {100 * (answer == truth).mean():.1f} %, weighted F1 {100 * weighted:.1f} %")

# %% [markdown]
# ## Ties, or how to get 100 % for nothing
#
# Our line of code for the rank counts the scores that are strictly higher. So a target wins every tie: among
# equals it comes first. Give all places the same score.

# %%
class Rule:
    """Turns a function of a batch into a predictor."""

    def __init__(self, scores):
        self.scores = scores


shrug = evaluate(Rule(lambda batch: torch.zeros(len(batch), V)), data.test)
print(f"Acc@1 of a shrug, ties won: {100 * (shrug.better == 0).mean():.1f} %")

# %% [markdown]
# A perfect score for a model that knows nothing. Nobody would publish that, but the same bug in small
# is common, because simple rules tie all the time. Take "the most frequent place of the window". In a
# week with two visits to the gym and two to the bakery, it has two answers. What does your code do? If
# it calls `argmax`, it takes the place whose column comes first, that is, the smaller id. The order of
# the columns decides, and that order means nothing.
#
# So shuffle the columns and watch the accuracy move, although the rule is the same. The cell also keeps the
# two ends: the target wins all its ties, or loses all of them.

# %%
def add_up(batch, weight, n=V):
    """(B, L) weights -> (B, n) their sum per location, -inf where there is no visit."""
    inside = ~batch.padding
    out = torch.zeros(len(batch), n).scatter_add(1, batch.location, weight * inside)
    seen = torch.zeros(len(batch), n).scatter_add(1, batch.location, inside.float())
    return out.masked_fill(seen == 0, -torch.inf)


test = data.test.batch(np.arange(len(data.test)))            # all test windows at once
counts = add_up(test, torch.ones(test.location.shape))       # (W, V) the most frequent place
better, tied = ranking.rank(counts, test.target)
generator = torch.Generator().manual_seed(0)
by_argmax = []
for _ in range(40):
    columns = torch.randperm(V, generator=generator)
    by_argmax.append(100 * (columns[counts[:, columns].argmax(1)] == test.target).float().mean().item())
ends = {"ties won": 100 * ((better == 0) & (tied > 0)).float().mean().item(),
        "ties lost": 100 * ((better == 0) & (tied == 1)).float().mean().item()}
ties_at_the_top = (counts == counts.max(1, keepdim=True).values).sum(1) > 1
print(f"{100 * ties_at_the_top.float().mean():.1f} % of the windows have more than one most frequent place")

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
credit = ((1 - better) / tied.clamp(min=1)).clamp(0, 1) * (tied > 0)   # (W,) k = 1
fair = 100 * credit.mean().item()
rows = {"ties lost": [ends["ties lost"]], "argmax, 40 column orders": by_argmax,
        "ties won": [ends["ties won"]], "fair credit": [fair]}
fig, ax = plt.subplots(figsize=(6.8, 2.5))
for at, (name, values) in enumerate(rows.items()):
    colour, marker = {"fair credit": (TRUTH, "D"), "ties won": (EXTRA, ">"), "ties lost": (EXTRA, "<")}.get(
        name, (MUTED, "|"))
    ax.plot(values, [at] * len(values), marker, color=colour, ms=9, ls="none", mew=1.5)
ax.axvline(fair, color=TRUTH, lw=1, ls="--")
ax.set(yticks=range(len(rows)), yticklabels=rows, xlabel="Acc@1 of the most frequent place (%)", ylim=(3.5, -0.5))
show(
    fig,
    alt=f"Acc@1 of one rule under four treatments of ties: {ends['ties lost']:.1f} per cent if ties count as "
    f"lost, between {min(by_argmax):.1f} and {max(by_argmax):.1f} with argmax depending on the order of the "
    f"columns, {ends['ties won']:.1f} if ties count as won, and {fair:.1f} with fair credit.",
    caption="One rule, one set of windows, four numbers. Dashed: fair credit, the mean of what argmax can give.",
)

# %%
most_frequent = evaluate(baselines.MostFrequent().fit(data.train), data.test)
assert np.isclose(summarize(most_frequent, ["all"])["acc@1"].iloc[0], fair)
assert np.allclose(metrics.gains(shrug)["acc@1"], 1 / V)  # the shrug gets what it deserves
print(f"fair credit {fair:.2f} %, from {ends['ties lost']:.1f} % (ties lost) to {ends['ties won']:.1f} % (ties won)")

# %% [markdown]
# > **Pitfall.** Ids are not random in real data either. Places are often numbered by first appearance or
# > by popularity, and then `argmax` breaks ties in favour of the popular place: a second, hidden rule.
# > We met this one when the same baseline gave two numbers in two programs.
#
# ## Groups, and the copy ceiling
#
# A single mean hides the interesting part. Split the windows in two ways: is the target's place a
# **known location**, one that training has shown, and is it **in the window**?

# %%
metric = ["acc@1", "acc@5", "acc@10", "mrr", "ndcg@10", "f1"]
summarize(most_frequent).set_index("group")[["n", *metric]].round(1)

# %% [markdown]
# Zeros in the last row, for every rule that only copies. Its Acc@k for any $k$ is therefore bounded by the
# share of targets in the window. This **copy ceiling** tells you how to read Acc@10: a copying model near
# the ceiling has nothing left to gain there, however good it is.

# %% tags=["hide-input"]
ceiling = 100 * data.test.in_window.mean()
Markdown(
    f"Ceiling: {ceiling:.1f} %. The most frequent place reaches {fair:.1f} % at 1 and "
    f"{summarize(most_frequent, ['all'])['acc@10'].iloc[0]:.1f} % at 10. So almost all the room is *at the "
    "top of the list*: the true place is in the list, and the question is which one to name first."
)

# %% [markdown]
# ## How sure are we?
#
# We have thousands of test windows. The textbook way is the **bootstrap**: draw as many windows with
# replacement, compute the mean, do it again and again, and call the range of the middle 95 % of these means the
# 95 % interval. It takes for granted that windows are independent. But they come from a
# few dozen people, and one person's windows are alike: whoever is easy to predict on Monday is easy to
# predict on Tuesday. What a new experiment would change is *who* takes part. So draw people: the **cluster bootstrap**.

# %%
hit = metrics.gains(most_frequent)["acc@1"].to_numpy()          # (W,)
person, _ = pd.factorize(most_frequent.user_id)                 # (W,)
total, count = np.bincount(person, hit), np.bincount(person)    # (U,) hits and windows of each person
rng = np.random.default_rng(0)
by_window = [100 * hit[rng.integers(len(hit), size=len(hit))].mean() for _ in range(2000)]
by_user = []
for _ in range(2000):
    drawn = rng.integers(len(total), size=len(total))           # people, with replacement
    by_user.append(100 * total[drawn].sum() / count[drawn].sum())

width = {name: np.ptp(np.quantile(draws, [0.025, 0.975])) for name, draws in
         (("windows", by_window), ("users", by_user))}
fig, ax = plt.subplots(figsize=(6.8, 2.9))
bins = np.linspace(min(by_user), max(by_user), 60)
ax.hist(by_window, bins, color=MUTED, alpha=0.6, label="drawing windows")
ax.hist(by_user, bins, color=TRUTH, histtype="step", lw=2, label="drawing people")
ax.set(xlabel="Acc@1 of the resample (%)", ylabel="resamples")
ax.legend()
show(
    fig,
    alt=f"Histograms of resampled accuracy. Drawing windows gives a narrow peak, its 95 per cent interval "
    f"{width['windows']:.1f} points wide; drawing people a broad one, {width['users']:.1f} points wide.",
    caption="The same predictor, the same windows, resampled in two ways. Filled: windows. Outline: people.",
)

# %% tags=["hide-input"]
largest = np.sort(count)[::-1]
Markdown(
    f"The honest interval is **{width['users'] / width['windows']:.1f} times as wide**. For this question, "
    f"{len(hit):,} windows of {len(count)} people are worth about "
    f"{len(hit) * (width['windows'] / width['users']) ** 2:,.0f} independent windows. "
    f"(The five busiest people alone hold {100 * largest[:5].sum() / count.sum():.0f} % of them.)"
)

# %% [markdown]
# `pgt.intervals.interval` does this, and, given two predictors on the same windows, also the interval of
# their **paired difference**. That one is narrower, since an easy person is easy for both. To compare two models, look at
# the interval of the difference, never at whether two bars overlap.
#
# ## Three baselines that everybody knows
#
# **Last**: people stay, or come back to where they just were. **Most frequent**: see above. **Markov**: where
# did this person go from here in training? If they never did: where did everybody go? If nobody did: the
# popular places.

# %%
def last(batch):
    """(B, V) minus how many visits ago each location was last seen."""
    ago = -batch.position_from_end.float().masked_fill(batch.padding, torch.inf)
    return torch.full((len(batch), V), -torch.inf).scatter_reduce(1, batch.location, ago, "amax")


def most_frequent_place(batch):
    """(B, V) visits in the window."""
    return add_up(batch, torch.ones(batch.location.shape))


location, user = data.train.features[0, 1:], data.train.features[1, 1:]   # (N,) training visits in order
own = defaultdict(Counter)                                                # (person, here) -> next places
everybody, popular = torch.zeros(V, V), torch.bincount(location, minlength=V).float()
for k in range(len(location) - 1):
    if user[k] == user[k + 1]:
        own[int(user[k]), int(location[k])][int(location[k + 1])] += 1
        everybody[location[k], location[k + 1]] += 1

# %%
def markov(batch):
    """(B, V) own transitions, a little of everybody's, a very little of popularity."""
    here = batch.location[torch.arange(len(batch)), batch.length - 1]     # (B,)
    scores = everybody[here] / everybody[here].sum(1, keepdim=True).clamp(min=1) * 1e-3
    scores = scores + popular / popular.sum() * 1e-6
    for row, key in enumerate(zip(batch.user.tolist(), here.tolist(), strict=True)):
        for place, n in own.get(key, {}).items():
            scores[row, place] += n
    return scores.masked_fill(scores == 0, -torch.inf)


ours = {"last": last, "most_frequent": most_frequent_place, "markov": markov}
some = data.test.batch(np.arange(0, len(data.test), 5))
theirs = {name: rule.fit(data.train) for name, rule in baselines.baselines().items()}
for name, rule in ours.items():
    assert torch.equal(rule(some), theirs[name].scores(some)), name
ranks = {name: evaluate(Rule(rule), data.test) for name, rule in ours.items()}
pd.concat({name: summarize(table, ["all"]) for name, table in ranks.items()}).set_index("group").set_axis(
    list(ranks))[metric].round(1)

# %% [markdown]
# The assertions say that these few lines *are* `pgt.baselines`. The table says that counting a week beats
# a Markov chain fitted on months, although only the chain has been trained. The week is about *now*.
#
# ## A kernel, term by term
#
# All copying rules have one form. Every visit of the window has a vote, and a place collects the votes of
# its visits:
#
# $$
# \text{score}(\ell) = \sum_{i \,:\, l_i = \ell} w_i . \tag{4.3}
# $$
#
# For the most frequent place, $w_i = 1$. What else would you like to know about a past visit before you let
# it vote?
#
# 1. **How old is it?** Fade by age, counted in visits: $w_i = \alpha^{\,\text{age}_i}$, with
#    $0 < \alpha \le 1$. The last visit has age 0, the one before it age 1.
# 2. **What came before it?** If you are at the gym now, what you did *after the gym* counts. Is
#    $l_{i-1}$, the place before visit $i$, the place $l_L$ of the last visit, where the person is now? Then
#    $[\,l_{i-1} = l_L\,]$ is 1, else 0.
# 3. **What time was it?** It is 17:15. A visit that began at about this hour counts more. Let $\delta_i$ be
#    the minutes between its start and now, around the clock. Now is the end of the last visit.
#
# Together:
#
# $$
# w_i = \alpha^{\,\text{age}_i} \Big( \beta + [\,l_{i-1} = l_L\,] + \zeta\, e^{-\delta_i / \theta} \Big). \tag{4.4}
# $$
#
# This is the **context kernel**: it compares the context of each past visit with the context now. The base
# $\beta$ keeps the visits that match in nothing, $\zeta$ is the weight of the hour, and $\theta$ says how many minutes
# still count as "about this hour". Five numbers, counting the weight of the bracket, which we fix to 1 because only
# ratios matter. In the code they are called `decay`, `base`, `same`, `clock` and `width`.

# %%
def evidence(batch, decay, base, same, clock, width):
    """Three (B, L) tensors: the votes for being there, for following this place, for the hour."""
    here = batch.location[torch.arange(len(batch)), batch.length - 1]     # (B,)
    before = torch.roll(batch.location, 1, dims=1)                        # (B, L) the visit before
    before[:, 0] = 0                                                      # the window does not say
    apart = (batch.start_minute - batch.now_minute[:, None]).abs()
    apart = torch.minimum(apart, 1440 - apart)                            # 23:50 and 00:10 are near
    fade = decay ** (batch.position_from_end - 1).clamp(min=0) * ~batch.padding
    return (fade * base, fade * same * (before == here[:, None]), fade * clock * torch.exp(-apart / width))


# %% [markdown]
# ## Choose on validation, report on test
#
# The numbers are chosen from a small grid, by Acc@1 on the **validation** windows. The test windows are not
# touched. Scoring $V$ columns for hundreds of options would take a while. But a copying rule never looks at places
# outside the window, so renumber the places of each window 1, 2, 3, … in order of appearance. Same votes, same
# ranks, and far fewer columns. `renumber` does only that; skip its inside on a first reading.

# %%
def renumber(batch):
    """The same batch with places numbered by appearance; a target from elsewhere becomes L + 1."""
    equal = batch.location[:, :, None] == batch.location[:, None, :]      # (B, L, L)
    first = 1 + equal.int().argmax(2)                                     # (B, L) first visit to this place
    is_target = batch.location == batch.target[:, None]                   # (B, L)
    target = first.gather(1, is_target.int().argmax(1, keepdim=True)).squeeze(1)
    elsewhere = torch.full_like(target, first.shape[1] + 1)
    return replace(batch, location=first.masked_fill(batch.padding, 0),
                   target=torch.where(is_target.any(1), target, elsewhere))


def accuracy(batch, numbers):
    """Acc@1 in percent on a renumbered batch, ties counted fairly."""
    scores = add_up(batch, sum(evidence(batch, **numbers)), batch.location.shape[1] + 2)
    better, tied = ranking.rank(scores, batch.target)
    return 100 * (((1 - better) / tied.clamp(min=1)).clamp(0, 1) * (tied > 0)).double().mean().item()


small = {name: renumber(getattr(data, name).batch(np.arange(len(getattr(data, name))))) for name in ("valid", "test")}
frequency = {"decay": 1.0, "base": 1.0, "same": 0.0, "clock": 0.0, "width": 1.0}
assert np.isclose(accuracy(small["test"], frequency), fair)

# %%
GRID = baselines.ContextKernel.GRID
stages = {
    "frequency": {name: (value,) for name, value in frequency.items()},
    "+ recency": {"decay": GRID["decay"]},
    "+ what came after here": {"base": GRID["base"], "same": (1.0,)},
    "+ time of day": {"clock": GRID["clock"], "width": GRID["width"]},
}
grid, growth, options = {}, {}, []
for stage, added in stages.items():
    grid |= added                                         # each stage keeps the terms before it
    options = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    on_valid = [accuracy(small["valid"], option) for option in options]
    chosen = options[int(np.argmax(on_valid))]
    growth[stage] = {"options": len(options), "valid": max(on_valid), "test": accuracy(small["test"], chosen)} | chosen
pd.DataFrame(growth).T.astype({"options": int}).round(2)

# %%
table = pd.DataFrame(growth).T
fig, ax = plt.subplots(figsize=(6.8, 3.3))
ax.plot(table.index, table.valid, "s--", color=MUTED, label="validation (where the numbers were chosen)")
ax.plot(table.index, table.test, "o-", color=COPIED, label="test")
for at, (value, other) in enumerate(zip(table.test, table.valid, strict=True)):
    ax.annotate(f"{value:.1f}", (at, value), (0, 8 if value > other else -17), textcoords="offset points", ha="center")
ax.set(ylabel="Acc@1 (%)", ylim=(table[["valid", "test"]].min().min() - 4, table[["valid", "test"]].max().max() + 2))
ax.margins(x=0.1)
ax.legend(loc="lower right")
show(
    fig,
    alt="Acc@1 on test, term by term: " + ", ".join(f"{name} {value:.1f}" for name, value in table.test.items())
    + " per cent. The validation curve, dashed, runs beside it.",
    caption="The kernel grows by one term at a time; its numbers are chosen anew at each step.",
)

# %% [markdown]
# Not every step is a step up. Before we tell a story about which, let us apply our own rule: the paired
# difference from one stage to the next, with its interval.

# %%
numbers = {stage: {name: row[name] for name in chosen} for stage, row in growth.items()}
staged = {stage: evaluate(baselines.ContextKernel(**option).fit(data.train), data.test) for stage, option in numbers.items()}
steps = {}
for before, stage in itertools.pairwise(staged):
    low, high = interval(staged[stage], against=staged[before])
    steps[stage] = {"gain on test": growth[stage]["test"] - growth[before]["test"], "from": low, "to": high}
pd.DataFrame(steps).T.round(1)

# %% [markdown]
# A step whose interval contains zero has not been shown to help *these* people. That is a finding too, and here it
# comes as a surprise, since the simulator does let people choose by recency and by the hour. A likely reason is that
# in one short week age hardly differs, and that what came after this place tells much of what the hour would tell.
# Cues overlap. Other people are another matter. Here are the numbers that the same procedure chose for each data set.

# %%
files = {name: read_results(name) for name in ("city", "geolife_published", "geolife_exact")}
titles = {"city": "Larkmere, exact", "geolife_published": "GeoLife, published", "geolife_exact": "GeoLife, exact"}
fitted = {"Larkmere, chosen above": chosen} | {
    titles[name] + ", results file": {key: results.header["runs"]["kernel-full-unknown-None"][key] for key in chosen}
    for name, results in files.items()}
pd.DataFrame(fitted).T

# %% [markdown]
# Compare the last columns. The hour gets more weight in Beijing, and a wider hour. If a number sits at the end of
# its list, the list was too short; exercise 3 comes back to that. And look once more at the two curves of the
# figure. With so few numbers to choose, the choice can hardly adapt to the validation windows by accident; a gap
# between the curves says more about two different stretches of time than about overfitting.
#
# Is it the package's kernel?

# %%
kernel = baselines.ContextKernel(**chosen).fit(data.train)
assert torch.allclose(add_up(some, sum(evidence(some, **chosen))), kernel.scores(some))
ranks["kernel"] = evaluate(kernel, data.test)
assert np.isclose(summarize(ranks["kernel"], ["all"])["acc@1"].iloc[0], growth["+ time of day"]["test"])

low, high = interval(ranks["kernel"], against=ranks["most_frequent"])
gain = growth["+ time of day"]["test"] - fair
at_the_end = [name for name in GRID if len(GRID[name]) > 1 and chosen[name] in (min(GRID[name]), max(GRID[name]))]
print(f"kernel - most frequent: {gain:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f} (people resampled, paired)")
print("numbers at the end of their list:", ", ".join(at_the_end) or "none")

# %% [markdown]
# ## One window, opened
#
# What does the kernel see? Take a test window that it gets right and the most frequent place does not.

# %%
right, wrong = (metrics.gains(ranks[name])["acc@1"].to_numpy() for name in ("kernel", "most_frequent"))
candidates = np.flatnonzero((right == 1) & (wrong == 0) & (data.test.lengths > 11) & (data.test.lengths < 22))
parts_of = [torch.stack(evidence(data.test.batch([i]), **chosen))[:, 0] for i in candidates]  # each (3, L)
# The window in which both cues, "what came after here" and "time of day", say much.
pick = int(np.argmax([(part[1:].sum(1).min() / part.sum()).item() for part in parts_of]))
i, (base, after, clock) = int(candidates[pick]), parts_of[pick].numpy()
names = dict(zip(town.places.location_id, town.places.name, strict=True))
seen, goal = data.test.visits_of(i), data.test.target_of(i)
now = seen.finished_at.iloc[-1]
print(f"Person {goal.user_id}, {now:%A %H:%M}, leaves {names[seen.location_id.iloc[-1]]}, "
      f"goes to {names[goal.location_id]}")

# %%
labels = [("✓ " if place == goal.location_id else "") + f"{names[place]}, {start:%a %H:%M}"
          for place, start in zip(seen.location_id, seen.started_at, strict=True)]
fig, ax = plt.subplots(figsize=(7.2, 0.8 + 0.27 * len(seen)))
at = np.arange(len(seen))
for left, value, colour, hatch, label in ((0, base, MUTED, None, "base"), (base, after, COPIED, None, "followed this place"),
                                          (base + after, clock, EXTRA, "///", "time of day")):
    ax.barh(at, value, left=left, color=colour, hatch=hatch, edgecolor="white", lw=0, label=label)
ax.set_yticks(at, labels, fontsize=8)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlabel="vote of the visit (no unit)")
ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.14), ncols=3)
votes = pd.Series(base + after + clock, index=seen.location_id).groupby(level=0).sum().sort_values(ascending=False)
show(
    fig,
    alt=f"Stacked bars, one for each of the {len(seen)} visits, oldest at the top: base vote, vote for having "
    "followed the present place, vote for the hour. Added up by place, "
    f"{names[votes.index[0]]} has {votes.iloc[0] / votes.sum():.0%} of all votes; it is the true next place.",
    caption=f"The votes at {now:%H:%M} on a {now:%A}, oldest visit at the top. ✓ marks visits to the true next place.",
)

# %% [markdown]
# Divide the votes by their sum, and they are weights that add up to one: an **attention** over the window,
# made by hand. The kernel is a pointer network without a network, and its gate is 1. So it can be drawn on
# the same map as the model of [chapter 1](01_where_next.ipynb).

# %%
share = votes / votes.sum()
opened = Look(
    visits=seen.assign(attention=(base + after + clock) / votes.sum()),
    candidates=pd.DataFrame({"location_id": share.index, "probability": share.to_numpy(), "copied": share.to_numpy(),
                             "generated": 0.0, "is_target": share.index == goal.location_id}),
    gate=1.0, target=goal, target_probability=float(share[goal.location_id]), self_attention=np.zeros((0, 0, 0, 0)),
)
prediction_map.window_map(
    town, opened,
    title="Map of one window: the kernel's votes as circles, the likeliest places as rings, and the true one",
    caption="The kernel's votes in place of the pointer's attention: the blue circles. Rings: the five places "
    "with the most votes. Green diamond: where the person went.",
)

# %% [markdown]
# ## Five numbers against thousands
#
# Now the networks. The Pointer-Generator Transformer of this book (**PGT**) was trained from several seeds, and so
# was the same network without its pointer: an ordinary Transformer with a softmax over all places. The whole model
# and the loop come in [chapter 10](10_training.ipynb); here we only read the results. First the simulated town.

# %%
def contest(results, target_time):
    """Acc@1 and its interval for every model of a results file."""
    rows = {"last place": {"model": "last"}, "Markov": {"model": "markov"},
            "most frequent place": {"model": "most_frequent"},
            "PGT without pointer": {"model": "pgt", "variant": "no_pointer", "target_time": target_time},
            "PGT": {"model": "pgt", "variant": "full", "target_time": target_time},
            "context kernel": {"model": "kernel"}}
    rows = {name: where for name, where in rows.items() if len(results.select(**where))}
    return ({name: results.mean(**where) for name, where in rows.items()},
            {name: results.interval(**where) for name, where in rows.items()})


def seeds(name):
    """How many seeds the networks of a results file have."""
    return len(files[name].select(model="pgt", variant="no_pointer"))


values, intervals = contest(files["city"], "unknown")
plots.bars(
    values, intervals=intervals, highlight=["context kernel"], xlabel="Acc@1 on test (%), exact places",
    alt="Larkmere, Acc@1: " + ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    + " per cent.",
    caption=f"Larkmere (simulated). Lines: 95 % intervals, people resampled; networks are means of {seeds('city')} seeds, "
    "resampled too.",
)

# %% [markdown]
# Before you draw a conclusion: this town flatters the kernel. The simulator lets people return to places by a
# rule of much the same form. Recent visits weigh more, so do those that followed the present place and those at
# this hour. We built both, and it would be silly to celebrate that one finds the other.
#
# So look at people whom nobody built: GeoLife, under the *published* protocol, whose windows go back from the target's
# day. PGT has the settings that its design documents name for GeoLife. They include knowing the day of the target,
# which no baseline does.

# %%
values, intervals = contest(files["geolife_published"], "day")
plots.bars(
    values, intervals=intervals, highlight=["context kernel"], xlabel="Acc@1 on test (%), unknown places merged",
    alt="GeoLife, Acc@1: " + ", ".join(f"{name} {value:.1f}" for name, value in values.items()) + " per cent.",
    caption="GeoLife, published protocol. Lines: 95 % intervals, people resampled; networks are means of "
    f"{seeds('geolife_published')} seeds, resampled too, and know the target's day.",
)

# %% [markdown]
# Bars may overlap and still differ, so let us judge by paired differences, as promised. A network trained with other seeds
# would score differently, so its seeds are drawn with replacement as well. The third block keeps the
# real places of GeoLife apart and tells nothing of the target's time (the *exact* protocol). On GeoLife *default* is
# PGT with the package's default settings, and *tuned* has those that were best on the validation windows.

# %%
def duel(results, **where):
    """Mean Acc@1 of a network minus the kernel's, with the paired interval."""
    gap, low, high = results.difference(where, {"model": "kernel"})
    verdict = "kernel ahead" if high < 0 else "network ahead" if low > 0 else "cannot tell"
    return {"network - kernel": gap, "from": low, "to": high, "verdict": verdict}


rows = {}
for name, title in titles.items():
    trained = files[name].select(model="pgt")[["variant", "target_time"]].drop_duplicates()
    for variant, target_time in trained.itertuples(index=False):
        knows = "" if target_time == "unknown" else ", knows the day"
        rows[title, variant.replace("_", " ") + knows] = duel(files[name], model="pgt", variant=variant, target_time=target_time)
verdicts = pd.DataFrame(rows).T
verdicts.rename_axis(["data", "PGT"]).astype(dict.fromkeys(("network - kernel", "from", "to"), float)).round(1)

# %% tags=["hide-input"]
wins = verdicts.verdict.value_counts()
geolife = files["geolife_published"]
Markdown(
    f"Of {len(verdicts)} comparisons the kernel is ahead in **{wins.get('kernel ahead', 0)}**, the network in "
    f"**{wins.get('network ahead', 0)}**, and in {wins.get('cannot tell', 0)} these people and seeds cannot tell. On GeoLife, as "
    f"published, five numbers reach {geolife.mean(model='kernel'):.1f} %, the network as documented "
    f"{geolife.mean(model='pgt', variant='full', target_time='day'):.1f} %, and without its pointer "
    f"{geolife.mean(model='pgt', variant='no_pointer'):.1f} %."
)

# %% [markdown]
# This is the surprise. A rule that fits on one line, with five numbers chosen from a short list and no
# training, stands level with the trained networks or above them. The idea is not new:
# [Do et al. (2015)](https://doi.org/10.1016/j.pmcj.2014.09.001) predict places from kernels over time and space. But the papers
# on networks that we know of compare with Markov chains and with other networks, not with a rule like this.
# In recommender systems the same has been found more than once, and [counted](https://doi.org/10.1145/3298689.3347058).
#
# Why? Here is a reason to keep in mind, as a hypothesis. The kernel is given the two *comparisons* that
# matter: was that visit preceded by the place where I am, was it at this time of day? A network receives places and
# times separately, and has to discover from a few thousand windows that comparing them is useful. And the kernel
# treats a place that it has never seen like any other, since all it needs is that two visits are to the same place.
#
# There is a warning in the table for a book about pointers, too. Without its pointer the network suffers badly, in
# the town and on GeoLife. But how much of that is skill? Split what it loses on GeoLife by group.

# %%
published = files["geolife_published"]
pd.DataFrame({name: {group: published.mean(group=group, model="pgt", variant=variant, target_time="day")
                     for group in ("all", "known", "unknown")}
              for name, variant in (("with pointer", "full"), ("without", "no_pointer"))}).assign(
    difference=lambda table: table["with pointer"] - table["without"]).rename_axis("Acc@1, %").round(1)

# %% [markdown]
# Part of the gap is the label "unknown": training contains no such target, so a softmax over places never learns
# to say it, while a pointer can copy it and be credited for a place it has not named. On known places the pointer
# still helps, but less than the headline says. That is why we report groups.
#
# And what the kernel cannot do shows in the groups as well.

# %%
pd.DataFrame({
    (title, model): {group: files[name].mean("acc@10", group=group, model=model, **where)
                     for group in ("all", "unknown", "in_window", "not_in_window")}
    for name, title in (("city", "Larkmere"), ("geolife_exact", "GeoLife, exact"))
    for model, where in (("kernel", {}), ("pgt", {"variant": "full"}))
}).rename_axis("Acc@10, %").round(1)

# %% [markdown]
# The last row. The kernel has a zero there, and will always have it. Only a model that can *generate* may name a
# place that the week does not contain. How little the network makes of this chance is a fact worth keeping in mind
# when we build its generator.
#
# So what is a network for? For the cases beyond the window, for probabilities, for cues that we did not think of.
# But whoever claims that a network has learned how people move should first show that it beats five numbers.
#
# ## Summary
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
# **Exercise 1** (quick). Another rule that sounds reasonable: always name the place which the person visited
# most often in *training*. Score it, ties counted fairly. Which group explains the result?

# %% tags=["try"]
top_one, top_ten = ..., ...  # Acc@1 and Acc@10 over all test windows, in percent
check.exercise("4.1", [top_one, top_ten])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
visited = torch.zeros(data.vocabulary.n_users, V).index_put_((user, location), torch.ones(len(user)), accumulate=True)
favourite = evaluate(Rule(lambda batch: visited[batch.user].masked_fill(visited[batch.user] == 0, -torch.inf)), data.test)
check.exercise("4.1", summarize(favourite, ["all"])[["acc@1", "acc@10"]].iloc[0])
# For most people this is home. The rule can never name an unknown place, and it does not know where the person is.
# But look at Acc@10 in the last row and compare it with the network's: old favourites are a way beyond the window.
summarize(favourite).set_index("group")[["n", "acc@1", "acc@10"]].round(1)

# %% [markdown]
# **Exercise 2** (medium). Acc@$k$ has a fair credit for ties; what is that of MRR? If `b` locations score higher
# and `t` the same, the target included, average $1/\text{rank}$ over the ranks it may have. A target that is no answer at
# all has `t = 0` and gets nothing.

# %% tags=["try"]
def credit_mrr(b, t):
    """What one window contributes to MRR, 0 to 1."""
    return ...


def package_mrr(b, t):
    return metrics.gains(pd.DataFrame({"better": [b], "tied": [t]})).mrr.iloc[0]


cases = [(0, 1), (4, 1), (0, 2), (3, 4), (0, V), (7, 0)]
check.function(credit_mrr, package_mrr, *cases)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def credit_mrr(b, t):
    return np.mean([1 / r for r in range(b + 1, b + t + 1)]) if t else 0.0


check.function(credit_mrr, package_mrr, *cases)
print(f"tied with one other for the first place: {credit_mrr(0, 2):.2f}, not 1 and not 1/2")

# %% [markdown]
# **Exercise 3** (medium). Choose the kernel's numbers on *test* instead, which is cheating. How much does it
# gain? Then cheat harder, with a finer and wider grid. Why does so little happen, and when would it be worse?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
wider = [dict(zip(chosen, values, strict=True)) for values in itertools.product(
    (0.95, 0.98, 1.0, 1.02), (0.03, 0.1, 0.3, 1.0), (1.0,), (0.5, 1.0, 2.0, 4.0), (30.0, 60.0, 120.0, 240.0))]
results = {name: (max(accuracy(small["test"], option) for option in grid),
                  accuracy(small["test"], max(grid, key=lambda option: accuracy(small["valid"], option))))
           for name, grid in (("the grid of the chapter", options), ("a wider grid", wider))}
check.same(results["the grid of the chapter"][1], growth["+ time of day"]["test"], name="the honest choice")
for name, (cheated, honest) in results.items():
    print(f"{name}: chosen on test {cheated:.1f} %, on validation {honest:.1f} %: {cheated - honest:+.1f} for cheating")
# Few numbers cannot adapt to thousands of windows. A network's many epochs, settings and seeds can.

# %% [markdown]
# **Exercise 4** (longer). The simulator knows one more cue: on weekends people repeat weekends. Multiply a
# vote by a sixth number if the visit and the present differ in being on a weekend, and choose it on validation.
# Take the weekday of the last visit for the present. Does test improve? A first check: with a factor of one
# nothing may change.

# %% tags=["try"]
def with_weekend(batch, factor, numbers):
    """Acc@1 in percent, on a renumbered batch."""
    return ...


check.same(with_weekend(small["test"], 1.0, chosen), accuracy(small["test"], chosen), name="factor one")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def with_weekend(batch, factor, numbers):
    weekend = batch.weekday > 5                                           # (B, L)
    present = weekend[torch.arange(len(batch)), batch.length - 1]         # (B,)
    other = torch.where(weekend == present[:, None], 1.0, factor)
    scores = add_up(batch, sum(evidence(batch, **numbers)) * other, batch.location.shape[1] + 2)
    better, tied = ranking.rank(scores, batch.target)
    return 100 * (((1 - better) / tied.clamp(min=1)).clamp(0, 1) * (tied > 0)).double().mean().item()


check.same(with_weekend(small["test"], 1.0, chosen), accuracy(small["test"], chosen), name="factor one")
pd.DataFrame({factor: {name: with_weekend(small[name], factor, chosen) for name in small}
              for factor in (0.25, 0.5, 0.75, 1.0, 1.5)}).T.rename_axis("factor").round(2)
# A cue can be real and still not move Acc@1: within one week there are few weekend visits to compare with.

# %% [markdown]
# **Exercise 5** (project). Seven days are a short memory. Give the kernel 28 and compare *on the same targets*.
# Then let the decay be chosen again: is a longer memory better, or does it only need to fade faster?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
month = prepare(town.visits, days=28, protocol="exact")
rows = {}
for name, memory in (("7 days", data), ("28 days", month)):
    common = {split: getattr(memory, split).subset(np.isin(getattr(memory, split).target, getattr(month, split).target)
              & np.isin(getattr(memory, split).target, getattr(data, split).target)) for split in ("valid", "test")}
    batch = {split: renumber(part.batch(np.arange(len(part)))) for split, part in common.items()}
    best = max((chosen | {"decay": decay} for decay in (0.9, 0.95, 0.97, 0.98, 0.99, 1.0)),
               key=lambda numbers: accuracy(batch["valid"], numbers))
    rows[name] = {"test windows": len(common["test"]), "in the window, %": 100 * common["test"].in_window.mean(),
                  "decay": best["decay"], "Acc@1, %": accuracy(batch["test"], best)}
check.same(rows["28 days"]["test windows"], rows["7 days"]["test windows"], name="the same targets")
pd.DataFrame(rows).T.astype({"test windows": int}).round(2)

# %% [markdown]
# **Next:** [Embeddings](05_embeddings.ipynb), the first part of the network that shall have its chance.
