# %% [markdown]
# # Scale
#
# A city gets more places, and more people. What grows with it in memory, and what can be done a piece at a time?
#
# *You will be able to* measure what a step of training keeps in memory, compute the exact loss a stretch of places at a time,
# and deal out a table of visits by person with DuckDB and Dask. *You need* [the loss](09_model.ipynb),
# [Training](10_training.ipynb) and [Windows](03_windows.ipynb). *It takes* a quarter of an hour to read and about a minute to
# run; the first half uses a GPU if there is one.
#
# > **In one sentence.** With {{ places:,}} places instead of 2,500, a step of training keeps {{ more:.0f }} times as much for
# > its gradient, but no more than before if the loss adds up a stretch of places at a time; the weights grow all the same. A
# > table of visits, too, can be taken in pieces, by person.

# %% tags=["hide-input"]
# @title Setup: install the package with the extra "scale" (Colab)
try:
    import dask  # noqa: F401
    import duckdb

    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q 'pgt[scale] @ "
        "https://github.com/where-next-book/where-next/archive/main.zip'",
    )

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from wherenext import city
from wherenext.exercises import check

from pgt import large_vocabulary, read_visits
from pgt import visits as tables
from pgt.baselines import ContextKernel
from pgt.config import ModelConfig
from pgt.contextual import ALONE, ContextualConfig, ContextualPointer
from pgt.history import with_history
from pgt.metrics import evaluate
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
town = city.load()
data = prepare(town.visits, protocol="exact")
words = data.vocabulary
print(f"{words.n_locations:,} places, {words.n_users - 1} people, {device}")

# %% [markdown]
# ## More places: what grows?
#
# We give the model a larger vocabulary. Nobody visits the new places, so the windows stay as they are.
#
# The loss can be written in two ways. The first makes a log-probability for every place and window, the second only sums
# over the places.


# %%
def every_place(model, batch):
    log_probs = model(batch).log_probs  # (B, V)
    return cross_entropy(log_probs, batch.target, 0.03)  # 0.03: smoothing


def only_sums(model, batch):
    return large_vocabulary.losses(model, batch, 0.03)


# %% [markdown]
# After its forward pass a step keeps what the gradient will need. PyTorch calls a *hook* for every tensor that it keeps; ours
# notes its size. The weights have a column of their own.


# %%
def kept(model, batch, way):
    """Megabytes that a step keeps for its gradient."""
    weights, found = {p.data_ptr() for p in model.parameters()}, {}

    def hook(x):
        if x.data_ptr() not in weights:
            # By address, so what is kept twice counts once.
            found[x.data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(hook, lambda x: x):
        way(model, batch)
    return sum(found.values()) / 1e6


# %% [markdown]
# **Change this.** Make the city larger still, and watch which columns grow.

# %%
places = 160_000  # @param {type:"integer"}

some = np.arange(0, len(data.train), len(data.train) // 64)[:64]
batch, memory = data.train.batch(some).to(device), {}
for n in (2_500, 20_000, places):
    model = PointerGeneratorTransformer(ModelConfig(n, words.n_users))
    model = model.to(device)
    ways = [kept(model, batch, way) for way in (every_place, only_sums)]
    one = 4 * model.n_parameters() / 1e6  # four bytes a number
    memory[f"{n:,}"] = [*ways, 4 * one]  # gradient, two averages, too
heads = ["kept: every place", "kept: only sums", "weights and AdamW"]
memory = pd.DataFrame(memory, heads).T.round().astype(int)
usual = memory["kept: every place"]
more = usual.iloc[-1] / usual.iloc[0]
saved = (usual - memory["kept: only sums"]).iloc[-1]
one_array = 4 * len(batch) * places / 1e6  # B x V, four bytes a number
arrays = saved / one_array
memory.rename_axis("MB, by places")

# %% [markdown]
# Compare the ends of the first column: with the same windows a step keeps far more.
#
# The loss keeps arrays of $B \times V$, windows by places. Each new place adds one number per window to each such array. In
# the last row one has {{ one_array:.0f }} MB. The second way makes none of them and keeps {{ saved:.0f }} MB less, as much as
# {{ arrays:.0f }} of them.
#
# The last column, weights, gradients and AdamW's two averages, grows either way.
#
# ## Why are sums enough?
#
# Label smoothing deals out a share of the answer over all places. So the loss, equation (9.1), needs $\log P$ of the target,
# and the sum of $\log P$ over all places. Can we have this sum without such an array?
#
# Take a city of four places. The window holds only home, the gate $g$ is one half, and the generator's scores are 2 for home,
# 1 for the office, 0 for gym and bar. Logarithms are to the base 2 here, so that the numbers are round.

# %%
g, score = 0.5, np.array([2.0, 1, 0, 0])
pointer = np.array([1.0, 0, 0, 0])  # copies home alone
total = np.log2((2**score).sum())  # log2(4 + 2 + 1 + 1) = 3
never = np.log2(1 - g) + score - total
true = np.log2(g * pointer + (1 - g) * 2 ** (score - total))
rows = {"score": score, "log P, if never copied": never, "log P": true}
four = pd.DataFrame(rows, ["home", "office", "gym", "bar"]).T
four.assign(sum=four.sum(axis=1)).round(1)

# %% [markdown]
# Compare the last two rows: they differ at home alone, the one place in the window. So the last sum is the sum above it,
# corrected in the one column *home*: $-13 + (-0.4 + 2) = -11.4$.
#
# And $-13$ comes without its row. Each number in it is $-1 + \text{score} - 3$, where $-1$ is the logarithm of $1 - g$ and $3$
# is `total`. The four make $4 \cdot (-1 - 3) = -16$, plus the sum of the scores, $3$.
#
# Now in symbols. Let $s_\ell$ be the score of a place, and $\Lambda = \log\sum_\ell e^{s_\ell}$, the `total`. A place that is
# never copied has
#
# $$
# \log P_\text{never}(\ell) = \log(1 - g) + s_\ell - \Lambda . \tag{25.1}
# $$
#
# For the few places $\mathcal{W}$ in the window, $\log P$ comes from the mixture, equation (8.4). The first line treats every
# place as never copied; the second puts the few right:
#
# $$
# \begin{aligned}
# \sum_\ell \log P(\ell) ={}& V \big( \log(1 - g) - \Lambda \big) + \sum_\ell s_\ell \\
# &+ \sum_{\ell \in \mathcal{W}} \big( \log P(\ell) - \log P_\text{never}(\ell) \big) .
# \end{aligned} \tag{25.2}
# $$
#
# In the example the first line is $-16 + 3$, and the second $-0.4 + 2$.
#
# ## A stretch at a time
#
# Two sums go over all places: the one in $\Lambda$, and the plain one. Cut the four places into two stretches:
#
# | stretch | scores | sum of $2^s$ | its logarithm | plain sum |
# |---|---|---|---|---|
# | home, office | 2, 1 | 4 + 2 = 6 | $\log_2 6$ | 3 |
# | gym, bar | 0, 0 | 1 + 1 = 2 | 1 | 0 |
# | together | | 6 + 2 = 8 | 3 | 3 |
#
# Of a stretch only its last two numbers stay, for each window. To combine logarithms, undo them and add, $6 + 2$, and take
# the logarithm again. That is what `logsumexp` does, with $e$ for 2.
#
# When the gradient needs the scores, PyTorch's `checkpoint` computes them again.

# %%
from torch.utils.checkpoint import checkpoint


def stretch(context, rows, bias):
    scores = context @ rows.T + bias  # (B, n), soon thrown away
    return scores.logsumexp(1), scores.sum(1)


def two_sums(context, weight, bias, n=20_000):
    """(B,) Lambda, and (B,) the plain sum, of (B, V) scores."""
    found = [
        checkpoint(stretch, context, *part, use_reentrant=False)
        for part in zip(weight.split(n), bias.split(n), strict=True)
    ]
    logs, plain = zip(*found, strict=True)
    return torch.stack(logs).logsumexp(0), torch.stack(plain).sum(0)


context = torch.randn(64, model.config.d_model, device=device)
sums = two_sums(context, model.generator.weight, model.generator.bias)
scores = model.generator(context)  # (B, V), all at once
check.same(sums[0], scores.logsumexp(1), name="Lambda", atol=1e-4)
# Plain sums are in the hundreds here, so 0.1 is little.
check.same(sums[1], scores.sum(1), name="the plain sum", atol=0.1)

# %% [markdown]
# The package's `losses` puts such sums into equation (25.2). Is it the same loss?

# %%
with torch.no_grad():
    one, other = every_place(model.eval(), batch), only_sums(model, batch)
check.same(one, other, name="the loss, in both ways", atol=1e-5)

# %% [markdown]
# Every score is computed twice. On a CPU a step was no slower for it ([Evidence: speed](evidence_speed.ipynb)).
#
# ## A model that never counts the places
#
# The weights still grow: each place has a row in the location table and one in the generator. The
# [contextual pointer](20_contextual_pointer.ipynb) has neither. It only copies from a person's past. Does it notice how many
# places there are?

# %%
past = with_history(data, memory=100).train.batch(some)
rows = {}
for n in (2_500, 1_000_000):
    # `ALONE`: chapter 20's curves, without tables, encoder or generator.
    one = ContextualPointer(ContextualConfig(n, words.n_users, **ALONE))
    megabytes = round(kept(one, past, ContextualPointer.losses), 1)
    rows[f"{n:,} places"] = [one.n_parameters(), megabytes]
pd.DataFrame(rows, ["parameters", "kept (MB)"], dtype=object).T

# %% [markdown]
# It does not. It numbers the places of the person's past, 0, 1, 2, …, so its arrays are windows by places of the past.
#
# ## More people: what grows?
#
# With more people the table of visits grows, until it does not fit into memory. Can it be taken in pieces?
#
# Here are six visits of three people, and a rule: guess where the person was last. We deal the rows out by person, in two
# **parts**. [Dask](https://www.dask.org) applies a function to each part:

# %%
import dask.dataframe as dd

rows = "Ann home, Ben home, Cem gym, Ann office, Ben bar, Ann home"
six = pd.DataFrame([row.split() for row in rows.split(", ")])
six.columns = ["who", "place"]


def part_of(people):
    return six[six.who.isin(people)]


def guessed(part):
    return part.assign(guess=part.groupby("who").place.shift())


dealt = dd.from_map(part_of, [["Ann"], ["Ben", "Cem"]])
noted = dealt.map_partitions(guessed)
noted.compute().fillna("")

# %% [markdown]
# Dask is **lazy**: `from_map` and `map_partitions` only note what is to be done with each part. `compute` does it, and puts
# the results together.
#
# A guess needs only earlier rows of the same person. Cut the six in the middle instead, and Ann's office and Ben's bar
# have no guess.
#
# This rule learns nothing, so the parts share only the vocabulary: home is in both, and must have one number. So each part is
# asked twice:
#
# 1. Who was where? The places of all parts make the vocabulary, here of four.
# 2. What are its answers, in that vocabulary?
#
# Our windows, too, stay with one person, and each person's days are split separately. So let us deal out a million visits: the
# town's people over and over, under new numbers. These still fit into memory, to compare. The answers tell how high the
# context kernel ([chapter 4](04_baselines.ipynb)) ranks each next place.

# %% tags=["hide-input"]
# @title `million` visits, and the kernel's ranks `in_memory`
columns = ["user_id", "location_id", "started_at", "finished_at"]
one, n = town.visits[columns], 1_000_000
times = range(-(-n // len(one)))  # rounded up
copies = [one.assign(user_id=one.user_id + 1000 * k) for k in times]
million = pd.concat(copies, ignore_index=True)[:n]
big = prepare(million, protocol="exact")  # all in memory at once
in_memory = evaluate(ContextKernel().fit(big.train), big.test)

# %% [markdown]
# Now suppose that the table is too large, and lies on disk. [DuckDB](https://duckdb.org) writes a file for each part, which a
# hash of the person's number picks:

# %%
import duckdb

work = Path(tempfile.mkdtemp())
table, parts = work / "visits.parquet", work / "parts"
million.to_parquet(table)  # the visits of the folded cell above
duckdb.sql(
    f"""
    COPY (SELECT *, hash(user_id) % 8 AS part FROM '{table}')
    TO '{parts}' (FORMAT parquet, PARTITION_BY (part))
    """
)
files = sorted(parts.rglob("*.parquet"))
print(f"{len(million):,} visits in {len(files)} files")

# %% [markdown]
# The two questions are two functions. (The vocabulary asks which places training shows, hence the split.)


# %%
def places_of(part):
    """Who was where, in which split: each once."""
    parted = tables.split_by_days(part)
    return parted[["user_id", "location_id", "split"]].drop_duplicates()


def answers_of(part, vocabulary):
    """The ranks of a part's test windows by the kernel."""
    data = prepare(part, vocabulary=vocabulary)
    # The kernel's five numbers are fixed; `fit` only notes V.
    return evaluate(ContextKernel().fit(data.train), data.test)


# %% [markdown]
# First the vocabulary. Each of two processes takes a part, reads its file, answers, and takes the next:

# %%
two = {"scheduler": "processes", "num_workers": 2}  # on this machine
zone = {"timezone": str(million.started_at.dt.tz)}
dealt = dd.from_map(read_visits, files, **zone)
visited = dealt.map_partitions(places_of)
vocabulary = Vocabulary.build(visited.compute(**two), "exact")
print(f"{vocabulary.n_locations:,} places")

# %% [markdown]
# > **Pitfall.** DuckDB's files are in UTC: seven in the evening comes back as one in the morning, on the next day. With
# > `timezone`, `read_visits` turns the times back into the town's.
#
# Then the answers. Dask learns a result's columns by trying the function on rows that it makes up. Ours refuses such rows, so
# `meta` shows the columns:

# %%
meta = in_memory[:0]
ranks = dealt.map_partitions(answers_of, vocabulary, meta=meta)
answers = ranks.compute(**two)

by = {"by": "user_id", "kind": "stable", "ignore_index": True}
apart, at_once = answers.sort_values(**by), in_memory.sort_values(**by)
pd.testing.assert_frame_equal(apart, at_once)
print(f"{len(apart):,} windows: every answer as in memory")

# %% [markdown]
# How much of table and windows does a process hold?


# %%
def held(visits, data):
    """Visits, and megabytes of their table and of their windows."""
    arrays = [
        array.nbytes
        for windows in (data.train, data.valid, data.test)
        for array in (windows.features, windows.first, windows.target)
    ]
    table = visits.memory_usage().sum()
    return [len(visits), table / 1e6, sum(arrays) / 1e6]


largest = max((read_visits(file, **zone) for file in files), key=len)
one = prepare(largest, vocabulary=vocabulary)
rows = {"all at once": held(million, big), "largest part": held(largest, one)}
heads = ["visits", "table (MB)", "arrays of the windows (MB)"]
pd.DataFrame(rows, heads).T.round(1).astype({"visits": int})

# %% [markdown]
# The first row grows with the people. The second need not: with more people, deal out more parts.
#
# ## What still grows?
#
# The weights of a location table and of a generator do. One person's visits must still fit into memory. We have not tried a
# billion visits, nor parts with places of their own: our new people go where the town's go.
#
# Training is harder to divide, but several processes can share it ([Evidence: speed](evidence_speed.ipynb)).
#
# ## What to remember
#
# - The size of an array is a product. Several of ours were $B \times V$; the exact loss needs none.
# - The weights of a location table and a generator grow with $V$. A pointer without them has as many weights at every $V$.
# - Windows never cross from one person to another, so people can be dealt out to parts. A rule with fixed numbers needs only
#   the vocabulary in common.
#
# ## Exercises
#
# **Exercise 1** (quick). Take a batch of 128 windows, a million places and numbers of four bytes. How many gigabytes ($10^9$
# bytes) is one array of log-probabilities? The package's stretches have $2^{20}$ scores, over all windows together. How
# many megabytes ($10^6$ bytes)?

# %% tags=["try"]
gigabytes, megabytes = ..., ...
check.exercise("25.1", [gigabytes, megabytes])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("25.1", [4 * 128 * 1_000_000 / 1e9, 4 * 2**20 / 1e6])

# %% [markdown]
# **Exercise 2** (medium). Write `stretched(z, n)`: $\log\sum_\ell e^{s_\ell}$ of each row of a (B, V) tensor. Look at
# `n` columns at a time and never exponentiate a number above 0.


# %% tags=["try"]
def stretched(z, n):
    return ...


scores = 1000 * torch.randn(3, 100, dtype=torch.float64)
check.same(stretched(scores, 7), scores.logsumexp(1), name="log of the sum")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def stretched(z, n):
    total = torch.zeros_like(z[:, 0])
    top = torch.full_like(total, -torch.inf)
    for part in z.split(n, dim=1):
        higher = torch.maximum(top, part.amax(1))
        total = total * (top - higher).exp()
        total = total + (part - higher[:, None]).exp().sum(1)
        top = higher  # the sum so far is on the new scale
    return top + total.log()


check.same(stretched(scores, 7), scores.logsumexp(1), name="log of the sum")

# %% [markdown]
# **Exercise 3** (project). Ask the predictor that was trained on nobody ([chapter 24](24_trained_on_nobody.ipynb))
# where each person goes next, part by part. Are its answers those for the whole table?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Write `def next_of(part): return pgt.NextLocation.pretrained().predict(part, top=1)`, for `answers_of`, with
# `meta=next_of(town.visits)`. The predictor weighs its opinions by the past of everybody in the table. The parts
# are alike, so that few answers change, if any.
#
# </details>
#
# **Next:** [Playground](26_playground.ipynb), where you ask the trained model what-if questions.
