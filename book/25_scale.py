# %% [markdown]
# # Scale
#
# A city grows from 2,500 places to 160,000, and nobody visits the new ones. A model of it needs more weights. Must a step of
# training also keep more between its forward and its backward pass?
#
# *You will be able to* measure what grows in a step of training, compute the exact loss without an array of windows by
# places, and deal a table of visits out to parts with DuckDB and Dask. *You need* [the loss](09_model.ipynb),
# [Training](10_training.ipynb) and [Windows](03_windows.ipynb). *It takes* a quarter of an hour to read and about a minute to
# run; the first section uses a GPU if there is one.
#
# > **In one sentence.** At {{ places:,}} places a loss written as usual keeps {{ more:.0f }} times as much between the passes,
# > and one written with sums no more than before; the weights, their gradients and AdamW's averages grow in either case.

# %% tags=["hide-input"]
# @title Setup: install the package with the extra "scale" (Colab)
try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
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
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, GENERATED, show

from pgt import large_vocabulary
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
# In a larger city the windows stay as they are: people visit a few dozen places each, wherever they live.
#
# ## What does a large city cost?
#
# We give the model a larger vocabulary than the town's. Its encoder and its pointer do the same work as before. Only the
# location table, the generator and the loss meet more places, and the loss can be computed in two ways. The first writes
# down a log-probability for every place and every window. The second needs only sums over the places.


# %%
def every_place(model, batch):
    log_probs = model(batch).log_probs  # (B, V)
    return cross_entropy(log_probs, batch.target, 0.03)


def only_sums(model, batch):
    return large_vocabulary.losses(model, batch, 0.03)


# %% [markdown]
# We measure the time of a step, and what it keeps between the two passes: a *hook* of PyTorch's sees every tensor that is
# saved for the gradient. The weights are not among them. They have a column of their own, with their gradients and AdamW's
# two averages.

# %% tags=["hide-input"]
# @title `cost(model, batch, way)` of a step in ms and MB; `some(windows)`
def cost(model, batch, way):
    """Milliseconds of a step; megabytes kept for its gradient."""
    weights, kept = {p.data_ptr() for p in model.parameters()}, {}

    def keep(x):
        if x.data_ptr() not in weights:
            kept[x.data_ptr()] = x.untyped_storage().nbytes()
        return x

    began = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        loss = way(model, batch).mean()
    loss.backward()
    loss.item()  # waits until a GPU has finished
    model.zero_grad(set_to_none=True)
    return 1000 * (time.perf_counter() - began), sum(kept.values()) / 1e6


def some(windows, n=64):
    """Windows from all over the split, as a batch."""
    index = np.arange(0, len(windows), len(windows) // n)[:n]
    return windows.batch(index).to(device)


# %% [markdown]
# **Change this.** Make the city larger still, and watch which columns of the table grow. Each step has 64 windows.

# %%
places = 160_000  # @param {type:"integer"}

# `some` and `cost` are in the folded cell above.
batch, costs = some(data.train), {}
for n in (2_500, 20_000, places):
    model = PointerGeneratorTransformer(ModelConfig(n, words.n_users))
    model = model.to(device)
    costs[f"{n:,}"] = {}
    for name, way in (("every place", every_place), ("sums", only_sums)):
        tries = [cost(model, batch, way) for _ in range(3)]
        best = np.min(tries, axis=0)
        costs[f"{n:,}"] |= {f"{name}, ms": best[0], f"{name}, MB": best[1]}
    numbers = 4 * model.n_parameters()  # gradient and averages, too
    costs[f"{n:,}"]["weights, gradients, AdamW (MB)"] = 4 * numbers / 1e6
costs = pd.DataFrame(costs).T.rename_axis("places")
memory = costs["every place, MB"]
more = memory.iloc[-1] / memory.iloc[0]
one_array = 4 * len(batch) * places / 1e6  # (B, V), four bytes a number
arrays = (memory - costs["sums, MB"]).iloc[-1] / one_array
costs.round(0).astype(int)

# %% tags=["hide-input"]
# @title Figure 25.1: memory by the number of places
lines = costs.filter(like=", MB").set_axis([2_500, 20_000, places])
lines.columns = ["every place", "sums"]
axes = lines.plot(style=["o-", "s--"], color=[GENERATED, COPIED])
axes.figure.set_size_inches(7, 2.4)
axes.set(xlabel="places", ylabel="kept for the gradient (MB)", ylim=(0, None))
axes.xaxis.set_major_formatter("{x:,.0f}")
show(
    axes.figure,
    alt="What a step keeps, against the number of places: one line rises, "
    "the other is level.",
    caption="What a step keeps between its passes, by the way of the loss.",
)

# %% [markdown]
# Written as usual, the loss keeps {{ more:.0f }} times as much. The windows are the same at every size, and yet this way pays
# for each new place once per window: the log-softmax, the pointer's probabilities (nearly all zero), the mixture and more
# are arrays of $B \times V$. In the last row such an array has {{ one_array:.0f }} MB, and the two ways differ by
# {{ arrays:.0f }} of them. With sums no more is kept than before, and the time grows less. The last column is the same for
# both.
#
# ## Why are sums enough?
#
# Let $s_\ell$ be the generator's scores and $\Lambda = \log\sum_\ell e^{s_\ell}$. For places outside the window nothing is
# copied, so
#
# $$
# \log P(\ell) = \log(1 - g) + s_\ell - \Lambda . \tag{25.1}
# $$
#
# For the few places $\mathcal{W}$ in the window, $\log P(\ell)$ comes from the mixture, equation (8.4). Label smoothing deals
# out a share of the answer (0.03 in the code) evenly over all places, and so wants the sum of all $\log P(\ell)$, see
# equation (9.1). The first line below treats all places as never copied. The second puts in the right value for the few:
#
# $$
# \begin{aligned}
# \sum_\ell \log P(\ell) ={}& V \big( \log(1 - g) - \Lambda \big) + \sum_\ell s_\ell \\
# &+ \sum_{\ell \in \mathcal{W}} \big( \log P(\ell) - \log(1 - g) - s_\ell + \Lambda \big) .
# \end{aligned} \tag{25.2}
# $$
#
# Two sums go over all places: the one in $\Lambda$, and the plain one, $\sum_\ell s_\ell$. Both can be made a stretch of
# places at a time. `checkpoint` keeps nothing of a stretch, and computes it again when the gradient asks for it:

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
# With equation (25.2) for its last sum, equation (9.1) is the loss. The package's `losses` does that, and it is the same:

# %%
with torch.no_grad():
    one, other = every_place(model.eval(), batch), only_sums(model, batch)
check.same(one, other, name="the loss, in both ways", atol=1e-5)

# %% [markdown]
# Every score is now computed twice. The sums are faster all the same: to write and read many arrays of
# $B \times V$ takes longer. Evaluation needs no such array either. To find the true place's rank, it is enough to *count* the
# higher scores, again a stretch of places at a time (`pgt.large_vocabulary.rank`).
#
# ## A model that never counts the places
#
# The generator must still look at all its rows. What if there is no generator, and no location table? The
# [contextual pointer](20_contextual_pointer.ipynb) only copies from a person's past. Does it notice how many places there are?


# %%
def only_copies(model, batch):
    return model.losses(batch, 0.03)


past = some(with_history(data, memory=100).train).to("cpu")
sizes, own = (2_500, 1_000_000), {"n_users": words.n_users}
# `ALONE`: chapter 20's curves, without tables, encoder or generator.
pair = [ContextualPointer(ContextualConfig(n, **own, **ALONE)) for n in sizes]
tries = [[cost(one, past, only_copies)[0] for one in pair] for _ in range(99)]
found = {"parameters": [one.n_parameters() for one in pair]}
found["ms a step"] = np.min(tries, axis=0).round().astype(int)
pd.DataFrame(found, [f"{n:,} places" for n in sizes])

# %% [markdown]
# It does not: as many parameters, and the same time but for noise. The places of a person's past are numbered within the
# window, 0, 1, 2, …, and only the answer at the end gets its name.
#
# ## A table that does not fit
#
# Now there are too many visits, not too many places. A window never crosses from one person to another, and for the splits
# each person's days are counted apart. So a table of visits can be dealt out to parts, each with all the visits of some
# people. To get many visits, we repeat the town's people under new numbers.

# %% tags=["hide-input"]
# @title `million` visits, in `COLUMNS`, and the kernel's ranks `in_memory`
COLUMNS = ["user_id", "location_id", "started_at", "finished_at"]


def grown(n):
    """n visits: the town's people over and over, as other people."""
    one = town.visits[COLUMNS]
    times = range(-(-n // len(one)))  # rounded up
    copies = [one.assign(user_id=one.user_id + 1000 * k) for k in times]
    return pd.concat(copies, ignore_index=True)[:n]


million = grown(1_000_000)
big = prepare(million, protocol="exact")  # all in memory at once
in_memory = evaluate(ContextKernel().fit(big.train), big.test)

# %% [markdown]
# This still fits into memory, and gives the answers to compare with: the ranks of the context kernel
# ([chapter 4](04_baselines.ipynb)). Now suppose that the table did not fit, and lies on disk. [DuckDB](https://duckdb.org)
# writes a file for each part:

# %%
import duckdb

folder = tempfile.TemporaryDirectory()
work = Path(folder.name)
table, parts = work / "visits.parquet", work / "parts"
million.to_parquet(table)  # the visits of the folded cell above
duckdb.sql("SET memory_limit = '300MB'")  # matters for a larger table
duckdb.sql(
    f"""
    COPY (SELECT *, hash(user_id) % 8 AS part FROM '{table}')
    TO '{parts}' (FORMAT parquet, PARTITION_BY (part))
    """
)
files = sorted(parts.rglob("*.parquet"))
print(f"{len(million):,} visits in {len(files)} files")

# %% [markdown]
# > **Pitfall.** DuckDB's timestamps with a time zone are *moments*, not clocks: what was eight in the morning in the town
# > comes back as two in the afternoon in UTC. The rows are right, and yet a model would learn nonsense from them.
# > `read` below turns the moments back into the town's time.

# %% tags=["hide-input"]
# @title `read(file)`: the visits of a part, in the town's time
zone = town.visits.started_at.dt.tz


def read(file):
    """The visits of a part, in the town's time."""
    part = pd.read_parquet(file)
    for name in ("started_at", "finished_at"):
        part[name] = part[name].dt.tz_convert(zone)
    return part


print("in the file:        ", pd.read_parquet(files[0]).started_at.iloc[0])
print("by the town's clock:", read(files[0]).started_at.iloc[0])

# %% [markdown]
# ## Part by part
#
# What do the parts share? Only the vocabulary, which says what places exist and how they are numbered. So each part is asked
# twice: which places it has, and then, when the places are numbered, for its answers.


# %%
def places_of(part):
    """Who was where, in which split: each once."""
    parted = tables.split_by_days(tables.check(part))
    return parted[["user_id", "location_id", "split"]].drop_duplicates()


def answers_of(part, vocabulary):
    """The ranks of a part's test windows by the kernel."""
    data = prepare(part, vocabulary=vocabulary)
    # The kernel's five numbers are fixed; `fit` only notes V.
    return evaluate(ContextKernel().fit(data.train), data.test)


# %% [markdown]
# [Dask](https://www.dask.org) hands parts to processes, on one machine or many. We start two processes on this one.
# `map_partitions` calls a function on each part. Its `meta` is an example of an answer (here: the town's), which says what
# columns come back.

# %%
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

small = town.visits[COLUMNS]
two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
two["silence_logs"] = "ERROR"  # no word of a process that stops slowly
with LocalCluster(processes=True, **two) as cluster, Client(cluster):
    dealt = dd.from_map(read, files, meta=small)  # `read`: see above
    found = dealt.map_partitions(places_of, meta=places_of(small)).compute()
    shared = Vocabulary.build(found, "exact")
    like = answers_of(small, shared)
    answers = dealt.map_partitions(answers_of, shared, meta=like).compute()

# %%
# `in_memory`: the ranks from the folded cell before DuckDB's.
by = {"by": "user_id", "kind": "stable", "ignore_index": True}
apart, at_once = answers.sort_values(**by), in_memory.sort_values(**by)
pd.testing.assert_frame_equal(apart, at_once)
print(f"{len(apart):,} windows: every answer as in memory")

# %% [markdown]
# Every window has the same rank as with all visits in memory at once.
#
# Training is harder to divide, because its steps depend on each other. `DistributedDataParallel` gives each process the whole
# model and averages their gradients before each step, see [Evidence: speed](evidence_speed.ipynb).
#
# ## What does not scale?
#
# Three things still stand in the way:
#
# | what | why | what one would do |
# |---|---|---|
# | the location table and the generator's rows, with gradients and AdamW's averages | $4 \times V \times D$ numbers each, all touched in every step | a pointer without either |
# | writing a file for each part | DuckDB reads the whole table on one machine | split the table on several machines, then join the parts |
# | one person with a million visits | a part is at least one person | nothing yet; we have not met one |
#
# We have not tried a billion visits.
#
# ## What to remember
#
# - The size of an array is a product. Several of ours were $B \times V$; the exact loss and the exact ranks need none.
# - The weights of a location table and a generator grow with $V$. A pointer without them has as many at every $V$.
# - Windows never cross from one person to another, so people can be dealt out to parts. Of a rule with
#   fixed numbers they share only the vocabulary.
#
# ## Exercises
#
# **Exercise 1** (quick). Take a batch of 128 windows, a million places and numbers of four bytes. How many gigabytes
# ($10^9$ bytes) is one array of log-probabilities? Of a stretch, the package computes
# $2^{20}$ scores, over all windows together: how many megabytes ($10^6$ bytes) is that?

# %% tags=["try"]
gigabytes, megabytes = ..., ...
check.exercise("25.1", [gigabytes, megabytes])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("25.1", [4 * 128 * 1_000_000 / 1e9, 4 * 2**20 / 1e6])

# %% [markdown]
# **Exercise 2** (medium). Write `stretched(z, n)`: $\log\sum_\ell e^{s_\ell}$ of each row of a (B, V) tensor. Look at
# `n` columns at a time and never exponentiate a number above 0. Try it on scores in the thousands.


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
# where each person goes next, part by part. Are its answers those that it gives for the whole table?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Write `def next_of(part): return pgt.NextLocation.pretrained().predict(part, top=1)` and put it in the place of
# `answers_of`, with `meta=next_of(small)`. Compare the places first, then the probabilities. The predictor weighs its
# opinions by the past of everybody in the table, and a part is another table: what a model learns from a table as a whole
# cannot be dealt out by person. Here the parts are alike, so that few answers change, if any.
#
# </details>
#
# **Next:** [Playground](26_playground.ipynb), where the trained model answers you by hand.
